package host

import (
	"context"
	"iter"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/events"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An EventFilter selects events. The zero EventFilter selects all events.
type EventFilter struct {
	Run     string // events of this run; "" selects any
	Call    string // events of this call and of the calls that it makes; "" selects any
	Session string // events of this session of an agent; "" selects any
	Buffer  int    // how many events may wait for the subscriber: 0 means 256, and the maximum is 65536
}

// Subscribe returns a channel of the events that a filter selects, from now on. The channel is
// closed when the context ends or the host is closed; events in its buffer can still be read.
//
// Events are delivered before the call that they are about continues, but never delay it. If
// the buffer is full, events are dropped, and a [tool.Lost] with their number follows as soon
// as there is space. Events with a Seq come in its order. A subscription to one run, call or
// session does not slow down others.
func (h *Host) Subscribe(ctx context.Context, f EventFilter) <-chan tool.Event {
	if h.valid() != nil {
		none := make(chan tool.Event)
		close(none)
		return none
	}
	return h.hub.Subscribe(ctx, events.Filter(f), h.gate.EventTime)
}

// Events yields the recorded events of a run with a Seq greater than after, in order, up to
// now. A live event has the same Seq as its record. To miss none, subscribe first, and then
// read Events until the Seq of the first live event. The numbers continue when a run is
// resumed. If a process died just after it emitted events, these may be missing, and their
// numbers are not used again.
//
// Events fails with kind NotFound for an unknown run, and with Invalid if the host has no
// store. For a damaged record it yields what can be read, and then an error.
func (h *Host) Events(ctx context.Context, runID string, after uint64) iter.Seq2[tool.Event, error] {
	return fromJournal(h, func(j *history.Journal) iter.Seq2[tool.Event, error] { return j.Events(ctx, runID, after) })
}

// Emit reports something about the call of a context, which is the context of a handler in Go
// or of an effect. For example, a tool written in Go reports its progress with a
// [tool.Progress]. The event has the run, the call, the tool and the session of the call.
// With any other context, Emit does nothing. It never blocks, and is safe for concurrent
// use.
func Emit(ctx context.Context, r tool.Report) { gate.Emit(ctx, r) }

// Subscribed reports whether anybody has subscribed to what [Emit] reports with a context.
// Without a subscriber, the caller need not produce the reports.
func Subscribed(ctx context.Context) bool { return gate.Subscribed(ctx) }

// EmitAnswered reports the start and the end of a call that was answered without being made,
// such as one that a model repeats. The call of the context is the one that made it; with any
// other context, EmitAnswered does nothing. preview is a short form of the answer, and err is
// nil for a success.
func EmitAnswered(ctx context.Context, c tool.Call, preview string, err *value.Error) {
	gate.EmitAnswered(ctx, c, preview, err)
}
