package project_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
)

// Notes that models do not get in full are named, with what to do. The text for models does not say that a review helps.
func TestCutNotes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		sizes  map[string]int // of the project's files, and of the user's own
		want   []string
		absent string // from the text for models
	}{
		{"none", map[string]int{"AGENTS.md": 3000, ".cassidy/rules/a.md": 10, "home/CASSIDY.md": 4000}, nil, "omitted"},
		{"one file", map[string]int{"AGENTS.md": 4001}, []string{"AGENTS.md: models get only the first 4000 characters"}, "omitted"},
		{"a rule", map[string]int{".cassidy/rules/a.md": 90_000, "AGENTS.md": 1}, []string{".cassidy/rules/a.md: models get only the first 4000 characters"}, "omitted"},
		{"far too long", map[string]int{"AGENTS.md": 1<<20 + 1}, []string{"AGENTS.md: models do not get these notes: the file is longer than 1024 KB"}, "not reviewed"},
		{"personal", map[string]int{"home/CASSIDY.md": 4001}, []string{"CASSIDY.md: models get only the first 4000 characters"}, "omitted"},
		{"all together", map[string]int{"AGENTS.md": 3000, "CASSIDY.md": 3000, ".cassidy/rules/a.md": 3000}, []string{"the files with notes are longer than 8000 characters in total"}, "omitted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root, home := t.TempDir(), t.TempDir()
			for name, size := range c.sizes {
				file := filepath.Join(root, name)
				if own, ok := strings.CutPrefix(name, "home/"); ok {
					file = filepath.Join(home, own)
				}
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(strings.Repeat("n", size)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			scope := &trust.Scope{Home: home, TrustOnce: true}
			got := project.CutNotes(root, scope)
			if len(got) != len(c.want) {
				t.Fatalf("CutNotes = %v, want %q", got, c.want)
			}
			for i, e := range got {
				if !strings.HasPrefix(e.Error(), c.want[i]) || !strings.HasPrefix(e.Hint, "shorten the notes") {
					t.Errorf("CutNotes[%d] = %v, hint %q; want %q", i, e, e.Hint, c.want[i])
				}
			}
			text, err := project.Context(context.Background(), root, scope, "minimal")
			if err != nil || strings.Contains(text, c.absent) {
				t.Errorf("Context = %q, %v; it contains %q", text, err, c.absent)
			}
		})
	}
	// Notes that nobody has reviewed are not used, so nothing is said of their length.
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "AGENTS.md"), []byte(strings.Repeat("n", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := project.CutNotes(root, &trust.Scope{}); got != nil {
		t.Errorf("CutNotes of untrusted notes = %v", got)
	}
}
