package app

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent"
)

// A RunState is what a run has of its own on a host that executes several runs, as that of a worker does. It travels
// in the context of the run. The fields are set before the script of the run begins.
type RunState struct {
	Model    string                                        // for scripts, as that of --model
	Patience time.Duration                                 // the idle timeout of that model; 0 is ModelTimeout
	Agent    func(context.Context) (*agent.Options, error) // of the agents that the tool agent starts
}

type runStateKey struct{}

// WithRunState returns a context for a run.
func WithRunState(ctx context.Context, s *RunState) context.Context {
	return context.WithValue(ctx, runStateKey{}, s)
}

// RunStateOf returns the state of the run of a context, or nil if the command executes only one run.
func RunStateOf(ctx context.Context) *RunState {
	s, _ := ctx.Value(runStateKey{}).(*RunState)
	return s
}
