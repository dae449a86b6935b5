package app

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
)

// firstCommands are what a new user may type first.
func firstCommands() [][2]string {
	return [][2]string{
		{"cassidy demo", "see in a minute what cassidy does"},
		{"cassidy init", "create a project in this folder"},
		{"cassidy tool new NAME", "write a tool: a script that models can call"},
	}
}

// groupOf returns the title of the group that begins with a command in the list of all commands, or "".
func groupOf(command string) string {
	return map[string]string{
		"demo": "Begin", "task": "Work with models", "tool": "Write tools", "trust": "Review and connect", "runs": "Look at runs and models",
		"config": "Settings and help",
	}[command]
}

// help shows the help of a command: drawn on a terminal, else by urfave/cli.
func (a *App) help(ctx *cli.Context) error {
	if !ui.IsTerminal(a.Out) {
		return cli.ShowSubcommandHelp(ctx)
	}
	a.printHelp(ctx.Command)
	return nil
}

// printHelp draws the help of a command: what it is, how it is used, its commands and its flags.
func (a *App) printHelp(c *cli.Command) {
	h := help{Screen: a.ScreenOf(a.Out)}
	h.title(c.HelpName)
	h.text(c.Usage)
	usage := c.UsageText
	switch {
	case usage != "":
		usage = strings.Replace(usage, "[command options]", "[options]", 1)
	case len(c.Flags) > 0:
		usage = c.HelpName + " [options] " + c.ArgsUsage
	default:
		usage = c.HelpName + " " + c.ArgsUsage
	}
	if c.HelpName == "cassidy" {
		about, _, _ := strings.Cut(c.Description, "\n") // the rest are the first commands
		h.text(about)
		h.gap()
		h.names(firstCommands(), 0)
		h.commands(c.Subcommands, true)
		h.usage(usage + "\ncassidy COMMAND --help")
	} else {
		h.usage(usage)
		if c.Description != "" {
			h.gap()
			h.text(c.Description)
		}
		h.commands(c.Subcommands, false)
	}
	h.title("Options")
	h.names(flagsOf(c), 0)
	a.PrintLines(h.lines)
}

// flagsOf returns the flags of a command, each with its text.
func flagsOf(c *cli.Command) (list [][2]string) {
	for _, f := range append(slices.DeleteFunc(slices.Clone(c.Flags), func(f cli.Flag) bool { return f == cli.HelpFlag }), cli.HelpFlag) {
		name, text, _ := strings.Cut(f.String(), "\t")
		if one, again, repeated := strings.Cut(name, " [ "); repeated && again == one+" ]" {
			name = one + " …"
		}
		list = append(list, [2]string{name, text})
	}
	return list
}

// A help is the help of a command while it is drawn.
type help struct {
	draw.Screen
	lines []string
}

func (h *help) gap() {
	if len(h.lines) > 0 {
		h.lines = append(h.lines, "")
	}
}

// title adds a title after an empty line.
func (h *help) title(text string) {
	h.gap()
	for _, line := range draw.Wrap("", text, h.Most()) {
		h.lines = append(h.lines, h.Paint(draw.Bold, line))
	}
}

// usage adds command lines, whose rest hangs.
func (h *help) usage(lines string) {
	h.title("Usage")
	for line := range strings.SplitSeq(h.Own(lines), "\n") {
		for i, text := range draw.Wrap("", line, h.Most()-6) {
			h.lines = append(h.lines, strings.Repeat(" ", min(2+4*i, 6))+text)
		}
	}
}

// text adds paragraphs. The lines of one are filled, and lines that are indented are examples.
func (h *help) text(text string) {
	paragraph := ""
	for line := range strings.SplitSeq(h.Own(text), "\n") {
		if paragraph += line; Continues(line) {
			paragraph += " "
			continue
		}
		body := strings.TrimLeft(paragraph, " ")
		h.lines = append(h.lines, draw.Wrap("  "+paragraph[:len(paragraph)-len(body)], body, h.Most())...)
		paragraph = ""
	}
	if paragraph != "" {
		h.lines = append(h.lines, draw.Wrap("  ", paragraph, h.Most())...)
	}
}

// Continues reports whether the paragraph of a line in a description goes on in the next line: it ends within a sentence.
func Continues(line string) bool {
	return line != strings.TrimRight(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ,;") && !strings.HasPrefix(line, " ")
}

func (h *help) names(list [][2]string, least int) {
	for i := range list {
		list[i] = [2]string{h.Own(list[i][0]), h.Own(list[i][1])}
	}
	h.lines = append(h.lines, h.Names("  ", list, least)...)
}

// commands adds a list of commands, that of all in their groups.
func (h *help) commands(list []*cli.Command, all bool) {
	title, group, widest := "Commands", [][2]string(nil), 0
	for _, c := range list {
		widest = max(widest, len(c.Name)) // also in other groups
	}
	end := func() {
		if len(group) > 0 {
			h.title(title)
			h.names(group, widest)
		}
		group = nil
	}
	for _, c := range list {
		if c.Hidden {
			continue
		}
		if next := groupOf(c.Name); all && next != "" {
			end()
			title = next
		}
		group = append(group, [2]string{c.Name, c.Usage})
	}
	end()
}
