package app

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Folders are the folders of the user, as the environment names them.
type Folders struct {
	env func(string) (string, bool)
}

// Home returns the user's own folder, or "" if there is none.
func (f *Folders) Home() string {
	if home, _ := f.env("CASSIDY_HOME"); home != "" {
		if abs, err := filepath.Abs(home); err == nil {
			return abs
		}
		return home
	}
	if home := f.userHome(); home != "" {
		return filepath.Join(home, ".cassidy")
	}
	return ""
}

// userHome returns the home folder of the system's user, or "".
func (f *Folders) userHome() string {
	home, _ := f.env("HOME")
	profile, _ := f.env("USERPROFILE")
	return cmp.Or(home, profile)
}

// ceiling is the folder below which projects are searched: the user's home folder, or
// the root. If the home were a project, a tool that is called in ~/notes could read ~/.ssh.
func (f *Folders) ceiling() string { return cmp.Or(f.userHome(), string(filepath.Separator)) }

// inHome returns a path in the user's own folder, or "" if there is none.
func (f *Folders) inHome(name string) string {
	if home := f.Home(); home != "" {
		return filepath.Join(home, name)
	}
	return ""
}

// AuditFile returns the file that records what was allowed and refused, or "".
func (f *Folders) AuditFile() string { return f.inHome("state/audit.jsonl") }

// Cache returns the folder of the indexes, or "".
func (f *Folders) Cache() string { return f.inHome("cache") }

// State returns the folder of the records, or "".
func (f *Folders) State() string { return f.inHome("state") }

// WorkDir returns the working folder.
func (a *App) WorkDir() (string, error) {
	dir := cmp.Or(a.Dir, ".")
	info, err := os.Stat(dir)
	const hint = "use --dir with an existing folder: --dir DIR"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", value.Errorf(value.Invalid, "folder %s does not exist", dir).WithHint(hint)
	case err != nil:
		return "", value.Errorf(value.Invalid, "%w", ui.FileError(err)).WithHint(hint)
	case !info.IsDir():
		return "", value.Errorf(value.Invalid, "%s is not a folder", dir).WithHint(hint)
	}
	return filepath.Abs(dir)
}

// Root returns the folder of the project, or the working folder if there is none.
func (a *App) Root() (string, error) {
	dir, root, err := a.WorkProject()
	return cmp.Or(root, dir), err
}

// ProjectRoot returns the folder of the project, or "" if there is none.
func (a *App) ProjectRoot() (string, error) {
	_, root, err := a.WorkProject()
	return root, err
}

// WorkProject returns the working folder, and the folder of its project or "".
func (a *App) WorkProject() (dir, root string, err error) {
	if dir, err = a.WorkDir(); err == nil {
		root, _ = project.Find(dir, a.Home(), a.ceiling())
	}
	return dir, root, err
}

// Journal returns the folder of the recorded runs, or "" if the command records none.
func (a *App) Journal() string {
	if !a.Records {
		return ""
	}
	return a.inHome("state/runs")
}
