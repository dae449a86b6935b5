package tool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// errToolForm is the error of a tool that is not as [AppendTool] would have written it.
var errToolForm = errors.New("not in canonical form")

// toolVersion begins the binary form of a tool. It changes with the form, so
// that what an older or newer program wrote is refused and not misread.
const toolVersion = 4

// The least that one of each thing takes in the binary form, in bytes. A count
// is checked against it before anything is allocated.
const (
	paramSize   = 6 // name, description, flags, aliases, type: a name and flags
	needSize    = 2 // name, target
	exampleSize = 2 // description, flags
	hintSize    = 2 // name, flag
)

// AppendTool appends the binary form of a tool to dst: all that a [Tool] holds
// but Compiled, for the wire and for an index on disk. The form is canonical,
// and [DecodeTool] reads back what was written; only an empty slice or map
// comes back as nil. It fails for text that is not UTF-8, and for values and
// nested types beyond [value.MaxDepth] and [value.MaxNodes].
func AppendTool(dst []byte, t *Tool) ([]byte, error) {
	w := toolWriter{w: value.Encoder{Buf: append(dst, toolVersion), Nodes: value.MaxNodes}}
	w.tool(t)
	return w.w.Buf, w.err
}

// A toolWriter remembers the first error, so that the form of a tool can be
// written down field after field.
type toolWriter struct {
	w   value.Encoder
	err error
}

func (w *toolWriter) tool(t *Tool) {
	w.text(t.Name, t.Title, t.Description, t.Group, t.ReturnsDoc, t.Version, t.Available, t.Undo)
	w.text(string(t.Location), t.Path, t.Hash, string(t.State), t.Reason)
	w.flags(t.Risky, t.AllowExtra, t.Hints.ReadOnly, t.Hints.Idempotent, t.Hints.OpenWorld,
		t.Returns != nil, t.Deprecated != nil, t.Revoked, t.OnlyCalls)
	w.text(string(t.Schema))
	w.int(int64(t.Timeout), t.Limits.Steps, int64(t.Limits.CPU), t.Limits.Memory, int64(t.Limits.Result), int64(t.Overhead))
	w.texts(t.Tags)
	w.texts(t.Loads)
	w.texts(t.Warnings)
	w.capabilities(t.Needs)
	w.capabilities(t.Granted)
	w.count(len(t.Hints.Other), hintSize)
	for _, name := range slices.Sorted(maps.Keys(t.Hints.Other)) {
		w.text(name)
		w.flags(t.Hints.Other[name])
	}
	w.params(t.Params, value.MaxDepth)
	if t.Returns != nil {
		w.typ(t.Returns, value.MaxDepth)
	}
	if t.Deprecated != nil {
		w.text(t.Deprecated.Since, t.Deprecated.Replacement, t.Deprecated.Message)
	}
	w.count(len(t.Examples), exampleSize)
	for _, e := range t.Examples {
		w.text(e.Description)
		w.flags(e.HasExpect, e.Args != nil, e.Expect != nil)
		if e.Args != nil {
			w.value(e.Args)
		}
		if e.Expect != nil {
			w.value(e.Expect)
		}
	}
}

func (w *toolWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *toolWriter) text(list ...string) {
	for _, s := range list {
		if !utf8.ValidString(s) {
			w.fail(fmt.Errorf("a text that is not UTF-8: %q", value.Cut(s, 40)))
		}
		w.w.Buf = append(binary.AppendUvarint(w.w.Buf, uint64(len(s))), s...)
	}
}

func (w *toolWriter) texts(list []string) {
	w.count(len(list), 1)
	w.text(list...)
}

func (w *toolWriter) int(list ...int64) {
	for _, i := range list {
		w.w.Buf = binary.AppendVarint(w.w.Buf, i)
	}
}

// flags writes booleans as the bits of one number.
func (w *toolWriter) flags(list ...bool) {
	bits := uint64(0)
	for i, f := range list {
		if f {
			bits |= 1 << i
		}
	}
	w.w.Buf = binary.AppendUvarint(w.w.Buf, bits)
}

// count writes how many things follow that take a number of nodes each.
func (w *toolWriter) count(n, size int) {
	if w.w.Nodes -= n * size; w.w.Nodes < 0 {
		w.fail(value.Limitf(value.LimitNodes, "a tool of more than %d parts", value.MaxNodes))
	}
	w.w.Buf = binary.AppendUvarint(w.w.Buf, uint64(n))
}

func (w *toolWriter) capabilities(list []Capability) {
	w.count(len(list), needSize)
	for _, c := range list {
		w.text(c.Name, c.Target)
	}
}

func (w *toolWriter) value(v value.Value) {
	if w.err == nil {
		w.err = w.w.Value(v, value.MaxDepth)
	}
}

func (w *toolWriter) params(params []Param, depth int) {
	w.count(len(params), paramSize)
	for i := range params {
		p := &params[i]
		w.text(p.Name, p.Description)
		w.flags(p.Required, p.HasDefault, p.FromHost, p.Default != nil)
		if p.Default != nil {
			w.value(p.Default)
		}
		w.texts(p.Aliases)
		w.typ(&p.Type, depth-1)
	}
}

