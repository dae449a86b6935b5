package runtime

import (
	"context"
	"errors"
	"strconv"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Modules returns the functions with which scripts use other tools. Every host
// has them; a sandbox needs to know them too, beside those of Options.Modules.
// They have no Do, since only the host can carry them out.
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
			Class:   tool.External,
			Target:  toolTarget,
		}, {
			Name:    toolsList[len(toolsPrefix):],
			Doc:     "List the tools that may be called.",
			Returns: `a list of {"name", "description", "group"}`,
			Class:   tool.Read,
		}, {
			Name:    toolsDescribe[len(toolsPrefix):],
			Doc:     "Describe a tool that may be called.",
			Params:  []tool.Param{name},
			Returns: `{"name", "description", "group", "parameters": the JSON Schema of its arguments}`,
			Class:   tool.Read,
			Target:  toolTarget,
		}},
	}}
}

// The effects that the host carries out itself.
const (
	toolsPrefix   = "tools."
	toolsCall     = "tools.call"
	toolsList     = "tools.list"
	toolsDescribe = "tools.describe"
)

// toolTarget is the capability that using a tool takes. That a group covers it
// as well is for the host to find out.
func toolTarget(args *tool.Dict) ([]tool.Capability, error) {
	name := args.Text("name")
	if tool.CheckName(name) != nil {
		return nil, tool.Errorf(tool.NotFound, "Unknown tool: %.80q", name)
	}
	return []tool.Capability{{Name: "tool", Target: name}}, nil
}

// lendOwn makes the rows of [Modules] effects.
func (h *Host) lendOwn() {
	for _, m := range Modules() {
		for i := range m.Funcs {
			h.funcs[m.Name+"."+m.Funcs[i].Name] = &m.Funcs[i]
		}
	}
}

// own carries out an effect of [Modules].
func (g *gate) own(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	switch e.Func {
	case toolsCall:
		return g.callTool(ctx, e)
	case toolsList:
		return g.listTools(ctx)
	case toolsDescribe:
		return g.describeTool(ctx, e.Args.Text("name"))
	}
	return tool.Outcome{}, tool.Errorf(tool.Internal, "%s has no Do", e.Func)
}

// callTool makes a call for the script. Its own time stands still meanwhile:
// the other call has a time of its own.
func (g *gate) callTool(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	name := e.Args.Text("name")
	given, _ := e.Args.Get("args")
	args, _ := given.(*tool.Dict)
	g.wall.pause()
	defer g.wall.resume()
	r, err := g.host.run(ctx, tool.Call{
		ID:     g.call.ID + "/" + strconv.Itoa(g.effects),
		Tool:   name,
		Args:   args,
		Caller: tool.ByScript, Reasoning: g.call.Reasoning,
		Place: e.Place,
	}, g)
	if err != nil {
		failed := *tool.AsError(err, tool.Failed)
		failed.Op, failed.Err = name, errors.New(failed.Message())
		return tool.Outcome{}, &failed
	}
	return tool.Outcome{Value: r.Value}, nil
}

// usableBy says whether the call could call a tool: for the capabilities
// that it and those above it have, the rules, and the tool itself.
func (g *gate) usableBy(ctx context.Context, t *tool.Tool) error {
	if err := g.within(tool.Capability{Name: "tool", Target: t.Name}); err != nil {
		return err
	}
	if err := g.host.gate(t, tool.Call{Tool: t.Name, Caller: tool.ByScript}, g).admissible(); err != nil {
		return err
	}
	return g.host.usable(ctx, t)
}

func (g *gate) listTools(ctx context.Context) (tool.Outcome, error) {
	list := tool.List{}
	for _, t := range g.host.registry.Tools() {
		if g.usableBy(ctx, t) == nil {
			list = append(list, tool.NewDict("name", t.Name, "description", t.Description, "group", t.DisplayGroup()))
		}
		if ctx.Err() != nil {
			return tool.Outcome{}, tool.AsError(context.Cause(ctx), tool.Canceled)
		}
	}
	return tool.Outcome{Value: list}, nil
}

func (g *gate) describeTool(ctx context.Context, name string) (tool.Outcome, error) {
	t, _, err := g.host.lookup(name)
	if err == nil {
		err = g.usableBy(ctx, t)
	}
	if err != nil {
		return tool.Outcome{}, err
	}
	schema, err := t.ArgsSchema()
	if err != nil {
		return tool.Outcome{}, err
	}
	return tool.Outcome{Value: tool.NewDict("name", t.Name, "description", t.Description, "group", t.DisplayGroup(), "parameters", schema)}, nil
}
