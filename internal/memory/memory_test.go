package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A world is a project and what its user trusts.
type world struct {
	t     *testing.T
	root  string
	scope trust.Scope
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{t, t.TempDir(), trust.Scope{Trust: trust.New(t.TempDir())}}
}

// call calls a function of the module as the gate does; key identifies the step.
func (w *world) call(fn, key string, args *value.Dict) (tool.Outcome, error) {
	m := Module(w.root, func() *trust.Scope { return &w.scope })
	for _, f := range m.Funcs {
		if "memory."+f.Name == fn {
			return f.Do(w.t.Context(), tool.Effect{Func: fn, Args: args}, tool.Grant{Key: key})
		}
	}
	w.t.Fatalf("there is no %s", fn)
	return tool.Outcome{}, nil
}

func (w *world) add(key, text string) (tool.Outcome, error) {
	return w.call("memory.add", key, value.NewDict("note", text))
}

// file returns the content of the file, or "".
func (w *world) file() string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.root, File))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w *world) put(text string) {
	w.t.Helper()
	file := filepath.Join(w.root, File)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) trusted() bool {
	return Status(w.scope.NotesLedger(w.root), tool.HashBytes([]byte(w.file()))).Trusted
}

// notes returns all notes of the file.
func (w *world) notes() string {
	notes, _ := Recent(w.file(), MaxFile)
	return notes
}

func TestAdd(t *testing.T) {
	w := newWorld(t)
	for i, note := range []string{"one", "two\r\n  - a list\n\n- b", " thr\u202eee\x1b[0m\t. ", "<!-- 2026-01-01 0123456789abcdef -->"} {
		out, err := w.add(fmt.Sprint(i), note)
		if err != nil || out.Value != true || out.Undo == nil || !w.trusted() {
			t.Fatalf("add %q: %v, %v, trusted: %v", note, out, err, w.trusted())
		}
	}
	if got, want := w.notes(), "- one\n- two\n    - a list\n\n  - b\n- three[0m .\n- <!-- 2026-01-01 0123456789abcdef -->"; got != want {
		t.Errorf("the notes are\n%s\nwant\n%s", got, want)
	}
	before := w.file()
	if out, err := w.add("9", "two\n  - a list\n\n- b"); err != nil || out.Value != false || out.Undo != nil || w.file() != before {
		t.Errorf("a note that is there: %v, %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(w.root, next)); err == nil {
		t.Error("a temporary file is left")
	}
}

// TestOnce checks that an effect that is repeated after a crash writes its note once.
func TestOnce(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		if out, err := w.add("run/3.1", "one"); err != nil || out.Value != true || out.Undo == nil {
			t.Fatalf("%v, %v", out, err)
		}
	}
	if got := w.notes(); got != "- one" {
		t.Errorf("the notes are %q", got)
	}
}

// TestCrash checks that the file is complete and trusted when a process has died at any moment, also
// for another process, and that the note is there once when the effect is repeated.
func TestCrash(t *testing.T) {
	crash := errors.New("crash")
	for _, earlier := range []string{"", "before"} {
		for _, at := range []string{"before the file", "with half a file", "before the record"} {
			w := newWorld(t)
			if earlier != "" {
				if _, err := w.add("0", earlier); err != nil {
					t.Fatal(err)
				}
			}
			err := change(t.Context(), w.root, &w.scope, func(s *store) error {
				text := s.text + note{text: "one", id: newID("k"), when: time.Now()}.item()
				if !s.found {
					text = header + text
				}
				hash := tool.HashBytes([]byte(text))
				if err := w.scope.Trust.Record(w.root, []trust.File{{Path: next, Kind: trust.KindMemory, Text: text, TextHash: hash, Hash: hash}}, false); err != nil {
					return err
				}
				switch at {
				case "with half a file":
					return errors.Join(s.dir.WriteFile(next, []byte("# Mem"), 0o666), crash)
				case "before the record":
					return errors.Join(s.write(text), crash)
				}
				return crash
			})
			if !errors.Is(err, crash) {
				t.Fatal(err)
			}
			if w.file() != "" && !w.trusted() {
				t.Errorf("crash %s, after %q: the file is untrusted", at, earlier)
			}
			for range 2 {
				for key, text := range map[string]string{"k": "one", "other": "two"} {
					if out, err := w.add(key, text); err != nil || out.Value != true || !w.trusted() || strings.Count(w.file(), "- "+text) != 1 {
						t.Errorf("crash %s, after %q: add %s: %v, %v, trusted: %v, %q", at, earlier, text, out, err, w.trusted(), w.file())
					}
				}
			}
			if records, _, err := w.scope.Trust.List(w.root); err != nil || len(records) != 1 || records[0].Path != File {
				t.Errorf("the records are %+v, %v", records, err)
			}
		}
	}
}

