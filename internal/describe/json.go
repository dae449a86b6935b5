package describe

import (
	"fmt"
	"strconv"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Tokens is how many tokens models read and wrote.
type Tokens struct{ In, Out int64 }

// Count adds the tokens of a step, and returns them.
func (n *Tokens) Count(e *history.Entry) (of Tokens) {
	d, _ := e.Outcome.Value.(*value.Dict)
	of = Tokens{d.Int("input_tokens"), d.Int("output_tokens")}
	n.In, n.Out = n.In+of.In, n.Out+of.Out
	return of
}

func (n Tokens) String() string {
	if n == (Tokens{}) {
		return ""
	}
	return fmt.Sprintf("%d in, %d out", n.In, n.Out)
}

// StepDict is a step as --json prints it. times are those of its run, or nil.
func StepDict(e *history.Entry, times *history.Times) *value.Dict {
	w := wordsOf(e)
	d := value.NewDict("place", e.StepPath.String(), "func", e.Func, "args", Args(e), "started", stamp(e.Intended), "ended", stamp(e.Settled),
		"success", e.Err == nil && !e.Settled.IsZero(), "value", e.Outcome.Value, "size", int64(size(w.value)))
	if !e.Settled.IsZero() {
		PutTimes(d)(times.Step(e))
	}
	if e.Err != nil {
		PutError(d, e.Err)
	}
	if e.Change != nil {
		d.Put("change", e.Change)
	}
	var tokens Tokens
	if tokens.Count(e) != (Tokens{}) {
		d.Put("input_tokens", tokens.In)
		d.Put("output_tokens", tokens.Out)
	}
	if len(e.Notes) > 0 {
		d.Put("notes", value.List(value.Map(e.Notes, shownNote)))
	}
	if len(e.Questions) > 0 {
		d.Put("questions", questionList(e.Questions))
	}
	return d
}

// PutTimes returns a function that puts how long something worked and waited into its JSON.
func PutTimes(d *value.Dict) func(worked, waited time.Duration) {
	return func(worked, waited time.Duration) {
		d.Put("duration_ms", float64(worked.Microseconds())/1000)
		d.Put("waited_ms", float64(waited.Microseconds())/1000)
	}
}

// NoteText describes a note of a step, such as when a sleep ends. It returns "" for one
// that means nothing to people.
func NoteText(d *value.Dict) string {
	switch {
	case d.Has("always"):
		return "approved for the rest of the run"
	case d.Has("until"):
		return "sleeps until " + d.Text("until")
	case d.Has("failed"):
		return "failed: " + d.Text("failed")
	case d.Has("stuck"):
		return "the run was stuck here: " + d.Text("stuck")
	case d.Has("not_done"):
		return "attempt " + strconv.FormatInt(d.Int("not_done"), 10) + " was not done"
	case d.Has("undo"):
		return "can be undone"
	case d.Has("ceilings"):
		return "the limits are now " + value.FormatJSON(d.Dict("ceilings"), "")
	case d.Has("untrusted") && d.Text("what") == "":
		return "returned untrusted text"
	case d.Has("untrusted"):
		return "read untrusted text: " + d.Text("what")
	case d.Has("tool"), d.Has("usage"):
		return ""
	}
	return value.FormatJSON(d, "")
}

// shownNote is a note without the script of a tool, which is long.
func shownNote(n *value.Dict) value.Value {
	d := &value.Dict{}
	for k, v := range n.All() {
		if name, _ := k.(string); name != "script" {
			d.Put(name, v)
		}
	}
	return d
}

// Args returns the arguments of a step. A commit has none: its arguments are the contents
// of the files, and its changes describe them.
func Args(e *history.Entry) *value.Dict {
	if e.Func == "fs.commit" || e.Args == nil {
		return &value.Dict{}
	}
	return e.Args
}
