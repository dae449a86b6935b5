//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package swap

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noWait keeps the opening of a pipe from waiting for its other end.
const noWait = syscall.O_NONBLOCK

// tryLock locks an open folder. held reports that another process has the lock.
func tryLock(f *os.File) (held bool, err error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return true, nil
		}
		return false, err
	}
}

// keepOwner gives a new file to the owner of the one it replaces, where that
// is another and the process may. A failure leaves it with this process's user.
func keepOwner(f *os.File, old fs.FileInfo) {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	info, err := f.Stat()
	if err != nil {
		return
	}
	if is, ok := info.Sys().(*syscall.Stat_t); ok && (is.Uid != was.Uid || is.Gid != was.Gid) {
		_ = f.Chown(int(was.Uid), int(was.Gid))
	}
}

// SyncFolder makes the names in a folder durable, on file systems that can
// be asked to.
func SyncFolder(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// inBoth calls do with the descriptors of two folders.
func inBoth(a, b *os.Root, do func(a, b int) error) error {
	if a == nil || b == nil {
		return fs.ErrNotExist
	}
	f, err := a.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if a == b {
		return do(int(f.Fd()), int(f.Fd()))
	}
	g, err := b.Open(".")
	if err != nil {
		return err
	}
	defer g.Close()
	return do(int(f.Fd()), int(g.Fd()))
}

// rename renames a file, in place of any other one.
func rename(in *os.Root, from string, dir *os.Root, to string) error {
	return inBoth(in, dir, func(a, b int) error { return unix.Renameat(a, from, b, to) })
}

// link gives a file a second name.
func link(in *os.Root, from string, dir *os.Root, to string) error {
	return inBoth(in, dir, func(a, b int) error { return unix.Linkat(a, from, b, to, 0) })
}
