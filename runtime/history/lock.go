package history

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A lock says that this process, and in it one Log, has a run in hand. It is a
// lock of the operating system on a file, so it ends with the process, however
// that ends.
type lock struct{ f *os.File }

var errHeld = errors.New("held by somebody else")

// lockRun takes the lock of a run.
func lockRun(dir, id string) (*lock, error) {
	path := filepath.Join(dir, id+".lock")
	// Somebody who is just giving it up holds it for an instant.
	const tries, pause = 5, 5 * time.Millisecond
	for i := 0; ; i++ {
		l, err := tryLock(path)
		switch {
		case err == nil:
			return l, nil
		case !errors.Is(err, errHeld):
			return nil, ioError("lock the run '"+id+"'", err)
		case i == tries:
			return nil, tool.Errorf(tool.Conflict, "the run '%s' is in the hands of another process", id).
				WithHint("wait until it parks or ends, or stop that process")
		}
		time.Sleep(pause)
	}
}

// tryLock takes a lock if it is free. A file that its last holder removed
// meanwhile is no lock; then there is another to take.
func tryLock(path string) (*lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := lockFile(f); err != nil {
			f.Close()
			return nil, err
		}
		mine, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		if there, err := os.Stat(path); err == nil && os.SameFile(mine, there) {
			return &lock{f: f}, nil
		}
		f.Close()
	}
}

// release gives the lock up, and takes its file away.
func (l *lock) release() {
	if l == nil {
		return
	}
	os.Remove(l.f.Name()) // while it is ours; where an open file cannot be removed it stays, empty
	l.f.Close()
}
