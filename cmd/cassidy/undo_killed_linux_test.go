package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// undoFlow changes one file ten times, and makes, changes, moves and removes others.
const undoFlow = `
def main():
    for i in range(10):
        tools.call("grow", n = i)

workflow(main, needs = ["tool:grow", "fs.read", "fs.write"])
`

const undoTool = `
def grow(n: int) -> int:
    """Change several files."""
    fs.write("same", fs.read("same") + "line %d\n" % n)
    fs.write("new/%d" % n, "new %d\n" % n)
    if n == 3:
        fs.remove("gone")
    if n == 5:
        fs.move("moved", "new/moved")
    return n

tool(grow, needs = ["fs.read", "fs.write"])
`

// TestUndoKilled kills undos at random moments, and continues them: the files are what they
// were before the run. CASSIDY_SOAK=1 does so 200 times.
func TestUndoKilled(t *testing.T) {
	t.Parallel()
	times, random := timesOf(t, 2, 200)
	dir := t.TempDir()
	p := newPairProcess(t, dir, undoFlow, map[string]string{"grow": undoTool})
	for name, text := range map[string]string{"same": "first\n", "gone": "to remove\n", "moved": "to move\n"} {
		p.Write(name, text)
	}
	before := contentsOf(t, dir)
	for i := range times {
		id := fmt.Sprint("u", i)
		if out, err := p.once([]string{"run", "all", "--yes", "--run-id", id}, 0); err != nil {
			t.Fatalf("the run: %v: %s", err, out)
		}
		for range 1 + random.IntN(4) {
			_, _ = p.once([]string{"runs", "undo", id, "--yes"}, 15*time.Millisecond+time.Duration(random.Int64N(int64(70*time.Millisecond))))
		}
		// The undo may have ended before it was killed: then a further one finds it undone.
		if out, err := p.once([]string{"runs", "undo", id, "--yes"}, 0); err != nil && !strings.Contains(out, "undone") {
			t.Fatalf("time %d: the undo fails: %v: %s", i, err, out)
		}
		if diff := cmp.Diff(before, contentsOf(t, dir)); diff != "" {
			t.Fatalf("time %d: files (-before the run +undone):\n%s", i, diff)
		}
	}
	t.Logf("%d undos, %d kills", times, p.kills.Load())
}

// TestUndosTogether starts four undos of one run at once, each in a process: one of them does
// it, and the others report that, or that it is done.
func TestUndosTogether(t *testing.T) {
	t.Parallel()
	_, _ = timesOf(t, 1, 1)
	dir := t.TempDir()
	p := newPairProcess(t, dir, undoFlow, map[string]string{"grow": undoTool})
	for name, text := range map[string]string{"same": "first\n", "gone": "to remove\n", "moved": "to move\n"} {
		p.Write(name, text)
	}
	before := contentsOf(t, dir)
	if out, err := p.once([]string{"run", "all", "--yes", "--run-id", "u"}, 0); err != nil {
		t.Fatalf("the run: %v: %s", err, out)
	}
	var outs [4]string
	var running sync.WaitGroup
	for i := range outs {
		running.Go(func() { outs[i], _ = p.once([]string{"runs", "undo", "u", "--yes"}, 0) })
	}
	running.Wait()
	if diff := cmp.Diff(before, contentsOf(t, dir)); diff != "" {
		t.Errorf("files (-before the run +undone):\n%s", diff)
	}
	did := 0
	for _, out := range outs {
		done, again, refused := 0, 0, strings.Contains(out, "being undone")
		var u struct {
			Done []struct {
				Value any
			}
		}
		if !refused && json.Unmarshal([]byte(out), &u) != nil {
			t.Errorf("an undo prints %q", out)
		}
		for _, step := range u.Done {
			if d, ok := step.Value.(map[string]any); ok && d["done"] == false {
				again++
			} else {
				done++
			}
		}
		switch {
		case done > 0 && again == 0 && !refused:
			did++
		case done > 0 || !refused && again == 0:
			t.Errorf("%d steps undone, %d were already: %s", done, again, out)
		}
	}
	list, err := p.once([]string{"runs", "list", "--kind", "undo", "--state", "failed"}, 0)
	if did != 1 || err != nil || strings.Contains(list, `"id"`) {
		t.Errorf("%d of the undos have undone the run, want 1; failed: %s, %v", did, list, err)
	}
}

// contentsOf returns the files of a project with their contents, but for its tools.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".cassidy":
			return filepath.SkipDir
		case e.IsDir():
			all[strings.TrimPrefix(path, dir)+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
