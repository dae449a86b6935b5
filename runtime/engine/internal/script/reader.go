package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Reader reads the fields of a declaration one after the other and
// keeps the errors.
type Reader struct {
	D          *Declaration
	errs       []*value.Error
	used       []string
	warnings   []problem
	at         map[string]paramPlace // of each parameter
	examplesAt []value.Position
	expectAt   []value.Position        // in each example
	failed     map[string]bool         // the parameters with errors
	codes      map[*value.Error]string // of the errors that have one
}

func (r *Reader) fail(field, format string, args ...any) {
	r.failAt(value.Position{}, field, format, args...)
}

// failAt is fail with a position of a part of a field, if known.
func (r *Reader) failAt(pos value.Position, field, format string, args ...any) {
	e := r.D.ErrorAt(field, format, args...)
	if pos.Line > 0 {
		e.Pos = pos
	}
	r.errs = append(r.errs, e)
}

// coded sets the code of the last error.
func (r *Reader) coded(code string) {
	if r.codes == nil {
		r.codes = map[*value.Error]string{}
	}
	r.codes[r.errs[len(r.errs)-1]] = code
}

// err returns the first error, or nil.
func (r *Reader) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	return r.errs[0]
}

// field returns a field that is present and not null.
func (r *Reader) field(name string) (value.Value, bool) {
	r.used = append(r.used, name)
	v, ok := r.D.Fields.Get(name)
	return v, ok && v != nil
}

func (r *Reader) wrong(field, want string, got value.Value) {
	r.fail(field, "'%s' should be %s but got %s", field, want, describe(got))
}

// notData describes a part of a value that is not data, such as a function, or returns
// "".
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

// describe returns the name of the type of a value in a declaration.
func describe(v value.Value) string {
	switch v := v.(type) {
	case Declared:
		return v.Kind + "(…)"
	case FuncName:
		return "the function " + string(v)
	}
	return value.TypeOf(v)
}

// shown is describe for values whose type may be right.
func shown(v value.Value) string {
	if notData(v) != "" {
		return describe(v)
	}
	return tool.Preview(value.FormatJSON(v, ""), 1)
}

// get reads a field of one type. It reports whether the field is present.
func get[T value.Value](r *Reader, field, want string) (v T, ok bool) {
	x, given := r.field(field)
	if v, ok = x.(T); given && !ok {
		r.wrong(field, want, x)
	}
	return v, ok
}

func (r *Reader) text(field, otherwise string) string {
	if s, ok := get[string](r, field, "a string"); ok {
		return s
	}
	return otherwise
}

func (r *Reader) boolean(field string) bool {
	b, _ := get[bool](r, field, "true or false")
	return b
}

func (r *Reader) integer(field string) int64 {
	v, ok := r.field(field)
	if !ok {
		return 0
	}
	i, ok := v.(int64)
	if !ok || i < 0 {
		r.fail(field, "'%s' should be 0 or a positive integer but got %s", field, shown(v))
	}
	return i
}

func (r *Reader) function(field string) string {
	f, ok := get[FuncName](r, field, "the name of a function in this file")
	if _, defined := r.D.Functions[string(f)]; ok && !defined {
		r.fail(field, "'%s' should be the name of a function in this file, but %s is not", field, f)
	}
	return string(f)
}

// ofCall reads a function of a call: of its arguments and its result. They are passed by name, so the
// names are fixed.
func (r *Reader) ofCall(field string, params ...string) string {
	name := r.function(field)
	if got := r.D.Functions[name]; name != "" && !slices.Equal(got, params) {
		r.fail(field, "'%s' should be a function of two parameters, %s, but %s takes (%s)", field, strings.Join(params, " and "), name, strings.Join(got, ", "))
	}
	return name
}

func (r *Reader) dict(field string) *value.Dict {
	if v, _ := r.field(field); isEmptyList(v) {
		return nil
	}
	d, _ := get[*value.Dict](r, field, "an object")
	for k := range d.All() {
		if _, ok := k.(string); !ok {
			r.fail(field, "the names in '%s' should be strings but got %s", field, describe(k))
		}
	}
	return d
}

