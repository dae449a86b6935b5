package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
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
		{"", ""},
	}
	for _, c := range cases {
		got, err := reorder(newApp(commandIn(&world{})), strings.Fields(c.in))
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("reorder(%s) = %s, %v, want %s", c.in, strings.Join(got, " "), err, c.want)
		}
	}
}

// FuzzArguments checks that no command line makes the command panic, and that
// every one that is wrong has an exit code and a word about it.
func FuzzArguments(f *testing.F) {
	for _, line := range []string{
		"tool run read_file filepath=x", "tool run x --input {", "--json tool list", "tool --help", "-- --", "--dir",
		"tool schema read_file --format=mcp", "tool run read_file :=1", "tool run read_file a:=[1", "tool\nlist", "tool example read_file 99",
	} {
		f.Add(strings.ReplaceAll(line, " ", "\x00"))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		if slices.Contains(args, "new") || slices.Contains(args, "init") || strings.Contains(line, "dir") {
			return // what would write beside the test's own folder
		}
		var told strings.Builder
		env := func(name string) (string, bool) {
			return map[string]string{"CASSIDY_HOME": dir}[name], name == "CASSIDY_HOME"
		}
		w := &world{in: strings.NewReader(""), out: io.Discard, err: &told, env: env}
		code := Main(context.Background(), append([]string{"--dir", dir}, args...), w)
		if code != 0 && told.Len() == 0 && !slices.Contains(args, "--quiet") {
			t.Errorf("%q ended with %d and said nothing", args, code)
		}
	})
}

// FuzzPairs checks that key=value is taken apart in one way.
func FuzzPairs(f *testing.F) {
	f.Add("a=1", "b:=[1]")
	f.Add("a==", "=a")
	f.Add("a:=\"x\"", "a=\xff")
	t := &tool.Tool{Name: "t", Params: []tool.Param{{Name: "a"}}}
	f.Fuzz(func(tt *testing.T, one, two string) {
		args, _, err := parsePairs(t, "", []string{one, two})
		if err != nil {
			if e := value.ErrorOf(err, value.Internal); e.Kind != value.Invalid && e.Kind != value.Limit {
				tt.Errorf("parsePairs(%q, %q) = %v, which is not the user's mistake", one, two, err)
			}
			return
		}
		if args.Len() != 2 {
			tt.Errorf("parsePairs(%q, %q) has %d arguments", one, two, args.Len())
		}
	})
}
