package project

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A userPlace is a folder of a project, or of its user, in which skills, policies or
// workflows lie.
type userPlace struct {
	location tool.Location
	base     string  // the project's root, or the user's folder
	dir      string  // of the files, below base, with slashes
	shown    string  // how messages name it
	files    fs.FS   // in place of a folder; else nil
	ledger   *ledger // what is trusted of the project
}

func (p userPlace) path() string { return filepath.Join(p.base, filepath.FromSlash(p.dir)) }

// open returns the files below base. Of a project, links that lead out of it
// are refused; a user's own may.
func (p userPlace) open() (fs.FS, func(), error) {
	if p.files != nil {
		return p.files, func() {}, nil
	}
	if p.location == tool.Personal {
		return os.DirFS(p.base), func() {}, nil
	}
	root, err := os.OpenRoot(p.base)
	if err != nil {
		return nil, nil, err
	}
	return root.FS(), func() { _ = root.Close() }, nil // it was only read from
}

// fileError makes any error one about a file of the place, or about the place.
func (p userPlace) fileError(name string, err error) *value.Error {
	e := *value.ErrorOf(err, value.Invalid)
	var inner *fs.PathError
	if errors.As(err, &inner) {
		e.Err = inner.Err
	}
	e.Pos.File = path.Join(p.shown, name)
	return &e
}
