package gate

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// registerOwn registers the functions of [Modules].
func (g *Gate) registerOwn() {
	do := map[string]func(caller, context.Context, tool.Effect) (tool.Outcome, error){
		callToolEffect: caller.callTool, callAllEffect: caller.callAll, listEffect: caller.listTools, describeEffect: caller.describeTool,
	}
	for _, m := range Modules() {
		for i := range m.Funcs {
			f := &m.Funcs[i]
			name := m.Name + "." + f.Name
			f.Do = func(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
				return do[name](caller{g.origin(ctx).pass}, ctx, e)
			}
			g.Effects[name] = f
		}
	}
}

// A caller is a call that uses other tools.
type caller struct{ *Pass }

// callTool makes a call for the script. The clock of the script's own call stops meanwhile,
// as the other call has its own.
func (p caller) callTool(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	p.wall.Pause()
	defer p.wall.Resume()
	v, err := p.callOne(ctx, nestedCall{Tool: e.Args.Text("name"), Args: e.Args.Dict("args")}, strconv.Itoa(p.quota.effects), e.StepPath, nil)
	return tool.Outcome{Value: v}, err
}

// callOne makes one call. id is the last part of its ID, and turn is that of the [Request].
func (p caller) callOne(ctx context.Context, c nestedCall, id string, at tool.StepPath, turn func()) (value.Value, error) {
	r, err := Request{run: p.Run, above: p.Pass, again: maxAgain, turn: turn, call: tool.Call{
		ID:     p.call.ID + "/" + id,
		Tool:   c.Tool,
		Args:   c.Args,
		Caller: tool.ByScript, Reasoning: p.call.Reasoning,
		StepPath: at,
	}}.Make(ctx)
	if p.Run.leavesOpen(err) {
		return nil, err
	}
	if err != nil {
		failed := *value.ErrorOf(err, value.Failed)
		failed.Op, failed.Err = c.Tool, errors.New(failed.Message())
		switch failed.Limit {
		case value.LimitEffects:
			if int(p.Run.effects.Load()) > p.Run.mostEffects() {
				break
			}
			fallthrough
		case value.LimitWall, value.LimitCPU, value.LimitMemory:
			failed.Limit = value.LimitCall // of the other call: this one can continue
		}
		return nil, &failed
	}
	p.noteResult(r.Notes)
	return r.Value, nil
}

// act notes that the call has done something that a repetition would do twice. So have the calls
// above it.
func (p *Pass) act() {
	for ; p != nil && !p.acted.Swap(true); p = p.above {
	}
}

// maxParallel is how many calls tools.call_all makes in parallel.
const maxParallel = 8

// callAll makes several calls in parallel; the i-th call is the i-th step inside the effect.
// Those that failed because another one has changed their files are made again when all have been
// tried, one at a time, in their order. A call that fails is part of the result, unless its environment has failed in a run that
// can wait for a repair, see environment: then this fails like tools.call, and when the run is resumed, only that
// call is made again. Every other error is one that ends the script.
func (p caller) callAll(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	calls, err := readNestedCalls(e.Args)
	if err != nil {
		return tool.Outcome{}, err
	}
	p.wall.Pause()
	defer p.wall.Resume()
	results, errs := make(value.List, len(calls)), make([]error, len(calls))
	var all, tries sync.WaitGroup
	tries.Add(len(calls))
	free := make(chan struct{}, maxParallel)
	ended := make([]chan struct{}, len(calls))
	for i := range calls {
		ended[i] = make(chan struct{})
	}
	effect := strconv.Itoa(p.quota.effects)
	for i := range calls {
		free <- struct{}{}
		all.Go(func() {
			defer close(ended[i])
			tried := sync.OnceFunc(func() { <-free; tries.Done() })
			defer tried()
			v, err := p.callOne(ctx, calls[i], effect+"."+strconv.Itoa(i+1), e.StepPath.Child(i+1), func() {
				tried()
				tries.Wait()
				for _, before := range ended[:i] {
					<-before
				}
			})
			results[i], errs[i] = nestedResult(v, err), err
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return tool.Outcome{}, value.AsError(context.Cause(ctx), value.Canceled)
	}
	for _, err := range errs {
		if err != nil && (p.Run.leavesOpen(err) || value.ErrorOf(err, value.Failed).Limit == value.LimitEffects) {
			return tool.Outcome{}, err // no script may catch it
		}
	}
	return tool.Outcome{Value: results}, p.environment(e.StepPath, errs)
}

// environment returns the first error of parallel calls that the run can wait for, until it is repaired: the
// environment of a call has failed, or a call that an earlier process has begun is refused now, or cannot be
// used. As a result, that would say that the call did nothing. In a replay it does as the record.
func (p caller) environment(at tool.StepPath, errs []error) error {
	waits := p.Run.record.Keeps()
	if !p.Run.record.Live() {
		entry, _, err := p.Run.record.Recorded(at)
		if err != nil {
			return Unrecorded(err)
		}
		waits = entry.Err != nil
	}
	for i, err := range errs {
		e := value.ErrorOf(err, value.Failed)
		if e == nil || !waits || Repairable(e) == "" {
			continue
		}
		begun, failure := p.begun(at.Child(i + 1))
		switch {
		case failure != nil:
			return failure
		case begun || isEnvironment(e):
			return err
		}
	}
	return nil
}

// begun reports whether an earlier process of the run has carried out an effect of a call.
func (p caller) begun(call tool.StepPath) (bool, error) {
	for _, at := range []tool.StepPath{call.Child(1), call.Child(1).Child(0)} {
		entry, known, err := p.Run.record.Recorded(at)
		if err != nil {
			return false, Unrecorded(err)
		}
		if known && !entry.Intended.IsZero() {
			return true, nil
		}
	}
	return false, nil
}

// mayCall returns why the call may not call a tool, or nil: by its capabilities and those of
// the calls above, by the rules, and by the tool itself.
func (p caller) mayCall(ctx context.Context, t *Callee) error {
	if err := p.rights.Within(tool.Capability{Name: "tool", Target: t.Name}, false); err != nil {
		return err
	}
	if err := p.Run.newPass(t, tool.Call{Tool: t.Name, Caller: tool.ByScript}, p.Pass).checkCall(); err != nil {
		return err
	}
	return p.Run.tools.Usable(ctx, t, nil)
}

func (p caller) listTools(ctx context.Context, _ tool.Effect) (tool.Outcome, error) {
	list := value.List{}
	for _, t := range p.Run.tools.List() {
		if p.mayCall(ctx, t) == nil {
			list = append(list, value.NewDict("name", t.Name, "description", t.Description, "group", t.DisplayGroup()))
		}
		if ctx.Err() != nil {
			return tool.Outcome{}, value.AsError(context.Cause(ctx), value.Canceled)
		}
	}
	return tool.Outcome{Value: list}, nil
}

func (p caller) describeTool(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	t, err := p.Run.tools.Lookup(ctx, e.Args.Text("name"))
	if err == nil {
		err = p.mayCall(ctx, t)
	}
	if err != nil {
		return tool.Outcome{}, err
	}
	schema, err := t.ArgsSchema()
	if err != nil {
		return tool.Outcome{}, err
	}
	return tool.Outcome{Value: value.NewDict("name", t.Name, "description", t.Description, "group", t.DisplayGroup(), "parameters", schema)}, nil
}
