package agents

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/scaffold"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

func newCommand(c *agentsCommand) *cli.Command {
	return &cli.Command{
		Name: "new", Usage: "write a new agent file, with the most important fields", ArgsUsage: "NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "description", Usage: "state what the agent is for and when to use it, in one `SENTENCE`"},
			&cli.StringFlag{Name: "location", Usage: "create the agent in `WHERE`: project, or personal for all your projects", Value: "project"},
			&cli.BoolFlag{Name: "open", Usage: "open the file in $VISUAL or $EDITOR"},
		},
		Action: c.WithHost(c.new),
	}
}

func (c *agentsCommand) new(ctx *cli.Context, h *host.Host) error {
	name, location := ctx.Args().First(), ctx.String("location")
	if err := app.CheckWord("location", location, "project", "personal"); err != nil {
		return err
	}
	description := folder.OneLine(ctx.String("description"))
	if description == "" {
		description = "What " + name + " is for and when to use it."
	}
	root, err := c.Root()
	if err != nil {
		return err
	}
	switch at := tool.Location(location); {
	case at == tool.Project && c.Home() == filepath.Join(root, folder.Name):
		location = string(tool.Personal) // this .cassidy folder is the user's own
	case at == tool.Personal && c.Home() == "":
		return value.Errorf(value.Invalid, "create a personal agent: no home folder is set").WithHint("set CASSIDY_HOME to a folder")
	}
	if err := c.CheckHome(); err != nil {
		return err
	}
	if err := project.CheckNewAgent(root, c.Scope(), name); err != nil {
		return err
	}
	if existing, _ := c.ProjectRoot(); existing == "" && location == string(tool.Project) {
		if _, err := scaffold.Project(c.App, root); err != nil {
			return err
		}
	}
	shown, err := project.CreateAgent(root, c.Scope(), name, tool.Location(location), scripts.AgentTemplate(name, description))
	if errors.Is(err, fs.ErrExist) {
		return value.Errorf(value.Failed, "the file %s already exists", shown).WithHint("use a different name, or edit the file")
	}
	if err != nil {
		return value.Errorf(value.Failed, "write %s: %w", shown, folder.Cause(err))
	}
	file := shown
	if location == string(tool.Project) {
		file = filepath.Join(root, filepath.FromSlash(shown))
		if err := c.RecordOwn(ctx.Context, h, root, path.Clean(shown)); err != nil {
			c.Report(value.ErrorOf(err, value.Failed)) // the file exists, and can be reviewed later
		}
	}
	if c.JSON {
		err = c.PrintJSON(value.NewDict("name", name, "path", file))
	} else {
		c.Did("created %s", shown)
		c.Note("next: edit the file, then  cassidy agents show %s", name)
		c.Note("      to run the agent:    cassidy task --agent %s \"TASK\"", name)
		c.Note("      models that have the tool 'agent' can also start this agent: they select it by its description")
	}
	if err == nil && ctx.Bool("open") {
		err = c.Edit(file)
	}
	return err
}
