package agents

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// keeper returns a function that writes a result that is too long for a model to a file:
// in the project, where tools can read it and git ignores it, or without a project in the
// user's state, where tools cannot.
func keeper(a *app.App, root, dir string) func(name, text string) (string, error) {
	base, in := root, host.SavedResults
	if base == "" {
		base, in = a.State(), "results"
	}
	return func(name, text string) (string, error) {
		if base == "" {
			return "", value.Errorf(value.Unavailable, "save a long result: no home folder is set").WithHint("set CASSIDY_HOME to a folder")
		}
		file := path.Join(in, name)
		if err := keep(base, map[string]string{file: text, path.Join(in, ".gitignore"): "*\n"}); err != nil {
			if root == "" {
				return "", folder.HomeError("save a long result in", base, err)
			}
			return "", ui.FileError(err)
		}
		if root == "" {
			a.Warn("shortened a long result; the full result is in %s", filepath.Join(base, filepath.FromSlash(file)))
			return "", nil
		}
		shown, err := filepath.Rel(dir, filepath.Join(base, filepath.FromSlash(file)))
		return filepath.ToSlash(shown), err
	}
}

// keep writes files below a folder. It follows no links out of the folder.
func keep(base string, files map[string]string) error {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return err
	}
	r, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer r.Close()
	for name, text := range files {
		if err := keepNew(r, name, text); err != nil && (path.Base(name) != ".gitignore" || !errors.Is(err, fs.ErrExist)) {
			return err
		}
	}
	return nil
}

// keepNew writes a new file in folders that are not links: a project may have links to
// its other files.
func keepNew(r *os.Root, name, text string) error {
	at := ""
	for _, part := range strings.Split(path.Dir(name), "/") {
		at = path.Join(at, part)
		if err := r.Mkdir(at, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if info, err := r.Lstat(at); err != nil || !info.IsDir() {
			return errors.Join(err, errors.New(at+" is not a folder"))
		}
	}
	f, err := r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
