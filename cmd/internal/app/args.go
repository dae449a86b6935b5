package app

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// reorder moves the flags of a command line before its arguments, and the global ones
// before the command, since urfave/cli stops reading flags at the first argument. After
// "--" nothing is a flag. If the help of a command is wanted, it returns that one, too.
func reorder(app *cli.App, args []string) (all []string, helpOf *cli.Command, err error) {
	var global, path, local, rest []string
	commands, flags := app.Commands, []cli.Flag(nil) // those of the path
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			rest = append(rest, args...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(arg) })
			switch {
			case i >= 0 && len(rest) == 0:
				path = append(path, arg)
				commands, flags = commands[i].Subcommands, commands[i].Flags
			case arg == "help" && len(path)+len(rest) == 0:
				local = append(local, "--help")
			default:
				rest = append(rest, arg)
			}
			continue
		}
		name, _, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		to, f := &local, findFlag(flags, name)
		if f == nil {
			to, f = &global, findFlag(app.Flags, name)
		}
		_, isBool := f.(*cli.BoolFlag)
		switch {
		case name == "help" || name == "h":
			local = append(local, "--help")
		case f == nil && name == "version" && len(path) == 0:
			path = append(path, "version")
		case f == nil:
			return nil, nil, unknownFlag(arg, path, slices.Concat(flags, app.Flags))
		case isBool || joined:
			*to = append(*to, arg)
		case len(args) == 0:
			return nil, nil, value.Errorf(value.Invalid, "the flag --%s needs a value", name).WithHint("write --%s VALUE", name)
		default:
			*to = append(*to, arg, args[0])
			args = args[1:]
		}
	}
	if len(rest) > 0 && len(commands) > 0 { // there is no such command, which help would hide
		local = slices.DeleteFunc(local, func(arg string) bool { return arg == "--help" })
	}
	if len(rest) > 0 && len(commands) == 0 && slices.Contains(local, "--help") {
		path, local, rest = helpWanted(path, rest)
	}
	if slices.Contains(local, "--help") {
		helpOf = commandAt(app, path)
	}
	if n := len(path); n > 0 && path[n-1] == "help" && helpOf != nil {
		rest = []string{"help"} // urfave/cli shows the page of the command that this argument names
	}
	all = slices.Concat(global, path, local)
	if len(rest) > 0 {
		all = append(append(all, "--"), rest...)
	}
	return all, helpOf, nil
}

// commandAt returns the command of a path with its name in full. Without a path it is cassidy itself.
func commandAt(app *cli.App, path []string) *cli.Command {
	c := &cli.Command{UsageText: app.UsageText, Usage: app.Usage, Description: app.Description, Flags: app.Flags, Subcommands: app.Commands}
	for _, name := range path {
		c = c.Command(name)
	}
	named := *c
	named.HelpName = strings.Join(append([]string{app.Name}, path...), " ")
	return &named
}

// helpWanted returns the command line of the help that is wanted by --help after arguments: of the tool or the workflow that
// would be run, or of the command.
func helpWanted(path, args []string) (command, flags, rest []string) {
	if slices.Equal(path, []string{"tool", "run"}) || slices.Equal(path, []string{"tool", "example"}) {
		return []string{"tool", "help"}, nil, args[:1]
	}
	if slices.Equal(path, []string{"run"}) {
		return path, nil, []string{args[0], "--help"} // which the command reads: no argument of a workflow looks like that
	}
	return path, []string{"--help"}, nil
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func unknownFlag(arg string, path []string, flags []cli.Flag) error {
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()...)
	}
	return value.Errorf(value.Invalid, "there is no flag %s%s", arg, value.DidYouMean(strings.TrimLeft(arg, "-"), names)).
		WithHint("list the flags with %s --help, or put -- before an argument that begins with -", strings.Join(append([]string{"cassidy"}, path...), " "))
}
