package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A fixture is what a run did, in a file that a test can read: see
// docs/fixtures.md, which describes its form.
type fixture struct {
	id, kind, title string
	options         *value.Dict
	script          tool.Script
	entry           string // the function of the script that was called
	args            *value.Dict
	steps           []fixtureStep
	end             fixtureEnd
}

// A fixtureStep is an effect of the run.
type fixtureStep struct {
	place tool.Place
	fn    string
	args  *value.Dict
	end   *fixtureEnd // nil where nothing is known of it
}

// A fixtureEnd is what came of a step or a run: a value, or an error.
type fixtureEnd struct {
	value value.Value
	err   *value.Error
}

const fixtureVersion = 1

// write writes a fixture, a step a line: of two that were exported, a diff tells
// how they differ.
func (f *fixture) write() []byte {
	libs := &value.Dict{}
	for name, text := range sortedTexts(f.script.Libs) {
		libs.Put(name, text)
	}
	b := []byte(`{"version":` + strconv.Itoa(fixtureVersion) + ",\n\"run\":")
	b = appendTagged(b, value.NewDict("id", f.id, "kind", f.kind, "title", f.title, "options", orNothing(f.options)))
	b = append(b, ",\n\"script\":"...)
	b = appendTagged(b, value.NewDict("name", f.script.Name, "path", f.script.Path, "source", f.script.Source, "libs", libs))
	b = append(b, ",\n\"entry\":"...)
	b = appendTagged(b, f.entry)
	b = append(b, ",\n\"args\":"...)
	b = appendTagged(b, orNothing(f.args))
	b = append(b, ",\n\"steps\":["...)
	for i, s := range f.steps {
		if i > 0 {
			b = append(b, ',')
		}
		d := value.NewDict("place", s.place.String(), "func", s.fn, "args", orNothing(s.args))
		if s.end != nil {
			s.end.put(d, "value")
		}
		b = append(b, '\n')
		b = appendTagged(b, d)
	}
	b = append(b, "\n],\n"...)
	last := &value.Dict{}
	f.end.put(last, "result")
	return append(append(b, appendTagged(nil, last)[1:]...), '\n')
}

// put adds what came of something to what is told of it.
func (e *fixtureEnd) put(d *value.Dict, name string) {
	if e.err == nil {
		d.Put(name, e.value)
		return
	}
	trace := value.List{}
	for _, line := range e.err.Trace {
		trace = append(trace, line)
	}
	text := ""
	if e.err.Err != nil {
		text = e.err.Err.Error()
	}
	d.Put("error", value.NewDict("kind", e.err.Kind.String(), "message", text, "op", e.err.Op, "hint", e.err.Hint, "limit", string(e.err.Limit),
		"file", e.err.Pos.File, "line", e.err.Pos.Line, "column", e.err.Pos.Col, "trace", trace))
}

