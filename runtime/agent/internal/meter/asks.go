package meter

import (
	"cmp"
	"slices"
	"strings"

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

// efforts are the values of Asks.Effort.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Check returns an error if a setting is invalid.
func (a *Asks) Check() error {
	switch t := a.Temperature; {
	case a.MaxTokens < 0:
		return value.Errorf(value.Invalid, "the limit of a reply must be a positive number of tokens, not %d", a.MaxTokens)
	case a.Effort != "" && !slices.Contains(efforts, a.Effort):
		return value.Errorf(value.Invalid, "unknown effort %q%s", a.Effort, value.DidYouMean(a.Effort, efforts)).WithHint("use one of %s", strings.Join(efforts, ", "))
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
