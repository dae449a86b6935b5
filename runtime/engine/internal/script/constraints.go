package script

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A problem is an error in a declaration, or a warning: something that is probably not what its author
// meant. The zero position of a warning stands for that of the declaration.
type problem struct {
	*value.Error
	Code    string
	Warning bool
	Name    string // the name in question, of a warning
	Insert  string // what to insert after the name at Pos, if that certainly helps
}

// warn adds a warning.
func (r *Reader) warn(pos value.Position, code, name, message string) *problem {
	e := value.Errorf(value.Invalid, "%s", message)
	e.Pos = pos
	r.warnings = append(r.warnings, problem{Error: e, Code: code, Warning: true, Name: name})
	return &r.warnings[len(r.warnings)-1]
}

// fitting are the types that each constraint is for.
var fitting = map[string][]string{
	"min":        {tool.TypeInteger, tool.TypeNumber},
	"max":        {tool.TypeInteger, tool.TypeNumber},
	"min_length": {tool.TypeString, tool.TypeArray, tool.TypeCharacter},
	"max_length": {tool.TypeString, tool.TypeArray, tool.TypeCharacter},
	"pattern":    {tool.TypeString, tool.TypeCharacter},
	"items":      {tool.TypeArray},
	"properties": {tool.TypeObject},
}

// misfits returns an error for each constraint of a param(…) that a value of the type cannot
// have, so that it would have no effect. An unknown type and any fit all.
func (d Declared) misfits(t tool.Type) []*value.Error {
	var errs []*value.Error
	for _, name := range paramFields {
		types := fitting[name]
		if v, _ := d.Fields.Get(name); v == nil || types == nil || t.Name == "" || t.Name == tool.TypeAny || t.Name == tool.TypeList || !t.Known() || slices.Contains(types, t.Name) {
			continue
		}
		e := value.Errorf(value.Invalid, "'%s' does not fit the type %s", name, t.Name)
		e.Hint = "remove " + name + ": it is for " + strings.Join(types, " and ")
		switch isNumber, isLong := slices.Contains(fitting["min"], t.Name), slices.Contains(fitting["min_length"], t.Name); {
		case fitting[name][0] == tool.TypeInteger && isLong:
			e.Hint = "write " + name + "_length, or declare the type integer or number"
		case (name == "min_length" || name == "max_length") && isNumber:
			e.Hint = "write " + name[:3] + ", or declare the type string or array"
		case name == "pattern" && isNumber:
			e.Hint = "write min and max, or declare the type string"
		}
		if e.Pos = d.place(name); name == "items" || name == "properties" {
			e.Hint = "remove " + name + ", or declare the type " + types[0]
		}
		errs = append(errs, e)
	}
	return errs
}

// docstringTypes maps the types of docstrings in the style of Google to annotations.
var docstringTypes = map[string]string{
	"str": "str", "string": "str", "int": "int", "integer": "int", "float": "float", "number": "float", "bool": "bool", "boolean": "bool",
	"list": "list", "dict": "dict", "list[str]": "list[str]", "list[int]": "list[int]", "dict[str, str]": "dict[str, str]",
}

// warnDocstring warns of a type that only the docstring has, as in "n (int): …": it has no effect.
func (r *Reader) warnDocstring(sig SigParam, spec Declared, t tool.Type) {
	written := r.D.Doc.types[sig.Name]
	if !r.D.Signed || written == "" || sig.Annotated != nil || spec.Fields.Has("type") || t.Name != "" && t.Name != tool.TypeAny {
		return
	}
	first, _, _ := strings.Cut(written, ",")
	annotation := docstringTypes[strings.TrimSpace(first)]
	w := r.warn(sig.Pos, diagnostic.DocstringType, sig.Name, "the docstring says that '"+sig.Name+"' is "+written+", but no type is declared, so any value is accepted")
	if annotation == "" {
		w.Hint = "declare the type in the signature, as in def f(path: str)"
		return
	}
	w.Hint = "write " + sig.Name + ": " + annotation + " in the signature"
	w.Insert = ": " + annotation
}
