package star

import (
	"fmt"
	"iter"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An object is a [tool.Object] in Starlark. It holds its run, since most methods of the
// interpreter's interfaces get no thread.
type object struct {
	object tool.Object
	run    *script.Run
}

// A collection is a [tool.Collection] in Starlark: len(t), t["name"], t[0], for x in t,
// t == u.
type collection struct {
	object
	parts tool.Collection
}

// resultToStar converts the result of a function to Starlark.
func resultToStar(r *script.Run, v value.Value) (starlark.Value, error) {
	switch o := v.(type) {
	case tool.Collection:
		return &collection{object{o, r}, o}, nil
	case tool.Object:
		return &object{o, r}, nil
	}
	return toStar(v)
}

func (o *object) String() string        { return o.run.TextOf(o.object) }
func (o *object) Type() string          { return o.object.Type().Name }
func (o *object) Freeze()               {} // objects are immutable
func (o *object) Truth() starlark.Bool  { return true }
func (o *object) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable type: %s", o.Type()) }
func (o *object) AttrNames() []string   { return script.AttributeNames(o.object.Type()) }

func (o *object) Attr(name string) (starlark.Value, error) {
	f, isMethod, ok := script.Attribute(o.object, name)
	switch {
	case !ok:
		return nil, script.NoAttribute(o.object, name)
	case isMethod:
		return builtin(f), nil
	}
	v, err := o.run.Invoke(f, nil, nil)
	if err != nil {
		return nil, err
	}
	return resultToStar(o.run, v)
}

func (c *collection) Truth() starlark.Bool { return c.Len() > 0 }

func (c *collection) Len() int {
	n, err := c.parts.Len(c.run.Ctx, c.run.Grant())
	if err != nil {
		c.run.EndWith(err)
	}
	return n
}

// Get implements c[key], and key in c for names.
func (c *collection) Get(key starlark.Value) (starlark.Value, bool, error) {
	k, err := fromStar(key)
	if err != nil {
		return nil, false, err
	}
	v, err := c.parts.At(c.run.Ctx, c.run.Grant(), k)
	if err != nil {
		return nil, false, script.InScript(err)
	}
	s, err := resultToStar(c.run, v)
	return s, err == nil, err
}

func (c *collection) Iterate() starlark.Iterator {
	next, stop := iter.Pull(func(yield func(value.Value) bool) {
		if err := c.parts.Each(c.run.Ctx, c.run.Grant(), yield); err != nil {
			c.run.EndWith(err)
		}
	})
	return &iterator{c.run, next, stop}
}

func (c *collection) CompareSameType(op syntax.Token, y starlark.Value, _ int) (bool, error) {
	same, err := c.parts.Equal(c.run.Ctx, c.run.Grant(), y.(*collection).parts)
	switch {
	case err != nil:
		return false, script.InScript(err)
	case op == syntax.EQL:
		return same, nil
	case op == syntax.NEQ:
		return !same, nil
	}
	return false, fmt.Errorf("%s %s %s is not implemented", c.Type(), op, y.Type())
}

type iterator struct {
	run  *script.Run
	next func() (value.Value, bool)
	stop func()
}

func (i *iterator) Next(p *starlark.Value) bool {
	v, ok := i.next()
	if !ok {
		return false
	}
	s, err := resultToStar(i.run, v)
	if err != nil {
		i.run.EndWith(err)
		return false
	}
	*p = s
	return true
}

func (i *iterator) Done() { i.stop() }

// callback makes a function of the script callable for a builtin.
func callback(r *script.Run, thread *starlark.Thread, fn starlark.Callable) tool.Function {
	r.HasCallback = true
	return func(args ...value.Value) (value.Value, error) {
		tuple := make(starlark.Tuple, len(args))
		for i, arg := range args {
			v, err := resultToStar(r, arg)
			if err != nil {
				return nil, err
			}
			tuple[i] = v
		}
		v, err := starlark.Call(thread, fn, tuple, nil)
		if err != nil {
			return nil, scriptError(err, r.Fatal)
		}
		return fromStar(v)
	}
}
