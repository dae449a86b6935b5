package gate

// The bounds of a call, in addition to the limits that a tool may set.
const (
	MaxEffects               = 1000          // effects of one call
	MaxDepth                 = 16            // levels of nested calls of tools
	MaxLogBytes, MaxLogLines = 64 << 10, 200 // bytes and number of the notices of a call
)

// mostEffects returns how many effects a run may ask for. A replay counts as recorded.
func (r *Run) mostEffects() int { return r.now.Bounds.Effects(!r.record.Live() || r.record.Keeps()) }
