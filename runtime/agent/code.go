package agent

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/functions"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/ids"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/program"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/roster"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ProgramFile is "program.code", the path that a program has which a model writes for the tool of
// [RegisterCode], in errors and positions. The extension tells the engine to read it as a program.
const ProgramFile = program.File

// RegisterCode registers the tool execute_code(code) with a host. It runs a program in
// Starlark, in which the other tools are functions, and returns the value of the last
// expression. A program may call the tools that the model may call, or every tool that is
// ready if no model calls it, except execute_code, agent and task_complete. Its calls have
// the limits and permissions of the caller. RegisterCode fails if the host has a tool of
// that name.
//
// The host needs a sandbox that runs programs, see package engine. Models get the tool in
// the format [decision.Code], and in other formats if Options.Tools names it.
func RegisterCode(h *host.Host) error {
	var made atomic.Int64
	return h.Register(functions.CodeTool(), func(ctx context.Context, args *value.Dict) (value.Value, error) {
		return runCode(ctx, h, args.Text("code"), made.Add(1))
	})
}

// runCode runs a program for the caller in the context.
func runCode(ctx context.Context, h *host.Host, code string, number int64) (value.Value, error) {
	id := "code-" + strconv.FormatInt(number, 10)
	var tools []tool.Tool
	begun := false
	if above, _ := ctx.Value(turnKey{}).(*turn); above != nil {
		_, step := host.Operate(h).StepOf(ctx)
		id, tools = ids.ProgramAt(above.runID, step), above.agent.tools
		root, _, _ := strings.Cut(above.runID, "/")
		begun = above.again && program.Begun(ctx, h, root, code)
	} else {
		all := h.Tools()
		if replayed := host.Operate(h).ReplayOf(ctx); replayed != "" {
			var err error
			if all, err = roster.Called(ctx, h, replayed); err != nil {
				return nil, err
			}
		}
		for _, t := range all {
			if t.State == toolset.Ready {
				tools = append(tools, t.Tool)
			}
		}
	}
	return program.Run(ctx, h, id, code, tools, begun)
}
