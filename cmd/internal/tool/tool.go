// Package tool has the commands that list, describe, run, write and check tools.
package tool

import (
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/remote"
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
			remote.Offer(a, listCommand(c), c.listOver, "group", "location", "available", "strict", remote.Project),
			groupsCommand(c),
			remote.Offer(a, infoCommand(c), c.aboutOver(c.printInfo), remote.Project),
			remote.Offer(a, helpCommand(c), c.aboutOver(c.printHelp), remote.Project),
			remote.Offer(a, schemaCommand(c), c.aboutOver(c.printSchema), "format", remote.Project),
			remote.Offer(a, runCommand(c), c.runOver, "input", "all", "wide", "out", remote.Project),
			exampleCommand(c), newCommand(c), importCommand(c), validateCommand(c), overheadCommand(c),
			refreshCommand(c),
		},
	}
}
