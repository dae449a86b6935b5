//go:build unix

package fs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// fsNoWait keeps the opening of a pipe from waiting for its other end.
const fsNoWait = syscall.O_NONBLOCK

// fsLinks counts the names of a file.
func fsLinks(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// fsKeepOwner gives a new file to the owner of the one it replaces, where that
// is another and the process may. A failure leaves it with this process's user.
func fsKeepOwner(f *os.File, old fs.FileInfo) {
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

// fsSyncFolder makes the names in a folder durable, on file systems that can
// be asked to.
func fsSyncFolder(dir *os.Root) error {
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
