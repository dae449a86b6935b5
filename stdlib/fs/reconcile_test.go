package fs

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/swap"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// prepare returns what a commit of the stage would leave to undo it.
func (d *project) prepare() *tool.Effect {
	d.T.Helper()
	out, err := d.Run(context.Background(), "fs.prepare")
	if err != nil {
		d.T.Fatalf("fs.prepare: %v", err)
	}
	if out.Undo != nil {
		d.mark = out.Undo.Args.Text(argMark)
	}
	return out.Undo
}

// tempName returns the name of a temporary file of a commit.
func tempName(mark, p, kind string) string {
	return swap.Prefix + mark + tool.HashBytes([]byte(p))[:12] + kind
}

// reconciled checks what fs.reconcile gives.
func (d *project) reconciled(undo *tool.Effect, want *value.Dict) {
	d.T.Helper()
	out, err := d.withRecord("fs.reconcile", undo)
	if err != nil {
		d.T.Fatalf("fs.reconcile: %v", err)
	}
	if !value.Equal(out.Value, want) || out.Undo != nil {
		d.T.Errorf("fs.reconcile = %s, want %s and no undo", value.FormatJSON(out.Value, ""), value.FormatJSON(want, ""))
	}
	if want.Bool("done") {
		d.finish(undo)
	}
}

// finish removes the temporary files of a commit, as the host does once its outcome is recorded.
func (d *project) finish(undo *tool.Effect) {
	d.T.Helper()
	if _, err := d.withRecord("fs.finish", undo); err != nil {
		d.T.Fatalf("fs.finish: %v", err)
	}
}

// dies carries out the first k operations of a commit, with the new contents of the next ones
// and a half written one, and returns how many there are.
func (d *project) dies(changes []tool.Change, k int) int {
	d.T.Helper()
	l := diskOf(context.Background(), d.files, d.mark)
	steps, err := l.compare(changes)
	rowtest.NoError(d.T, err)
	l = l.of(changes)
	ops := inOrder(steps, false)
	for i, op := range ops[:min(k, len(ops))] {
		rowtest.NoError(d.T, l.writeSpares(ops[i:]))
		rowtest.NoError(d.T, l.change(op, l.exchange))
	}
	if k < len(ops) && ops[k].IsFile() {
		rowtest.NoError(d.T, l.writeSpares(ops[k:]))
		folder := path.Dir(ops[k].Path)
		for l.folders[folder] {
			folder = path.Dir(folder)
		}
		temp := path.Join(folder, tempName(d.mark, ops[k].Path, "w"))
		rowtest.NoError(d.T, os.WriteFile(filepath.Join(d.Dir, temp), []byte("hal"), 0o600))
	}
	return len(ops)
}

// stageAgain stages changes in a new stage, as a call that is run again does.
func (d *project) stageAgain(changes []tool.Change) {
	d.Stage = &tool.Stage{}
	for _, c := range changes {
		d.Stage.Saw(c.Path, c.Before)
		d.Stage.Change(c.Path, c.After)
	}
}

// sameTree checks what is on disk.
func (d *project) sameTree(want map[string]string, when string) {
	d.T.Helper()
	if diff := cmp.Diff(want, rowtest.Snapshot(d.T, d.Dir)); diff != "" {
		d.T.Fatalf("the disk %s (-want +got):\n%s", when, diff)
	}
}

// randomCommit makes a tree in a new folder, and stages changes of it.
func randomCommit(rt *rapid.T, root string) *project {
	dir, err := os.MkdirTemp(root, "")
	rowtest.NoError(rt, err)
	w, err := Open(&Options{Root: dir})
	rowtest.NoError(rt, err)
	rt.Cleanup(func() { w.Close() })
	d := projectOf(rt, w, dir)
	randomChanges(rt, d, "the tree")
	d.commit()
	for p := range rowtest.Snapshot(rt, dir) {
		if p != "." && rapid.IntRange(0, 3).Draw(rt, "mode") == 0 {
			rowtest.NoError(rt, os.Chmod(filepath.Join(dir, p), 0o700))
		}
	}
	d.Stage = &tool.Stage{}
	randomChanges(rt, d, "the call")
	return d
}

