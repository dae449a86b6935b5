package fs

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/swap"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestCommitTellsWhatItDid(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "1", "b": "2", "same": "s", "dir/": ""})
	d.Must("fs.write", "path", "a", "content", "111")
	d.Must("fs.remove", "path", "b")
	d.Must("fs.write", "path", "new/c", "content", "33")
	d.Must("fs.write", "path", "same", "content", "s")
	d.Must("fs.remove", "path", "dir")
	before := rowtest.Snapshot(t, d.Dir)
	prepared, err := d.Run(context.Background(), "fs.prepare")
	rowtest.NoError(t, err)
	if diff := cmp.Diff(before, rowtest.Snapshot(t, d.Dir)); diff != "" || d.Stage.Empty() {
		t.Errorf("fs.prepare did something; the stage is empty: %v; the disk (-want +got):\n%s", d.Stage.Empty(), diff)
	}
	out, err := d.Run(context.Background(), "fs.commit")
	rowtest.NoError(t, err)
	entry := func(path, kind, action string, n int64) *value.Dict {
		return value.NewDict("path", path, "kind", kind, "action", action, "bytes", n)
	}
	want := value.List{
		entry("a", "file", "changed", 3), entry("b", "file", "removed", 0), entry("dir", "dir", "removed", 0),
		entry("new", "dir", "created", 0), entry("new/c", "file", "created", 2),
	}
	if !value.Equal(out.Value, want) {
		t.Errorf("fs.commit = %s, want %s", value.FormatJSON(out.Value, ""), value.FormatJSON(want, ""))
	}
	if out.Undo == nil || out.Undo.Func != "fs.restore" {
		t.Errorf("undo = %v, want fs.restore", out.Undo)
	}
	if prepared.Value != nil || prepared.Undo == nil || prepared.Undo.Func != "fs.restore" || !value.Equal(filesOf(prepared.Undo), filesOf(out.Undo)) {
		t.Errorf("fs.prepare = %v, %v, want no value and the undo of the commit", prepared.Value, prepared.Undo)
	}
	if !d.Stage.Empty() {
		t.Error("the stage is not empty after the commit")
	}
	d.Must("fs.write", "path", "same", "content", "s")
	out, err = d.Run(context.Background(), "fs.prepare")
	if err != nil || out.Value != nil || out.Undo != nil {
		t.Errorf("fs.prepare of what changes nothing = %v, %v, want no value and no undo", out, err)
	}
	out, err = d.Run(context.Background(), "fs.commit")
	if err != nil || !value.Equal(out.Value, value.List{}) || out.Undo != nil {
		t.Errorf("a commit of nothing = %v, %v, want an empty list and no undo", out, err)
	}
}

// filesOf returns the argument files of an undo.
func filesOf(undo *tool.Effect) value.Value {
	files, _ := undo.Args.Get("files")
	return files
}

