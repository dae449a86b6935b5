package host_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A follower reads the events of the run r.
type follower struct {
	seqs   []uint64 // of those that are recorded
	pieces int
	err    error
}

// follow reads in the background; each is called with every event.
func follow(ctx context.Context, h *host.Host, after uint64, each func(tool.Event)) <-chan follower {
	done := make(chan follower, 1)
	go func() {
		var f follower
		for e, err := range h.Follow(ctx, "r", after) {
			switch {
			case err != nil:
				f.err = err
				continue
			case e.Seq == 0:
				f.pieces++
			default:
				f.seqs = append(f.seqs, e.Seq)
			}
			each(e)
		}
		done <- f
	}()
	return done
}

// TestFollow checks that who follows a run gets each recorded event once, from its
// beginning over its waits to its end: also who is slow, and who comes back.
func TestFollow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := journal.Memory()
	open := func() *host.Host {
		j := history.Open(store, nil)
		t.Cleanup(func() { j.Close() })
		r := newRig(t, func(o *host.Options) { o.Journal = recordIn(j) })
		r.add("t.star", star("t", "", "human.confirm('continue?')\nfor i in range(400):\n    log('x')\n    tools.nothing()\nreturn 1", "needs = ['human', 'tool']"), nil)
		r.add("nothing.star", star("nothing", "", "return 0", "needs = []"), nil)
		return r.Host
	}
	h := open()
	if _, err := h.Call(ctx, tool.Call{Tool: "t"}, host.Durable("r")); !errors.Is(err, value.ErrParked) {
		t.Fatalf("the call gave %v, want that it waits", err)
	}
	two, slow := make(chan struct{}), make(chan struct{})
	all := follow(ctx, h, 0, func(e tool.Event) {
		switch e.Seq {
		case 2:
			close(two)
		case 10:
			<-slow // until it has lost events
		}
	})
	left, leave := context.WithCancel(ctx)
	gone := follow(left, h, 0, func(e tool.Event) {
		if e.Seq == 2 {
			leave()
		}
	})
	<-two
	first := <-gone
	if !errors.Is(first.err, value.ErrCanceled) || !slices.Equal(first.seqs[:2], []uint64{1, 2}) {
		t.Errorf("who left got %v, %v", first.seqs, first.err)
	}
	if err := h.Answer(ctx, "r:1.1:1", tool.Answer{Yes: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Resume(ctx, "r"); err != nil {
		t.Fatal(err)
	}
	close(slow)
	var want []uint64
	for e, err := range h.Events(ctx, "r", 0) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, e.Seq)
	}
	if got := <-all; got.err != nil || !slices.Equal(got.seqs, want) || len(want) < 800 || got.pieces == 0 {
		t.Errorf("the run has %d events; who followed got %d and %d pieces, %v", len(want), len(got.seqs), got.pieces, got.err)
	}
	last := first.seqs[len(first.seqs)-1]
	if got := <-follow(ctx, open(), last, func(tool.Event) {}); got.err != nil || !slices.Equal(append(first.seqs, got.seqs...), want) {
		t.Errorf("after event %d another process gave %d events, %v", last, len(got.seqs), got.err)
	}
}

// TestFollowEnds checks how a follower ends that gets no last event.
func TestFollowEnds(t *testing.T) {
	t.Parallel() // the record of a run that waits is read every two seconds
	ctx := context.Background()
	j := history.Open(journal.Memory(), nil)
	t.Cleanup(func() { j.Close() })
	r := newRig(t, func(o *host.Options) { o.Journal = recordIn(j) })
	r.script("", "return human.ask('?')", "needs = ['human']")
	if got := <-follow(ctx, r.Host, 0, func(tool.Event) {}); !errors.Is(got.err, value.ErrNotFound) {
		t.Errorf("no such run: %v", got.err)
	}
	if _, err := r.Call(ctx, tool.Call{Tool: "t"}, host.Durable("r")); !errors.Is(err, value.ErrParked) {
		t.Fatal(err)
	}
	begun := make(chan struct{}, 100)
	note := func(tool.Event) { begun <- struct{}{} }
	waits := follow(ctx, r.Host, 0, note)
	<-begun
	if err := r.Cancel(ctx, "r"); err != nil {
		t.Fatal(err)
	}
	if got := <-waits; got.err != nil {
		t.Errorf("a run that was cancelled while it waited: %v", got.err)
	}
	for range r.Follow(ctx, "r", 0) {
		break // releases what it holds
	}
	if _, err := r.Call(ctx, tool.Call{Tool: "t"}, host.Durable("s")); !errors.Is(err, value.ErrParked) {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	follows := make(chan struct{})
	go func() {
		for e, err := range r.Follow(ctx, "s", 0) {
			if e.Seq == 1 {
				close(follows)
			}
			if err != nil {
				closed <- err
			}
		}
		close(closed)
	}()
	<-follows
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-closed; !errors.Is(err, value.ErrClosed) {
		t.Errorf("of a host that was closed: %v", err)
	}
}
