package host

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Modules returns the functions with which scripts use other tools. Every host
// has them; a sandbox needs to know them too, beside those of Options.Modules.
// They have no Do: each host carries them out itself.
func Modules() []tool.Module {
	name := tool.Param{Name: "name", Type: tool.Type{Name: tool.TypeString}, Description: "the tool's name", Required: true}
	return []tool.Module{{
		Name: "tools",
		Doc:  "Other tools. A tool may use those that it declares, as tool:slug or tool:@files, and they may do no more than it may itself.",
		Funcs: []tool.Func{{
			Name:    toolsCall[len(toolsPrefix):],
			Doc:     "Call a tool: tools.call(\"slug\", title = \"x\"). What it refuses or fails at is the caller's error. Every other name of the module is the same call: tools.slug(title = \"x\").",
			Params:  []tool.Param{name},
			Rest:    "args",
			Other:   true,
			Returns: "the tool's result",
			Kind:    tool.External,
			Calls:   true,
			Target:  toolTarget,
		}, {
			Name:    toolsCallAll[len(toolsPrefix):],
			Doc:     "Call several tools at a time: tools.call_all([(\"slug\", {\"title\": \"x\"}), (\"now\", {})]). One that fails is told in its place and stops none.",
			Params:  []tool.Param{{Name: "calls", Type: tool.Type{Name: tool.TypeArray}, Description: "pairs of a tool's name and its arguments, at most 100", Required: true}},
			Returns: `a list of {"ok", "value", "error", "error_type"}, in the order of the calls`,
			Kind:    tool.External,
			Calls:   true,
			Target:  toolTargets,
		}, {
			Name:    toolsList[len(toolsPrefix):],
			Doc:     "List the tools that may be called.",
			Returns: `a list of {"name", "description", "group"}`,
			Kind:    tool.Read,
		}, {
			Name:    toolsDescribe[len(toolsPrefix):],
			Doc:     "Describe a tool that may be called.",
			Params:  []tool.Param{name},
			Returns: `{"name", "description", "group", "parameters": the JSON Schema of its arguments}`,
			Kind:    tool.Read,
			Target:  toolTarget,
		}},
	}}
}

// The effects that the host carries out itself.
const (
	toolsPrefix   = "tools."
	toolsCall     = "tools.call"
	toolsCallAll  = "tools.call_all"
	toolsList     = "tools.list"
	toolsDescribe = "tools.describe"
)

// toolTarget is the capability that using a tool takes. That a group covers it
// as well is for the host to find out.
func toolTarget(args *value.Dict) ([]tool.Capability, error) {
	name := args.Text("name")
	if tool.CheckName(name) != nil {
		return nil, value.Errorf(value.NotFound, "Unknown tool: %.80q", name)
	}
	return []tool.Capability{{Name: "tool", Target: name}}, nil
}

// toolTargets are the capabilities that calling several tools takes.
func toolTargets(args *value.Dict) ([]tool.Capability, error) {
	calls, err := readCalls(args)
	if err != nil {
		return nil, err
	}
	var takes []tool.Capability
	for _, c := range calls {
		one, err := toolTarget(value.NewDict("name", c.name))
		if err != nil {
			return nil, err
		}
		takes = append(takes, one...)
	}
	return takes, nil
}

// registerOwn makes the rows of [Modules] effects of the host, which carries
// them out itself.
func (h *Host) registerOwn() {
	do := map[string]func(caller, context.Context, tool.Effect) (tool.Outcome, error){
		toolsCall: caller.callTool, toolsCallAll: caller.callAll, toolsList: caller.listTools, toolsDescribe: caller.describeTool,
	}
	for _, m := range Modules() {
		for i := range m.Funcs {
			f := &m.Funcs[i]
			name := m.Name + "." + f.Name
			f.Do = func(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
				return do[name](caller{h.origin(ctx).pass}, ctx, e)
			}
			h.funcs[name] = f
		}
	}
}

// A caller is a call that calls and lists other tools.
type caller struct{ *pass }

// callTool makes a call for the script. Its own time stands still meanwhile: the
// other call has a time of its own.
func (p caller) callTool(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	given, _ := e.Args.Get("args")
	args, _ := given.(*value.Dict)
	p.wall.Pause()
	defer p.wall.Resume()
	v, err := p.one(ctx, oneCall{e.Args.Text("name"), args}, strconv.Itoa(p.quota.effects), e.Place)
	return tool.Outcome{Value: v}, err
}

// A oneCall is a call that a script wants.
type oneCall struct {
	name string
	args *value.Dict
}

