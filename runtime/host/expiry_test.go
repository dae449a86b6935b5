package host_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestQuestionsExpire parks runs with questions, and resumes them before and after their
// time: an answer in time is used, later ones are refused, and a resumed run does not wait
// longer than the question that was asked first.
func TestQuestionsExpire(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const asks, writes = "asks", "writes"
	scripts := map[string]string{
		asks:      "def asks():\n    \"Ask.\"\n    return human.ask('which?', timeout = 3600)\n\ntool(asks, needs = ['human'])\n",
		"default": "def default():\n    \"Ask.\"\n    return human.ask('which?', default = 'this', timeout = 3600)\n\ntool(default, needs = ['human'])\n",
		"caught":  "def caught():\n    \"Ask.\"\n    r = attempt(human.confirm, 'go?', timeout = 3600)\n    return r['error_type']\n\ntool(caught, needs = ['human'])\n",
		writes:    "def writes():\n    \"Write.\"\n    fs.write('out.txt', 'x')\n    return 'written'\n\ntool(writes, needs = ['fs.write'])\n",
		"patient": "def patient():\n    \"Ask.\"\n    return human.ask('which?')\n\ntool(patient, needs = ['human'])\n",
	}
	yes, text := tool.Answer{Yes: true}, tool.Answer{Value: "that"}
	for _, c := range []struct {
		name     string
		tool     string
		limit    time.Duration // of the host
		answerAt time.Duration // 0: nobody answers
		answer   tool.Answer
		lateErr  bool // the answer is refused
		want     value.Value
		wantErr  value.Kind
	}{
		{"answered in time", asks, 0, 59 * time.Minute, text, false, "that", 0},
		{"nobody answers", asks, 0, 0, text, false, nil, value.Timeout},
		{"answered too late", asks, 0, 61 * time.Minute, text, true, nil, value.Timeout},
		{"a default", "default", 0, 0, text, false, "this", 0},
		{"a script catches it", "caught", 0, 0, yes, false, "timeout_error", 0},
		{"an approval", writes, time.Hour, 0, yes, false, nil, value.Timeout},
		{"an approval in time", writes, time.Hour, time.Minute, yes, false, "written", 0},
		{"an approval too late", writes, time.Hour, 2 * time.Hour, yes, true, nil, value.Timeout},
		{"the host's time", "patient", time.Hour, 0, text, false, nil, value.Timeout},
		{"no time at all", "patient", 0, 1000 * time.Hour, text, false, "that", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			begin := time.Now().Truncate(time.Second)
			now := begin
			j := history.Open(journal.Memory(), &history.Options{Clock: func() time.Time { return now }})
			t.Cleanup(func() { j.Close() })
			r := newRig(t, func(o *host.Options) {
				o.Journal, o.Clock, o.QuestionTimeout = recordIn(j), func() time.Time { return now }, c.limit
			})
			r.add(c.tool+".star", scripts[c.tool], nil)
			if _, err := r.Call(ctx, tool.Call{Tool: c.tool}, host.Durable("r")); !errors.Is(err, value.ErrParked) {
				t.Fatalf("the call gave %v, want that it waits", err)
			}
			if c.answerAt != 1000*time.Hour {
				if run, err := j.Run(ctx, "r"); err != nil || !run.Wake.Equal(begin.Add(time.Hour)) {
					t.Fatalf("the run wakes at %v, %v; want %v", run.Wake, err, begin.Add(time.Hour))
				}
				now = begin.Add(30 * time.Minute) // resumed early: it waits for the rest
				if _, err := r.Resume(ctx, "r"); !errors.Is(err, value.ErrParked) {
					t.Fatalf("resumed early: %v, want that it waits", err)
				}
			}
			q := onlyQuestion(t, r)
			if now = begin.Add(c.answerAt); c.answerAt != 0 {
				err := r.Answer(ctx, q.ID, c.answer)
				if (value.KindOf(err) == value.Conflict) != c.lateErr || err != nil && !c.lateErr {
					t.Fatalf("Answer = %v, want a conflict: %v", err, c.lateErr)
				}
			}
			now = begin.Add(2000 * time.Hour)
			if n := dueRuns(t, r); n != 1 {
				t.Errorf("%d runs are due, want 1", n)
			}
			res, err := r.Resume(ctx, "r")
			if res.Value != c.want || err == nil && c.wantErr != 0 || err != nil && value.KindOf(err) != c.wantErr {
				t.Errorf("resumed: %v, %v; want %v, kind %v", res.Value, err, c.want, c.wantErr)
			}
			again, againErr := r.Resume(ctx, "r") // from the record
			if again.Value != res.Value || (againErr == nil) != (err == nil) {
				t.Errorf("resumed again: %v, %v; want %v, %v", again.Value, againErr, res.Value, err)
			}
		})
	}
}

func onlyQuestion(t *testing.T, r *rig) (only tool.Question) {
	t.Helper()
	n := 0
	for q, err := range r.Waiting(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		only = q
		n++
	}
	if n != 1 {
		t.Fatalf("%d questions are open, want 1", n)
	}
	return only
}

func dueRuns(t *testing.T, r *rig) (n int) {
	t.Helper()
	for _, err := range r.Due(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// TestQuestionsExpireLive asks people who do not answer: nothing waits for them longer.
func TestQuestionsExpireLive(t *testing.T) {
	t.Parallel()
	waits := func(ctx context.Context, q tool.Question) (tool.Answer, error) {
		if q.Expires.IsZero() {
			t.Errorf("the question %q does not expire", q.Text)
		}
		<-ctx.Done()
		return tool.Answer{}, ctx.Err()
	}
	r := newRig(t, func(o *host.Options) {
		o.QuestionTimeout = 20 * time.Millisecond
		o.Approver, o.Asker = host.ApproverFunc(waits), host.AskerFunc(waits)
	})
	r.add("asks.star", "def asks():\n    \"Ask.\"\n    return human.ask('which?')\n\ntool(asks, needs = ['human'])\n", nil)
	r.add("writes.star", "def writes():\n    \"Write.\"\n    fs.write('out.txt', 'x')\n\ntool(writes, needs = ['fs.write'])\n", nil)
	for _, name := range []string{"asks", "writes"} {
		if _, err := r.Call(context.Background(), tool.Call{Tool: name}); value.KindOf(err) != value.Timeout {
			t.Errorf("%s gave %v, want a timeout", name, err)
		}
	}
}
