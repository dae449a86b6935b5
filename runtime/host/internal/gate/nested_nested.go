package gate

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Modules returns the functions with which scripts use other tools. They have no Do, as a
// gate carries them out itself.
func Modules() []tool.Module {
	name := tool.Param{Name: "name", Type: tool.Type{Name: tool.TypeString}, Description: "the tool's name", Required: true}
	return []tool.Module{{
		Name: "tools",
		Doc:  "Call other tools. In needs, a tool declares the tools that it may call: tool:NAME for one tool, or tool:@GROUP for all tools of a group. A called tool can use only capabilities that its caller also has.",
		Funcs: []tool.Func{{
			Name:    callToolEffect[len(toolsPrefix):],
			Doc:     "Call a tool. Pass the arguments of the tool by name, as in tools.call(\"slug\", title = \"x\") or tools.slug(title = \"x\"). In Lua: tools.call(\"slug\", {title = \"x\"}), or tools.slug{title = \"x\"}. If the tool fails, the call fails with the same error.",
			Params:  []tool.Param{name},
			Rest:    "args",
			Returns: "the tool's result",
			Kind:    tool.External,
			Mode:    tool.ModeOther,
			Target:  toolTarget,
		}, {
			Name:    callAllEffect[len(toolsPrefix):],
			Doc:     "Call several tools in parallel. Each call needs the capability tool:NAME, as in tools.call. Example: tools.call_all([(\"slug\", {\"title\": \"x\"}), (\"now\", {})]). In Lua: tools.call_all({{\"slug\", {title = \"x\"}}, {\"now\", {}}}). If a call fails, the other calls continue. The list then has the error of the failed call. If a call of a recorded run fails because of its environment, such as a full disk or a server that cannot be reached, call_all fails too when the other calls have ended: the run waits for the repair, and then makes only that call again. If a call fails only because another call in the list has changed a file, the failed call is repeated. A call that has sent data, run a command or asked a question is never repeated.",
			Params:  []tool.Param{{Name: "calls", Type: tool.Type{Name: tool.TypeArray}, Description: "pairs of a tool's name and its arguments, at most 100", Required: true}},
			Returns: `a list of {"ok", "value", "error", "error_type", "hint"}, in the order of the calls`,
			Kind:    tool.External,
			Mode:    tool.ModeCalls,
			Target:  toolTargets,
		}, {
			Name:    listEffect[len(toolsPrefix):],
			Doc:     "List the tools that may be called.",
			Returns: `a list of {"name", "description", "group"}`,
			Kind:    tool.Read,
		}, {
			Name:    describeEffect[len(toolsPrefix):],
			Doc:     "Describe a tool that may be called.",
			Params:  []tool.Param{name},
			Returns: `{"name", "description", "group", "parameters": the JSON Schema of its arguments}`,
			Kind:    tool.Read,
			Target:  toolTarget,
		}},
	}}
}

// The effects of the module.
const (
	toolsPrefix    = "tools."
	callToolEffect = "tools.call"
	callAllEffect  = "tools.call_all"
	listEffect     = "tools.list"
	describeEffect = "tools.describe"
)

// toolTarget returns the capability that a call of a tool takes. The gate checks whether a
// group covers it.
func toolTarget(args *value.Dict) ([]tool.Capability, error) {
	name := args.Text("name")
	if tool.CheckCallName(name) != nil {
		return nil, value.Errorf(value.NotFound, "Unknown tool: %.80q", name)
	}
	return []tool.Capability{{Name: "tool", Target: name}}, nil
}

// toolTargets returns the capabilities that calls of several tools take.
func toolTargets(args *value.Dict) ([]tool.Capability, error) {
	calls, err := readNestedCalls(args)
	if err != nil {
		return nil, err
	}
	var takes []tool.Capability
	for _, c := range calls {
		one, err := toolTarget(value.NewDict("name", c.Tool))
		if err != nil {
			return nil, err
		}
		takes = append(takes, one...)
	}
	return takes, nil
}

// A nestedCall is a call that a script asks for.
type nestedCall struct {
	Tool string
	Args *value.Dict
}

// maxCallAll is how many calls tools.call_all makes.
const maxCallAll = 100

// readNestedCalls reads the calls that tools.call_all makes.
func readNestedCalls(args *value.Dict) ([]nestedCall, error) {
	list := args.Elements("calls")
	if len(list) > maxCallAll {
		return nil, value.Errorf(value.Limit, "too many calls: %d, limit %d", len(list), maxCallAll)
	}
	calls := make([]nestedCall, len(list))
	for i, v := range list {
		var ok bool
		if calls[i], ok = readCall(v); !ok {
			return nil, value.Errorf(value.Invalid, `call %d should be a pair of a name and arguments: ("slug", {"title": "x"})`, i+1)
		}
	}
	return calls, nil
}

// readCall reads a pair of a name and optional arguments. No arguments can be an empty list,
// which is what {} is in Lua.
func readCall(v value.Value) (c nestedCall, ok bool) {
	pair, _ := value.Elements(v)
	if len(pair) == 0 || len(pair) > 2 {
		return c, false
	}
	if c.Tool, ok = pair[0].(string); !ok || len(pair) == 1 {
		return c, ok
	}
	if c.Args, ok = pair[1].(*value.Dict); ok {
		return c, true
	}
	list, isList := value.Elements(pair[1])
	return c, isList && len(list) == 0
}

// nestedResult returns the result of a call that may have failed, for a script.
func nestedResult(v value.Value, err error) *value.Dict {
	if err == nil {
		return value.NewDict("ok", true, "value", v, "error", "", "error_type", "", "hint", "")
	}
	e := value.ErrorOf(err, value.Failed)
	return value.NewDict("ok", false, "value", nil, "error", e.Message(), "error_type", e.Kind.Type(), "hint", e.Hint)
}
