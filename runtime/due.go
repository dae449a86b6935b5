package runtime

import (
	"context"
	"iter"

	"github.com/cassidy-run/cassidy/runtime/history"
)

// Due yields the runs that [Host.Resume] can continue now, the newest first: parked
// ones whose time has come, that got an answer, were interrupted, or wait for what may
// be available again, and then those whose process died. It leaves out the runs that
// this or another process executes. A run may be one that only its kind can resume,
// or whose tool is unavailable: Resume then fails, and the run stays due.
//
// A server resumes what is due when it starts, after an answer, and every few seconds
// for runs that sleep. The loop may call Resume. It fails with kind Invalid if the
// host has no store.
func (h *Host) Due(ctx context.Context) iter.Seq2[history.Run, error] {
	return func(yield func(history.Run, error) bool) {
		j, err := h.journal()
		if err != nil {
			yield(history.Run{}, err)
			return
		}
		for r, err := range j.Due(ctx, h.now()) {
			if !yield(r, err) {
				return
			}
		}
		for r, err := range j.Runs(ctx, history.Filter{States: []history.State{history.Running}}) {
			if (err != nil || !j.Held(r.ID)) && !yield(r, err) {
				return
			}
		}
	}
}
