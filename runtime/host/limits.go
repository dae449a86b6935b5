package host

import (
	"cmp"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// The bounds of a call, beside the limits that a tool may set.
const (
	// MaxEffects is how many effects one call may ask for.
	MaxEffects = 1000
	// MaxTreeEffects is how many a call and all that it calls may ask for: the
	// time of a call does not run while it waits for one that it made.
	MaxTreeEffects = 10_000
	// MaxDepth is how deep tools may call tools.
	MaxDepth = 16
	// MaxErrorText is how much of an error's text is kept, in bytes.
	MaxErrorText = 4 << 10
	// MaxLogBytes and MaxLogLines are how much a call may log.
	MaxLogBytes = 64 << 10
	MaxLogLines = 200
)

// limits are those of one call, all of them set: what the call sets, else the
// tool, else the host's default, and no more than the host allows.
func (h *Host) limits(c tool.Call, t *tool.Tool) tool.Limits {
	return c.Limits.Or(t.Limits).Or(h.opts.Limits).Or(tool.DefaultLimits()).AtMost(h.opts.MaxLimits)
}

// timeout is the wall time of a call of a tool.
func (h *Host) timeout(t *tool.Tool) time.Duration {
	d := cmp.Or(t.Timeout, h.opts.Timeout)
	return min(d, cmp.Or(h.opts.MaxTimeout, d))
}

// anyNegative reports whether a field of l is negative.
func anyNegative(l tool.Limits) bool {
	return l.Steps < 0 || l.CPU < 0 || l.Memory < 0 || l.Result < 0
}
