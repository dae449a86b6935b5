package ui

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestReadRegular reads files at the limit, and refuses everything else without reading it.
func TestReadRegular(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, size int64) string {
		t.Helper()
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err == nil {
			err = f.Truncate(size)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	if data, err := ReadRegular(file("most", 1<<20), 1<<20); err != nil || len(data) != 1<<20 {
		t.Errorf("a file of the maximum size: %d bytes, %v", len(data), err)
	}
	for path, want := range map[string]string{
		file("huge", 100<<20):        "the file is too long: 100.0 MB, limit 1 MB",
		dir:                          "the path is a folder",
		filepath.Join(dir, "nosuch"): "no such file",
		os.DevNull:                   "not a regular file",
	} {
		_, err := ReadRegular(path, 1<<20)
		if e := value.ErrorOf(err, value.Failed); e == nil || !strings.Contains(e.Message(), want) || e.Kind != value.Invalid && e.Kind != value.Limit {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

func TestFileErrorHasNoSystemCalls(t *testing.T) {
	for op, want := range map[string]string{
		"open":    "cannot open a: file does not exist",
		"openat":  "cannot open a: file does not exist",
		"statat":  "cannot read a: file does not exist",
		"mkdirat": "cannot create a: file does not exist",
	} {
		if got := FileError(&fs.PathError{Op: op, Path: "a", Err: fs.ErrNotExist}).Error(); got != want {
			t.Errorf("%s: got %q, want %q", op, got, want)
		}
	}
}
