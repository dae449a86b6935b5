package swap

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A folder is a project with one file, which an editor changes beside a change of its content
// from "old\n" to "new\n".
type folder struct {
	t     *testing.T
	dir   string
	place Place
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	d := &folder{t: t, dir: t.TempDir()}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	d.place = At(root, "f", root, NewMark(time.Now()), "f")
	d.check(os.WriteFile(filepath.Join(d.dir, "f"), []byte("old\n"), 0o644))
	return d
}

func (d *folder) check(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *folder) read(name string) string {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	d.check(err)
	return string(text)
}

// editor writes a text: at the end of the file, or in place of its content.
func (d *folder) editor(text string, flag int) {
	d.t.Helper()
	f, err := os.OpenFile(filepath.Join(d.dir, "f"), os.O_WRONLY|flag, 0)
	d.check(err)
	_, err = f.WriteString(text)
	d.check(errors.Join(err, f.Close()))
}

// during calls do after the n-th exchange.
func (d *folder) during(n int, do func()) {
	exchanges := 0
	d.place.exchanged = func() {
		if exchanges++; exchanges == n {
			do()
		}
	}
}

// replace begins the change. It returns the file that it displaces, as it was compared.
func (d *folder) replace() (was fs.FileInfo) {
	d.t.Helper()
	was, err := os.Lstat(filepath.Join(d.dir, "f"))
	d.check(err)
	d.check(d.place.Write([]byte("new\n"), 0o644, false, was))
	return was
}

// kept returns what is in the file and in those that were saved beside it, after the temporary
// files are removed.
func (d *folder) kept() (text, saved string) {
	d.t.Helper()
	_ = d.place.Salvage(map[string]bool{sum([]byte("old\n")): true, sum([]byte("new\n")): true}) // its error names what it has saved
	names, err := filepath.Glob(filepath.Join(d.dir, "f.saved-*"))
	d.check(err)
	for _, name := range names {
		saved += d.read(filepath.Base(name))
	}
	left, err := filepath.Glob(filepath.Join(d.dir, Prefix+"*"))
	if d.check(err); len(left) > 0 {
		d.t.Errorf("left behind: %q", left)
	}
	return d.read("f"), saved
}

// TestChangesBesideAPutBackFile changes the new file while it is in the place of a file that is
// put back: appended lines are carried over, and any other content is saved.
func TestChangesBesideAPutBackFile(t *testing.T) {
	for _, c := range []struct {
		name, text string
		flag       int
		want       string
		saved      string
	}{
		{"appended", "line\n", os.O_APPEND, "old\nfirst\nline\n", "new\nline\n"},
		{"rewritten, and longer", "something else\n", os.O_TRUNC, "old\nfirst\n", "something else\n"},
		{"rewritten, and shorter", "x\n", os.O_TRUNC, "old\nfirst\n", "x\n"},
		{"rewritten in part, and longer", "N", 0, "old\nfirst\n", "New\n"},
	} {
		d := newFolder(t)
		was := d.replace()
		d.editor("first\n", os.O_APPEND) // what displaces another file than the expected one
		d.during(1, func() { d.editor(c.text, c.flag) })
		err := d.place.Replace(was, sum([]byte("new\n")))
		text, saved := d.kept()
		if !errors.Is(err, ErrChanged) || text != c.want || saved != c.saved {
			t.Errorf("%s: the file says %q and %q was saved, %v, want %q and %q", c.name, text, saved, err, c.want, c.saved)
		}
	}
}

