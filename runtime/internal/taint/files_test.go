package taint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// linked makes a project whose folder inbox has other names, and returns its files.
func linked(t *testing.T) taint.Files {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	for _, name := range []string{"inbox/mail.txt", "inbox/own/a.txt", "inbox/more.txt", "work/a.txt", "readme.txt"} {
		if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := root.WriteFile(name, []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link.txt": "inbox/mail.txt", "box": "inbox", "two": "box", "mine": "inbox/own", "work/up": "../inbox"} {
		if err := root.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	for name, of := range map[string]string{"hard.txt": "inbox/mail.txt", "work/hard.txt": "inbox/own/a.txt", "twice.txt": "readme.txt"} {
		if err := root.Link(of, name); err != nil {
			t.Fatal(err)
		}
	}
	p := &protect.Project{Root: root, Bases: []string{filepath.ToSlash(dir)}}
	return taint.Files{Names: func() tool.FileNames { return p.Names().Of }, WorkDir: dir}
}

// TestReadByAnyName checks that a file is untrusted whatever name it was opened by.
func TestReadByAnyName(t *testing.T) {
	files := linked(t)
	for _, tt := range []struct {
		untrusted, trusted, path, want string
	}{
		{"inbox/**", "", "inbox/mail.txt", "inbox/mail.txt"},
		{"inbox/**", "", "link.txt", "link.txt (inbox/mail.txt)"},
		{"inbox/**", "", "box/mail.txt", "box/mail.txt (inbox/mail.txt)"},
		{"inbox/**", "", "two/own/a.txt", "two/own/a.txt (inbox/own/a.txt)"},
		{"inbox/**", "", "work/up/more.txt", "work/up/more.txt (inbox/more.txt)"},
		{"inbox/**", "", "hard.txt", "hard.txt (inbox/mail.txt)"},
		{"inbox", "", "link.txt", "link.txt (inbox/mail.txt)"},
		{"inbox/*.txt", "", "hard.txt", "hard.txt (inbox/mail.txt)"},
		{"inbox/mail.txt", "", "hard.txt", "hard.txt (inbox/mail.txt)"},
		{"**/mail.txt", "", "link.txt", "link.txt (inbox/mail.txt)"},
		{"box/**", "", "inbox/mail.txt", "inbox/mail.txt (box/mail.txt)"},
		{"link.txt", "", "inbox/mail.txt", "inbox/mail.txt (link.txt)"},
		{"link.txt", "", "hard.txt", "hard.txt (link.txt)"},
		{"inbox/**", "", "readme.txt", ""},
		{"inbox/**", "", "twice.txt", ""},
		{"inbox/*.txt", "", "inbox/own/a.txt", ""},
		// A link makes nothing trusted.
		{"inbox/**", "inbox/own/**", "inbox/own/a.txt", ""},
		{"inbox/**", "inbox/own/**", "mine/a.txt", ""},
		{"inbox/**", "inbox/own/**", "link.txt", "link.txt (inbox/mail.txt)"},
		{"inbox/**", "mine/**", "mine/a.txt", "mine/a.txt (inbox/own/a.txt)"},
		{"inbox/**", "work/**", "work/hard.txt", "work/hard.txt (inbox/own/a.txt)"},
		{"inbox/**", "*.txt", "link.txt", "link.txt (inbox/mail.txt)"},
	} {
		var trusted []string
		if tt.trusted != "" {
			trusted = []string{"fs.read:" + tt.trusted}
		}
		lists, err := taint.ParseLists(trusted, []string{"http:a.example", "fs.read:" + tt.untrusted}, files)
		if err != nil {
			t.Fatal(err)
		}
		var m taint.Marks
		takes := []tool.Capability{{Name: "fs.read", Target: tt.path}}
		if got := lists.Read(&m, &tool.Func{}, tool.Effect{Func: "fs.read", Args: &value.Dict{}}, takes, tool.Outcome{Value: "x"}, nil); got != tt.want {
			t.Errorf("with %s untrusted and %s trusted, %s reads %q, want %q", tt.untrusted, tt.trusted, tt.path, got, tt.want)
		}
	}
}

// TestFoundByAnyName checks the same for what was found in folders, by paths that are relative to
// the working directory.
func TestFoundByAnyName(t *testing.T) {
	files := linked(t)
	entries := func(paths ...string) (list value.List) {
		for _, p := range paths {
			list = append(list, value.NewDict("path", p))
		}
		return list
	}
	for _, tt := range []struct {
		do, in, work string
		out          value.Value
		want         string
	}{
		{"fs.list", "box", "", entries(), "box (inbox)"},
		{"fs.list", ".", "", entries("inbox", "box", "link.txt", "hard.txt", "readme.txt"), ""}, // names that the user knows
		{"fs.list", ".", "", entries("inbox/mail.txt"), "inbox/mail.txt"},
		{"fs.list", ".", "", value.NewDict("entries", entries("inbox/mail.txt"), "total", int64(9)), "inbox/mail.txt"},
		{"fs.list", ".", "work", entries("../inbox/mail.txt"), "../inbox/mail.txt (inbox/mail.txt)"},
		{"fs.list", ".", "inbox", entries("own"), "own (inbox/own)"},
		{"fs.glob", "box", "", value.List{}, "box (inbox)"},
		{"fs.glob", ".", "", value.List{"readme.txt", "inbox/mail.txt"}, "inbox/mail.txt"},
		{"fs.glob", ".", "", value.NewDict("paths", value.List{"inbox/mail.txt"}, "total", int64(9)), "inbox/mail.txt"},
		{"fs.glob", ".", "", value.List{"readme.txt", "link.txt", "hard.txt"}, ""},
		{"fs.glob", "work", "work", value.List{"a.txt", "hard.txt"}, ""},
		{"fs.search", "box", "", entries(), "box (inbox)"},
		{"fs.search", "work", "work", entries("a.txt", "hard.txt"), "hard.txt (inbox/own/a.txt)"},
		{"fs.search", ".", "", entries("readme.txt", "hard.txt"), "hard.txt (inbox/mail.txt)"},
		{"fs.search", ".", "", entries("readme.txt", "twice.txt", ""), ""},
	} {
		f := files
		f.WorkDir = filepath.Join(files.WorkDir, tt.work)
		lists, err := taint.ParseLists(nil, []string{"fs.read:inbox/**"}, f)
		if err != nil {
			t.Fatal(err)
		}
		var m taint.Marks
		takes := []tool.Capability{{Name: "fs.read", Target: tt.in}}
		if got := lists.Read(&m, &tool.Func{}, tool.Effect{Func: tt.do, Args: &value.Dict{}}, takes, tool.Outcome{Value: tt.out}, nil); got != tt.want {
			t.Errorf("%s of %s in %q with %v reads %q, want %q", tt.do, tt.in, tt.work, tt.out, got, tt.want)
		}
	}
}
