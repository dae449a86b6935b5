//go:build unix

package fs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// asNobody runs a test again in a process without rights, if this one is root.
func asNobody(t *testing.T, again bool) {
	t.Helper()
	if os.Getuid() != 0 || !again {
		return
	}
	t.Run("nobody", func(t *testing.T) {
		dir := t.TempDir()
		program := filepath.Join(dir, "test")
		for d := dir; d != filepath.Dir(os.TempDir()) && len(d) > 1; d = filepath.Dir(d) {
			if info, err := os.Stat(d); err == nil && info.Mode().Perm()&0o001 == 0 {
				rowtest.NoError(t, os.Chmod(d, info.Mode().Perm()|0o055))
			}
		}
		self, err := os.Executable()
		rowtest.NoError(t, err)
		data, err := os.ReadFile(self)
		rowtest.NoError(t, err)
		rowtest.NoError(t, testutil.WriteProgram(program, data))
		work := filepath.Join(dir, "work")
		rowtest.NoError(t, os.Mkdir(work, 0o777))
		rowtest.NoError(t, os.Chmod(work, 0o777))
		cmd := exec.Command(program, "-test.run", "^"+strings.SplitN(t.Name(), "/", 2)[0]+"$", "-test.count=1")
		cmd.Dir, cmd.Env = work, append(os.Environ(), "TMPDIR="+work, "HOME="+work)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("as uid 65534: %v\n%s", err, out)
		}
	})
}

// linked puts links into a project, by name and target.
func (d *project) linked(links ...string) {
	d.T.Helper()
	for i := 0; i < len(links); i += 2 {
		at := filepath.Join(d.Dir, links[i])
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			d.T.Fatal(err)
		}
		if err := os.Symlink(strings.ReplaceAll(links[i+1], "ROOT", d.Dir), at); err != nil {
			d.T.Fatal(err)
		}
	}
}

// server returns a list of servers with a program in Python.
func server(args ...string) string {
	return `{"mcpServers": {"s": {"command": "python3", "args": ["` + strings.Join(args, `", "`) + `"]}}}`
}

