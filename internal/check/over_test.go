package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy/internal/check"
)

// TestOver checks that the bytes of scripts that are checked are bounded, and that large files displace no others. A file alone is always
// checked.
func TestOver(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), []string{}
	for i := range 70 {
		file := filepath.Join(dir, fmt.Sprintf("a%d.star", i))
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, check.MaxScripts/64); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	small := filepath.Join(dir, "small.star")
	if err := os.WriteFile(small, []byte("X = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	files = append(files, small)
	n := 0
	for _, over := range check.Over(files) {
		if !over {
			n++
		}
	}
	if n != 64 || check.Over(files)[70] || check.Over(files[:1])[0] {
		t.Errorf("%d of %d files are checked", n, len(files))
	}
}
