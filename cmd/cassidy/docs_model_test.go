package main

import (
	"github.com/cassidy-run/cassidy/cmd/internal/command"

	"os"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
)

// TestDocsNativeModel runs the model with native calls that the page on agents shows.
func TestDocsNativeModel(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "`native.star`:\n\n```python\n")
	model, _, ok := strings.Cut(text, "```\n")
	if !ok {
		t.Fatal("docs/agents.md has no model native.star")
	}
	p := apptest.NewProject(t, command.Commands(), nil)
	for name, text := range map[string]string{"native.star": model, "a.txt": "short", "b.txt": "the longer one of both"} {
		p.Write(name, text)
	}
	out, stderr, code := p.Run("task", "Which file is longer?", "--model", "script:native.star", "--format", "native")
	if code != 0 || !strings.Contains(out, "The longer file is:") || !strings.Contains(out, "the longer one of both") || strings.Count(stderr, "✓ read_file") != 2 {
		t.Errorf("exit code %d: %s\n%s", code, out, stderr)
	}
}
