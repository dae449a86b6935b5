//go:build !unix

package beneath

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// A Dir is an open folder. It remains the same folder when it is renamed. Its methods take
// the name of one entry unless they say otherwise. It is not safe for concurrent use.
type Dir struct {
	root *os.Root
	list *os.File // nil until Next
}

// Open opens the folder of a root.
func Open(root *os.Root) (*Dir, error) {
	same, err := root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	return &Dir{root: same}, nil
}

// Close closes the folder.
func (d *Dir) Close() error {
	d.stop()
	return d.root.Close()
}

func (d *Dir) stop() {
	if d.list != nil {
		d.list.Close()
		d.list = nil
	}
}

// Next returns the next entries of the folder, at most the given number, and none at the
// end. Entries that vanish while they are read are left out.
func (d *Dir) Next(most int) (list []Entry, err error) {
	if d.list == nil {
		if d.list, err = d.root.Open("."); err != nil {
			return nil, err
		}
	}
	for len(list) == 0 {
		names, err := d.list.Readdirnames(most)
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			e, err := d.Stat(name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
	}
	return list, nil
}

// Rewind has Next begin again.
func (d *Dir) Rewind() error {
	d.stop()
	return nil
}

// Identify returns what an open file or folder is, without its name.
func Identify(f *os.File) (Entry, error) {
	info, err := f.Stat()
	if err != nil {
		return Entry{}, err
	}
	return entryOf("", info), nil
}

// Stat returns what has a name in the folder.
func (d *Dir) Stat(name string) (Entry, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return Entry{}, err
	}
	return entryOf(name, info), nil
}

func entryOf(name string, info fs.FileInfo) Entry {
	e := Entry{Name: name, Links: 1}
	switch {
	case info.Mode().IsRegular():
		e.Kind = File
	case info.IsDir():
		e.Kind = Folder
	case info.Mode()&fs.ModeSymlink != 0:
		e.Kind = Link
	}
	return e
}

// Sub opens the folder at a path below the folder. The path must not be a link.
func (d *Dir) Sub(path string) (*Dir, error) {
	info, err := d.root.Lstat(path)
	if err != nil {
		return nil, err
	}
	sub, err := d.root.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	if opened, err := sub.Stat("."); err != nil || !os.SameFile(info, opened) {
		sub.Close()
		return nil, &os.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	return &Dir{root: sub}, nil
}

// Handle opens what a path below the folder names.
func (d *Dir) Handle(path string) (*os.File, error) { return d.root.Open(path) }

// open opens a file for reading.
func (d *Dir) open(path string) (*os.File, error) { return d.root.Open(path) }

// unlink removes a file or an empty folder.
func (d *Dir) unlink(name string) error { return d.root.Remove(name) }

// subWritable opens a folder.
func (d *Dir) subWritable(name string) (*Dir, error) { return d.Sub(name) }

// moveTo is not needed on this system, whose paths are short.
func (d *Dir) moveTo(name string, _ *Dir, _ string) error {
	return &os.PathError{Op: "move", Path: name, Err: errors.ErrUnsupported}
}