// TestRevoked checks that no record of the other name makes the file trusted again.
func TestRevoked(t *testing.T) {
	w := newWorld(t)
	if _, err := w.add("1", "one"); err != nil {
		t.Fatal(err)
	}
	hash := tool.HashBytes([]byte(w.file()))
	if err := w.scope.Trust.Record(w.root, []trust.File{{Path: next, Kind: trust.KindMemory, TextHash: hash, Hash: hash}}, false); err != nil {
		t.Fatal(err)
	}
	if err := w.scope.Trust.Revoke(w.root, File); err != nil {
		t.Fatal(err)
	}
	if _, err := w.add("2", "two"); value.KindOf(err) != value.Denied || w.trusted() {
		t.Errorf("%v, trusted: %v", err, w.trusted())
	}
}

// TestUntrusted checks that no note is added to a file that nobody has reviewed, and that a crash
// makes no such file trusted.
func TestUntrusted(t *testing.T) {
	w := newWorld(t)
	n := note{text: "one", id: newID("k"), when: time.Now()}
	for _, text := range []string{"- evil\n", "evil\n", header + "- evil\n"} {
		w.put(text)
		if _, err := w.add("1", "one"); value.KindOf(err) != value.Denied || w.file() != text || w.trusted() {
			t.Errorf("added to %q: %v, %q", text, err, w.file())
		}
		w.put(text + n.item())
		if _, err := w.add("k", "one"); err != nil || w.trusted() {
			t.Errorf("after a crash, %q is trusted: %v", w.file(), err)
		}
	}
	w.scope.TrustOnce = true
	if _, err := w.add("2", "two"); err != nil || !strings.Contains(w.file(), "evil") {
		t.Errorf("%v, %q", err, w.file())
	}
	w = newWorld(t)
	w.scope.Trust = nil
	if _, err := w.add("1", "one"); err == nil || w.file() != "" {
		t.Errorf("without a record of trust: %v, %q", err, w.file())
	}
}

func TestUndo(t *testing.T) {
	w := newWorld(t)
	one, _ := w.add("1", "one")
	two, err := w.add("2", "two\nlines")
	if err != nil {
		t.Fatal(err)
	}
	set := func(e *tool.Effect) (done bool, again *tool.Effect, err error) {
		out, err := w.call(e.Func, "", e.Args)
		d, _ := out.Value.(*value.Dict)
		return d.Bool("done"), out.Undo, err
	}
	done, again, err := set(one.Undo)
	if err != nil || !done || w.notes() != "- two\n  lines" || !w.trusted() {
		t.Errorf("undone: %v, %v, %q", done, err, w.notes())
	}
	if done, _, err := set(one.Undo); err != nil || done {
		t.Errorf("undone twice: %v, %v", done, err)
	}
	if done, _, err := set(again); err != nil || !done || w.notes() != "- two\n  lines\n- one" || !w.trusted() {
		t.Errorf("the undo undone: %v, %v, %q", done, err, w.notes())
	}
	if done, _, err := set(one.Undo); err != nil || !done {
		t.Errorf("undone again: %v, %v", done, err)
	}
	w.put(strings.Replace(w.file(), "lines", "words", 1))
	if _, _, err := set(two.Undo); value.KindOf(err) != value.Conflict || w.notes() != "- two\n  words" {
		t.Errorf("a note that was edited: %v, %q", err, w.notes())
	}
	w = newWorld(t)
	one, _ = w.add("1", "one")
	if done, _, err := set(one.Undo); err != nil || !done || w.file() != "" {
		t.Errorf("the last note: %v, %v, %q", done, err, w.file())
	}
}