// Wherever a commit dies: reconciling it leaves all or nothing of it, and then
// it can be carried out again, and undone.
func TestReconcileAfterEachOperation(t *testing.T) {
	fewChecks(t)
	root := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		d := randomCommit(rt, root)
		changes := d.Stage.Changes()
		before := rowtest.Snapshot(rt, d.Dir)
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
			d.Stage = &tool.Stage{}
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
				undo.Args.Put(argMark, d.mark)
			}
			if diff := cmp.Diff(saw, seenByScript(rt, d, ".", map[string]string{})); diff != "" {
				rt.Fatalf("after the commit (-what the call saw +got):\n%s", diff)
			}
			if after == nil {
				after = rowtest.Snapshot(rt, d.Dir)
			}
			d.sameTree(after, "after the commit")
			_, err := d.restore(undo)
			rowtest.NoError(rt, err)
			d.sameTree(before, "after the undo")
			d.reconciled(undo, value.NewDict("done", false))
		}
	})
}

// Whatever somebody else writes into a file of a commit that died is not lost without a
// question, and whatever is answered, nothing is left half done.
func TestReconcileWithAChangeOfSomebodyElse(t *testing.T) {
	fewChecks(t)
	root := t.TempDir()
	asked, settled := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		d := randomCommit(rt, root)
		changes, undo := d.Stage.Changes(), d.prepare()
		if undo == nil {
			return
		}
		d.dies(changes, rapid.IntRange(0, 2*len(changes)).Draw(rt, "operations"))
		theirs := map[string]bool{}
		for _, c := range changes {
			if sameState(c.Before, c.After) || rapid.IntRange(0, 2).Draw(rt, "touches "+c.Path) == 0 {
				continue
			}
			if err := os.WriteFile(filepath.Join(d.Dir, c.Path), []byte("theirs"), 0o644); err == nil {
				theirs[c.Path] = true // else a folder is there, or none to hold it
			}
		}
		stay := func(when string) {
			for p := range theirs {
				if got, err := os.ReadFile(filepath.Join(d.Dir, p)); err != nil || string(got) != "theirs" {
					rt.Errorf("%s %s is %q, %v, want what somebody else wrote", when, p, got, err)
				}
			}
		}
		out, err := d.withRecord("fs.reconcile", undo)
		rowtest.NoError(rt, err)
		stay("after fs.reconcile")
		result := out.Value.(*value.Dict)
		if !result.Has("unsettled") {
			settled++
			d.finish(undo)
			d.noTemporaryFiles()
			return
		}
		asked++
		for _, v := range result.Elements("unsettled") {
			if p := v.(*value.Dict).Text("path"); !theirs[p] {
				rt.Errorf("%s is unsettled, which nobody has touched", p)
			}
		}
		decision := rapid.SampledFrom([]string{"mine", "theirs"}).Draw(rt, "decision")
		out, err = d.withRecord("fs.reconcile", undo, argDecision, decision)
		rowtest.NoError(rt, err)
		if done := out.Value.(*value.Dict).Bool("done"); done != (decision == "mine") {
			rt.Errorf("done is %v after the decision %s", done, decision)
		}
		if decision == "theirs" {
			stay("after the decision theirs")
		}
		d.finish(undo)
		d.noTemporaryFiles()
	})
	if asked == 0 || settled == 0 {
		t.Errorf("asked %d times, settled %d times: this tests nothing", asked, settled)
	}
}

// noTemporaryFiles checks that none is left.
func (d *project) noTemporaryFiles() {
	d.T.Helper()
	for p := range rowtest.Snapshot(d.T, d.Dir) {
		if strings.HasPrefix(path.Base(p), swap.Prefix) {
			d.T.Errorf("%s is left", p)
		}
	}
}

