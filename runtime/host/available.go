package host

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Usable implements [gate.Tools]: it calls the function of a tool that reports whether the tool
// can be used here, and caches the answer until the next [Host.Refresh]. Concurrent calls of
// Usable share one check. A nil run means the runner of the registered tool.
func (c *catalog) Usable(ctx context.Context, t *gate.Callee, run tool.Runner) error {
	if t.Available == "" {
		return nil
	}
	late := func() error {
		return notAvailable(t, value.Errorf(value.Unavailable, "the availability check has not ended").WithHint("do not list or call the tool in its own availability check"))
	}
	return c.answers.Of(ctx, t, availableTimeout, late, func() error { return c.askAvailable(ctx, t, run) })
}

// listable is Usable for a list of tools. On a closed host it returns the cached answer.
func (c *catalog) listable(t *gate.Callee) error {
	if t.Available == "" {
		return nil
	}
	h := c.host
	if err := h.inflight.Enter(); err != nil {
		return c.answers.Known(t)
	}
	defer h.inflight.Leave()
	ctx, done := h.inflight.Until(context.Background())
	defer done()
	return c.Usable(ctx, t, nil)
}

// denies returns a function that reports whether a rule denies all calls of a tool that a model makes.
func denies(c *catalog) func(name string) bool {
	policy := rights.Policy{Rules: c.host.settings().Rules, Tools: c}
	return func(name string) bool {
		o, err := c.lookup(name)
		if err != nil || o.complete() != nil {
			return false
		}
		verdict, _ := (&rights.Rights{Policy: &policy, Of: o.callee.Tool}).JudgeCall()
		return verdict == tool.Deny
	}
}

// askAvailable calls the function of the tool. A script must return True.
func (c *catalog) askAvailable(ctx context.Context, t *gate.Callee, run tool.Runner) error {
	if run == nil {
		o, err := c.lookup(t.Name)
		if err != nil {
			return err
		}
		run = o.run
	}
	ctx, cancel := context.WithTimeoutCause(ctx, availableTimeout, value.Errorf(value.Timeout, "the availability check took longer than %v", availableTimeout))
	defer cancel()
	out, err := c.host.gate.Probe(ctx, c.host.tools(ctx), t, run)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return notAvailable(t, err)
	}
	if out.Value != true {
		return value.Errorf(value.Unavailable, "the tool '%s' is unavailable: the availability check did not return True", t.Name)
	}
	return nil
}

// notAvailable returns the error of a tool that cannot be used here. A tool written in Go
// chooses the kind of the error, except Parked, as a check cannot park a run.
func notAvailable(t *gate.Callee, err error) error {
	e, kind := value.ErrorOf(err, value.Unavailable), value.Unavailable
	if t.Location == tool.Embedded && e.Kind != value.Parked {
		kind = e.Kind
	}
	unavailable := value.Errorf(kind, "the tool '%s' is unavailable: %s", t.Name, e.Message())
	unavailable.Hint = e.Hint
	return unavailable
}

// availableTimeout is how long a tool's own check may take. It is short, as a list of tools
// calls all checks.
const availableTimeout = 2 * time.Second
