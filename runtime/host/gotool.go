package host

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/goschema"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A ToolOption adds a function to a tool written in Go; see [Host.Register].
type ToolOption func(*toolOptions)

type toolOptions struct {
	undo       func(ctx context.Context, args *value.Dict, result value.Value) error
	available  func(ctx context.Context) error
	preview    func(args *value.Dict, result value.Value) (string, error)
	types      goschema.Signature // of the handler of AddTool; zero for another handler
	undoTypes  goschema.Signature
	shownTypes goschema.Signature
	err        error // the first invalid option
}

// UndoFunc has [Host.Undo] undo a call of the tool with f. f gets the arguments of the call,
// without the parameters that the host fills in, and the recorded result, both decoded with
// [value.ToGo]. A *[value.Dict] and a [value.Value] are passed as they were recorded, and f
// must not change them. For a tool of [AddTool], In and Out are these two types or the types
// of its handler; with other types the registration fails with kind Invalid.
//
// An undo is checked and approved like a call of the tool, and has the same timeout. It is
// one recorded step with an external effect: if a crash leaves its outcome unknown, the host
// asks before it repeats the step, whatever the Hints of the tool are. An error of f that is
// not a *[value.Error] is of kind Failed, a panic is an error of kind Internal, and a record
// that cannot be decoded is an error of kind Invalid.
//
// f is called concurrently. It must return when its context ends, because the host waits for
// it. A nil f makes the registration fail with kind Invalid.
func UndoFunc[In, Out any](f func(ctx context.Context, in In, out Out) error) ToolOption {
	return func(o *toolOptions) {
		o.check(f != nil, "UndoFunc")
		o.undoTypes = goschema.SignatureOf[In, Out]()
		o.undo = func(ctx context.Context, args *value.Dict, result value.Value) error {
			in, out, err := goschema.DecodeCall[In, Out](args, result)
			if err != nil {
				return err
			}
			return f(ctx, in, out)
		}
	}
}

// PreviewFunc has f show a result of the tool to people, in the events and on the terminal: f returns
// one text of at most [tool.PreviewLines] lines. f gets the arguments of the call and the result, both
// decoded with [value.ToGo]. The text is not recorded, and no model gets it. f must be fast, and have
// no effects. If f panics, the default preview is shown. A nil f, and types as with [UndoFunc], make the
// registration fail with kind Invalid.
func PreviewFunc[In, Out any](f func(in In, out Out) string) ToolOption {
	return func(o *toolOptions) {
		o.check(f != nil, "PreviewFunc")
		o.shownTypes, o.preview = goschema.SignatureOf[In, Out](), func(args *value.Dict, result value.Value) (string, error) {
			in, out, err := goschema.DecodeCall[In, Out](args, result)
			if err != nil {
				return "", err
			}
			return f(in, out), nil
		}
	}
}

// AvailableFunc has f report whether the tool can be used here. f returns nil if it can, and
// otherwise the reason: calls then fail with the kind of that error, or with kind Unavailable
// if it is not a *[value.Error], and the tool is listed as [toolset.NotHere]. A panic is an
// error of kind Internal.
//
// f is called without approval. Its answer is cached until the next [Host.Refresh]. Its
// context ends after 2 seconds, which is an error of kind Timeout.
//
// f is called concurrently. It must return when its context ends, because the host waits for
// it. It must not list the tools of the host or call this tool, which would call f again. A
// nil f makes the registration fail with kind Invalid.
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

// A handler is a tool written in Go; see [Host.Register].
type handler func(ctx context.Context, args *value.Dict) (value.Value, error)

// Register adds a tool written in Go whose handler takes a dict; see [AddTool] for handlers
// that take structs. do is called concurrently, with checked and complete arguments. It must
// not change them, as all calls share the default values. It must return when its context
// ends: the host waits for it without a time limit. Its result is a [value.Value] or
// anything that [value.FromGo] accepts. An error that is not a *[value.Error] is of kind
// Failed.
//
// Register fails with kind Invalid for an invalid definition and for a name that another tool
// has, in either spelling, and with kind Closed on a closed host.
//
// Undo, Preview and Available of the definition name functions of a script and must be empty: pass
// the functions with [UndoFunc], [PreviewFunc] and [AvailableFunc].
//
// The tool is granted its Needs. The host does not check what a handler does in Go: Needs are
// what people are asked to approve.
func (h *Host) Register(t tool.Tool, do func(ctx context.Context, args *value.Dict) (value.Value, error), opts ...ToolOption) error {
	return h.register(t, do, false, opts)
}

// Replace is like [Host.Register], but replaces a tool of the same name. It does not replace a
// built-in tool.
func (h *Host) Replace(t tool.Tool, do func(ctx context.Context, args *value.Dict) (value.Value, error), opts ...ToolOption) error {
	return h.register(t, do, true, opts)
}

func (h *Host) register(t tool.Tool, do handler, replace bool, opts []ToolOption) error {
	if err := h.notClosed(); err != nil {
		return err
	}
	o, err := offerGo(t, do, opts)
	if err != nil {
		return err
	}
	return h.registry.change(func(c *catalog) error { return c.add(layerGo, o, replace) })
}

