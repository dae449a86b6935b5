package history

import (
	"context"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// dueRuns returns the IDs of the runs that are due.
func dueRuns(j *Journal, at time.Time) (ids []string, err error) {
	for r, e := range j.Due(context.Background(), at) {
		if e != nil {
			return ids, e
		}
		ids = append(ids, r.ID)
	}
	return ids, nil
}

func TestDue(t *testing.T) { eachStore(t, testDue) }

func testDue(t *testing.T, s storage) {
	ctx, j := context.Background(), s.open()
	wake := now().Add(time.Hour)
	q := Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "?"}}
	for id, wait := range map[string]func(l *Log) error{
		"time":     func(l *Log) error { return l.Park(ctx, "sleep", wake) },
		"question": func(l *Log) error { asked(t, l, "1", q); return l.Park(ctx, "question", time.Time{}) },
		"either":   func(l *Log) error { asked(t, l, "1", q); return l.Park(ctx, "question", wake) },
		"several": func(l *Log) error {
			asked(t, l, "1", q)
			asked(t, l, "2", q)
			return l.Park(ctx, "question", time.Time{})
		},
		"neither": func(l *Log) error { return l.Park(ctx, Interrupted, time.Time{}) },
		"running": func(l *Log) error { return l.Close() },
		"ended":   func(l *Log) error { return l.End(ctx, "", tool.Outcome{}, nil) },
	} {
		check(t, wait(begin(t, j, id)))
	}
	due := func(at time.Time, want ...string) {
		t.Helper()
		got, err := dueRuns(j, at)
		check(t, err)
		found := map[string]bool{}
		for _, id := range got {
			found[id] = true
		}
		for _, id := range want {
			if !found[id] {
				t.Errorf("%s is not due", id)
			}
		}
		if len(got) != len(want) {
			t.Errorf("due are %v, want %v", got, want)
		}
	}
	due(now(), "neither")
	due(wake.Add(-time.Microsecond), "neither")
	due(wake, "neither", "time", "either")
	check(t, j.Answer(ctx, "several", place("2"), 1, tool.Answer{}))
	check(t, j.Answer(ctx, "either", place("1"), 1, tool.Answer{}))
	due(now(), "neither", "several", "either")
	if r := one(t, j, "time"); !r.Wake.Equal(wake) || r.Reason != "sleep" || r.State != Parked {
		t.Errorf("the run that sleeps is %+v", r)
	}
	l := resume(t, j, "time")
	if r := l.Run(); r.State != Running || !r.Wake.IsZero() || r.Reason != "" {
		t.Errorf("resumed, it is %+v", r)
	}
	for r, err := range j.Due(ctx, now()) { // a loop may resume what it gets
		check(t, err)
		check(t, resume(t, j, r.ID).Close())
	}
	due(now())

	far := begin(t, j, "far")
	check(t, far.Park(ctx, "sleep", time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)))
	if r := one(t, j, "far"); r.Wake.Year() < 2200 {
		t.Errorf("it wakes at %s", r.Wake)
	}
	due(now())
}

func TestCancel(t *testing.T) { eachStore(t, testCancel) }

