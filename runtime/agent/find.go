package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/roster"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// APIs limit the tools of a request. If an agent has more, a request has the first of them, the tool
// find_tools, and the tools that the conversation has found or called. What it has found is in the
// conversation, so nothing else needs to be kept or recorded.

const (
	// findTool is the name of the tool that finds others. The agent answers it.
	findTool = "find_tools"
	// maxFound is how many tools it returns.
	maxFound = 20
	// foundShare is which part of a request is for tools that were found: a quarter.
	foundShare = 4
)

// finder returns the tool that finds others.
func (a *Agent) finder() tool.Tool {
	return tool.Tool{
		Name: findTool,
		Description: fmt.Sprintf("Find more tools by words.\n\nYou have %d tools, more than fit into a request. Use this if none of those that you see does what you need: "+
			"it returns the names of the tools that fit, which you can call from then on.", len(a.tools)),
		Params: []tool.Param{tool.Required("query", tool.TypeString, "what a tool should do, as in \"send mail\"")},
	}
}

// toolsFor returns the tools for a request with these messages, and tells the user if they are not all.
func (t *turn) toolsFor(ctx context.Context, messages []model.Message) []tool.Tool {
	a, most := t.agent, t.asks().Info(ctx).MaxTools
	if !limited(len(a.tools), most) {
		return a.tools
	}
	shown := a.shown(messages, most, t.toolChoice())
	if t.result.Iterations == 1 {
		host.Emit(ctx, tool.Log{Message: fmt.Sprintf("a request to the model can have %d tools: it gets %d of %d, and finds the others with %s", most, len(shown)-1, len(a.tools), findTool)})
	}
	return shown
}

// shown returns the tools for a request that may have so many, in their order. choice is the tool that
// must be called, or another choice.
func (a *Agent) shown(messages []model.Message, most int, choice string) []tool.Tool {
	room := most / foundShare
	first := most - 1 - room
	found := map[string]bool{}
	add := func(name string) {
		key := tool.Key(name)
		if i := slices.IndexFunc(a.tools, func(t tool.Tool) bool { return tool.Key(t.Name) == key }); i >= first && len(found) < room {
			found[key] = true
		}
	}
	add(choice)
	for _, m := range slices.Backward(messages) { // the latest are kept
		for i := range m.Calls {
			add(m.Calls[i].Tool)
		}
		if m.Role == model.ToolRole && m.Tool == findTool {
			for line := range strings.Lines(m.Text) {
				if name, _, ok := strings.Cut(line, ": "); ok {
					add(name)
				}
			}
		}
	}
	list := slices.Clone(a.tools[:first])
	for _, t := range a.tools[first:] {
		if found[tool.Key(t.Name)] {
			list = append(list, t)
		}
	}
	if slices.ContainsFunc(a.tools, func(t tool.Tool) bool { return tool.Key(t.Name) == findTool }) {
		return list // the user has such a tool
	}
	return append(list, a.finder())
}

// find answers a call of find_tools.
func (t *turn) find(c *plannedCall) {
	query := c.decision.Input.Text("query")
	if strings.TrimSpace(query) == "" {
		t.fail(c, value.Errorf(value.Invalid, "the parameter query is missing").WithHint("write what the tool should do, in a few words"))
		return
	}
	hits := roster.Search(t.agent.tools, query)
	lines := []string{fmt.Sprintf("%d tools fit. You can call these:", len(hits))}
	if len(hits) == 0 {
		lines = []string{"No tool fits. Use other words, or fewer."}
	}
	names := value.List{}
	for _, hit := range hits[:min(len(hits), maxFound)] {
		names = append(names, hit.Name)
		lines = append(lines, hit.Name+": "+value.Clean(hit.Summary(), 200))
	}
	c.result, c.text = tool.Succeed(tool.Outcome{Value: names}), strings.Join(lines, "\n")
}

// finds reports whether the name of a call is that of find_tools, which the model has if it cannot get
// all tools.
func (t *turn) finds(ctx context.Context, name string) bool {
	return tool.Key(name) == findTool && t.agent.format == decision.Native && limited(len(t.agent.tools), t.asks().Info(ctx).MaxTools)
}

// limited reports whether so many tools are more than a request may have.
func limited(tools, most int) bool { return most >= foundShare && tools > most }
