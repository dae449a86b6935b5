package history

import (
	"context"
	"iter"
	"math"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// seqGap is how many event numbers are skipped if a run's process died. It is more than
// the number of events that the process can have had in memory, so no number that was
// seen is used for another event.
const seqGap = 4 * queueMost

// AddEvent implements [Record]. It does not wait for the record to be durable: the
// record is written with the next durable one, or shortly afterwards.
func (l *Log) AddEvent(e *tool.Event, deliver func()) {
	l.events.Lock()
	defer l.events.Unlock()
	defer deliver()
	if l.closed() != nil {
		return
	}
	d := e.Fields()
	if d == nil {
		return
	}
	d, result := splitResult(d)
	seq := l.lastEvent + 1
	r := newRecorder(l.j.store, l.j.clock)
	r.put(int64(seq))
	r.pack(&eventHead{nanos(e.Time), e.Type(), utf8Text(e.Call), utf8Text(e.Tool), utf8Text(e.Session)})
	r.put(d, result)
	rec, err := r.record(eventAdded)
	if err == nil {
		err = l.w.later(&job{log: l, record: rec})
	}
	if err == nil { // otherwise the event is not recorded, and has no number
		e.Seq, l.lastEvent = seq, seq
	}
}

// An eventHead is an event without its fields.
type eventHead struct {
	At                        int64
	Type, Call, Tool, Session string
}

// resultField is the field of an event that may be large. In the record it is separate,
// so that it is stored once with the equal outcome.
const resultField = "result"

// splitResult separates the result from the fields of an event.
func splitResult(d *value.Dict) (rest *value.Dict, result value.Value) {
	result, ok := d.Get(resultField)
	if !ok {
		return d, nil
	}
	rest = &value.Dict{}
	for k, v := range d.All() {
		if name, _ := k.(string); name == resultField {
			v = nil
		}
		_ = rest.Set(k, v)
	}
	return rest, result
}

// AddEvent implements [Record]: the event has no number.
func (None) AddEvent(_ *tool.Event, deliver func()) { deliver() }

// Events yields the recorded events of a run with numbers greater than after, in order,
// as of one moment. The run may be in progress, here or in another process. It fails
// with NotFound if there is no such run. From a damaged record it yields the readable
// events, and an error last.
func (j *Journal) Events(ctx context.Context, run string, after uint64) iter.Seq2[tool.Event, error] {
	return func(yield func(tool.Event, error) bool) {
		h, err := j.history(ctx, run)
		if err != nil {
			yield(tool.Event{}, err)
			return
		}
		lost := h.damage
		for _, r := range h.events {
			if r.seq <= after {
				continue
			}
			e, err := h.event(r, j)
			if err != nil {
				if lost == nil {
					lost = damaged(run, "an event", err)
				}
				continue
			}
			if !yield(e, nil) {
				return
			}
		}
		if lost != nil {
			yield(tool.Event{}, lost)
		}
	}
}

// A recordedEvent is the undecoded record of an event.
type recordedEvent struct {
	seq uint64
	record
}

// takeEvent adds the record of an event. Event numbers must increase.
func (h *history) takeEvent(r record) error {
	f := &fields{rest: r.fields}
	seq := uint64(f.small(math.MaxInt64))
	if f.err != nil || seq <= h.lastEvent() {
		return errRecord
	}
	h.events = append(h.events, recordedEvent{seq, r})
	return nil
}

// lastEvent returns the number of the last event, or 0.
func (h *history) lastEvent() uint64 {
	if len(h.events) == 0 {
		return 0
	}
	return h.events[len(h.events)-1].seq
}

// event decodes the record of an event.
func (h *history) event(r recordedEvent, j *Journal) (tool.Event, error) {
	f := &fields{rest: r.fields, store: j.store}
	f.raw() // the number
	var head eventHead
	f.unpack(&head)
	e := tool.Event{Seq: r.seq, Time: moment(head.At), Run: h.run.ID, Call: head.Call, Tool: head.Tool, Session: head.Session}
	d, result := f.dict(), f.value()
	if err := f.done(); err != nil {
		return e, err
	}
	if d.Has(resultField) {
		d.Put(resultField, result)
	}
	return e, e.SetFields(head.Type, d)
}