// isEmptyList reports whether a value is an empty list, which is how Lua writes an empty
// object.
func isEmptyList(v value.Value) bool {
	items, ok := value.Elements(v)
	return ok && len(items) == 0
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
			r.fail(field, "'%s' should be a list of strings but contains %s", field, describe(v))
			return nil
		}
		texts = append(texts, s)
	}
	return texts
}

// seconds reads a duration: a number of seconds.
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
		case "untrusted_output":
			h.UntrustedOutput = b
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
	for i, text := range r.texts("needs") {
		c, err := tool.ParseCapability(text)
		if err != nil {
			e := *value.ErrorOf(err, value.Invalid)
			e.Pos = r.D.element("needs", i)
			r.errs = append(r.errs, &e)
			continue
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
			r.fail("deprecated", "unknown field '%s' in 'deprecated' (valid: since, replacement, message)", name)
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
		case !slices.Contains(LimitNames(), name):
			r.fail("limits", "unknown limit '%s' (valid: %s)", name, strings.Join(LimitNames(), ", "))
		case name == "requests" && (!isInt || n <= 0 || n > tool.MaxRequests):
			r.fail("limits", "limit 'requests' should be an integer from 1 to %d but got %s", tool.MaxRequests, shown(v))
		case !isInt || n <= 0:
			r.fail("limits", "limit '%s' should be a positive integer but got %s", name, shown(v))
		case name == "steps":
			l.Steps = n
		case name == "memory":
			l.Memory = n
		case name == "result":
			l.Result = int(n)
		default:
			l.Requests = int(n)
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
	r.warnUnknown(t, "the result", r.D.place("returns"))
	return &t
}

// returnsDoc returns the docstring's text on the result, else the description of
// returns = param(…).
func (r *Reader) returnsDoc() string {
	if r.D.Doc.returns != "" {
		return r.D.Doc.returns
	}
	v, _ := r.field("returns")
	d, _ := DeclaredOf("param", v)
	return strings.TrimSpace(d.Fields.Text("description"))
}

func (r *Reader) examples() []tool.Example {
	var examples []tool.Example
	for i, v := range r.List("examples") {
		d, ok := DeclaredOf("example", v)
		if d.Pos.Line == 0 {
			d.Pos = r.D.element("examples", i)
		}
		if !ok {
			r.fail("examples", "'examples' should be a list of example(…) but contains %s", describe(v))
			return nil
		}
		examples = append(examples, r.example(d))
		r.examplesAt = append(r.examplesAt, d.Pos)
		r.expectAt = append(r.expectAt, d.place("expect"))
	}
	return examples
}

func (r *Reader) example(d Declared) tool.Example {
	e := tool.Example{Args: &value.Dict{}}
	fail := func(field, format string, args ...any) { r.failAt(d.place(field), "examples", format, args...) }
	for k, v := range d.Fields.All() {
		name, _ := k.(string)
		if part := notData(v); part != "" {
			fail(name, "the field '%s' of an example must be plain data, but contains %s", name, part)
		}
		var ok bool
		switch name {
		case "description":
			if e.Description, ok = v.(string); !ok {
				fail(name, "an example's description should be a string but got %s", describe(v))
			}
		case "args":
			if e.Args, ok = v.(*value.Dict); !ok {
				e.Args = &value.Dict{}
			}
			if !ok && !isEmptyList(v) {
				fail(name, "an example's args should be an object but got %s", describe(v))
			}
		case "expect":
			e.Expect, e.HasExpect = v, true
		default:
			fail(name, "unknown field '%s' in an example (valid: description, args, expect)", name)
		}
	}
	return e
}

// unknown rejects fields that were not read.
func (r *Reader) unknown() {
	var names []string
	for k := range r.D.Fields.All() {
		if name, _ := k.(string); !slices.Contains(r.used, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	valid := slices.DeleteFunc(slices.Clone(r.used), func(s string) bool { return s == "handler" || s == "parameters" })
	for i, field := range valid {
		valid[i] = cmp.Or(r.D.Spelled[field], field)
	}
	slices.Sort(valid)
	valid = slices.Compact(valid)
	given := &value.Dict{} // a field that is given too cannot replace another
	for k, v := range r.D.Fields.All() {
		field, _ := k.(string)
		given.Put(cmp.Or(r.D.Spelled[field], field), v)
	}
	for _, name := range names {
		r.errs = append(r.errs, r.D.ErrorAt(name, "%s() has no field '%s'%s", cmp.Or(r.D.Word, ToolWord), name, didYouMean(name, valid, given)).
			WithHint("the fields are %s", strings.Join(valid, ", ")))
	}
}

// didYouMean suggests a field for an unknown one. One that is given too cannot replace it.
func didYouMean(name string, names []string, given *value.Dict) string {
	if meant := value.Nearest(name, names); meant != "" && given.Has(meant) {
		return `; did you mean "` + meant + `", which is given too?`
	}
	return value.DidYouMean(name, names)
}

// workflow marks a tool that is declared as a workflow with a hint, which no file may
// set itself. The description is optional: a person may run it without one.
func (r *Reader) workflow(t *tool.Tool) {
	if _, given := t.Hints.Other[WorkflowWord]; given {
		r.fail("hints", "the hint '%s' is reserved for cassidy", WorkflowWord)
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

// invalid adds what makes the tool invalid, in the order of [tool.Tool.Validate], with the
// position of each part. It validates tools that have only that part.
func (r *Reader) invalid(t *tool.Tool) {
	readable := len(r.errs) == 0 // otherwise a part that cannot be read is not there
	check := func(pos func(message string) value.Position, probe tool.Tool) bool {
		err := probe.Validate()
		if err == nil {
			return true
		}
		e := *value.ErrorOf(err, value.Invalid)
		if e.Pos.Line == 0 {
			e.Pos = pos(e.Message())
		}
		r.errs = append(r.errs, &e)
		return false
	}
	at := func(field string) func(string) value.Position {
		return func(string) value.Position { return r.D.place(field) }
	}
	probe := tool.Tool{Name: t.Name, Description: "x"}
	if tool.CheckName(t.Name) != nil {
		check(at("name"), tool.Tool{Name: t.Name})
		probe.Name = "x"
	}
	if readable || !r.D.Fields.Has("description") {
		if !check(at("description"), tool.Tool{Name: probe.Name, Description: t.Description}) && t.Description == "" && r.D.DocHint != "" {
			r.errs[len(r.errs)-1].Hint = r.D.DocHint
		}
	}
	valid := true
	for _, p := range t.Params {
		if r.failed[p.Name] {
			continue
		}
		probe.Params = []tool.Param{p}
		valid = check(func(message string) value.Position {
			field := ""
			if strings.HasPrefix(message, "the default of") {
				field = "default"
			}
			return r.at[p.Name].pos(field)
		}, probe) && valid
	}
	if valid {
		probe.Params = t.Params
		valid = check(at("params"), probe)
	}
	if !valid || !readable {
		return
	}
	check(at("returns"), tool.Tool{Name: probe.Name, Description: "x", Returns: t.Returns})
	for i, e := range t.Examples {
		if _, err := t.Check(e.Args); err != nil {
			e := value.Errorf(value.Invalid, "example %d is invalid: %w", i+1, err)
			if e.Pos = r.D.place("examples"); r.examplesAt[i].Line > 0 {
				e.Pos = r.examplesAt[i]
			}
			r.errs = append(r.errs, e)
			r.coded(diagnostic.Example)
		}
		if _, err := t.CheckResult(e.Expect); e.HasExpect && err != nil {
			r.warn(r.expectAt[i], diagnostic.ExampleResult, t.Name, fmt.Sprintf("example %d expects what the tool cannot return: %s", i+1, value.ErrorOf(err, value.Failed).Message()))
		}
	}
}
