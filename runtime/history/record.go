package history

import (
	"context"
	"iter"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Record makes a run durable. A host queries it before each effect for the outcome of
// an earlier execution, and records what this execution does. Its methods are safe for
// concurrent use.
//
// [*Log] is a record in a journal, [*Memory] one in memory, [*Replay] answers from
// another record and records nothing, and [None] is for runs that are not recorded.
type Record interface {
	// Run returns the run as of when the record was opened.
	Run() Run
	// Script returns the script of the run, as of when the run began.
	Script() tool.Script
	// Live reports whether effects are executed. Those of a replay are not.
	Live() bool
	// Keeps reports whether records can be read back. Otherwise undoing need not be
	// prepared.
	Keeps() bool
	// Key returns the idempotency key of a step, the same for each try, or "" if
	// nothing is recorded.
	Key(at tool.StepPath) string
	// Recall returns what is recorded of an effect. f is its function. An effect that
	// differs from the recorded one is an error of kind Conflict. The entry is nil for
	// Unknown.
	Recall(e tool.Effect, f *tool.Func) (*Entry, Recollection, error)
	// Recorded returns the entry of a step as of when the record was opened, and
	// whether there is one. It fails with kind Failed if a value was lost.
	Recorded(at tool.StepPath) (Entry, bool, error)
	// Inside returns the numbers of the steps inside a step as of when the record was opened, in order. Numbers
	// are missing: of notices, for example, nothing is recorded.
	Inside(at tool.StepPath) []int
	// Notes yields the decisions of the run as of when the record was opened, by step.
	// It fails if a value was lost.
	Notes() iter.Seq2[*value.Dict, error]
	// Changes yields the entries with a Change as of when the record was opened, by step; with unknown, only those
	// that have no outcome now. It fails if a value was lost.
	Changes(unknown bool) iter.Seq2[Entry, error]
	// Intend records that an effect is about to be executed.
	Intend(ctx context.Context, i Intent) error
	// Settle records the outcome of an intended effect, or its error together with the
	// usage of the outcome.
	Settle(ctx context.Context, at tool.StepPath, out tool.Outcome, failure error) error
	// Note records a decision at a step.
	Note(ctx context.Context, at tool.StepPath, d *value.Dict) error
	// Identify returns a question with the ID, Run, Step and Asked that it has if it is
	// the next recorded question of its step. If nothing is recorded it sets only the
	// Step.
	Identify(q Asked) (Asked, error)
	// Ask records a question and returns it with the fields that Identify sets; its
	// Asked may be set before. It can be answered when Ask returns. An open question of
	// an earlier process that is asked again unchanged stays the same.
	Ask(ctx context.Context, q Asked) (Asked, error)
	// Answered records a question together with its answer, which was given in this
	// process.
	Answered(ctx context.Context, q Asked, a tool.Answer) error
	// Answer uses and returns the last answer to a question, or nil. A used answer
	// cannot be corrected.
	Answer(ctx context.Context, at tool.StepPath, n int) (*Answered, error)
	// Questions returns the open questions of the run, by step: those without an answer
	// that the run has used. The Answer of a question is the last one that was sent, or
	// nil.
	Questions(ctx context.Context) ([]Asked, error)
	// CancelRequested reports whether somebody has asked to cancel the run.
	CancelRequested(ctx context.Context) (bool, error)
	// Park records why the run waits, as [Interrupted], and when it continues, and
	// closes the record.
	Park(ctx context.Context, reason string, wake time.Time) error
	// Stick records that nobody can continue the run because of a step, and why, and
	// closes the record, see [Stuck].
	Stick(ctx context.Context, at tool.StepPath, why string) error
	// End records how the run ended, and closes the record.
	End(ctx context.Context, reason string, out tool.Outcome, failure error) error
	// AddEvent records an event, sets its Seq, and calls deliver, all before another
	// event of the run is numbered. If the event is not recorded its Seq stays 0. The steps
	// cannot replace the events: they have neither the IDs of calls nor what was granted to each.
	AddEvent(e *tool.Event, deliver func())
	// Close releases the run in its state, so that it can be resumed.
	Close() error
}

// Queued is the reason of a parked run that was begun, and that nobody has executed yet.
const Queued = "queued"

// Interrupted is the reason of a parked run that was stopped and waits for nothing.
const Interrupted = "interrupted"

// A Recollection reports what is recorded of an effect.
type Recollection uint8

const (
	Unknown Recollection = iota // nothing: execute it
	Begun                       // it began, and its outcome is unknown
	Known                       // the entry has its outcome: do not execute it
)

// recall implements Recall for live runs.
func recall(r Record, e tool.Effect, f *tool.Func) (*Entry, Recollection, error) {
	entry, ok, err := r.Recorded(e.StepPath)
	switch {
	case err != nil:
		return nil, Unknown, err
	case !ok || entry.Intended.IsZero(): // at most a question is recorded there
		return nil, Unknown, nil
	}
	if err := entry.matches(e, f); err != nil {
		return nil, Unknown, err
	}
	if entry.Unknown() {
		return &entry, Begun, nil
	}
	return &entry, Known, nil
}

// None is the record of a run that is not recorded.
type None struct{}

func (None) Run() Run                                                         { return Run{} }
func (None) Script() tool.Script                                              { return tool.Script{} }
func (None) Live() bool                                                       { return true }
func (None) Keeps() bool                                                      { return false }
func (None) Key(tool.StepPath) string                                         { return "" }
func (None) Recall(tool.Effect, *tool.Func) (*Entry, Recollection, error)     { return nil, Unknown, nil }
func (None) Recorded(tool.StepPath) (Entry, bool, error)                      { return Entry{}, false, nil }
func (None) Inside(tool.StepPath) []int                                       { return nil }
func (None) Notes() iter.Seq2[*value.Dict, error]                             { return func(func(*value.Dict, error) bool) {} }
func (None) Changes(bool) iter.Seq2[Entry, error]                             { return func(func(Entry, error) bool) {} }
func (None) Intend(context.Context, Intent) error                             { return nil }
func (None) Settle(context.Context, tool.StepPath, tool.Outcome, error) error { return nil }
func (None) Note(context.Context, tool.StepPath, *value.Dict) error           { return nil }
func (None) Ask(_ context.Context, q Asked) (Asked, error)                    { return q, nil }
func (None) Answered(context.Context, Asked, tool.Answer) error               { return nil }
func (None) Answer(context.Context, tool.StepPath, int) (*Answered, error)    { return nil, nil }
func (None) Park(context.Context, string, time.Time) error                    { return nil }
func (None) Stick(context.Context, tool.StepPath, string) error               { return nil }
func (None) End(context.Context, string, tool.Outcome, error) error           { return nil }
func (None) Close() error                                                     { return nil }
func (None) Questions(context.Context) ([]Asked, error)                       { return nil, nil }
func (None) CancelRequested(context.Context) (bool, error)                    { return false, nil }

func (None) Identify(q Asked) (Asked, error) {
	q.Step = q.StepPath.String()
	return q, nil
}
