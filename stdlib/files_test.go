package stdlib

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// A desk calls effects as a host does: bind, target, grant, do.
type desk struct {
	t     tester
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
		putFile(t, dir, name, content)
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

// commit carries out what is staged and returns what would take it back.
func (d *desk) commit() *tool.Effect {
	d.t.Helper()
	out, err := d.run(context.Background(), "fs.commit")
	if err != nil {
		d.t.Fatalf("fs.commit: %v", err)
	}
	return out.Undo
}

// restore carries out an undo.
func (d *desk) restore(undo *tool.Effect) (*tool.Effect, error) {
	d.t.Helper()
	out, err := d.withRecord(undo.Func, undo)
	return out.Undo, err
}

// withRecord calls a row with what an undo holds, as a record would hand it
// back: through the codec.
func (d *desk) withRecord(name string, undo *tool.Effect) (tool.Outcome, error) {
	d.t.Helper()
	b, err := value.Append(nil, undo.Args)
	if err != nil {
		d.t.Fatalf("the undo cannot be recorded: %v", err)
	}
	v, err := value.Decode(b)
	if err != nil {
		d.t.Fatalf("the record of the undo: %v", err)
	}
	args := v.(*value.Dict)
	files, _ := args.Get("files")
	return d.run(context.Background(), name, "files", files)
}

// fails checks that a call fails with a kind and that its message and hint say
// something, and nothing of the host's own paths.
func (d *desk) fails(kind value.Kind, says, name string, args ...value.Value) {
	d.t.Helper()
	v, err := d.call(name, args...)
	wrong(d.t, err, kind, says, name+value.FormatJSON(value.NewDict(args...), ""))
	if err == nil {
		d.t.Logf("it gave %s", value.FormatJSON(v, ""))
		return
	}
	e := value.ErrorOf(err, value.Internal)
	if text := e.Message() + e.Hint; d.dir != "" && len(d.dir) > 5 && strings.Contains(text, d.dir) {
		d.t.Errorf("%s: the error %q names the host's folder", name, text)
	}
}

func wrong(t tester, err error, kind value.Kind, says, what string) {
	t.Helper()
	e := value.ErrorOf(err, value.Internal)
	if e == nil {
		t.Errorf("%s = no error, want one of type %s", what, kind.Type())
		return
	}
	if e.Kind != kind {
		t.Errorf("%s: error of type %s (%d), want %s (%d): %v", what, e.Kind.Type(), e.Kind, kind.Type(), kind, err)
	}
	if text := e.Message() + "\n" + e.Hint; !strings.Contains(text, says) {
		t.Errorf("%s: error %q, want it to say %q", what, text, says)
	}
}

func putFile(t tester, dir, name, content string) {
	t.Helper()
	full := filepath.Join(dir, name)
	if strings.HasSuffix(name, "/") {
		noError(t, os.MkdirAll(full, 0o755))
		return
	}
	noError(t, os.MkdirAll(filepath.Dir(full), 0o755))
	noError(t, os.WriteFile(full, []byte(content), 0o644))
}

func getFile(t tester, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	noError(t, err)
	return string(b)
}

func noError(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// snapshot gives all that is under a folder: the kind, permissions and content
// of each path.
func snapshot(t tester, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	noError(t, filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		all[filepath.ToSlash(rel)] = info.Mode().String()
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(p)
			all[filepath.ToSlash(rel)] += " " + string(b)
			return err
		}
		return nil
	}))
	return all
}

// within fails the test where something takes as long as what waits for ever.
func within(t tester, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}
