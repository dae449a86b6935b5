//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package swap

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// noWait is nothing where opening a file never waits.
const noWait = 0

// tryLock is unsupported: the system does not lock folders.
func tryLock(*os.File) (held bool, err error) { return false, errors.ErrUnsupported }

// keepOwner does nothing where a new file inherits its owner.
func keepOwner(*os.File, fs.FileInfo) {}

// SyncFolder does nothing where folders cannot be synced.
func SyncFolder(*os.Root) error { return nil }

// rename renames a file, in place of any other one.
func rename(in *os.Root, from string, dir *os.Root, to string) error {
	if in == dir {
		return in.Rename(from, to)
	}
	return os.Rename(filepath.Join(in.Name(), from), filepath.Join(dir.Name(), to))
}

// link gives a file a second name.
func link(in *os.Root, from string, dir *os.Root, to string) error {
	if in == dir {
		return in.Link(from, to)
	}
	return errors.ErrUnsupported
}
