package tools_test

import (
	"bytes"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/tools"
)

// These tests call each tool twice: in this process, and in workers, in an equal
// project. The results must be the same. By default only a sample of the tests does so:
// each tool needs a process of its own.

// inBoth reports whether a test calls the tools in workers too: all do in make soak.
func inBoth(t *testing.T) bool {
	sum := fnv.New32a()
	sum.Write([]byte(t.Name()))
	return testutil.Soak() || sum.Sum32()%4 == 2
}

// lay writes a project, and, for [inBoth], an equal one whose tools run in workers: the
// same files, as tools of the user.
func lay(t *testing.T, files []txtar.File) *project {
	t.Helper()
	p := layFiles(t, files)
	p.open(t, cassidy.Inline, &cassidy.Options{})
	if !inBoth(t) {
		return p
	}
	p.worker = layFiles(t, files)
	err := os.CopyFS(filepath.Join(p.worker.home, "tools"), onlyTools(t))
	if err != nil {
		t.Fatal(err)
	}
	p.worker.open(t, cassidy.Process, &cassidy.Options{NoBuiltins: true})
	t.Cleanup(func() { p.sameFiles(t) })
	for _, x := range p.worker.host.Tools() {
		if x.Location != tool.Personal {
			t.Fatalf("%s is %s: cassidy would not run it in a worker", x.Name, x.Location)
		}
	}
	return p
}

// onlyTools are the files of the built-in tools, as on disk.
func onlyTools(t *testing.T) fs.FS {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, tools.FS()); err != nil {
		t.Fatal(err)
	}
	return os.DirFS(dir)
}

func (p *project) open(t *testing.T, mode cassidy.Mode, o *cassidy.Options) {
	t.Helper()
	o.Home, o.TrustSource = p.home, true
	var err error
	if p.host, err = testhost.Open(t, testhost.On{Sandbox: mode}, p.dir, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.host.Close() })
}

// both are the project and the one whose tools run in workers, if there is one.
func (p *project) both() []*project {
	if p.worker == nil {
		return []*project{p}
	}
	return []*project{p, p.worker}
}

// do calls a tool in both projects and compares the results except for the duration. It
// returns that of this process.
func (p *project) do(t *testing.T, c tool.Call) (tool.Result, error) {
	t.Helper()
	r, err := p.host.Call(t.Context(), c)
	if p.worker == nil {
		return r, err
	}
	first := r
	again, errAgain := p.worker.host.Call(t.Context(), c)
	if (err == nil) != (errAgain == nil) || value.KindOf(err) != value.KindOf(errAgain) {
		t.Errorf("%s in a worker: %v, want %v", c.Tool, errAgain, err)
	}
	if c.Tool == "list_processes" && r.Success { // processes differ from moment to moment
		r.Value, again.Value, r.Usage, again.Usage = nil, nil, tool.Usage{}, tool.Usage{}
	}
	if diff := cmp.Diff(p.shown(t, r), p.shown(t, again)); diff != "" {
		t.Errorf("%s(%s) is not the same in a worker (-in process +worker):\n%.2000s", c.Tool, value.FormatJSON(c.Args, ""), diff)
	}
	return first, err
}

// shown formats a result as JSON, without the duration and the paths of the projects.
func (p *project) shown(t *testing.T, r tool.Result) string {
	t.Helper()
	r.Usage.Wall = 0
	text, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range p.both() {
		if p.dir == "" {
			continue // no files
		}
		text = bytes.ReplaceAll(text, []byte(filepath.ToSlash(filepath.Dir(p.dir))), []byte("$BASE"))
	}
	return string(text)
}

// sameFiles checks that the tools have left the same files.
func (p *project) sameFiles(t *testing.T) {
	t.Helper()
	if diff := cmp.Diff(p.files(t), p.worker.files(t)); diff != "" {
		t.Errorf("the files are not the same with workers (-in process +worker):\n%.2000s", diff)
	}
}

// files are the texts of a project's files, by name.
func (p *project) files(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := fs.WalkDir(os.DirFS(p.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(p.dir, name))
		texts[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
