// Package retry decides which steps of a run a retry reuses.
package retry

import (
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Request is which run to do again, and from where.
type Request struct {
	Run string // its ID; the run must have ended or be stuck
	// From is the first step that is done again, with the steps inside it. Nil is the step that
	// failed: the last one whose error ended the run, or else the first one that failed. Then
	// the steps inside it are reused, such as those of a call whose script failed after them.
	// If a run failed without a failed step, all its steps are reused. A run that is stuck is done
	// again from the step whose record cannot be followed.
	From tool.StepPath
	ID   string // of the new run; "" makes up an ID
}

// Step returns the first step of a run that is done again. from is the one that was requested, or
// nil, see [Request].From.
func Step(run *history.Run, from tool.StepPath, entries iter.Seq2[history.Entry, error]) (tool.StepPath, error) {
	var failed, ending, stuck tool.StepPath
	found := false
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		found = found || inside(e.StepPath, from)
		if run.StuckBy(e.Notes) && len(e.StepPath) > 0 {
			stuck = e.StepPath
		}
		if e.Err == nil {
			continue
		}
		if failed == nil {
			failed = e.StepPath
		}
		if run.Err != nil && strings.Contains(run.Err.Message(), e.Err.Message()) {
			ending = e.StepPath
		}
	}
	switch {
	case from != nil && !found:
		return nil, value.Errorf(value.Invalid, "the run '%s' has no step %s", run.ID, from).WithHint("list the steps: cassidy runs show %s; in Go, see Host.Events", run.ID)
	case from != nil:
	case stuck != nil:
		from = stuck
	case ending != nil:
		from = afterSteps(ending)
	case failed != nil:
		from = afterSteps(failed)
	case run.State == history.Done:
		return nil, value.Errorf(value.Invalid, "no step of the run '%s' has failed", run.ID).WithHint("to choose the first step to repeat: cassidy runs retry %s --from STEP", run.ID)
	default:
		from = afterSteps(nil)
	}
	if i := slices.Index(from, 0); i > 0 { // it is done before the step that it is in
		from = from[:i]
	}
	return from, nil
}

// afterSteps returns the end of a step: the step itself is done again, without the steps inside
// it, as those of a call whose script failed after them.
func afterSteps(p tool.StepPath) tool.StepPath { return p.Child(math.MaxInt32) }

// OwnSteps yields the entries of a run without those that it has taken from another one.
func OwnSteps(run history.Run, entries iter.Seq2[history.Entry, error]) iter.Seq2[history.Entry, error] {
	from := run.ForkedAt()
	if from == nil {
		return entries
	}
	return func(yield func(history.Entry, error) bool) {
		for e, err := range entries {
			before := slices.Compare(e.StepPath, from) < 0 && !inside(from, e.StepPath) || slices.Equal(e.StepPath, from.Child(0))
			taken := err == nil && before && !e.Settled.IsZero() && !e.Settled.After(run.Started)
			if !taken && !yield(e, err) {
				return
			}
		}
	}
}

// inside reports whether a step is another one or inside it.
func inside(p, of tool.StepPath) bool { return len(p) >= len(of) && slices.Equal(p[:len(of)], of) }
