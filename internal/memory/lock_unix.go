//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package memory

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// lock locks the project's folder .cassidy. The lock ends with the process. A folder can be locked
// without a file for the lock, which the project would then have.
func lock(ctx context.Context, dir *os.Root) (unlock func(), err error) {
	f, err := dir.Open(folder.Name)
	if err != nil {
		return nil, failed(err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, failed(err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, value.Errorf(value.Unavailable, "write %s: another process is writing the file", File).WithHint("try again")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// syncFolder makes the name of the file durable, on file systems that can be asked to.
func syncFolder(dir *os.Root) error {
	f, err := dir.Open(folder.Name)
	if err != nil {
		return failed(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return failed(err)
	}
	return nil
}
