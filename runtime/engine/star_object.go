package engine

import (
	"fmt"
	"iter"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A starObject is a [tool.Object] as Starlark sees it, and the run that it was
// made in: most of what the interpreter asks a value for has no thread.
type starObject struct {
	object tool.Object
	run    *run
}

// A starCollection is a [tool.Collection] as Starlark sees it: len(t), t["name"],
// t[0], for x in t, t == u.
type starCollection struct {
	starObject
	parts tool.Collection
}

// given turns what a function gave into Starlark's.
func given(r *run, v tool.Value) (starlark.Value, error) {
	switch o := v.(type) {
	case tool.Collection:
		return &starCollection{starObject{o, r}, o}, nil
	case tool.Object:
		return &starObject{o, r}, nil
	}
	return toStar(v)
}

func (o *starObject) String() string        { return o.run.shows(o.object) }
func (o *starObject) Type() string          { return o.object.Type().Name }
func (o *starObject) Freeze()               {} // it never changes
func (o *starObject) Truth() starlark.Bool  { return true }
func (o *starObject) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: %s", o.Type()) }
func (o *starObject) AttrNames() []string   { return attributeNames(o.object.Type()) }

func (o *starObject) Attr(name string) (starlark.Value, error) {
	f, isMethod, ok := attribute(o.object, name)
	switch {
	case !ok:
		return nil, noAttribute(o.object, name)
	case isMethod:
		return starBuiltin(f), nil
	}
	v, err := o.run.invoke(f, nil, nil)
	if err != nil {
		return nil, err
	}
	return given(o.run, v)
}

func (c *starCollection) Truth() starlark.Bool { return c.Len() > 0 }

func (c *starCollection) Len() int {
	n, err := c.parts.Len(c.run.ctx, c.run.grant())
	if err != nil {
		c.run.endsOn(err)
	}
	return n
}

// Get is c[key], and key in c for names.
func (c *starCollection) Get(key starlark.Value) (starlark.Value, bool, error) {
	k, err := fromStar(key)
	if err != nil {
		return nil, false, err
	}
	v, err := c.parts.At(c.run.ctx, c.run.grant(), k)
	if err != nil {
		return nil, false, inScript(err)
	}
	s, err := given(c.run, v)
	return s, err == nil, err
}

func (c *starCollection) Iterate() starlark.Iterator {
	next, stop := iter.Pull(func(yield func(tool.Value) bool) {
		if err := c.parts.Each(c.run.ctx, c.run.grant(), yield); err != nil {
			c.run.endsOn(err)
		}
	})
	return &starIterator{c.run, next, stop}
}

func (c *starCollection) CompareSameType(op syntax.Token, y starlark.Value, _ int) (bool, error) {
	same, err := c.parts.Equal(c.run.ctx, c.run.grant(), y.(*starCollection).parts)
	switch {
	case err != nil:
		return false, inScript(err)
	case op == syntax.EQL:
		return same, nil
	case op == syntax.NEQ:
		return !same, nil
	}
	return false, fmt.Errorf("%s %s %s is not implemented", c.Type(), op, y.Type())
}

type starIterator struct {
	run  *run
	next func() (tool.Value, bool)
	stop func()
}

func (i *starIterator) Next(p *starlark.Value) bool {
	v, ok := i.next()
	if !ok {
		return false
	}
	s, err := given(i.run, v)
	if err != nil {
		i.run.endsOn(err)
		return false
	}
	*p = s
	return true
}

func (i *starIterator) Done() { i.stop() }

// lend makes a function of the script one that a builtin can call.
func lend(r *run, thread *starlark.Thread, fn starlark.Callable) tool.Function {
	r.lent = true
	return func(args ...tool.Value) (tool.Value, error) {
		tuple := make(starlark.Tuple, len(args))
		for i, arg := range args {
			v, err := given(r, arg)
			if err != nil {
				return nil, err
			}
			tuple[i] = v
		}
		v, err := starlark.Call(thread, fn, tuple, nil)
		if err != nil {
			return nil, starError(err, r.fatal)
		}
		return fromStar(v)
	}
}
