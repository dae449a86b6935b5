package script

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The words that declare what a file is. A workflow has the fields of a tool.
const (
	ToolWord     = "tool"
	WorkflowWord = "workflow"
	// workflowGroup is the group of a workflow that names none.
	workflowGroup = "workflow"
)

// A Declaration is what a file says of its tool, read without running it, in
// one form for every language.
type Declaration struct {
	Word      string                    // what declares: toolWord, which "" means too, or workflowWord
	Handler   string                    // the handler's name, for messages
	Signature []SigParam                // the handler's parameters
	Signed    bool                      // whether the language shows them
	Doc       docstring                 // of the handler
	Returns   *tool.Type                // from the handler's annotation
	Fields    *value.Dict               // the fields of tool(...), see declared and funcName
	Pos       value.Position            // of tool(...)
	At        map[string]value.Position // of each field
	Functions map[string][]string       // the parameters of the functions that a field may name
	Loads     []string                  // what the file loads, all of it
	warnings  []string
}

// A SigParam is one parameter in the handler's signature.
type SigParam struct {
	Name       string
	Annotated  *tool.Type
	Value      value.Value // its default
	HasDefault bool
	Pos        value.Position
}

// A Declared is the value of a param(...) or example(...) inside a declaration.
type Declared struct {
	Kind   string // "param" or "example"
	Fields *value.Dict
	Pos    value.Position
	At     map[string]value.Position // of each field, where that is known
}

// A FuncName is the value of a field that names a function of the file.
type FuncName string

// Tool turns a declaration into the tool. The stem of the file's name is the
// tool's key.
func (d *Declaration) Tool(stem string) (tool.Tool, error) {
	r := Reader{D: d, at: map[string]paramPlace{}}
	t := tool.Tool{
		Name:        r.text("name", stem),
		Title:       r.text("title", ""),
		Description: strings.TrimSpace(r.text("description", d.Doc.text)),
		Group:       r.text("group", "custom"),
		Risky:       r.boolean("risky"),
		AllowExtra:  r.boolean("allow_extra"),
		Version:     r.text("version", ""),
		Available:   r.function("available"),
		Undo:        r.undo(),
		Hints:       r.hints(),
		Tags:        r.texts("tags"),
		Needs:       r.needs(),
		Deprecated:  r.deprecated(),
		Timeout:     r.seconds("timeout"),
		Limits:      r.limits(),
		Overhead:    int(max(r.integer("overhead"), r.integer("token_overhead"))),
		Params:      r.params(),
		Returns:     r.Returns(),
		ReturnsDoc:  r.returnsDoc(),
		Examples:    r.examples(),
		Loads:       d.Loads,
	}
	r.workflow(&t)
	r.unknown()
	if r.err != nil {
		return tool.Tool{}, r.err
	}
	if tool.Key(t.Name) != tool.Key(stem) {
		return tool.Tool{}, d.ErrorAt("name", "the file is named %q but declares the tool %q", stem, t.Name).
			WithHint("give the file and the tool one name, or leave name out")
	}
	t.Warnings = append(r.warnings, d.warnings...)
	if err := t.Validate(); err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		if e.Pos.Line == 0 {
			e.Pos = r.culprit(&t, e.Message())
		}
		return tool.Tool{}, &e
	}
	return t, nil
}

// Result returns the declared type of what the handler returns, or nil.
func (d *Declaration) Result() (*tool.Type, error) {
	r := Reader{D: d}
	return r.Returns(), r.err
}

// culprit finds the part of the declaration that makes the tool invalid, by
// asking the same of a tool with that part alone.
func (r *Reader) culprit(t *tool.Tool, message string) value.Position {
	if tool.CheckName(t.Name) != nil {
		return r.D.place("name")
	}
	probe := tool.Tool{Name: t.Name, Description: t.Description}
	if probe.Validate() != nil {
		return r.D.place("description")
	}
	for _, p := range t.Params {
		probe.Params = []tool.Param{p}
		if probe.Validate() != nil {
			field := ""
			if strings.HasPrefix(message, "the default of") {
				field = "default"
			}
			return r.at[p.Name].pos(field)
		}
	}
	probe.Params = t.Params
	if probe.Validate() != nil {
		return r.D.place("params")
	}
	for i, e := range t.Examples {
		if _, err := t.Check(e.Args); err != nil && r.examplesAt[i].Line > 0 {
			return r.examplesAt[i]
		}
	}
	if strings.HasPrefix(message, "example ") {
		return r.D.place("examples")
	}
	return r.D.place("returns")
}

