package history

import (
	"context"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
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
	q := Question{Kind: QuestionConfirm, Text: "?"}
	for id, wait := range map[string]func(l *Log) error{
		"time":     func(l *Log) error { return l.Park(ctx, "sleep", wake) },
		"question": func(l *Log) error { asked(t, l, "1", q); return l.Park(ctx, "question", time.Time{}) },
		"either":   func(l *Log) error { asked(t, l, "1", q); return l.Park(ctx, "question", wake) },
		"several": func(l *Log) error {
			asked(t, l, "1", q)
			asked(t, l, "2", q)
			return l.Park(ctx, "question", time.Time{})
		},
		"neither": func(l *Log) error { return l.Park(ctx, "unavailable", time.Time{}) },
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
	check(t, j.Answer(ctx, "several", place("2"), 1, Answer{}))
	check(t, j.Answer(ctx, "either", place("1"), 1, Answer{}))
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