// TestChangesBesideAnUndo changes the files of a change that is undone, at each moment: nothing
// of an editor is lost.
func TestChangesBesideAnUndo(t *testing.T) {
	for _, c := range []struct {
		name        string
		before      func(d *folder) // is called when the undo has compared the file
		between     func(d *folder) // is called when the old file is back
		want, saved string
	}{
		{"nothing", nil, nil, "old\n", ""},
		{"the new file", func(d *folder) { d.editor("line\n", os.O_APPEND) }, nil, "new\nline\n", ""},
		{"the new file, then the old one", func(d *folder) { d.editor("line\n", os.O_APPEND) }, func(d *folder) { d.editor("more\n", os.O_APPEND) }, "new\nline\nmore\n", "old\nmore\n"},
		{"the new file, then the old one otherwise", func(d *folder) { d.editor("line\n", os.O_APPEND) }, func(d *folder) { d.editor("another text\n", os.O_TRUNC) }, "new\nline\n", "another text\n"},
	} {
		d := newFolder(t)
		d.check(d.place.Replace(d.replace(), sum([]byte("new\n"))))
		own, err := os.Lstat(filepath.Join(d.dir, "f"))
		d.check(err)
		if c.before != nil {
			c.before(d)
		}
		d.during(1, func() {
			if c.between != nil {
				c.between(d)
			}
		})
		err = d.place.undoExchange(own, sum([]byte("old\n")))
		text, saved := d.kept()
		if changed := c.before != nil; errors.Is(err, ErrChanged) != changed || text != c.want || saved != c.saved {
			t.Errorf("%s: the file says %q and %q was saved, %v, want %q and %q", c.name, text, saved, err, c.want, c.saved)
		}
	}
}

// TestEvidenceOfANewFile checks what is known of a new file if its process dies at any step of
// creating it, and that it can be created then.
func TestEvidenceOfANewFile(t *testing.T) {
	for _, died := range []string{"before the mark", "before the rename", "after the rename"} {
		d := newFolder(t)
		d.check(os.Remove(filepath.Join(d.dir, "f")))
		after := sum([]byte("new\n"))
		d.check(d.place.Write([]byte("new\n"), 0o644, false, nil))
		want := Ready
		switch died {
		case "before the rename":
			d.check(os.WriteFile(filepath.Join(d.dir, d.place.temp+gone), nil, 0o600))
		case "after the rename":
			d.check(d.place.marked(func(in *os.Root, from string, dir *os.Root, to string) error {
				if is, err := d.place.Evidence("", after); is != Ready || err != nil {
					t.Errorf("with the mark, before the rename: %v, %v, want Ready", is, err)
				}
				err := renameNew(in, from, dir, to)
				if is, err := d.place.Evidence("", after); is != Done || err != nil {
					t.Errorf("right after the rename: %v, %v, want Done", is, err)
				}
				return err
			}))
			want = Done
		}
		is, err := d.place.Evidence("", after)
		if is != want || err != nil {
			t.Errorf("%s: the evidence is %v, %v, want %v", died, is, err, want)
		}
		if want == Ready {
			d.check(d.place.Create())
		}
		d.check(d.place.Drop())
		if text, saved := d.kept(); text != "new\n" || saved != "" {
			t.Errorf("%s: the file says %q, and %q was saved", died, text, saved)
		}
	}
	d := newFolder(t)
	d.check(d.place.Write([]byte("new\n"), 0o644, false, nil))
	if err := d.place.Create(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the file was there, and Create returned %v", err)
	}
	if text, saved := d.kept(); text != "old\n" || saved != "" {
		t.Errorf("the file says %q, and %q was saved", text, saved)
	}
}

// TestAnEditorKeepsAFileOpen has an editor open the new file before the change is undone: what it
// writes later is in a file that was saved.
func TestAnEditorKeepsAFileOpen(t *testing.T) {
	d := newFolder(t)
	d.check(d.place.Replace(d.replace(), sum([]byte("new\n"))))
	f, err := os.OpenFile(filepath.Join(d.dir, "f"), os.O_WRONLY|os.O_APPEND, 0)
	d.check(err)
	defer f.Close()
	if _, known := isQuiet(f); !known {
		t.Skip("THIS FILE SYSTEM KNOWS NO LEASES")
	}
	_, err = d.place.Undo(sum([]byte("old\n")), sum([]byte("new\n")))
	d.check(err)
	_, saved := d.kept()
	_, err = f.WriteString("line\n")
	d.check(err)
	names, _ := filepath.Glob(filepath.Join(d.dir, "f.saved-*"))
	if len(names) != 1 || saved != "new\n" || !strings.HasSuffix(d.read(filepath.Base(names[0])), "line\n") || d.read("f") != "old\n" {
		t.Errorf("%q were saved with %q, and the file says %q", names, saved, d.read("f"))
	}
}
