package agent

import (
	"cmp"
	"context"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Metered returns a context in which the requests to models of a program are counted, with those
// that its record on the host has. The RunEnd of the program has their usage. The [Settings] in the
// options of the program hold: Ceilings, and MaxTokens, Effort and Temperature for requests that
// set none. Ceilings that are set in c replace them. Metered is for programs other than agents,
// such as workflows: an agent counts its own requests. used returns what the run used so far.
// Metered fails with kind Invalid if a setting is invalid.
func Metered(ctx context.Context, h *host.Host, p *host.Program, c Ceilings) (metered context.Context, used func() Usage, err error) {
	s, err := ReadSettings(p.Options)
	if err != nil {
		return nil, nil, err
	}
	spent, recorded := recordedUsage(ctx, h, p.ID, s.Ceilings)
	r := newRules(c.Or(recorded), recorded, meter.Asks{MaxTokens: s.MaxTokens, Effort: s.Effort, Temperature: s.Temperature})
	m, end := meter.New(meter.Of(ctx), r, spent), p.End
	p.End = func(v value.Value, err error) tool.RunEnd {
		e := tool.RunEnd{Success: err == nil}
		if end != nil {
			e = end(v, err)
		} else if err != nil {
			e.Error = value.ErrorOf(err, value.Failed).Message()
		}
		e.Usage = usageOf(m.Total()).Dict()
		return e
	}
	return meter.With(ctx, m), func() Usage { return usageOf(m.Total()) }, r.Check()
}

// newRules returns the rules for a run with ceilings. They are noted in its record if they are not
// the recorded ones.
func newRules(c, recorded Ceilings, a meter.Asks) *meter.Rules {
	r := &meter.Rules{Ceilings: c, Asks: a}
	r.Changed.Store(c != recorded)
	return r
}

// recordedUsage returns what the recorded steps of a run have used, and its ceilings: those with
// which it began, or which a resume has changed.
func recordedUsage(ctx context.Context, h *host.Host, runID string, c Ceilings) (meter.Usage, Ceilings) {
	u := meter.Usage{}
	if !h.HasStore() {
		return u, c
	}
	for e, err := range h.Steps(ctx, runID) {
		if err != nil {
			break
		}
		u.Add(meter.Step(e.Outcome.Value, e.Notes))
		c = meter.Changed(c, e.Notes)
	}
	return u, c
}

// StepUsage returns what a recorded step of a run used of models, from its outcome and its notes.
// What a run used is the sum of its steps.
func StepUsage(outcome value.Value, notes []*value.Dict) Usage {
	return usageOf(meter.Step(outcome, notes))
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

// checkPrice fails if the cost of a turn is bounded, but the price of the model is not known.
func (a *Agent) checkPrice(ctx context.Context) error {
	if a.opts.Ceilings.CostUSD == 0 {
		return nil
	}
	return a.opts.Ceilings.CheckPrice(a.opts.Model.Name(), a.sizes.Info(ctx).Price)
}

// toolChoice returns the choice for the next request. A call that is required is required once in
// a turn, so that the turn can end, and not for a summary.
func (s *Session) toolChoice() string {
	c := s.agent.opts.ToolChoice
	if c == "" || c == model.ToolNone || s.turn == nil || len(s.turn.result.Calls) == 0 && !s.turn.sums {
		return c
	}
	return model.ToolAuto
}

// used returns what the function of the policy that is in progress has used, for its outcome.
func (t *turn) used() *value.Dict {
	u := t.asking
	t.asking = nil
	return u.Record()
}

// keepUsage records what the function has used as a note, which counts even if the function has no
// outcome: it fails, or its process dies in its next request. It returns err, or the error of the
// record.
func (t *turn) keepUsage(err error) error {
	if t.asking == nil || t.asking.Requests == 0 || t.note == nil {
		return err
	}
	d := t.asking.Note()
	t.asking = nil
	return cmp.Or(t.note(d), err)
}

// keepChange records ceilings that the record of the run does not have yet.
func (t *turn) keepChange() error {
	if t.note == nil {
		return nil
	}
	if changed := t.meter.Change(); changed != nil {
		return t.note(changed)
	}
	return nil
}

// counted adds a request to those of the function of the policy that is in progress.
func (t *turn) counted(u meter.Usage) {
	if t.asking == nil {
		t.asking = &meter.Usage{}
	}
	t.asking.Add(u)
}