// offerGo checks the definition of a tool written in Go.
func offerGo(t tool.Tool, do handler, opts []ToolOption) (*offered, error) {
	g := goTool{do: do}
	for _, opt := range opts {
		opt(&g.toolOptions)
	}
	if err := g.define(&t); err != nil {
		return nil, err
	}
	if err := t.Normalize(); err != nil {
		return nil, err
	}
	if err := t.Validate(); err != nil {
		e := value.ErrorOf(err, value.Invalid)
		if strings.Contains(e.Message(), "'"+t.Name+"'") || strings.Contains(e.Message(), strconv.Quote(t.Name)) {
			return nil, e
		}
		return nil, value.Errorf(e.Kind, "tool '%s': %w", value.Clean(t.Name, longName), e).WithHint("%s", e.Hint)
	}
	info := &toolset.Info{Tool: t, Standing: toolset.Standing{Location: tool.Embedded}}
	completeStanding(&info.Standing, t.Needs, true)
	var run tool.Runner
	if do != nil {
		run = g.run
	}
	return newOffered(info, run, nil), nil
}

// RemoveTool removes a tool that was added with [AddTool], [Host.Register] or [Host.Replace],
// by its name in either spelling. Calls in progress can still call it. Later calls of the
// tool, and undos of its recorded calls, fail with kind NotFound; so does a resumed run that
// calls it, so add all tools before you resume runs. RemoveTool fails with kind NotFound for
// any other name, and with kind Closed on a closed host.
func (h *Host) RemoveTool(name string) error {
	if err := h.notClosed(); err != nil {
		return err
	}
	return h.registry.change(func(c *catalog) error {
		o := c.tools[tool.Key(name)]
		if o == nil || !slices.Contains(c.layers[layerGo], o) {
			names := value.Map(c.layers[layerGo], func(own *offered) string { return own.head.Name })
			return value.Errorf(value.NotFound, "remove tool '%s': not found among the tools of the program%s", value.Clean(name, longName), value.DidYouMean(name, names))
		}
		c.remove(o)
		return nil
	})
}

// A goTool is a tool written in Go. As for a script, the Entry of a call selects its function.
type goTool struct {
	do handler
	toolOptions
}

// The entries of the functions of a tool written in Go, which only the host calls. The entry
// of the handler is "".
const (
	undoEntry      = "undo"
	availableEntry = "available"
	previewEntry   = "preview"
)

// define checks the definition of a tool written in Go, and completes it.
func (g *goTool) define(t *tool.Tool) error {
	switch {
	case g.err != nil:
		return value.Errorf(value.Invalid, "tool '%s': %w", t.Name, g.err)
	case !g.undoTypes.Fits(g.types):
		return value.Errorf(value.Invalid, "tool '%s': the types of UndoFunc are %s, but those of the tool are %s", t.Name, g.undoTypes, g.types)
	case t.Undo != "":
		return value.Errorf(value.Invalid, "tool '%s': Undo is only for scripts, but the tool is written in Go", t.Name).
			WithHint("leave Undo empty and pass the function with UndoFunc")
	case !g.shownTypes.Fits(g.types):
		return value.Errorf(value.Invalid, "tool '%s': the types of PreviewFunc are %s, but those of the tool are %s", t.Name, g.shownTypes, g.types)
	case t.Preview != "":
		return value.Errorf(value.Invalid, "tool '%s': Preview is only for scripts, but the tool is written in Go", t.Name).
			WithHint("leave Preview empty and pass the function with PreviewFunc")
	case t.Available != "":
		return value.Errorf(value.Invalid, "tool '%s': Available is only for scripts, but the tool is written in Go", t.Name).
			WithHint("leave Available empty and pass the function with AvailableFunc")
	}
	if g.undo != nil {
		t.Undo = undoEntry
	}
	if g.preview != nil {
		t.Preview = previewEntry
	}
	if g.available != nil {
		t.Available = availableEntry
	}
	return nil
}

// run is the [tool.Runner] of the tool. It fails for an entry that the tool does not have.
func (g *goTool) run(ctx context.Context, c tool.Call, _ tool.Effector) (tool.Outcome, error) {
	start := time.Now()
	v, err := g.call(ctx, c)
	if err = withoutNil(err); err == nil {
		if v, err = value.FromGo(v); err != nil {
			err = value.Errorf(value.Internal, "encode the result of '%s': %w", c.Tool, err).WithHint("%s", value.ErrorOf(err, value.Invalid).Hint)
		}
	}
	return tool.Outcome{Value: v, Usage: tool.Usage{Wall: time.Since(start)}}, err
}

// withoutNil returns nil for an error that holds a nil *[value.Error].
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
		result, _ := c.Args.Get(gate.NoteResult)
		return nil, g.undo(ctx, c.Args.Dict(gate.NoteArgs), result)
	case c.Entry == previewEntry && g.preview != nil:
		result, _ := c.Args.Get(gate.NoteResult)
		return g.preview(c.Args.Dict(gate.NoteArgs), result)
	case c.Entry == availableEntry && g.available != nil:
		if err := withoutNil(g.available(ctx)); err != nil {
			return nil, err
		}
		return true, nil
	}
	return nil, value.Errorf(value.Internal, "the tool '%s' has no function %q", c.Tool, c.Entry)
}

// Do carries out a step of a tool in Go, and returns its result. The context is that of the handler of a tool with
// Steps or OnlyCalls. name is that of one of the Steps, or of an effect of the host that the Needs of the
// tool include, such as human.ask. The arguments are given by name. The step is checked, approved and
// recorded like an effect of a script.
//
// When a run is resumed, the handler is run again, and gets the recorded outcomes of its steps. It must
// make its steps and calls in the same order, and one at a time.
//
// An error of kind Parked means that the run waits for an answer: the handler must return it unchanged.
func Do(ctx context.Context, name string, args *value.Dict) (value.Value, error) {
	return gate.Do(ctx, name, args)
}
