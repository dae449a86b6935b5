package tools_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/cassidytest"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/tools"
)

// TestScripts runs the tests of the built-in tools, which are scripts, and checks that each tool has some.
func TestScripts(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(tools.FS(), "*.star")
	if err != nil || len(names) == 0 {
		t.Fatalf("no tools (%v)", err)
	}
	for _, name := range names {
		if _, err := os.Stat("tests/" + strings.TrimSuffix(name, ".star") + "_test.star"); err != nil {
			t.Errorf("the tool %s has no tests: %v", name, err)
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
	cassidytest.Run(t, "tests", &cassidytest.Options{Runtime: r, Update: *update})
}
