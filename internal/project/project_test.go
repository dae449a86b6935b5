package project_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A bench is a project folder with a home and a cache, and a count of the
// files that were described.
type bench struct {
	t         *testing.T
	root      string
	home      string
	opts      project.Options
	described atomic.Int64
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, root: t.TempDir(), home: t.TempDir()}
	e := engine.New(nil)
	b.opts = project.Options{
		Cache: filepath.Join(b.home, "cache"), Scope: trust.Scope{Home: b.home, TrustOnce: true},
		Describe: func(_ context.Context, s tool.Script) (tool.Described, error) {
			b.described.Add(1)
			return e.Describe(s)
		},
	}
	return b
}

// write writes a file of the project with a time an hour ago, so that its age is no
// reason to read it again.
func (b *bench) write(name, text string) {
	b.t.Helper()
	b.writeAt(filepath.Join(b.root, name), text, time.Now().Add(-time.Hour))
}

// long is some time ago.
func (b *bench) long() time.Time { return time.Now().Add(-time.Hour) }

func (b *bench) writeAt(file, text string, at time.Time) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Chtimes(file, at, at); err != nil {
		b.t.Fatal(err)
	}
}

// load loads the project and returns how many files were described.
func (b *bench) load() (*project.Project, int) {
	b.t.Helper()
	before := b.described.Load()
	p, err := project.Load(context.Background(), b.root, &b.opts)
	if err != nil {
		b.t.Fatal(err)
	}
	return p, int(b.described.Load() - before)
}

func names(p *project.Project) string {
	var list []string
	for _, f := range p.Tools {
		list = append(list, f.Head.Name+"="+f.Head.Description)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func broken(p *project.Project) string {
	var list []string
	for _, e := range p.Broken {
		list = append(list, e.Pos.String())
	}
	return strings.Join(list, " ")
}

const tools = ".cassidy/tools/"

func star(doc string) string {
	return fmt.Sprintf("def f():\n    %q\n    return 1\n\ntool(f)\n", doc)
}

func TestTheIndexReadsOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(tools+"a.star", star("A."))
	b.write(tools+"b.star", star("B."))
	b.write(tools+"bad.star", "def f(:\n")
	check := func(what, wantNames, wantBroken string, wantDescribed int) {
		t.Helper()
		p, described := b.load()
		if got := names(p); got != wantNames {
			t.Errorf("%s: tools = %s, want %s", what, got, wantNames)
		}
		if got := broken(p); got != wantBroken {
			t.Errorf("%s: broken = %s, want %s", what, got, wantBroken)
		}
		if described != wantDescribed {
			t.Errorf("%s: described %d files, want %d", what, described, wantDescribed)
		}
	}
	const bad = tools + "bad.star:1:7"
	check("first load", "a=A. b=B.", bad, 3)
	check("nothing changed", "a=A. b=B.", bad, 0)
	b.write(tools+"c.star", star("C."))
	check("one more", "a=A. b=B. c=C.", bad, 1)
	b.writeAt(filepath.Join(b.root, tools+"a.star"), star("A2."), time.Now().Add(-time.Minute))
	check("one changed", "a=A2. b=B. c=C.", bad, 1)
	b.writeAt(filepath.Join(b.root, tools+"b.star"), star("B."), time.Now().Add(-time.Minute))
	check("one touched", "a=A2. b=B. c=C.", bad, 0)
	if err := os.Remove(filepath.Join(b.root, tools+"b.star")); err != nil {
		t.Fatal(err)
	}
	check("one deleted", "a=A2. c=C.", bad, 0)
	b.write(tools+"bad.star", star("Fixed."))
	check("one fixed", "a=A2. bad=Fixed. c=C.", "", 1)
}

func TestAYoungFileIsReadAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := filepath.Join(b.root, tools+"a.star")
	now := time.Now()
	b.writeAt(file, star("A."), now)
	b.load()
	b.writeAt(file, star("B."), now) // the same size and time
	if p, _ := b.load(); names(p) != "a=B." {
		t.Errorf("tools = %s, want a=B.", names(p))
	}
}

func TestAChangedLibIsNoticed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(tools+"a.star", "load('lib/x.star', 'x')\n\ndef f():\n    \"A.\"\n    return x\n\ntool(f)\n")
	b.write(tools+"b.star", star("B."))
	p, _ := b.load()
	if got := broken(p); got != tools+"a.star:1:1" {
		t.Errorf("broken = %s, want a.star, whose lib is missing", got)
	}
	b.write(tools+"lib/x.star", "x = 1\n")
	if p, described := b.load(); names(p) != "a=A. b=B." || described != 1 {
		t.Errorf("tools = %s with %d described, want both with 1", names(p), described)
	}
	p1, _ := b.load()
	b.write(tools+"lib/x.star", "x = 20\n")
	p2, described := b.load()
	if described != 1 {
		t.Errorf("described %d files after a change of the lib, want 1", described)
	}
	if hash(p1, "a") == hash(p2, "a") {
		t.Error("the hash of a tool stayed though what it loads changed")
	}
	if hash(p1, "b") != hash(p2, "b") {
		t.Error("the hash of a tool changed though nothing of it did")
	}
}