// typ writes a type. Most are a name and nothing else, so what else there is
// is said by flags.
func (w *toolWriter) typ(t *Type, depth int) {
	if depth == 0 {
		w.fail(value.Limitf(value.LimitDepth, "a type nested more than %d deep", value.MaxDepth))
	}
	if w.err != nil {
		return // or a type that holds itself would go on
	}
	w.text(t.Name)
	w.flags(t.Nullable, t.Items != nil, t.Min != nil, t.Max != nil, t.MinLength != nil, t.MaxLength != nil,
		t.Pattern != "", len(t.Enum) > 0, t.Values != nil, len(t.Fields) > 0)
	if t.Items != nil {
		w.typ(t.Items, depth-1)
	}
	for _, bound := range []value.Value{t.Min, t.Max} {
		if bound != nil {
			w.value(bound)
		}
	}
	for _, length := range []*int{t.MinLength, t.MaxLength} {
		if length != nil {
			w.int(int64(*length))
		}
	}
	if t.Pattern != "" {
		w.text(t.Pattern)
	}
	if len(t.Enum) > 0 {
		w.count(len(t.Enum), 0)
		for _, v := range t.Enum {
			w.value(v)
		}
	}
	if t.Values != nil {
		w.typ(t.Values, depth-1)
	}
	if len(t.Fields) > 0 {
		w.params(t.Fields, depth-1)
	}
}

// DecodeTool reads the tool that [AppendTool] wrote, all of it. Any other bytes
// are an error, as for [value.Decode]. The strings of the tool share the memory of
// data.
func DecodeTool(data string) (Tool, error) {
	r := toolReader{r: value.Decoder{Rest: data, Nodes: value.MaxNodes}}
	var t Tool
	r.tool(&t)
	if r.err == nil && r.r.Rest != "" {
		r.err = fmt.Errorf("%d bytes left over", len(r.r.Rest))
	}
	if r.err != nil {
		return Tool{}, fmt.Errorf("decode tool at byte %d: %w", len(data)-len(r.r.Rest), r.err)
	}
	return t, nil
}

// A toolReader remembers the first error; after it, everything reads as empty.
type toolReader struct {
	r   value.Decoder
	err error
}

// DecodeHead reads the head of the tool that [AppendTool] wrote, and nothing behind
// that: what it returns of a damaged one is right, while [DecodeTool] fails.
func DecodeHead(data string) (Head, error) {
	r := toolReader{r: value.Decoder{Rest: data, Nodes: value.MaxNodes}}
	var t Tool
	r.head(&t)
	if r.err != nil {
		return Head{}, fmt.Errorf("decode the head of a tool at byte %d: %w", len(data)-len(r.r.Rest), r.err)
	}
	return t.Head(), nil
}

func (r *toolReader) tool(t *Tool) {
	hasReturns := r.head(t)
	t.Hints.Other = r.hints()
	t.Params = r.params(value.MaxDepth)
	if hasReturns {
		t.Returns = new(Type)
		r.typ(t.Returns, value.MaxDepth)
	}
	if t.Deprecated != nil {
		*t.Deprecated = Deprecation{Since: r.text(), Replacement: r.text(), Message: r.text()}
	}
	t.Examples = r.examples()
}

// head reads what comes first of a tool, at least its [Head]. Deprecated is set, and empty.
func (r *toolReader) head(t *Tool) (hasReturns bool) {
	if version, err := r.r.Byte(); err != nil || version != toolVersion {
		r.err = errors.New("not a tool of this version")
		return false
	}
	t.Name, t.Title, t.Description, t.Group = r.text(), r.text(), r.text(), r.text()
	t.ReturnsDoc, t.Version, t.Available, t.Undo = r.text(), r.text(), r.text(), r.text()
	t.Location, t.Path, t.Hash, t.State, t.Reason = Location(r.text()), r.text(), r.text(), State(r.text()), r.text()
	var isDeprecated bool
	r.flags(&t.Risky, &t.AllowExtra, &t.Hints.ReadOnly, &t.Hints.Idempotent, &t.Hints.OpenWorld,
		&hasReturns, &isDeprecated, &t.Revoked, &t.OnlyCalls)
	if isDeprecated {
		t.Deprecated = new(Deprecation)
	}
	if s := r.text(); s != "" {
		t.Schema = []byte(s)
	}
	t.Timeout = time.Duration(r.int64())
	t.Limits = Limits{Steps: r.int64(), CPU: time.Duration(r.int64()), Memory: r.int64(), Result: r.int()}
	t.Overhead = r.int()
	t.Tags, t.Loads, t.Warnings = r.texts(), r.texts(), r.texts()
	t.Needs = r.capabilities()
	t.Granted = r.capabilities()
	return hasReturns
}

func (r *toolReader) text() (s string) {
	if r.err == nil {
		s, r.err = r.r.Text()
	}
	return s
}

