//go:build !linux && !darwin

package swap

import (
	"errors"
	"os"
)

// exchange is unsupported.
func exchange(*os.Root, string, *os.Root, string) error { return errors.ErrUnsupported }

// renameNew renames a file, and fails with fs.ErrExist if there is another one.
func renameNew(in *os.Root, from string, dir *os.Root, to string) error {
	return linkNew(in, from, dir, to)
}

// isQuiet cannot be known: the system does not report who has a file open.
func isQuiet(*os.File) (quiet, known bool) { return false, false }
