package beneath

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// handleFlags open what is only referred to, never read.
const handleFlags = unix.O_PATH

// openAt opens what a path below a folder names. No part of it may be a link.
func openAt(dir int, path string, flags int) (*os.File, error) {
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{
		Flags:   uint64(flags | unix.O_NOFOLLOW | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	switch err {
	case nil:
		return newFile(fd, path)
	case unix.ENOSYS, unix.EPERM, unix.EAGAIN:
		// A filter of system calls, or something was renamed meanwhile.
		return openEach(dir, path, flags)
	}
	return nil, &os.PathError{Op: "open", Path: path, Err: err}
}

// allow gives the user of a folder all rights in it.
func (d *Dir) allow(name string) error {
	f, err := openAt(d.fd(), name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), 0o700)
}