func TestCommitConflicts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		call     func(d *project) // what the call does
		meantime func(t *testing.T, dir string)
		names    string // the path that the error names
	}{
		{"changed after the write",
			func(d *project) { d.Must("fs.write", "path", "a", "content", "mine") },
			func(t *testing.T, dir string) { rowtest.PutFile(t, dir, "a", "theirs") }, "a"},
		{"changed to the same length",
			func(d *project) { d.Must("fs.write", "path", "a", "content", "mine") },
			func(t *testing.T, dir string) { rowtest.PutFile(t, dir, "a", "0") }, "a"},
		{"created meanwhile",
			func(d *project) { d.Must("fs.write", "path", "new", "content", "mine") },
			func(t *testing.T, dir string) { rowtest.PutFile(t, dir, "new", "theirs") }, "new"},
		{"created meanwhile, the same",
			func(d *project) { d.Must("fs.write", "path", "new", "content", "mine") },
			func(t *testing.T, dir string) { rowtest.PutFile(t, dir, "new", "mine") }, "new"},
		{"removed meanwhile",
			func(d *project) { d.Must("fs.edit", "path", "a", "old", "1", "new", "2") },
			func(t *testing.T, dir string) { rowtest.NoError(t, os.Remove(filepath.Join(dir, "a"))) }, "a"},
		{"removed by both",
			func(d *project) { d.Must("fs.remove", "path", "a") },
			func(t *testing.T, dir string) { rowtest.NoError(t, os.Remove(filepath.Join(dir, "a"))) }, "a"},
		{"a folder instead of a file",
			func(d *project) { d.Must("fs.write", "path", "a", "content", "mine") },
			func(t *testing.T, dir string) {
				rowtest.NoError(t, os.Remove(filepath.Join(dir, "a")))
				rowtest.PutFile(t, dir, "a/", "")
			}, "a"},
		{"its folder is gone",
			func(d *project) { d.Must("fs.write", "path", "dir/new", "content", "mine") },
			func(t *testing.T, dir string) { rowtest.NoError(t, os.RemoveAll(filepath.Join(dir, "dir"))) }, "dir"},
		{"its folder is a file",
			func(d *project) { d.Must("fs.write", "path", "dir/new", "content", "mine") },
			func(t *testing.T, dir string) {
				rowtest.NoError(t, os.RemoveAll(filepath.Join(dir, "dir")))
				rowtest.PutFile(t, dir, "dir", "")
			}, "dir"},
		{"the folder was made meanwhile",
			func(d *project) { d.Must("fs.write", "path", "made/x", "content", "mine") },
			func(t *testing.T, dir string) { rowtest.PutFile(t, dir, "made/", "") }, "made"},
		{"something new in a folder that goes",
			func(d *project) { d.Must("fs.remove", "path", "dir", "recursive", true) },
			func(t *testing.T, dir string) { rowtest.PutFile(t, dir, "dir/late", "theirs") }, "dir/late"},
		{"something new in a folder that moves",
			func(d *project) { d.Must("fs.move", "from", "dir", "to", "moved") },
			func(t *testing.T, dir string) { rowtest.PutFile(t, dir, "dir/.late", "theirs") }, "dir/.late"},
		{"changed between the read and the write",
			func(d *project) { d.Must("fs.read", "path", "a"); d.Must("fs.write", "path", "b", "content", "mine") },
			func(t *testing.T, dir string) { rowtest.PutFile(t, dir, "b", "theirs") }, "b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newProject(t, map[string]string{"0": "zero", "a": "1", "b": "2", "dir/x": "x", "z": "z"})
			d.Must("fs.write", "path", "0", "content", "first in order")
			tt.call(d)
			d.Must("fs.write", "path", "z", "content", "last in order")
			tt.meantime(t, d.Dir)
			before := rowtest.Snapshot(t, d.Dir)
			for _, name := range []string{"fs.prepare", "fs.commit"} {
				_, err := d.Call(name)
				rowtest.Wrong(t, err, value.Conflict, tt.names+" has changed", name)
			}
			if diff := cmp.Diff(before, rowtest.Snapshot(t, d.Dir)); diff != "" {
				t.Errorf("the disk after the conflict (-want +got):\n%s", diff)
			}
			if d.Stage.Empty() {
				t.Error("the stage is empty after a commit that failed: it is the host's to drop")
			}
		})
	}
}

// What a call builds on is what it first read, not what was there when it wrote.
func TestConflictWithWhatWasReadFirst(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "1"})
	d.Must("fs.read", "path", "a")
	d.Must("fs.exists", "path", "b")
	rowtest.PutFile(t, d.Dir, "a", "2")
	rowtest.PutFile(t, d.Dir, "b", "2")
	d.Fails(value.Conflict, "a was changed by another process during the call", "fs.edit", "path", "a", "old", "2", "new", "3")
	d.Fails(value.Conflict, "a was changed by another process during the call", "fs.remove", "path", "a")
	d.Fails(value.Conflict, "b was changed by another process during the call", "fs.write", "path", "b", "content", "mine")
	d.Fails(value.Conflict, "a was changed by another process during the call", "fs.move", "from", "a", "to", "c")
	d.Stage = &tool.Stage{}
	d.Must("fs.edit", "path", "a", "old", "2", "new", "3")
	d.after(map[string]string{"a": "3", "b": "2"})
}

