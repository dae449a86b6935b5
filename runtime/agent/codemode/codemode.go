// Package codemode gives a model any number of tools by three: it searches them, reads how
// they are called, and writes a program that calls them. The definitions of all tools, and
// the results between two calls, stay out of the model's context.
package codemode

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/functions"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/program"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The names of the tools.
const (
	SearchTool   = "search_tools"
	DescribeTool = "describe_tools"
	ExecuteTool  = "execute_code"
)

// Tools are the names of the tools that Register adds.
func Tools() []string { return []string{SearchTool, DescribeTool, ExecuteTool} }

// Register adds the tools search_tools, describe_tools and execute_code to a host. They find,
// describe and call the tools that words select, see [operate.Host], as these are at the time of a
// call. A program runs in the sandbox, and each of its calls is checked, approved and recorded like
// any other. Register fails if words select an unknown tool, or if the host has a tool with
// one of the names.
func Register(h *host.Host, words ...string) error {
	m := &mode{host: h, words: words}
	if _, err := h.Select(words...); err != nil {
		return err
	}
	if err := h.Register(searchTool(), m.search); err != nil {
		return err
	}
	if err := h.Register(describeTool(), m.describe); err != nil {
		return err
	}
	return h.Register(functions.CodeTool(), m.execute)
}

// Library returns the files of a script that has tools as functions by their names, as programs of
// models do.
func Library(tools []tool.Tool) map[string]string { return program.Library(tools) }

// A mode is the code mode of a host.
type mode struct {
	host  *host.Host
	words []string
	made  atomic.Int64 // programs
}

// tools returns the tools that programs may call, by name.
func (m *mode) tools() []tool.Tool {
	all := host.Operate(m.host).Remaining(m.words...)
	var ready []tool.Tool
	for i := range all {
		t := &all[i]
		if t.State == toolset.Ready && t.Name != SearchTool && t.Name != DescribeTool && t.Name != ExecuteTool {
			ready = append(ready, t.Tool)
		}
	}
	slices.SortFunc(ready, func(a, b tool.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return ready
}

func searchTool() tool.Tool {
	most, least := value.Value(int64(maxFound)), value.Value(int64(1))
	limit := tool.Optional("limit", tool.TypeInteger, int64(10), "how many tools to return")
	limit.Type.Min, limit.Type.Max = least, most
	return tool.Tool{
		Name: SearchTool, Title: "Search Tools", Group: "context", Hints: tool.Hints{ReadOnly: true, Idempotent: true},
		Description: "Find tools by words.\n\nReturns the tools whose names and descriptions have the words of the query, the best first, each with its " +
			"signature. An empty query returns the names of all tools by group. Call describe_tools for the details of a tool, and execute_code to call tools.",
		Params: []tool.Param{
			tool.Optional("query", tool.TypeString, "", "what a tool should do, as in \"send mail\""),
			limit,
		},
	}
}

func describeTool() tool.Tool {
	names := tool.Required("names", tool.TypeArray, "the names of the tools")
	names.Type.Items = &tool.Type{Name: tool.TypeString}
	return tool.Tool{
		Name: DescribeTool, Title: "Describe Tools", Group: "context", Hints: tool.Hints{ReadOnly: true, Idempotent: true},
		Description: "Return how tools are called: their signatures as functions of a program, descriptions, parameters and examples.",
		Params:      []tool.Param{names},
	}
}

// describe returns what a program must know of tools.
func (m *mode) describe(_ context.Context, args *value.Dict) (value.Value, error) {
	tools := m.tools()
	byKey := map[string]*tool.Tool{}
	for i := range tools {
		byKey[tool.Key(tools[i].Name)] = &tools[i]
	}
	var list value.List
	for _, v := range args.Elements("names") {
		name, _ := v.(string)
		t := byKey[tool.Key(name)]
		if t == nil {
			known := make([]string, len(tools))
			for i := range tools {
				known[i] = tools[i].Name
			}
			return nil, value.Errorf(value.NotFound, "unknown tool %q%s", value.Clean(name, tool.MaxName), value.DidYouMean(name, known)).WithHint("find tools with %s", SearchTool)
		}
		list = append(list, describe(t))
	}
	return list, nil
}

// describe returns a tool as a dict.
func describe(t *tool.Tool) *value.Dict {
	d := value.NewDict("name", t.Name, "call", stub.Signature(t), "description", t.Description)
	params, err := t.CallerParams()
	if err != nil || len(t.Schema) > 0 {
		if schema, err := t.ArgsSchema(); err == nil {
			d.Put("parameters", schema)
		}
		return d
	}
	about := &value.Dict{}
	for i := range params {
		text := params[i].Type.String()
		if params[i].Description != "" {
			text += ": " + params[i].Description
		}
		about.Put(params[i].Name, text)
	}
	d.Put("parameters", about)
	if t.ReturnsDoc != "" {
		d.Put("returns", t.ReturnsDoc)
	}
	if example := t.ExampleArgs(); example.Len() > 0 {
		d.Put("example", example)
	}
	if t.NeedsApproval() {
		d.Put("asks", true)
	}
	return d
}

// execute runs a program. One that a resumed run continues is not checked again, and has the tools that it
// has called as they were then.
func (m *mode) execute(ctx context.Context, args *value.Dict) (value.Value, error) {
	tools := m.tools()
	run, step := host.Operate(m.host).StepOf(ctx)
	begun := program.BegunAt(ctx, m.host, run, step)
	if begun {
		called, err := host.Operate(m.host).Called(ctx, run)
		if err != nil {
			return nil, err
		}
		tools = asCalled(tools, called)
	}
	id := "code-" + strconv.FormatInt(m.made.Add(1), 10)
	return program.Run(ctx, m.host, id, args.Text("code"), tools, begun)
}

// asCalled returns tools, with those that were called as they were then. A tool that only another tool has
// called is not added.
func asCalled(tools []tool.Tool, called []toolset.Info) []tool.Tool {
	then := map[string]tool.Tool{}
	for i := range called {
		then[tool.Key(called[i].Name)] = called[i].Tool
	}
	return value.Map(tools, func(t tool.Tool) tool.Tool {
		if old, wasCalled := then[tool.Key(t.Name)]; wasCalled {
			return old
		}
		return t
	})
}
