// Package roster selects the tools that a model may call, and finds the agents that it can start.
package roster

import (
	"context"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Select selects tools with words, as [host.Host.Select] does, for a model that calls them in a format.
// Of those, an agent that a file defines has only what the file selects; as is nil for another agent.
// Select fails if a tool that is named is not ready; tools of a group or of "auto" that are not ready
// are skipped.
func Select(h *host.Host, words []string, f decision.Format, as *tool.Agent) ([]toolset.Info, error) {
	tools, err := h.Select(words...)
	if err != nil {
		return nil, err
	}
	if tools, err = withCode(h, tools, words, f); err != nil {
		return nil, err
	}
	var ready []toolset.Info
	for i := range tools {
		t := &tools[i]
		switch {
		case as != nil && !as.Offers(&t.Tool) && !runsPrograms(t):
		case t.State == toolset.Ready:
			ready = append(ready, *t)
		case slices.Contains(words, t.Name):
			return nil, value.Errorf(value.Unavailable, "offer the tool '%s': the tool is %s: %s", t.Name, t.State, t.Reason)
		}
	}
	return ready, nil
}

// withCode adds the tool that runs programs in the format Code. In other formats the tool is
// kept only if it is named.
func withCode(h *host.Host, tools []toolset.Info, words []string, f decision.Format) ([]toolset.Info, error) {
	named := slices.ContainsFunc(words, func(w string) bool { return tool.Key(w) == decision.ProgramTool })
	if f != decision.Code && named {
		return tools, nil
	}
	tools = slices.DeleteFunc(tools, func(t toolset.Info) bool { return runsPrograms(&t) })
	if f != decision.Code {
		return tools, nil
	}
	t, err := h.Tool(decision.ProgramTool)
	if err != nil || !runsPrograms(&t) {
		return nil, value.Errorf(value.Invalid, "the format %s needs the tool %s, which is not registered", decision.Code, decision.ProgramTool).
			WithHint("use another format, such as %s; in Go, call agent.RegisterCode", decision.PureJSON)
	}
	return append(tools, t), nil
}

// runsPrograms reports whether a tool is that of [RegisterCode], and not another one of its
// name.
func runsPrograms(t *toolset.Info) bool {
	return t.Location == tool.Embedded && tool.Key(t.Name) == decision.ProgramTool
}

// Called returns the tools for the replay of a run: those that it has called, as they were
// then, and the others of the host.
func Called(ctx context.Context, h *host.Host, runID string) ([]toolset.Info, error) {
	tools, err := host.Operate(h).Called(ctx, runID)
	for _, t := range h.Tools() {
		if !slices.ContainsFunc(tools, func(c toolset.Info) bool { return tool.Key(c.Name) == tool.Key(t.Name) }) {
			tools = append(tools, t)
		}
	}
	return tools, err
}

// Param is the parameter of the tool agent that names an agent.
const Param = "agent"

// Find returns the agent with a name that models and scripts may start, or nil for "". It fails
// with kind NotFound.
func Find(agents []tool.Agent, name string) (*tool.Agent, error) {
	if name == "" {
		return nil, nil
	}
	var known []string
	for i := range agents {
		d := &agents[i]
		if !d.ForModels() {
			continue
		}
		if tool.Key(d.Name) == tool.Key(name) {
			return d, nil
		}
		known = append(known, d.Name)
	}
	err := value.Errorf(value.NotFound, "unknown agent %q%s", value.Clean(name, 2*tool.MaxName), value.DidYouMean(name, known))
	if len(known) == 0 {
		return nil, err.WithHint("omit the parameter agent; to define agents, write files in .cassidy/agents")
	}
	return nil, err.WithHint("use one of: \"%s\"", strings.Join(known, `", "`))
}

// shown is the limit of the description of an agent, in characters.
const shown = 500

// Introduce returns the tool agent as a model gets it: its description lists the agents that can be
// named. Without any, it has no parameter for the name.
func Introduce(t tool.Tool, agents []tool.Agent) tool.Tool {
	var lines []string
	for i := range agents {
		if d := &agents[i]; d.ForModels() && !d.Hidden {
			lines = append(lines, "- "+d.Name+": "+value.Clean(d.Description, shown))
		}
	}
	if len(lines) == 0 {
		t.Params = slices.DeleteFunc(slices.Clone(t.Params), func(p tool.Param) bool { return p.Name == Param })
		return t
	}
	t.Description += "\n\nThe user has defined these agents, which you can name in the parameter agent:\n" + strings.Join(lines, "\n")
	return t
}
