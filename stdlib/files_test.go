package stdlib

import (
	"context"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// A desk calls effects as a host does: bind, target, grant, do.
type desk struct {
	t     rowtest.Tester
	w     *World
	dir   string
	stage *tool.Stage
	needs []tool.Capability
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

func deskAt(t testing.TB, o *Options) *desk {
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
	d := &desk{t: t, w: w, dir: o.Root, stage: &tool.Stage{}}
	return d.grant("fs.read", "fs.write", "env")
}

// grant replaces what the desk's calls may do.
func (d *desk) grant(needs ...string) *desk {
	d.t.Helper()
	d.needs = rowtest.Needs(d.t, needs...)
	return d
}

func (d *desk) check(c tool.Capability) error {
	if tool.AllowsAny(d.needs, c) {
		return nil
	}
	return value.Errorf(value.Denied, "%s is not granted", c)
}

func (d *desk) row(name string) *tool.Func {
	d.t.Helper()
	return rowtest.Find(d.t, d.w.Modules(), name)
}

// run calls a row by name with named arguments.
func (d *desk) run(ctx context.Context, name string, args ...value.Value) (tool.Outcome, error) {
	d.t.Helper()
	return rowtest.Run(ctx, d.row(name), tool.Grant{Check: d.check, Stage: d.stage}, name, args...)
}

func (d *desk) call(name string, args ...value.Value) (value.Value, error) {
	d.t.Helper()
	out, err := d.run(context.Background(), name, args...)
	return out.Value, err
}

func (d *desk) must(name string, args ...value.Value) value.Value {
	d.t.Helper()
	v, err := d.call(name, args...)
	if err != nil {
		d.t.Fatalf("%s(%s): %v", name, value.FormatJSON(value.NewDict(args...), ""), err)
	}
	return v
}

// fails checks that a call fails with a kind and that its message and hint say
// something, and nothing of the host's own paths.
func (d *desk) fails(kind value.Kind, says, name string, args ...value.Value) {
	d.t.Helper()
	v, err := d.call(name, args...)
	rowtest.Fails(d.t, d.dir, v, err, kind, says, name, args...)
}
