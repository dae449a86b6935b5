package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/cassidytest"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// TestScripts runs the tests of the tools of the examples, and checks that each tool and workflow has some.
func TestScripts(t *testing.T) {
	t.Parallel()
	r, err := cassidy.New(&cassidy.RuntimeOptions{Workers: cassidy.Workers{Program: testworker.Exec()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, dir := range []string{"quickstart", "workflow"} {
		scripts, err := filepath.Glob(dir + "/.cassidy/*s/*.*")
		if err != nil || len(scripts) == 0 {
			t.Fatalf("%s has no tools (%v)", dir, err)
		}
		for _, name := range scripts {
			stem := strings.TrimSuffix(name, filepath.Ext(name))
			if _, err := os.Stat(stem + "_test.star"); err != nil && !strings.HasSuffix(stem, "_test") {
				t.Errorf("%s has no tests: %v", name, err)
			}
		}
		t.Run(dir, func(t *testing.T) {
			cassidytest.Run(t, dir, &cassidytest.Options{Runtime: r})
		})
	}
}