func (r *toolReader) int64() (i int64) {
	if r.err == nil {
		i, r.err = r.r.Varint()
	}
	return i
}

func (r *toolReader) int() int {
	i := r.int64()
	if int64(int(i)) != i {
		r.err = errors.New("a number beyond this machine's integers")
	}
	return int(i)
}

func (r *toolReader) value() (v value.Value) {
	if r.err == nil {
		v, r.err = r.r.Value(value.MaxDepth)
	}
	return v
}

// flags reads the bits of one number; a bit that nobody asks for is an error.
func (r *toolReader) flags(list ...*bool) {
	if r.err != nil {
		return
	}
	var bits uint64
	if bits, r.err = r.r.Uvarint(); r.err != nil {
		return
	}
	if bits>>len(list) != 0 {
		r.err = errors.New("an unknown flag")
		return
	}
	for i, f := range list {
		*f = bits>>i&1 != 0
	}
}

// count reads how many things follow of a size each; see [reader.count]. For
// each of them the caller calls next.
func (r *toolReader) count(size int) (n int) {
	if r.err == nil {
		n, r.err = r.r.Count(size)
	}
	return n
}

func (r *toolReader) next(size int) {
	r.r.Owed -= size
	r.r.Nodes -= size
}

func (r *toolReader) texts() []string {
	n := r.count(1)
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		r.next(1)
		list[i] = r.text()
	}
	return list
}

func (r *toolReader) capabilities() []Capability {
	n := r.count(needSize)
	if n == 0 {
		return nil
	}
	list := make([]Capability, n)
	for i := range list {
		r.next(needSize)
		list[i] = Capability{Name: r.text(), Target: r.text()}
	}
	return list
}

func (r *toolReader) hints() map[string]bool {
	n := r.count(hintSize)
	if n == 0 {
		return nil
	}
	hints, last := make(map[string]bool, n), ""
	for i := range n {
		r.next(hintSize)
		name, on := r.text(), false
		r.flags(&on)
		if r.err == nil && i > 0 && name <= last {
			r.err = errToolForm
		}
		hints[name], last = on, name
	}
	return hints
}

func (r *toolReader) params(depth int) []Param {
	n := r.count(paramSize)
	if n == 0 {
		return nil
	}
	params := make([]Param, n)
	for i := range params {
		r.next(paramSize)
		p := &params[i]
		p.Name, p.Description = r.text(), r.text()
		var hasValue bool
		r.flags(&p.Required, &p.HasDefault, &p.FromHost, &hasValue)
		if hasValue {
			p.Default = r.present()
		}
		p.Aliases = r.texts()
		r.typ(&p.Type, depth-1)
	}
	return params
}

// present reads a value that a flag has announced, so it is not null.
func (r *toolReader) present() value.Value {
	v := r.value()
	r.demand(v != nil)
	return v
}

// demand says that what a flag has announced is there.
func (r *toolReader) demand(there bool) {
	if r.err == nil && !there {
		r.err = errToolForm
	}
}

func (r *toolReader) typ(t *Type, depth int) {
	if r.err == nil && depth == 0 {
		r.err = value.Limitf(value.LimitDepth, "a type nested more than %d deep", value.MaxDepth)
	}
	if r.err != nil {
		return
	}
	t.Name = r.text()
	var items, least, most, shortest, longest, pattern, enum, values, fields bool
	r.flags(&t.Nullable, &items, &least, &most, &shortest, &longest, &pattern, &enum, &values, &fields)
	if items {
		t.Items = new(Type)
		r.typ(t.Items, depth-1)
	}
	if least {
		t.Min = r.present()
	}
	if most {
		t.Max = r.present()
	}
	if shortest {
		n := r.int()
		t.MinLength = &n
	}
	if longest {
		n := r.int()
		t.MaxLength = &n
	}
	if pattern {
		t.Pattern = r.text()
		r.demand(t.Pattern != "")
	}
	if enum {
		t.Enum = r.values()
		r.demand(len(t.Enum) > 0)
	}
	if values {
		t.Values = new(Type)
		r.typ(t.Values, depth-1)
	}
	if fields {
		t.Fields = r.params(depth - 1)
		r.demand(len(t.Fields) > 0)
	}
}

func (r *toolReader) values() []value.Value {
	list := make([]value.Value, r.count(1))
	for i := range list {
		r.r.Owed--
		list[i] = r.value()
	}
	return list
}

func (r *toolReader) examples() []Example {
	n := r.count(exampleSize)
	if n == 0 {
		return nil
	}
	list := make([]Example, n)
	for i := range list {
		r.next(exampleSize)
		e := &list[i]
		e.Description = r.text()
		var hasArgs, hasValue bool
		r.flags(&e.HasExpect, &hasArgs, &hasValue)
		if hasArgs {
			args, ok := r.value().(*value.Dict)
			r.demand(ok)
			e.Args = args
		}
		if hasValue {
			e.Expect = r.present()
		}
	}
	return list
}
