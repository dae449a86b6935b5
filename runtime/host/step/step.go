// Package step lets handlers of tools in Go act by steps. Each step passes the gate of the host.
package step

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Do carries out a step, and returns its result. The context is that of the handler of a tool with
// Steps or OnlyCalls. name is that of one of the Steps, or of an effect of the host that the Needs of the
// tool include, such as human.ask. The arguments are given by name. The step is checked, approved and
// recorded like an effect of a script.
//
// When a run is resumed, the handler is run again, and gets the recorded outcomes of its steps. It must
// make its steps and calls in the same order, and one at a time.
//
// An error of kind Parked means that the run waits for an answer: the handler must return it unchanged.
func Do(ctx context.Context, name string, args *value.Dict) (value.Value, error) {
	return gate.Do(ctx, name, args)
}
