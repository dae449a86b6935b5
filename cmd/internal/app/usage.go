package app

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// prepare completes commands and their subcommands: wrong flags are errors of ours,
// arguments are checked against ArgsUsage, and a command with subcommands and
// without an Action needs one.
func (a *App) prepare(commands []*cli.Command, path string) {
	for _, c := range commands {
		hideFalse(c.Flags)
		c.OnUsageError = usageError
		path := path + " " + c.Name
		if len(c.Subcommands) == 0 {
			c.HideHelpCommand = true // h and help can be the names of tools
			c.Before = func(ctx *cli.Context) error {
				if err := a.chooseServer(ctx, c, path); err != nil {
					return err
				}
				return checkArgs(ctx)
			}
			continue
		}
		c.HideHelpCommand = true
		if c.Action == nil {
			c.Action, c.UsageText = a.NoCommand, "cassidy "+c.Name+" COMMAND …"
		}
		a.prepare(c.Subcommands, path)
	}
}

// hideFalse omits "(default: false)" in the help of flags.
func hideFalse(flags []cli.Flag) {
	for _, f := range flags {
		if b, ok := f.(*cli.BoolFlag); ok {
			b.DisableDefaultText = true
		}
	}
}

// NoCommand is the Action of a command with subcommands: it shows the help, or fails if an argument is not the name of a
// subcommand.
func (a *App) NoCommand(ctx *cli.Context) error {
	if !ctx.Args().Present() {
		return a.help(ctx)
	}
	path, commands := ctx.Command.HelpName, ctx.Command.Subcommands
	if len(commands) == 0 {
		path, commands = ctx.App.Name, ctx.App.Commands
	}
	names := ui.Map(commands, func(c *cli.Command) string { return c.Name })
	word := ctx.Args().First()
	return value.Errorf(value.Invalid, "there is no command %q%s", path+" "+word, value.DidYouMean(word, names)).
		WithHint("list the commands: %s --help", path)
}

// noCommand is NoCommand for the first word of a command line, which may be the name of a tool or a workflow.
func (a *App) noCommand(ctx *cli.Context) error {
	err := a.NoCommand(ctx)
	word := ctx.Args().First()
	if err == nil || word == "" {
		return err
	}
	root, rootErr := a.Root()
	if rootErr != nil || tool.CheckName(word) != nil {
		return err
	}
	e := value.ErrorOf(err, value.Invalid)
	if _, err := os.Stat(filepath.Join(root, folder.Name, "workflows", word+".star")); err == nil {
		return e.WithHint("run the workflow: cassidy run %s", word)
	}
	h, done, openErr := a.Open()
	if openErr != nil {
		return err
	}
	defer done()
	if _, unknown := h.Tool(word); unknown == nil {
		return e.WithHint("run the tool: cassidy tool run %s", word)
	}
	return err
}

// usageError returns the error of wrong flags.
func usageError(ctx *cli.Context, err error, _ bool) error {
	help := value.Errorf(value.Invalid, "%s", strings.Replace(err.Error(), "flag provided but not defined: -", "there is no flag --", 1)).
		WithHint("list the flags: %s --help", ctx.Command.HelpName)
	wrong := wrongValue().FindStringSubmatch(err.Error())
	if wrong == nil {
		return help
	}
	switch findFlag(ctx.Command.Flags, wrong[2]).(type) {
	case *cli.IntFlag:
		return notACount(wrong[2], wrong[1])
	case *cli.Float64Flag:
		return value.Errorf(value.Invalid, "--%s must be a number, not %s", wrong[2], wrong[1]).WithHint("for example: --%s 60", wrong[2])
	case *cli.DurationFlag:
		return value.Errorf(value.Invalid, "--%s must be a duration with a unit, not %s", wrong[2], wrong[1]).WithHint("use a number and a unit, as in 90s, 5m or 720h")
	}
	return help
}

// wrongValue matches the error of package flag for a value of the wrong type.
var wrongValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^invalid value (".*") for flag -([^:]+): `)
})

// CountFlag returns a flag that takes a number, 0 or more; 0 is all.
func CountFlag(name string, count int, usage string) cli.Flag {
	text := ""
	if count == 0 {
		text = "all"
	}
	return &cli.IntFlag{Name: name, Value: count, DefaultText: text, Usage: usage, Action: func(_ *cli.Context, n int) error {
		if n < 0 {
			return notACount(name, strconv.Itoa(n))
		}
		return nil
	}}
}

func notACount(flag, got string) error {
	return value.Errorf(value.Invalid, "--%s must be 0 or more, not %s", flag, got).WithHint("for example: --%s 20", flag)
}

// checkArgs compares the number of arguments with the ArgsUsage of the command: ID is
// required, [ID] is optional, and "…" stands for any number.
func checkArgs(ctx *cli.Context) error {
	usage := ctx.Command.ArgsUsage
	words, args := strings.Fields(usage), ctx.Args().Slice()
	required := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "[") })
	if required < 0 {
		required = len(words)
	}
	hint := strings.TrimSpace(ctx.Command.HelpName + " " + usage)
	if strings.HasPrefix(strings.TrimPrefix(usage, "["), `"`) {
		hint = "put the text in quotes: " + hint
	}
	switch {
	case len(args) < required:
		return value.Errorf(value.Invalid, "%s is missing", words[len(args)]).WithHint("%s", hint)
	case len(args) > len(words) && !strings.Contains(usage, "…"):
		return value.Errorf(value.Invalid, "unexpected argument %q", args[len(words)]).WithHint("%s", hint)
	}
	return nil
}

// CheckWord refuses a word that is not one of those that are known: what is the word's
// role, as in "state".
func CheckWord(what, word string, known ...string) error {
	if slices.Contains(known, word) {
		return nil
	}
	return value.Errorf(value.Invalid, "there is no %s %q%s", what, word, value.DidYouMean(word, known)).
		WithHint("%ss are %s", what, strings.Join(known, ", "))
}

// Words returns the words of a flag that may be repeated, and whose values may have
// several words with commas between them.
func Words(list []string) []string {
	var all []string
	for _, word := range strings.Split(strings.Join(list, ","), ",") {
		if word = strings.TrimSpace(word); word != "" && !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}
