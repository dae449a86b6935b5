// Package scaffold makes projects, and the files of new tools in them.
package scaffold

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

// Command returns cassidy init.
func Command(a *app.App) *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "create a project in this folder: .cassidy/tools and .cassidy/config.yaml",
		Description: "A new project is marked as yours: its new and changed files are trusted, except files that need more\n" +
			"capabilities than before. If the folder already has .cassidy or files that need review, the project is not marked as\n" +
			"yours, and the existing files stay untrusted. To review the untrusted files: cassidy trust. If you wrote all files:\n" +
			"cassidy trust --author.",
		Action: func(*cli.Context) error { return initProject(a) },
	}
}

// initProject makes the working folder a project.
func initProject(a *app.App) error {
	dir, err := a.WorkDir()
	if err != nil {
		return err
	}
	created, err := Project(a, dir)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(value.NewDict("project", dir, "created", created, "author", trust.New(a.State()).Ledger(dir).Author()))
	}
	if len(created) == 0 {
		a.Note("%s is already a project", dir)
	}
	for _, name := range created {
		a.Did("created %s", name)
	}
	a.Note("next: cassidy tool new my_tool")
	return nil
}

// Project makes a folder a project. It keeps existing files, and returns what it created. It reports
// whether the project is marked as the user's own.
func Project(a *app.App, dir string) (value.List, error) {
	created := value.List{}
	if err := a.CheckHome(); err != nil {
		return nil, err
	}
	_, err := os.Lstat(filepath.Join(dir, folder.Name))
	fresh := errors.Is(err, fs.ErrNotExist)
	if _, err := os.Stat(filepath.Join(dir, folder.ToolsDir)); errors.Is(err, fs.ErrNotExist) {
		created = append(created, folder.ToolsDir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, ui.FileError(err)
	}
	defer root.Close()
	if err := makeFolder(root, folder.ToolsDir); err != nil {
		return nil, err
	}
	if a.Home() == filepath.Join(dir, folder.Name) {
		a.Note("this folder is for your personal tools; create projects in other folders")
		return created, nil
	}
	written, err := WriteNew(dir, folder.Name+"/config.yaml", scripts.ProjectConfig(), 0o666)
	if err != nil {
		return nil, err
	}
	if written {
		created = append(created, folder.Name+"/config.yaml")
	}
	if err := markOwn(a, dir, fresh); err != nil {
		if fresh { // without the mark, all that is created in it would be untrusted
			_ = root.RemoveAll(folder.Name)
		}
		return nil, err
	}
	return created, nil
}

// markOwn marks a new project as the user's own, unless the folder has files that need
// review. It reports untrusted files.
func markOwn(a *app.App, dir string, fresh bool) error {
	if a.State() == "" {
		return nil // there is no folder for the record
	}
	h, done, err := a.OpenBare()
	if err == nil {
		defer done()
		var r *trust.Review
		r, err = a.Review(context.Background(), h, dir)
		switch {
		case err != nil:
		case r.Author:
		case fresh && !slices.ContainsFunc(r.Files, func(f trust.File) bool { return !trust.EachVersion(f.Kind, f.Path) }) &&
			!slices.ContainsFunc(r.Broken, func(e *value.Error) bool { return !trust.EachVersion(trust.KindNotes, e.Pos.File) }):
			if err = trust.New(a.State()).MarkAuthor(dir); err == nil {
				a.Did("this project is marked as yours: your new and changed files are trusted unless a file needs more capabilities")
			}
			for _, f := range r.Files { // they are for other programs, too
				a.Warn("%s is not reviewed yet, so models do not get it: cassidy trust", f.Path)
			}
			a.ReportAll(r.Broken)
		case len(r.Untrusted()) > 0:
			a.Warn("this project is not marked as yours: existing files are untrusted; to review them: cassidy trust; if they are yours: cassidy trust --author")
		default:
			a.Warn("this project is not marked as yours, because %s existed before; if it is yours: cassidy trust --author", folder.Name)
		}
	}
	return err
}

// WriteNew writes a new file in a folder, and makes the folders on the way. mode has the permissions of the file, before
// the umask. It reports false if the file exists. It follows no link out of the folder: a project may come from an
// untrusted author.
func WriteNew(dir, name, text string, mode fs.FileMode) (bool, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return false, ui.FileError(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, ui.FileError(err)
	}
	defer root.Close()
	if err := makeFolder(root, path.Dir(name)); err != nil {
		return false, err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, ui.FileError(err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = root.Remove(name) // it is incomplete
		return false, ui.FileError(err)
	}
	return true, nil
}

// makeFolder makes a folder in a project, and those on the way.
func makeFolder(root *os.Root, name string) error {
	err := root.MkdirAll(name, 0o777)
	if err == nil {
		return nil
	}
	for at := name; at != "."; at = path.Dir(at) {
		info, lerr := root.Lstat(at)
		if lerr != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if _, err := root.Stat(at); err != nil {
			return value.Errorf(value.Denied, "create %s: the link %s is broken or leads out of the project", name, at).
				WithHint("replace the link by a folder: rm LINK, then mkdir LINK")
		}
	}
	return ui.FileError(err)
}
