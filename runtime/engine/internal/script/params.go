package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// hostParam is the name of the parameter that the host always sets to the working
// directory.
const hostParam = "working_dir"

// maxParams is how many parameters a tool may have: more than a model can handle, and
// few enough to be compared with each other.
const maxParams = 255

// params merges the parameters of signature and declaration. Names, order and defaults
// come from the signature if there is one (in Lua, the comment), types from its annotations, and
// descriptions from the docstring. param(…) adds to that or overrides it.
func (r *Reader) params() []tool.Param {
	specs, order := r.paramSpecs()
	if max(len(r.D.Signature), len(order)) > maxParams {
		r.fail("params", "the tool has more than %d parameters", maxParams)
		return nil
	}
	params := slices.Grow([]tool.Param(nil), len(r.D.Signature))
	for _, sig := range r.D.Signature {
		params = append(params, r.param(sig, specs[sig.Name]))
	}
	for _, name := range order {
		if slices.ContainsFunc(r.D.Signature, func(s SigParam) bool { return s.Name == name }) {
			continue
		}
		if r.D.Signed {
			var names []string // of parameters without a spec
			for _, s := range r.D.Signature {
				if _, ok := specs[s.Name]; !ok {
					names = append(names, s.Name)
				}
			}
			r.failAt(specs[name].Pos, "params", "'%s' is not a parameter of %s%s", name, r.D.Handler, value.DidYouMean(name, names))
			return nil
		}
		params = append(params, r.param(SigParam{Name: name}, specs[name]))
	}
	for name := range r.D.Doc.args {
		if !slices.ContainsFunc(params, func(p tool.Param) bool { return p.Name == name }) {
			r.warn(value.Position{}, diagnostic.DocstringArgs, name, "the docstring describes '"+name+"', which is not a parameter")
		}
	}
	slices.SortFunc(r.warnings, func(a, b problem) int { return strings.Compare(a.Message(), b.Message()) })
	return params
}

// paramSpecs returns the param(…) of each name, and the names in order. In Markdown the
// field is named "parameters".
func (r *Reader) paramSpecs() (specs map[string]Declared, order []string) {
	specs = map[string]Declared{}
	r.used = append(r.used, "parameters")
	for k, v := range r.dict("params").All() {
		name, _ := k.(string)
		if _, isType := v.(string); isType {
			v = value.NewDict("type", v)
		}
		d, ok := DeclaredOf("param", v)
		if !ok {
			r.fail("params", "'%s' in params should be a type or param(…) but got %s", name, describe(v))
			continue
		}
		specs[name] = d
		order = append(order, name)
	}
	return specs, order
}

// param completes a parameter of the signature with its param(…).
func (r *Reader) param(sig SigParam, spec Declared) tool.Param {
	p := tool.Param{Name: sig.Name, Description: r.D.Doc.args[sig.Name], Default: sig.Value, HasDefault: sig.HasDefault}
	if sig.Annotated != nil {
		p.Type = *sig.Annotated
	}
	r.at[sig.Name] = paramPlace{sig.Pos, spec}
	t, err := spec.Type(p.Type)
	if err != nil {
		r.failParam(sig.Name, value.ErrorOf(err, value.Invalid))
		return p
	}
	p.Type = t
	r.description(&p, spec)
	r.defaults(&p, sig, spec)
	if v, ok := spec.Fields.Get("required"); ok {
		if b, isBool := v.(bool); isBool {
			p.Required = b
		} else if p.Type.Name != tool.TypeObject {
			r.failAt(spec.place("required"), "params", "'required' of '%s' should be true or false but got %s", p.Name, describe(v))
		}
	}
	if v, ok := spec.Fields.Get("aliases"); ok {
		p.Aliases = r.aliases(p.Name, spec, v)
	}
	for _, e := range spec.misfits(p.Type) {
		r.failParam(sig.Name, e)
		r.coded(diagnostic.Constraint)
	}
	r.warnUnknown(p.Type, "'"+p.Name+"'", r.at[p.Name].pos("type"))
	r.warnDocstring(sig, spec, p.Type)
	if p.Name == hostParam {
		p.FromHost, p.Required = true, false
	}
	return p
}

func (r *Reader) description(p *tool.Param, spec Declared) {
	v, ok := spec.Fields.Get("description")
	if !ok {
		return
	}
	if p.Description, ok = v.(string); !ok {
		r.failAt(spec.place("description"), "params", "the description of '%s' should be a string but got %s", p.Name, describe(v))
	}
}

