package history

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// codecVersion is the version of the format of records. It is the first field of a
// run's first record; runs of other versions cannot be read.
const codecVersion = 7

// A versionError is the error of a record with another version.
type versionError int64

func (v versionError) Error() string {
	return fmt.Sprintf("record format %d is not supported: this version of cassidy reads format %d", int64(v), codecVersion)
}

// A recordKind is the kind of a record.
type recordKind byte

const (
	runBegun recordKind = iota + 1
	runResumed
	effectIntended
	effectSettled
	placeNoted
	questionAsked
	questionAnswered
	runParked
	runEnded
	eventAdded
)

// A record is its kind, the length of its fields, and the fields. A field is a length
// and a value in the form of [value.Append], or a struct in that of [pack.Append]. If the lowest
// bit of the length is set, the bytes are stored as blobs beside the database, and the length
// and the hash of each blob replace them, see [cut].
type record struct {
	kind   recordKind
	fields []byte
}

// bytes returns the record as it is stored.
func (r record) bytes() []byte {
	var head [1 + binary.MaxVarintLen64]byte
	head[0] = byte(r.kind)
	return slices.Concat(binary.AppendUvarint(head[:1], uint64(len(r.fields))), r.fields)
}

var errRecord = errors.New("invalid record")

// nextRecord splits the first record off data.
func nextRecord(data []byte) (record, []byte, error) {
	if len(data) == 0 || data[0] == 0 || recordKind(data[0]) > eventAdded {
		return record{}, nil, errRecord
	}
	n, size := binary.Uvarint(data[1:])
	if size <= 0 || n > uint64(len(data)-1-size) {
		return record{}, nil, errRecord
	}
	body := data[1+size:]
	return record{kind: recordKind(data[0]), fields: body[:n]}, body[n:], nil
}

// inlineMost is how many bytes of a value stay in a frame. Larger values would make
// every later frame of the run slow to read, and often exist twice: the content of a
// file, the reply of a page.
const inlineMost = 64 << 10

// A blob is a part of a field that is stored beside the database.
type blob struct {
	name [sha256.Size]byte // its SHA-256
	size uint64
}

func (b *blob) String() string { return hex.EncodeToString(b.name[:]) }

// A large field is cut into blobs of these sizes.
const (
	leastBlob = 32 << 10
	mostBlob  = 256 << 10
	cutBits   = 16 // 64 KiB more on average
)

// cut returns the length of the first blob of a large field. Where it ends depends only on the
// 64 bytes before the end. So two versions of a large file, which differ in one place, have most
// blobs in common, and these are stored once.
func cut(data []byte) int {
	var h uint64
	for i := leastBlob - 64; i < min(len(data), mostBlob); i++ {
		h = h<<1 + (uint64(data[i])+1)*0x9e3779b97f4a7c15 // spreads a byte over all bits
		if i >= leastBlob && h>>(64-cutBits) == 0 {
			return i + 1
		}
	}
	return min(len(data), mostBlob)
}

// fields reads the fields of a record in order. It checks everything, since a file may
// contain anything. The first error is kept, and later fields are zero.
type fields struct {
	rest  []byte
	store journal.Store // of the blobs; nil if none is read
	err   error
}

// raw returns the next field: its bytes, or its blobs.
func (f *fields) raw() (bare []byte, blobs []blob) {
	n := f.length()
	size := n >> 1
	if n&1 == 0 {
		if size > uint64(len(f.rest)) {
			f.fail(errRecord)
			return nil, nil
		}
		bare, f.rest = f.rest[:size], f.rest[size:]
		return bare, nil
	}
	for size > 0 && f.err == nil {
		b := blob{size: f.length()}
		if b.size == 0 || b.size > size || len(f.rest) < len(b.name) {
			f.fail(errRecord)
			return nil, nil
		}
		f.rest = f.rest[copy(b.name[:], f.rest):]
		size -= b.size
		blobs = append(blobs, b)
	}
	return nil, blobs
}

// length reads a length.
func (f *fields) length() uint64 {
	n, head := binary.Uvarint(f.rest)
	if head <= 0 {
		f.fail(errRecord)
		return 0
	}
	f.rest = f.rest[head:]
	return n
}

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
	f.rest = nil
}

// bytes returns the next field, which may be in blobs. It is nil after an error.
func (f *fields) bytes() []byte {
	if f.err != nil {
		return nil
	}
	bare, blobs := f.raw()
	for i := range blobs {
		if f.store == nil {
			f.fail(errRecord)
			return nil
		}
		part, err := f.store.Blob(context.Background(), blobs[i].String(), int64(blobs[i].size))
		if err != nil {
			f.fail(err)
			return nil
		}
		if i == 0 {
			bare = part
		} else {
			bare = append(bare, part...)
		}
	}
	if f.err != nil {
		return nil
	}
	return bare
}

func (f *fields) value() value.Value {
	bare := f.bytes()
	if f.err != nil {
		return nil
	}
	v, err := value.Decode(bare)
	if err != nil {
		f.fail(err)
	}
	return v
}

// unpack reads a field that is a struct.
func (f *fields) unpack(x any) {
	if bare := f.bytes(); f.err == nil {
		if err := pack.Decode(string(bare), x); err != nil {
			f.fail(err)
		}
	}
}

// field reads a field of one type.
func field[T any](f *fields) T {
	v, ok := f.value().(T)
	if !ok {
		f.fail(errRecord)
	}
	return v
}

// dict reads a dict or nil.
func (f *fields) dict() *value.Dict {
	switch v := f.value().(type) {
	case nil:
		return nil
	case *value.Dict:
		return v
	}
	f.fail(errRecord)
	return nil
}

func (f *fields) time() time.Time { return moment(field[int64](f)) }

// moment converts the result of nanos to a time; 0 is the zero time.
func moment(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

// small reads an integer from 0 to most.
func (f *fields) small(most int64) int64 {
	i := field[int64](f)
	if i < 0 || i > most {
		f.fail(errRecord)
		return 0
	}
	return i
}

// done returns the first error. Trailing bytes are an error.
func (f *fields) done() error {
	if f.err == nil && len(f.rest) > 0 {
		f.err = errRecord
	}
	return f.err
}

// lastMoment is the last time that can be recorded, in the year 2262.
var lastMoment = time.Unix(0, math.MaxInt64)

// nanos returns a time in its recorded form. The zero time is 0.
func nanos(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.After(lastMoment):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// orNil converts a nil dict to the value nil.
func orNil(d *value.Dict) value.Value {
	if d == nil {
		return nil
	}
	return d
}

// ParseStepPath reads the text of [tool.StepPath.String]; "" is the nil path. Any other text
// is an error of kind Invalid.
func ParseStepPath(text string) (tool.StepPath, error) {
	if text == "" {
		return nil, nil
	}
	var p tool.StepPath
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil || part[0] == '0' && n > 0 || n == 0 && len(part) > 1 {
			return nil, value.Errorf(value.Invalid, "invalid step %q", value.Clean(text, 40)).WithHint("write a step as a number or a path, as in 3 or 3.1")
		}
		p = append(p, int(n))
	}
	return p, nil
}

// errorValue encodes an error: its text and kind, without the error that it wraps.
func errorValue(err error) value.Value {
	if err == nil {
		return nil
	}
	return value.ErrorOf(err, value.Failed).Value()
}

func utf8Text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// failure decodes an error, or nil.
func (f *fields) failure() *value.Error {
	v := f.value()
	if v == nil {
		return nil
	}
	e, ok := value.ErrorFromValue(v)
	if !ok {
		f.fail(errRecord)
	}
	return e
}
