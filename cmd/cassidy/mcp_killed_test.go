package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testworker"
)

// TestMCPKilled kills the server during a call. The same call to the next server continues it, and does nothing
// twice.
func TestMCPKilled(t *testing.T) {
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
	// call returns the line that ends the call, or of its first progress if the server is killed then.
	call := func(kill bool) string {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "--dir", dir, "--trust-once", "mcp", "serve")
		cmd.Env = append(os.Environ(), asCassidy+"=1", "CASSIDY_HOME="+home, "CASSIDY_WORKER="+testworker.Exec())
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Wait() }() // however it ends
		defer in.Close()
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"note","arguments":{},"_meta":{"progressToken":"p"}}}`)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			switch text := lines.Text(); {
			case kill && strings.Contains(text, "notifications/progress"):
				_ = cmd.Process.Kill() // it runs
				return text
			case strings.Contains(text, `"id":2`):
				return text
			}
		}
		return "the server ended"
	}
	if text := call(true); !strings.Contains(text, "written") {
		t.Fatalf("the call gave %s", text)
	}
	if text := call(false); !strings.Contains(text, "noted") {
		t.Errorf("the same call gave %s", text)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "log.txt")); string(text) != "one\ntwo\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
}