// ErrorAt returns an error with the position of a field, or that of the declaration.
func (d *Declaration) ErrorAt(field, format string, args ...any) *value.Error {
	e := value.Errorf(value.Invalid, format, args...)
	e.Pos = d.place(field)
	return e
}

// place returns the position of a field, or that of the declaration.
func (d *Declaration) place(field string) value.Position {
	if pos, ok := d.At[field]; ok {
		return pos
	}
	return d.Pos
}

// A Reader reads the fields of a declaration one after the other and
// keeps the first error.
type Reader struct {
	D          *Declaration
	err        error
	used       []string
	warnings   []string
	at         map[string]paramPlace // of each parameter
	examplesAt []value.Position
}

func (r *Reader) fail(field, format string, args ...any) {
	if r.err == nil {
		r.err = r.D.ErrorAt(field, format, args...)
	}
}

// failAt is fail for a part of a field whose own place may be known.
func (r *Reader) failAt(pos value.Position, field, format string, args ...any) {
	if r.err != nil {
		return
	}
	e := r.D.ErrorAt(field, format, args...)
	if pos.Line > 0 {
		e.Pos = pos
	}
	r.err = e
}

// field returns a field that is there and not null.
func (r *Reader) field(name string) (value.Value, bool) {
	r.used = append(r.used, name)
	v, ok := r.D.Fields.Get(name)
	return v, ok && v != nil
}

func (r *Reader) wrong(field, want string, got value.Value) {
	r.fail(field, "'%s' should be %s but got %s", field, want, describe(got))
}

// notData names a part of a value that is no data, such as a function, or
// returns "".
func notData(v value.Value) string {
	switch v := v.(type) {
	case Declared, FuncName:
		return describe(v)
	case *value.Dict:
		for k, x := range v.All() {
			if part := cmp.Or(notData(k), notData(x)); part != "" {
				return part
			}
		}
	}
	items, _ := value.Elements(v)
	for _, item := range items {
		if part := notData(item); part != "" {
			return part
		}
	}
	return ""
}

// describe names the type of a value in a declaration.
func describe(v value.Value) string {
	switch v := v.(type) {
	case Declared:
		return v.Kind + "(…)"
	case FuncName:
		return "the function " + string(v)
	}
	return value.TypeOf(v)
}

// shown is describe for where the type may be right and the value wrong.
func shown(v value.Value) string {
	if notData(v) != "" {
		return describe(v)
	}
	return tool.Preview(value.FormatJSON(v, ""), 1)
}

func (r *Reader) text(field, otherwise string) string {
	v, ok := r.field(field)
	if !ok {
		return otherwise
	}
	s, ok := v.(string)
	if !ok {
		r.wrong(field, "a string", v)
	}
	return s
}

func (r *Reader) boolean(field string) bool {
	v, ok := r.field(field)
	if !ok {
		return false
	}
	b, ok := v.(bool)
	if !ok {
		r.wrong(field, "true or false", v)
	}
	return b
}

func (r *Reader) integer(field string) int64 {
	v, ok := r.field(field)
	if !ok {
		return 0
	}
	i, ok := v.(int64)
	if !ok || i < 0 {
		r.fail(field, "'%s' should be a positive integer but got %s", field, shown(v))
	}
	return i
}

func (r *Reader) function(field string) string {
	v, ok := r.field(field)
	if !ok {
		return ""
	}
	f, ok := v.(FuncName)
	if !ok {
		r.wrong(field, "the name of a function in this file", v)
	} else if _, ok := r.D.Functions[string(f)]; !ok {
		r.fail(field, "'%s' should be the name of a function in this file, and %s is none", field, f)
	}
	return string(f)
}

// undo reads the function that takes a call back. It is given what it takes by
// name, so the names are part of the form.
func (r *Reader) undo() string {
	name := r.function("undo")
	if params := r.D.Functions[name]; name != "" && !slices.Equal(params, []string{"args", "result"}) {
		r.fail("undo", "'undo' should be a function of two parameters, args and result, but %s takes (%s)", name, strings.Join(params, ", "))
	}
	return name
}

