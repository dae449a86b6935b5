package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/command"
)

// TestOneHost checks that a call opens one host, whether it is recorded or not, and that one which only reads
// creates no record of runs. Each host asks twice for the program of workers: for scripts, and for attached servers.
func TestOneHost(t *testing.T) {
	t.Parallel()
	for tool, recorded := range map[string]bool{"reads": false, "writes": true} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			dir, home, opened := t.TempDir(), t.TempDir(), 0
			source := map[string]string{
				"reads":  "def reads() -> str:\n    \"\"\"Read.\"\"\"\n    return \"done\"\n\ntool(reads)\n",
				"writes": "def writes() -> str:\n    \"\"\"Write.\"\"\"\n    fs.write(\"out.txt\", \"x\")\n    return \"done\"\n\ntool(writes, needs = [\"fs.write\"])\n",
			}[tool]
			file := filepath.Join(dir, ".cassidy", "tools", tool+".star")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
			var out, log bytes.Buffer
			env := func(name string) (string, bool) {
				switch name {
				case "CASSIDY_WORKER":
					opened++
				case "CASSIDY_HOME":
					return home, true
				}
				return "", false
			}
			w := &app.World{In: strings.NewReader(""), Out: &out, Err: &log, Env: env, Sandbox: cassidy.Inline}
			code := command.Main(t.Context(), []string{"--trust-once", "--dir", dir, "tool", "run", tool, "--yes"}, w)
			if code != 0 || out.String() != "done\n" || opened != 2 {
				t.Errorf("it ended with %d and %q after %d questions for the program of workers: %s", code, &out, opened, &log)
			}
			if _, err := os.Stat(filepath.Join(home, "state", "runs")); (err == nil) != recorded {
				t.Errorf("the record of runs: %v", err)
			}
		})
	}
}
