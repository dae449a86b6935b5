package fs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestF01PathsThatLeave(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "x", "sub/b": "y"})
	inSub := openProject(t, &Options{Root: d.Dir, WorkDir: "sub"})
	for _, tt := range []struct {
		path string
		says string
	}{
		{"", "empty"},
		{"..", "leads out"},
		{"../x", "leads out"},
		{"a/../../x", "leads out"},
		{"./../" + "x", "leads out"},
		{"sub/../../../etc/passwd", "leads out"},
		{"/abs", "leads out"},
		{"/", "leads out"},
		{"/etc/passwd", "leads out"},
		{"a\x00b", "control"},
		{"a\nb", "control"},
		{"a\x7f", "control"},
		{"a\u0085b", "control"},
		{"a/", "ends with a slash"},
		{"a/.", "ends with a slash"},
	} {
		d.Fails(value.Security, tt.says, "fs.read", "path", tt.path)
		d.Fails(value.Security, tt.says, "fs.read_bytes", "path", tt.path)
		d.Fails(value.Security, tt.says, "fs.write", "path", tt.path, "content", "x")
		d.Fails(value.Security, tt.says, "fs.append", "path", tt.path, "content", "x")
		d.Fails(value.Security, tt.says, "fs.edit", "path", tt.path, "old", "x", "new", "y")
		if tt.says == "ends with a slash" {
			continue
		}
		for _, name := range []string{"fs.list", "fs.stat", "fs.exists", "fs.remove", "fs.mkdir"} {
			d.Fails(value.Security, tt.says, name, "path", tt.path)
		}
		d.Fails(value.Security, tt.says, "fs.glob", "pattern", "*", "path", tt.path)
		d.Fails(value.Security, tt.says, "fs.search", "pattern", "x", "path", tt.path)
		d.Fails(value.Security, tt.says, "fs.move", "from", tt.path, "to", "z")
		d.Fails(value.Security, tt.says, "fs.move", "from", "a", "to", tt.path)
	}
	inSub.Fails(value.Security, "leads out", "fs.read", "path", "../../x")
	if got := inSub.Must("fs.read", "path", "../a"); got != "x" {
		t.Errorf(`fs.read("../a") from sub = %q, want "x"`, got)
	}
	for _, pattern := range []string{"../*", "/etc/*", "/*", "../../**"} {
		d.Fails(value.Security, "leads out", "fs.glob", "pattern", pattern)
	}
	for _, pattern := range []string{"*/../a", "*/./a", "**//a", "[a", "{a", "", `a\`} {
		d.Fails(value.Invalid, "glob", "fs.glob", "pattern", pattern)
	}
	if !d.Stage.Empty() {
		t.Errorf("staged = %v, want nothing", d.Stage.Changes())
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rowtest.PutFile(t, dir, "work/deep/", "")
	for _, tt := range []struct {
		work, path, want, shown string
	}{
		{"", "a.txt", "a.txt", "a.txt"},
		{"", ".", ".", "."},
		{"", "./a//b/./c/../d", "a/b/d", "a/b/d"},
		{"", "a/../b", "b", "b"},
		{"", `a\b`, `a\b`, `a\b`},
		{"", "..a/...", "..a/...", "..a/..."},
		{"", "日本/é", "日本/é", "日本/é"},
		{"", " a ", " a ", " a "},
		{"", "DIR/x", "x", "x"},
		{"", "DIR", ".", "."},
		{"", "DIR/docs/../x", "x", "x"},
		{"work", "a.txt", "work/a.txt", "a.txt"},
		{"work", ".", "work", "."},
		{"work", "..", ".", ".."},
		{"work", "../x/y", "x/y", "../x/y"},
		{"work/deep", "../../x", "x", "../../x"},
		{"work/deep", "../x", "work/x", "../x"},
		{"DIR/work", "a", "work/a", "a"},
	} {
		w, err := Open(&Options{Root: dir, WorkDir: strings.ReplaceAll(tt.work, "DIR", dir)})
		rowtest.NoError(t, err)
		got, _, err := w.Resolve(strings.ReplaceAll(tt.path, "DIR", dir))
		if err != nil || got != tt.want {
			t.Errorf("resolve(%q) from %q = %q, %v, want %q", tt.path, tt.work, got, err, tt.want)
		}
		if got := w.Shown(tt.want); got != tt.shown {
			t.Errorf("shown(%q) from %q = %q, want %q", tt.want, tt.work, got, tt.shown)
		}
		rowtest.NoError(t, w.Close())
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rowtest.PutFile(t, dir, "file", "")
	for _, o := range []Options{
		{Root: dir + "/none"},
		{Root: dir + "/file"},
		{Root: dir, WorkDir: ".."},
		{Root: dir, WorkDir: "/"},
	} {
		if w, err := Open(&o); err == nil {
			t.Errorf("Open(%+v) = %v, want an error", o, w)
		}
	}
}

func TestNoFilesLent(t *testing.T) {
	t.Parallel()
	w, err := Open(nil)
	rowtest.NoError(t, err)
	d := projectOf(t, w, "")
	d.Fails(value.Denied, "files are unavailable", "fs.read", "path", "a")
	d.Fails(value.Denied, "files are unavailable", "fs.write", "path", "/etc/passwd", "content", "")
	d.Fails(value.Denied, "files are unavailable", "fs.list")
	d.Fails(value.Denied, "files are unavailable", "fs.restore", "files", value.List{value.NewDict("path", "a", "was", "", "is", "")})
	d.Fails(value.Internal, "the files or the stage are not set", "fs.commit")
	rowtest.NoError(t, w.Close())
}

func TestPathTooDeepOrLong(t *testing.T) {
	t.Parallel()
	d := newProject(t, nil)
	d.Fails(value.Invalid, "parts", "fs.read", "path", strings.Repeat("a/", 200)+"b")
	d.Fails(value.Invalid, "bytes", "fs.read", "path", strings.Repeat("a", 5000))
	d.Fails(value.Failed, "too long", "fs.read", "path", strings.Repeat("a", 300))
}

// protectedPaths are ways to write a protected name, as some file system finds it.
var protectedPaths = []string{
	".git", ".git/hooks/pre-commit", "a/b/.git/config", ".cassidy", ".cassidy/config.yaml", ".cassidy/tools/x.star", "sub/.cassidy/x",
	".GIT/config", ".Git/hooks/x", ".CASSIDY/x", ".cAssIdY/tools/x.star",
	".caſſidy/x", ".caßidy/x", ".caẞidy/x", ".gıt/config", ".gİt/config",
	".g\u200cit/config", ".gi\u200dt/config", ".git\ufeff/config", ".\u2060git/x", ".g\u00adit/x", ".git\ufe0f/x", ".g\U000e0001it/x", ".cas\u180esidy/x",
	"．git/x", ".ｇｉｔ/x", ".ＣＡＳＳＩＤＹ/x",
	".git./config", ".git /config", ".git. . /config", ".git::$INDEX_ALLOCATION/config", ".git:x", "git~1/config", "GIT~2/x", "CASSID~1/x",
	".hg/hgrc", "a/.HG/hgrc", "hg~1/hgrc", ".jj/repo/config.toml",
	"AGENTS.md", "a/b/agents.MD", "CLAUDE.md", "Claude.local.md", "GEMINI.md.", ".mcp.json", "a/.MCP.json", ".vscode", "a/.vscode/tasks.json", ".idea/x", ".Claude/settings.json", ".codex/x", ".cursor/rules/x",
	".cursorrules", ".windsurf/x", ".clinerules", "a/.envrc", ".husky/pre-commit", ".gitmodules", ".pre-commit-config.yaml", "PRE-CO~1.YAM", "VSCODE~1/x", ".github/copilot-instructions.md", "a/.GitHub/Copilot-Instructions.md", ".ｖｓｃｏｄｅ/x",
	".cassidy-tmp-00000000000000000000000000000000",
}

func TestF10F11ProtectedNamesAndTheirAliases(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{
		".git/config": "[core]", ".cassidy/tools/x.star": "tool", "a.txt": "a", "vendor/.git/HEAD": "ref",
	})
	before := rowtest.Snapshot(t, d.Dir)
	for _, p := range protectedPaths {
		d.Fails(value.Denied, "protected", "fs.write", "path", p, "content", "evil")
		d.Fails(value.Denied, "protected", "fs.append", "path", p, "content", "evil")
		d.Fails(value.Denied, "protected", "fs.edit", "path", p, "old", "a", "new", "b")
		d.Fails(value.Denied, "protected", "fs.remove", "path", p, "recursive", true)
		d.Fails(value.Denied, "protected", "fs.mkdir", "path", p)
		d.Fails(value.Denied, "protected", "fs.move", "from", "a.txt", "to", p, "overwrite", true)
		d.Fails(value.Denied, "protected", "fs.move", "from", p, "to", "b.txt")
		d.Fails(value.Denied, "protected", "fs.restore", "files", value.List{value.NewDict("path", p, "was", "", "is", "file")})
	}
	d.Fails(value.Denied, "protected", "fs.remove", "path", "vendor", "recursive", true)
	d.Fails(value.Denied, "protected", "fs.move", "from", "vendor", "to", "elsewhere")
	d.commit()
	if got := rowtest.Snapshot(t, d.Dir); len(got) != len(before) {
		t.Errorf("the project = %v, want %v", got, before)
	}
	if got := d.Must("fs.read", "path", ".cassidy/tools/x.star"); got != "tool" {
		t.Errorf("reading .cassidy = %q, want it allowed", got)
	}
	if got := d.Must("fs.read", "path", ".git/config"); got != "[core]" {
		t.Errorf("reading .git = %q, want it allowed", got)
	}
}

// TestF10WhatTheUserKeepsIsProtected checks that a user's own folder cannot be
// changed where it lies in the project, by any of its names.
func TestF10WhatTheUserKeepsIsProtected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rowtest.PutFile(t, dir, "mine/home/state/trust", "old")
	rowtest.PutFile(t, dir, "mine/homely", "x")
	d := openProject(t, &Options{Root: dir, Protect: []string{filepath.Join(dir, "mine/home"), "", filepath.Join(dir, "../elsewhere")}})
	for _, p := range []string{"mine/home/state/trust", "mine/home/new", "mine/home", "mine/../mine/HOME/x", "MINE/Home/x"} {
		d.Fails(value.Denied, "protected", "fs.write", "path", p, "content", "evil")
	}
	d.Fails(value.Denied, "protected", "fs.remove", "path", "mine", "recursive", true)
	d.Fails(value.Denied, "protected", "fs.move", "from", "mine/home", "to", "moved")
	d.Must("fs.write", "path", "mine/homely", "content", "y")
	d.Must("fs.write", "path", "elsewhere", "content", "y")
	if !d.files.HoldsKept("mine") || d.files.HoldsKept("homely") {
		t.Error("a command could write the folder that holds what is kept, or not the others")
	}
}

func TestNamesThatAreNotProtected(t *testing.T) {
	t.Parallel()
	d := newProject(t, nil)
	for _, p := range []string{"node_modules/x/.vscode/tasks.json", "a/node_modules/x/AGENTS.md", "venv/lib/site-packages/x/CLAUDE.md", ".gitignore", ".github/x.yml", "git", "cassidy", ".cassidyrc", "x.git", "a/digit", "gitx~1", ".gi", "git~x", "日本.git", "copilot-instructions.md", ".github/AGENT.md", "vscode/x", "agents.md.txt", "AGENTS", ".env"} {
		d.Must("fs.write", "path", p, "content", "ok")
	}
	d.commit()
}

// TestUnprotected lets tools write what the user's config lists, from then on, and nothing else.
func TestUnprotected(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"docs/x": "x"})
	d.files.Unprotect([]string{"AGENTS.md", ".vscode", ".github/copilot-instructions.md"})
	for _, p := range []string{"AGENTS.md", "a/AGENTS.md", ".vscode/tasks.json", ".github/copilot-instructions.md"} {
		d.Must("fs.write", "path", p, "content", "ok")
	}
	d.commit()
	d.Fails(value.Denied, "protected", "fs.write", "path", "CLAUDE.md", "content", "evil")
	d.files.Unprotect(nil)
	d.Fails(value.Denied, "'unprotected'", "fs.write", "path", "AGENTS.md", "content", "evil")
}

// TestSettingsOfTheUser protects what the user's own settings of git name: in a repository and outside of it.
func TestSettingsOfTheUser(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	rowtest.PutFile(t, home, ".gitconfig", "[include]\n\tpath = more\n")
	rowtest.PutFile(t, home, "more", "[core]\n\thooksPath = .githooks\n[alias]\n\tx = !sh ci/x.sh\n")
	d := openProject(t, &Options{Root: t.TempDir(), Env: func(name string) string { return map[string]string{"HOME": home}[name] }})
	d.Fails(value.Denied, "protected", "fs.write", "path", ".githooks/pre-commit", "content", "evil")
	d.Fails(value.Denied, "protected", "fs.write", "path", "ci/x.sh", "content", "evil")
	d.Must("fs.write", "path", "ci/y.sh", "content", "ok")
}

func FuzzResolve(f *testing.F) {
	for _, p := range append([]string{"", "..", "a/../../b", "/etc/passwd", "a/./b//c/", "a\x00", "日本", "C:\\x", "./."}, protectedPaths...) {
		f.Add(p)
	}
	w, err := Open(&Options{Root: f.TempDir(), WorkDir: "a/b"})
	rowtest.NoError(f, err)
	f.Cleanup(func() { rowtest.NoError(f, w.Close()) })
	f.Fuzz(func(t *testing.T, raw string) {
		p, _, err := w.Resolve(raw)
		if err != nil {
			return
		}
		for part := range strings.SplitSeq(p, "/") {
			if part == ".." || part == "" || (part == "." && p != ".") {
				t.Fatalf("resolve(%q) = %q, want a clean path inside the root", raw, p)
			}
		}
		if again, _, err := w.Resolve(w.Shown(p)); err != nil || again != p {
			t.Fatalf("resolve(shown(%q)) = %q, %v, want the same path", p, again, err)
		}
		if strings.Contains(strings.ToLower("/"+p+"/"), "/.git/") && w.Protect(p) == nil {
			t.Fatalf("protect(%q) = nil, want an error", p)
		}
	})
}
