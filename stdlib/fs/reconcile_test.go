package fs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// prepare returns what a commit of the desk's stage would leave to undo it.
func (d *desk) prepare() *tool.Effect {
	d.t.Helper()
	out, err := d.run(context.Background(), "fs.prepare")
	if err != nil {
		d.t.Fatalf("fs.prepare: %v", err)
	}
	return out.Undo
}

// reconciled checks what fs.reconcile gives.
func (d *desk) reconciled(undo *tool.Effect, want *value.Dict) {
	d.t.Helper()
	out, err := d.withRecord("fs.reconcile", undo)
	if err != nil {
		d.t.Fatalf("fs.reconcile: %v", err)
	}
	if !value.Equal(out.Value, want) || out.Undo != nil {
		d.t.Errorf("fs.reconcile = %s, want %s and no undo", value.FormatJSON(out.Value, ""), value.FormatJSON(want, ""))
	}
}

// dies carries out the first k operations of a commit, with a temporary file of
// the next where that writes one, and returns how many there are.
func (d *desk) dies(changes []tool.Change, k int) int {
	d.t.Helper()
	l := d.w.look(context.Background(), tool.Grant{})
	steps, err := l.compare(changes)
	rowtest.NoError(d.t, err)
	ops := fsOrder(steps, false)
	for _, op := range ops[:min(k, len(ops))] {
		rowtest.NoError(d.t, l.do(op))
	}
	if k < len(ops) && ops[k].after.Exists && !ops[k].after.Dir {
		temp := path.Join(path.Dir(ops[k].path), fsTempName(ops[k].path, ops[k].after.Hash))
		rowtest.NoError(d.t, os.WriteFile(filepath.Join(d.dir, temp), []byte("hal"), 0o600))
	}
	return len(ops)
}

// stageAgain stages changes in a new stage, as a call that is run again does.
func (d *desk) stageAgain(changes []tool.Change) {
	d.stage = &tool.Stage{}
	for _, c := range changes {
		d.stage.Saw(c.Path, c.Before)
		d.stage.Change(c.Path, c.After)
	}
}

// sameTree checks what is on disk.
func (d *desk) sameTree(want map[string]string, when string) {
	d.t.Helper()
	if diff := cmp.Diff(want, rowtest.Snapshot(d.t, d.dir)); diff != "" {
		d.t.Fatalf("the disk %s (-want +got):\n%s", when, diff)
	}
}

// withoutTemp leaves temporary files out, which are nobody's.
func withoutTemp(all map[string]string) map[string]string {
	maps.DeleteFunc(all, func(p, _ string) bool { return strings.HasPrefix(path.Base(p), fsTempPrefix) })
	return all
}

// fsRandomCommit makes a tree in a new folder, and stages changes of it.
func fsRandomCommit(rt *rapid.T, root string) *desk {
	dir, err := os.MkdirTemp(root, "")
	rowtest.NoError(rt, err)
	w, err := Open(&Options{Root: dir})
	rowtest.NoError(rt, err)
	rt.Cleanup(func() { w.Close() })
	d := (&desk{t: rt, w: w, dir: dir, stage: &tool.Stage{}}).grant("fs.read", "fs.write")
	fsRandomOps(rt, d, "the tree")
	d.commit()
	for p := range rowtest.Snapshot(rt, dir) {
		if p != "." && rapid.IntRange(0, 3).Draw(rt, "mode") == 0 {
			rowtest.NoError(rt, os.Chmod(filepath.Join(dir, p), 0o700))
		}
	}
	d.stage = &tool.Stage{}
	fsRandomOps(rt, d, "the call")
	return d
}

