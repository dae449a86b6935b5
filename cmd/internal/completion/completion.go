// Package completion completes command lines of cassidy in shells.
package completion

import (
	"embed"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/value"
)

//go:embed scripts
var scripts embed.FS

// shells are the shells with a script, and what their users type to load it.
var shells = []struct{ name, load string }{
	{"bash", "echo 'source <(cassidy completion bash)' >> ~/.bashrc"},
	{"zsh", "echo 'source <(cassidy completion zsh)' >> ~/.zshrc   (after compinit)"},
	{"fish", "cassidy completion fish > ~/.config/fish/completions/cassidy.fish"},
	{"powershell", "cassidy completion powershell | Out-String | Invoke-Expression   (in your $PROFILE)"},
}

// A command is one run of a command of this package.
type command struct{ *app.App }

// Command returns cassidy completion.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	var names, loads []string
	for _, s := range shells {
		names, loads = append(names, s.name), append(loads, "  "+s.load)
	}
	return &cli.Command{
		Name: "completion", Usage: "print a script that completes command lines in your shell: " + strings.Join(names, ", "), ArgsUsage: "SHELL",
		Description: "The script completes commands, flags, and the names of tools, parameters, workflows, agents, skills, settings and runs.\nTo load it in each new shell:\n" + strings.Join(loads, "\n"),
		Action: func(ctx *cli.Context) error {
			shell := ctx.Args().First()
			if !slices.Contains(names, shell) {
				return value.Errorf(value.Invalid, "unknown shell %q%s", shell, value.DidYouMean(shell, names)).WithHint("cassidy completion bash; the shells are %s", strings.Join(names, ", "))
			}
			script, err := scripts.ReadFile("scripts/" + shell)
			c.PrintData(string(script))
			return err
		},
	}
}

// Words returns the hidden command that the scripts call. Its arguments are the words of a command line up to the one
// that is completed, which may be "". It prints a candidate in each line, and after a tab what the candidate is.
// It does not quote names such as $(touch x).md: zsh and fish quote what they insert, and the other scripts do it.
func Words(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "__complete", Hidden: true, ArgsUsage: "[WORD …]",
		Action: func(ctx *cli.Context) error {
			words := ctx.Args().Slice()
			if len(words) == 0 {
				words = []string{""}
			}
			for _, found := range c.complete(ctx.App, words) {
				about, _, _ := strings.Cut(strings.ReplaceAll(found.about, "`", ""), "\n")
				c.PrintData(ui.VisibleLine(found.word) + "\t" + ui.Brief(about, 60) + "\n")
			}
			return nil
		},
	}
}

// A candidate is a word that can follow, and what it is.
type candidate struct{ word, about string }

// complete returns the candidates for the last of the words.
func (c *command) complete(root *cli.App, words []string) []candidate {
	last := words[len(words)-1]
	at := line{commands: root.Commands}
	flags := slices.Clone(root.Flags)
	for i := 0; i < len(words)-1; i++ {
		switch word := words[i]; {
		case strings.HasPrefix(word, "-") && len(word) > 1:
			name, given, joined := strings.Cut(strings.TrimLeft(word, "-"), "=")
			f := find(slices.Concat(flags, at.flags()), name)
			if _, isBool := f.(*cli.BoolFlag); f == nil || isBool || joined {
				c.global(name, given)
				continue
			}
			i++
			if i == len(words)-1 {
				return matching(c.values(name), last)
			}
			c.global(name, words[i])
		default:
			at.step(word)
		}
	}
	var all []candidate
	switch {
	case strings.HasPrefix(last, "-"):
		for _, f := range slices.Concat(at.flags(), flags) {
			if shown, ok := f.(cli.DocGenerationFlag); ok {
				all = append(all, candidate{"--" + f.Names()[0], shown.GetUsage()})
			}
		}
	case len(at.args) == 0 && len(at.commands) > 0:
		for _, sub := range at.commands {
			if !sub.Hidden {
				all = append(all, candidate{sub.Name, sub.Usage})
			}
		}
	default:
		all = c.arguments(at.path, at.args)
	}
	return matching(all, last)
}

// global sets the flags that say where the names are.
func (c *command) global(flag, given string) {
	if flag == "dir" {
		c.Dir = given
	}
}

// matching returns the candidates that begin with a word.
func matching(all []candidate, word string) []candidate {
	return slices.DeleteFunc(all, func(c candidate) bool { return !strings.HasPrefix(c.word, word) })
}

// A line is the part of a command line that was read.
type line struct {
	path     []string
	command  *cli.Command
	commands []*cli.Command // those that can follow
	args     []string
}

// step reads a word that is not a flag.
func (l *line) step(word string) {
	i := slices.IndexFunc(l.commands, func(c *cli.Command) bool { return c.HasName(word) })
	if len(l.args) > 0 || i < 0 {
		l.args = append(l.args, word)
		return
	}
	l.path, l.command, l.commands = append(l.path, word), l.commands[i], l.commands[i].Subcommands
}

func (l *line) flags() []cli.Flag {
	if l.command == nil {
		return nil
	}
	return l.command.Flags
}

func find(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}
