package engine

import (
	"cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// attribute finds what an object has under a name: a field or a method.
func attribute(o tool.Object, name string) (f function, isMethod, ok bool) {
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
	return function{}, false, false
}

// attributeNames lists what an object has, fields first.
func attributeNames(t *tool.ObjectType) []string {
	var names []string
	for _, f := range t.Fields {
		names = append(names, f.Name)
	}
	for _, f := range t.Methods {
		names = append(names, f.Name)
	}
	return names
}

// noAttribute is the error of a name that an object does not have. What its type
// knows of the name is better than what looks alike.
func noAttribute(o tool.Object, name string) *tool.Error {
	t := o.Type()
	e := tool.Errorf(tool.Failed, "a %s has no %s", t.Name, name)
	if e.Hint = lacks(o, name); e.Hint != "" {
		return e
	}
	if near := tool.DidYouMean(name, attributeNames(t)); near != "" {
		return tool.Errorf(tool.Failed, "a %s has no %s%s", t.Name, name, near)
	}
	if _, ok := o.(tool.Collection); ok {
		return e.WithHint("a part of it that has a name is read as in t[%q]", name)
	}
	return e
}

// lacks is what the type of an object knows of a name that it does not have.
func lacks(o tool.Object, name string) string {
	if f := o.Type().Lacks; f != nil {
		return f(name)
	}
	return ""
}

// methodOf makes a function of a row of an object's type.
func methodOf(o tool.Object, row *tool.Func) function {
	f := *row
	f.Objects = true
	return function{Func: &f, name: o.Type().Name + "." + f.Name, self: o}
}

// plain returns what stands for an object where it leaves the script, as a value
// that may still be so deep and have so many parts.
func (r *run) plain(o tool.Object, depth int, nodes *int) (tool.Value, error) {
	v, err := o.Plain(r.ctx, r.grant())
	if err == nil {
		err = within(v, depth, nodes)
	}
	if err != nil {
		return nil, inScript(err)
	}
	return v, nil
}

// within takes the parts of a value off nodes, and fails where they are too many,
// or too deep inside one another.
func within(v tool.Value, depth int, nodes *int) error {
	if *nodes--; *nodes < 0 {
		return tooManyParts()
	}
	if d, ok := v.(*tool.Dict); ok {
		for k, x := range d.All() {
			if depth == 0 {
				return tooDeep()
			}
			if err := cmp.Or(within(k, depth-1, nodes), within(x, depth-1, nodes)); err != nil {
				return err
			}
		}
		return nil
	}
	items, _ := tool.Elements(v)
	for _, x := range items {
		if depth == 0 {
			return tooDeep()
		}
		if err := within(x, depth-1, nodes); err != nil {
			return err
		}
	}
	return nil
}

// shows returns the text of an object. That it has none ends the run where it
// must; else the text says why.
func (r *run) shows(o tool.Object) string {
	text, err := o.Text(r.ctx, r.grant())
	if err != nil {
		r.endsOn(err)
		return "<" + o.Type().Name + ": " + tool.ErrorOf(err, tool.Internal).Message() + ">"
	}
	return text
}

// endsOn ends the run for an error that there is no other way to tell: a loop
// over a table whose file cannot be read any more did not come to its end.
func (r *run) endsOn(err error) {
	if r.fatal == nil {
		r.fatal = tool.ErrorOf(inScript(err), tool.Internal)
	}
}
