package script

import (
	"cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Attribute finds what an object has under a name: a field or a method.
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

// AttributeNames lists what an object has, fields first.
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

// NoAttribute is the error of a name that an object does not have. What its type
// knows of the name is better than what looks alike.
func NoAttribute(o tool.Object, name string) *value.Error {
	t := o.Type()
	e := value.Errorf(value.Failed, "a %s has no %s", t.Name, name)
	if e.Hint = Lacks(o, name); e.Hint != "" {
		return e
	}
	if near := value.DidYouMean(name, AttributeNames(t)); near != "" {
		return value.Errorf(value.Failed, "a %s has no %s%s", t.Name, name, near)
	}
	if _, ok := o.(tool.Collection); ok {
		return e.WithHint("a part of it that has a name is read as in t[%q]", name)
	}
	return e
}

// Lacks is what the type of an object knows of a name that it does not have.
func Lacks(o tool.Object, name string) string {
	if f := o.Type().Lacks; f != nil {
		return f(name)
	}
	return ""
}

// methodOf makes a function of a row of an object's type.
func methodOf(o tool.Object, row *tool.Func) Function {
	f := *row
	f.Objects = true
	return Function{Func: &f, name: o.Type().Name + "." + f.Name, Self: o}
}

// Plain returns what stands for an object where it leaves the script, as a value
// that may still be so deep and have so many parts.
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

// within takes the parts of a value off nodes, and fails where they are too many,
// or too deep inside one another.
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

// Shows returns the text of an object. That it has none ends the run where it
// must; else the text says why.
func (r *Run) Shows(o tool.Object) string {
	text, err := o.Text(r.Ctx, r.Grant())
	if err != nil {
		r.EndsOn(err)
		return "<" + o.Type().Name + ": " + value.ErrorOf(err, value.Internal).Message() + ">"
	}
	return text
}

// EndsOn ends the run for an error that there is no other way to tell: a loop
// over a table whose file cannot be read any more did not come to its end.
func (r *Run) EndsOn(err error) {
	if r.Fatal == nil {
		r.Fatal = value.ErrorOf(InScript(err), value.Internal)
	}
}
