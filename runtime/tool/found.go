package tool

import "context"

// A Found is a tool that a search of a folder came upon: what its file
// declares, and the way to its source, which is read on the first call.
type Found struct {
	Tool Tool
	Load func() (Script, error)
}

// A Runner runs a checked call of one tool, however that is written. The
// script's effects go to do.
type Runner func(ctx context.Context, c Call, do Effector) (Outcome, error)
