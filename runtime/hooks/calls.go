package hooks

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Middleware calls before_tool and after_tool around a call. It is nil if no file defines them.
func (s *Set) Middleware() host.Middleware {
	if !s.has(beforeTool) && !s.has(afterTool) {
		return nil
	}
	return func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			w := &watched{Set: s, call: c}
			if err := w.before(ctx); err != nil {
				e := value.ErrorOf(err, value.Failed)
				if !open(e) {
					host.EmitAnswered(ctx, *c, e.Message(), e)
				}
				return tool.Fail(e, tool.Usage{}), e
			}
			r, err := next(ctx, c)
			return w.after(ctx, r, err)
		}
	}
}

// A watched is a call with its hooks.
type watched struct {
	*Set
	call *tool.Call
	tool *tool.Tool
	args *value.Dict // checked
}

// before looks up the tool, checks the arguments as the call will, so that a function gets them as
// the tool does, and calls before_tool. An error refuses the call.
func (w *watched) before(ctx context.Context) error {
	t, err := host.Operate(w.host).ToolIn(ctx, w.call.Tool)
	if err != nil {
		return err
	}
	w.tool = &t
	args := w.call.Args
	if w.call.Texts {
		args, _ = w.tool.Coerce(args)
	}
	if w.args, err = w.tool.Check(args); err != nil {
		return err
	}
	return w.each(ctx, beforeTool, w.arguments, func(f *file, v *verdict) error {
		if v.deny != "" {
			return f.refused(ctx, beforeTool, w.tool.Name, "the call of "+w.tool.Name, v.deny)
		}
		if err := w.edit(ctx, f, v.edit); err != nil {
			return f.failed(ctx, beforeTool, err)
		}
		w.note(ctx, f, beforeTool, v.note)
		return nil
	})
}

// arguments returns the arguments of before_tool.
func (w *watched) arguments() *value.Dict {
	return value.NewDict("call", value.NewDict("tool", w.tool.Name, "args", w.args, "caller", w.call.Caller.String(), "reasoning", w.call.Reasoning))
}

// maxShown is how much of an edited call the model sees, in bytes.
const maxShown = 1000

// edit changes the arguments of the call. They must pass the check of the tool.
func (w *watched) edit(ctx context.Context, f *file, changes *value.Dict) error {
	if changes == nil {
		return nil
	}
	args := w.args.Clone(0)
	for k, v := range changes.All() {
		if err := args.Set(k, v); err != nil {
			return err
		}
	}
	checked, err := w.tool.Check(args)
	if err != nil {
		return value.Errorf(value.Invalid, "the edited arguments are invalid: %s", value.ErrorOf(err, value.Invalid).Message())
	}
	if value.Equal(checked, w.args) {
		return nil
	}
	host.Emit(ctx, tool.Hooked{Hook: beforeTool, Action: "edited", Path: f.script.Path, Target: w.tool.Name, Before: w.args, After: checked})
	w.args, w.call.Args, w.call.Texts = checked, checked, false
	addNote(ctx, w.about(beforeTool, "A hook of the user changed the arguments. The call was made as "+value.Clean(w.tool.CallText(checked), maxShown)))
	return nil
}

func (w *watched) note(ctx context.Context, f *file, name, text string) {
	if text != "" {
		f.noted(ctx, name, w.tool.Name, text)
		addNote(ctx, w.about(name, text))
	}
}

// about returns a note of a function about the call.
func (w *watched) about(name, text string) Note {
	return Note{Of: w.call.StepPath.String() + " " + name, Text: text}
}

// after calls after_tool with the result of the call. A function that refuses withholds the result.
func (w *watched) after(ctx context.Context, r tool.Result, err error) (tool.Result, error) {
	if open(err) {
		return r, err
	}
	given := func() *value.Dict {
		d := w.arguments()
		d.Put("result", value.NewDict("success", err == nil, "value", r.Value, "error", r.Error, "error_type", r.ErrorType, "hint", r.Suggestion))
		return d
	}
	refusal := w.each(ctx, afterTool, given, func(f *file, v *verdict) error {
		if v.deny != "" {
			return f.refused(ctx, afterTool, w.tool.Name, "the result of "+w.tool.Name, v.deny)
		}
		if v.replaces {
			if why := w.replace(ctx, f, v.result, &r, err); why != nil {
				return f.failed(ctx, afterTool, why)
			}
		}
		w.note(ctx, f, afterTool, v.note)
		return nil
	})
	if refusal != nil {
		e := *value.ErrorOf(refusal, value.Failed)
		if e.Kind == value.Denied {
			e.Hint = strings.TrimPrefix(e.Hint+"; the call was made, and only its result is withheld", "; ")
		}
		return tool.Fail(&e, r.Usage), &e
	}
	return r, err
}

// replace replaces the result of a call that succeeded.
func (w *watched) replace(ctx context.Context, f *file, v value.Value, r *tool.Result, err error) error {
	if err != nil {
		return value.Errorf(value.Invalid, "the function replaced the result of a call that failed")
	}
	if err := tool.DefaultLimits().CheckResult(v); err != nil {
		return err
	}
	r.Value = v
	host.Emit(ctx, tool.Hooked{Hook: afterTool, Action: "edited", Path: f.script.Path, Target: w.tool.Name})
	return nil
}

// open reports whether an error leaves the call open: the run waits, was interrupted, or has
// reached a limit, and continues later.
func open(err error) bool {
	if err == nil {
		return false
	}
	e := value.ErrorOf(err, value.Failed)
	switch e.Kind {
	case value.Parked, value.Canceled:
		return true
	}
	return e.Limit == value.LimitRecord || e.Limit == value.LimitWorker || e.Limit == value.LimitUsage
}