func (r *Reader) dict(field string) *value.Dict {
	v, ok := r.field(field)
	if !ok {
		return nil
	}
	d, ok := v.(*value.Dict)
	if items, isList := value.Elements(v); isList && len(items) == 0 {
		return nil // Lua writes an empty object as it writes an empty list
	}
	if !ok {
		r.wrong(field, "an object", v)
	}
	for k := range d.All() {
		if _, ok := k.(string); !ok {
			r.fail(field, "the names in '%s' should be strings but got %s", field, describe(k))
		}
	}
	return d
}

// List reads a field that is a list.
func (r *Reader) List(field string) []value.Value {
	v, ok := r.field(field)
	if !ok {
		return nil
	}
	items, ok := value.Elements(v)
	if !ok {
		r.wrong(field, "a list", v)
	}
	return items
}

func (r *Reader) texts(field string) []string {
	var texts []string
	for _, v := range r.List(field) {
		s, ok := v.(string)
		if !ok {
			r.fail(field, "'%s' should be a list of strings but holds %s", field, describe(v))
			return nil
		}
		texts = append(texts, s)
	}
	return texts
}

// seconds reads a time span: a number of seconds.
func (r *Reader) seconds(field string) time.Duration {
	v, ok := r.field(field)
	if !ok {
		return 0
	}
	return r.duration(field, v)
}

