package runtime

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// An Asked is a question to a person that is no matter of approval.
type Asked struct {
	Run     string     // the run in which it came up, or "" where none is recorded
	Place   tool.Place // where in the run
	By      string     // the tool or program that asks
	Text    string
	Confirm bool // the answer is a bool; else a text
	// Unknown is an effect that may have been done or not, since the run broke
	// off during it, where the question is whether to do it again; else nil.
	Unknown *tool.Effect
}

// An Ask puts a question to a person. It is asked one question at a time, while
// the time of the call stands still. An error of kind [tool.Parked] says that
// nobody is there after all: a run that can wait then does.
type Ask func(ctx context.Context, q Asked) (tool.Value, error)