// defaults sets the default of a parameter, whether it is required, and its type if
// none is declared.
func (r *Reader) defaults(p *tool.Param, sig SigParam, spec Declared) {
	pos := sig.Pos
	if v, ok := spec.Fields.Get("default"); ok {
		pos = spec.place("default")
		if r.D.Signed && sig.HasDefault && !value.Equal(v, sig.Value) {
			r.failAt(pos, "params", "the default of '%s' is %s in the signature and %s in param()", p.Name, shown(sig.Value), shown(v))
		}
		p.Default, p.HasDefault = v, true
	}
	if part := notData(p.Default); part != "" {
		r.failAt(pos, "params", "the default of '%s' must be plain data, but contains %s", p.Name, part)
	}
	if sig.Annotated == nil && !spec.Fields.Has("type") && p.HasDefault && p.Default != nil {
		p.Type.Name = typeOfDefault(p.Default)
	}
	p.Required = !p.HasDefault
	if p.HasDefault && p.Default == nil {
		p.Type.Nullable = false // a None default only means that it is optional
	}
}

// warnUnknown warns of an unknown type, which may be one of a later version.
func (r *Reader) warnUnknown(t tool.Type, of string, pos value.Position) {
	if !t.Known() {
		r.warn(pos, diagnostic.UnknownType, t.Name, "unknown type of "+of+": '"+t.Name+"', so any value is accepted"+
			value.DidYouMean(t.Name, tool.TypeNames()))
	}
	for _, inner := range []*tool.Type{t.Items, t.Values} {
		if inner != nil {
			r.warnUnknown(*inner, "the items of "+of, pos)
		}
	}
	for _, f := range t.Fields {
		r.warnUnknown(f.Type, "'"+f.Name+"' in "+of, pos)
	}
}

func (r *Reader) failParam(name string, e *value.Error) {
	if r.failed == nil {
		r.failed = map[string]bool{}
	}
	r.failed[name] = true
	pos := e.Pos
	if pos.Line == 0 {
		pos = r.at[name].pos("")
	}
	r.failAt(pos, "params", "parameter '%s': %s", name, e.Message())
	r.errs[len(r.errs)-1].Hint = e.Hint
}

// A paramPlace has the positions of a parameter: in the signature, and in its param(…).
type paramPlace struct {
	sig  value.Position
	spec Declared
}

// pos returns the position of a field of the parameter.
func (p paramPlace) pos(field string) value.Position {
	if p.spec.Pos.Line == 0 || field == "default" && !p.spec.Fields.Has("default") {
		return p.sig
	}
	return p.spec.place(field)
}

// place returns the position of a field of param(…), or of param(…) itself.
func (d Declared) place(field string) value.Position {
	if pos, ok := d.At[field]; ok {
		return pos
	}
	return d.Pos
}

func (r *Reader) aliases(name string, spec Declared, v value.Value) []string {
	var names []string
	items, _ := value.Elements(v)
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			items = nil
			break
		}
		names = append(names, s)
	}
	if len(items) == 0 {
		r.failAt(spec.place("aliases"), "params", "'aliases' of '%s' should be a list of names", name)
	}
	return names
}

// typeOfDefault returns the type of a parameter that has only a default.
func typeOfDefault(v value.Value) string {
	name := value.TypeOf(v)
	if slices.Contains([]string{tool.TypeInteger, tool.TypeNumber, tool.TypeString, tool.TypeBoolean, tool.TypeArray, tool.TypeObject, tool.TypeMedia}, name) {
		return name
	}
	return tool.TypeAny
}

// typeOf reads a type that is written as a value: a name, a param(…), or an object with
// the fields of one.
func typeOf(v value.Value) (tool.Type, error) {
	if name, ok := v.(string); ok {
		return tool.ParseType(name)
	}
	if d, ok := DeclaredOf("param", v); ok {
		t, err := d.Type(tool.Type{})
		if misfits := d.misfits(t); err == nil && len(misfits) > 0 {
			err = misfits[0]
		}
		return t, err
	}
	return tool.Type{}, value.Errorf(value.Invalid, "a type should be a name or param(…) but got %s", describe(v))
}