// A call that can have no writes notes nothing of what it reads.
func TestReadsOnlyNotesNothing(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "1"})
	for _, readsOnly := range []bool{true, false} {
		for _, args := range []*value.Dict{value.NewDict("path", "a"), value.NewDict("path", "missing")} {
			g := tool.Grant{Check: d.Check, Stage: &tool.Stage{}, ReadsOnly: readsOnly}
			out, err := d.Func("fs.read").Do(t.Context(), tool.Effect{Args: args}, g)
			if args.Text("path") == "a" && (err != nil || out.Value != "1") {
				t.Errorf("fs.read(%v) with ReadsOnly %v = %v, %v, want 1", args, readsOnly, out.Value, err)
			}
			if _, noted := g.Stage.Seen(args.Text("path")); noted == readsOnly {
				t.Errorf("fs.read(%v) with ReadsOnly %v: noted is %v, want %v", args, readsOnly, noted, !readsOnly)
			}
		}
	}
}

func TestCommitThatFailsHalfWay(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "1", "gone/x": "x", "kind/y": "y", "m": "m", "z": "z"})
	d.Must("fs.write", "path", "a", "content", "new")
	d.Must("fs.write", "path", "made/deep/b", "content", "new")
	d.Must("fs.remove", "path", "kind", "recursive", true)
	d.Must("fs.write", "path", "kind", "content", "file now")
	d.Must("fs.write", "path", "m", "content", "new")
	d.Must("fs.remove", "path", "gone", "recursive", true)
	d.Must("fs.remove", "path", "z")
	before := rowtest.Snapshot(t, d.Dir)

	l := diskOf(context.Background(), d.files, "").of(d.Stage.Changes())
	steps, err := l.compare(d.Stage.Changes())
	rowtest.NoError(t, err)
	ops := inOrder(steps, false)
	for i := range ops {
		// What the i-th operation is about changes after it was compared.
		full := filepath.Join(d.Dir, ops[i].Path)
		_, statErr := os.Lstat(full)
		late := time.Now().Add(time.Hour)
		switch {
		case ops[i].Info == nil && statErr != nil && ops[i].Path == "made":
			rowtest.NoError(t, os.WriteFile(full, nil, 0o600))
		case ops[i].Info == nil || ops[i].Info.IsDir():
			continue // not before the operations that it follows
		default:
			rowtest.NoError(t, os.Chtimes(full, late, late))
		}
		changed := rowtest.Snapshot(t, d.Dir)
		rowtest.Wrong(t, l.carryOut(ops), value.Conflict, "was changed by another process", fmt.Sprintf("carryOut with a changed %s", ops[i].Path))
		if diff := cmp.Diff(changed, rowtest.Snapshot(t, d.Dir)); diff != "" {
			t.Errorf("after the failure at %s (-want +got):\n%s", ops[i].Path, diff)
		}
		if ops[i].Info == nil {
			rowtest.NoError(t, os.Remove(full))
		}
		l = diskOf(context.Background(), d.files, "").of(d.Stage.Changes())
		if steps, err = l.compare(d.Stage.Changes()); err != nil {
			t.Fatal(err)
		}
		ops = inOrder(steps, false)
	}
	if diff := cmp.Diff(before, rowtest.Snapshot(t, d.Dir)); diff != "" {
		t.Fatalf("the disk after all failures (-want +got):\n%s", diff)
	}
	d.after(map[string]string{"a": "new", "made/deep/b": "new", "kind": "file now", "m": "new", "gone": "", "z": ""})
}

