package sqlite

import (
	"context"
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The operations that error messages name.
const (
	opOpen  = "open the journal"
	opRead  = "read the journal"
	opWrite = "write to the journal"
)

// fail converts an error of an operation to a [value.Error]. After Close, the database
// returns its own errors for calls in progress.
func (s *Store) fail(op string, err error) error {
	if err != nil && s.closed.Load() {
		return journal.ErrClosed()
	}
	return dbError(op, err)
}

// dbError converts an error of the database to a [value.Error].
func dbError(op string, err error) error {
	var known *value.Error
	var e *driver.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return value.AsError(err, value.Canceled)
	case errors.Is(err, errLost):
		return damageError(op, err)
	case !errors.As(err, &e):
		return value.Errorf(value.Unavailable, "%s: %w", op, err)
	}
	if isFullDB(err) {
		return diskFull(op, err)
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_ERROR:
		return damageError(op, err)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return value.Errorf(value.Unavailable, "%s: another process keeps the database busy: %w", op, err).
			WithHint("try again, or look for a cassidy process that hangs")
	case lib.SQLITE_IOERR:
		return value.Errorf(value.Unavailable, "%s: the disk cannot be read or written: %w", op, err).
			WithHint("check whether the disk is full or failing")
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM, lib.SQLITE_AUTH:
		return value.Errorf(value.Unavailable, "%s: the database cannot be written: %w", op, err).
			WithHint("check the owner and the permissions of its folder")
	}
	return value.Errorf(value.Unavailable, "%s: %w", op, err)
}

func damageError(op string, err error) error {
	return value.Errorf(value.Failed, "%s: the database is damaged: %w", op, err).
		WithHint("you can still read undamaged runs; keep a copy of the folder, and start a new journal in another folder: set CASSIDY_HOME")
}

// hintUnreadable is the hint for a database in which no run can be read.
const hintUnreadable = "nothing was deleted: restore journal.db from a backup, or start a new journal in another folder: set CASSIDY_HOME"

// unreadable converts the error of a database that cannot be opened even for reading.
func unreadable(err error) error {
	var known *value.Error // with a hint of its own, unless it is that of the database
	var reported *driver.Error
	e := dbError(opOpen, err)
	if value.KindOf(e) == value.Failed && (!errors.As(err, &known) || errors.As(err, &reported)) {
		return value.ErrorOf(e, value.Failed).WithHint(hintUnreadable)
	}
	return e
}

// ioError converts an error of a file.
func ioError(op string, err error) error {
	if isFull(err) {
		return diskFull(op, err)
	}
	return value.Errorf(value.Unavailable, "%s: %w", op, err)
}

// isFullDB reports whether an error of the database means that its disk is full. The index of
// its log is a file too, which even a reader needs.
func isFullDB(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && (e.Code()&0xff == lib.SQLITE_FULL || e.Code() == lib.SQLITE_IOERR_SHMSIZE)
}

func diskFull(op string, err error) error {
	e := value.Errorf(value.Limit, "%s: the disk is full: %w", op, err).
		WithHint("delete other files on this disk first: cassidy runs prune also needs some free space; everything recorded so far is safe")
	e.Limit = "disk"
	return e
}

// errLost is damage that the database does not report.
var errLost = errors.New("missing or changed")

func lost(part string, num int64) error {
	return fmt.Errorf("%s of the run with number %d: %w", part, num, errLost)
}

// isDuplicate reports whether a row with that key already exists.
func isDuplicate(err error) bool {
	var e *driver.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() {
	case lib.SQLITE_CONSTRAINT_PRIMARYKEY, lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_ROWID:
		return true
	}
	return false
}

// isBusy reports whether another process holds a lock of the database.
func isBusy(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == lib.SQLITE_BUSY
}

// isUnfinished reports whether a database cannot be read without writing to it, because a
// killed process has left a transaction in the middle.
func isUnfinished(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code() == lib.SQLITE_READONLY_ROLLBACK
}

// isDamage reports whether an error means that a part of the database file
// cannot be read.
func isDamage(err error) bool {
	var e *driver.Error
	if !errors.As(err, &e) {
		return errors.Is(err, errLost)
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_IOERR:
		return true
	case lib.SQLITE_ERROR: // a table of every journal is missing
		return true
	}
	return false
}
