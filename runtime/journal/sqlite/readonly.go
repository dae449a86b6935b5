package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cassidy-run/cassidy/internal/scratch"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// openReadOnly opens an existing journal whose folder cannot be written, because of an
// error, such as that of a full disk.
func (s *Store) openReadOnly(ctx context.Context, cause error) error {
	full := isFull(cause) || isFullDB(cause)
	if _, err := os.Stat(s.file()); err != nil || !notWritable(cause) && !full {
		return ioError(opOpen, cause)
	}
	// SQLite writes files beside the database even to read it, if it has a log. Without a
	// log it can be opened as one that nobody changes; otherwise a copy is read.
	var err error
	for _, open := range []func(context.Context) (*sql.DB, error){s.openShared, s.openUnchanged, s.openCopy} {
		if s.db, err = open(ctx); err == nil {
			break
		}
	}
	if err != nil {
		return unreadable(err)
	}
	if at := readLast(s.dir); at != 0 {
		s.damage = checkLast(ctx, s.db, s.dir, at)
	}
	s.sealed = value.Errorf(value.Unavailable, "%s: %w", opWrite, cause).WithHint("set CASSIDY_HOME to a folder that you can write")
	if full {
		s.sealed = diskFull(opWrite, errors.New("the journal is open for reading only"))
	}
	return nil
}

// notWritable reports whether an error means that a file may not be written.
func notWritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// openShared opens the database for reading while its files can be read, as during a run
// of another user.
func (s *Store) openShared(ctx context.Context) (*sql.DB, error) {
	return openChecked(ctx, s.file(), toRead, true)
}

// openUnchanged opens a database without a log.
func (s *Store) openUnchanged(ctx context.Context) (*sql.DB, error) {
	if info, err := os.Stat(s.file() + "-wal"); err == nil && info.Size() > 0 {
		return nil, errLost
	}
	return openChecked(ctx, s.file(), toRead+"&immutable=1", true)
}

// openCopy opens a copy of the database and its log.
func (s *Store) openCopy(ctx context.Context) (*sql.DB, error) {
	dir, err := scratch.Make("", "runs")
	if err != nil {
		return nil, err
	}
	s.copied = dir
	copied := filepath.Join(dir.Path, filepath.Base(s.file()))
	err = errors.Join(copyFile(copied, s.file()), copyFile(copied+"-wal", s.file()+"-wal"))
	var db *sql.DB
	if err == nil {
		db, err = openChecked(ctx, copied, toRead, true)
	}
	if err != nil {
		_ = dir.Close()
	}
	return db, err
}

func copyFile(to, from string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}