// TestX6ProtectedTargets checks that what a protected name leads to cannot be changed in
// any way.
func TestX6ProtectedTargets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		files    map[string]string
		links    []string
		keep     []string // protected files, and in protected folders
		writable string
	}{
		{"a link", map[string]string{"conf/tools/x.star": "x", "b/y": "y"}, []string{".cassidy", "conf"}, []string{"conf/tools/x.star"}, "b/y"},
		{"an absolute link", map[string]string{"conf/tools/x.star": "x", "b/y": "y"}, []string{".cassidy", "ROOT/conf"}, []string{"conf/tools/x.star"}, "b/y"},
		{"a chain", map[string]string{"a/b/tools/x.star": "x", "a/y": "y"}, []string{".cassidy", "one", "one", "two/b", "two", "a"}, []string{"a/b/tools/x.star"}, "a/y"},
		{"a link in .cassidy", map[string]string{".cassidy/config.yaml": "", "src/x.star": "x", "src/y": "y"}, []string{".cassidy/tools/x.star", "../../src/x.star"}, []string{"src/x.star"}, "src/y"},
		{"in a folder", map[string]string{"sub/conf/tools/x.star": "x", "sub/y": "y"}, []string{"sub/.cassidy", "conf"}, []string{"sub/conf/tools/x.star"}, "sub/y"},
		{"git by a link", map[string]string{"meta/config": "x", "meta/hooks/x": "x", "b/y": "y"}, []string{".git", "meta"}, []string{"meta/config", "meta/hooks/x"}, "b/y"},
		{"a separate git folder", map[string]string{".git": "gitdir: meta", "meta/hooks/x": "x", "b/y": "y"}, nil, []string{"meta/hooks/x"}, "b/y"},
		{"a work tree", map[string]string{".git": "gitdir: main/w/x", "main/w/x/commondir": "../..", "main/config": "x", "b/y": "y"}, nil, []string{"main/config", "main/w/x/commondir"}, "b/y"},
		{"git by another name", map[string]string{"any/HEAD": "ref: x", "any/objects/x": "x", "any/refs/x": "", "any/config": "[core]", "b/y": "y"}, nil, []string{"any/config", "any/HEAD"}, "b/y"},
		{"hooks elsewhere", map[string]string{".git/config": "[core]\n\thooksPath = ci/hooks\n", "ci/hooks/x": "x", "ci/y": "y"}, nil, []string{"ci/hooks/x"}, "ci/y"},
		{"notes", map[string]string{"CASSIDY.local.md": "x", "docs/n.md": "n", "docs/y": "y"}, []string{"CASSIDY.md", "docs/n.md"}, []string{"CASSIDY.local.md", "docs/n.md"}, "docs/y"},
		{"the program of a server", map[string]string{".cassidy/mcp.json": server("srv/../src/s.py"), "srv/x": "x", "src/s.py": "x", "src/y": "y", "b/y": "y"}, nil, []string{"src/s.py", "src/y"}, "b/y"},
		{"the program of a server, by a link", map[string]string{".cassidy/mcp.json": server("run.py"), "src/s.py": "x", "src/y": "y", "b/y": "y"}, []string{"run.py", "src/s.py"}, []string{"src/s.py", "src/y"}, "b/y"},
		{"the module of a server", map[string]string{".cassidy/mcp.json": server("-m", "pkg.mod"), "pkg/mod.py": "x", "b/y": "y"}, nil, []string{"pkg/mod.py"}, "b/y"},
		{"what others obey", map[string]string{"conf/vs/tasks.json": "x", "docs/n.md": "n", "docs/y": "y"}, []string{"AGENTS.md", "docs/n.md", ".vscode", "conf/vs"}, []string{"docs/n.md", "conf/vs/tasks.json"}, "docs/y"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newProject(t, tt.files)
			d.linked(tt.links...)
			before := rowtest.Snapshot(t, d.Dir)
			for _, keep := range tt.keep {
				in := filepath.ToSlash(filepath.Dir(keep))
				d.Fails(value.Denied, "protected", "fs.write", "path", keep, "content", "evil")
				d.Fails(value.Denied, "protected", "fs.append", "path", keep, "content", "evil")
				if tt.files[keep] != "" {
					d.Fails(value.Denied, "protected", "fs.edit", "path", keep, "old", tt.files[keep], "new", "evil")
				}
				d.Fails(value.Denied, "protected", "fs.remove", "path", keep)
				d.Fails(value.Denied, "protected", "fs.move", "from", tt.writable, "to", keep, "overwrite", true)
				d.Fails(value.Denied, "protected", "fs.move", "from", keep, "to", "elsewhere")
				if in != "docs" && in != "src" && in != "." { // where the file alone is protected
					d.Fails(value.Denied, "protected", "fs.write", "path", in+"/new", "content", "evil")
					d.Fails(value.Denied, "protected", "fs.mkdir", "path", in+"/new/folder")
				}
				if top, _, _ := strings.Cut(keep, "/"); top != "CASSIDY.local.md" {
					d.Fails(value.Denied, "protected", "fs.remove", "path", top, "recursive", true)
					d.Fails(value.Denied, "protected", "fs.move", "from", top, "to", "elsewhere")
				}
			}
			d.commit()
			if got := rowtest.Snapshot(t, d.Dir); len(got) != len(before) {
				t.Errorf("the project = %v, want %v", got, before)
			}
			d.Must("fs.write", "path", tt.writable, "content", "new")
			d.commit()
		})
	}
	asNobody(t, true)
}

// TestX6Dangling checks that nothing can be made where a protected name leads.
func TestX6Dangling(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"from/tools/x.star": "x"})
	d.linked(".cassidy", "conf/here", ".git", "a", "a", "meta", "CASSIDY.md", "notes.md")
	for _, p := range []string{"conf/here/tools/x.star", "conf/here", "CONF/Here/x", "meta/config", "notes.md"} {
		d.Fails(value.Denied, "protected", "fs.write", "path", p, "content", "evil")
	}
	d.Fails(value.Denied, "protected", "fs.move", "from", "from", "to", "conf/here")
	d.Fails(value.Denied, "protected", "fs.mkdir", "path", "meta")
	d.Fails(value.Denied, "a link", "fs.remove", "path", "a")
	d.Must("fs.write", "path", "conf/other", "content", "good")
	asNobody(t, true)
}