// sortedTexts yields texts by their names.
func sortedTexts(m map[string]string) func(func(string, string) bool) {
	return func(yield func(string, string) bool) {
		var names []string
		for name := range m {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

// maxPlain is the largest integer that each reader of JSON keeps exactly.
const maxPlain = 1 << 53

// appendTagged appends a value as JSON. What JSON has no form for, or which a
// reader may not keep as it is, is an object of one name that begins with $.
func appendTagged(b []byte, v value.Value) []byte {
	text := func(tag, text string) []byte {
		b = append(b, `{"$`+tag+`":`...)
		return append(appendPlain(b, text), '}')
	}
	items := func(tag string, list []value.Value) []byte {
		b = append(b, `{"$`+tag+`":`...)
		return append(appendItems(b, list), '}')
	}
	switch v := v.(type) {
	case int64:
		if v > maxPlain || v < -maxPlain {
			return text("int", strconv.FormatInt(v, 10))
		}
	case *big.Int:
		return text("int", v.String())
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return text("float", strconv.FormatFloat(v, 'g', -1, 64))
		}
	case []byte:
		return text("bytes", base64.StdEncoding.EncodeToString(v))
	case value.Tuple:
		return items("tuple", v)
	case value.Set:
		return items("set", v)
	case value.List:
		return appendItems(b, v)
	case *value.Dict:
		return appendDict(b, v)
	}
	return appendPlain(b, v)
}

// appendPlain appends what JSON has a form for.
func appendPlain(b []byte, v value.Value) []byte {
	b, err := value.AppendJSON(b, v)
	if err != nil {
		panic("a scalar without a form: " + err.Error()) // all others are tagged
	}
	return b
}

func appendItems(b []byte, list []value.Value) []byte {
	b = append(b, '[')
	for i, item := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTagged(b, item)
	}
	return append(b, ']')
}

// appendDict appends a dict: an object, unless a key is no text or looks like a tag.
func appendDict(b []byte, d *value.Dict) []byte {
	plain := true
	for k := range d.All() {
		name, isText := k.(string)
		plain = plain && isText && !strings.HasPrefix(name, "$")
	}
	var pairs []value.Value
	first := true
	for k, v := range d.All() {
		if !plain {
			pairs = append(pairs, value.List{k, v})
			continue
		}
		b = append(b, map[bool]byte{true: '{', false: ','}[first])
		first = false
		b = append(appendPlain(b, k), ':')
		b = appendTagged(b, v)
	}
	switch {
	case !plain:
		b = append(b, `{"$dict":`...)
		return append(appendItems(b, pairs), '}')
	case first:
		b = append(b, '{')
	}
	return append(b, '}')
}

// readFixture reads what write has written. It fails with Invalid for anything
// else, and for a version that it does not know.
func readFixture(data []byte) (*fixture, error) {
	r := taggedReader{json.NewDecoder(bytes.NewReader(data))}
	r.UseNumber()
	v, err := r.value()
	if err == nil {
		if _, more := r.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows its end")
		}
	}
	if err != nil {
		return nil, value.Errorf(value.Invalid, "this is no fixture: %w", err)
	}
	d, _ := v.(*value.Dict)
	if n := d.Int("version"); n != fixtureVersion {
		return nil, value.Errorf(value.Invalid, "this is no fixture of version %d", fixtureVersion).WithHint("cassidy runs export writes one")
	}
	run, script := fieldDict(d, "run"), fieldDict(d, "script")
	f := &fixture{id: run.Text("id"), kind: run.Text("kind"), title: run.Text("title"), options: fieldDict(run, "options"),
		script: tool.Script{Name: script.Text("name"), Path: script.Text("path"), Source: script.Text("source")},
		entry:  d.Text("entry"), args: fieldDict(d, "args")}
	for name, text := range fieldDict(script, "libs").All() {
		n, ok1 := name.(string)
		t, ok2 := text.(string)
		if !ok1 || !ok2 {
			return nil, value.Errorf(value.Invalid, "this is no fixture: a file of its script is no text")
		}
		if f.script.Libs == nil {
			f.script.Libs = map[string]string{}
		}
		f.script.Libs[n] = t
	}
	list, _ := d.Get("steps")
	steps, isList := value.Elements(list)
	if !isList {
		return nil, value.Errorf(value.Invalid, "this is no fixture: it has no steps")
	}
	for i, v := range steps {
		s, _ := v.(*value.Dict)
		at, err := history.ParsePlace(s.Text("place"))
		if err != nil || len(at) == 0 {
			return nil, value.Errorf(value.Invalid, "this is no fixture: step %d has no place", i+1)
		}
		end, err := readEnd(s, "value")
		if err != nil {
			return nil, err
		}
		f.steps = append(f.steps, fixtureStep{at, s.Text("func"), fieldDict(s, "args"), end})
	}
	end, err := readEnd(d, "result")
	if err == nil && end == nil {
		err = value.Errorf(value.Invalid, "this is no fixture: it has neither a result nor an error")
	}
	if err != nil {
		return nil, err
	}
	f.end = *end
	return f, nil
}

