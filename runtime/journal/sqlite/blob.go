package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	newPrefix   = "new-" // a blob that is being written
	asidePrefix = "old-" // a blob that is about to be removed
)

// blobs are files, each named after its content: blobs/aa/aabb….
type blobs struct{ dir string }

// PutBlob stores a blob, see [journal.Store].
func (s *Store) PutBlob(ctx context.Context, name string, data []byte) error {
	if !journal.ValidBlobName(name) {
		return journal.ErrInvalidBlob(name)
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	if s.sealed != nil { // no record could reference it
		return s.sealed
	}
	if err := s.blobs.put(name, data); err != nil {
		return ioError("store a large value", err)
	}
	return nil
}

// Blob returns a blob, see [journal.Store].
func (s *Store) Blob(ctx context.Context, name string, size int64) ([]byte, error) {
	if !journal.ValidBlobName(name) {
		return nil, journal.ErrInvalidBlob(name)
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	data, err := s.blobs.get(name, size)
	var known *value.Error
	if err != nil && !errors.As(err, &known) {
		err = ioError("read a large value", err)
	}
	return data, err
}

// SweepBlobs removes old blobs, see [journal.Store]. It also removes unfinished files
// of killed processes. It ignores other files.
func (s *Store) SweepBlobs(ctx context.Context, before time.Time, named func() (map[string]bool, error)) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if s.sealed != nil { // a lost record may reference any blob
		return s.sealed
	}
	old, err := s.blobs.old(before)
	if err != nil {
		return ioError("look for large values", err)
	}
	if len(old) == 0 {
		return nil
	}
	names, err := named()
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := s.ready(ctx); err != nil {
			return err
		}
		if err := s.blobs.sweep(path, before, names); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return ioError("remove a large value", err)
		}
	}
	return nil
}

func (b *blobs) path(name string) string { return filepath.Join(b.dir, name[:2], name) }

func (b *blobs) aside(name string) string { return filepath.Join(b.dir, asidePrefix+name) }

// put stores data durably.
func (b *blobs) put(name string, data []byte) error {
	path := b.path(name)
	// Renew the age of an existing blob, so that no sweep removes it before a record
	// references it.
	now := time.Now()
	if err := os.Chtimes(path, now, now); err == nil {
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.Size() == int64(len(data)) {
			return nil
		}
	}
	return b.write(path, data)
}

// write stores either all of data at path or nothing: it writes a file of
// another name, flushes it, renames it, and flushes the folder.
func (b *blobs) write(path string, data []byte) error {
	if err := b.folder(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.CreateTemp(b.dir, newPrefix+"*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncDir(filepath.Dir(path))
}

// folder creates one of the folders of blobs durably.
func (b *blobs) folder(dir string) error {
	switch err := os.Mkdir(dir, 0o700); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return syncDir(b.dir)
}

// get returns a blob of a known size, if its content matches its name.
func (b *blobs) get(name string, size int64) ([]byte, error) {
	f, err := b.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, journal.ErrBlob(name, "is missing")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() != size {
		return nil, journal.ErrBlob(name, "has an unexpected size")
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != name {
		return nil, journal.ErrBlob(name, "has changed")
	}
	return data, nil
}

// open opens a blob. A sweep may have moved it aside, and may have moved it back while
// open looked there. What is not a file is not opened: a pipe would wait for a writer.
func (b *blobs) open(name string) (f *os.File, err error) {
	for _, p := range []string{b.path(name), b.aside(name), b.path(name)} {
		if st, e := os.Stat(p); e == nil && !st.Mode().IsRegular() {
			return nil, journal.ErrBlob(name, "is not a file")
		}
		if f, err = os.Open(p); !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, err
}

// old returns the blobs and the unfinished files that were last stored before a time.
func (b *blobs) old(before time.Time) (paths []string, err error) {
	err = filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another process removed it
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name := strings.TrimPrefix(d.Name(), asidePrefix)
		if !strings.HasPrefix(name, newPrefix) && !journal.ValidBlobName(name) {
			return nil
		}
		if st, err := d.Info(); err == nil && st.ModTime().Before(before) {
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}

// sweep removes an old file, unless it is a referenced blob.
func (b *blobs) sweep(path string, before time.Time, named map[string]bool) error {
	name, aside := strings.CutPrefix(filepath.Base(path), asidePrefix)
	switch {
	case !named[name]:
		return b.remove(path, before)
	case aside: // the process that moved it was killed
		return os.Rename(path, b.path(name))
	}
	return nil
}

// remove removes a file, unless its age was renewed. It moves the file aside first: a
// writer that looks for it then writes it again.
func (b *blobs) remove(path string, before time.Time) error {
	aside := b.aside(strings.TrimPrefix(filepath.Base(path), asidePrefix))
	if err := os.Rename(path, aside); err != nil {
		return err
	}
	if st, err := os.Lstat(aside); err == nil && !st.ModTime().Before(before) {
		return os.Rename(aside, path)
	}
	return os.Remove(aside)
}
