package temporal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Blobs keep large values by the SHA-256 of their content, in lower-case hexadecimal. All methods can be called
// concurrently.
type Blobs interface {
	// Put stores data under its name. Storing it again renews its age.
	Put(ctx context.Context, name string, data []byte) error
	// Get returns data of a known size. It fails with kind Failed for other data, and for a name without data.
	Get(ctx context.Context, name string, size int64) ([]byte, error)
	// Delete removes data. A name without data is no error.
	Delete(ctx context.Context, name string) error
	// Old returns the names of what was not stored since a time.
	Old(ctx context.Context, before time.Time) ([]string, error)
}

// Folder keeps blobs in a folder that all workers and clients share, such as one of a network. With a key they are encrypted.
type Folder struct {
	Path string
	Key  *Key // nil does not encrypt
}

// recordMark is at the end of the names of files that are parts of records, which [journal.Store.SweepBlobs] does not know.
const recordMark = ".record"

// Put implements [Blobs].
func (f Folder) Put(_ context.Context, name string, data []byte) error {
	path := filepath.Join(f.Path, name)
	if now := time.Now(); os.Chtimes(path, now, now) == nil {
		if _, err := f.read(path, name, int64(len(data))); err == nil {
			return nil
		}
	}
	if f.Key != nil {
		data = f.Key.seal(data)
	}
	err := os.MkdirAll(f.Path, 0o700)
	if err == nil {
		err = write(path, data)
	}
	if err != nil {
		return value.Errorf(value.Unavailable, "store a large value in %s: %w", f.Path, err)
	}
	return nil
}

// write writes a file that is complete or not there, and is durable afterwards.
func write(path string, data []byte) (err error) {
	tmp := path + "." + uuid.NewString()
	file, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp)
		}
	}()
	if _, err = file.Write(data); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Get implements [Blobs].
func (f Folder) Get(_ context.Context, name string, size int64) ([]byte, error) {
	return f.read(filepath.Join(f.Path, name), name, size)
}

func (f Folder) read(path, name string, size int64) ([]byte, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, journal.ErrBlob(name, "is missing in "+f.Path)
	case err != nil:
		return nil, value.Errorf(value.Unavailable, "read a large value: %w", err)
	}
	if f.Key != nil {
		if data, err = f.Key.open(data); err != nil {
			return nil, journal.ErrBlob(name, "was stored with another key, or has changed")
		}
	}
	if int64(len(data)) != size || sum(data) != strings.TrimSuffix(name, recordMark) {
		return nil, journal.ErrBlob(name, "has changed")
	}
	return data, nil
}

// Delete implements [Blobs].
func (f Folder) Delete(_ context.Context, name string) error {
	if err := os.Remove(filepath.Join(f.Path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return value.AsError(err, value.Unavailable)
	}
	return nil
}

// Old implements [Blobs].
func (f Folder) Old(_ context.Context, before time.Time) (names []string, err error) {
	list, err := os.ReadDir(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range list {
		if info, err := entry.Info(); err == nil && info.ModTime().Before(before) {
			names = append(names, entry.Name())
		}
	}
	if err != nil {
		err = value.AsError(err, value.Unavailable)
	}
	return names, err
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// putStream stores a part of a record.
func (s *Store) putStream(data []byte) (segment, error) {
	name := sum(data) + recordMark
	return segment{Size: int64(len(data)), Blob: name}, s.blobs.Put(context.Background(), name, data)
}

// PutBlob implements [journal.Store].
func (s *Store) PutBlob(ctx context.Context, name string, data []byte) error {
	if !journal.ValidBlobName(name) || sum(data) != name {
		return journal.ErrInvalidBlob(name)
	}
	return s.blobs.Put(ctx, name, data)
}

// Blob implements [journal.Store].
func (s *Store) Blob(ctx context.Context, name string, size int64) ([]byte, error) {
	if !journal.ValidBlobName(name) {
		return nil, journal.ErrInvalidBlob(name)
	}
	return s.blobs.Get(ctx, name, size)
}

// SweepBlobs implements [journal.Store].
func (s *Store) SweepBlobs(ctx context.Context, before time.Time, named func() (map[string]bool, error)) error {
	old, err := s.blobs.Old(ctx, before)
	if err != nil || len(old) == 0 {
		return err
	}
	keep, err := named()
	if err != nil {
		return err
	}
	for _, name := range old {
		if journal.ValidBlobName(name) && !keep[name] {
			if err := s.blobs.Delete(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}
