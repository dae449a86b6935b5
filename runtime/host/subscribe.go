package host

import (
	"context"
	"iter"

	"github.com/cassidy-run/cassidy/runtime/host/internal/events"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// An EventFilter selects events: those of a Run, of a Call and the calls below it, or of a
// Session of an agent; what is "" selects any. Buffer is how many events may wait for the
// subscriber; 0 means 256, and the most is 65536. The zero EventFilter selects all.
type EventFilter = events.Filter

// Subscribe returns a channel of the events that a filter selects, from now on.
// The channel is closed when the context ends or the host is closed, and immediately
// on a closed host; what waits in it then can still be read.
//
// Events are delivered before the call that they are about continues, but never
// delay it: where the buffer is full, events are dropped, and a [tool.Lost] with
// their number comes in their place as soon as there is space. A subscriber that
// reads nothing costs its buffer and nothing else. Events with a Seq come in its
// order. Subscriptions to one run, call or session cost the others nothing.
func (h *Host) Subscribe(ctx context.Context, f EventFilter) <-chan tool.Event {
	return h.hub.Subscribe(ctx, f, h.eventTime)
}

// Events yields the recorded events of a run with a Seq greater than after, in
// order, up to now. A live event has the same Seq: who subscribes first, and then
// reads Events until the Seq of the first live event, misses none. A run that is
// resumed counts on; the events of a process that died a moment after it emitted
// them may be missing here, and their numbers are not used again.
//
// It fails with kind NotFound if there is no such run, and Invalid if the host has
// no journal. Of a damaged record it yields what can be read, and an error last.
func (h *Host) Events(ctx context.Context, runID string, after uint64) iter.Seq2[tool.Event, error] {
	return func(yield func(tool.Event, error) bool) {
		j, err := h.journal()
		if err != nil {
			yield(tool.Event{}, err)
			return
		}
		for e, err := range j.Events(ctx, runID, after) {
			if !yield(e, err) {
				return
			}
		}
	}
}
