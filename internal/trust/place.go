package trust

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Place is a folder of a project, or of its user, in which skills, policies or
// workflows lie.
type Place struct {
	Location tool.Location
	Base     string  // the project's root, or the user's folder
	Dir      string  // of the files, below base, with slashes
	Shown    string  // how messages name it
	Files    fs.FS   // in place of a folder; else nil
	Ledger   *Ledger // what is trusted of the project
}

// Path returns the path of the folder.
func (p Place) Path() string { return filepath.Join(p.Base, filepath.FromSlash(p.Dir)) }

// Open returns the files below base. Of a project, links that lead out of it
// are refused; a user's own may.
func (p Place) Open() (fs.FS, func(), error) {
	if p.Files != nil {
		return p.Files, func() {}, nil
	}
	if p.Location == tool.Personal {
		return os.DirFS(p.Base), func() {}, nil
	}
	root, err := os.OpenRoot(p.Base)
	if err != nil {
		return nil, nil, err
	}
	return root.FS(), func() { _ = root.Close() }, nil // it was only read from
}

// FileError makes any error one about a file of the place, or about the place.
func (p Place) FileError(name string, err error) *value.Error {
	e := *value.ErrorOf(err, value.Invalid)
	var inner *fs.PathError
	if errors.As(err, &inner) {
		e.Err = inner.Err
	}
	e.Pos.File = path.Join(p.Shown, name)
	return &e
}
