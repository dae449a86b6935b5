package history

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

const (
	// inlineMost is how many bytes of a value stay in the database. Larger ones
	// would make every later page of the run's records dear to read, and are
	// often there twice: the content of a file, the reply of a page.
	inlineMost = 64 << 10
	// blobGrace is how long a blob that nobody names is left alone: its writer
	// may not have come to name it yet. That takes milliseconds; an hour bears a
	// machine that slept.
	blobGrace = time.Hour
	// asidePrefix marks a blob that is about to be removed.
	asidePrefix = "old-"
)

// A blobName is the SHA-256 of a blob.
type blobName [sha256.Size]byte

func (n blobName) String() string { return hex.EncodeToString(n[:]) }

// blobs are values too large for the database, each in a file that is named
// after its content: blobs/aa/aabb….
type blobs struct{ dir string }

func (b *blobs) path(n blobName) string { return b.file(n.String()) }

func (b *blobs) file(name string) string { return filepath.Join(b.dir, name[:2], name) }

// put keeps data; it is on disk when put returns.
func (b *blobs) put(data []byte) (blobName, error) {
	name := blobName(sha256.Sum256(data))
	path := b.path(name)
	// A blob that is there already is made young again, so that nobody who looks
	// for blobs without a name takes it away; see sweep.
	now := time.Now()
	if err := os.Chtimes(path, now, now); err == nil {
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.Size() == int64(len(data)) {
			return name, nil
		}
	}
	if err := b.write(path, data); err != nil {
		return name, ioError("keep a large value", err)
	}
	return name, nil
}

// write puts the whole of data at path or nothing: a file of another name,
// flushed, renamed, and the folder flushed.
func (b *blobs) write(path string, data []byte) error {
	if err := b.folder(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.CreateTemp(b.dir, "new-*") // 0600
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

// folder makes one of the folders of blobs, and is sure that it stays.
func (b *blobs) folder(dir string) error {
	switch err := os.Mkdir(dir, 0o700); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return syncDir(b.dir)
}

// get returns a blob of a known size, if it is what its name says.
func (b *blobs) get(name blobName, size uint64) ([]byte, error) {
	f, err := b.find(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("its content %s is missing", name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() < 0 || uint64(st.Size()) != size {
		return nil, fmt.Errorf("its content %s has another size", name)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	if sha256.Sum256(data) != name {
		return nil, fmt.Errorf("its content %s has changed", name)
	}
	return data, nil
}

// find opens a blob. It may have been moved aside for the moment, see remove, and
// back while it was looked for there.
func (b *blobs) find(name blobName) (f *os.File, err error) {
	path := b.path(name)
	for _, p := range []string{path, b.aside(path), path} {
		if f, err = os.Open(p); !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, err
}

func (b *blobs) aside(path string) string {
	return filepath.Join(b.dir, asidePrefix+filepath.Base(path))
}

// old calls do for each blob, and each file that was never finished, that has
// been left alone for a while.
func (b *blobs) old(before time.Time, do func(path string) error) error {
	return filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another process was quicker
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if st, err := d.Info(); err != nil || !st.ModTime().Before(before) {
			return nil
		}
		return do(path)
	})
}

// remove takes away a blob that nobody names, unless somebody has touched it
// meanwhile in order to name it: it is moved aside first, and a writer who then
// looks for it writes it anew.
func (b *blobs) remove(path string, before time.Time) error {
	aside := b.aside(path)
	if err := os.Rename(path, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if st, err := os.Lstat(aside); err == nil && !st.ModTime().Before(before) {
		return os.Rename(aside, path)
	}
	return os.Remove(aside)
}

// ioError says what a file that could not be written means.
func ioError(what string, err error) error {
	if isFull(err) {
		return diskFull(fmt.Errorf("%s: %w", what, err))
	}
	return tool.Errorf(tool.Unavailable, "%s: %w", what, err)
}

func diskFull(err error) error {
	e := tool.Errorf(tool.Limit, "the journal's disk is full, so nothing more can be recorded: %w", err).
		WithHint("free some space (cassidy runs prune); what was recorded is safe")
	e.Limit = tool.LimitDisk
	return e
}
