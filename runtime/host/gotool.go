package host

import (
	"context"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A ToolOption adds a function to a tool written in Go; see [Host.Register].
type ToolOption func(*toolOptions)

type toolOptions struct {
	undo      func(ctx context.Context, args *value.Dict, result value.Value) error
	available func(ctx context.Context) error
	types     signature // of the handler of AddTool; that of any other is zero
	undoTypes signature
	err       error // the first invalid option
}

// UndoFunc has [Host.Undo] undo a call of the tool with f. It gets the arguments of
// the call, without the parameters that the host fills in, and the recorded result,
// both decoded as [value.ToGo] does it: as a *[value.Dict] and a [value.Value] they are
// as they were recorded, and f does not change them. For a tool of [AddTool], In and
// Out are those or the types of its handler; any others make the registration fail
// with kind Invalid.
//
// An undo is admitted and approved like a call of the tool, and has its timeout.
// It is one recorded step with an effect outside the host: when a crash leaves
// its outcome unknown, the host asks before it repeats the step, whatever the
// Hints of the tool are. An error that is not a *[value.Error] is of kind Failed,
// a panic is an error of kind Internal, and a record that cannot be decoded is one
// of kind Invalid.
//
// f is called concurrently. It must return when its context ends, because the
// host waits for it. A nil f makes the registration fail with kind Invalid.
func UndoFunc[In, Out any](f func(ctx context.Context, in In, out Out) error) ToolOption {
	return func(o *toolOptions) {
		o.check(f != nil, "UndoFunc")
		o.undoTypes = signatureOf[In, Out]()
		o.undo = func(ctx context.Context, args *value.Dict, result value.Value) error {
			in, err := value.ToGo[In](args)
			if err != nil {
				return value.Errorf(value.Invalid, "the recorded arguments: %w", err)
			}
			out, err := value.ToGo[Out](result)
			if err != nil {
				return value.Errorf(value.Invalid, "the recorded result: %w", err)
			}
			return f(ctx, in, out)
		}
	}
}

// AvailableFunc has f report whether the tool can be used here. Nil means that it
// can. An error is the reason why it cannot: calls then fail with its kind, or
// with kind Unavailable if it is not a *[value.Error], and the tool is listed as
// [tool.NotHere]. A panic is an error of kind Internal.
//
// The tool is not run to answer this, and no approval is asked for. The answer is
// cached until the next [Host.Refresh]. The context of f ends after 2 seconds,
// which is an error of kind Timeout.
//
// f is called concurrently. It must return when its context ends, because the
// host waits for it. It must not list the tools of the host or call this one,
// which would call f again. A nil f makes the registration fail with kind Invalid.
func AvailableFunc(f func(ctx context.Context) error) ToolOption {
	return func(o *toolOptions) {
		o.available = f
		o.check(f != nil, "AvailableFunc")
	}
}

func (o *toolOptions) check(ok bool, option string) {
	if !ok && o.err == nil {
		o.err = value.Errorf(value.Invalid, "%s: the function is nil", option)
	}
}

// Register adds a tool written in Go whose handler takes a dict; see [AddTool] for
// structs. It fails with kind Invalid if the definition is invalid, or if another tool
// has the name, in either spelling.
//
// Undo and Available of the definition name functions of a script and must be
// empty: pass the functions with [UndoFunc] and [AvailableFunc]. A State of
// [tool.NotHere] with a Reason registers a tool that is listed and never called;
// otherwise State must be empty or [tool.Ready]. Location, Path and Hash are set
// by the host.
//
// The tool is granted what it needs, unless its Granted is set. What a handler
// does in Go is not checked by the host: Needs is what people are asked about.
func (h *Host) Register(t tool.Tool, do Handler, opts ...ToolOption) error {
	return h.register(t, do, false, opts)
}

// Replace is like [Host.Register], but replaces a tool of the same name. A
// built-in tool is never replaced.
func (h *Host) Replace(t tool.Tool, do Handler, opts ...ToolOption) error {
	return h.register(t, do, true, opts)
}

func (h *Host) register(t tool.Tool, do Handler, replace bool, opts []ToolOption) error {
	if err := h.notClosed(); err != nil {
		return err
	}
	g := goTool{do: do}
	for _, opt := range opts {
		opt(&g.toolOptions)
	}
	if err := g.define(&t); err != nil {
		return err
	}
	if err := t.Normalize(); err != nil {
		return err
	}
	if err := t.Validate(); err != nil {
		return err
	}
	grantNeeds(&t)
	var run tool.Runner
	if do != nil {
		run = g.run
	}
	return h.registry.change(func(c *catalog) error { return c.add(layerGo, newOffered(&t, run, nil), replace) })
}

// RemoveTool removes a tool that was added with [AddTool], [Host.Register] or
// [Host.Replace], by its name in either spelling. Calls that are in progress end
// normally, and so do calls of the tool that they make. Any other tool, and an unknown
// name, is an error of kind NotFound, and so are later calls and the undo of recorded
// ones. A recorded run that is resumed without a tool that it calls then gets that
// error: add the tools before resuming runs. On a closed host it fails with kind
// Closed.
func (h *Host) RemoveTool(name string) error {
	if err := h.notClosed(); err != nil {
		return err
	}
	return h.registry.change(func(c *catalog) error {
		o := c.tools[tool.Key(name)]
		if o == nil || !slices.Contains(c.layers[layerGo], o) {
			var names []string
			for _, own := range c.layers[layerGo] {
				names = append(names, own.head.Name)
			}
			return value.Errorf(value.NotFound, "remove tool '%s': the program added no tool of that name%s", value.Clean(name, longName), value.DidYouMean(name, names))
		}
		c.remove(o)
		return nil
	})
}

// A goTool is a tool written in Go. Its functions are called like those of a
// script, by the entry of a call.
type goTool struct {
	do Handler
	toolOptions
}

// The entries of the functions of a tool written in Go. Only the host calls
// them; "" is the handler.
const (
	undoEntry      = "undo"
	availableEntry = "available"
)

// define checks the definition of a tool written in Go, and completes it.
func (g *goTool) define(t *tool.Tool) error {
	switch {
	case g.err != nil:
		return value.Errorf(value.Invalid, "tool '%s': %w", t.Name, g.err)
	case !g.undoTypes.fits(g.types):
		return value.Errorf(value.Invalid, "tool '%s': UndoFunc takes %s, but the tool takes %s", t.Name, g.undoTypes, g.types)
	case t.Undo != "":
		return value.Errorf(value.Invalid, "tool '%s': Undo names a function of a script, but the tool is written in Go", t.Name).
			WithHint("leave Undo empty and pass the function with UndoFunc")
	case t.Available != "":
		return value.Errorf(value.Invalid, "tool '%s': Available names a function of a script, but the tool is written in Go", t.Name).
			WithHint("leave Available empty and pass the function with AvailableFunc")
	}
	switch t.State {
	case "", tool.Ready:
		t.State, t.Reason = tool.Ready, ""
	case tool.NotHere:
		if t.Reason == "" {
			return value.Errorf(value.Invalid, "tool '%s': the State %q needs a Reason", t.Name, t.State)
		}
	default:
		return value.Errorf(value.Invalid, "tool '%s': a program cannot register a tool in the State %q", t.Name, t.State).
			WithHint("leave State empty, or set it to tool.NotHere with a Reason")
	}
	t.Location, t.Path, t.Hash = tool.Embedded, "", ""
	if g.undo != nil {
		t.Undo = undoEntry
	}
	if g.available != nil {
		t.Available = availableEntry
	}
	return nil
}

// run is the [tool.Runner] of the tool. An entry that the tool does not have is
// an error: it never runs the handler.
func (g *goTool) run(ctx context.Context, c tool.Call, _ tool.Effector) (tool.Outcome, error) {
	start := time.Now()
	v, err := g.call(ctx, c)
	if err = withoutNil(err); err == nil {
		if v, err = value.FromGo(v); err != nil {
			err = value.Errorf(value.Internal, "the result of '%s': %w", c.Tool, err).WithHint("%s", value.ErrorOf(err, value.Invalid).Hint)
		}
	}
	return tool.Outcome{Value: v, Usage: tool.Usage{Wall: time.Since(start)}}, err
}

// withoutNil returns nil for a nil *[value.Error], which makes an error that is not nil.
func withoutNil(err error) error {
	if e, ok := err.(*value.Error); ok && e == nil {
		return nil
	}
	return err
}

func (g *goTool) call(ctx context.Context, c tool.Call) (value.Value, error) {
	switch {
	case c.Entry == "":
		return g.do(ctx, c.Args)
	case c.Entry == undoEntry && g.undo != nil:
		v, _ := c.Args.Get(noteArgs)
		args, _ := v.(*value.Dict)
		result, _ := c.Args.Get(noteResult)
		return nil, g.undo(ctx, args, result)
	case c.Entry == availableEntry && g.available != nil:
		if err := withoutNil(g.available(ctx)); err != nil {
			return nil, err
		}
		return true, nil
	}
	return nil, value.Errorf(value.Internal, "the tool '%s' has no function %q", c.Tool, c.Entry)
}
