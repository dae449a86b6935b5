package describe

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/history"
)

// A Record is what is shown of a run. It is read from a journal by [RecordOf], or from the answer of a server by
// [ReadRecord].
type Record struct {
	Run   *history.Run
	Live  bool            // a process executes it
	Wait  *Wait           // what it waits for, or nil
	Times *history.Times  // or nil
	Undos func() []string // which runs have undone it, at least in part, with their states
	// Each is [EachStep] of the run.
	Each func(do func(e *history.Entry, damage error)) (damage, err error)
}

// RecordOf returns the record of a run in a journal, without its Undos.
func RecordOf(ctx context.Context, j *history.Journal, r *history.Run) *Record {
	return &Record{
		Run: r, Live: r.State == history.Running && j.Held(r.ID), Wait: WaitOf(ctx, j, r), Times: TimesOf(ctx, j, r),
		Each: func(do func(*history.Entry, error)) (damage, err error) { return EachStep(ctx, j, r, do) },
	}
}

// MarkBroken sets the reason of the run if its process died.
func (r *Record) MarkBroken() {
	if r.Run.State == history.Running && r.Run.Damage == nil && !r.Live {
		r.Run.Reason = BrokenOff
	}
}