// Where something else changes what a failed commit has written already, the
// commit does not take that from it, and says so.
func TestRollBackLeavesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "1", "b": "2"})
	d.Must("fs.write", "path", "a", "content", "new a")
	d.Must("fs.write", "path", "b", "content", "new b")
	l := diskOf(context.Background(), d.files, "").of(d.Stage.Changes())
	steps, err := l.compare(d.Stage.Changes())
	rowtest.NoError(t, err)
	ops := inOrder(steps, false)
	rowtest.NoError(t, l.change(ops[0], l.exchange))
	rowtest.PutFile(t, d.Dir, "a", "theirs")
	err = l.rollBack(ops[:1], ops, l.changed("b"))
	rowtest.Wrong(t, err, value.Conflict, "b was changed by another process during the call; the changes to these files could not be undone: a", "rollBack")
	if got := rowtest.GetFile(t, d.Dir, "a"); got != "theirs" {
		t.Errorf("a = %q, want what was put there by somebody else", got)
	}
}

func TestF09TwoWritersOfOneFile(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"f": "0"})
	first, second := &tool.Stage{}, &tool.Stage{}
	d.Stage = first
	d.Must("fs.write", "path", "f", "content", "first")
	d.Stage = second
	d.Must("fs.write", "path", "f", "content", "second")
	d.commit()
	d.Stage = first
	d.Fails(value.Conflict, "f has changed on disk", "fs.commit")
	if got := rowtest.GetFile(t, d.Dir, "f"); got != "second" {
		t.Errorf("f = %q, want %q", got, "second")
	}

	// Of many at once, each that began from the same content, one gets through.
	const writers = 16
	stages := make([]*tool.Stage, writers)
	for i := range stages {
		stages[i] = &tool.Stage{}
		d.Stage = stages[i]
		d.Must("fs.write", "path", "f", "content", strings.Repeat(fmt.Sprint(i), 1000))
	}
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range stages {
		wg.Go(func() {
			_, errs[i] = d.Func("fs.commit").Do(context.Background(), tool.Effect{}, tool.Grant{Stage: stages[i]})
		})
	}
	wg.Wait()
	var won []int
	for i, err := range errs {
		if err == nil {
			won = append(won, i)
			continue
		}
		rowtest.Wrong(t, err, value.Conflict, "f has changed", "the commit of a writer that came late")
	}
	if len(won) != 1 || rowtest.GetFile(t, d.Dir, "f") != strings.Repeat(fmt.Sprint(won[0]), 1000) {
		t.Errorf("writers %v got through, f = %.20q, want one and its content", won, rowtest.GetFile(t, d.Dir, "f"))
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "1", "b": "2\xff", "dir/x": "x", "kind/y": "y", "emptied": ""})
	before := rowtest.Snapshot(t, d.Dir)
	d.Must("fs.write", "path", "a", "content", "new")
	d.Must("fs.move", "from", "b", "to", "far/b")
	d.Must("fs.remove", "path", "dir", "recursive", true)
	d.Must("fs.remove", "path", "kind", "recursive", true)
	d.Must("fs.write", "path", "kind", "content", "file")
	d.Must("fs.write", "path", "emptied", "content", "full")
	undo := d.commit()
	after := rowtest.Snapshot(t, d.Dir)

	redo, err := d.restore(undo)
	rowtest.NoError(t, err)
	if diff := cmp.Diff(before, rowtest.Snapshot(t, d.Dir)); diff != "" {
		t.Errorf("after the undo (-want +got):\n%s", diff)
	}
	_, err = d.restore(undo)
	rowtest.Wrong(t, err, value.Conflict, "has changed on disk", "the same undo again")
	undo, err = d.restore(redo)
	rowtest.NoError(t, err)
	if diff := cmp.Diff(after, rowtest.Snapshot(t, d.Dir)); diff != "" {
		t.Errorf("after the undo of the undo (-want +got):\n%s", diff)
	}

	d.Grant("fs.read", "fs.write:a")
	_, err = d.restore(undo)
	rowtest.Wrong(t, err, value.Denied, "fs.write:", "an undo that is not granted")
	d.Grant("fs.write")
	rowtest.PutFile(t, d.Dir, "far/b", "touched")
	_, err = d.restore(undo)
	rowtest.Wrong(t, err, value.Conflict, "far/b has changed", "an undo of what was changed since")
	rowtest.NoError(t, os.Remove(filepath.Join(d.Dir, "far/b")))
	rowtest.PutFile(t, d.Dir, "far/b", "2\xff")
	rowtest.PutFile(t, d.Dir, "far/other", "")
	_, err = d.restore(undo)
	rowtest.Wrong(t, err, value.Conflict, "far/other has changed", "an undo that would remove what is not its own")
}

