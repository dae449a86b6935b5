package sandbox

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The bodies of frames are fields: values in the form of [value.Append], each
// behind its length, a little-endian u32. They are no list, in which a value
// could be less deep and of fewer parts than it may be by itself. Reading is
// strict, since either side may be lied to: a field that is missing, of another
// type or too much is errMessage.

var errMessage = errors.New("not a message of this protocol")

// fields reads the fields of a message one after the other.
type fields struct {
	rest  string     // of the message
	list  value.List // the fields where they were one value of another message
	parts int        // that the values read so far consist of
	bad   bool
}

const (
	fieldHead = 4 // the length of a field
	// maxParts is how many values a message may consist of in all: a few of the
	// largest that there are. A frame of nothing but nils would else be made
	// into many times its size.
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
			e := value.Errorf(value.Limit, "values of more than %d parts together", maxParts)
			e.Limit = value.LimitNodes
			return dst, e
		}
		binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-fieldHead))
	}
	return dst, nil
}

// readFields reads a message from a copy, which the strings of its values share.
func readFields(body []byte) fields { return fields{rest: string(body)} }

// partsOf counts the values that a value consists of.
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

// withArgs returns a message with arguments as its last fields: each name, and what
// it is.
func withArgs(args *value.Dict, first ...value.Value) value.List {
	list := append(make(value.List, 0, len(first)+2*args.Len()), first...)
	for name, v := range args.All() {
		list = append(list, name, v)
	}
	return list
}

// args reads all that is left as arguments.
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

// done says whether all was read and nothing is left.
func (f *fields) done() error {
	if f.bad || f.more() {
		return errMessage
	}
	return nil
}

// A scriptMessage is a script on its way into a worker.
func scriptMessage(s tool.Script) value.List { return scriptsMessage([]tool.Script{s}) }

// scriptsMessage are scripts that have the same shared files.
func scriptsMessage(scripts []tool.Script) value.List {
	libs := &value.Dict{}
	for name, text := range scripts[0].Libs {
		libs.Put(name, []byte(text)) // a file may hold any bytes; the engine says what is wrong with them
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

// callMessage is what a worker needs to know of a call: not who made it, nor
// where in a run it stands.
func callMessage(c tool.Call) value.List {
	return withArgs(c.Args, c.Tool, c.Entry, c.Limits.Steps, int64(c.Limits.CPU), int64(c.Limits.Result))
}

func readCall(body []byte) (tool.Call, error) {
	f := readFields(body)
	c := tool.Call{Tool: field[string](&f), Entry: field[string](&f)}
	c.Limits.Steps = field[int64](&f)
	c.Limits.CPU = time.Duration(field[int64](&f))
	c.Limits.Result = int(field[int64](&f))
	c.Args = f.args()
	return c, f.done()
}

// errorFields are an error as it crosses: what is said, and not what it wraps.
func errorFields(e *value.Error) value.List {
	trace := make(value.List, len(e.Trace))
	for i, line := range e.Trace {
		trace[i] = value.Clean(line, maxText)
	}
	text := ""
	if e.Err != nil {
		text = e.Err.Error()
	}
	return value.List{int64(e.Kind), value.Clean(e.Op, maxText), value.Clean(text, maxText), value.Clean(e.Hint, maxText), value.Clean(string(e.Limit), maxText),
		value.Clean(e.Pos.File, maxText), int64(e.Pos.Line), int64(e.Pos.Col), trace}
}

// The bounds of an error that comes from a worker.
const (
	maxText  = 4 << 10
	maxTrace = 64
)

// readError reads errorFields.
func readError(f *fields) *value.Error {
	kind := field[int64](f)
	e := &value.Error{Kind: value.Kind(kind), Op: field[string](f)}
	e.Err = errors.New(value.Clean(field[string](f), maxText))
	e.Op, e.Hint, e.Limit = value.Clean(e.Op, maxText), value.Clean(field[string](f), maxText), value.LimitName(value.Clean(field[string](f), maxText))
	e.Pos.File = value.Clean(field[string](f), maxText)
	e.Pos.Line, e.Pos.Col = int(field[int64](f)), int(field[int64](f))
	for _, v := range field[value.List](f) {
		line, ok := v.(string)
		f.bad = f.bad || !ok
		if len(e.Trace) < maxTrace {
			e.Trace = append(e.Trace, value.Clean(line, maxText))
		}
	}
	f.bad = f.bad || kind < 0 || kind > int64(value.LastKind)
	return e
}

// effectRows are the functions that a worker may ask for, as plain values: all
// but the pure ones, which it has itself, and those that only a host calls.
func effectRows(modules []tool.Module) (value.List, error) {
	rows := value.List{}
	for _, m := range modules {
		for i := range m.Funcs {
			f := &m.Funcs[i]
			if f.Kind == tool.Pure || f.Internal {
				continue
			}
			// A tool has parameters too, and a form of its own.
			form, err := tool.AppendTool(nil, &tool.Tool{Name: f.Name, Params: f.Params})
			if err != nil {
				return nil, value.Errorf(value.Invalid, "the effect %s.%s cannot be told to a worker: %w", m.Name, f.Name, err)
			}
			rows = append(rows, value.List{m.Name, int64(f.Kind), form, f.Rest, f.Other})
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
		switch kind := f.value().(type) {
		case int64:
			t, err := tool.DecodeTool(string(field[[]byte](f)))
			if err != nil {
				return nil, err
			}
			if kind <= int64(tool.Pure) || kind > int64(tool.LastEffectKind) { // a pure row has a Do, which cannot be sent
				return nil, errMessage
			}
			m.Funcs = []tool.Func{{Name: t.Name, Params: t.Params, Kind: tool.EffectKind(kind), Rest: field[string](f), Other: field[bool](f)}}
		case string:
			m.Consts = []tool.Const{{Name: kind, Value: f.value()}}
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
