package agent

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Usage is what a turn used: all requests to models, with those of sub-agents, compactions and
// scripts, and those before the turn was resumed.
type Usage struct {
	Requests     int // with a reply
	InputTokens  int // as reported by the provider
	OutputTokens int
	CachedTokens int     // of the input
	CostUSD      float64 // by the prices that are known
	Unmeasured   int     // of the requests: those whose tokens the provider did not report
	Unpriced     int     // of the requests: those whose cost is not known
	Estimated    int     // tokens of the conversation, reported or estimated
	Wall         time.Duration
}

// usageOf returns the usage of a turn, without the fields of its conversation.
func usageOf(u meter.Usage) Usage {
	return Usage{
		Requests: u.Requests, InputTokens: u.Input, OutputTokens: u.Output, CachedTokens: u.Cached, CostUSD: u.Cost,
		Unmeasured: u.Unmeasured, Unpriced: u.Unpriced,
	}
}

// Dict returns the usage of the models as programs see it, with requests, input_tokens,
// cached_input_tokens, output_tokens and cost_usd. A number that is known of no request is nil. One
// that is known of some is their sum, a lower bound, and without_tokens or without_cost is how many
// requests are not in it.
func (u Usage) Dict() *value.Dict {
	return meter.Usage{
		Requests: u.Requests, Input: u.InputTokens, Output: u.OutputTokens, Cached: u.CachedTokens, Cost: u.CostUSD,
		Unmeasured: u.Unmeasured, Unpriced: u.Unpriced,
	}.Dict()
}

// Add adds the usage of the models of another turn.
func (u *Usage) Add(more Usage) {
	u.Requests += more.Requests
	u.InputTokens, u.OutputTokens, u.CachedTokens = u.InputTokens+more.InputTokens, u.OutputTokens+more.OutputTokens, u.CachedTokens+more.CachedTokens
	u.CostUSD += more.CostUSD
	u.Unmeasured, u.Unpriced = u.Unmeasured+more.Unmeasured, u.Unpriced+more.Unpriced
}

// String describes the usage of the models on a line, or is "" if there was no request.
func (u Usage) String() string { return meter.Text(u.Dict()) }

// usageRules returns the rules for a run with limits. They are noted in its record if they are not
// the recorded ones.
func usageRules(l, recorded meter.Limits, a meter.Asks) *meter.Rules {
	r := &meter.Rules{Limits: l, Asks: a}
	r.Changed.Store(l != recorded)
	return r
}

// recordedUsage returns what the recorded steps of a run have used, and its limits: those with
// which it began, or which a resume has changed.
func recordedUsage(ctx context.Context, h *host.Host, runID string, l meter.Limits) (meter.Usage, meter.Limits) {
	u := meter.Usage{}
	if !host.Operate(h).HasStore() {
		return u, l
	}
	for e, err := range host.Operate(h).Steps(ctx, runID) {
		if err != nil {
			break
		}
		u.Add(meter.Step(e.Outcome.Value, e.Notes))
		l = meter.Changed(l, e.Notes)
	}
	return u, l
}