// TestRestoreOfAPart undoes changes of large files, of whose content the record has only what was
// changed, and undoes the undo.
func TestRestoreOfAPart(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcdef", 1<<12)
	middle := text[:5000] + "other" + text[5100:]
	for _, tt := range []struct {
		name, was, is string
		most          int // bytes of the record
	}{
		{"appended", text, text + "more\n", 400},
		{"cut", text + "more\n", text, 400},
		{"at the beginning", text, "more\n" + text, 400},
		{"in the middle", text, middle, 600},
		{"a repeated text is longer", text, text + text, 400},
		{"a repeated text is shorter", text + text, text, 1 << 17},
		{"all of it", text, strings.Repeat("x", 1<<16), 1 << 17},
		{"both ends", text, "x" + text[1:len(text)-1] + "x", 1 << 17},
		{"emptied", text, "", 1 << 17},
		{"filled", "", text, 400},
		{"small", text[:100], text[:100] + "x", 600},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newProject(t, map[string]string{"f": tt.was})
			d.Must("fs.write", "path", "f", "content", tt.is)
			undo := d.commit()
			record, err := value.Append(nil, undo.Args)
			rowtest.NoError(t, err)
			if len(record) > tt.most {
				t.Errorf("the record has %d bytes, want at most %d", len(record), tt.most)
			}
			for _, want := range []string{tt.was, tt.is, tt.was} {
				if undo, err = d.restore(undo); err != nil || rowtest.GetFile(t, d.Dir, "f") != want {
					t.Fatalf("the file has %d bytes, want %d: %v", len(rowtest.GetFile(t, d.Dir, "f")), len(want), err)
				}
			}
			rowtest.PutFile(t, d.Dir, "f", tt.was+"!")
			_, err = d.restore(undo)
			rowtest.Wrong(t, err, value.Conflict, "f has changed", "an undo of what was changed since")
		})
	}
}

// A grant that allows a write allows its undo, and the undo of that.
func TestRestoreNeedsNoMoreThanTheWrite(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"keep": ""}, "fs.write:out/*/*.md")
	before := rowtest.Snapshot(t, d.Dir)
	d.Must("fs.write", "path", "out/deep/a.md", "content", "1")
	redo, err := d.restore(d.commit())
	rowtest.NoError(t, err)
	if diff := cmp.Diff(before, rowtest.Snapshot(t, d.Dir)); diff != "" {
		t.Errorf("after the undo (-want +got):\n%s", diff)
	}
	_, err = d.restore(redo)
	rowtest.NoError(t, err)
	if got := rowtest.GetFile(t, d.Dir, "out/deep/a.md"); got != "1" {
		t.Errorf("out/deep/a.md = %q, want %q", got, "1")
	}
}

