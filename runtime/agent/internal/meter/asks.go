package meter

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Asks are the settings of requests to a model. A zero field leaves it to the model, see
// [model.Request].
type Asks struct {
	MaxTokens   int
	Effort      string
	Temperature *float64
}

// Rules are the settings of the requests of a run. The zero value has none.
type Rules struct {
	Limits
	Asks
	// Agent is the name of the agent, in a run of another one, whose own ceilings these are, or "".
	// At such a ceiling only the agent ends, since its ceilings cannot be raised.
	Agent string
	// Changed is whether the limits are not recorded yet.
	Changed atomic.Bool
}

// Check returns an error if a setting is invalid.
func (r *Rules) Check() error {
	if err := r.Asks.Check(); err != nil {
		return err
	}
	return r.Ceilings.Check()
}

// Asks returns the settings of the requests of a run; a nil Meter has none.
func (m *Meter) Asks() Asks {
	if m == nil {
		return Asks{}
	}
	return m.rules.Asks
}

// Change returns, once, a note for the record of a run with limits that it does not have yet, or
// nil. [Changed] reads it.
func (m *Meter) Change() *value.Dict {
	if m == nil || !m.rules.Changed.CompareAndSwap(true, false) {
		return nil
	}
	v, err := value.FromGo(m.rules.Limits)
	if err != nil {
		return nil
	}
	return value.NewDict(limits, v)
}

// limits is the name of the limits in a note.
const limits = "ceilings"

// Changed returns the limits in the notes of a step, or l if there are none.
func Changed(l Limits, notes []*value.Dict) Limits {
	for _, n := range notes {
		if changed, err := value.ToGo[Limits](n.Dict(limits)); err == nil && n.Has(limits) {
			changed.Iterations = cmp.Or(changed.Iterations, l.Iterations)
			l = changed
		}
	}
	return l
}

// efforts are the values of Asks.Effort.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Check returns an error if a setting is invalid.
func (a *Asks) Check() error {
	switch t := a.Temperature; {
	case a.MaxTokens < 0:
		return value.Errorf(value.Invalid, "the limit of a reply must be a positive number of tokens, not %d", a.MaxTokens)
	case a.Effort != "" && !slices.Contains(efforts, a.Effort):
		return value.Errorf(value.Invalid, "unknown effort %q%s", a.Effort, value.DidYouMean(a.Effort, efforts)).WithHint("use one of: \"%s\"", strings.Join(efforts, `", "`))
	case t != nil && !(*t >= 0 && *t <= 2): // also for NaN
		return value.Errorf(value.Invalid, "the temperature must be a number from 0 to 2, not %v", *t)
	}
	return nil
}

// Fill sets what a request leaves to the model.
func (a *Asks) Fill(r *model.Request) {
	r.MaxTokens, r.Effort = cmp.Or(r.MaxTokens, a.MaxTokens), cmp.Or(r.Effort, a.Effort)
	r.Temperature = cmp.Or(r.Temperature, a.Temperature)
}
