package journal

import (
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// This file has the checks and errors that all stores share, so that error texts do not
// depend on the store.

// MaxSeq is the largest sequence number of a frame. A store can combine its 32 bits
// with 31 bits for the number of the run in one integer.
const MaxSeq = 1<<32 - 1

// ValidID reports whether a text can be the ID of a run: 1 to 64 letters,
// digits, - and _, and the first is not -. IDs become file names.
func ValidID(id string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	return id != "" && len(id) <= 64 && id[0] != '-' && strings.Trim(id, allowed) == ""
}

// ValidBlobName reports whether a text can be the name of a blob: 64 digits of
// lower-case hexadecimal.
func ValidBlobName(name string) bool {
	return len(name) == 64 && strings.Trim(name, "0123456789abcdef") == ""
}

// Check returns an error of kind Invalid for a write that no store accepts.
func (w *Write) Check() error {
	switch {
	case w.Num < 0 || (w.Num == 0) != (w.New != nil):
		return value.Errorf(value.Invalid, "write to the journal: expected either a run number or a new run")
	case w.New != nil && !ValidID(w.New.ID):
		return ErrInvalidID(w.New.ID)
	case w.New != nil && w.New.State > Stuck, w.Set != nil && w.Set.State > Stuck:
		return value.Errorf(value.Invalid, "write to the journal: unknown run state")
	case w.New != nil && (w.New.State == Stuck) != (w.New.Stuck != ""), w.Set != nil && (w.Set.State == Stuck) != (w.Set.Stuck != ""):
		return value.Errorf(value.Invalid, "write to the journal: a run is stuck for a reason, and only then has one")
	}
	for _, f := range w.Frames {
		if f.Seq < 0 || f.Seq > MaxSeq {
			return value.Errorf(value.Invalid, "write to the journal: invalid frame number %d", f.Seq)
		}
	}
	return nil
}

// Time returns a time as stores return it: in UTC, to the microsecond.
func Time(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

// ErrClosed returns the error of a store that was closed.
func ErrClosed() error {
	return value.Errorf(value.Closed, "the journal is closed")
}

// ErrInvalidID returns the error for a text that cannot be the ID of a run.
func ErrInvalidID(id string) error {
	return value.Errorf(value.Invalid, "invalid run ID %q", value.Clean(id, 80)).
		WithHint("use up to 64 letters, digits, - and _, and do not begin with -")
}

// ErrInvalidBlob returns the error for a text that cannot be the name of a blob.
func ErrInvalidBlob(name string) error {
	return value.Errorf(value.Invalid, "invalid name of a large value: %q: expected a SHA-256 in hexadecimal", value.Clean(name, 80))
}

// ErrNotFound returns the error for a run that its tenant does not have.
func ErrNotFound(id string) error {
	return value.Errorf(value.NotFound, "run '%s' does not exist", value.Clean(id, 80)).
		WithHint("list the runs: cassidy runs list; in Go, call Host.Runs")
}

// ErrNumNotFound returns the error for a run that does not exist, or was
// deleted, where only its number is known.
func ErrNumNotFound(num int64) error {
	return value.Errorf(value.NotFound, "the run with number %d does not exist or was deleted", num).
		WithHint("list the runs: cassidy runs list; in Go, call Host.Runs")
}

// ErrExists returns the error for a new run whose ID is in use.
func ErrExists(id string) error {
	return value.Errorf(value.Conflict, "run '%s' already exists", id).WithHint("use another ID, or continue the run: cassidy runs resume %s; in Go, call Host.Resume", id)
}

// ErrWritten returns the error for a frame whose number is in use.
func ErrWritten(id string) error {
	return value.Errorf(value.Conflict, "another process wrote to the record of run '%s'", value.Clean(id, 80)).
		WithHint("stop the other process: only one process may execute a run")
}

// ErrTaken returns the error for a message that comes after its kind and key
// were taken.
func ErrTaken(m Message) error {
	return value.Errorf(value.Conflict, "send %s %q: an earlier message with this key was already used", value.Clean(m.Kind, 40), value.Clean(m.Key, 80))
}

// ErrHeld returns the error for a run whose lease is held.
func ErrHeld(id string) error {
	return value.Errorf(value.Conflict, "another process is executing run '%s'", id).
		WithHint("wait until the run ends or is parked, or stop the other process")
}

// ErrLost returns the error for a lease that its holder lost.
func ErrLost(id string) error {
	return value.Errorf(value.Conflict, "the lease of run '%s' was lost: its lock file was released, removed or replaced", id).
		WithHint("resume the run: cassidy runs resume %s; in Go, call Host.Resume", id)
}

// ErrBlob returns the error for a blob that cannot be read as it was stored;
// what is the reason, as in "is missing".
func ErrBlob(name, what string) error {
	return value.Errorf(value.Failed, "the large value %s %s", name, what)
}
