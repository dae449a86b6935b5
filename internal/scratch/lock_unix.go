//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package scratch

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// lock locks a folder until it is closed, or this process ends. It reports false if another process or another open file
// has locked it.
func lock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		default: // as on some file systems of networks
			return false, errors.ErrUnsupported
		}
	}
}

// isOwn reports whether a file belongs to the user of this process.
func isOwn(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
