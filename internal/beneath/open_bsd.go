//go:build unix && !linux

package beneath

import (
	"os"

	"golang.org/x/sys/unix"
)

// handleFlags open what is only referred to. These systems have no descriptors without
// the right to read.
const handleFlags = unix.O_RDONLY | unix.O_NONBLOCK

// openAt opens what a path below a folder names. No part of it may be a link.
func openAt(dir int, path string, flags int) (*os.File, error) { return openEach(dir, path, flags) }

// allow gives the user of a folder all rights in it.
func (d *Dir) allow(name string) error {
	return unix.Fchmodat(d.fd(), name, 0o700, unix.AT_SYMLINK_NOFOLLOW)
}
