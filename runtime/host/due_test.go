package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestDue checks that a run is due when its time has come, it got an answer or was
// interrupted, and not while it waits or is executed.
func TestDue(t *testing.T) {
	t.Parallel()
	ctx, now := context.Background(), time.Now()
	j := history.Open(journal.Memory(), &history.Options{Clock: func() time.Time { return now }})
	t.Cleanup(func() { j.Close() })
	r := newRig(t, func(o *host.Options) {
		o.Journal, o.Clock = recordIn(j), func() time.Time { return now }
	})
	begun := make(chan struct{})
	hold := func(ctx context.Context, _ *value.Dict) (value.Value, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := r.Register(tool.Tool{Name: "hold", Description: "Hold."}, hold); err != nil {
		t.Fatal(err)
	}
	r.add("asks.star", "def asks():\n    \"Ask.\"\n    return human.ask('which?')\n\ntool(asks, needs = ['human'])\n", nil)
	r.add("sleeps.star", "def sleeps():\n    \"Sleep.\"\n    time.sleep(3600)\n    return 1\n\ntool(sleeps)\n", nil)
	due := func(want ...string) {
		t.Helper()
		got := []string{}
		for run, err := range r.Due(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, run.ID)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("due are %q, want %q", got, want)
		}
	}
	for _, name := range []string{"asks", "sleeps"} {
		if _, err := r.Call(ctx, tool.Call{Tool: name}, host.Durable(name)); !errors.Is(err, value.ErrParked) {
			t.Fatalf("%s gave %v, want that it waits", name, err)
		}
	}
	held, interrupt := context.WithCancel(ctx)
	done := make(chan error)
	go func() {
		_, err := r.Call(held, tool.Call{Tool: "hold"}, host.Durable("hold"))
		done <- err
	}()
	<-begun
	due()
	interrupt()
	if err := <-done; !errors.Is(err, value.ErrCanceled) {
		t.Errorf("the interrupted call gave %v", err)
	}
	due("hold")
	if err := r.Answer(ctx, "asks:1.1:1", tool.Answer{Value: "this"}); err != nil {
		t.Fatal(err)
	}
	due("asks", "hold")
	now = now.Add(time.Hour)
	due("asks", "hold", "sleeps")
	for run, err := range r.Due(ctx) {
		if run.ID == "hold" {
			err = r.Cancel(ctx, "hold")
		} else if err == nil {
			_, err = r.Resume(ctx, run.ID)
		}
		if err != nil {
			t.Errorf("%s: %v", run.ID, err)
		}
	}
	due()
	for _, err := range newRig(t, nil).Due(ctx) {
		if !errors.Is(err, value.ErrInvalid) {
			t.Errorf("without a store: %v", err)
		}
	}
}

// TestResumeDue checks that a run is resumed after its answer and when its time has come,
// and when ResumeDue returns.
func TestResumeDue(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	j := history.Open(journal.Memory(), &history.Options{Clock: clock})
	t.Cleanup(func() { j.Close() })
	r := newRig(t, func(o *host.Options) { o.Journal, o.Clock = recordIn(j), clock })
	r.add("asks.star", "def asks():\n    \"Ask.\"\n    return human.ask('which?')\n\ntool(asks, needs = ['human'])\n", nil)
	r.add("sleeps.star", "def sleeps():\n    \"Sleep.\"\n    time.sleep(3600)\n    return 'slept'\n\ntool(sleeps)\n", nil)
	for _, run := range []string{"asks-1", "asks-2", "sleeps-1"} {
		name, _, _ := strings.Cut(run, "-")
		if _, err := r.Call(t.Context(), tool.Call{Tool: name}, host.Durable(run)); !errors.Is(err, value.ErrParked) {
			t.Fatalf("%s gave %v, want that it waits", run, err)
		}
	}
	answer := func(run string) {
		t.Helper()
		if err := r.Answer(t.Context(), run+":1.1:1", tool.Answer{Value: "this"}); err != nil {
			t.Fatal(err)
		}
	}
	ends := func(run, want string) {
		t.Helper()
		for _, err := range r.Follow(t.Context(), run, 0) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if res, err := r.Recorded(t.Context(), run); err != nil || res.Result != want {
			t.Errorf("%s gave %v, %v, want %q", run, res.Result, err, want)
		}
	}
	begin := func(ctx context.Context, interval time.Duration) <-chan error {
		done := make(chan error, 1)
		go func() { done <- r.ResumeDue(ctx, interval) }()
		return done
	}

	answer("asks-1")
	ctx, cancel := context.WithCancel(t.Context())
	done := begin(ctx, time.Hour)
	ends("asks-1", "this") // which was due before
	answer("asks-2")
	ends("asks-2", "this")
	cancel()
	if err := <-done; !errors.Is(err, value.ErrCanceled) {
		t.Errorf("after the end of its context it returned %v", err)
	}
	done = begin(t.Context(), time.Millisecond)
	later.Store(int64(time.Hour))
	ends("sleeps-1", "slept")
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, value.ErrClosed) {
		t.Errorf("when the host was closed it returned %v", err)
	}
	if err := newRig(t, nil).ResumeDue(t.Context(), time.Hour); !errors.Is(err, value.ErrInvalid) {
		t.Errorf("without a store it returned %v", err)
	}
	if err := r.ResumeDue(t.Context(), 0); !errors.Is(err, value.ErrInvalid) {
		t.Errorf("without an interval it returned %v", err)
	}
}

// TestRunAsJSON checks what a program is given of a run.
func TestRunAsJSON(t *testing.T) {
	t.Parallel()
	r := history.Run{ID: "r", Kind: "tool", Title: "t", State: history.Failed, Started: time.Unix(0, 0), Err: value.Errorf(value.Failed, "no").WithHint("yes")}
	data, err := json.Marshal(map[string]any{"run": r})
	want := `{"id":"r","kind":"tool","title":"t","state":"failed","reason":"","started":"1970-01-01T00:00:00Z","ended":null,"result":null,"project":"","error":"no"}`
	if err != nil || !strings.Contains(string(data), want) {
		t.Errorf("the JSON is %s, %v, want %s", data, err, want)
	}
}

// TestParkedAsJSON checks what a program is given of a run that waits.
func TestParkedAsJSON(t *testing.T) {
	t.Parallel()
	q := tool.Question{ID: "r:1:1", Text: "?", Args: value.NewDict("n", 1)}
	for want, p := range map[string]*host.ParkedError{
		`{"run":"r","reason":"sleep","questions":[],"until":"1970-01-01T00:00:00Z"}`: {Run: "r", Reason: "sleep", Until: time.Unix(0, 0)},
		`"until":null}`: {Run: "r", Reason: "approval", Questions: []tool.Question{q}},
	} {
		data, err := json.Marshal(p)
		if err != nil || !strings.HasSuffix(string(data), want) {
			t.Errorf("the JSON is %s, %v, want %s", data, err, want)
		}
		var back struct{ Questions []tool.Question }
		if err := json.Unmarshal(data, &back); err != nil || len(back.Questions) != len(p.Questions) {
			t.Errorf("read back: %+v, %v", back, err)
		}
	}
}
