package host

// maxTreeEffects is how many effects a call and all that it calls may ask for, if they
// are not recorded.
const maxTreeEffects = 10_000

// MaxRunEffects is how many effects a recorded run may ask for, with its calls.
const MaxRunEffects = 1_000_000
