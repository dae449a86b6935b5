package decision

import (
	"bytes"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ParseTools reads definitions of tools as others write them: what cassidy tool
// list --json prints, an array or an object of definitions in the forms of
// OpenAI, Anthropic or MCP, JSON lines of such, and rows of the Berkeley
// leaderboard. The tools can be offered and checked against, but not run. It
// fails with an error of kind Invalid for anything else, and where nothing is
// defined.
func ParseTools(data []byte) ([]tool.Tool, error) {
	v, err := value.ParseJSON(data)
	if err != nil {
		if v, err = parseLines(data, err); err != nil {
			return nil, err
		}
	}
	tools, err := toolsIn(v, value.MaxDepth)
	if err != nil {
		return nil, err
	}
	if len(tools) == 0 {
		return nil, value.Errorf(value.Invalid, "no tool is defined here").
			WithHint("give an array of definitions, each with a name and parameters, or what cassidy tool list --json prints")
	}
	return tools, nil
}

// parseLines reads one JSON value a line. Its error is the first one, where the
// first line is no value: then these are no lines.
func parseLines(data []byte, first error) (value.Value, error) {
	list := value.List{}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		v, err := value.ParseJSON(line)
		switch {
		case err != nil && len(list) == 0:
			return nil, first
		case err != nil:
			return nil, value.Errorf(value.Invalid, "line %d: %w", n, err)
		}
		list = append(list, v)
	}
	return list, nil
}

func toolsIn(v value.Value, depth int) ([]tool.Tool, error) {
	if list, ok := v.(value.List); ok && depth > 0 {
		var tools []tool.Tool
		for _, item := range list {
			some, err := toolsIn(item, depth-1)
			if err != nil {
				return nil, err
			}
			tools = append(tools, some...)
		}
		return tools, nil
	}
	d, ok := v.(*value.Dict)
	if !ok || depth == 0 {
		return nil, value.Errorf(value.Invalid, "a definition of a tool should be an object, but is %s", value.TypeOf(v))
	}
	for _, key := range []string{"tools", "functions", "function", "request_tools"} {
		if inner, ok := d.Get(key); ok {
			if _, isText := inner.(string); !isText {
				return toolsIn(inner, depth-1)
			}
		}
	}
	t, err := toolFrom(d)
	if err != nil {
		return nil, err
	}
	return []tool.Tool{t}, nil
}

// toolFrom reads one definition.
func toolFrom(d *value.Dict) (tool.Tool, error) {
	t := tool.Tool{Name: d.Text("name"), Title: d.Text("title"), Description: d.Text("description"), Group: d.Text("group"), Risky: d.Bool("risky")}
	if t.Name == "" {
		return t, value.Errorf(value.Invalid, "a definition of a tool has no name")
	}
	for _, key := range []string{"parameters", "input_schema", "inputSchema", "schema"} {
		schema, ok := d.Get(key)
		if !ok || schema == nil {
			continue
		}
		object, ok := schema.(*value.Dict)
		if !ok {
			return t, value.Errorf(value.Invalid, "%s: the %s should be an object, but is %s", t.Name, key, value.TypeOf(schema))
		}
		params, err := tool.ParamsFromSchema(object)
		if err != nil {
			return t, value.Errorf(value.Invalid, "%s: %w", t.Name, err)
		}
		t.Params = params
		break
	}
	if needs, ok := d.Get("needs"); ok {
		items, _ := value.Elements(needs)
		for _, item := range items {
			text, _ := item.(string)
			c, err := tool.ParseCapability(text)
			if err != nil {
				return t, value.Errorf(value.Invalid, "%s: %w", t.Name, err)
			}
			t.Needs = append(t.Needs, c)
		}
	}
	for _, key := range []string{"hints", "annotations"} {
		if v, ok := d.Get(key); ok {
			if hints, ok := v.(*value.Dict); ok {
				t.Hints.ReadOnly = hints.Bool("read_only") || hints.Bool("readOnlyHint")
				t.Hints.Idempotent = hints.Bool("idempotent") || hints.Bool("idempotentHint")
				t.Hints.OpenWorld = hints.Bool("open_world") || hints.Bool("openWorldHint")
			}
		}
	}
	return t, nil
}
