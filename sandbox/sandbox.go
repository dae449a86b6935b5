// Package sandbox runs a script where it can compute but not act.
//
// A [Sandbox] is given a script and a call as plain values and answers with
// plain values; what the script asks of the world comes out as effects. So the
// script may as well run in another process, and who uses a Sandbox cannot
// tell.
//
// [Inline] runs it in this process. It stops a script that takes too many
// steps or whose context ends, and that is all it promises: a script can still
// exhaust the memory of the process or hang it inside one operation. It is for
// scripts that are trusted as far as the program itself.
package sandbox

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Sandbox reads and runs scripts. It is safe for concurrent use.
type Sandbox interface {
	// Describe reads what a tool's file declares, without running it.
	Describe(ctx context.Context, s tool.Script) (tool.Tool, error)
	// Run calls a function of a script. Arguments are checked already. What
	// the script asks of the world goes to do.
	Run(ctx context.Context, s tool.Script, c tool.Call, do tool.Effector) (tool.Outcome, error)
}

// Inline is the [Sandbox] that runs scripts in this process.
type Inline struct {
	engine *engine.Engine
}

// NewInline returns an in-process sandbox whose scripts have the functions of
// these modules: the pure ones are run in place, of the others only names,
// parameters and kind are used. A row without a valid kind makes each call fail,
// with an error of kind Invalid.
func NewInline(modules ...tool.Module) *Inline {
	return &Inline{engine.New(&engine.Options{Modules: modules})}
}

// Describe implements [Sandbox].
func (s *Inline) Describe(ctx context.Context, script tool.Script) (tool.Tool, error) {
	if err := ctx.Err(); err != nil {
		return tool.Tool{}, tool.Errorf(tool.Canceled, "%w", err)
	}
	return s.engine.Describe(script)
}

// Run implements [Sandbox].
func (s *Inline) Run(ctx context.Context, script tool.Script, c tool.Call, do tool.Effector) (tool.Outcome, error) {
	return s.engine.Run(ctx, script, c, do)
}
