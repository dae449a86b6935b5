package swap

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange exchanges two files. Its error is errors.ErrUnsupported on file systems that cannot.
func exchange(in *os.Root, a string, dir *os.Root, b string) error {
	return renameFlags(in, a, dir, b, unix.RENAME_EXCHANGE)
}

// renameNew renames a file, and fails with fs.ErrExist if there is another one.
func renameNew(in *os.Root, from string, dir *os.Root, to string) error {
	err := renameFlags(in, from, dir, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, errors.ErrUnsupported) {
		return linkNew(in, from, dir, to)
	}
	return err
}

func renameFlags(in *os.Root, from string, dir *os.Root, to string, flags uint) error {
	return inBoth(in, dir, func(a, b int) error {
		err := unix.Renameat2(a, from, b, to, flags)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
			return errors.ErrUnsupported
		}
		return err
	})
}

// isQuiet reports whether no process has a file open for writing. A read lease is granted only
// then; known is false where the file system or the owner of the file allows none.
func isQuiet(f *os.File) (quiet, known bool) {
	fd := int(f.Fd())
	// A process that opens the file for writing is reported by this signal. The default,
	// SIGIO, would end a program whose signals Go does not handle.
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETSIG, int(unix.SIGURG))
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return false, true
	case err != nil:
		return false, false
	}
	return true, true
}
