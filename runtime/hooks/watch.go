package hooks

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Watch is the hooks of an agent and the functions in Go that do the same. A function in Go comes
// first. Nil functions do nothing.
type Watch struct {
	*Set
	Before  func(ctx context.Context, r *model.Request) error
	Stop    func(ctx context.Context, s Stop) (reason string, err error)
	Compact func(ctx context.Context, summary string) (string, error)
}

// Asks reports whether requests are watched.
func (w Watch) Asks() bool { return w.Before != nil || w.Set.Asks() }

// Stops reports whether answers are watched.
func (w Watch) Stops() bool { return w.Stop != nil || w.Set.Stops() }

// BeforeAsk is [Set.BeforeAsk].
func (w Watch) BeforeAsk(ctx context.Context, r *model.Request) error {
	if w.Before != nil {
		if err := w.Before(ctx, r); err != nil {
			return err
		}
	}
	return w.Set.BeforeAsk(ctx, r)
}

// OnStop is [Set.OnStop].
func (w Watch) OnStop(ctx context.Context, s Stop) (reason string, err error) {
	if w.Stop != nil {
		if reason, err = w.Stop(ctx, s); reason != "" || err != nil {
			return reason, err
		}
	}
	return w.Set.OnStop(ctx, s)
}

// OnCompact is [Set.OnCompact].
func (w Watch) OnCompact(ctx context.Context, summary string) (string, error) {
	if w.Compact != nil {
		var err error
		if summary, err = w.Compact(ctx, summary); err != nil {
			return "", err
		}
	}
	return w.Set.OnCompact(ctx, summary)
}

// Refused returns the error of an answer that was refused with a reason, or nil for "".
func Refused(reason string) error {
	if reason == "" {
		return nil
	}
	return value.Errorf(value.Denied, "the answer was refused: %s", reason).
		WithHint("in the policy, call agent.stop(answer) before agent.finish; if the answer is refused, agent.stop returns a message for the model")
}
