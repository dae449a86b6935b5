package mcp

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ptytest"
)

// TestImportAsks answers the questions at a terminal: only what was accepted is attached, and the
// end of the input declines the rest.
func TestImportAsks(t *testing.T) {
	const settings = `{"mcpServers": {"one": {"command": "one"}, "two": {"command": "two"}, "three": {"command": "three"}}}`
	for _, c := range []struct{ typed, want string }{
		{"y\nn\nyes\n", "one three"},
		{"\n\n\n", ""},
		{"y\n\x04", "one"},
		{"n\nY\n\x04", "two"},
	} {
		dir, home := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(settings), 0o644); err != nil {
			t.Fatal(err)
		}
		person, program := ptytest.Open(t)
		if _, err := person.WriteString(c.typed); err != nil {
			t.Fatal(err)
		}
		var out, errs strings.Builder
		w := &app.World{In: program, Out: &out, Err: &errs, Env: func(name string) (string, bool) { return home, name == "CASSIDY_HOME" }}
		code := app.Run(context.Background(), []string{"--dir", dir, "mcp", "import"}, w, Command)
		text, _ := os.ReadFile(filepath.Join(dir, ".cassidy/mcp.json")) // missing, if nothing is attached
		var got []string
		for _, name := range []string{"one", "two", "three"} {
			if strings.Contains(string(text), name) {
				got = append(got, name)
			}
		}
		if code != 0 || strings.Join(got, " ") != c.want {
			t.Errorf("after typing %q: %d, attached %q, want %q\n%s%s", c.typed, code, got, c.want, out.String(), errs.String())
		}
	}
}
