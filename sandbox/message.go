package sandbox

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The body of a frame is a sequence of fields: values encoded by [value.Append], each after
// its length, a little-endian u32. It is not one list, in which a value could be less deep
// and have fewer parts than by itself. Reading is strict, since either side may be hostile:
// a missing field, one of another type and one too many are errMessage.

var (
	errMessage    = errors.New("invalid message: a field is missing or has an unexpected type")
	errUnexpected = errors.New("unexpected message type")
)

// fields reads the fields of a message one after the other.
type fields struct {
	rest  string     // of the message
	list  value.List // the fields where they were one value of another message
	parts int        // of the values read so far
	bad   bool
}

const (
	fieldHead = 4 // the length of a field
	// maxParts is how many parts the values of a message may have together: as many as a few
	// of the largest values. Without it a frame of nils would decode to many times its size.
	maxParts = 4 * value.MaxNodes
)

func appendFields(dst []byte, list value.List) ([]byte, error) {
	parts := 0
	for _, v := range list {
		start := len(dst)
		dst = append(dst, make([]byte, fieldHead)...)
		var err error
		if dst, err = value.Append(dst, v); err != nil {
			return dst, err
		}
		if parts += partsOf(v); parts > maxParts {
			return dst, value.Errorf(value.Limit, "the values have more than %d elements in total", maxParts).WithLimit(value.LimitNodes)
		}
		binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-fieldHead))
	}
	return dst, nil
}

// readFields reads a message from a copy, which the strings of its values share.
func readFields(body []byte) fields { return fields{rest: string(body)} }

// fieldsOf reads the message of the last frame.
func (r *frameReader) fieldsOf(f frame) fields { return fields{rest: r.text(f)} }

// partsOf counts the values in a value, itself among them.
func partsOf(v value.Value) int {
	parts := 1
	if d, ok := v.(*value.Dict); ok {
		for k, v := range d.All() {
			parts += partsOf(k) + partsOf(v)
		}
		return parts
	}
	items, _ := value.Elements(v)
	for _, item := range items {
		parts += partsOf(item)
	}
	return parts
}

// withArgs returns a message with arguments as its last fields: each name and its value.
func withArgs(args *value.Dict, first ...value.Value) value.List {
	list := append(make(value.List, 0, len(first)+2*args.Len()), first...)
	for name, v := range args.All() {
		list = append(list, name, v)
	}
	return list
}

// args reads the remaining fields as arguments.
func (f *fields) args() *value.Dict {
	args := &value.Dict{}
	for f.more() {
		name, v := field[string](f), f.value()
		_, twice := args.Get(name)
		f.bad = f.bad || twice
		args.Put(name, v)
	}
	return args
}

// more reports whether there is another field.
func (f *fields) more() bool { return !f.bad && (f.rest != "" || len(f.list) > 0) }

func (f *fields) value() value.Value {
	if len(f.list) > 0 {
		v := f.list[0]
		f.list = f.list[1:]
		return v
	}
	v, ok := f.decode()
	f.bad = f.bad || !ok
	return v
}

// decode reads the next field of a message.
func (f *fields) decode() (v value.Value, ok bool) {
	if f.bad || len(f.rest) < fieldHead {
		return nil, false
	}
	head, rest := f.rest[:fieldHead], f.rest[fieldHead:]
	n := int64(head[0]) | int64(head[1])<<8 | int64(head[2])<<16 | int64(head[3])<<24
	if n > int64(len(rest)) {
		return nil, false
	}
	v, err := value.DecodeString(rest[:n])
	f.rest, f.parts = rest[n:], f.parts+partsOf(v)
	return v, err == nil && f.parts <= maxParts
}

// field reads a field of one type.
func field[T value.Value](f *fields) T {
	v, ok := f.value().(T)
	f.bad = f.bad || !ok
	return v
}

// done fails unless all fields were valid and none is left.
func (f *fields) done() error {
	if f.bad || f.more() {
		return errMessage
	}
	return nil
}

// scriptMessage returns the message of one script.
func scriptMessage(s tool.Script) value.List { return scriptsMessage([]tool.Script{s}) }

// scriptsMessage returns the message of scripts that have the same shared files.
func scriptsMessage(scripts []tool.Script) value.List {
	libs := &value.Dict{}
	for name, text := range scripts[0].Libs {
		libs.Put(name, []byte(text)) // a file may hold any bytes; the engine reports invalid ones
	}
	list := append(make(value.List, 0, 1+4*len(scripts)), libs)
	for _, s := range scripts {
		list = append(list, s.Name, s.Path, []byte(s.Source), s.Hash)
	}
	return list
}

// readScript reads the message of one script.
func readScript(body []byte) (tool.Script, error) {
	scripts, err := readScripts(body)
	if err != nil || len(scripts) != 1 {
		return tool.Script{}, errMessage
	}
	return scripts[0], nil
}

