// Package scratch makes temporary folders that do not outlast their makers for long.
//
// A process that is killed cannot remove its folders, so whoever makes one first removes those whose
// makers are gone. Nobody guesses that from a number of a process or from a time: the maker holds a lock
// on the folder, which the system releases when the process ends. A folder is removed only if its name
// is one that this package gives, it belongs to this user, it is no link, and its lock is free.
package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/beneath"
)

// A Dir is a temporary folder. It is locked: for what locks a folder itself, such as the project of a host,
// make a folder in it.
type Dir struct {
	Path string // absolute and without links
	lock *os.File
}

// held ends the names of folders that are locked while their maker lives. Folders with other names, such
// as those of earlier versions, may be in use although they are not locked.
const held = ".held"

const (
	maxRemoval = 30 * time.Second // of one folder by its maker
	maxSweep   = 5 * time.Second  // of those of others: the next one continues
	maxNames   = 20_000           // of the parent folder that are read
	maxTries   = 100
)

// Make makes a folder named cassidy-KIND-NUMBER.held in a folder, or in [os.TempDir] if in is "". Before,
// it removes such folders, of every kind, that killed processes of this user have left there. Where
// folders cannot be locked, it removes none.
func Make(in, kind string) (*Dir, error) {
	if in == "" {
		in = os.TempDir()
	}
	in, err := filepath.EvalSymlinks(in)
	if err == nil {
		in, err = filepath.Abs(in)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(in)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	sweep(root)
	for range maxTries {
		dir, err := os.MkdirTemp(in, "cassidy-"+kind+"-*"+held)
		if err != nil {
			return nil, err
		}
		lock, err := open(root, filepath.Base(dir))
		switch {
		case err == nil && lock != nil:
			return &Dir{dir, lock}, nil
		case err == nil || errors.Is(err, fs.ErrNotExist):
			continue // somebody sweeps, and was faster than the lock
		case !errors.Is(err, errors.ErrUnsupported):
			return nil, errors.Join(err, os.Remove(dir))
		}
		if err := os.Remove(dir); err != nil {
			return nil, err
		}
		if dir, err = os.MkdirTemp(in, "cassidy-"+kind+"-"); err != nil {
			return nil, err
		}
		return &Dir{Path: dir}, nil
	}
	return nil, &fs.PathError{Op: "lock a folder in", Path: in, Err: fs.ErrExist}
}

// Close removes the folder with all that is in it, also what its user has made unwritable. It is of no
// use a second time, and of a nil folder.
func (d *Dir) Close() error {
	if d == nil || d.Path == "" {
		return nil
	}
	in, err := os.OpenRoot(filepath.Dir(d.Path))
	if err == nil {
		err = remove(in, filepath.Base(d.Path), time.Now().Add(maxRemoval))
		in.Close()
	}
	d.Path = ""
	if d.lock != nil {
		d.lock.Close() // last, so that nobody else removes it meanwhile
	}
	return err
}

// remove removes a folder from the one that it is in. What is deeply nested is moved within it, so an
// interrupted removal leaves nothing elsewhere.
func remove(in *os.Root, name string, deadline time.Time) error {
	allow(in, name)
	root, err := in.OpenRoot(name)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := beneath.Open(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		entries, err := dir.Next(1000)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return in.Remove(name)
		}
		for _, e := range entries {
			if err := dir.Remove(e.Name, deadline); err != nil {
				return err
			}
		}
		if err := dir.Rewind(); err != nil { // names were removed while it was read
			return err
		}
	}
}

// allow lets the user open a folder that a program has closed to them.
func allow(in *os.Root, name string) { _ = in.Chmod(name, 0o700) }

// open opens and locks a folder that belongs to this user. It returns nil if somebody else has locked it,
// and if the name is that of something else, or is now.
func open(in *os.Root, name string) (*os.File, error) {
	before, err := in.Lstat(name)
	if err != nil || !before.IsDir() || !isOwn(before) {
		return nil, err
	}
	f, err := in.Open(name)
	if errors.Is(err, fs.ErrPermission) {
		allow(in, name)
		f, err = in.Open(name)
	}
	if err != nil {
		return nil, err
	}
	locked, err := lock(f)
	if locked && err == nil {
		var opened, now fs.FileInfo
		if opened, err = f.Stat(); err == nil {
			now, err = in.Lstat(name)
		}
		if err == nil && os.SameFile(before, opened) && os.SameFile(now, opened) {
			return f, nil
		}
	}
	f.Close()
	return nil, err
}

// sweep removes what killed processes have left in a folder. It fails silently: nobody waits for the
// room, and the next one tries again.
func sweep(in *os.Root) {
	f, err := in.Open(".")
	if err != nil {
		return
	}
	names, _ := f.Readdirnames(maxNames)
	f.Close()
	deadline := time.Now().Add(maxSweep)
	for _, name := range names {
		if !isMade(name) {
			continue
		}
		if lock, err := open(in, name); err == nil && lock != nil {
			_ = remove(in, name, deadline)
			lock.Close()
		}
	}
}

// isMade reports whether a name is one that [Make] gives to a folder that it locks.
func isMade(name string) bool {
	name, begins := strings.CutPrefix(name, "cassidy-")
	name, ends := strings.CutSuffix(name, held)
	kind, number, ok := strings.Cut(name, "-")
	return begins && ends && ok && kind != "" && number != "" && strings.Trim(number, "0123456789") == ""
}
