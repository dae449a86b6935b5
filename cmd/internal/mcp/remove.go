package mcp

import (
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func removeCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "remove", Usage: "detach a server", ArgsUsage: "NAME",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "user", Usage: "detach a server that you attached with --user, for all your projects"}},
		Action: c.remove,
	}
}

func (c *command) remove(ctx *cli.Context) error {
	f, err := c.serverFile(ctx.Bool("user"))
	if err != nil {
		return err
	}
	name := ctx.Args().First()
	trusted, err := f.change(func(text string) (string, error) {
		if text == "" {
			text = "{}"
		}
		after, err := mcpfile.Remove(text, name)
		if value.KindOf(err) == value.NotFound && f.root != "" && c.isPersonal(f.home, name) {
			return "", value.Errorf(value.NotFound, "the project has no server %q, but you have a server of your own with this name", value.Clean(name, 60)).
				WithHint("cassidy mcp remove %s --user", name)
		}
		return after, err
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("file", f.shown, "removed", name, "trusted", trusted))
	}
	c.Did("removed %s from %s", name, f.shown)
	return nil
}

// isPersonal reports whether one of the user's own servers has a name.
func (c *command) isPersonal(home, name string) bool {
	if home == "" {
		return false
	}
	text, err := (&serverFile{home: home, shown: mcpfile.PersonalFile(home)}).read()
	return err == nil && mcpfile.Entry(text, name) != nil
}
