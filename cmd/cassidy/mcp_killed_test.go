package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMCPKilled kills the server during a call. The same call to the next server continues it, and does nothing
// twice.
func TestMCPKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, ".cassidy", "tools", "note.star")
	source := `def note():
    """Write two lines."""
    fs.append("log.txt", "one\n")
    progress("written")
    time.sleep(3)
    fs.append("log.txt", "two\n")
    return "noted"

tool(note, needs = ["fs.write"], risky = False)
`
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte("allow:\n  - {tool: note, capability: \"fs.write\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const params = `{"name":"note","arguments":{},"_meta":{"progressToken":"p"}}`
	first := startMCP(t, dir, home, "--trust-once", "mcp", "serve")
	first.begin("tools/call", params)
	first.expect("notifications/progress", "written")
	first.kill()
	second := startMCP(t, dir, home, "--trust-once", "mcp", "serve")
	if answer := second.request("tools/call", params); !strings.Contains(answer, "noted") {
		t.Errorf("the same call gave %s", answer)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "log.txt")); string(text) != "one\ntwo\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
}