// Type adds the fields of a param(…) to a type.
func (d Declared) Type(t tool.Type) (tool.Type, error) {
	for k := range d.Fields.All() {
		if name, _ := k.(string); !slices.Contains(paramFields, name) {
			return t, d.placed(value.Errorf(value.Invalid, "param() has no field '%s'%s", name, didYouMean(name, paramFields, d.Fields)).
				WithHint("the fields are %s", strings.Join(paramFields, ", ")), name)
		}
	}
	if v, ok := d.Fields.Get("type"); ok && v != nil {
		given, err := typeOf(v)
		if err != nil {
			return t, d.placed(err, "type")
		}
		t = given
	}
	for _, name := range append(slices.Clone(paramFields[4:]), "required") { // "required" may be the list of required properties
		if v, _ := d.Fields.Get(name); v != nil {
			if err := setConstraint(&t, name, v); err != nil {
				return t, d.placed(err, name)
			}
		}
	}
	return t, nil
}

// placed sets the position of an error to that of a field, unless it has a closer one.
func (d Declared) placed(err error, field string) error {
	e := *value.ErrorOf(err, value.Invalid)
	if e.Pos.Line == 0 {
		e.Pos = d.place(field)
	}
	return &e
}

// paramFields are the fields of param(…), in the order of positional arguments.
var paramFields = []string{"type", "description", "required", "default", "min", "max",
	"min_length", "max_length", "pattern", "enum", "items", "properties", "aliases"}

// exampleFields are the fields of example(…), in the order of positional arguments.
var exampleFields = []string{"description", "args", "expect"}

func setConstraint(t *tool.Type, name string, v value.Value) error {
	wrong := func(want string) error {
		return value.Errorf(value.Invalid, "'%s' should be %s but got %s", name, want, shown(v))
	}
	var ok bool
	switch name {
	case "min", "max":
		if typeName := value.TypeOf(v); typeName != "integer" && typeName != "number" {
			return wrong("a number")
		}
		if name == "min" {
			t.Min = v
		} else {
			t.Max = v
		}
	case "min_length", "max_length":
		n, ok := v.(int64)
		if !ok || n < 0 || n > 1<<31-1 {
			return wrong("a number of characters or items")
		}
		length := int(n)
		if name == "min_length" {
			t.MinLength = &length
		} else {
			t.MaxLength = &length
		}
	case "pattern":
		if t.Pattern, ok = v.(string); !ok {
			return wrong("a string")
		}
	case "enum":
		if t.Enum, ok = value.Elements(v); !ok || len(t.Enum) == 0 {
			return wrong("a list with at least one value")
		}
		if part := notData(v); part != "" {
			return value.Errorf(value.Invalid, "'enum' should contain data but contains %s", part)
		}
	case "items":
		inner, err := typeOf(v)
		if err != nil {
			return err
		}
		t.Items = &inner
	case "properties":
		return setProperties(t, v)
	case "required":
		return requireProperties(t, v)
	}
	return nil
}

func setProperties(t *tool.Type, v value.Value) error {
	d, ok := v.(*value.Dict)
	if !ok {
		return value.Errorf(value.Invalid, "'properties' should be an object but got %s", describe(v))
	}
	t.Fields = nil
	for k, v := range d.All() {
		field, err := property(k, v)
		if err != nil {
			return err
		}
		t.Fields = append(t.Fields, field)
	}
	return nil
}

func property(k, v value.Value) (tool.Param, error) {
	name, ok := k.(string)
	if !ok {
		return tool.Param{}, value.Errorf(value.Invalid, "the name of a property should be a string but got %s", value.TypeOf(k))
	}
	inner, err := typeOf(v)
	if err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		e.Err = fmt.Errorf("property '%s': %w", name, e.Err)
		return tool.Param{}, &e
	}
	p := tool.Param{Name: name, Type: inner}
	d, _ := DeclaredOf("param", v)
	p.Description = d.Fields.Text("description")
	p.Required = d.Fields.Bool("required")
	p.Default, p.HasDefault = d.Fields.Get("default")
	if part := notData(p.Default); part != "" {
		return p, value.Errorf(value.Invalid, "property '%s': the default should be data but contains %s", name, part)
	}
	return p, nil
}

// requireProperties reads 'required' if it is a list of properties; a bool belongs to
// the parameter.
func requireProperties(t *tool.Type, v value.Value) error {
	names, ok := value.Elements(v)
	if !ok {
		return nil
	}
	for _, n := range names {
		i := slices.IndexFunc(t.Fields, func(p tool.Param) bool { return value.Value(p.Name) == n })
		if i < 0 {
			return value.Errorf(value.Invalid, "'required' contains an unknown property: %s", value.FormatJSON(n, ""))
		}
		t.Fields[i].Required = true
	}
	return nil
}
