// Package tool has the commands that list, describe, run, write and check tools.
package tool

import (
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/app"
)

// selectionHelp explains the arguments that select tools.
const selectionHelp = "NAME is the name of a tool. @GROUP stands for all tools of a group. preset:NAME stands for a selection of tools, such as\n" +
	"preset:read_only. "

// A command is one run of a command of cassidy tool.
type command struct{ *app.App }

// Command returns cassidy tool.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "tool", Usage: "list, describe, run, write and check tools",
		Subcommands: []*cli.Command{
			listCommand(c), groupsCommand(c), infoCommand(c), helpCommand(c), schemaCommand(c),
			runCommand(c), exampleCommand(c), newCommand(c), importCommand(c), validateCommand(c), overheadCommand(c),
			refreshCommand(c),
		},
	}
}
