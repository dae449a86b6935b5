package gate

import (
	"cmp"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// The bounds of a call, in addition to the limits that a tool may set.
const (
	// MaxEffects is how many effects one call may ask for.
	MaxEffects = 1000
	// MaxDepth is how deep calls of tools may be nested.
	MaxDepth = 16
	// MaxLogBytes and MaxLogLines are how many bytes and notices a call may emit.
	MaxLogBytes = 64 << 10
	MaxLogLines = 200
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

// mostEffects returns how many effects a run may ask for.
func mostEffects(r *Run) int {
	if r.record.Live() && !r.record.Keeps() {
		return r.gate.Bounds().TreeEffects
	}
	return r.gate.Bounds().RunEffects
}

// of returns the limits of one call, all of them set: each is that of the call, else that of
// the tool, else the default, and at most the maximum.
func (b *Bounds) of(c tool.Call, t *tool.Tool) tool.Limits {
	return c.Limits.Or(t.Limits).Or(b.Limits).Or(tool.DefaultLimits()).AtMost(b.MaxLimits)
}

// time returns the wall time of a call of a tool.
func (b *Bounds) time(t *tool.Tool) time.Duration {
	d := cmp.Or(t.Timeout, b.Timeout)
	return min(d, cmp.Or(b.MaxTimeout, d))
}
