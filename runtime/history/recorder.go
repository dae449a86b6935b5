package history

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A recorder encodes one record. After the first error it does nothing.
type recorder struct {
	store journal.Store // of large values; nil puts all of them into the record
	buf   *[]byte       // the fields; from buffers, until release
	clock clock
	err   error
}

// buffers holds those of recorders: most records are made, copied and gone.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}

func newRecorder(store journal.Store, c clock) *recorder {
	return &recorder{store: store, clock: c, buf: buffers.Get().(*[]byte)}
}

// about returns a recorder of a record about a place.
func about(p tool.Place, store journal.Store, c clock) *recorder {
	r := newRecorder(store, c)
	r.put(p.String())
	return r
}

// put adds fields. Large ones are stored as blobs.
func (r *recorder) put(vs ...value.Value) {
	for _, v := range vs {
		r.field(v, inlineMost)
	}
}

func (r *recorder) field(v value.Value, most int) {
	if r.err != nil {
		return
	}
	buf := *r.buf
	start := len(buf)
	if buf, r.err = value.Append(buf, v); r.err != nil {
		return
	}
	size := len(buf) - start
	var head [binary.MaxVarintLen64]byte
	if size <= most || r.store == nil {
		buf = slices.Insert(buf, start, binary.AppendUvarint(head[:0], uint64(size)<<1)...)
	} else {
		name := blobName(sha256.Sum256(buf[start:]))
		r.err = r.store.PutBlob(context.Background(), name.String(), buf[start:])
		buf = append(binary.AppendUvarint(buf[:start], uint64(size)<<1|1), name[:]...)
	}
	*r.buf = buf
}

// record returns the record as it is stored. The recorder cannot be used any
// more.
func (r *recorder) record(k recordKind) ([]byte, error) {
	if err := r.failure(); err != nil {
		return nil, err
	}
	var head [1 + binary.MaxVarintLen64]byte
	head[0] = byte(k)
	out := slices.Concat(binary.AppendUvarint(head[:1], uint64(len(*r.buf))), *r.buf)
	r.release()
	return out, nil
}

// discard drops the record. It returns why it could not be recorded, or nil.
func (r *recorder) discard() error {
	r.release()
	return r.failure()
}

// release gives the buffer back, unless it has grown large.
func (r *recorder) release() {
	if cap(*r.buf) <= 2*inlineMost {
		*r.buf = (*r.buf)[:0]
		buffers.Put(r.buf)
	}
	r.buf = nil
}

// failure returns why something cannot be recorded, or nil.
func (r *recorder) failure() error {
	if r.err == nil {
		return nil
	}
	if _, ok := r.err.(*value.Error); ok {
		return r.err
	}
	return value.Errorf(value.Invalid, "cannot be recorded: %w", r.err)
}

// The fields of each kind of record follow. Those about a step begin with its
// place, see about.

func (r *recorder) intent(i *Intent) {
	if !i.Kind.Valid() {
		r.err = value.Errorf(value.Invalid, "the intent of %s has no valid Kind", i.Func)
	}
	r.put(value.Tuple{nanos(r.clock.now()), i.Func, int64(i.Kind)}, orNil(i.Args), orNil(i.Change))
}

func (r *recorder) outcome(out *tool.Outcome, failure error) {
	at := value.Tuple{nanos(r.clock.now())}
	var undo *value.Dict
	if u := out.Undo; u != nil {
		at, undo = append(at, u.Func, u.Place.String()), u.Args
	}
	r.put(at, usageDict(out.Usage), orNil(undo), errorValue(failure), out.Value)
}

func (r *recorder) note(d *value.Dict) { r.put(nanos(r.clock.now()), orNil(d)) }

func (r *recorder) question(q *Asked) {
	r.put(int64(q.N), nanos(q.Asked), q.content(), orNil(q.Data))
}

func (r *recorder) answer(n int, a *Answered) { r.put(int64(n), a.value()) }

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
	case value.KindOf(failure) == value.Canceled:
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
