package swap

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange exchanges two files. Its error is errors.ErrUnsupported on file systems that cannot.
func exchange(in *os.Root, a string, dir *os.Root, b string) error {
	return renameFlags(in, a, dir, b, unix.RENAME_SWAP)
}

// renameNew renames a file, and fails with fs.ErrExist if there is another one.
func renameNew(in *os.Root, from string, dir *os.Root, to string) error {
	err := renameFlags(in, from, dir, to, unix.RENAME_EXCL)
	if errors.Is(err, errors.ErrUnsupported) {
		return linkNew(in, from, dir, to)
	}
	return err
}

func renameFlags(in *os.Root, from string, dir *os.Root, to string, flags uint32) error {
	return inBoth(in, dir, func(a, b int) error {
		err := unix.RenameatxNp(a, from, b, to, flags)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
			return errors.ErrUnsupported
		}
		return err
	})
}

// isQuiet cannot be known: the system does not report who has a file open.
func isQuiet(*os.File) (quiet, known bool) { return false, false }
