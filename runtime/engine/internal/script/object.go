package script

import (
	"cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Attribute returns an object's field or method.
func Attribute(o tool.Object, name string) (f Function, isMethod, ok bool) {
	t := o.Type()
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return methodOf(o, &t.Fields[i]), false, true
		}
	}
	for i := range t.Methods {
		if t.Methods[i].Name == name {
			return methodOf(o, &t.Methods[i]), true, true
		}
	}
	return Function{}, false, false
}

// AttributeNames lists the names of fields and methods, fields first.
func AttributeNames(t *tool.ObjectType) []string {
	var names []string
	for _, f := range t.Fields {
		names = append(names, f.Name)
	}
	for _, f := range t.Methods {
		names = append(names, f.Name)
	}
	return names
}

// NoAttribute returns the error of an unknown attribute. The hint of the object's type
// takes precedence over a similar name.
func NoAttribute(o tool.Object, name string) *value.Error {
	t := o.Type()
	e := value.Errorf(value.Failed, "type %s has no field or method %s", t.Name, name)
	if e.Hint = Lacks(o, name); e.Hint != "" {
		return e
	}
	if near := value.DidYouMean(name, AttributeNames(t)); near != "" {
		return value.Errorf(value.Failed, "type %s has no field or method %s%s", t.Name, name, near)
	}
	if _, ok := o.(tool.Collection); ok {
		return e.WithHint("to read a column or field, write t[%q]", name)
	}
	return e
}

// Lacks returns the hint of an object's type for an unknown attribute, or "".
func Lacks(o tool.Object, name string) string {
	if f := o.Type().Lacks; f != nil {
		return f(name)
	}
	return ""
}

// methodOf returns a method of an object as a function.
func methodOf(o tool.Object, row *tool.Func) Function {
	return Function{Func: row, name: o.Type().Name + "." + row.Name, Self: o}
}

// Plain converts an object to a plain value for leaving the script. depth and nodes
// bound the value.
func (r *Run) Plain(o tool.Object, depth int, nodes *int) (value.Value, error) {
	v, err := o.Plain(r.Ctx, r.Grant())
	if err == nil {
		err = within(v, depth, nodes)
	}
	if err != nil {
		return nil, InScript(err)
	}
	return v, nil
}

// within subtracts the parts of a value from nodes. It fails if the value is too large
// or nested too deep.
func within(v value.Value, depth int, nodes *int) error {
	if *nodes--; *nodes < 0 {
		return TooManyParts()
	}
	if d, ok := v.(*value.Dict); ok {
		for k, x := range d.All() {
			if depth == 0 {
				return TooDeep()
			}
			if err := cmp.Or(within(k, depth-1, nodes), within(x, depth-1, nodes)); err != nil {
				return err
			}
		}
		return nil
	}
	items, _ := value.Elements(v)
	for _, x := range items {
		if depth == 0 {
			return TooDeep()
		}
		if err := within(x, depth-1, nodes); err != nil {
			return err
		}
	}
	return nil
}

// TextOf returns the text of an object. If that fails, it returns the reason, and ends
// the run if the error is not catchable.
func (r *Run) TextOf(o tool.Object) string {
	text, err := o.Text(r.Ctx, r.Grant())
	if err != nil {
		r.EndWith(err)
		return "<" + o.Type().Name + ": " + value.ErrorOf(err, value.Internal).Message() + ">"
	}
	return text
}

// EndWith ends the run with an error that cannot be returned: a loop over a table whose
// file became unreadable did not complete.
func (r *Run) EndWith(err error) {
	if r.Fatal == nil {
		r.Fatal = value.ErrorOf(InScript(err), value.Internal)
	}
}