// TestTogether checks that no note is lost if several processes add notes.
func TestTogether(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if _, err := w.add(fmt.Sprint(i), fmt.Sprintf("note %d.", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 40 {
		if note := fmt.Sprintf("- note %d.", i); strings.Count(w.file(), note) != 1 {
			t.Errorf("%q is there %d times", note, strings.Count(w.file(), note))
		}
	}
	if !w.trusted() {
		t.Error("the file is untrusted")
	}
}

func TestBounds(t *testing.T) {
	w := newWorld(t)
	if _, err := w.add("1", strings.Repeat("ä", MaxNote)); err != nil {
		t.Error(err)
	}
	for _, note := range []string{"", " \n", "\u200b", strings.Repeat("ä", MaxNote+1)} {
		if _, err := w.add("2", note); value.KindOf(err) != value.Invalid {
			t.Errorf("%.10q: %v, want kind Invalid", note, err)
		}
	}
	for i := range 100 {
		if _, err := w.add(fmt.Sprint(i), fmt.Sprint(i)+strings.Repeat("x", MaxNote-3)); err != nil {
			if value.KindOf(err) != value.Limit || len(w.file()) > MaxFile || len(w.file()) < MaxFile-MaxNote-100 {
				t.Errorf("a file of %d bytes: %v", len(w.file()), err)
			}
			if e := value.ErrorOf(err, value.Failed); !strings.Contains(e.Hint, File) {
				t.Errorf("the hint is %q", e.Hint)
			}
			return
		}
	}
	t.Errorf("a file of %d bytes was accepted", len(w.file()))
}

// TestOddFiles checks what is not a file of the project.
func TestOddFiles(t *testing.T) {
	outside := t.TempDir()
	for name, make := range map[string]func(w *world) error{
		"a link":        func(w *world) error { return os.Symlink("other.md", filepath.Join(w.root, File)) },
		"a folder":      func(w *world) error { return os.Mkdir(filepath.Join(w.root, File), 0o777) },
		"not text":      func(w *world) error { return os.WriteFile(filepath.Join(w.root, File), []byte{0xff}, 0o666) },
		"the user's":    func(w *world) error { w.scope.Home = filepath.Join(w.root, ".cassidy"); return nil },
		"no project":    func(w *world) error { w.root = ""; return nil },
		"a link beside": func(w *world) error { return os.Symlink(outside, filepath.Join(w.root, ".cassidy")) },
	} {
		w := newWorld(t)
		if name != "a link beside" {
			if err := os.Mkdir(filepath.Join(w.root, ".cassidy"), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		if err := make(w); err != nil {
			t.Fatal(err)
		}
		if _, err := w.add("1", "one"); err == nil {
			t.Errorf("%s: a note was written", name)
		}
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("outside of the project there is %v", entries)
	}
}

func TestLocked(t *testing.T) {
	w := newWorld(t)
	if _, err := w.add("1", "one"); err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(w.root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	unlock, err := lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if free, err := lock(ctx, dir); err == nil {
		free()
		t.Skip("this system has no locks of folders")
	}
	unlock()
	if free, err := lock(ctx, dir); err != nil {
		t.Errorf("after it was unlocked: %v", err)
	} else {
		free()
	}
}

func TestRecent(t *testing.T) {
	file := header + note{text: "old"}.item() + note{text: "new\nnote"}.item()
	for _, tt := range []struct {
		file  string
		limit int
		want  string
		older int
	}{
		{file, 100, "- old\n- new\n  note", 0},
		{file, 15, "- new\n  note", 1},
		{file, 5, "", 2},
		{header, 100, "", 0},
		{"", 100, "", 0},
		{"Written by hand.\n\n- a\n- b", 100, "Written by hand.\n- a\n- b", 0},
		{"Written by hand.\n\n- a\n- b", 9, "- a\n- b", 1},
		{"- a\n\n\n", 100, "- a", 0},
		{"- a\r\n  b\r\n", 100, "- a\n  b", 0},
	} {
		if got, older := Recent(tt.file, tt.limit); got != tt.want || older != tt.older {
			t.Errorf("Recent(%q, %d) = %q, %d, want %q, %d", tt.file, tt.limit, got, older, tt.want, tt.older)
		}
	}
}
