package history

import (
	"context"
	"iter"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Record makes a run durable. Whoever executes the run asks it before each
// effect what an earlier execution has done, and writes down what this one
// does. Its methods may be called from many goroutines.
//
// [*Log] keeps a record in a journal, [*Memory] in memory, [*Replay] answers
// from another record and keeps nothing, and [None] is the record of what is
// not recorded.
type Record interface {
	// Run returns the run as it stood when the record was opened.
	Run() Run
	// Script returns what the run executes, as it was when the run began.
	Script() tool.Script
	// Live reports whether effects are carried out. Those of a replay are not.
	Live() bool
	// Keeps reports whether what is recorded can be read back. Only then is it
	// worth preparing how an effect is undone.
	Keeps() bool
	// Key names a step, the same for each try, for services that do a thing once
	// per key; "" where nothing is recorded.
	Key(at tool.Place) string
	// Recall returns what is recorded of an effect that is asked for. f is its row.
	// An effect that is not the recorded one is an error of kind Conflict. The
	// entry is nil for Unknown.
	Recall(e tool.Effect, f *tool.Func) (*Entry, Recollection, error)
	// Recorded returns what was recorded at a step when the record was opened,
	// and whether that is anything. It fails, with kind Failed, where a value
	// was lost.
	Recorded(at tool.Place) (Entry, bool, error)
	// Notes yields what was decided anywhere in the run when the record was
	// opened, by step. It fails where a value was lost.
	Notes() iter.Seq2[*value.Dict, error]
	// Intend records that an effect is about to be done.
	Intend(ctx context.Context, i Intent) error
	// Settle records what came of an effect that was intended: an outcome, or an
	// error, together with which the usage of the outcome is kept.
	Settle(ctx context.Context, at tool.Place, out tool.Outcome, failure error) error
	// Note records what was decided at a step.
	Note(ctx context.Context, at tool.Place, d *value.Dict) error
	// Identify returns a question with the ID, Run, Step and Asked that it has if
	// it is recorded next at its step; only with the Step where nothing is kept.
	Identify(q Asked) (Asked, error)
	// Ask records a question and returns it with what Identify sets; its Asked may be
	// set before. It can be answered when Ask returns. One that an earlier process asked, and that is
	// asked again unchanged, is the same.
	Ask(ctx context.Context, q Asked) (Asked, error)
	// Answered records a question together with its answer, which was given in
	// this process.
	Answered(ctx context.Context, q Asked, a tool.Answer) error
	// Answer returns the last answer to a question, or nil. The answer is used
	// then: nobody can correct it any more.
	Answer(ctx context.Context, at tool.Place, n int) (*Answered, error)
	// Questions returns the open questions of the run, by step: those that have no
	// answer which the run has used. The Answer of one is the last that was sent,
	// or nil.
	Questions(ctx context.Context) ([]Asked, error)
	// CancelRequested reports whether somebody asked for the end of the run since
	// the record was opened.
	CancelRequested(ctx context.Context) (bool, error)
	// Park records why the run waits, as [Interrupted], and when it continues by
	// itself, and closes the record.
	Park(ctx context.Context, reason string, wake time.Time) error
	// End records how the run ended, and closes the record.
	End(ctx context.Context, reason string, out tool.Outcome, failure error) error
	// AddEvent records an event, sets its Seq, and calls deliver, before another event
	// of the run is numbered. Where nothing is recorded, or the event cannot be, its
	// Seq stays 0.
	AddEvent(e *tool.Event, deliver func())
	// Close gives the run up in its state, so that it can be resumed.
	Close() error
}

// Interrupted is the reason for which a run is parked that was stopped, and waits
// for nothing.
const Interrupted = "interrupted"

// A Recollection is what a record has of an effect that is asked for.
type Recollection uint8

const (
	Unknown Recollection = iota // nothing: it is to be done
	Begun                       // it began, and what came of it is not known
	Known                       // its outcome is the entry's, and it is not to be done
)

// recall is Recall for records of live runs.
func recall(r Record, e tool.Effect) (*Entry, Recollection, error) {
	entry, ok, err := r.Recorded(e.Place)
	switch {
	case err != nil:
		return nil, Unknown, err
	case !ok || entry.Intended.IsZero(): // or only a question is recorded there
		return nil, Unknown, nil
	}
	if err := entry.Matches(e); err != nil {
		return nil, Unknown, err
	}
	if entry.Unknown() {
		return &entry, Begun, nil
	}
	return &entry, Known, nil
}

// None is the record of a run that is not recorded: it has nothing and keeps
// nothing.
type None struct{}

func (None) Run() Run                                                      { return Run{} }
func (None) Script() tool.Script                                           { return tool.Script{} }
func (None) Live() bool                                                    { return true }
func (None) Keeps() bool                                                   { return false }
func (None) Key(tool.Place) string                                         { return "" }
func (None) Recall(tool.Effect, *tool.Func) (*Entry, Recollection, error)  { return nil, Unknown, nil }
func (None) Recorded(tool.Place) (Entry, bool, error)                      { return Entry{}, false, nil }
func (None) Notes() iter.Seq2[*value.Dict, error]                          { return func(func(*value.Dict, error) bool) {} }
func (None) Intend(context.Context, Intent) error                          { return nil }
func (None) Settle(context.Context, tool.Place, tool.Outcome, error) error { return nil }
func (None) Note(context.Context, tool.Place, *value.Dict) error           { return nil }
func (None) Ask(_ context.Context, q Asked) (Asked, error)                 { return q, nil }
func (None) Answered(context.Context, Asked, tool.Answer) error            { return nil }
func (None) Answer(context.Context, tool.Place, int) (*Answered, error)    { return nil, nil }
func (None) Park(context.Context, string, time.Time) error                 { return nil }
func (None) End(context.Context, string, tool.Outcome, error) error        { return nil }
func (None) Close() error                                                  { return nil }
func (None) Questions(context.Context) ([]Asked, error)                    { return nil, nil }
func (None) CancelRequested(context.Context) (bool, error)                 { return false, nil }

func (None) Identify(q Asked) (Asked, error) {
	q.Step = q.Place.String()
	return q, nil
}
