package mcp

import (
	"context"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// served is what clients can see: tools and prompts by name.
type served struct {
	sync.Mutex
	known map[string]entry
}

// An entry is one tool of the host as clients see it.
type entry struct {
	definition string // as JSON
	prompt     bool   // it is a prompt, not a tool
}

// upToDate looks for changed tools before a client lists or uses them.
func (s *Server) upToDate(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if strings.HasPrefix(method, "tools/") || strings.HasPrefix(method, "prompts/") {
			if err := s.Update(); err != nil {
				return nil, err
			}
		}
		return next(ctx, method, r)
	}
}

// Update makes the tools and prompts that clients see those of the host, and tells the
// clients if they have changed. The server calls it before clients list or use tools; call it
// after [host.Host.Refresh] or [host.Host.Swap], so that clients learn of a change at once.
// It fails if Options.Tools name a tool that is unknown or untrusted; clients then see what
// they saw before.
func (s *Server) Update() error {
	tools, err := s.selected()
	if err != nil {
		return err
	}
	s.served.Lock()
	defer s.served.Unlock()
	now := make(map[string]entry, len(tools))
	for i := range tools {
		t := &tools[i].Tool
		definition, err := t.Definition(tool.MCP)
		if err != nil {
			continue // the host lists the tool as broken
		}
		e := entry{value.FormatJSON(definition, ""), t.Hints.Other[PromptHint]}
		now[t.Name] = e
		switch {
		case s.served.known[t.Name] == e:
		case e.prompt:
			s.sdk.AddPrompt(sdkPrompt(t), s.getPrompt)
		default:
			s.sdk.AddTool(sdkTool(definition), s.callTool)
		}
	}
	s.remove(now)
	s.served.known = now
	return nil
}

// remove removes what clients can no longer see.
func (s *Server) remove(now map[string]entry) {
	var tools, prompts []string
	for name, e := range s.served.known {
		switch still, found := now[name]; {
		case found && still.prompt == e.prompt:
		case e.prompt:
			prompts = append(prompts, name)
		default:
			tools = append(tools, name)
		}
	}
	if len(tools) > 0 {
		s.sdk.RemoveTools(tools...)
	}
	if len(prompts) > 0 {
		s.sdk.RemovePrompts(prompts...)
	}
}

// selected returns the tools that clients may see.
func (s *Server) selected() ([]toolset.Info, error) {
	tools, err := s.host.Select(s.words...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(tools, func(t toolset.Info) bool {
		return t.State != toolset.Ready || len(s.words) == 0 && t.Location == tool.Builtin
	}), nil
}
