package history

import (
	"context"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestTimes records a run that waits in every way, and reads how long it worked: a live question, at one
// of two parallel calls, a parked run, a process that died, and a question that is open.
func TestTimes(t *testing.T) {
	t.Parallel()
	ctx, at := context.Background(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	start := at
	j := Open(journal.Memory(), &Options{Clock: func() time.Time { return at }})
	defer j.Close()
	pass := func(d time.Duration) { at = at.Add(d) }
	call := func(l *Log, p string) {
		check(t, l.Intend(ctx, Intent{StepPath: place(p), Func: "tools.call", Args: &value.Dict{}, Kind: tool.Recorded}))
	}
	settle := func(l *Log, p string) { check(t, l.Settle(ctx, place(p), tool.Outcome{}, nil)) }
	confirm := func(p string) Asked {
		return Asked{StepPath: place(p), Question: tool.Question{Kind: tool.QuestionConfirm, Text: "go on?"}}
	}
	l, err := j.Begin(ctx, Run{ID: "r", Kind: "run"}, script())
	check(t, err)
	call(l, "1")
	call(l, "2")
	pass(time.Second)
	q := confirm("1.1")
	q.Asked = at // shown, and recorded with its answer
	pass(time.Hour)
	check(t, l.Answered(ctx, q, tool.Answer{Yes: true}))
	pass(time.Second)
	settle(l, "1")
	settle(l, "2")
	call(l, "3")
	pass(2 * time.Second)
	check(t, l.Note(ctx, place("3"), value.NewDict("x", true)))
	check(t, l.Close()) // its process dies
	pass(5 * time.Hour)
	l = resume(t, j, "r")
	pass(3 * time.Second)
	settle(l, "3")
	call(l, "4")
	_, err = l.Ask(ctx, confirm("4.1"))
	check(t, err)
	pass(time.Minute) // until it parks, as other calls go on
	check(t, l.Park(ctx, "question", time.Time{}))
	pass(7 * time.Hour)
	check(t, j.Answer(ctx, "r", place("4.1"), 1, tool.Answer{Yes: true}))
	pass(24 * time.Hour) // until it is resumed
	l = resume(t, j, "r")
	_, err = l.Answer(ctx, place("4.1"), 1)
	check(t, err)
	pass(4 * time.Second)
	wants := func(when string, worked, waited time.Duration, steps map[string][2]time.Duration) {
		t.Helper()
		times, err := j.Times(ctx, "r")
		check(t, err)
		if a, b := times.Run(); a != worked || b != waited {
			t.Errorf("%s, the run worked %v and waited %v, want %v and %v", when, a, b, worked, waited)
		}
		for e, err := range j.Entries(ctx, "r") {
			check(t, err)
			a, b := times.Step(&e)
			if want, ok := steps[e.StepPath.String()]; ok && want != [2]time.Duration{a, b} {
				t.Errorf("%s, step %s worked %v and waited %v, want %v", when, e.StepPath, a, b, want)
			}
		}
	}
	const waited = time.Hour + 5*time.Hour + time.Minute + 31*time.Hour
	steps := map[string][2]time.Duration{
		"1": {2 * time.Second, time.Hour},
		"2": {time.Hour + 2*time.Second, 0},
		"3": {5 * time.Second, 5 * time.Hour},
		"4": {4 * time.Second, 31*time.Hour + time.Minute},
	}
	wants("while it runs", 11*time.Second, waited, steps)
	settle(l, "4")
	check(t, l.Park(ctx, Interrupted, time.Time{}))
	pass(time.Hour)
	wants("parked", 11*time.Second, waited+time.Hour, steps)
	l = resume(t, j, "r")
	check(t, l.End(ctx, "final", tool.Outcome{}, nil))
	pass(time.Hour)
	wants("ended", 11*time.Second, waited+time.Hour, steps)
	if r, err := j.Run(ctx, "r"); err != nil || r.Ended.Sub(start) != 11*time.Second+waited+time.Hour {
		t.Errorf("the run took %v, %v", r.Ended.Sub(start), err)
	}
}
