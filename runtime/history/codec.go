package history

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// codecVersion is the version of the form of records. It is the first field of
// the first record of each run; a run of another version is not read.
const codecVersion = 3

// A versionError is why a record of another version is not read.
type versionError int64

func (v versionError) Error() string {
	return fmt.Sprintf("its record has format %d, and this version of cassidy reads format %d", int64(v), codecVersion)
}

// A recordKind is what a record is about.
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

// A record is its kind, the length of its fields, and the fields: each a value
// in the form of [value.Append] behind its length. The lowest bit of that length
// is set where the value is kept beside the database, and then the hash of its
// bytes follows instead of them.
type record struct {
	kind   recordKind
	fields []byte
}

var errRecord = errors.New("not a record of this journal")

// nextRecord takes the first record off data.
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

// inlineMost is how many bytes of a value stay in a frame. Larger ones would
// make every later frame of the run slow to read, and often exist twice: the
// content of a file, the reply of a page.
const inlineMost = 64 << 10

// A blobName is the SHA-256 of a blob.
type blobName [sha256.Size]byte

func (n blobName) String() string { return hex.EncodeToString(n[:]) }

// fields reads the fields of a record one after the other. Everything is
// checked, since a file may hold anything; the first error stays, and what is
// read after it is zero.
type fields struct {
	rest  []byte
	store journal.Store // of the blobs; nil where none is read
	err   error
}

// raw takes the next field: its bytes, or the name and size of its blob.
func (f *fields) raw() (bare []byte, name blobName, size uint64) {
	n, head := binary.Uvarint(f.rest)
	if head <= 0 {
		f.fail(errRecord)
		return nil, name, 0
	}
	f.rest = f.rest[head:]
	size = n >> 1
	if n&1 == 1 {
		if len(f.rest) < len(name) {
			f.fail(errRecord)
			return nil, name, 0
		}
		f.rest = f.rest[copy(name[:], f.rest):]
		return nil, name, size
	}
	if size > uint64(len(f.rest)) {
		f.fail(errRecord)
		return nil, name, 0
	}
	bare, f.rest = f.rest[:size], f.rest[size:]
	return bare, name, 0
}

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
	f.rest = nil
}

func (f *fields) value() value.Value {
	if f.err != nil {
		return nil
	}
	bare, name, size := f.raw()
	if f.err == nil && bare == nil {
		if f.store == nil {
			f.fail(errRecord)
			return nil
		}
		var err error
		if bare, err = f.store.Blob(context.Background(), name.String(), int64(size)); err != nil {
			f.fail(err)
		}
	}
	if f.err != nil {
		return nil
	}
	v, err := value.Decode(bare)
	if err != nil {
		f.fail(err)
	}
	return v
}

// field reads a field of one type.
func field[T any](f *fields) T {
	v, ok := f.value().(T)
	if !ok {
		f.fail(errRecord)
	}
	return v
}

// dict reads a dict or nothing.
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

// moment returns the time of what nanos returned; 0 is the zero time.
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

// done returns the first error. Bytes that are left over are one.
func (f *fields) done() error {
	if f.err == nil && len(f.rest) > 0 {
		f.err = errRecord
	}
	return f.err
}

// lastMoment is the last moment that can be recorded, in the year 2262.
var lastMoment = time.Unix(0, math.MaxInt64)

// nanos returns a moment as it is recorded. The zero time is 0.
func nanos(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.After(lastMoment):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// orNil makes no dict at all the value nil.
func orNil(d *value.Dict) value.Value {
	if d == nil {
		return nil
	}
	return d
}

// ParsePlace reads what [tool.Place.String] wrote, and nothing else; "" is the nil
// place. It fails, of kind Invalid, for any other text.
func ParsePlace(text string) (tool.Place, error) {
	if text == "" {
		return nil, nil
	}
	var p tool.Place
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil || part[0] == '0' && n > 0 || n == 0 && len(part) > 1 {
			return nil, value.Errorf(value.Invalid, "%q is no step of a run", value.Clean(text, 40)).WithHint("a step is a number, or several, as in 3.1")
		}
		p = append(p, int(n))
	}
	return p, nil
}

// maxTrace is how many lines of a trace are kept: more than a script's calls
// may nest by far.
const maxTrace = 256

// errorValue is an error as it is recorded: what is said, and not what it
// wraps.
func errorValue(err error) value.Value {
	if err == nil {
		return nil
	}
	e := value.ErrorOf(err, value.Failed)
	text := ""
	if e.Err != nil {
		text = e.Err.Error()
	}
	trace := make(value.List, 0, len(e.Trace))
	for _, line := range e.Trace[:min(len(e.Trace), maxTrace)] {
		trace = append(trace, utf8Text(line))
	}
	return value.List{int64(e.Kind), utf8Text(e.Op), utf8Text(text), utf8Text(e.Hint), utf8Text(string(e.Limit)),
		utf8Text(e.Pos.File), int64(e.Pos.Line), int64(e.Pos.Col), trace}
}

func utf8Text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// failure reads an error, or nil.
func (f *fields) failure() *value.Error {
	e, ok := readError(f.value())
	if !ok {
		f.fail(errRecord)
	}
	return e
}

// readError returns the error that [errorValue] made a value of, or nil for nil.
func readError(v value.Value) (_ *value.Error, ok bool) {
	if v == nil {
		return nil, true
	}
	list, _ := v.(value.List)
	p := parts{list: list}
	kind := p.int(int64(value.LastKind))
	e := &value.Error{Kind: value.Kind(kind), Op: part[string](&p), Err: errors.New(part[string](&p)), Hint: part[string](&p), Limit: value.LimitName(part[string](&p))}
	e.Pos = value.Position{File: part[string](&p), Line: int(p.int(math.MaxInt32)), Col: int(p.int(math.MaxInt32))}
	for _, v := range part[value.List](&p) {
		line, ok := v.(string)
		p.bad = p.bad || !ok
		e.Trace = append(e.Trace, line)
	}
	return e, !p.bad && len(p.list) == 0
}

// The names in a usage. Readers ignore others, so that more can be added.
const (
	usageSteps   = "steps"
	usageEffects = "effects"
	usageWall    = "wall_ns"
)

func usageDict(u tool.Usage) value.Value {
	if u == (tool.Usage{}) {
		return nil
	}
	return value.NewDict(usageSteps, u.Steps, usageEffects, int64(u.Effects), usageWall, int64(u.Wall))
}

func (f *fields) usage() tool.Usage {
	d := f.dict()
	return tool.Usage{Steps: d.Int(usageSteps), Effects: int(d.Int(usageEffects)), Wall: time.Duration(d.Int(usageWall))}
}

// tuple reads a field of several parts.
func (f *fields) tuple() parts { return parts{list: field[value.Tuple](f)} }

// end fails the fields if a tuple was not what was read, or has parts left.
func (f *fields) end(p parts) {
	if p.bad || len(p.list) > 0 {
		f.fail(errRecord)
	}
}

// parts reads the items of a list one after the other.
type parts struct {
	list []value.Value
	bad  bool
}

func part[T any](p *parts) T {
	if len(p.list) == 0 {
		p.bad = true
		return *new(T)
	}
	v, ok := p.list[0].(T)
	p.list, p.bad = p.list[1:], p.bad || !ok
	return v
}

// kind reads a kind of effects.
func (p *parts) kind() tool.EffectKind {
	k := p.int(int64(tool.LastEffectKind))
	p.bad = p.bad || k == 0
	return tool.EffectKind(k)
}

func (p *parts) int(most int64) int64 {
	i := part[int64](p)
	p.bad = p.bad || i < 0 || i > most
	return i
}