// Wherever a commit dies: reconciling it leaves all or nothing of it, and then
// it can be carried out again, and taken back.
func TestReconcileAfterEachOperation(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		d := fsRandomCommit(rt, root)
		changes := d.stage.Changes()
		before := rowtest.Snapshot(rt, d.dir)
		saw := seenByScript(rt, d, ".", map[string]string{})
		undo := d.prepare()
		if undo == nil {
			d.commit()
			d.sameTree(before, "after a commit of nothing")
			return
		}
		var after map[string]string
		for k, n := 0, 1; k <= n; k++ {
			n = d.dies(changes, k)
			d.stage = &tool.Stage{}
			if k == n {
				d.reconciled(undo, value.NewDict("done", true))
			} else {
				out, err := d.withRecord("fs.reconcile", undo)
				rowtest.NoError(rt, err)
				restored, _ := out.Value.(*value.Dict).Get("restored")
				list, _ := restored.(value.List)
				if out.Value.(*value.Dict).Bool("done") || (len(list) > 0) != (k > 0) {
					rt.Errorf("fs.reconcile after %d of %d operations = %s", k, n, value.FormatJSON(out.Value, ""))
				}
				d.sameTree(before, fmt.Sprintf("after %d of %d operations and fs.reconcile", k, n))
				d.reconciled(undo, value.NewDict("done", false))
				d.stageAgain(changes)
				undo = d.commit()
			}
			if diff := cmp.Diff(saw, seenByScript(rt, d, ".", map[string]string{})); diff != "" {
				rt.Fatalf("after the commit (-what the call saw +got):\n%s", diff)
			}
			if after == nil {
				after = rowtest.Snapshot(rt, d.dir)
			}
			d.sameTree(after, "after the commit")
			redo, err := d.restore(undo)
			rowtest.NoError(rt, err)
			d.sameTree(before, "after the undo")
			d.reconciled(redo, value.NewDict("done", true))
			d.reconciled(undo, value.NewDict("done", false))
		}
	})
}

// What is not the commit's is not touched, nor anything else then.
func TestReconcileWithAChangeOfSomebodyElse(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		d := fsRandomCommit(rt, root)
		changes, undo := d.stage.Changes(), d.prepare()
		if undo == nil {
			return
		}
		d.dies(changes, rapid.IntRange(0, 2*len(changes)).Draw(rt, "operations"))
		c := rapid.SampledFrom(changes).Draw(rt, "path")
		if fsSame(c.Before, c.After) {
			return // no part of the commit
		}
		if err := os.WriteFile(filepath.Join(d.dir, c.Path), []byte("theirs"), 0o644); err != nil {
			return // a folder is there, or none to hold it
		}
		n++
		changed := rowtest.Snapshot(rt, d.dir)
		_, err := d.withRecord("fs.reconcile", undo)
		rowtest.Wrong(rt, err, value.Conflict, c.Path+" is neither", "fs.reconcile")
		d.sameTree(changed, "after the conflict")
	})
	if n == 0 {
		t.Error("there was no conflict: this tests nothing")
	}
}

