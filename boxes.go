package cassidy

import (
	"context"
	goruntime "runtime"

	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/project"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// A Mode says where scripts run that are not cassidy's own.
type Mode = project.SandboxMode

// The modes. In the first two a script has a process of its own, in which it
// can compute and nothing else; the program's main must begin with
// [sandbox.Main].
const (
	// Process keeps the process for the next call of the same script.
	Process = project.SandboxProcess
	// Strict makes a new one for each call.
	Strict = project.SandboxStrict
	// Inline runs scripts in the program itself, which they can exhaust and
	// hang: for scripts that are trusted as far as it is.
	Inline = project.SandboxInline
)

// boxes are the sandboxes of a host.
type boxes struct {
	strangers sandbox.Sandbox
	ours      sandbox.Sandbox // of the tools that come with cassidy
	// describeAll reads what many files of strangers declare; nil where describing one
	// at a time is as fast.
	describeAll func(context.Context, []tool.Script) ([]tool.Tool, []error)
	close       func() error
}

// openBoxes opens the sandboxes that the options and the user's config ask for.
func openBoxes(o *Options, c project.SandboxConfig, effects []tool.Module) (boxes, error) {
	modules := append(stdlib.Pure(), effects...)
	modules = append(modules, runtime.Modules()...)
	modules = append(modules, agent.Modules()...)
	inline := sandbox.NewInline(modules...)
	mode := o.Sandbox
	if mode == "" {
		mode = c.Mode
	}
	if mode == Inline {
		if c.Required != nil && *c.Required {
			return boxes{}, tool.Errorf(tool.Denied, "your config requires a sandbox that confines scripts, and the mode inline does not").
				WithHint("take the mode process or strict")
		}
		return boxes{strangers: inline, ours: inline, close: func() error { return nil }}, nil
	}
	workers, err := sandbox.New(&sandbox.Options{Workers: sandbox.Workers{Program: o.Worker}, Strict: mode == Strict, Unconfined: !required(c)}, modules...)
	if err != nil {
		return boxes{}, err
	}
	return boxes{workers, inline, workers.DescribeAll, workers.Close}, nil
}

// required reports whether nothing may be run that the system does not confine.
func required(c project.SandboxConfig) bool {
	if c.Required != nil {
		return *c.Required
	}
	return goruntime.GOOS == "linux"
}
