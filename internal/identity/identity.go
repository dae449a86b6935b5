// Package identity recognizes the folder of a project again: a random ID in it, and what the
// folder is.
package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/cassidy-run/cassidy/internal/folder"
)

// A Mark ties what a user has written to one folder: a random ID, which the user's record
// and a file of the project hold, and what that file and the project's folder are. A path
// is not enough, since other files can take it. The ID is not enough, since it can leave
// with a copy of the project. The zero value is no mark.
type Mark struct {
	ID   string
	Root Identity
	File Identity
}

// An Identity is what a file or folder is, whatever its name: its number on the disk,
// which another can get when it is gone, and the time when it was made. Fields are zero
// where the system has none: there, somebody who has the ID of a mark can imitate the folder.
// The disk is not part of it: its number can change when the system starts.
type Identity struct {
	Number int64
	Made   int64 // in nanoseconds
}

// idDir is the folder of the ID, which git ignores.
const (
	idDir = folder.Name + "/owner"

	// File is the name of the file of the ID.
	File = idDir + "/id"
)

// read returns the mark of a project's folder. Its ID is "" if the folder has no mark.
func read(dir *os.Root) (m Mark, err error) {
	self, err := dir.Open(".")
	if err != nil {
		return m, err
	}
	defer self.Close()
	if m.Root, err = identify(self); err != nil {
		return m, err
	}
	if info, err := dir.Lstat(File); err != nil || !info.Mode().IsRegular() {
		return m, nil
	}
	f, err := dir.Open(File)
	if err != nil {
		return m, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 2*idLength))
	if err != nil {
		return m, err
	}
	if id := strings.TrimSpace(string(text)); len(id) == idLength {
		m.ID = id
		m.File, err = identify(f)
	}
	return m, err
}

// idLength is the length of an ID: 26 letters and digits, 130 random bits.
const idLength = 26

// Make returns the mark of a project's folder, which gets an ID if it has none. An ID
// that is there is kept: it may be in the record of another home.
func Make(root string) (Mark, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return Mark{}, err
	}
	defer dir.Close()
	m, err := read(dir)
	if err != nil || m.ID != "" {
		return m, err
	}
	if err := dir.MkdirAll(idDir, 0o777); err != nil {
		return m, err
	}
	for name, text := range map[string]string{path.Join(idDir, ".gitignore"): "*\n", File: rand.Text() + "\n"} {
		if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
		f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return m, err
		}
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Close()); err != nil {
			return m, err
		}
	}
	m, err = read(dir)
	if err == nil && m.ID == "" {
		err = errors.New("another process keeps removing the file")
	}
	return m, err
}

// Folder returns what a project's folder is.
func Folder(root string) (Identity, error) {
	dir, err := os.Open(root)
	if err != nil {
		return Identity{}, err
	}
	defer dir.Close()
	return identify(dir)
}

// Holds reports whether a project's folder is still the one that has this mark.
func (m Mark) Holds(root string) bool {
	if m.ID == "" {
		return false
	}
	now, err := Of(root)
	return err == nil && now == m
}

// Text returns a text for the mark, which no other mark has.
func (m Mark) Text() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %d %d %d", m.ID, m.Root.Number, m.Root.Made, m.File.Number, m.File.Made))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:idLength])
}

// Of returns the mark that a project's folder has now. Its ID is "" if the folder has no mark.
func Of(root string) (Mark, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return Mark{}, err
	}
	defer dir.Close()
	return read(dir)
}
