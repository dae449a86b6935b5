package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

func initCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:  "init",
		Usage: "make the folder a project: create .cassidy/tools and .cassidy/config.yaml",
		Action: func(ctx *cli.Context) error {
			if _, err := exactly(ctx); err != nil {
				return err
			}
			return c.initProject()
		},
	}
}

// initProject creates what a project has and leaves alone what is there.
func (c *command) initProject() error {
	dir, err := c.workDir()
	if err != nil {
		return err
	}
	created, err := c.newProject(dir)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("project", dir, "created", created))
	}
	if len(created) == 0 {
		c.Note("%s is a project already", dir)
	}
	for _, name := range created {
		c.Note("created %s", name)
	}
	c.Note("next: cassidy tool new my_tool")
	return nil
}

// makeProject makes a folder a project, where it is none.
func (c *command) makeProject(dir string) error {
	_, err := c.newProject(dir)
	return err
}

// newProject creates what a project has, and says what it created.
func (c *command) newProject(dir string) (value.List, error) {
	created := value.List{}
	_, err := os.Lstat(filepath.Join(dir, folder.Name))
	fresh := errors.Is(err, fs.ErrNotExist)
	tools := filepath.Join(dir, folder.Name, "tools")
	if _, err := os.Stat(tools); errors.Is(err, fs.ErrNotExist) {
		created = append(created, folder.Name+"/tools")
	}
	if err := os.MkdirAll(tools, 0o777); err != nil {
		return nil, ui.FileError(err)
	}
	if c.home() == filepath.Join(dir, folder.Name) {
		c.Note("this is where your personal tools lie, for all projects")
		return created, nil
	}
	written, err := writeNew(filepath.Join(dir, folder.Name, "config.yaml"), scripts.ProjectConfig())
	if err != nil {
		return nil, err
	}
	if written {
		created = append(created, folder.Name+"/config.yaml")
	}
	if fresh {
		c.markOwn(dir)
	}
	return created, nil
}

// markOwn marks a project that was just made as the user's own, unless there
// are files in it already that a model would obey: those may be a stranger's.
func (c *command) markOwn(dir string) {
	if c.state() == "" {
		return // there is no place to remember it
	}
	find := &project.Options{Scope: trust.Scope{Home: c.home(), Trust: trust.New(c.state())}}
	r, err := project.Review(context.Background(), dir, find)
	switch {
	case err != nil:
	case len(r.Files)+len(r.Broken) > 0:
		c.Note("there are notes for a model here already: if they are yours, run cassidy trust --author")
		return
	default:
		err = find.Trust.MarkAuthor(dir)
	}
	if err != nil {
		c.Report(value.ErrorOf(err, value.Failed)) // the project is there: it can be trusted like any other
	}
}

// writeNew writes a file that must not exist yet; it says whether it did.
func writeNew(file, text string) (bool, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, ui.FileError(err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(file) // nothing half-written stays
		return false, ui.FileError(err)
	}
	return true, nil
}
