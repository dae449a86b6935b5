package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A lease is an operating system lock on a file, so it ends with the process, however
// that ends.
type lease struct {
	s  *Store
	id string

	mu sync.Mutex
	f  *os.File // nil after Release
}

var errHeld = errors.New("the lock is held")

// Acquire acquires the lease of a run, see [journal.Store].
func (s *Store) Acquire(ctx context.Context, tenant, id string) (journal.Lease, error) {
	if !journal.ValidID(id) {
		return nil, journal.ErrInvalidID(id)
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if s.w == nil {
		return nil, s.sealed
	}
	path := s.lockPath(tenant, id)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, ioError("lock run '"+id+"'", err)
	}
	f, err := lockSoon(ctx, path)
	switch {
	case errors.Is(err, errHeld):
		return nil, journal.ErrHeld(id)
	case ctx.Err() != nil && err != nil:
		return nil, value.AsError(ctx.Err(), value.Canceled)
	case err != nil:
		return nil, ioError("lock run '"+id+"'", err)
	}
	l := &lease{s: s, id: id, f: f}
	s.mu.Lock()
	closed := s.leases == nil
	if !closed {
		s.leases[l] = true
	}
	s.mu.Unlock()
	if closed {
		l.Release()
		return nil, journal.ErrClosed()
	}
	return l, nil
}

// lockSoon takes a lock. Release and Held hold it for an instant, so it retries for a
// short time.
func lockSoon(ctx context.Context, path string) (*os.File, error) {
	const tries, pause = 5, 5 * time.Millisecond
	for i := 0; ; i++ {
		f, err := tryLock(path, os.O_CREATE)
		if !errors.Is(err, errHeld) || i == tries {
			return f, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Held reports whether the lease of a run is held, see [journal.Store].
func (s *Store) Held(_ context.Context, tenant, id string) bool {
	if !journal.ValidID(id) {
		return false
	}
	f, err := tryLock(s.lockPath(tenant, id), 0)
	if err == nil {
		unlock(f)
	}
	return errors.Is(err, errHeld)
}

// lockPath returns the lock file of a run. Tenants never share one, even if file names
// ignore case or trailing dots.
func (s *Store) lockPath(tenant, id string) string {
	folder := ""
	switch {
	case tenant == "":
	case isPlain(tenant):
		folder = "t-" + tenant
	default:
		sum := sha256.Sum256([]byte(tenant))
		folder = "h-" + hex.EncodeToString(sum[:])
	}
	return filepath.Join(s.lockDir(), folder, id+".lock")
}

// isPlain reports whether a tenant can be used in a file name. A tenant that ends with
// .lock cannot: the name would be a lock file of the tenant "".
func isPlain(tenant string) bool {
	return len(tenant) <= 64 && !strings.HasPrefix(tenant, ".") && !strings.HasSuffix(tenant, ".") && !strings.HasSuffix(tenant, ".lock") &&
		strings.Trim(tenant, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

// tryLock opens and locks a file if it is not locked; flags are for opening it. It
// ignores a file that its last holder has just removed.
func tryLock(path string, flags int) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|flags, 0o600)
		if flags == 0 && notWritable(err) {
			f, err = os.Open(path)
		}
		if err != nil {
			return nil, err
		}
		if err := lockFile(f); err != nil {
			f.Close()
			return nil, err
		}
		same, err := isAt(f, path)
		if err == nil && same {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

// isAt reports whether an open file is the one at a path.
func isAt(f *os.File, path string) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, there), err
}

// Renew reports whether the lease is still held, see [journal.Lease].
func (l *lease) Renew(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return value.AsError(err, value.Canceled)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return journal.ErrLost(l.id)
	}
	same, err := isAt(l.f, l.f.Name())
	if err != nil {
		return ioError("renew the lease of run '"+l.id+"'", err)
	}
	if !same {
		return journal.ErrLost(l.id)
	}
	return nil
}

// Release ends the lease and removes its file, see [journal.Lease].
func (l *lease) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	unlock(l.f)
	l.f = nil
	l.s.mu.Lock()
	delete(l.s.leases, l)
	l.s.mu.Unlock()
	return nil
}

// unlock removes a lock file, if it is still the one that is held, and ends the lock.
// If an open file cannot be removed, it stays, empty.
func unlock(f *os.File) {
	if same, err := isAt(f, f.Name()); err == nil && same {
		os.Remove(f.Name())
	}
	f.Close()
}
