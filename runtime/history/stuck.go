package history

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A run is stuck if nobody can continue it and trying again would not help: an effect of the
// script differs from the recorded one, or a part of the record is damaged. That is a state, so
// that nobody tries again by himself. It is set by the process that tried to continue the run, and
// an explicit Resume clears it, as the cause may be gone: another version of cassidy is installed,
// or the journal was restored. It is in the row of the run and not in its record, because nothing
// may be appended to a damaged record.
//
// A record of another format is not marked, because the version that wrote it can continue the
// run: only for this version it is stuck.

// noteStuck is the name in the note at the step that stuck a run.
const noteStuck = "stuck"

// StuckBy reports whether the run is stuck because of a step with these notes.
func (r *Run) StuckBy(notes []*value.Dict) bool {
	return r.State == Stuck && slices.ContainsFunc(notes, func(n *value.Dict) bool { return n.Has(noteStuck) && n.Text(noteStuck) == r.Stuck })
}

// stuckText returns the reason of a run that is stuck, which must not be empty.
func stuckText(why string) string {
	return cmp.Or(value.Clean(why, value.MaxErrorText), "its record cannot be followed")
}

// stick sets the state of a run that is stuck.
func (h *head) stick(why string, at time.Time) {
	h.stand(Stuck, at)
	h.stuck = stuckText(why)
}

// Unstick returns what to do about a run that is stuck, or "" for one that is not.
func (r *Run) Unstick() string {
	resume := "after the cause is gone: cassidy runs resume " + r.ID
	switch {
	case r.State != Stuck:
		return ""
	case r.Damage != nil:
		return "restore the journal from a backup, or use the version of cassidy that recorded the run; " + resume
	case r.Kind == "chat":
		return "to end the turn, so that the chat can continue: cassidy runs cancel " + r.ID + "; " + resume
	case r.Kind == "undo":
		return "to end the undo, so that you can begin another one: cassidy runs cancel " + r.ID + "; " + resume
	}
	return "to repeat the run from the step that differs: cassidy runs retry " + r.ID + "; " + resume
}

// Stick marks a run that has not ended as stuck if why, the error with which it cannot be read, is
// that its record is damaged. It does nothing while somebody holds the run.
func (j *Journal) Stick(ctx context.Context, id string, why error) {
	if value.KindOf(why) != value.Failed {
		return
	}
	if release, err := j.Hold(ctx, id); err == nil {
		_ = j.stickDamaged(ctx, id, why) // why is more important
		release()
	}
}

// stickDamaged marks a run as stuck whose record cannot be read because of why. The caller holds
// the run. Nothing is written to the damaged record: only the row has the state, see [head.agrees].
func (j *Journal) stickDamaged(ctx context.Context, id string, why error) error {
	if value.KindOf(why) != value.Failed {
		return nil // another version, or the store cannot be read now
	}
	row, err := j.store.Find(ctx, j.tenant, id)
	if row.Num == 0 || row.State.Ended() {
		return err
	}
	var h head
	h.stick(value.ErrorOf(why, value.Failed).Message(), j.clock.now())
	s := h.standing()
	return j.store.Commit(ctx, []*journal.Write{{Num: row.Num, Set: &s}})
}

// stuckAs sets the state of a run whose row says that it is stuck. A damaged run whose record has
// another format is stuck too, as far as this version can tell.
func (r *Run) stuckAs(row *journal.Row) {
	switch {
	case row.State == Stuck:
		r.State, r.Stuck, r.Reason, r.Wake = Stuck, row.Stuck, "", time.Time{}
	case r.Damage != nil && value.KindOf(r.Damage) == value.Unavailable && !row.State.Ended():
		r.State, r.Stuck, r.Reason, r.Wake = Stuck, value.ErrorOf(r.Damage, value.Unavailable).Message(), "", time.Time{}
	}
}
