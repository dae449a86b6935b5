package fs

import (
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// TestEveryWriterChecksItsPaths calls every function that writes and that has a path as a
// parameter with paths that it must refuse: also one that was added yesterday.
func TestEveryWriterChecksItsPaths(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a.txt": "a", ".git/config": "[core]"})
	before := rowtest.Snapshot(t, d.Dir)
	calls := 0
	for _, f := range d.Modules[0].Funcs {
		if f.Kind != tool.Write {
			continue
		}
		for i, p := range f.Params {
			if !slices.Contains([]string{"path", "from", "to"}, p.Name) {
				continue
			}
			for path, kind := range map[string]value.Kind{"../x": value.Security, "/x": value.Security, ".git/config": value.Denied, ".cassidy/x": value.Denied} {
				calls++
				d.Fails(kind, "", "fs."+f.Name, argsWith(&f, i, path)...)
			}
		}
	}
	if calls < 7*4 { // write, append, edit, remove, mkdir, and move twice
		t.Errorf("%d calls were refused, want at least %d", calls, 7*4)
	}
	d.commit()
	if got := rowtest.Snapshot(t, d.Dir); len(got) != len(before) || got[".git/config"] != before[".git/config"] {
		t.Errorf("the project is %v, want %v", got, before)
	}
}

// argsWith returns the arguments of a call in which one parameter is a path, and the
// other required ones are in order.
func argsWith(f *tool.Func, param int, path string) []value.Value {
	var args []value.Value
	for i, p := range f.Params {
		switch {
		case i == param:
			args = append(args, p.Name, path)
		case p.Required && (p.Name == "from" || p.Name == "path"):
			args = append(args, p.Name, "a.txt")
		case p.Required && p.Name == "to":
			args = append(args, p.Name, "b.txt")
		case p.Required:
			args = append(args, p.Name, "a")
		}
	}
	return args
}
