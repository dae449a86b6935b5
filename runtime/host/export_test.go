package host

import "github.com/cassidy-run/cassidy/runtime/host/internal/gate"

// The bounds that tests reach.
const (
	MaxDepth       = gate.MaxDepth
	MaxLogLines    = gate.MaxLogLines
	MaxTreeEffects = maxTreeEffects
)