func TestReconcileConflicts(t *testing.T) {
	type change func(t *testing.T, dir string)
	put := func(name string) change {
		return func(t *testing.T, dir string) { rowtest.PutFile(t, dir, name, "theirs") }
	}
	gone := func(name string) change {
		return func(t *testing.T, dir string) { rowtest.NoError(t, os.RemoveAll(filepath.Join(dir, name))) }
	}
	const all = 100
	for _, tt := range []struct {
		name     string
		k        int // how many operations were done
		meantime change
		says     string // "" is no conflict
		want     *value.Dict
	}{
		{"changed before the commit", 0, put("a"), "a is neither", nil},
		{"changed after the commit", all, put("a"), "a is neither", nil},
		{"gone", all, gone("a"), "a is neither", nil},
		{"a folder now", all, func(t *testing.T, dir string) { gone("a")(t, dir); rowtest.PutFile(t, dir, "a/", "") }, "a is neither", nil},
		{"longer than any file of a commit", all, func(t *testing.T, dir string) { rowtest.NoError(t, os.Truncate(filepath.Join(dir, "a"), 8<<20+1)) }, "a is neither", nil},
		{"there again", all, put("old/x"), "old/x is neither", nil},
		{"a stranger in a folder of a commit that is done", all, put("new/late"), "", value.NewDict("done", true)},
		{"a stranger in a folder that has to go", 6, put("new/late"), "new/late has changed", nil},
		{"a stranger in a folder that stays", 6, put("late"), "",
			value.NewDict("done", false, "restored", value.List{"kind", "kind/y", "new", "new/sub", "turn"})},
		{"the folder is back, by hand", 3, func(t *testing.T, dir string) { rowtest.PutFile(t, dir, "kind/y", "y") }, "",
			value.NewDict("done", false, "restored", value.List{"turn"})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, map[string]string{"a": "1", "old/x": "x", "kind/y": "y", "turn": "t"})
			d.must("fs.write", "path", "a", "content", "2")
			d.must("fs.move", "from", "old", "to", "new/sub")
			d.must("fs.remove", "path", "kind", "recursive", true)
			d.must("fs.write", "path", "kind", "content", "file")
			d.must("fs.remove", "path", "turn")
			d.must("fs.mkdir", "path", "turn")
			undo := d.prepare()
			d.dies(d.stage.Changes(), tt.k)
			tt.meantime(t, d.dir)
			if tt.says == "" {
				d.reconciled(undo, tt.want)
				return
			}
			changed := withoutTemp(rowtest.Snapshot(t, d.dir))
			_, err := d.withRecord("fs.reconcile", undo)
			rowtest.Wrong(t, err, value.Conflict, tt.says, "fs.reconcile")
			if hint := value.ErrorOf(err, value.Internal).Hint; hint != fsSettleHint {
				t.Errorf("hint %q, want %q", hint, fsSettleHint)
			}
			if diff := cmp.Diff(changed, withoutTemp(rowtest.Snapshot(t, d.dir))); diff != "" {
				t.Errorf("the disk after the conflict (-want +got):\n%s", diff)
			}
		})
	}
}

// A grant that allows a write allows it to be reconciled, and no more.
func TestReconcileIsGated(t *testing.T) {
	d := newDesk(t, map[string]string{"keep": ""}).grant("fs.write:out/*/*.md")
	d.must("fs.write", "path", "out/deep/a.md", "content", "1")
	undo := d.prepare()
	d.reconciled(undo, value.NewDict("done", false))
	d.commit()
	d.reconciled(undo, value.NewDict("done", true))
	d.grant("fs.write:other", "fs.read")
	_, err := d.withRecord("fs.reconcile", undo)
	rowtest.Wrong(t, err, value.Denied, "fs.write:out/deep/a.md", "fs.reconcile of what is not granted")
}

// Of the temporary files in a folder only those of the commit that died are
// known to be nobody's, and those that are old.
func TestReconcileSweepsItsOwn(t *testing.T) {
	d := newDesk(t, map[string]string{"a": "1", "b": "2"})
	d.must("fs.write", "path", "a", "content", "new")
	d.must("fs.write", "path", "b", "content", "new")
	undo, changes := d.prepare(), d.stage.Changes()
	own := []string{fsTempName("a", tool.HashBytes([]byte("new"))), fsTempName("a", tool.HashBytes([]byte("1")))}
	other := []string{fsTempName("a", tool.HashBytes([]byte("2"))), fsTempName("c", tool.HashBytes([]byte("new")))}
	for _, k := range []int{0, 1, 2} {
		for _, name := range append(own, other...) {
			rowtest.PutFile(t, d.dir, name, "half")
		}
		d.dies(changes, k)
		_, err := d.withRecord("fs.reconcile", undo)
		rowtest.NoError(t, err)
		for _, name := range own {
			if _, err := os.Lstat(filepath.Join(d.dir, name)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("after %d operations: %s, a temporary file of the commit, is there: %v", k, name, err)
			}
		}
		for _, name := range other {
			if got := rowtest.GetFile(t, d.dir, name); got != "half" {
				t.Errorf("after %d operations: %s = %q, want it as it was", k, name, got)
			}
		}
	}
}