func (r *Reader) duration(field string, v value.Value) time.Duration {
	const longest = 24 * time.Hour
	var seconds float64
	switch n := v.(type) {
	case int64:
		seconds = float64(n)
	case float64:
		seconds = n
	default:
		r.wrong(field, "a number of seconds", v)
		return 0
	}
	if !(seconds > 0 && seconds <= longest.Seconds()) {
		r.fail(field, "'%s' should be more than 0 and at most %.0f seconds", field, longest.Seconds())
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

func (r *Reader) hints() tool.Hints {
	var h tool.Hints
	for k, v := range r.dict("hints").All() {
		name, _ := k.(string)
		b, ok := v.(bool)
		if !ok {
			r.fail("hints", "hint '%s' should be true or false but got %s", name, describe(v))
			return h
		}
		switch name {
		case "read_only":
			h.ReadOnly = b
		case "idempotent":
			h.Idempotent = b
		case "open_world":
			h.OpenWorld = b
		default:
			if h.Other == nil {
				h.Other = map[string]bool{}
			}
			h.Other[name] = b
		}
	}
	return h
}

func (r *Reader) needs() []tool.Capability {
	var needs []tool.Capability
	for _, text := range r.texts("needs") {
		c, err := tool.ParseCapability(text)
		if err != nil && r.err == nil {
			e := *value.ErrorOf(err, value.Invalid)
			e.Pos = r.D.ErrorAt("needs", "").Pos
			r.err = &e
		}
		needs = append(needs, c)
	}
	return needs
}

func (r *Reader) deprecated() *tool.Deprecation {
	v, ok := r.field("deprecated")
	if !ok {
		return nil
	}
	if s, ok := v.(string); ok {
		return &tool.Deprecation{Message: s}
	}
	d, ok := v.(*value.Dict)
	if !ok {
		r.wrong("deprecated", "a message or an object with since, replacement and message", v)
		return nil
	}
	for k := range d.All() {
		if name, _ := k.(string); !slices.Contains([]string{"since", "replacement", "message"}, name) {
			r.fail("deprecated", "'deprecated' has no field '%s' (valid: since, replacement, message)", name)
		}
	}
	return &tool.Deprecation{Since: d.Text("since"), Replacement: d.Text("replacement"), Message: d.Text("message")}
}

func (r *Reader) limits() tool.Limits {
	var l tool.Limits
	for k, v := range r.dict("limits").All() {
		name, _ := k.(string)
		n, isInt := v.(int64)
		switch {
		case name == "cpu":
			l.CPU = r.duration("limits", v)
		case !isInt || n <= 0:
			r.fail("limits", "limit '%s' should be a positive integer but got %s", name, shown(v))
		case name == "steps":
			l.Steps = n
		case name == "memory":
			l.Memory = n
		case name == "result":
			l.Result = int(n)
		default:
			r.fail("limits", "unknown limit '%s' (valid: steps, cpu, memory, result)", name)
		}
	}
	return l
}

// Returns reads the type of the result, or nil.
func (r *Reader) Returns() *tool.Type {
	v, ok := r.field("returns")
	if !ok {
		return r.D.Returns
	}
	t, err := typeOf(v)
	if err != nil {
		e := value.ErrorOf(err, value.Invalid)
		r.failAt(e.Pos, "returns", "'returns': %s", e.Message())
	}
	r.warnUnknown(t, "the result")
	return &t
}

// returnsDoc is what the docstring says of the result, else the description of
// returns = param(…).
func (r *Reader) returnsDoc() string {
	if r.D.Doc.returns != "" {
		return r.D.Doc.returns
	}
	v, _ := r.field("returns")
	fields, _ := v.(*value.Dict)
	if p, ok := v.(Declared); ok {
		fields = p.Fields
	}
	return strings.TrimSpace(fields.Text("description"))
}

func (r *Reader) examples() []tool.Example {
	var examples []tool.Example
	for _, v := range r.List("examples") {
		d, ok := v.(Declared)
		if fields, isDict := v.(*value.Dict); isDict {
			d, ok = Declared{Kind: "example", Fields: fields}, true
		}
		if !ok || d.Kind != "example" {
			r.fail("examples", "'examples' should be a list of example(…) but holds %s", describe(v))
			return nil
		}
		examples = append(examples, r.example(d))
		r.examplesAt = append(r.examplesAt, d.Pos)
	}
	return examples
}

func (r *Reader) example(d Declared) tool.Example {
	e := tool.Example{Args: &value.Dict{}}
	fail := func(field, format string, args ...any) { r.failAt(d.place(field), "examples", format, args...) }
	for k, v := range d.Fields.All() {
		name, _ := k.(string)
		if part := notData(v); part != "" {
			fail(name, "an example's %s should be a value but holds %s", name, part)
		}
		var ok bool
		switch name {
		case "description":
			if e.Description, ok = v.(string); !ok {
				fail(name, "an example's description should be a string but got %s", describe(v))
			}
		case "args":
			if e.Args, ok = v.(*value.Dict); ok {
				continue
			}
			e.Args = &value.Dict{}
			if items, isList := value.Elements(v); !isList || len(items) > 0 { // Lua writes an empty object so
				fail(name, "an example's args should be an object but got %s", describe(v))
			}
		case "expect":
			e.Expect, e.HasExpect = v, true
		default:
			fail(name, "an example has no field '%s' (valid: description, args, expect)", name)
		}
	}
	return e
}

// unknown refuses the fields that nobody asked for.
func (r *Reader) unknown() {
	for k := range r.D.Fields.All() {
		name, _ := k.(string)
		if slices.Contains(r.used, name) || r.err != nil {
			continue
		}
		valid := slices.DeleteFunc(slices.Clone(r.used), func(s string) bool { return s == "handler" || s == "parameters" })
		slices.Sort(valid)
		valid = slices.Compact(valid)
		r.err = r.D.ErrorAt(name, "%s() has no field '%s'%s", cmp.Or(r.D.Word, ToolWord), name, value.DidYouMean(name, valid)).
			WithHint("the fields are %s", strings.Join(valid, ", "))
	}
}

// length reads min_length and max_length.
func length(v value.Value) (*int, bool) {
	i, ok := v.(int64)
	if _, big := v.(*big.Int); big || !ok || i < 0 || i > 1<<31-1 {
		return nil, false
	}
	n := int(i)
	return &n, true
}

// workflow makes a tool that was read a workflow, where it was declared as one:
// the hint of that name says so, and is nobody else's to give. Who runs it may
// be a person who knows what it does, so it need not say that.
func (r *Reader) workflow(t *tool.Tool) {
	if _, given := t.Hints.Other[WorkflowWord]; given {
		r.fail("hints", "the hint '%s' is given by cassidy", WorkflowWord)
	}
	if r.D.Word != WorkflowWord {
		return
	}
	if t.Hints.Other == nil {
		t.Hints.Other = map[string]bool{}
	}
	t.Hints.Other[WorkflowWord] = true
	if !r.D.Fields.Has("group") {
		t.Group = workflowGroup
	}
	t.Description = cmp.Or(t.Description, "Run the workflow '"+t.Name+"'.")
}
