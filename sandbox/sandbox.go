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
//
// # Workers
//
// [Process] runs it in a worker: a process that [Main] makes of a program, and that
// can do nothing but compute. By default that program is the one which has the
// sandbox, started again, so [Main] must be the first call of its main, and of
// TestMain in a test:
//
//	func TestMain(m *testing.M) {
//		sandbox.Main(stdlib.Pure()...)
//		os.Exit(m.Run())
//	}
//
// A worker then initializes all packages of the program before its main begins, and
// holds what they allocate: a package-level variable that takes 100 ms to compute
// delays each worker by as much. So does what TestMain does before [Main]. Compute
// such things when they are first needed (sync.OnceValue), or start another program
// as the worker, which Workers.Program names: cmd/cassidy-worker is one that has
// what stdlib.Pure returns and little else. With it main need not call [Main]. A
// program that adds pure functions of its own needs a worker of its own, whose main
// gives them to [Main].
//
// A program that is built with -race cannot be a worker, since the race detector
// needs more memory than a worker may have: [New] fails with kind Invalid. Build a
// worker without it, as a test can in TestMain, and name it in Workers.Program.
//
// Workers need no cgo, and confine themselves with cgo or without. Without it
// (CGO_ENABLED=0) a worker loads no C library, starts sooner and holds about 0.6 MB
// less.
package sandbox

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
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
		return tool.Tool{}, value.Errorf(value.Canceled, "%w", err)
	}
	return s.engine.Describe(script)
}

// Run implements [Sandbox].
func (s *Inline) Run(ctx context.Context, script tool.Script, c tool.Call, do tool.Effector) (tool.Outcome, error) {
	return s.engine.Run(ctx, script, c, do)
}
