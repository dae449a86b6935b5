package runtime

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// callKind is what a call that is a run of its own is recorded as.
const callKind = "tool"

// CallRun is [Host.Call] as a run of its own, which is recorded where the host
// has a journal: it can be looked at, taken back, and resumed after a crash.
// c.ID names the run. With resume, the recorded run of that ID goes on; the tool
// and its arguments are those of the record.
func (h *Host) CallRun(ctx context.Context, c tool.Call, title string, resume bool) (tool.Result, error) {
	if h.opts.Journal == nil {
		return h.Call(ctx, c)
	}
	made := &callRun{host: h, call: c}
	args := tool.NewDict("tool", c.Tool, "args", orNoArgs(c.Args), "texts", c.Texts, "caller", int64(c.Caller), "reasoning", c.Reasoning)
	_, err := h.Run(ctx, &Program{
		Name: "call of " + c.Tool, ID: c.ID, Kind: callKind, Title: title, Args: args, Resume: resume,
		Modules: []tool.Module{{Name: "call", Funcs: []tool.Func{{Name: "make", Kind: tool.External, Calls: true, Do: made.do}}}},
		run:     made.run, typed: c.Caller == tool.ByPerson,
	})
	if err != nil && made.result.Error == "" {
		made.result = tool.Fail(finish(err), made.result.Usage)
	}
	return made.result, err
}

func orNoArgs(d *tool.Dict) *tool.Dict {
	if d == nil {
		return &tool.Dict{}
	}
	return d
}

// A callRun is a run of one call.
type callRun struct {
	host   *Host
	call   tool.Call
	result tool.Result
}

// run asks for the one effect of the run.
func (r *callRun) run(ctx context.Context, c tool.Call, do tool.Effector) (tool.Outcome, error) {
	out, err := do(ctx, tool.Effect{Func: "call.make", Args: c.Args, Place: tool.Place{1}})
	if err == nil && !r.result.Success { // it was made before the run broke off
		r.result = tool.Succeed(out)
	}
	return out, err
}

// do makes the call, for whoever made the run.
func (r *callRun) do(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
	v, _ := e.Args.Get("args")
	args, _ := v.(*tool.Dict)
	caller := tool.Caller(e.Args.Int("caller", int64(tool.ByModel)))
	if caller != r.call.Caller && caller == tool.ByPerson {
		caller = tool.ByModel // a record makes nobody a person
	}
	var err error
	r.result, err = r.host.Call(ctx, tool.Call{ID: r.call.ID, Tool: e.Args.Text("tool"), Args: args, Texts: e.Args.Bool("texts"), Caller: caller, Reasoning: e.Args.Text("reasoning")})
	return tool.Outcome{Value: r.result.Value, Usage: r.result.Usage}, err
}
