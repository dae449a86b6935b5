// Package sandbox runs a script where it can compute but not act.
//
// A [Sandbox] takes a script and a call as plain values, and returns plain values. The
// script requests everything else as effects, which the caller carries out. So the script
// may run in another process, without a difference for its caller.
//
// [Inline] runs scripts in this process. It stops a script that takes too many steps or
// whose context ends, and guarantees nothing else: a script can still exhaust the memory
// of the process, or block it inside one operation. Use it for scripts that are as trusted
// as the program itself.
//
// # Workers
//
// [Process] runs scripts in workers: processes that [Main] makes of a program, and that can
// do nothing but compute. By default that program is the one that has the sandbox, started
// again, so [Main] must be the first call of its main, and of TestMain in a test:
//
//	func TestMain(m *testing.M) {
//		sandbox.Main(stdlib.Pure()...)
//		os.Exit(m.Run())
//	}
//
// A worker then initializes all packages of the program before its main begins, and
// holds what they allocate: a package-level variable that takes 100 ms to compute
// delays each worker by as much. So does what TestMain does before [Main]. Compute
// such values when they are first needed (sync.OnceValue), or start another program
// as the worker, which Workers.Program names. cmd/cassidy-worker is such a program: it
// has what stdlib.Pure returns and little else. With it main need not call [Main]. A
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
//
// On Linux a worker is confined by resource limits, Landlock and seccomp; [Confinement]
// lists these layers. Package sandbox/launch confines the commands that scripts run.
package sandbox

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Sandbox reads and runs scripts. It is safe for concurrent use.
type Sandbox interface {
	// Describe reads what a tool's file declares, without running it. An error of the
	// file has its position.
	Describe(ctx context.Context, s tool.Script) (tool.Described, error)
	// Run calls one function of a script: the one that c.Entry names, or the tool's
	// handler. The arguments must be those that the tool's check returned. Zero limits
	// of c are the defaults of package tool. The effects that the script requests go to
	// do; if that is nil, every effect is an error of kind Denied. The outcome's usage is
	// also set when Run fails. Beside the errors of the script there are those of kind
	// Limit for what it may use, and Timeout or Canceled when ctx ends.
	Run(ctx context.Context, s tool.Script, c tool.Call, do tool.Effector) (tool.Outcome, error)
}

// Inline is the [Sandbox] that runs scripts in this process. It bounds their steps, but
// not their memory, and their time only by the context. The zero value is not usable: see
// [NewInline].
type Inline struct {
	engine *engine.Engine
}

// NewInline returns an in-process sandbox whose scripts have the functions of
// these modules. Pure functions run in place. Of the others only names, parameters and
// kind are used: they become effects. A function without a valid kind makes each call
// fail, with an error of kind Invalid.
func NewInline(modules ...tool.Module) *Inline {
	return &Inline{engine.New(&engine.Options{Modules: modules})}
}

// Describe implements [Sandbox].
func (s *Inline) Describe(ctx context.Context, script tool.Script) (tool.Described, error) {
	if err := ctx.Err(); err != nil {
		return tool.Described{}, value.Errorf(value.Canceled, "%w", err)
	}
	t, err := s.engine.Describe(script)
	return t, WithExcerpts(err, &script)
}

// Run implements [Sandbox].
func (s *Inline) Run(ctx context.Context, script tool.Script, c tool.Call, do tool.Effector) (tool.Outcome, error) {
	out, err := s.engine.Run(ctx, script, c, do)
	withTexts(out.Lines, &script)
	return out, WithExcerpts(err, &script)
}