func testCancel(t *testing.T, s storage) {
	ctx, j, other := context.Background(), s.open(), s.open()
	check(t, begin(t, j, "parked").Park(ctx, "", now().Add(time.Hour)))
	check(t, begin(t, j, "interrupted").Close())
	for _, id := range []string{"parked", "interrupted"} {
		if ended, err := other.Cancel(ctx, id); !ended || err != nil {
			t.Errorf("Cancel(%s) = %v, %v", id, ended, err)
		}
		if r := one(t, j, id); r.State != Cancelled || value.KindOf(r.Err) != value.Canceled || j.Held(id) {
			t.Errorf("%s is %+v, held %v", id, r, j.Held(id))
		}
		fails(t, "Cancel of a run that has ended", second(other.Cancel(ctx, id)), value.Conflict, "ended")
	}
	fails(t, "Cancel of no run", second(other.Cancel(ctx, "none")), value.NotFound, "")

	l := begin(t, j, "held")
	requested := func(l *Log, want bool) {
		t.Helper()
		if got, err := l.CancelRequested(ctx); got != want || err != nil {
			t.Errorf("CancelRequested = %v, %v, want %v", got, err, want)
		}
	}
	requested(l, false)
	if ended, err := other.Cancel(ctx, "held"); ended || err != nil {
		t.Errorf("Cancel of a held run = %v, %v", ended, err)
	}
	requested(l, true)
	check(t, l.Close())
	fails(t, "Resume of a run that is to be cancelled", second(other.Resume(ctx, "held")), value.Conflict, "ended: cancelled")
	if r := one(t, j, "held"); r.State != Cancelled || r.Reason != "cancelled" || j.Held("held") {
		t.Errorf("it is %+v, held %v", r, j.Held("held"))
	}

	check(t, begin(t, j, "full").Close())
	f := &faultStore{Store: j.store}
	bad := openOn(t, f)
	commits := 0
	f.commit = func([]*journal.Write) error {
		if commits++; commits > 1 { // the first is that of Resume
			return noSpace()
		}
		return nil
	}
	if ended, err := bad.Cancel(ctx, "full"); ended || value.KindOf(err) != value.Limit || j.Held("full") {
		t.Errorf("a Cancel that cannot be written = %v, %v, held %v", ended, err, j.Held("full"))
	}
}

// TestCancelOfARunThatParks cancels a run that parks before it sees the request.
func TestCancelOfARunThatParks(t *testing.T) {
	t.Parallel()
	ctx, m := context.Background(), journal.Memory()
	l := begin(t, openOn(t, m), "r")
	f := &faultStore{Store: m}
	f.sent = func() { check(t, l.Park(ctx, "", time.Time{})) }
	if ended, err := openOn(t, f).Cancel(ctx, "r"); !ended || err != nil {
		t.Errorf("Cancel = %v, %v; want that the run has ended", ended, err)
	}
}

// TestCancelOfARunThatOpens cancels a run that another process has just acquired, and has not read yet.
func TestCancelOfARunThatOpens(t *testing.T) {
	t.Parallel()
	ctx, m := context.Background(), journal.Memory()
	check(t, begin(t, openOn(t, m), "r").Park(ctx, "", now().Add(time.Hour)))
	f, other, asked := &faultStore{Store: m}, openOn(t, m), false
	f.acquired = func() {
		if ended, err := other.Cancel(ctx, "r"); ended || err != nil {
			t.Errorf("Cancel of a held run = %v, %v", ended, err)
		}
		asked = true
	}
	fails(t, "Resume of a run that is to be cancelled", second(openOn(t, f).Resume(ctx, "r")), value.Conflict, "ended: cancelled")
	if r := one(t, other, "r"); !asked || r.State != Cancelled || other.Held("r") {
		t.Errorf("the run is %+v, held %v", r, other.Held("r"))
	}
}

// TestBackoff checks when a run that waits for a repair is due: after a minute, and after twice
// the time for each further attempt, up to an hour.
func TestBackoff(t *testing.T) {
	t.Parallel()
	ctx, at := context.Background(), now()
	j := Open(journal.Memory(), &Options{Clock: func() time.Time { return at }})
	l := begin(t, j, "r")
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		check(t, l.Park(ctx, "disk", time.Time{}))
		if r := one(t, j, "r"); !r.Wake.Equal(at.Add(want * time.Minute)) {
			t.Errorf("attempt %d: the run is due after %v, want %v", i+1, r.Wake.Sub(at), want*time.Minute)
		}
		for _, due := range []bool{false, true} {
			if due {
				at = at.Add(want * time.Minute)
			}
			if got, err := dueRuns(j, at); err != nil || (len(got) == 1) != due {
				t.Errorf("attempt %d: due are %v, %v; want it due: %v", i+1, got, err, due)
			}
		}
		var err error
		l, err = j.Resume(ctx, "r")
		check(t, err)
	}
	check(t, l.Park(ctx, "question", time.Time{}))
	l, err := j.Resume(ctx, "r")
	check(t, err)
	check(t, l.Park(ctx, "disk", time.Time{}))
	if r := one(t, j, "r"); r.Wake.Sub(at) != time.Minute {
		t.Errorf("after another reason the run is due after %v, want a minute", r.Wake.Sub(at))
	}
}