func (p caller) one(ctx context.Context, c oneCall, id string, at tool.Place) (value.Value, error) {
	r, err := p.run.call(ctx, tool.Call{
		ID:     p.call.ID + "/" + id,
		Tool:   c.name,
		Args:   c.args,
		Caller: tool.ByScript, Reasoning: p.call.Reasoning,
		Place: at,
	}, p.pass)
	if p.run.leavesOpen(err) {
		return nil, err
	}
	if err != nil {
		failed := *value.ErrorOf(err, value.Failed)
		failed.Op, failed.Err = c.name, errors.New(failed.Message())
		switch failed.Limit {
		case value.LimitEffects:
			if p.run.effects.Load() > MaxTreeEffects {
				break
			}
			fallthrough
		case value.LimitWall, value.LimitCPU, value.LimitMemory:
			failed.Limit = value.LimitCall // of the other one: this one can go on
		}
		return nil, &failed
	}
	return r.Value, nil
}

const (
	// maxCallAll is how many calls tools.call_all makes.
	maxCallAll = 100
	// atOnce is how many of them are under way at one time.
	atOnce = 8
)

// readCalls reads the calls that tools.call_all is to make.
func readCalls(args *value.Dict) ([]oneCall, error) {
	given, _ := args.Get("calls")
	list, _ := value.Elements(given)
	if len(list) > maxCallAll {
		return nil, value.Errorf(value.Limit, "%d calls are more than %d", len(list), maxCallAll)
	}
	calls := make([]oneCall, len(list))
	for i, v := range list {
		var ok bool
		if calls[i], ok = readCall(v); !ok {
			return nil, value.Errorf(value.Invalid, `call %d should be a pair of a name and arguments: ("slug", {"title": "x"})`, i+1)
		}
	}
	return calls, nil
}

// readCall reads a pair of a name and arguments, which may be left out. Without
// any, in Lua they look like an empty list.
func readCall(v value.Value) (c oneCall, ok bool) {
	pair, _ := value.Elements(v)
	if len(pair) == 0 || len(pair) > 2 {
		return c, false
	}
	if c.name, ok = pair[0].(string); !ok || len(pair) == 1 {
		return c, ok
	}
	if c.args, ok = pair[1].(*value.Dict); ok {
		return c, true
	}
	list, isList := value.Elements(pair[1])
	return c, isList && len(list) == 0
}

// callAll makes several calls at a time; the i-th stands at the i-th place
// inside the effect. Only the end of all is an error.
func (p caller) callAll(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	calls, err := readCalls(e.Args)
	if err != nil {
		return tool.Outcome{}, err
	}
	p.wall.Pause()
	defer p.wall.Resume()
	results, errs := make(value.List, len(calls)), make([]error, len(calls))
	var all sync.WaitGroup
	free := make(chan struct{}, atOnce)
	effect := strconv.Itoa(p.quota.effects)
	for i, c := range calls {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			var v value.Value
			v, errs[i] = p.one(ctx, c, effect+"."+strconv.Itoa(i+1), e.Place.Child(i+1))
			results[i] = attempted(v, errs[i])
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return tool.Outcome{}, value.AsError(context.Cause(ctx), value.Canceled)
	}
	for _, err := range errs {
		if err != nil && (p.run.leavesOpen(err) || value.ErrorOf(err, value.Failed).Limit == value.LimitEffects) {
			return tool.Outcome{}, err // of all together, which no script may catch
		}
	}
	return tool.Outcome{Value: results}, nil
}

// attempted is what a script is told of a call that may have failed.
func attempted(v value.Value, err error) *value.Dict {
	if err == nil {
		return value.NewDict("ok", true, "value", v, "error", "", "error_type", "")
	}
	e := value.ErrorOf(err, value.Failed)
	return value.NewDict("ok", false, "value", nil, "error", e.Message(), "error_type", e.Kind.Type())
}

// reaches says whether the call could call a tool: for the capabilities
// that it and those above it have, the rules, and the tool itself.
func (p caller) reaches(ctx context.Context, t *tool.Tool) error {
	if err := p.rights().within(tool.Capability{Name: "tool", Target: t.Name}); err != nil {
		return err
	}
	if err := p.run.newPass(t, tool.Call{Tool: t.Name, Caller: tool.ByScript}, p.pass).rights().admissible(); err != nil {
		return err
	}
	return p.run.host.usable(ctx, p.run.tools.catalog(), t, nil)
}

func (p caller) listTools(ctx context.Context, _ tool.Effect) (tool.Outcome, error) {
	list := value.List{}
	for _, t := range p.run.tools.catalog().list() {
		if p.reaches(ctx, t) == nil {
			list = append(list, value.NewDict("name", t.Name, "description", t.Description, "group", t.DisplayGroup()))
		}
		if ctx.Err() != nil {
			return tool.Outcome{}, value.AsError(context.Cause(ctx), value.Canceled)
		}
	}
	return tool.Outcome{Value: list}, nil
}

func (p caller) describeTool(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	o, err := p.run.tools.catalog().lookup(e.Args.Text("name"))
	if err == nil {
		err = p.reaches(ctx, o.tool)
	}
	if err != nil {
		return tool.Outcome{}, err
	}
	t := o.tool
	schema, err := t.ArgsSchema()
	if err != nil {
		return tool.Outcome{}, err
	}
	return tool.Outcome{Value: value.NewDict("name", t.Name, "description", t.Description, "group", t.DisplayGroup(), "parameters", schema)}, nil
}