func hash(p *project.Project, name string) string {
	for _, f := range p.Tools {
		if f.Head.Name == name {
			return f.Hash
		}
	}
	return ""
}

func TestADamagedIndexIsOnlySlow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(tools+"a.star", star("A."))
	b.load()
	files, _ := filepath.Glob(filepath.Join(b.opts.Cache, "*"))
	if len(files) != 1 {
		t.Fatalf("the cache holds %v, want one index", files)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(whole); i += 7 {
		cut := slices.Clone(whole[:i])
		flipped := slices.Clone(whole)
		flipped[i] ^= 0x41
		for _, bad := range [][]byte{cut, flipped} {
			if err := os.WriteFile(files[0], bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if p, _ := b.load(); names(p) != "a=A." {
				t.Fatalf("with an index damaged at %d: tools = %s, want a=A.", i, names(p))
			}
		}
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.opts.Builtin = fstest.MapFS{"read_file.star": {Data: []byte(star("Built in."))}}
	b.write(tools+"read-file.star", star("Impostor."))
	b.write(tools+"my-tool.star", star("Hyphen."))
	b.write(tools+"my_tool.star", star("Underscore."))
	b.write(tools+"both.star", star("Project."))
	b.writeAt(filepath.Join(b.home, "tools/both.star"), star("Personal."), time.Now().Add(-time.Hour))
	p, _ := b.load()
	if got, want := names(p), "read_file=Built in."; got != want {
		t.Errorf("tools = %s, want %s", got, want)
	}
	if len(p.Broken) != 5 {
		t.Errorf("broken = %s, want five files", broken(p))
	}
	b.writeAt(filepath.Join(b.home, "config.yaml"), "project_overrides_personal: true\n", time.Now())
	p, _ = b.load()
	if got, want := names(p), "both=Project. read_file=Built in."; got != want {
		t.Errorf("with project_overrides_personal tools = %s, want %s", got, want)
	}
	if len(p.Broken) != 3 {
		t.Errorf("broken = %s, want three files", broken(p))
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, user, project, want string }{
		{"unknown field", "project_override: true\n", "", `unknown field 'project_override'; did you mean "project_overrides_personal"?`},
		{"wrong type", "project_overrides_personal: 1\n", "", "should be true or false but got integer"},
		{"not a mapping", "- a\n", "", "expected fields, as in"},
		{"broken YAML", "a: [\n", "", "invalid YAML"},
		{"for the user alone", "", "project_overrides_personal: true\n", "only the user's config can set"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.writeAt(filepath.Join(b.home, "config.yaml"), c.user, time.Now())
			b.writeAt(filepath.Join(b.root, ".cassidy/config.yaml"), c.project, time.Now())
			_, err := project.Load(context.Background(), b.root, &b.opts)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "config.yaml") {
				t.Errorf("error = %v, want config.yaml and %q", err, c.want)
			}
		})
	}
}

func TestStrangeFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outside := filepath.Join(t.TempDir(), "out.star")
	b.writeAt(outside, star("Outside."), time.Now())
	b.write(tools+"inside.star", star("Inside."))
	b.write(tools+"huge.star", strings.Repeat("# x\n", 1<<18+1))
	b.write(tools+"latin.star", "# \xe9\n"+star("Latin."))
	b.write(tools+"_helper.star", "not a tool")
	b.write(tools+".hidden.star", "not a tool")
	b.write(tools+"inside_test.star", "not a tool")
	b.write(tools+"README.md", "not a tool")
	b.write(tools+"notes.txt", "not a tool")
	if err := os.Mkdir(filepath.Join(b.root, tools+"folder.star"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(b.root, tools+"out.star")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := os.Symlink("inside.star", filepath.Join(b.root, tools+"alias.star")); err != nil {
		t.Fatal(err)
	}
	p, _ := b.load()
	if got, want := names(p), "alias=Inside. inside=Inside."; got != want {
		t.Errorf("tools = %s, want %s", got, want)
	}
	if got, want := broken(p), tools+"huge.star "+tools+"latin.star "+tools+"out.star"; got != want {
		t.Errorf("broken = %s, want %s", got, want)
	}
}

func TestAScriptThatChangedIsNotRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(tools+"a.star", star("A."))
	p, _ := b.load()
	if s, err := p.Tools[0].Load(); err != nil || s.Source != star("A.") {
		t.Errorf("Load = %q, %v", s.Source, err)
	}
	again, _ := b.load() // from the index: the file is not read
	b.write(tools+"a.star", star("Changed."))
	if s, err := p.Tools[0].Load(); err != nil || s.Source != star("A.") {
		t.Errorf("Load after a change = %q, %v, want what was described", s.Source, err)
	}
	if _, err := again.Tools[0].Load(); value.KindOf(err) != value.Conflict || err == nil {
		t.Errorf("Load of a file that was not read = %v after a change, want a conflict", err)
	}
}

