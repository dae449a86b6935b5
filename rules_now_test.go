package cassidy_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy"
)

// TestRulesOfTheConfigNow checks that a host has the rules of the user's config as they are now, without a
// refresh: added ones, removed ones, and those before a mistake in the file. The exception is a config which
// tools could write.
func TestRulesOfTheConfigNow(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name, home string
		live       bool
	}{{"a home of its own", "", true}, {"a home in the project", "settings", false}, {"a home in a protected folder", ".cassidy/user", true}} {
		t.Run(tt.name, func(t *testing.T) {
			dir, home := t.TempDir(), t.TempDir()
			if tt.home != "" {
				home = filepath.Join(dir, filepath.FromSlash(tt.home))
			}
			putFile(t, filepath.Join(dir, ".cassidy", "tools", "put.star"), "def put(path: str, text: str):\n    \"Write.\"\n    fs.write(path, text)\n\ntool(put, needs = [\"fs.write\"])\n")
			file := filepath.Join(home, "config.yaml")
			putFile(t, file, "{}\n")
			h := openIn(t, newRuntime(t, nil), cassidy.Dir(dir), &cassidy.Options{Dir: dir, Home: home, TrustSource: true, NoBuiltins: true})
			n := 0
			put := func(when, path string, want bool) {
				t.Helper()
				n++
				_, err := h.Call(ctx, cassidy.Call{Tool: "put", Args: cassidy.NewDict("path", path, "text", string(rune('a'+n)))})
				if (err == nil) != want || err != nil && !errors.Is(err, cassidy.ErrDenied) {
					t.Errorf("%s: %v, want that it is allowed: %v", when, err, want)
				}
			}
			put("without a rule", "a.txt", false)
			putFile(t, file, "allow:\n  - {tool: put, capability: \"fs.write:a.txt\"}\n")
			put("with a rule", "a.txt", tt.live)
			put("another file", "b.txt", false)
			if !tt.live {
				return
			}
			putFile(t, file, "allow: 1\n")
			put("with a mistake in the file", "a.txt", true)
			putFile(t, file, "allow:\n  - {tool: put, capability: \"fs.write:a.txt\"}\ndeny: [\"fs.write:a.txt\"]\n")
			put("with a rule that denies", "a.txt", false)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			put("without the file", "a.txt", false)
		})
	}
}
