// Package beneath reads, opens and removes what is below an open folder, and follows no
// link on the way.
//
// Each name is looked up in a folder that is already open, so that nobody who renames
// folders or puts links in their place can lead it elsewhere.
package beneath

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// A Kind is what an entry of a folder is.
type Kind uint8

// The kinds of entries.
const (
	Other Kind = iota // a pipe, a socket or a device
	File
	Folder
	Link
)

// An ID identifies a file or folder, whatever its name. It is the zero value where the
// system has none.
type ID struct{ Dev, Ino uint64 }

// An Entry is a name in a folder, and what has that name.
type Entry struct {
	Name  string
	Kind  Kind
	ID    ID
	Links uint64 // how many names it has
	// Changed is when its name, its content or its attributes were last changed, in
	// nanoseconds: a time that only the system sets. It is 0 where the system has none.
	Changed int64
}

// Read returns the content of a regular file, which must not be longer than most.
func (d *Dir) Read(path string, most int64) ([]byte, error) {
	f, err := d.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, &os.PathError{Op: "read", Path: path, Err: fs.ErrInvalid}
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// errTime ends what has taken too long.
var errTime = errors.New("timeout")

// moved begins the names of folders that [Dir.Remove] moves before it removes them.
const moved = ".cassidy-tmp-removed-"

func movedName(i int) string { return moved + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(i) }

// maxNested is how deep a removal goes before it moves what is deeper: a bound of the
// folders that are open together.
const maxNested = 64

// A remover removes a tree from a folder.
type remover struct {
	dir      *Dir // where the tree is, and where deep parts of it are moved to
	deadline time.Time
	moves    int
}

// Remove removes what has a name in the folder, and all that is in it, however deep. It
// follows no link, and gives itself the right to remove what its user has made
// unwritable. After the deadline it returns an error.
func (d *Dir) Remove(name string, deadline time.Time) error {
	r := &remover{dir: d, deadline: deadline}
	err := r.remove(d, name, 0)
	for i := 0; i < r.moves && err == nil; i++ {
		err = r.remove(d, movedName(i), 0)
	}
	return err
}

func (r *remover) remove(in *Dir, name string, depth int) error {
	if time.Now().After(r.deadline) {
		return errTime
	}
	if depth > maxNested {
		if err := in.moveTo(name, r.dir, movedName(r.moves)); err != nil {
			return err
		}
		r.moves++
		return nil
	}
	err := in.unlink(name)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	sub, openErr := in.subWritable(name)
	if openErr != nil {
		return err
	}
	defer sub.Close()
	for {
		entries, err := sub.Next(1000)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			if err := r.remove(sub, e.Name, depth+1); err != nil {
				return err
			}
		}
		if err := sub.Rewind(); err != nil { // names were removed while it was read
			return err
		}
	}
	return in.unlink(name)
}
