package runs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/scaffold"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/history/fixture"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// exportCommand returns the command that writes a run to a file, for a test.
func exportCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a run to a fixture, which is a file for tests", ArgsUsage: "ID",
		Description: "The run must be done or failed. The fixture is a JSON file with the script, its arguments, each effect with its outcome, and the result.\n" +
			"The default file is .cassidy/tests/ID.json. A fixture contains everything that the run read: review the file before you share it.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`; - is standard output"},
		},
		Action: c.withRun(c.export),
	}
}

func (c *command) export(ctx *cli.Context, j *history.Journal, r *history.Run) error {
	f, err := fixtureOf(ctx.Context, j, r)
	if err != nil {
		return err
	}
	name := ctx.String("output")
	if name == "-" {
		c.PrintData(string(f.Format()))
		return nil
	}
	base, name, err := fixtureFile(c.App, name, r.ID)
	if err != nil {
		return err
	}
	file := filepath.Join(base, name)
	_, err = os.Stat(filepath.Dir(file))
	created := errors.Is(err, fs.ErrNotExist)
	written, err := scaffold.WriteNew(base, name, string(f.Format()), fixture.Mode)
	switch {
	case err != nil:
		return err
	case !written:
		return value.Errorf(value.Invalid, "%s already exists", file).WithHint("delete the file, or choose another one: --output FILE")
	case c.JSON:
		return c.PrintJSON(value.NewDict("id", r.ID, "path", file, "steps", int64(len(f.Steps))))
	}
	c.Print(filepath.ToSlash(file) + "\n")
	c.Warn("the file contains everything that %s read: review it before you share it", ui.Count(len(f.Steps), "step"))
	if created {
		c.Did("created the folder %s", filepath.Dir(file))
	}
	return nil
}

// fixtureFile returns the file to write, in a folder: the one that is named, relative to
// the working folder, or that of the run in the project.
func fixtureFile(a *app.App, given, id string) (base, name string, err error) {
	if given == "" {
		root, err := a.Root()
		return root, path.Join(folder.Name, "tests", id+".json"), err
	}
	if !filepath.IsAbs(given) {
		dir, err := a.WorkDir()
		if err != nil {
			return "", "", err
		}
		given = filepath.Join(dir, given)
	}
	return filepath.Dir(given), filepath.Base(given), nil
}

// fixtureOf reads a run that has ended by itself.
func fixtureOf(ctx context.Context, j *history.Journal, r *history.Run) (*fixture.Fixture, error) {
	if r.State != history.Done && r.State != history.Failed {
		return nil, value.Errorf(value.Conflict, "export run '%s': expected the state done or failed, but got %s", r.ID, r.State).
			WithHint("choose another run: cassidy runs list --state done")
	}
	f, err := fixture.Read(ctx, j, r)
	if err == nil {
		f.Entry = entryOf(r, &f.Script)
	}
	return f, err
}

// entryOf returns the function of its script that a run calls: that of a workflow, or of a policy. A
// program of a model has none, and the run of a call or of an undo has no script.
func entryOf(r *history.Run, s *tool.Script) string {
	switch {
	case s.Path == "", s.Path == agent.ProgramFile:
		return ""
	case r.Kind == host.WorkflowKind:
		return "main"
	}
	return "policy"
}