// TestReconcileOfChangedFiles dies after k operations of one commit, changes something, and
// checks what is made of it: the file that was changed is never touched.
func TestReconcileOfChangedFiles(t *testing.T) {
	t.Parallel()
	type change func(t *testing.T, dir string)
	put := func(name string) change {
		return func(t *testing.T, dir string) { rowtest.PutFile(t, dir, name, "theirs") }
	}
	gone := func(name string) change {
		return func(t *testing.T, dir string) { rowtest.NoError(t, os.RemoveAll(filepath.Join(dir, name))) }
	}
	const all = 100
	done := value.NewDict("done", true)
	for _, tt := range []struct {
		name     string
		k        int // how many operations were done
		meantime change
		asks     string // the files that a person is asked about
		want     *value.Dict
	}{
		{"changed before the commit", 0, put("a"), "", value.NewDict("done", false)},
		{"changed after the commit", all, put("a"), "", done},
		{"gone", all, gone("a"), "", done},
		{"a folder now", all, func(t *testing.T, dir string) { gone("a")(t, dir); rowtest.PutFile(t, dir, "a/", "") }, "", done},
		{"longer than any file of a commit", all, func(t *testing.T, dir string) { rowtest.NoError(t, os.Truncate(filepath.Join(dir, "a"), 8<<20+1)) }, "", done},
		{"there again", all, put("old/x"), "", done},
		{"a file that was written", 7, put("a"), "", done},
		{"a file that was written, and one that was not", 7, func(t *testing.T, dir string) { put("a")(t, dir); put("old/x")(t, dir) }, "a old/x", nil},
		{"another file in a folder of a commit that is done", all, put("new/late"), "", done},
		{"another file in a folder that has to go", 6, put("new/late"), "", nil},
		{"another file in a folder that stays", 6, put("late"), "",
			value.NewDict("done", false, "restored", value.List{"kind", "kind/y", "new", "new/sub", "turn"})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newProject(t, map[string]string{"a": "1", "old/x": "x", "kind/y": "y", "turn": "t"})
			d.Must("fs.write", "path", "a", "content", "2")
			d.Must("fs.move", "from", "old", "to", "new/sub")
			d.Must("fs.remove", "path", "kind", "recursive", true)
			d.Must("fs.write", "path", "kind", "content", "file")
			d.Must("fs.remove", "path", "turn")
			d.Must("fs.mkdir", "path", "turn")
			undo := d.prepare()
			d.dies(d.Stage.Changes(), tt.k)
			tt.meantime(t, d.Dir)
			out, err := d.withRecord("fs.reconcile", undo)
			rowtest.NoError(t, err)
			result := out.Value.(*value.Dict)
			var asked []string
			list, _ := result.Get("unsettled")
			for _, v := range result.Elements("unsettled") {
				asked = append(asked, v.(*value.Dict).Text("path"))
			}
			if got := strings.Join(asked, " "); got != tt.asks {
				t.Errorf("it asks about %q, want %q (%s)", got, tt.asks, value.FormatJSON(list, ""))
			}
			if tt.want != nil && !value.Equal(result, tt.want) {
				t.Errorf("fs.reconcile = %s, want %s", value.FormatJSON(result, ""), value.FormatJSON(tt.want, ""))
			}
		})
	}
}

// TestReconcileWithAFileForAFolder has somebody put a file in place of a folder of a commit that
// died, at each of its operations: it stays, unless a person decides otherwise.
func TestReconcileWithAFileForAFolder(t *testing.T) {
	t.Parallel()
	stage := map[string]func(d *project){
		"new": func(d *project) {
			d.Must("fs.mkdir", "path", "new/sub/deep")
			d.Must("fs.write", "path", "same", "content", "2")
		},
		"turn": func(d *project) {
			d.Must("fs.remove", "path", "turn")
			d.Must("fs.mkdir", "path", "turn/sub")
		},
		"old": func(d *project) {
			d.Must("fs.write", "path", "same", "content", "2")
			d.Must("fs.remove", "path", "old", "recursive", true)
		},
	}
	for name, change := range stage {
		for k, n := 0, 1; k <= n; k++ {
			for _, decision := range []string{"mine", "theirs"} {
				d := newProject(t, map[string]string{"same": "1", "turn": "t", "old/sub/deep/": ""})
				change(d)
				undo := d.prepare()
				n = d.dies(d.Stage.Changes(), k)
				rowtest.NoError(t, os.RemoveAll(filepath.Join(d.Dir, name)))
				rowtest.PutFile(t, d.Dir, name, "theirs")
				out, err := d.withRecord("fs.reconcile", undo)
				rowtest.NoError(t, err)
				if got := rowtest.GetFile(t, d.Dir, name); got != "theirs" {
					t.Errorf("%s after %d operations and fs.reconcile: %q, want what somebody else wrote", name, k, got)
				}
				if out.Value.(*value.Dict).Has("unsettled") {
					_, err = d.withRecord("fs.reconcile", undo, argDecision, decision)
				} else {
					_, err = d.restore(undo)
				}
				if err != nil && value.KindOf(err) != value.Conflict {
					t.Errorf("%s after %d operations, then %s: %v", name, k, decision, err)
				}
			}
		}
	}
}