// TestABrokenFileKeepsItsLastGoodVersion checks that a broken or unreadable file is
// reported and keeps its last good tool, with its libraries.
func TestABrokenFileKeepsItsLastGoodVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.opts.Cache = ""
	uses := func(word string) string {
		return "load(\"lib/words.star\", \"word\")\n\ndef a():\n    \"" + word + "\"\n    return word\n\ntool(a)\n"
	}
	b.write(tools+"lib/words.star", "word = 1")
	b.write(tools+"a.star", uses("One."))
	load := func() *project.Project {
		p, _ := b.load()
		b.opts.Known = p.Known
		return p
	}
	first := load()
	for _, text := range []string{"def", "def a(", uses("One.") + "tool("} {
		b.write(tools+"a.star", text)
		b.write(tools+"lib/words.star", "word = 2")
		p := load()
		if got, want := names(p), "a=One."; got != want || !strings.HasPrefix(broken(p), tools+"a.star:") {
			t.Fatalf("with %q: tools %q, broken %q, want the last good version and the file", text, got, broken(p))
		}
		s, err := p.Tools[0].Load()
		if err != nil || s.Source != uses("One.") || s.Libs["lib/words.star"] != "word = 1" || p.Tools[0].Hash != first.Tools[0].Hash {
			t.Errorf("with %q: %q, %v, want the script as it was", text, s, err)
		}
	}
	b.write(tools+"a.star", uses("Two."))
	if p := load(); names(p) != "a=Two." || broken(p) != "" {
		t.Errorf("fixed: tools %q, broken %q", names(p), broken(p))
	}
	if err := os.Remove(filepath.Join(b.root, tools+"a.star")); err != nil {
		t.Fatal(err)
	}
	if p := load(); len(p.Tools) != 0 || broken(p) != "" {
		t.Errorf("removed: tools %q, broken %q", names(p), broken(p))
	}
}

// TestFiles checks that a file system can replace the folder of tools, that its files
// are identified by content, and that only the program can trust them.
func TestFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	files := fstest.MapFS{
		"a.star":           {Data: []byte(star("A."))},
		"bad.star":         {Data: []byte("def")},
		"lib/words.star":   {Data: []byte("word = 1")},
		"workflows/w.star": {Data: []byte("def main():\n    return 1\n")},
		"skills/s.md":      {Data: []byte("# Skill\n\nDo it.\n")},
	}
	b.opts.Files = files
	load := func(wantNames string, wantDescribed int) {
		t.Helper()
		p, described := b.load()
		if names(p) != wantNames || described != wantDescribed || broken(p) != "bad.star:1:4" {
			t.Errorf("tools %q, broken %q, described %d, want %q and %d", names(p), broken(p), described, wantNames, wantDescribed)
		}
	}
	load("a=A.", 2)
	load("a=A.", 0)
	files["a.star"] = &fstest.MapFile{Data: []byte(star("B."))} // of the same size and time
	load("a=B.", 1)
	if w, broken := project.Workflows("", &b.opts.Scope); len(w) != 1 || w[0].Name != "w" || w[0].Reason != "" || len(broken) > 0 {
		t.Errorf("the workflows are %+v, broken %v", w, broken)
	}
	b.opts.TrustOnce = false
	p, _ := b.load()
	if x := p.Tools[0]; x.Granted != nil || !strings.Contains(x.Reason, "TrustSource") {
		t.Errorf("without trust the tool is granted %v, for the reason %q", x.Granted, x.Reason)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, ok := project.Find(deep, "", "/"); ok {
		t.Errorf("Find = %s, want none", got)
	}
	if err := os.Mkdir(filepath.Join(root, ".cassidy"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, ok := project.Find(deep, "", "/"); !ok || got != root {
		t.Errorf("Find = %s, %v, want %s", got, ok, root)
	}
	if got, ok := project.Find(deep, filepath.Join(root, ".cassidy"), "/"); ok {
		t.Errorf("Find took the user's own folder for a project: %s", got)
	}
	if got, ok := project.Find(deep, "", ""); ok {
		t.Errorf("Find went up without a ceiling, to %s", got)
	}
	if got, ok := project.Find(deep, "", root); ok {
		t.Errorf("Find took the folder that a user lives in for a project: %s", got)
	}
	if got, ok := project.Find(root, "", root); !ok || got != root {
		t.Errorf("Find where the user lives = %s, %v, want %s: it was asked for", got, ok, root)
	}
}

// TestAFolderThatCannotBeReadHidesNoOther checks that the built-in tools do not depend
// on the project's folder of tools.
func TestAFolderThatCannotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.opts.Builtin = fstest.MapFS{"read_file.star": {Data: []byte(star("Built in."))}}
	b.write(".cassidy/tools", "a file, not a folder")
	p, _ := b.load()
	if got, want := names(p), "read_file=Built in."; got != want {
		t.Errorf("tools = %s, want %s", got, want)
	}
	if got, want := broken(p), ".cassidy/tools"; got != want {
		t.Errorf("broken = %s, want %s", got, want)
	}
}
