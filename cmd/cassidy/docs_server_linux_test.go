package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testworker"
)

// TestDocsServer types the commands of docs/server.md in their order, with the server in the background, and checks the
// output that the page shows; an ellipsis stands for any text.
func TestDocsServer(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not installed", program)
		}
	}
	page, err := os.ReadFile("../../docs/server.md")
	if err != nil {
		t.Fatal(err)
	}
	const mark = "@@ next command"
	var script strings.Builder
	typed := consoleCommands(string(page))
	for _, c := range typed {
		line := strings.Replace(c.line, "http://127.0.0.1:7457", "$(jq -r .url serve.json)", 1)
		if line == "cassidy serve" {
			line = "cassidy --json serve --listen 127.0.0.1:0 > serve.json & trap 'kill %1; wait' EXIT\nuntil [ -s serve.json ]; do sleep 0.05; done"
		}
		fmt.Fprintf(&script, "%s\necho '%s'\n", line, mark)
	}
	shell := exec.Command("bash", "-e", "-c", script.String())
	shell.Env = append(os.Environ(), "HOME="+t.TempDir(), "CASSIDY_HOME=", "CASSIDY_WORKER="+testworker.Exec(),
		"PATH="+binOf(t)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var stderr strings.Builder
	shell.Stderr = &stderr
	stdout, err := shell.Output()
	outputs := strings.Split(string(stdout), mark+"\n")
	for i, c := range typed {
		if i == len(outputs)-1 {
			t.Fatalf("%s: %v\n%s%s", c.line, err, outputs[i], stderr.String())
		}
		want := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(c.output)), "…", ".*")
		if c.output != "" && !regexp.MustCompile("(?s)^"+want+"$").MatchString(strings.TrimSpace(outputs[i])) {
			t.Errorf("%s prints\n%s\nthe page shows\n%s", c.line, outputs[i], c.output)
		}
	}
	if len(typed) < 20 {
		t.Errorf("docs/server.md has %d commands, want at least 20", len(typed))
	}
}

// TestServiceFile has systemd look at the unit in docs.
func TestServiceFile(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("SKIPPED: systemd-analyze is not installed")
	}
	unit, err := os.ReadFile("../../docs/cassidy.service")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cassidy.service")
	text := strings.ReplaceAll(string(unit), "/usr/local/bin/cassidy", filepath.Join(binOf(t), "cassidy"))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("docs/cassidy.service: %v: %s", err, out)
	}
}