func TestRestoreOfADamagedRecord(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "1"})
	before := rowtest.Snapshot(t, d.Dir)
	file := func(pairs ...value.Value) value.List { return value.List{value.NewDict(pairs...)} }
	part := func(pairs ...value.Value) value.List {
		return file(append(pairs, "path", "a", "was", "file", "content", []byte("x"), "was_hash", tool.HashBytes([]byte("2")), "is", "file", "is_hash", tool.HashBytes([]byte("1")))...)
	}
	for _, tt := range []struct {
		kind  value.Kind
		files value.Value
	}{
		{value.Invalid, value.List{"a"}},
		{value.Security, file()},
		{value.Security, file("path", "../a", "was", "", "is", "")},
		{value.Security, file("path", "/etc/passwd", "was", "", "is", "file")},
		{value.Security, file("path", "a/../a", "was", "", "is", "file")},
		{value.Security, file("path", ".", "was", "", "is", "dir")},
		{value.Security, file("path", "a\x00", "was", "", "is", "dir")},
		{value.Invalid, file("path", "a", "was", "link", "is", "")},
		{value.Invalid, file("path", "a", "was", "file", "is", "")},
		{value.Invalid, file("path", "a", "was", "file", "content", "text", "is", "")},
		{value.Invalid, file("path", "a", "was", "file", "content", []byte{}, "mode", int64(0o4755), "is", "")},
		{value.Invalid, file("path", "a", "was", "", "is", "other")},
		{value.Invalid, append(file("path", "a", "was", "", "is", ""), file("path", "a", "was", "", "is", "")...)},
		{value.Failed, part("head", int64(2))},
		{value.Failed, part("head", int64(-1))},
		{value.Failed, part("head", int64(1), "tail", int64(1))},
		{value.Failed, part("head", int64(1<<62), "tail", int64(1<<62))},
		{value.Failed, part("head", int64(1))},
		{value.Conflict, file("path", "a", "was", "", "is", "file", "is_hash", "")},
		{value.Conflict, file("path", "a", "was", "", "is", "file", "is_hash", tool.HashBytes([]byte("2")))},
		{value.Conflict, file("path", "no/where", "was", "file", "content", []byte("x"), "is", "")},
	} {
		d.Fails(tt.kind, "", "fs.restore", "files", tt.files)
		if tt.kind != value.Conflict && tt.kind != value.Failed { // these are found by the content
			d.Fails(tt.kind, "", "fs.reconcile", "files", tt.files)
		}
	}
	if diff := cmp.Diff(before, rowtest.Snapshot(t, d.Dir)); diff != "" {
		t.Errorf("something was written (-want +got):\n%s", diff)
	}
}

func TestTempFilesOfKilledHostsAreSwept(t *testing.T) {
	t.Parallel()
	old, fresh, similar := tempName(swap.NewMark(time.Now().Add(-2*time.Hour)), "dir/a", "n"), tempName(swap.NewMark(time.Now()), "dir/a", "n"), ".cassidy-tmp-notes"
	d := newProject(t, map[string]string{"dir/a": "1", "dir/" + old: "x", "dir/" + fresh: "x", "dir/" + similar: "x", "gone/" + old: "x"})
	if got := namesOf(d.Must("fs.list", "path", "dir")); got != "a" {
		t.Errorf("fs.list = %q, want no temporary file in it", got)
	}
	d.Must("fs.write", "path", "dir/a", "content", "2")
	d.Must("fs.remove", "path", "gone", "recursive", true)
	d.after(map[string]string{"dir/a": "2", "dir/" + old: "", "dir/" + fresh: "x", "dir/" + similar: "x", "gone": ""})
}