// TestX6LinkDuringTheCall checks that a commit looks again at what is protected.
func TestX6LinkDuringTheCall(t *testing.T) {
	t.Parallel()
	for _, links := range [][]string{{".cassidy", "conf"}, {".git", "conf"}, {"CASSIDY.md", "conf/x"}, {"a", "conf", ".cassidy", "a"}} {
		d := newProject(t, nil)
		d.Must("fs.write", "path", "conf/x", "content", "evil")
		d.linked(links...)
		if _, err := d.Run(context.Background(), "fs.commit"); value.KindOf(err) != value.Denied {
			t.Errorf("%s: the commit = %v, want Denied", links, err)
		}
		if _, err := os.Stat(filepath.Join(d.Dir, "conf/x")); err == nil {
			t.Errorf("%s: conf/x was written", links)
		}
	}
	d := newProject(t, map[string]string{"conf/x": "old"})
	d.Must("fs.write", "path", "conf/x", "content", "new")
	undo := d.commit()
	d.linked(".cassidy", "conf")
	if _, err := d.restore(undo); value.KindOf(err) != value.Denied {
		t.Errorf("the undo = %v, want Denied", err)
	}
	asNobody(t, true)
}

// TestX6NewRepository checks that no call makes a folder that git takes for a repository,
// in one effect or several, by writing, making folders or moving.
func TestX6NewRepository(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"parts/HEAD": "ref: refs/heads/x", "parts/objects/x": "", "half/objects/x": "", "half/refs/x": ""})
	d.Fails(value.Denied, "protected", "fs.write", "path", "half/HEAD", "content", "ref: refs/heads/x")
	d.Fails(value.Denied, "protected", "fs.move", "from", "parts/HEAD", "to", "half/HEAD")
	d.Fails(value.Denied, "protected", "fs.mkdir", "path", "parts/refs")
	d.Fails(value.Denied, "protected", "fs.write", "path", "parts/refs/heads/x", "content", "x")
	d.Must("fs.mkdir", "path", "a/objects")
	d.Must("fs.mkdir", "path", "a/refs")
	d.Must("fs.write", "path", "a/config", "content", "[core]\n\tfsmonitor = evil")
	d.Fails(value.Denied, "protected", "fs.write", "path", "a/HEAD", "content", "ref: refs/heads/x")
	d.Must("fs.write", "path", "b/HEAD", "content", "ref: refs/heads/x")
	d.Fails(value.Denied, "protected", "fs.write", "path", "b/commondir", "content", "../half")
	d.commit()
	other := newProject(t, nil)
	other.Must("fs.write", "path", "c/HEAD", "content", "x")
	other.Must("fs.mkdir", "path", "c/objects")
	rowtest.NoError(t, os.MkdirAll(filepath.Join(other.Dir, "c/refs"), 0o777)) // meanwhile
	if _, err := other.Run(context.Background(), "fs.commit"); value.KindOf(err) != value.Denied {
		t.Errorf("the commit = %v, want Denied", err)
	}
	asNobody(t, true)
}

// TestX8Notes checks that tools cannot write the notes that models follow.
func TestX8Notes(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"CASSIDY.md": "old", "a.txt": "a"})
	for _, p := range []string{"CASSIDY.md", "CASSIDY.local.md", "cassidy.md", ".cassidy.md", "Cassidy.MD", "sub/CASSIDY.md", "CASSIDY.md ", "ＣASSIDY.md"} {
		d.Fails(value.Denied, "protected", "fs.write", "path", p, "content", "evil")
		d.Fails(value.Denied, "protected", "fs.append", "path", p, "content", "evil")
		d.Fails(value.Denied, "protected", "fs.move", "from", "a.txt", "to", p, "overwrite", true)
	}
	d.Fails(value.Denied, "protected", "fs.remove", "path", "CASSIDY.md")
	if got := d.Must("fs.read", "path", "CASSIDY.md"); got != "old" {
		t.Errorf("reading notes = %q", got)
	}
	for _, p := range []string{"NOTES.md", "cassidy.md.txt", "xcassidy.md"} {
		d.Must("fs.write", "path", p, "content", "good")
	}
	asNobody(t, true)
}
