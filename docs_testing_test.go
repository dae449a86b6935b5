package cassidy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/cassidytest"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// TestDocsTesting runs the tests that docs/testing.md shows: its blocks that begin with the name of a file.
func TestDocsTesting(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```python\n# (\\S+)\n(.*?)^```$").FindAllSubmatch(text, -1)
	if len(blocks) < 2 {
		t.Fatalf("docs/testing.md has %d files, want a tool and its tests", len(blocks))
	}
	dir := t.TempDir()
	for _, b := range blocks {
		if err := os.WriteFile(filepath.Join(dir, string(b[1])), b[2], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := cassidy.New(&cassidy.RuntimeOptions{Workers: cassidy.Workers{Program: testworker.Exec()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	cassidytest.Run(t, dir, &cassidytest.Options{Runtime: r})
}
