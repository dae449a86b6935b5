//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package history

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks an open file, or says that it is held. The lock belongs to
// this opening of the file: a second one in the same process does not get it.
func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errHeld
		}
		return err
	}
}

// syncDir makes sure that the names in a folder are on disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// isFull reports whether an error says that there is no room on the disk.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
