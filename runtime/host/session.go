package host

import (
	"context"
	"iter"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// HasStore reports whether the host can record runs. Without a store a session
// lives in memory, and nothing can be resumed.
func (h *Host) HasStore() bool { return h.opts.Journal != nil }

// LastTurn returns the newest run of a session, whatever its state. It reads no
// other run. It fails with kind NotFound if the host's tenant has none.
func (h *Host) LastTurn(ctx context.Context, session string) (history.Run, error) {
	if session == "" {
		return history.Run{}, value.Errorf(value.Invalid, "a session needs an ID")
	}
	for r, err := range h.Runs(ctx, history.Filter{Session: session, Limit: 1}) {
		return r, err
	}
	return history.Run{}, value.Errorf(value.NotFound, "the session '%s' has no turns", value.Clean(session, 80))
}

// Steps yields what is recorded of a run, by step, see [history.Journal.Entries].
func (h *Host) Steps(ctx context.Context, runID string) iter.Seq2[history.Entry, error] {
	return func(yield func(history.Entry, error) bool) {
		j, err := h.journal()
		if err != nil {
			yield(history.Entry{}, err)
			return
		}
		for e, err := range j.Entries(ctx, runID) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// Running reports whether somebody executes a run now, here or in another
// process.
func (h *Host) Running(runID string) bool {
	j, err := h.journal()
	return err == nil && j.Held(runID)
}

// EnsureKind returns the kind of runs that is registered under a name, and
// registers what make returns where none is. It serves a package whose objects
// share one kind on a host: Kind.Data holds what they share.
func (h *Host) EnsureKind(name string, make func() Kind) Kind {
	h.mu.Lock()
	defer h.mu.Unlock()
	k, exists := h.kinds[name]
	if !exists {
		k = make()
		k.Name = name
		h.kinds[name] = k
	}
	return k
}
