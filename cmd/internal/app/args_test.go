package app

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestReorder(t *testing.T) {
	cases := []struct{ in, want string }{
		{"tool new slug --template basic", "tool new --template basic -- slug"},
		{"tool run slug --json input=x", "--json tool run -- slug input=x"},
		{"--dir d tool list", "--dir d tool list"},
		{"tool list --dir d --group=files", "--dir d tool list --group=files"},
		{"tool run slug -- --json", "tool run -- slug --json"},
		{"tool run slug n=-3 --input -", "tool run --input - -- slug n=-3"},
		{"tool run list list", "tool run -- list list"},
		{"tool list --help", "tool list --help"},
		{"tool run a --help", "tool help -- a"},
		{"tool run a b=1 -h --json", "--json tool help -- a"},
		{"tool run --help", "tool run --help"},
		{"tool run -- a --help", "tool run -- a --help"},
		{"tool new a --template b --help", "tool new --help"},
		{"tool nope --help", "tool -- nope"},
		{"tool help --help", "tool help --help -- help"},
		{"tool help list --help", "tool help --help -- help"},
		{"", ""},
	}
	root := newRoot(New(&World{}), []func(*App) *cli.Command{func(*App) *cli.Command {
		return &cli.Command{Name: "tool", Subcommands: []*cli.Command{
			{Name: "help"},
			{Name: "list", Flags: []cli.Flag{&cli.StringFlag{Name: "group"}}},
			{Name: "new", Flags: []cli.Flag{&cli.StringFlag{Name: "template"}}},
			{Name: "run", Flags: []cli.Flag{&cli.StringFlag{Name: "input"}}},
		}}
	}})
	for _, c := range cases {
		got, _, err := reorder(root, strings.Fields(c.in))
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("reorder(%s) = %s, %v, want %s", c.in, strings.Join(got, " "), err, c.want)
		}
	}
}
