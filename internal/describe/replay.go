package describe

import (
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Replayed is a replay beside the run that it repeats.
type Replayed struct {
	*host.Replayed
	Same  bool // it ended as the run did
	Open  bool // the run has not ended, or was cancelled: the replay may end anywhere
	Exact bool // nothing differs
}

// ReplayOf compares a replay with its run. changed is that a script was replaced.
func ReplayOf(r *history.Run, out *host.Replayed, changed bool) *Replayed {
	v := &Replayed{Replayed: out, Open: !r.State.Ended() || r.State == history.Cancelled}
	v.Same = v.Open || !out.Ended && value.Equal(out.Outcome.Value, r.Result) && (out.Err == nil) == (r.Err == nil)
	v.Exact = !changed && len(out.Differences) == 0 && (v.Same && !out.Ended || v.Partial())
	return v
}

// Partial reports whether the replay has come as far as a run that has not ended.
func (v *Replayed) Partial() bool { return v.Ended && v.Open && len(v.Differences) == 0 }

// OutcomeText is a value, or an error unless that is nil.
func OutcomeText(v value.Value, e *value.Error) string {
	if e != nil {
		return "failed: " + e.Message()
	}
	if text, ok := v.(string); ok {
		return text
	}
	return value.FormatJSON(v, "")
}
