//go:build unix

package beneath

import (
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A Dir is an open folder. It remains the same folder when it is renamed. Its methods take
// the name of one entry unless they say otherwise. It is not safe for concurrent use.
type Dir struct{ file *os.File }

// Open opens the folder of a root.
func Open(root *os.Root) (*Dir, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	return &Dir{f}, nil
}

// Close closes the folder.
func (d *Dir) Close() error { return d.file.Close() }

func (d *Dir) fd() int { return int(d.file.Fd()) }

// Next returns the next entries of the folder, at most the given number, and none at the
// end. Entries that vanish while they are read are left out.
func (d *Dir) Next(most int) ([]Entry, error) {
	for {
		names, err := d.file.Readdirnames(most)
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		list := make([]Entry, 0, len(names))
		for _, name := range names {
			e, err := d.Stat(name)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
		if len(list) > 0 {
			return list, nil
		}
	}
}

// Rewind has Next begin again.
func (d *Dir) Rewind() error {
	_, err := d.file.Seek(0, io.SeekStart)
	return err
}

// Identify returns what an open file or folder is, without its name.
func Identify(f *os.File) (Entry, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Entry{}, err
	}
	return entryOf("", &st), nil
}

// Stat returns what has a name in the folder.
func (d *Dir) Stat(name string) (Entry, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Entry{}, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	return entryOf(name, &st), nil
}

func entryOf(name string, st *unix.Stat_t) Entry {
	e := Entry{Name: name, ID: ID{uint64(st.Dev), st.Ino}, Links: uint64(st.Nlink), Changed: st.Ctim.Nano()}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.Kind = File
	case unix.S_IFDIR:
		e.Kind = Folder
	case unix.S_IFLNK:
		e.Kind = Link
	}
	return e
}

// Sub opens the folder at a path below the folder. No part of the path may be a link.
func (d *Dir) Sub(path string) (*Dir, error) {
	f, err := openAt(d.fd(), path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &Dir{f}, nil
}

// Handle opens what a path below the folder names, without the right to read it where the
// system has such descriptors. No part of the path may be a link.
func (d *Dir) Handle(path string) (*os.File, error) {
	return openAt(d.fd(), path, handleFlags)
}

// open opens a file for reading.
func (d *Dir) open(path string) (*os.File, error) {
	return openAt(d.fd(), path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
}

// openEach is openAt with one lookup for each part of the path, for kernels, filters of
// system calls and other systems without openat2.
func openEach(dir int, path string, flags int) (*os.File, error) {
	fd := dir
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if part == ".." || part == "" || part == "." && len(parts) > 1 {
			return nil, &os.PathError{Op: "open", Path: path, Err: unix.EXDEV}
		}
		how := flags
		if i < len(parts)-1 {
			how = handleFlags | unix.O_DIRECTORY
		}
		next, err := unix.Openat(fd, part, how|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if fd != dir {
			unix.Close(fd)
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		fd = next
	}
	return newFile(fd, path)
}

// newFile returns an open descriptor as a file. It refuses a link itself, which a
// descriptor without rights can refer to.
func newFile(fd int, path string) (*os.File, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
		unix.Close(fd)
		return nil, &os.PathError{Op: "open", Path: path, Err: unix.ELOOP}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// unlink removes a file or an empty folder.
func (d *Dir) unlink(name string) error {
	err := d.tryUnlink(name)
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	var st unix.Stat_t
	if e := unix.Fstat(d.fd(), &st); e != nil || unix.Fchmod(d.fd(), uint32(st.Mode)&0o7777|0o700) != nil {
		return err
	}
	defer func() { _ = unix.Fchmod(d.fd(), uint32(st.Mode)&0o7777) }()
	return d.tryUnlink(name)
}

func (d *Dir) tryUnlink(name string) error {
	err := unix.Unlinkat(d.fd(), name, 0)
	if err == unix.EISDIR || err == unix.EPERM { // Linux and others report a folder so
		err = unix.Unlinkat(d.fd(), name, unix.AT_REMOVEDIR)
	}
	if err != nil {
		return &os.PathError{Op: "remove", Path: name, Err: err}
	}
	return nil
}

// subWritable opens a folder, and gives its user all rights in it.
func (d *Dir) subWritable(name string) (*Dir, error) {
	sub, err := d.Sub(name)
	if errors.Is(err, unix.EACCES) {
		if err := d.allow(name); err != nil {
			return nil, err
		}
		sub, err = d.Sub(name)
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if unix.Fstat(sub.fd(), &st) == nil && st.Mode&0o700 != 0o700 {
		_ = unix.Fchmod(sub.fd(), 0o700)
	}
	return sub, nil
}

// moveTo moves an entry to another folder.
func (d *Dir) moveTo(name string, to *Dir, as string) error {
	err := unix.Renameat(d.fd(), name, to.fd(), as)
	if err == unix.EACCES && d.allow(name) == nil { // its user may not change its parent
		err = unix.Renameat(d.fd(), name, to.fd(), as)
	}
	if err != nil {
		return &os.PathError{Op: "move", Path: name, Err: err}
	}
	return nil
}
