// Package sqlite is a journal store in a folder, which many processes may share.
//
// The folder has these parts:
//
//	journal.db           an SQLite database: runs, frames, heads, inboxes
//	journal.last         the last frame, to notice that SQLite's log was lost
//	blobs/aa/aabb…       large values, each named after its SHA-256
//	runs/ID.lock         the lease of a run while somebody holds it
//	runs/t-TENANT/…      the same for other tenants
//	runs/h-SHA256/…      the same for tenants whose name cannot be a file name
//
// Only the owner can read the files. Writes are flushed to disk before they are
// acknowledged. Damage is reported and never repaired: what can still be read can be
// listed and loaded, and nothing is deleted.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/internal/scratch"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Store is a [journal.Store] in a folder. Its methods are safe for
// concurrent use. Open makes one.
type Store struct {
	dir      string
	db       *sql.DB
	w        *writer  // nil if nothing can be written
	prepared prepared // to read
	last     last
	inUse    []inUse // the files that the writer has open
	damage   error   // why not everything can be read, or nil
	sealed   error   // why nothing can be written, or nil
	blobs    blobs
	copied   *scratch.Dir // a copy of the database that is read, or nil

	closed atomic.Bool
	mu     sync.Mutex
	leases map[*lease]bool // the held leases
}

// Open opens the journal in a folder. It creates missing files, accessible only to
// their owner. It fails with Unavailable for a new journal in a folder that cannot be
// written and for a journal of a newer version, with Invalid for a database of another
// program or of an older format, and with Failed if the database is too damaged to read anything.
//
// A partly damaged database, and one that lacks its last writes, is opened for reading:
// List and Load return what can be read, and every write fails with Failed. A journal in a
// folder that cannot be written is opened for reading too; every write fails with
// Unavailable.
func Open(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, ioError(opOpen, err)
	}
	s := &Store{dir: dir, blobs: blobs{dir: filepath.Join(dir, "blobs")}, leases: map[*lease]bool{}}
	ctx := context.Background()
	for _, d := range []string{s.blobs.dir, s.lockDir()} {
		if err == nil {
			err = os.MkdirAll(d, 0o700)
		}
	}
	if err == nil {
		s.inUse, err = createFile(s.file())
	}
	if err == nil {
		s.last, err = openLast(dir)
	}
	if err != nil {
		if err = s.openReadOnly(ctx, err); err != nil {
			return nil, err
		}
		return s, nil
	}
	err = s.open(ctx)
	if err == nil {
		return s, nil
	}
	s.last.f.Close()
	if isFullDB(err) {
		if err = s.openReadOnly(ctx, dbError(opOpen, err)); err != nil {
			return nil, err
		}
		return s, nil
	}
	if isDamage(err) {
		e := s.openDamaged(ctx, dbError(opOpen, err))
		if e == nil {
			return s, nil
		}
		if value.KindOf(e) == value.Invalid {
			err = e
		}
	}
	return nil, unreadable(err)
}

// openDamaged opens a database for reading from which not everything can be read, because of damage.
func (s *Store) openDamaged(ctx context.Context, damage error) error {
	db, err := openChecked(ctx, s.file(), toSalvage, true)
	if own, foreign := s.openWithoutLog(ctx, db); own != nil {
		if db != nil {
			db.Close()
		}
		db, damage, err = own, foreign, nil
	}
	if err != nil {
		return err
	}
	s.db, s.damage, s.sealed = db, damage, damage
	return nil
}

func (s *Store) file() string { return filepath.Join(s.dir, "journal.db") }

func (s *Store) lockDir() string { return filepath.Join(s.dir, "runs") }

// open opens the database for writing. It retries if others open a new database at the
// same time: SQLite does not wait for them while it changes the mode of the file.
func (s *Store) open(ctx context.Context) error {
	for end := time.Now().Add(busyTimeout); ; time.Sleep(10 * time.Millisecond) {
		if err := s.tryOpen(ctx); !isBusy(err) || time.Now().After(end) {
			return err
		}
	}
}

func (s *Store) tryOpen(ctx context.Context) error {
	// The first check must not change a file of another program.
	at := readLast(s.dir) // before the database, which is newer
	check, err := openChecked(ctx, s.file(), toRead, false)
	if isUnfinished(err) {
		if err = rollBack(ctx, s.file()); err == nil {
			check, err = openChecked(ctx, s.file(), toRead, false)
		}
	}
	if err != nil {
		return err
	}
	if at != 0 {
		err = checkLast(ctx, check, s.dir, at)
	}
	if check.Close(); err != nil {
		return err
	}
	if s.db, err = openDB(s.file(), toWrite); err != nil {
		return err
	}
	if err = create(ctx, s.db, s.file()); err == nil {
		s.w, err = newWriter(ctx, s.db)
	}
	if info, e := os.Stat(s.file() + "-wal"); err == nil && e == nil { // the writer has opened it
		s.inUse = append(s.inUse[:1:1], inUse{s.file() + "-wal", info})
	}
	if err == nil {
		// The file names must be as durable as their content.
		if e := syncDir(s.dir); e != nil {
			s.w.close()
			err = ioError(opOpen, e)
		}
	}
	if err != nil {
		s.db.Close()
	}
	return err
}

// ready returns an error if a call cannot begin.
func (s *Store) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return value.AsError(err, value.Canceled)
	}
	if s.closed.Load() {
		return journal.ErrClosed()
	}
	return nil
}

// Close waits for writes in progress, closes the database, and ends all leases. Reads
// in progress fail. Closing a Store again does nothing.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	var err error
	if s.w != nil {
		err = errors.Join(s.w.close(), s.last.f.Close())
	}
	err = errors.Join(err, s.db.Close(), s.copied.Close())
	s.mu.Lock()
	leases := s.leases
	s.leases = nil
	s.mu.Unlock()
	for l := range leases {
		l.Release()
	}
	return dbError("close the journal", err)
}
