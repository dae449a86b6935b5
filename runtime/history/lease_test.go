package history

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A stolenLease is one that expired and that somebody else has now.
type stolenLease struct{ journal.Lease }

func (l stolenLease) Renew(context.Context) error { return journal.ErrLost("r") }

// A leaseStore gives leases that expire: the next to acquire one gets it.
type leaseStore struct {
	journal.Store
	held map[string]journal.Lease
}

func (s *leaseStore) Acquire(ctx context.Context, tenant, id string) (journal.Lease, error) {
	if l := s.held[id]; l != nil {
		_ = l.Release()
	}
	l, err := s.Store.Acquire(ctx, tenant, id)
	s.held[id] = l
	return l, err
}

// TestFrozenProcess checks what a process can still record that was stopped, lost its lease, and wakes up after
// another one has gone on with the run.
func TestFrozenProcess(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), journal.Memory()
	expiring := &leaseStore{store, map[string]journal.Lease{}}
	frozen, other := Open(expiring, nil), Open(expiring, nil)
	l := begin(t, frozen, "r")
	intent := func(l *Log, step string) error {
		return l.Intend(ctx, Intent{StepPath: place(step), Func: "http.post", Kind: tool.External})
	}
	check(t, intent(l, "1"))
	next, err := other.Resume(ctx, "r")
	check(t, err)
	for name, err := range map[string]error{
		"an effect":        intent(l, "2"),
		"the end":          l.End(ctx, "", tool.Outcome{}, nil),
		"another instance": intent(l, "3"),
	} {
		if err == nil || value.KindOf(err) != value.Conflict && value.KindOf(err) != value.Internal {
			t.Errorf("%s was recorded by the process that lost the run: %v", name, err)
		}
	}
	check(t, intent(next, "2"))
	check(t, next.End(ctx, "final", tool.Outcome{Value: "by the other"}, nil))
	r, err := other.Run(ctx, "r")
	if check(t, err); r.State != Done || r.Result != "by the other" || r.Damage != nil {
		t.Errorf("the run is %v with %v: %v", r.State, r.Result, r.Damage)
	}
}

// TestLostLease checks that a log whose lease was lost is closed when that is noticed.
func TestLostLease(t *testing.T) {
	t.Parallel()
	ctx, j := context.Background(), Open(journal.Memory(), nil)
	l := begin(t, j, "r")
	if wanted, err := l.CancelRequested(ctx); wanted || err != nil {
		t.Fatalf("CancelRequested gave %v, %v", wanted, err)
	}
	l.lease, l.renewed = stolenLease{l.lease}, time.Time{}
	if _, err := l.CancelRequested(ctx); value.KindOf(err) != value.Conflict {
		t.Errorf("CancelRequested after the loss gave %v, want a conflict", err)
	}
	if err := l.Note(ctx, place("1"), value.NewDict("a", 1)); err == nil {
		t.Error("the log accepts records after the loss")
	}
}

// TestDueReadsOnlyWhatIsDue counts the records that are read to find one due run among many parked ones.
func TestDueReadsOnlyWhatIsDue(t *testing.T) {
	t.Parallel()
	loads := 0
	ctx, store := context.Background(), &faultStore{Store: journal.Memory(), stored: func(*journal.Stored) { loads++ }}
	j := Open(store, nil)
	q := Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "?"}}
	for i := range 50 {
		l := begin(t, j, fmt.Sprint("r", i))
		asked(t, l, "1", q)
		check(t, l.Park(ctx, "question", time.Time{}))
	}
	check(t, j.Answer(ctx, "r7", place("1"), 1, tool.Answer{Yes: true}))
	loads = 0
	due, err := dueRuns(j, now())
	if check(t, err); len(due) != 1 || due[0] != "r7" || loads > 1 {
		t.Errorf("due are %q, after %d records were read, want r7 and 1", due, loads)
	}
}

// A lateStore does something before it says whether a run is held.
type lateStore struct {
	journal.Store
	before func()
}

func (s *lateStore) Held(ctx context.Context, tenant, id string) bool {
	s.before()
	return s.Store.Held(ctx, tenant, id)
}

// TestResumableLeavesOut checks that a run is not resumable which is being parked, or has ended since the list was read.
func TestResumableLeavesOut(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), &lateStore{journal.Memory(), func() {}}
	j := Open(store, nil)
	check(t, begin(t, j, "parked").Park(ctx, Queued, time.Time{}))
	held, err := store.Acquire(ctx, "", "parked")
	check(t, err)
	if got := resumable(t, j); got != "" {
		t.Errorf("while its lease is held, %s is resumable", got)
	}
	check(t, held.Release())
	if got := resumable(t, j); got != "parked" {
		t.Errorf("resumable is %q, want parked", got)
	}
	ends := begin(t, j, "ends")
	store.before = func() { check(t, ends.End(ctx, "", tool.Outcome{}, nil)) }
	_, err = j.Cancel(ctx, "parked")
	check(t, err)
	if got := resumable(t, j); got != "" {
		t.Errorf("%s is resumable, and has ended", got)
	}
}
