package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/command"
)

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
		w := &app.World{In: strings.NewReader(""), Out: io.Discard, Err: &told, Env: env}
		code := command.Main(context.Background(), append([]string{"--dir", dir}, args...), w)
		if code != 0 && told.Len() == 0 && !slices.Contains(args, "--quiet") {
			t.Errorf("%q ended with %d and said nothing", args, code)
		}
	})
}
