package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// exportCommand makes the command that writes a run to a file, for a test.
func (c *command) exportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write what a run did to a file, for a test", ArgsUsage: "ID",
		Description: "The file holds the script, its arguments, each effect with what came of it, and the result, as JSON.\n" +
			"Without --output it is .cassidy/tests/ID.json. It holds what the run read: look at it before you share it.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write `FILE`; - is standard output"},
		},
		Action: c.withRuns(c.exportRun),
	}
}

func (c *command) exportRun(ctx *cli.Context, j *history.Journal) error {
	words, err := exactly(ctx, "ID")
	if err != nil {
		return err
	}
	r, err := findRun(ctx.Context, j, words[0])
	if err != nil {
		return err
	}
	f, err := fixtureOf(ctx.Context, j, r)
	if err != nil {
		return err
	}
	name := ctx.String("output")
	if name == "-" {
		c.Print(string(f.write()))
		return nil
	}
	file, err := c.fixtureFile(name, r.ID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return ui.FileError(err)
	}
	written, err := writeNew(file, string(f.write()))
	switch {
	case err != nil:
		return err
	case !written:
		return value.Errorf(value.Invalid, "there is a file already: %s", file).WithHint("delete it, or name another: --output FILE")
	case c.JSON:
		return c.PrintJSON(value.NewDict("id", r.ID, "path", file, "steps", int64(len(f.steps))))
	}
	c.Print(filepath.ToSlash(file) + "\n")
	c.Note("it holds %s, with all that they read: look at it before you share it", ui.Count(len(f.steps), "step"))
	return nil
}

// fixtureFile returns the file to write: the one that is named, from the folder
// to work in, or that of the run in the project.
func (c *command) fixtureFile(name, id string) (string, error) {
	dir, err := c.workDir()
	switch {
	case err != nil || filepath.IsAbs(name):
		return name, err
	case name != "":
		return filepath.Join(dir, name), nil
	}
	root, err := c.root()
	return filepath.Join(root, folder.Name, "tests", id+".json"), err
}

// fixtureOf reads a run that has come to an end of its own.
func fixtureOf(ctx context.Context, j *history.Journal, r *history.Run) (*fixture, error) {
	if r.State != history.Done && r.State != history.Failed {
		return nil, value.Errorf(value.Conflict, "the run '%s' has not ended by itself: it is %s", r.ID, r.State).
			WithHint("a test needs a run that is done or failed: cassidy runs list --state done")
	}
	log, err := j.Read(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	f := &fixture{id: r.ID, kind: r.Kind, title: r.Title, options: r.Options, script: log.Script(), args: r.Args,
		end: fixtureEnd{r.Result, r.Err}}
	f.entry = entryOf(r, &f.script)
	damage, err := eachStep(ctx, j, r, func(e *history.Entry, damage error) {
		if damage != nil || e.Intended.IsZero() {
			return // something was asked or decided there, and nothing done
		}
		s := fixtureStep{place: e.Place, fn: e.Func, args: e.Args}
		if !e.Settled.IsZero() {
			s.end = &fixtureEnd{e.Outcome.Value, e.Err}
		}
		f.steps = append(f.steps, s)
	})
	if err == nil {
		err = damage
	}
	return f, err
}

// entryOf is the function that a run calls: that of a workflow, or of a policy.
// A program of a model has none.
func entryOf(r *history.Run, s *tool.Script) string {
	switch {
	case s.Path == agent.ProgramFile:
		return ""
	case r.Kind == host.WorkflowKind:
		return "main"
	}
	return "policy"
}
