package host

import (
	"context"
	"iter"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// HasStore reports whether the host can record runs. Without a store, sessions are kept in
// memory and no run can be resumed.
func (h *Host) HasStore() bool { return h.opts.Journal != nil }

// Project returns Options.Project, the project of the host's runs.
func (h *Host) Project() string { return h.opts.Project }

// LastTurn returns the newest run of a session, in any state. It fails with kind NotFound if
// the tenant of the host has no run of the session, and with Invalid for the session "".
func (h *Host) LastTurn(ctx context.Context, session string) (history.Run, error) {
	if session == "" {
		return history.Run{}, value.Errorf(value.Invalid, "the ID of the session is missing")
	}
	for r, err := range h.Runs(ctx, history.Filter{Session: session, Limit: 1}) {
		return r, err
	}
	return history.Run{}, value.Errorf(value.NotFound, "the session '%s' has no turns", value.Clean(session, 80))
}

// Steps yields the recorded steps of a run, see [history.Journal.Entries].
func (h *Host) Steps(ctx context.Context, runID string) iter.Seq2[history.Entry, error] {
	return fromJournal(h, func(j *history.Journal) iter.Seq2[history.Entry, error] { return j.Entries(ctx, runID) })
}

// StepOf returns the step of the call whose handler in Go has a context, or nil. run is the ID of its
// recorded run, or "" if the run is not recorded. A resumed run makes the call again at the same step.
func (h *Host) StepOf(ctx context.Context) (run string, at tool.StepPath) { return h.gate.StepOf(ctx) }

// Running reports whether this or another process executes a run now.
func (h *Host) Running(runID string) bool {
	j, err := h.journal()
	return err == nil && j.Held(runID)
}

// Executing returns the IDs of the recorded runs that the host executes now, in any order.
func (h *Host) Executing() []string { return h.gate.Executing() }

// Cancel ends a run permanently: it cannot be resumed. If another process executes the run,
// that process ends it within about a second. Cancel fails with kind NotFound for an unknown
// run, and with Conflict for one that has ended.
func (h *Host) Cancel(ctx context.Context, runID string) error {
	j, err := h.journal()
	ended := false // also of a run whose execution has recorded its end, and leaves
	if err == nil {
		r, e := j.Run(ctx, runID)
		ended = e == nil && r.State.Ended()
	}
	if !ended && h.gate.Cancel(runID) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.cancelRecorded(ctx, runID)
}

// cancelRecorded cancels a run that this host does not execute.
func (h *Host) cancelRecorded(ctx context.Context, runID string) error {
	j, err := h.journal()
	if err == nil {
		_, err = j.Cancel(ctx, runID)
	}
	return err
}

// A ParkedError is why a run is parked; find it with [errors.As]. Its fields are Run, Reason,
// Questions, which are the open ones, and Until; see [history.ParkedError].
type ParkedError = history.ParkedError