// randomChanges does random things to files; many of them fail.
func randomChanges(rt *rapid.T, d *project, label string) {
	names := []string{"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "f", "f/a"}
	path := rapid.SampledFrom(names)
	content := rapid.SampledFrom([]value.Value{"", "x", "yy\n", []byte{0, 0xff}, "long " + strings.Repeat("z", 3000)})
	for i := range rapid.IntRange(1, 12).Draw(rt, label) {
		at := fmt.Sprintf("%s %d", label, i)
		switch rapid.IntRange(0, 8).Draw(rt, at) {
		case 0, 1:
			_, _ = d.Call("fs.write", "path", path.Draw(rt, at), "content", content.Draw(rt, at))
		case 2:
			_, _ = d.Call("fs.append", "path", path.Draw(rt, at), "content", content.Draw(rt, at))
		case 3:
			_, _ = d.Call("fs.remove", "path", path.Draw(rt, at), "recursive", rapid.Bool().Draw(rt, at))
		case 4:
			_, _ = d.Call("fs.move", "from", path.Draw(rt, at), "to", path.Draw(rt, at), "overwrite", rapid.Bool().Draw(rt, at))
		case 5:
			_, _ = d.Call("fs.mkdir", "path", path.Draw(rt, at))
		case 7:
			_, _ = d.Call("fs.exists", "path", path.Draw(rt, at))
		case 8:
			_, _ = d.Call("fs.read_bytes", "path", path.Draw(rt, at))
		case 6:
			_, _ = d.Call("fs.edit", "path", path.Draw(rt, at), "old", "x", "new", "replaced", "replace_all", true)
		}
	}
}

// seenByScript is the tree as a script sees it: kinds and contents.
func seenByScript(t rowtest.Tester, d *project, folder string, all map[string]string) map[string]string {
	for _, item := range d.Must("fs.list", "path", folder).(value.List) {
		p := item.(*value.Dict).Text("path")
		if item.(*value.Dict).Text("kind") == "dir" {
			all[p] = "/"
			seenByScript(t, d, p, all)
			continue
		}
		all[p] = string(d.Must("fs.read_bytes", "path", p).([]byte))
	}
	return all
}

// fewChecks has rapid make a few checks, always the same ones, among which each test that calls it
// finds all that it must see. A soak, or a flag of rapid, makes others.
func fewChecks(t *testing.T) {
	t.Helper()
	checks, seed := flag.Lookup("rapid.checks"), flag.Lookup("rapid.seed")
	if testutil.Soak() || checks.Value.String() != checks.DefValue || seed.Value.String() != seed.DefValue {
		return
	}
	number := "25"
	if testing.Short() {
		number = "125" // rapid makes a fifth of them then
	}
	for f, few := range map[*flag.Flag]string{checks: number, seed: "6"} {
		rowtest.NoError(t, f.Value.Set(few))
		t.Cleanup(func() { rowtest.NoError(t, f.Value.Set(f.DefValue)) })
	}
}

// Whatever a call does: the disk does not change before the commit, the commit
// makes of it what the call saw, and the undo makes it what it was.
func TestCommitAndRestoreAreInverse(t *testing.T) {
	fewChecks(t)
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		rowtest.NoError(rt, os.Mkdir(dir, 0o755))
		w, err := Open(&Options{Root: dir})
		rowtest.NoError(rt, err)
		defer w.Close()
		d := projectOf(rt, w, dir)
		randomChanges(rt, d, "first call")
		d.commit()
		for p := range rowtest.Snapshot(rt, dir) {
			if rapid.IntRange(0, 3).Draw(rt, "mode") == 0 && p != "." {
				rowtest.NoError(rt, os.Chmod(filepath.Join(dir, p), 0o700))
			}
		}
		before := rowtest.Snapshot(rt, dir)

		randomChanges(rt, d, "second call")
		if diff := cmp.Diff(before, rowtest.Snapshot(rt, dir)); diff != "" {
			rt.Fatalf("the disk before the commit (-want +got):\n%s", diff)
		}
		want := seenByScript(rt, d, ".", map[string]string{})
		undo := d.commit()
		after := rowtest.Snapshot(rt, dir)
		if diff := cmp.Diff(want, seenByScript(rt, d, ".", map[string]string{})); diff != "" {
			rt.Fatalf("after the commit (-what the call saw +got):\n%s", diff)
		}
		if undo == nil {
			if diff := cmp.Diff(before, after); diff != "" {
				rt.Fatalf("a commit without undo did this (-want +got):\n%s", diff)
			}
			return
		}
		redo, err := d.restore(undo)
		if err != nil {
			rt.Fatalf("restore: %v", err)
		}
		if diff := cmp.Diff(before, rowtest.Snapshot(rt, dir)); diff != "" {
			rt.Fatalf("after the undo (-want +got):\n%s", diff)
		}
		if _, err := d.restore(redo); err != nil {
			rt.Fatalf("restore of the restore: %v", err)
		}
		if diff := cmp.Diff(after, rowtest.Snapshot(rt, dir)); diff != "" {
			rt.Fatalf("after the undo of the undo (-want +got):\n%s", diff)
		}
	})
}
