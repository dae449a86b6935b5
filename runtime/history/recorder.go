package history

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A recorder encodes one record. After the first error it does nothing.
type recorder struct {
	store journal.Store // of blobs; nil keeps all values in the record
	buf   *[]byte       // the encoded fields; from buffers, until release
	clock clock
	err   error
}

// buffers reuses the buffers of recorders, which are short-lived.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}

func newRecorder(store journal.Store, c clock) *recorder {
	return &recorder{store: store, clock: c, buf: buffers.Get().(*[]byte)}
}

// about returns a recorder for a record of a place.
func about(p tool.StepPath, store journal.Store, c clock) *recorder {
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
	r.encoded(most, func(buf []byte) ([]byte, error) { return value.Append(buf, v) })
}

// pack adds a struct as a field.
func (r *recorder) pack(x any) {
	r.encoded(inlineMost, func(buf []byte) ([]byte, error) { return pack.Append(buf, x) })
}

// encoded adds a field. One of more than so many bytes is stored as blobs.
func (r *recorder) encoded(most int, appended func([]byte) ([]byte, error)) {
	if r.err != nil {
		return
	}
	buf := *r.buf
	start := len(buf)
	if buf, r.err = appended(buf); r.err != nil {
		return
	}
	size := len(buf) - start
	var head [binary.MaxVarintLen64]byte
	if size <= most || r.store == nil {
		buf = slices.Insert(buf, start, binary.AppendUvarint(head[:0], uint64(size)<<1)...)
	} else {
		names := binary.AppendUvarint(nil, uint64(size)<<1|1)
		for rest := buf[start:]; len(rest) > 0 && r.err == nil; {
			part := rest[:cut(rest)]
			b := blob{sha256.Sum256(part), uint64(len(part))}
			r.err = r.store.PutBlob(context.Background(), b.String(), part)
			names = append(binary.AppendUvarint(names, b.size), b.name[:]...)
			rest = rest[len(part):]
		}
		buf = append(buf[:start], names...)
	}
	*r.buf = buf
}

// record returns the encoded record. The recorder cannot be used afterwards.
func (r *recorder) record(k recordKind) ([]byte, error) {
	if err := r.failure(); err != nil {
		return nil, err
	}
	out := record{k, *r.buf}.bytes()
	r.release()
	return out, nil
}

// discard drops the record. It returns the error of encoding it, or nil.
func (r *recorder) discard() error {
	r.release()
	return r.failure()
}

// release returns the buffer to the pool, unless it has grown large.
func (r *recorder) release() {
	if cap(*r.buf) <= 2*inlineMost {
		*r.buf = (*r.buf)[:0]
		buffers.Put(r.buf)
	}
	r.buf = nil
}

// failure returns why the record cannot be encoded, or nil.
func (r *recorder) failure() error {
	if r.err == nil {
		return nil
	}
	if _, ok := r.err.(*value.Error); ok {
		return r.err
	}
	return value.Errorf(value.Invalid, "write the record: %w", r.err)
}

// The fields of each kind of record follow. Those of a step begin with its place, see
// about.

// An intentHead is an intent without its arguments.
type intentHead struct {
	At   int64
	Func string
	Kind tool.EffectKind
}

// An outcomeHead is an outcome without its values and its error.
type outcomeHead struct {
	At    int64
	Usage tool.Usage
	Undo  *undoHead
}

// An undoHead is the effect that undoes another one, without its arguments.
type undoHead struct{ Func, StepPath string }

func (r *recorder) intent(i *Intent) {
	if !i.Kind.Valid() {
		r.err = value.Errorf(value.Invalid, "the intent of %s has an invalid Kind", i.Func)
	}
	r.pack(&intentHead{nanos(r.clock.now()), i.Func, i.Kind})
	r.put(orNil(i.Args), orNil(i.Change))
}

func (r *recorder) outcome(out *tool.Outcome, failure error) {
	head := outcomeHead{At: nanos(r.clock.now()), Usage: out.Usage}
	var undo *value.Dict
	if u := out.Undo; u != nil {
		head.Undo, undo = &undoHead{u.Func, u.StepPath.String()}, u.Args
	}
	r.pack(&head)
	r.put(orNil(undo), errorValue(failure), out.Value)
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
	r.put(int64(s), utf8Text(reason), errorValue(failure))
	r.pack(&out.Usage)
	r.put(nanos(at), out.Value)
}

// endState returns the final state of a run with an error, or nil.
func endState(failure error) State {
	switch {
	case failure == nil:
		return Done
	case value.KindOf(failure) == value.Canceled:
		return Cancelled
	}
	return Failed
}

// wakeTime returns a wake time in the precision of the store.
func wakeTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return journal.Time(moment(nanos(t)))
}