// The content that the commit would have written is no proof that it did: somebody else may
// have written the same.
func TestReconcileNeedsProof(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"n": "5"})
	d.Must("fs.write", "path", "n", "content", "6")
	undo := d.prepare()
	d.dies(d.Stage.Changes(), 0)
	rowtest.PutFile(t, d.Dir, "n", "6") // of another process, which counts too
	d.reconciled(undo, value.NewDict("done", false))
	if got := rowtest.GetFile(t, d.Dir, "n"); got != "6" {
		t.Errorf("n = %q, want what the other process wrote", got)
	}

	// And what it has written, it has written, whatever is there now.
	d.Stage = &tool.Stage{}
	d.Must("fs.write", "path", "n", "content", "7")
	undo = d.prepare()
	d.dies(d.Stage.Changes(), 1)
	rowtest.PutFile(t, d.Dir, "n", "8")
	d.reconciled(undo, value.NewDict("done", true))
	if got := rowtest.GetFile(t, d.Dir, "n"); got != "8" {
		t.Errorf("n = %q, want what the other process wrote", got)
	}

	// It has not begun where it has left nothing.
	d.Stage = &tool.Stage{}
	d.Must("fs.write", "path", "n", "content", "9")
	undo = d.prepare()
	rowtest.PutFile(t, d.Dir, "n", "9")
	d.reconciled(undo, value.NewDict("done", false))

	// What was swept meanwhile, and a new file that was not marked yet, cannot be proved.
	unsettled := func(p string) *value.Dict {
		return value.NewDict("done", false, "unsettled", value.List{value.NewDict("path", p, "now", []byte("9"), "then", []byte("9"), "sum", tool.HashBytes([]byte("9")))})
	}
	undo.Args.Put(argMark, swap.NewMark(time.Now().Add(-2*staleAfter)))
	d.reconciled(undo, unsettled("n"))
	d.Stage = &tool.Stage{}
	d.Must("fs.write", "path", "new", "content", "9")
	undo = d.prepare()
	rowtest.PutFile(t, d.Dir, "new", "9")
	d.reconciled(undo, unsettled("new"))

	// What is known from elsewhere is a proof.
	for _, done := range []bool{true, false} {
		out, err := d.withRecord("fs.reconcile", undo, argProved, value.NewDict("new", done))
		rowtest.NoError(t, err)
		if found := out.Value.(*value.Dict); found.Bool("done") != done || found.Has("unsettled") {
			t.Errorf("with the proof %v: %v", done, found)
		}
	}
	if got := rowtest.GetFile(t, d.Dir, "new"); got != "9" {
		t.Errorf("new = %q, want what is there", got)
	}
}

// A grant that allows a write allows it to be reconciled, and no more.
func TestReconcileIsGated(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"keep": ""}, "fs.write:out/*/*.md")
	d.Must("fs.write", "path", "out/deep/a.md", "content", "1")
	undo := d.prepare()
	d.reconciled(undo, value.NewDict("done", false))
	_, err := d.Run(context.Background(), "fs.commit", argMark, d.mark)
	rowtest.NoError(t, err)
	d.reconciled(undo, value.NewDict("done", true))
	d.Grant("fs.write:other", "fs.read")
	_, err = d.withRecord("fs.reconcile", undo)
	rowtest.Wrong(t, err, value.Denied, "fs.write:out/deep/a.md", "fs.reconcile of what is not granted")
}

// Of the temporary files in a folder only those of the commit that died are removed: those of
// other commits show what became of them.
func TestReconcileSweepsItsOwn(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"a": "1", "b": "2"})
	d.Must("fs.write", "path", "a", "content", "new")
	d.Must("fs.write", "path", "b", "content", "new")
	undo, changes := d.prepare(), d.Stage.Changes()
	other := []string{tempName(swap.NewMark(time.Now()), "a", "n"), tempName(swap.NewMark(time.Now()), "b", "o")}
	for _, k := range []int{0, 1, 2} {
		for _, name := range other {
			rowtest.PutFile(t, d.Dir, name, "half")
		}
		d.dies(changes, k)
		_, err := d.withRecord("fs.reconcile", undo)
		rowtest.NoError(t, err)
		d.finish(undo)
		for p := range rowtest.Snapshot(t, d.Dir) {
			if strings.HasPrefix(p, swap.Prefix+d.mark) {
				t.Errorf("after %d operations: %s, a temporary file of the commit, is there", k, p)
			}
		}
		for _, name := range other {
			if got := rowtest.GetFile(t, d.Dir, name); got != "half" {
				t.Errorf("after %d operations: %s = %q, want it as it was", k, name, got)
			}
		}
	}
}
