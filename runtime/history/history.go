package history

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A history is all that is recorded of a run, up to its end or its damage.
type history struct {
	num    int64
	run    Run
	bundle *fields // of the script
	head   head
	steps  map[string]*step
	last   tool.Place // of the last record that could be read
	damage error

	recentKey []byte // the field that says the place of recent
	recent    *step
}

// Entries yields what is recorded of a run by place, 2 before 10 and 3 before
// 3.1. An entry of which a part was lost comes with an error, with its place and
// nothing else; where the record of the run breaks off, an error comes last, with
// an empty Entry. Everything that comes with no error is as it was recorded.
func (j *Journal) Entries(ctx context.Context, run string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		h, err := j.history(ctx, run)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for _, s := range h.sorted() {
			if !yield(s.entry(run, j.blobs.get)) {
				return
			}
		}
		if h.damage != nil {
			yield(Entry{}, h.damage)
		}
	}
}

func (h *history) sorted() []*step {
	list := make([]*step, 0, len(h.steps))
	for _, s := range h.steps {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *step) int { return slices.Compare(a.place, b.place) })
	return list
}

// find returns the number of a run.
func (j *Journal) find(ctx context.Context, id string) (int64, error) {
	if !validID(id) {
		return 0, noRun(id)
	}
	j.w.flush() // if that fails, what is on disk can still be read
	tx, err := j.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, dbError(err)
	}
	defer tx.Rollback()
	var num int64
	err = tx.QueryRowContext(ctx, "SELECT num FROM runs WHERE id = ?", id).Scan(&num)
	if err == nil {
		return num, nil
	}
	if !errors.Is(err, sql.ErrNoRows) && !isDamage(err) {
		return 0, dbError(err)
	}
	// An index may be damaged where what it points to is not.
	for r, e := range rows(ctx, tx) {
		if e != nil {
			return 0, e
		}
		if run, _, e := readBegun(r.first, j.blobs.get); run.ID == id || e != nil && r.id == id {
			return r.num, nil
		}
	}
	return 0, noRun(id)
}

// history reads a run. Its error says that there is nothing to read; damage is
// told in the history.
func (j *Journal) history(ctx context.Context, id string) (*history, error) {
	num, err := j.find(ctx, id)
	if err != nil {
		return nil, err
	}
	h := &history{num: num, run: Run{ID: id}, steps: map[string]*step{}}
	tx, err := j.db.BeginTx(ctx, nil) // of one moment, though the run may go on
	if err != nil {
		return nil, dbError(err)
	}
	defer tx.Rollback()
	var headBytes []byte
	headErr := tx.QueryRowContext(ctx, "SELECT body FROM heads WHERE num = ?", num).Scan(&headBytes)
	if headErr == nil {
		h.head, headErr = readHead(headBytes)
	}
	seq, last, err := h.readFrames(ctx, tx, j.blobs.get)
	if ctx.Err() != nil {
		return nil, tool.AsError(ctx.Err(), tool.Canceled)
	}
	switch {
	case err != nil:
		h.damage = h.broken(err)
	case headErr != nil:
		h.damage = damaged(id, "how far it has come", headErr)
	case seq < h.head.frames:
		h.damage = h.broken(fmt.Errorf("%d of its records are missing", h.head.frames-seq))
	case seq != h.head.frames || last != h.head.last:
		h.damage = damaged(id, "how far it has come", errBroken)
	}
	if headErr == nil {
		h.run.stands(h.head)
	}
	return h, h.readAnswers(ctx, tx)
}

// broken says behind which step a record cannot be read on.
func (h *history) broken(err error) error {
	after := "at its beginning"
	if h.last != nil {
		after = "after step " + h.last.String()
	}
	return damaged(h.run.ID, after, err)
}

// readFrames reads the frames of a run, as far as their chain holds.
func (h *history) readFrames(ctx context.Context, tx *sql.Tx, blobs blobReader) (seq int64, last sum, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT body FROM frames WHERE at >= ? AND at < ? ORDER BY at", frameAt(h.num, 0), frameAt(h.num+1, 0))
	if err != nil {
		return 0, last, err
	}
	defer rows.Close()
	for ; rows.Next(); seq++ {
		var frame []byte
		if err := rows.Scan(&frame); err != nil {
			return seq, last, err
		}
		s, records, err := openFrame(seq, frame)
		if err == nil && !follows(frame, last) {
			err = errBroken
		}
		if err == nil && seq == 0 {
			h.run, h.bundle, err = h.begun(frame, blobs)
			records = records[min(1, len(records)):]
		}
		for i := 0; i < len(records) && err == nil; i++ {
			err = h.take(records[i], blobs)
		}
		if err != nil {
			return seq, last, err
		}
		last = s
	}
	return seq, last, rows.Err()
}

// begun reads the first frame.
func (h *history) begun(frame []byte, blobs blobReader) (Run, *fields, error) {
	r, bundle, err := readBegun(frame, blobs)
	if err == nil && r.ID != h.run.ID {
		err = errBroken
	}
	if err != nil {
		return h.run, nil, err
	}
	return r, bundle, nil
}

// take takes in a record.
func (h *history) take(r record, blobs blobReader) error {
	switch r.kind {
	case runBegun:
		return errRecord
	case runResumed, runParked, runEnded:
		return h.run.take(r, blobs)
	}
	s, err := h.step(r)
	if err != nil {
		return err
	}
	h.last = s.place
	return s.add(r)
}

// step returns the step that a record is about.
func (h *history) step(r record) (*step, error) {
	if h.recent != nil && bytes.HasPrefix(r.fields, h.recentKey) { // as most outcomes follow their intents
		return h.recent, nil
	}
	f := &fields{rest: r.fields, blobs: func(blobName, uint64) ([]byte, error) { return nil, errRecord }}
	at := field[string](f)
	s := h.steps[at]
	if s == nil {
		p, err := ParsePlace(at)
		if err != nil || f.err != nil {
			return nil, errRecord
		}
		s = &step{place: p}
		h.steps[at] = s
	}
	h.recentKey, h.recent = r.fields[:len(r.fields)-len(f.rest)], s
	return s, nil
}

// script reads what the run executes.
func (h *history) script(blobs blobReader) (tool.Script, error) {
	s, ok := tool.ReadScript(h.bundle.value())
	if err := h.bundle.done(); err != nil {
		return tool.Script{}, err
	}
	if !ok || s.Hash != h.run.Script {
		return tool.Script{}, errChanged
	}
	return s, nil
}
