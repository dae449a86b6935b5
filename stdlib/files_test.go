package stdlib

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// A desk is a world, and what calls its effects.
type desk struct {
	*rowtest.Caller
	w *World
}

// newDesk opens a world over a new folder with files, in which a name that
// ends in a slash is a folder. It is granted everything.
func newDesk(t testing.TB, files map[string]string) *desk {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		rowtest.PutFile(t, dir, name, content)
	}
	return deskAt(t, &Options{Root: dir})
}

func deskAt(t testing.TB, o *Options, needs ...string) *desk {
	t.Helper()
	w, err := Open(o)
	if err != nil {
		t.Fatalf("Open(%+v): %v", o, err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	if len(needs) == 0 {
		needs = []string{"fs.read", "fs.write", "env"}
	}
	return deskOf(t, w, o.Root, needs...)
}

// deskOf is for a world that the caller closes.
func deskOf(t testing.TB, w *World, dir string, needs ...string) *desk {
	d := &desk{&rowtest.Caller{T: t, Modules: w.Modules(), Dir: dir, Stage: &tool.Stage{}}, w}
	d.Grant(needs...)
	return d
}
