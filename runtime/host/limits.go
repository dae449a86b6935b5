package host

const (
	// maxTreeEffects is how many effects a call and all that it calls may ask for, if they
	// are not recorded.
	maxTreeEffects = 10_000
	// MaxRunEffects is how many effects a recorded run may ask for, with its calls.
	MaxRunEffects = 1_000_000
)
