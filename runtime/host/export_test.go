package host

import "github.com/cassidy-run/cassidy/runtime/host/internal/gate"

// The bounds that tests reach.
const (
	MaxDepth       = gate.MaxDepth
	MaxLogLines    = gate.MaxLogLines
	MaxTreeEffects = maxTreeEffects
)

// LeftAlone returns the error of a file that could not be restored.
var LeftAlone = leftAlone
