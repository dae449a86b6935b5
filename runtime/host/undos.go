package host

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// undoKind is the kind of the run that undoes another.
const undoKind = "undo"

// The effects of an undo.
const (
	undoEffect = "undo.effect"
	undoCall   = "undo.call"
)

// undosOf returns the steps of a run that undos have undone which were not undone themselves, and
// the undo that has not ended, if there is one. It leaves out the undo with the ID except.
func undosOf(ctx context.Context, j *history.Journal, run, except string) (undone map[string]bool, open *history.Run, err error) {
	undos := map[string][]history.Run{} // by the run that they undo
	for r, err := range j.Runs(ctx, history.Filter{Kind: undoKind}) {
		if err != nil {
			return nil, nil, err
		}
		of := r.Options.Text("run")
		if of == run && r.ID != except && !r.State.Ended() {
			open = &r
		} else if r.ID != except {
			undos[of] = append(undos[of], r)
		}
	}
	undone = map[string]bool{}
	for _, r := range undos[run] {
		steps, err := stepsUndoneBy(ctx, j, r.ID)
		if err != nil {
			return nil, nil, err
		}
		reverted, err := isUndone(ctx, j, undos, r.ID)
		if err != nil {
			return nil, nil, err
		}
		for place, call := range steps {
			undone[place] = undone[place] || call || !reverted // a call is undone only once
		}
	}
	return undone, open, nil
}

// stepsUndoneBy returns the steps that an undo has undone, and whether each is a call.
func stepsUndoneBy(ctx context.Context, j *history.Journal, id string) (map[string]bool, error) {
	steps := map[string]bool{}
	for e, err := range j.Entries(ctx, id) {
		if err != nil {
			return nil, err
		}
		if (e.Func == undoCall || e.Func == undoEffect) && !e.Settled.IsZero() && e.Err == nil {
			steps[e.Args.Text("place")] = e.Func == undoCall
		}
	}
	return steps, nil
}

// isUndone reports whether an undo was undone itself, at least in part.
func isUndone(ctx context.Context, j *history.Journal, undos map[string][]history.Run, id string) (bool, error) {
	for _, by := range undos[id] {
		reverted, err := isUndone(ctx, j, undos, by.ID)
		if err != nil {
			return false, err
		}
		steps, err := stepsUndoneBy(ctx, j, by.ID)
		if err != nil || len(steps) > 0 && !reverted {
			return true, err
		}
	}
	return false, nil
}

// checkNoUndos fails with kind Conflict if an undo has undone steps of a run, or of one that it has
// steps from: they are not what they were. That holds for an undo that was cancelled, too.
func checkNoUndos(ctx context.Context, j *history.Journal, runID string) error {
	for id := runID; id != ""; {
		undone, open, err := undosOf(ctx, j, id, "")
		if err != nil {
			return err
		}
		if open != nil || len(undone) > 0 {
			return value.Errorf(value.Conflict, "the run '%s' cannot be retried: steps of the run '%s' were undone", runID, id).WithHint("begin a new run")
		}
		log, err := j.Read(ctx, id)
		if value.KindOf(err) == value.NotFound { // it was deleted
			return nil
		}
		if err != nil {
			return err
		}
		id = log.Run().ForkedFrom
	}
	return nil
}

// lasts reports whether a step acted outside the project, or may have, so that an undo lists it.
// f is its function, or nil if the host has none. An effect that only read, or was refused
// before it began, did not.
func lasts(e *history.Entry, f *tool.Func) bool {
	if e.Kind != tool.External || f != nil && f.ReadsOnly != nil && f.ReadsOnly(e.Args) {
		return false
	}
	if e.Err == nil {
		return true
	}
	switch e.Err.Kind {
	case value.Denied, value.Security, value.Unanswered, value.Invalid, value.NotFound:
		return false
	}
	return true
}
