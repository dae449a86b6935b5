package gate

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Do carries out a step of the handler in Go whose context this is. Its path follows from its number in
// the call, so the handler must make its steps and calls in the same order when it is run again.
func Do(ctx context.Context, name string, args *value.Dict) (value.Value, error) {
	o, _ := ctx.Value(callKey{}).(*origin)
	if o == nil || o.pass.tool.Location != tool.Embedded || !o.pass.tool.Repeats() || o.pass.program != nil {
		return nil, value.Errorf(value.Invalid, "carry out %s: the context is not that of the handler of a tool in Go with Steps or OnlyCalls", name).
			WithHint("in Go, set Steps or OnlyCalls of the tool, and pass the context of the handler")
	}
	p := o.pass
	f, _ := p.fn(name)
	if f == nil || f.Mode != tool.ModePlain || f.Kind == tool.Pure {
		return nil, value.Errorf(value.NotFound, "unknown step or effect %s", name)
	}
	bound, err := f.Bind(nil, args)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "%s: %w", name, err)
	}
	o.step.Lock()
	defer o.step.Unlock()
	out, err := p.perform(ctx, tool.Effect{Func: name, Args: bound, StepPath: o.at.Child(0).Child(int(o.made.Add(1)))})
	return out.Value, err
}