func readScripts(body []byte) ([]tool.Script, error) {
	f := readFields(body)
	dict := field[*value.Dict](&f)
	if f.bad {
		return nil, errMessage
	}
	libs := make(map[string]string, dict.Len())
	for k, v := range dict.All() {
		name, isText := k.(string)
		text, isBytes := v.([]byte)
		if !isText || !isBytes {
			return nil, errMessage
		}
		libs[name] = string(text)
	}
	var scripts []tool.Script
	for f.more() {
		scripts = append(scripts, tool.Script{Name: field[string](&f), Path: field[string](&f), Source: string(field[[]byte](&f)), Libs: libs, Hash: field[string](&f)})
	}
	return scripts, f.done()
}

// callMessage returns what a worker needs of a call: not who made it, nor its place in a run.
func callMessage(c tool.Call) value.List {
	return withArgs(c.Args, c.Tool, c.Entry, c.Limits.Steps, int64(c.Limits.CPU), int64(c.Limits.Result), int64(c.Trace))
}

func readCall(body []byte) (tool.Call, error) {
	f := readFields(body)
	c := tool.Call{Tool: field[string](&f), Entry: field[string](&f)}
	c.Limits.Steps = field[int64](&f)
	c.Limits.CPU = time.Duration(field[int64](&f))
	c.Limits.Result = int(field[int64](&f))
	mode := field[int64](&f)
	c.Trace = trace.Mode(mode)
	f.bad = f.bad || int64(c.Trace) != mode
	c.Args = f.args()
	return c, f.done()
}

// errorFields returns the field of an error: its text, but not what it wraps.
func errorFields(e *value.Error) value.List { return value.List{e.Value()} }

// The bounds of an error that comes from a worker.
const (
	maxText      = 4 << 10
	maxTrace     = 64
	maxTraceLine = 256 // bytes: a position, and the name of a function
)

// readError reads errorFields. The texts are cleaned, since the worker may be hostile.
func readError(f *fields) *value.Error {
	e, ok := value.ErrorFromValue(f.value())
	if !ok {
		f.bad = true
		return &value.Error{}
	}
	e.Err = errors.New(value.Clean(e.Err.Error(), maxText))
	e.Limit = value.LimitName(value.Clean(string(e.Limit), maxText))
	e.Trace = e.Trace[:min(len(e.Trace), maxTrace)]
	texts := []*string{&e.Op, &e.Hint, &e.Pos.File}
	for _, text := range texts {
		*text = value.Clean(*text, maxText)
	}
	for i, line := range e.Trace {
		e.Trace[i] = value.Clean(line, maxTraceLine)
	}
	return e
}

// An effectRow is what a worker needs of a function that it may ask for.
type effectRow struct {
	Name      string
	Kind      tool.EffectKind
	Params    []tool.Param
	Rest      string
	Other     bool // its mode is [tool.ModeOther]
	Callbacks bool
}

// effectRows returns the functions that a worker may ask for, as plain values: all except the
// pure ones, which it has itself, and the internal ones, which only a host calls.
func effectRows(modules []tool.Module) (value.List, error) {
	rows := value.List{}
	for _, m := range modules {
		for i := range m.Funcs {
			f := &m.Funcs[i]
			if f.Kind == tool.Pure || f.Mode == tool.ModeInternal {
				continue
			}
			form, err := pack.Append(nil, &effectRow{f.Name, f.Kind, f.Params, f.Rest, f.Mode == tool.ModeOther, f.Callbacks})
			if err != nil {
				return nil, value.Errorf(value.Invalid, "send the effect %s.%s to a worker: %w", m.Name, f.Name, err)
			}
			rows = append(rows, value.List{m.Name, form})
		}
		for _, c := range m.Consts {
			rows = append(rows, value.List{m.Name, c.Name, c.Value})
		}
	}
	return rows, nil
}

// readRows makes modules of effectRows.
func readRows(rows value.List) ([]tool.Module, error) {
	var modules []tool.Module
	for _, row := range rows {
		list, _ := row.(value.List)
		f := &fields{list: list}
		m := tool.Module{Name: field[string](f)}
		switch row := f.value().(type) {
		case []byte:
			var r effectRow
			if err := pack.Decode(string(row), &r); err != nil {
				return nil, err
			}
			if !r.Kind.Valid() || r.Kind == tool.Pure { // a pure function cannot be sent
				return nil, errMessage
			}
			fn := tool.Func{Name: r.Name, Params: r.Params, Kind: r.Kind, Rest: r.Rest, Callbacks: r.Callbacks}
			if r.Other {
				fn.Mode = tool.ModeOther
			}
			m.Funcs = []tool.Func{fn}
		case string:
			m.Consts = []tool.Const{{Name: row, Value: f.value()}}
		default:
			return nil, errMessage
		}
		if err := f.done(); err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
	return modules, nil
}