// fieldDict returns the dict under a name, or nil.
func fieldDict(d *value.Dict, name string) *value.Dict {
	v, _ := d.Get(name)
	field, _ := v.(*value.Dict)
	return field
}

// readEnd reads what came of something, or nil.
func readEnd(d *value.Dict, name string) (*fixtureEnd, error) {
	e := fieldDict(d, "error")
	if e == nil {
		v, known := d.Get(name)
		if !known {
			return nil, nil
		}
		return &fixtureEnd{value: v}, nil
	}
	kind, known := kindNamed(e.Text("kind"))
	if !known {
		return nil, value.Errorf(value.Invalid, "this is no fixture: there is no kind of error %q", e.Text("kind"))
	}
	failure := &value.Error{Kind: kind, Op: e.Text("op"), Err: errors.New(e.Text("message")), Hint: e.Text("hint"), Limit: value.LimitName(e.Text("limit")),
		Pos: value.Position{File: e.Text("file"), Line: int(e.Int("line")), Col: int(e.Int("column"))}}
	v, _ := e.Get("trace")
	lines, _ := value.Elements(v)
	for _, line := range lines {
		text, _ := line.(string)
		failure.Trace = append(failure.Trace, text)
	}
	return &fixtureEnd{err: failure}, nil
}

func kindNamed(name string) (value.Kind, bool) {
	for k := value.Failed; k <= value.LastKind; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

// A taggedReader reads what appendTagged has written, however deep and long.
type taggedReader struct{ *json.Decoder }

func (r *taggedReader) value() (value.Value, error) {
	t, err := r.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		return numberOf(t.String())
	case json.Delim:
		if t == '[' {
			return r.items()
		}
		return r.object()
	}
	return t, nil // null, a truth or a text
}

// numberOf reads a number: an integer, unless it is written as no whole one.
func numberOf(text string) (value.Value, error) {
	if strings.ContainsAny(text, ".eE") {
		return strconv.ParseFloat(text, 64)
	}
	return wholeOf(text)
}

func wholeOf(text string) (value.Value, error) {
	i, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, errors.New(strconv.Quote(text) + " is no integer")
	}
	return value.Integer(i), nil
}

func (r *taggedReader) items() (value.List, error) {
	list := value.List{}
	for r.More() {
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := r.Token()
	return list, err
}

func (r *taggedReader) object() (value.Value, error) {
	d := &value.Dict{}
	for r.More() {
		t, err := r.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		if d.Has(name) {
			return nil, errors.New(strconv.Quote(name) + " is given twice")
		}
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		d.Put(name, v)
	}
	if _, err := r.Token(); err != nil {
		return nil, err
	}
	for k, v := range d.All() {
		if tag, ok := strings.CutPrefix(k.(string), "$"); ok {
			if d.Len() > 1 {
				return nil, errors.New("$" + tag + " is not alone")
			}
			return untagged(tag, v)
		}
	}
	return d, nil
}

// untagged is the value that a tag tells the kind of.
func untagged(tag string, v value.Value) (value.Value, error) {
	text, isText := v.(string)
	list, isList := v.(value.List)
	switch {
	case tag == "bytes" && isText:
		return base64.StdEncoding.DecodeString(text)
	case tag == "int" && isText:
		return wholeOf(text)
	case tag == "float" && isText:
		return strconv.ParseFloat(text, 64)
	case tag == "tuple" && isList:
		return value.Tuple(list), nil
	case tag == "set" && isList:
		return value.Set(list), nil
	case tag == "dict" && isList:
		d := &value.Dict{}
		for _, item := range list {
			pair, _ := item.(value.List)
			if len(pair) != 2 {
				return nil, errors.New("an entry of a dict is no pair")
			}
			if err := d.Set(pair[0], pair[1]); err != nil {
				return nil, err
			}
		}
		return d, nil
	}
	return nil, errors.New("$" + tag + " stands for nothing here")
}
