package trust

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Place is a folder of a project, or of its user, that contains skills, policies or
// workflows.
type Place struct {
	Location tool.Location
	Base     string                  // the project's root, or the user's folder
	Dir      string                  // of the files, under Base, with slashes
	Shown    string                  // the name in messages
	Files    fs.FS                   // replaces the folder, or nil
	Ledger   *Ledger                 // the trust of the project
	Refuse   func(fs.FileInfo) error // see [Scope]
}

// Own reports whether the folder is one of cassidy: the files in others are those of other programs, too.
func (p Place) Own() bool {
	return !slices.Contains(OtherAgents(), p.Dir) && !slices.Contains(OtherSkills(), p.Dir)
}

// Path returns the path of the folder.
func (p Place) Path() string { return filepath.Join(p.Base, filepath.FromSlash(p.Dir)) }

// Status returns the status of a file of the place, by its name there and the hash of its
// text. The user's own files are trusted.
func (p Place) Status(kind Kind, name, text string) Status {
	if p.Location != tool.Project {
		return trusted()
	}
	return p.Ledger.File(kind, path.Join(p.Dir, name), text)
}

// Open returns the files under Base. In a project, links that lead out of it are
// rejected; the user's own links are followed.
func (p Place) Open() (fs.FS, func(), error) {
	if p.Files != nil {
		return folder.Refusing(p.Files, p.Refuse), func() {}, nil
	}
	if p.Location == tool.Personal {
		return folder.Refusing(os.DirFS(p.Base), p.Refuse), func() {}, nil
	}
	root, err := os.OpenRoot(p.Base)
	if err != nil {
		return nil, nil, err
	}
	return folder.Refusing(root.FS(), p.Refuse), func() { _ = root.Close() }, nil // it was only read from
}

// FileError converts an error to one of a file of the place, or of the place itself.
func (p Place) FileError(name string, err error) *value.Error {
	return folder.FileError(err, path.Join(p.Shown, name))
}

// ReadFiles calls read for the files in the folder that isFile selects, and returns the errors, as [Place.Read] does.
func (p Place) ReadFiles(limit int, isFile func(fs.DirEntry) bool, read func(files fs.FS, name string) error) (broken []*value.Error) {
	return p.Read(limit, func(_ fs.FS, e fs.DirEntry) []string {
		if isFile(e) {
			return []string{e.Name()}
		}
		return nil
	}, read)
}

// Read calls read for the files that find returns for the entries of the folder, at most limit and [folder.OtherShare], and
// returns the errors. The names of files are from the folder, with slashes.
func (p Place) Read(limit int, find func(files fs.FS, e fs.DirEntry) []string, read func(files fs.FS, name string) error) (broken []*value.Error) {
	files, done, err := p.Open()
	if err != nil {
		return []*value.Error{p.FileError("", err)}
	}
	defer done()
	entries, more, err := folder.ReadDir(files, p.Dir, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return []*value.Error{p.FileError("", err)}
	case more:
		broken = append(broken, p.FileError("", value.Errorf(value.Limit, "the folder has more than %d files: the remaining files are ignored", limit)))
	}
	var names []string
	for _, e := range entries {
		names = append(names, find(files, e)...)
	}
	over := folder.Over(p.sizes(files, names), folder.OtherShare)
	for i, name := range names {
		err := error(folder.OverShare(folder.OtherShare))
		if !over[i] {
			err = read(files, name)
		}
		if err != nil {
			broken = append(broken, p.FileError(name, err))
		}
	}
	return broken
}

// sizes returns the sizes of files of the place. Reading a file that has none reports the error.
func (p Place) sizes(files fs.FS, names []string) []int64 {
	sizes := make([]int64, len(names))
	for i, name := range names {
		if info, err := fs.Stat(files, path.Join(p.Dir, name)); err == nil && info.Mode().IsRegular() {
			sizes[i] = info.Size()
		}
	}
	return sizes
}

// Create creates a file in the folder, which it also creates. An existing file is an error that matches
// [fs.ErrExist].
func (p Place) Create(name, text string) error {
	if p.Location == tool.Personal { // the user's own links are followed
		if err := os.MkdirAll(p.Path(), 0o755); err != nil {
			return err
		}
		p.Base, p.Dir = p.Path(), "."
	}
	root, err := os.OpenRoot(p.Base)
	if err != nil {
		return err
	}
	defer root.Close()
	name = path.Join(p.Dir, name)
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, root.Remove(name)) // it is incomplete
	}
	return nil
}

// Untrusted returns the error of using something untrusted.
func Untrusted(what, reason string) error {
	return value.Errorf(value.Denied, "%s is untrusted: %s", what, reason).WithHint("review it with: cassidy trust; in Go, set Options.TrustSource for your own files")
}
