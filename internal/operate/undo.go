package operate

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An Undo is which run to undo, and how.
type Undo struct {
	Run string // its ID; the run must have ended
	// Of is the record of a run that is in no journal. Run is then not needed, and the
	// undo is recorded in Record alone. Earlier undos of the run are not taken into
	// account.
	Of *history.Memory
	// To is the first step to undo; all later steps are undone too. Nil undoes the
	// complete run.
	To tool.StepPath
	// Skip continues after a step that cannot be undone, such as one whose files were
	// changed since: [Undone.Skipped] lists these. Otherwise the undo ends there.
	Skip bool
	// ID is that of the run of the undo, which can be undone too. "" continues an undo of
	// the run that was interrupted, if there is one, or makes up an ID.
	ID string
	// Record, Parks and Resume are those of a [Recording], for the undo itself.
	Record        history.Record
	Parks, Resume bool
}

// An Undone is the result of an [Undo].
type Undone struct {
	ID   string // of the run of the undo
	Done []UndoneStep
	// Failed is the step that could not be undone, and Left are the earlier steps, which
	// were not tried. Both are nil if every step was undone.
	Failed *UndoneStep
	Left   []UndoneStep
	// Skipped are the steps that could not be undone, with [Undo.Skip].
	Skipped []UndoneStep
	// Lasting are the steps that cannot be undone: they acted outside the project, and
	// their tools declare no undo.
	Lasting []UndoneStep
}

// Already reports whether the step had been undone before.
func (s *UndoneStep) Already() bool {
	d, ok := s.Value.(*value.Dict)
	return ok && d.Has("done") && !d.Bool("done") && !d.Has("restored")
}

// Complete reports whether everything that the run did is undone.
func (u *Undone) Complete() bool { return u.Failed == nil && len(u.Skipped)+len(u.Lasting) == 0 }

// AddStep adds what a step in the record of the undo did. what are the effects of the run by their steps.
func (u *Undone) AddStep(e *history.Entry, what map[string]string) {
	place := e.Args.Text("place")
	at, err := history.ParseStepPath(place)
	step := UndoneStep{StepPath: at, What: what[place], Value: e.Outcome.Value}
	switch {
	case err != nil || !strings.HasPrefix(e.Func, "undo."):
	case e.Err != nil:
		step.Err, u.Failed = e.Err, &step
	case !e.Settled.IsZero():
		u.Done = append(u.Done, step)
	}
}

// An UndoneStep is one step of the run in an [Undone].
type UndoneStep struct {
	StepPath tool.StepPath
	What     string      // the effect, or the tool that declares the undo
	Value    value.Value // what the undo returned
	Err      error       // why the step could not be undone, or nil
}
