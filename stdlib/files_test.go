package stdlib

import (
	"context"
	"strings"
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
	d.needs = nil
	for _, text := range needs {
		c, err := tool.ParseCapability(text)
		if err != nil {
			d.t.Fatalf("ParseCapability(%q): %v", text, err)
		}
		d.needs = append(d.needs, c)
	}
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
	for _, m := range d.w.Modules() {
		for i := range m.Funcs {
			if strings.TrimPrefix(m.Name+"."+m.Funcs[i].Name, ".") == name {
				return &m.Funcs[i]
			}
		}
	}
	d.t.Fatalf("there is no row %s", name)
	return nil
}

// run calls a row by name with named arguments.
func (d *desk) run(ctx context.Context, name string, args ...value.Value) (tool.Outcome, error) {
	d.t.Helper()
	f := d.row(name)
	bound, err := f.Bind(nil, value.NewDict(args...))
	if err != nil {
		return tool.Outcome{}, err
	}
	if f.Target != nil {
		targets, err := f.Target(bound)
		if err != nil {
			return tool.Outcome{}, err
		}
		for _, c := range targets {
			if err := d.check(c); err != nil {
				return tool.Outcome{}, err
			}
		}
	}
	return f.Do(ctx, tool.Effect{Func: name, Args: bound}, tool.Grant{Check: d.check, Stage: d.stage})
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
	rowtest.Wrong(d.t, err, kind, says, name+value.FormatJSON(value.NewDict(args...), ""))
	if err == nil {
		d.t.Logf("it gave %s", value.FormatJSON(v, ""))
		return
	}
	e := value.ErrorOf(err, value.Internal)
	if text := e.Message() + e.Hint; d.dir != "" && len(d.dir) > 5 && strings.Contains(text, d.dir) {
		d.t.Errorf("%s: the error %q names the host's folder", name, text)
	}
}
