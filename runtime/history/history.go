package history

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A history is the record of a run, up to its end or its damage.
type history struct {
	num    int64
	run    Run // as changed by later records
	begun  beginning
	head   head
	steps  map[string]*step
	last   tool.StepPath // of the last readable record
	frames [][]byte      // those that are not damaged
	inbox  []journal.Message
	events []recordedEvent
	damage error
	prev   record // the last one that is not an event
	away   []span // when no process executed the run

	recentKey []byte // the encoded place of recent
	recent    *step
}

// Entries yields the record of a run by step: 2 before 10 and 3 before 3.1. A damaged
// entry comes with an error, and has only its StepPath. If the record of the run is
// incomplete, an error comes last, with an empty Entry. Every entry without an error is unchanged.
func (j *Journal) Entries(ctx context.Context, run string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		h, err := j.history(ctx, run)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for _, s := range sorted(h.steps) {
			if !yield(s.entry(&h.run, j.store)) {
				return
			}
		}
		if h.damage != nil {
			yield(Entry{}, h.damage)
		}
	}
}

// sorted returns steps in their order.
func sorted(steps map[string]*step) []*step {
	list := slices.Collect(maps.Values(steps))
	slices.SortFunc(list, func(a, b *step) int { return slices.Compare(a.place, b.place) })
	return list
}

// find returns the number of a run in the store.
func (j *Journal) find(ctx context.Context, id string) (int64, error) {
	if !journal.ValidID(id) {
		return 0, noRun(id)
	}
	_ = j.w.flushAll() // if that fails, stored records can still be read
	row, err := j.store.Find(ctx, j.tenant, id)
	switch kind := value.KindOf(err); {
	case err == nil, kind == value.Failed && row.Num != 0:
		return row.Num, nil
	case kind == value.NotFound:
		return 0, noRun(id)
	}
	return 0, err
}

// history reads a run. An error means that nothing can be read; damage is in the
// history.
func (j *Journal) history(ctx context.Context, id string) (*history, error) {
	num, err := j.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return j.load(ctx, id, num)
}

// load is history for a run whose number is known.
func (j *Journal) load(ctx context.Context, id string, num int64) (*history, error) {
	stored, lost := j.store.Load(ctx, num)
	switch kind := value.KindOf(lost); {
	case lost != nil && kind == value.NotFound:
		return nil, noRun(id)
	case lost != nil && kind != value.Failed:
		return nil, lost
	}
	h := &history{num: num, run: Run{ID: id}, steps: map[string]*step{}, inbox: stored.Inbox}
	seq, last, err := h.readFrames(stored.Frames, j.store)
	if err == nil {
		err = lost
	}
	var headErr error
	if h.head, headErr = readHead(stored.Row.Head); headErr == nil {
		headErr = h.head.agrees(&stored.Row)
	}
	switch {
	case err != nil:
		h.damage = h.broken(err)
	case headErr != nil:
		h.damage = damaged(id, "its progress", headErr)
	case seq < h.head.frames:
		h.damage = h.broken(fmt.Errorf("%d frames are missing", h.head.frames-seq))
	case seq != h.head.frames || last != h.head.last:
		h.damage = damaged(id, "its progress", errBroken)
	default:
		if err := h.begun.agrees(&stored.Row); err != nil {
			h.damage = damaged(id, "its beginning", err)
		}
	}
	if headErr == nil {
		h.run.State, h.run.Wake = h.head.state, h.head.shownWake()
	}
	h.run.Damage = h.damage
	h.run.stuckAs(&stored.Row)
	return h, nil
}

// broken returns the error of an incomplete record, with its last step.
func (h *history) broken(err error) error {
	after := "at its beginning"
	if h.last != nil {
		after = "after step " + h.last.String()
	}
	return damaged(h.run.ID, after, err)
}

// readFrames reads the frames of a run up to the first damage.
func (h *history) readFrames(frames [][]byte, store journal.Store) (seq int64, last sum, err error) {
	for i, frame := range frames {
		s, records, err := openFrame(seq, frame)
		if err == nil && !follows(frame, last) {
			err = errBroken
		}
		if err != nil {
			err = fmt.Errorf("frame %d: %w", seq+1, err)
		}
		if err == nil && seq == 0 {
			err = h.begin(frame, store)
			records = records[min(1, len(records)):]
		}
		for i := 0; i < len(records) && err == nil; i++ {
			err = h.take(records[i], store)
		}
		if err != nil {
			return seq, last, err
		}
		last, h.frames = s, frames[:i+1]
		seq++
	}
	return seq, last, nil
}

// begin reads the first frame.
func (h *history) begin(frame []byte, store journal.Store) error {
	b, err := readBegun(frame, store)
	if err == nil && b.run.ID != h.run.ID {
		err = errBroken
	}
	if err == nil {
		h.begun, h.run, h.prev = b, b.run, record{kind: runBegun}
	}
	return err
}

// take adds a record.
func (h *history) take(r record, store journal.Store) error {
	if r.kind == eventAdded {
		return h.takeEvent(r)
	}
	prev := h.prev
	h.prev = r
	switch r.kind {
	case runBegun:
		return errRecord
	case runResumed:
		h.leave(prev, r.time())
		return h.run.take(r, store)
	case runParked, runEnded:
		return h.run.take(r, store)
	}
	s, err := h.step(r)
	if err != nil {
		return err
	}
	h.last = s.place
	return s.add(r)
}

// step returns the step of a record.
func (h *history) step(r record) (*step, error) {
	if h.recent != nil && bytes.HasPrefix(r.fields, h.recentKey) { // most outcomes follow their intents
		return h.recent, nil
	}
	f := &fields{rest: r.fields}
	at := field[string](f)
	s := h.steps[at]
	if s == nil {
		p, err := ParseStepPath(at)
		if err != nil || f.err != nil {
			return nil, errRecord
		}
		s = &step{place: p, name: at}
		h.steps[at] = s
	}
	h.recentKey, h.recent = r.fields[:len(r.fields)-len(f.rest)], s
	return s, nil
}

// script decodes the script of the run.
func (h *history) script() (tool.Script, error) {
	s, ok := tool.ReadScript(h.begun.script.value())
	if err := h.begun.script.done(); err != nil {
		return tool.Script{}, err
	}
	if !ok || s.Hash != h.run.Script {
		return tool.Script{}, errChanged
	}
	return s, nil
}
