package script

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The words that declare a tool or workflow. A workflow has the fields of a tool.
const (
	ToolWord     = "tool"
	WorkflowWord = "workflow"
	// workflowGroup is the default group of workflows.
	workflowGroup = "workflow"
)

// A Declaration is a file's declaration of its tool, read without running the file, in
// one form for all languages.
type Declaration struct {
	Word      string                      // ToolWord, which is also the meaning of "", or WorkflowWord
	Handler   string                      // the handler's name, for messages
	Signature []SigParam                  // the handler's parameters
	Signed    bool                        // whether the language shows the parameters
	Doc       docstring                   // of the handler
	DocHint   string                      // what to write if it lacks the description, or ""
	Returns   *tool.Type                  // from the handler's annotation
	Fields    *value.Dict                 // the fields of tool(...), see Declared and FuncName
	Pos       value.Position              // of tool(...)
	At        map[string]value.Position   // of each field
	Elements  map[string][]value.Position // of each field that is a list, if known
	Functions map[string][]string         // the parameters of the functions that a field may name
	Loads     []string                    // all files that the file loads, also indirectly
	Spelled   map[string]string           // the names of the fields in the file, where these differ
	warnings  []problem
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
	At     map[string]value.Position // of each field, if known
}

// NewDeclared returns a param(...) or example(...) without fields.
func NewDeclared(kind string, pos value.Position) Declared {
	return Declared{Kind: kind, Fields: &value.Dict{}, Pos: pos, At: map[string]value.Position{}}
}

// DeclaredOf returns a value as the param(...) or example(...) that it is, or whose
// fields it has. Else it has no fields.
func DeclaredOf(kind string, v value.Value) (d Declared, ok bool) {
	switch v := v.(type) {
	case Declared:
		if v.Kind == kind {
			return v, true
		}
	case *value.Dict:
		return Declared{Kind: kind, Fields: v}, true
	}
	return NewDeclared(kind, value.Position{}), false
}

// Names returns the fields of a param(...) or example(...), in the order of positional
// arguments.
func (d Declared) Names() []string {
	if d.Kind == "example" {
		return exampleFields
	}
	return paramFields
}

// Put sets a field.
func (d Declared) Put(name string, v value.Value, pos value.Position) error {
	err := (*value.Error)(nil)
	switch names := d.Names(); {
	case !slices.Contains(names, name):
		err = value.Errorf(value.Invalid, "%s() has no field '%s'%s", d.Kind, name, didYouMean(name, names, d.Fields))
	case d.Fields.Has(name):
		err = value.Errorf(value.Invalid, "'%s' is given twice", name)
	default:
		d.Fields.Put(name, v)
		d.At[name] = pos
		return nil
	}
	err.Pos = pos
	return err
}

// A FuncName is the value of a field that names a function of the file.
type FuncName string

// New returns the declaration of a file without fields. Its position is that of
// tool(...).
func New(word string, pos value.Position, functions map[string][]string) *Declaration {
	return &Declaration{Word: word, Fields: &value.Dict{}, Pos: pos, At: map[string]value.Position{}, Elements: map[string][]value.Position{}, Functions: functions}
}

// Computed returns the error of an expression in a declaration that is not a literal.
func Computed(pos value.Position) error {
	e := value.Errorf(value.Invalid, "the declaration contains an expression that needs execution").
		WithHint("write the value, or the name of a constant or function of this file")
	e.Pos = pos
	return e
}

// Tool converts a declaration to the tool. The stem of the file name is the tool's key.
func (d *Declaration) Tool(stem string) (tool.Described, error) {
	t, problems := d.Read(stem)
	var texts []string
	for _, p := range problems { // the errors are first
		if !p.Warning {
			return tool.Described{}, p.Error
		}
		texts = append(texts, p.Message())
	}
	return tool.Described{Tool: t, Loads: d.Loads, Warnings: texts}, nil
}

// Read converts a declaration to the tool, and returns everything that is wrong with it.
func (d *Declaration) Read(stem string) (tool.Tool, []problem) {
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
		Undo:        r.ofCall("undo", "args", "result"),
		Preview:     r.ofCall("preview", "result", "args"),
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
	}
	r.workflow(&t)
	r.unknown()
	if tool.Key(t.Name) != tool.Key(stem) {
		r.errs = append(r.errs, d.ErrorAt("name", "the file name %q differs from the tool name %q", stem, t.Name).
			WithHint("rename the file or the tool, or omit name"))
	}
	r.invalid(&t)
	problems := value.Map(r.errs, func(e *value.Error) problem {
		return problem{Error: e, Code: cmp.Or(r.codes[e], diagnostic.Declaration)}
	})
	return t, append(append(problems, d.warnings...), r.warnings...)
}

// Warn adds a warning to those of Read.
func (d *Declaration) Warn(pos value.Position, code, message string) {
	e := value.Errorf(value.Invalid, "%s", message)
	e.Pos = pos
	d.warnings = append(d.warnings, problem{Error: e, Code: code, Warning: true})
}

// SetsItself reports whether the host sets a parameter, so that no call has it.
func (d *Declaration) SetsItself(param string) bool { return param == hostParam }

// Result returns the declared type of what the handler returns, or nil.
func (d *Declaration) Result() (*tool.Type, error) {
	r := Reader{D: d}
	return r.Returns(), r.err()
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

// element returns the position of an element of a field that is a list.
func (d *Declaration) element(field string, i int) value.Position {
	if list := d.Elements[field]; i < len(list) && list[i].Line > 0 {
		return list[i]
	}
	return d.place(field)
}
