// Package repl has the command that runs what a person types, as a script would run it.
package repl

import (
	"cmp"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/models"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A command is one run of cassidy repl.
type command struct{ *app.App }

// Command returns cassidy repl.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "repl", Usage: "run Starlark line by line, with the functions that tools can use", ArgsUsage: " ",
		Description: "Type Starlark at the prompt: the value of each expression is shown. The modules, such as fs and http, and all\n" +
			"tools are available as functions. Variables and functions are kept until the session ends.\n" +
			"Type :help for the commands of the session. Ctrl-C cancels the current input. Ctrl-D ends the session.\n" +
			"Without a terminal, the lines of standard input are run. With --json, each result is a line of JSON.\n" +
			"Every effect that can write files, run commands or send data asks for approval first. To approve everything except notes: --yes.\n" +
			"With --tool NAME, inputs have only the capabilities of the tool NAME. As in cassidy tool run NAME, the effects of\n" +
			"these capabilities need no approval. Inputs can call the tool NAME, and each tool that NAME lists in its\n" +
			"field 'needs'. If a called tool can write files, run commands or send data, the call needs approval.",
		Flags: append(approve.Flags(),
			&cli.StringFlag{Name: "tool", Usage: "give inputs the capabilities of the tool `NAME`"},
			&cli.StringFlag{Name: "model", Usage: "if an input calls model.ask, ask `MODEL`: " + models.Choices, DefaultText: models.Default}),
		Action: c.Asking(c.run),
	}
}

func (c *command) run(ctx *cli.Context, h *host.Host) error {
	s := &session{App: c.App, host: h, sources: map[string]string{}}
	if name := ctx.String("tool"); name != "" {
		t, err := h.Tool(name)
		if err != nil {
			return err
		}
		if err := calls.Untrusted(&t); err != nil {
			return err
		}
		if t.Path == "" {
			return value.Errorf(value.Invalid, "--tool %s: the tool is not a script", t.Name).WithHint("omit --tool, and call %s(…)", tool.Key(t.Name))
		}
		s.tool = t.Name
		s.needs = append(slices.Clone(t.Needs), tool.Capability{Name: "tool", Target: t.Name})
	} else {
		s.needs, s.narrow = everything()
	}
	s.tools = ready(h)
	switch interactive := ui.IsTerminal(c.In) && !c.JSON; {
	case interactive:
		console := c.OpenTerminal(c.In, false)
		if console == nil {
			return value.Errorf(value.Invalid, "open a session: standard error is not a terminal").WithHint("run lines from a file: cassidy repl < FILE")
		}
		c.Person.Term = console
		s.input = newPerson(s, console)
	default:
		c.Person.InputRead = true
		s.input = newPipe(c.In)
	}
	return s.run(ctx.Context)
}

// everything returns the capabilities of an input without --tool: all of them, and the rules that ask
// before it writes, runs or sends something.
func everything() (needs []tool.Capability, ask []tool.Rule) {
	for _, name := range tool.CapabilityNames() {
		c := tool.Capability{Name: name}
		needs = append(needs, c)
		if c.Acts() {
			ask = append(ask, tool.Rule{Verdict: tool.Ask, Capability: c, Source: "cassidy repl"})
		}
	}
	return needs, ask
}

// ready returns the tools that inputs can call, by name.
func ready(h *host.Host) []tool.Tool {
	var list []tool.Tool
	for _, t := range h.Tools() {
		if t.State == toolset.Ready {
			list = append(list, t.Tool)
		}
	}
	slices.SortFunc(list, func(a, b tool.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
