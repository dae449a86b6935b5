// Package toolfile reads definitions of tools as other programs write them.
package toolfile

import (
	"bytes"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Parse reads definitions of tools: the output of cassidy tool list --json, an array or
// an object of definitions in the forms of OpenAI, Anthropic or MCP, JSON lines of these,
// and rows of the Berkeley leaderboard. The tools can be offered to models, and calls
// checked against them, but they cannot run. The error is of kind Invalid for any other
// text, and if it defines no tool.
func Parse(data []byte) ([]tool.Tool, error) {
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
		return nil, value.Errorf(value.Invalid, "the file defines no tool").
			WithHint("write an array of definitions with name and parameters, or use the output of: cassidy tool list --json")
	}
	return tools, nil
}

// parseLines reads one JSON value a line. If the first line is not a value, the text is
// not JSON lines, and parseLines returns the error first.
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
			_, err = value.ParseJSON(append(bytes.Repeat([]byte("\n"), n-1), line...)) // with this line
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func toolsIn(v value.Value, depth int) ([]tool.Tool, error) {
	if list, ok := v.(value.List); ok && depth > 0 {
		var tools []tool.Tool
		for i, item := range list {
			some, err := toolsIn(item, depth-1)
			if err != nil {
				return nil, value.Errorf(value.Invalid, "definition %d: %w", i+1, err)
			}
			tools = append(tools, some...)
		}
		return tools, nil
	}
	d, ok := v.(*value.Dict)
	if !ok || depth == 0 {
		return nil, value.Errorf(value.Invalid, "a tool should be an object but got %s", value.TypeOf(v))
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
		return t, value.Errorf(value.Invalid, "the name of the tool is missing")
	}
	for _, key := range []string{"parameters", "input_schema", "inputSchema", "schema"} {
		schema, ok := d.Get(key)
		if !ok || schema == nil {
			continue
		}
		object, ok := schema.(*value.Dict)
		if !ok {
			return t, value.Errorf(value.Invalid, "%s: %s should be an object but got %s", t.Name, key, value.TypeOf(schema))
		}
		params, err := tool.ParamsFromSchema(object)
		if err != nil {
			return t, value.Errorf(value.Invalid, "%s: %w", t.Name, err)
		}
		t.Params = params
		break
	}
	needs, _ := d.Get("needs")
	items, _ := value.Elements(needs)
	for _, item := range items {
		text, _ := item.(string)
		c, err := tool.ParseCapability(text)
		if err != nil {
			return t, value.Errorf(value.Invalid, "%s: %w", t.Name, err)
		}
		t.Needs = append(t.Needs, c)
	}
	for _, key := range []string{"hints", "annotations"} {
		v, _ := d.Get(key)
		if hints, ok := v.(*value.Dict); ok {
			t.Hints.ReadOnly = hints.Bool("read_only") || hints.Bool("readOnlyHint")
			t.Hints.Idempotent = hints.Bool("idempotent") || hints.Bool("idempotentHint")
			t.Hints.OpenWorld = hints.Bool("open_world") || hints.Bool("openWorldHint")
			t.Hints.UntrustedOutput = hints.Bool("untrusted_output")
		}
	}
	return t, nil
}
