package fs

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// A project is a folder with files, and what calls the effects on them.
type project struct {
	*rowtest.Caller
	files *Files
	mark  string // of the last commit that was prepared
}

// newProject makes a new folder with files, in which a name that ends in a slash is a
// folder. Without needs everything is granted.
func newProject(t testing.TB, files map[string]string, needs ...string) *project {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		rowtest.PutFile(t, dir, name, content)
	}
	return openProject(t, &Options{Root: dir}, needs...)
}

func openProject(t testing.TB, o *Options, needs ...string) *project {
	t.Helper()
	files, err := Open(o)
	if err != nil {
		t.Fatalf("Open(%+v): %v", o, err)
	}
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	return projectOf(t, files, o.Root, needs...)
}

// projectOf is for files that the caller closes.
func projectOf(t rowtest.Tester, files *Files, dir string, needs ...string) *project {
	t.Helper()
	d := &project{&rowtest.Caller{T: t, Modules: []tool.Module{files.Module()}, Dir: dir, Stage: &tool.Stage{}}, files, ""}
	if len(needs) == 0 {
		needs = []string{"fs.read", "fs.write"}
	}
	d.Grant(needs...)
	return d
}

// commit carries out what is staged and returns what would take it back.
func (d *project) commit() *tool.Effect {
	d.T.Helper()
	out, err := d.Run(context.Background(), "fs.commit")
	if err != nil {
		d.T.Fatalf("fs.commit: %v", err)
	}
	return out.Undo
}

// restore carries out an undo.
func (d *project) restore(undo *tool.Effect) (*tool.Effect, error) {
	d.T.Helper()
	files, _ := undo.Args.Get("files")
	out, err := d.withRecord(undo.Func, &tool.Effect{Args: value.NewDict("files", files)})
	return out.Undo, err
}

// withRecord calls a row with what an undo holds, as a record would hand it
// back: through the codec.
func (d *project) withRecord(name string, undo *tool.Effect, more ...value.Value) (tool.Outcome, error) {
	d.T.Helper()
	b, err := value.Append(nil, undo.Args)
	if err != nil {
		d.T.Fatalf("the undo cannot be recorded: %v", err)
	}
	v, err := value.Decode(b)
	if err != nil {
		d.T.Fatalf("the record of the undo: %v", err)
	}
	args := v.(*value.Dict)
	files, _ := args.Get("files")
	pairs := []value.Value{"files", files}
	if mark := args.Text(argMark); mark != "" {
		pairs = append(pairs, argMark, mark)
	}
	return d.Run(context.Background(), name, append(pairs, more...)...)
}
