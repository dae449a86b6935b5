package history

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A recorder encodes one record. After the first error it does nothing.
type recorder struct {
	store journal.Store // of large values; nil puts all of them into the record
	buf   []byte
	bare  []byte // a field before it has its length
	err   error
}

// about returns a recorder of a record about a place.
func about(p tool.Place, store journal.Store) *recorder {
	r := &recorder{store: store}
	r.put(p.String())
	return r
}

// put adds fields. Large ones are stored as blobs.
func (r *recorder) put(vs ...tool.Value) {
	for _, v := range vs {
		r.field(v, inlineMost)
	}
}

func (r *recorder) field(v tool.Value, most int) {
	if r.err != nil {
		return
	}
	if r.bare, r.err = tool.Append(r.bare[:0], v); r.err != nil {
		return
	}
	if len(r.bare) <= most || r.store == nil {
		r.buf = binary.AppendUvarint(r.buf, uint64(len(r.bare))<<1)
		r.buf = append(r.buf, r.bare...)
		return
	}
	name := blobName(sha256.Sum256(r.bare))
	if r.err = r.store.PutBlob(context.Background(), name.String(), r.bare); r.err == nil {
		r.buf = binary.AppendUvarint(r.buf, uint64(len(r.bare))<<1|1)
		r.buf = append(r.buf, name[:]...)
	}
}

// record returns the record as it is stored.
func (r *recorder) record(k recordKind) ([]byte, error) {
	if err := r.failure(); err != nil {
		return nil, err
	}
	out := binary.AppendUvarint(append(make([]byte, 0, len(r.buf)+6), byte(k)), uint64(len(r.buf)))
	return append(out, r.buf...), nil
}

// failure returns why something cannot be recorded, or nil.
func (r *recorder) failure() error {
	if r.err == nil {
		return nil
	}
	if _, ok := r.err.(*tool.Error); ok {
		return r.err
	}
	return tool.Errorf(tool.Invalid, "cannot be recorded: %w", r.err)
}

// The fields of each kind of record follow. Those about a step begin with its
// place, see about.

func (r *recorder) intent(i *Intent) {
	if !i.Kind.Valid() {
		r.err = tool.Errorf(tool.Invalid, "the intent of %s has no valid Kind", i.Func)
	}
	r.put(tool.Tuple{nanos(now()), i.Func, int64(i.Kind)}, orNil(i.Args), orNil(i.Change))
}

func (r *recorder) outcome(out *tool.Outcome, failure error) {
	at := tool.Tuple{nanos(now())}
	var undo *tool.Dict
	if u := out.Undo; u != nil {
		at, undo = append(at, u.Func, u.Place.String()), u.Args
	}
	r.put(at, usageDict(out.Usage), orNil(undo), errorValue(failure), out.Value)
}

func (r *recorder) note(d *tool.Dict) { r.put(nanos(now()), orNil(d)) }

func (r *recorder) question(n int, q *Question) {
	r.put(int64(n), tool.Tuple{nanos(now()), string(q.Kind)}, utf8Text(q.Text), orNil(q.Data))
}

func (r *recorder) answer(n int, a *Answer) { r.put(int64(n), a.value()) }

func (r *recorder) resumed(version string, at time.Time) { r.put(version, nanos(at)) }

func (r *recorder) parked(reason string, at, wake time.Time) {
	r.put(utf8Text(reason), nanos(at), nanos(wake))
}

func (r *recorder) ended(s State, reason string, at time.Time, out *tool.Outcome, failure error) {
	r.put(int64(s), utf8Text(reason), errorValue(failure), usageDict(out.Usage), nanos(at), out.Value)
}

// endState returns how a run ends with an error, or with none.
func endState(failure error) State {
	switch {
	case failure == nil:
		return Done
	case tool.KindOf(failure) == tool.Canceled:
		return Cancelled
	}
	return Failed
}

// wakeTime returns a wake time as it can be recorded.
func wakeTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return journal.Time(moment(nanos(t)))
}
