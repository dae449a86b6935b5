package agent

import (
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
	if err := host.Operate(h).Valid(); err != nil {
		return nil, nil, err
	}
	s, err := ReadSettings(p.Options)
	if err != nil {
		return nil, nil, err
	}
	before, recorded := recordedUsage(ctx, h, p.ID, meter.Limits{Ceilings: s.Ceilings})
	r := usageRules(meter.Limits{Ceilings: c.Or(recorded.Ceilings)}, recorded, meter.Asks{MaxTokens: s.MaxTokens, Effort: s.Effort, Temperature: s.Temperature})
	m, end := meter.New(meter.Of(ctx), r, before), p.End
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
	used = func() Usage {
		if host.Operate(h).Elsewhere(p.ID) { // others have counted
			all, _ := recordedUsage(context.WithoutCancel(ctx), h, p.ID, meter.Limits{})
			return usageOf(all)
		}
		return usageOf(m.Total())
	}
	return meter.With(ctx, m), used, r.Check()
}

// StepUsage returns what a recorded step of a run used of models, from its outcome and its notes.
// What a run used is the sum of its steps.
func StepUsage(outcome value.Value, notes []*value.Dict) Usage {
	return usageOf(meter.Step(outcome, notes))
}

// checkPrice fails if the cost of a turn is bounded, but the price of the model is not known.
func (a *Agent) checkPrice(ctx context.Context) error {
	if a.opts.Ceilings.CostUSD == 0 {
		return nil
	}
	return a.opts.As.ExplainCost(a.opts.Ceilings.CheckPrice(a.opts.Model.Name(), a.sizes.Info(ctx).Price))
}

// toolChoice returns the choice for the next request. A call that is required is required once in
// a turn, so that the turn can end, and not for a summary.
func (s *Session) toolChoice() string {
	c := s.agent.opts.ToolChoice
	if s.turn != nil && s.turn.sums {
		return model.ToolNone
	}
	if c == "" || c == model.ToolNone || s.turn == nil || len(s.turn.result.Calls) == 0 {
		return c
	}
	return model.ToolAuto
}
