package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// reorder puts the flags of a command line before its arguments, and the
// global ones before the command, so that they may be written anywhere:
// urfave/cli stops reading flags at the first argument. After "--" nothing is
// a flag.
func reorder(app *cli.App, args []string) ([]string, error) {
	r := reordering{app: app, commands: app.Commands, flags: app.Flags}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			r.rest = append(r.rest, args[i+1:]...)
			return r.all(), nil
		case len(arg) > 1 && arg[0] == '-':
			taken, err := r.flag(args[i:])
			if err != nil {
				return nil, err
			}
			i += taken - 1
		default:
			r.word(arg)
		}
	}
	return r.all(), nil
}

type reordering struct {
	app      *cli.App
	commands []*cli.Command // those that the next word may name
	flags    []cli.Flag     // of the command so far
	global   []string
	path     []string
	local    []string
	rest     []string
	help     bool
}

func (r *reordering) all() []string {
	if r.help {
		return slices.Concat(r.path, []string{"--help"}) // whatever else was asked for
	}
	all := slices.Concat(r.global, r.path, r.local)
	if len(r.rest) > 0 {
		all = append(append(all, "--"), r.rest...)
	}
	return all
}

// word takes a word that is no flag: the name of a command, or an argument.
func (r *reordering) word(word string) {
	if word == "help" && len(r.path) == 0 && len(r.rest) == 0 {
		r.help = true
		return
	}
	if len(r.rest) == 0 {
		for _, c := range r.commands {
			if c.HasName(word) {
				r.path = append(r.path, word)
				r.commands, r.flags = c.Subcommands, c.Flags
				return
			}
		}
	}
	r.rest = append(r.rest, word)
}

// flag takes a flag with its value, and says how many words that were.
func (r *reordering) flag(args []string) (int, error) {
	name, _, joined := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
	bucket := &r.global
	f := findFlag(r.app.Flags, name)
	if f == nil {
		bucket = &r.local
		f = findFlag(r.flags, name)
	}
	if f == nil {
		if name == "help" || name == "h" {
			r.help = true
			return 1, nil
		}
		if name == "version" && len(r.path) == 0 {
			r.path = []string{"version"}
			return 1, nil
		}
		return 0, value.Errorf(value.Invalid, "there is no flag %s%s", args[0], value.DidYouMean(name, r.names())).
			WithHint("%s --help lists the flags; put -- before an argument that begins with -", strings.Join(append([]string{"cassidy"}, r.path...), " "))
	}
	if _, isBool := f.(*cli.BoolFlag); isBool || joined {
		*bucket = append(*bucket, args[0])
		return 1, nil
	}
	if len(args) == 1 {
		return 0, value.Errorf(value.Invalid, "the flag --%s needs a value", name).WithHint("write --%s VALUE", name)
	}
	*bucket = append(*bucket, args[0], args[1])
	return 2, nil
}

func (r *reordering) names() []string {
	var names []string
	for _, f := range slices.Concat(r.flags, r.app.Flags) {
		names = append(names, f.Names()...)
	}
	return names
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}
