package rights

import (
	"cmp"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Bounds are those of calls that a host sets.
type Bounds struct {
	Limits     tool.Limits   // of a call whose tool sets none
	MaxLimits  tool.Limits   // of any call; a zero field means no maximum
	Timeout    time.Duration // of a call whose tool sets none
	MaxTimeout time.Duration // of any call; 0 means no maximum
	Question   time.Duration // how long a question can be answered; 0 means forever
	// TreeEffects is how many effects a call and everything that it calls may ask for.
	// It is needed because the time of a call stops while it waits for another call.
	TreeEffects int
	RunEffects  int // TreeEffects of a recorded run, and of its replay
}

// Of returns the limits of one call, all of them set: each is that of the call, else that of
// the tool, else the default, and at most the maximum.
func (b *Bounds) Of(c tool.Call, t *tool.Tool) tool.Limits {
	return c.Limits.Or(t.Limits).Or(b.Limits).Or(tool.DefaultLimits()).AtMost(b.MaxLimits)
}

// Time returns the wall time of a call of a tool.
func (b *Bounds) Time(t *tool.Tool) time.Duration {
	d := cmp.Or(t.Timeout, b.Timeout)
	return min(d, cmp.Or(b.MaxTimeout, d))
}

// Effects returns how many effects a run may ask for.
func (b *Bounds) Effects(recorded bool) int {
	if recorded {
		return b.RunEffects
	}
	return b.TreeEffects
}
