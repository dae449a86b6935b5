//go:build unix

package fs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestReconcileTouchesNoLinks(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	rowtest.PutFile(t, outside, "a", "2")
	for _, tt := range []struct {
		name string
		put  func(t *testing.T, dir string)
	}{
		{"in the place of a file", func(t *testing.T, dir string) {
			rowtest.NoError(t, os.Remove(filepath.Join(dir, "sub/a")))
			link(t, outside+"/a", dir, "sub/a")
		}},
		{"on the way", func(t *testing.T, dir string) {
			rowtest.NoError(t, os.RemoveAll(filepath.Join(dir, "sub")))
			link(t, outside, dir, "sub")
		}},
		{"a second name", func(t *testing.T, dir string) {
			rowtest.NoError(t, os.Link(filepath.Join(dir, "sub/a"), filepath.Join(outside, "second")))
		}},
	} {
		for _, k := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s after %d operations", tt.name, k), func(t *testing.T) {
				d := newProject(t, map[string]string{"sub/a": "1", "b": "1"})
				d.Must("fs.write", "path", "sub/a", "content", "2")
				d.Must("fs.write", "path", "b", "content", "2")
				undo := d.prepare()
				d.dies(d.Stage.Changes(), k)
				tt.put(t, d.Dir)
				changed := rowtest.Snapshot(t, d.Dir)
				out, err := d.withRecord("fs.reconcile", undo)
				rowtest.NoError(t, err)
				d.finish(undo)
				is := rowtest.Snapshot(t, d.Dir)
				if is["sub/a"] != changed["sub/a"] || is["sub"] != changed["sub"] {
					t.Errorf("sub/a is %q in %q, want %q in %q", is["sub/a"], is["sub"], changed["sub/a"], changed["sub"])
				}
				if got, want := rowtest.GetFile(t, d.Dir, "b"), map[bool]string{false: "1", true: "2"}[out.Value.(*value.Dict).Bool("done")]; got != want && !out.Value.(*value.Dict).Has("unsettled") {
					t.Errorf("b = %q, want %q after %s", got, want, value.FormatJSON(out.Value, ""))
				}
				if got := rowtest.GetFile(t, outside, "a"); got != "2" {
					t.Errorf("outside a = %q, want it untouched", got)
				}
				_ = os.Remove(filepath.Join(outside, "second"))
			})
		}
	}
}

// turnLoopEnv makes the test below the process that is killed: its project, and
// the file for its record.
const turnLoopEnv = "CASSIDY_TEST_TURN_LOOP"

// A tree of two shapes, and each commit makes one of them the other. A host
// that is killed at any instant of it has its undo on record, as a run would,
// and the next makes one shape of what it left.
func TestReconcileAfterAKill(t *testing.T) {
	if at := os.Getenv(turnLoopEnv); at != "" {
		dir, record, _ := strings.Cut(at, "\n")
		turnUntilKilled(t, dir, record)
	}
	d := newProject(t, map[string]string{"left/f": contentOf('A'), "left/deep/g": contentOf('A'), "kind/x": "x"})
	record := filepath.Join(t.TempDir(), "undo")
	random := rand.New(rand.NewPCG(3, 4))
	states := map[string]int{}
	for range testutil.Times(8, 40) {
		killed := exec.Command(os.Args[0], "-test.run=^TestReconcileAfterAKill$")
		killed.Env = append(os.Environ(), turnLoopEnv+"="+d.Dir+"\n"+record)
		out, err := killed.StdoutPipe()
		rowtest.NoError(t, err)
		rowtest.NoError(t, killed.Start())
		_, err = out.Read(make([]byte, 1)) // it has begun
		rowtest.NoError(t, err)
		timer := time.NewTimer(time.Duration(random.IntN(15_000)) * time.Microsecond)
		<-timer.C // the random instant is what is tested
		rowtest.NoError(t, killed.Process.Kill())
		_ = killed.Wait() // it was killed

		b, err := os.ReadFile(record)
		rowtest.NoError(t, err)
		v, err := value.Decode(b)
		rowtest.NoError(t, err)
		undo := &tool.Effect{Args: v.(*value.Dict)}
		if !undo.Args.Bool("settled") {
			result, err := d.withRecord("fs.reconcile", undo)
			rowtest.NoError(t, err)
			done := result.Value.(*value.Dict)
			if done.Has("unsettled") {
				t.Errorf("fs.reconcile = %.2000s, want it settled", value.FormatJSON(done, ""))
			}
			states[fmt.Sprint(done.Bool("done"), done.Has("restored"))]++
		}
		d.finish(undo)
		isOneShape(t, d.Dir)
	}
	t.Logf("done, half done: %v", states)
}

// isOneShape checks that a tree has one of the two shapes in full.
func isOneShape(t *testing.T, dir string) {
	t.Helper()
	all := rowtest.Snapshot(t, dir)
	side, kind := "left", "kind/x"
	if _, ok := all["right"]; ok {
		side, kind = "right", "kind"
	}
	names := map[string]bool{".": true, "kind": true, kind: true, side: true, side + "/f": true, side + "/deep": true, side + "/deep/g": true}
	for p := range all {
		if !names[p] {
			t.Errorf("%s is there beside %s", p, side)
		}
		delete(names, p)
	}
	if len(names) > 0 || strings.HasPrefix(all[kind], "d") || all[side+"/f"] != all[side+"/deep/g"] {
		t.Fatalf("%s: without %v, with %s %q, f %.12q and g %.12q", side, names, kind, all[kind], all[side+"/f"], all[side+"/deep/g"])
	}
}

// turnUntilKilled turns the tree from one shape to the other, for ever.
func turnUntilKilled(t *testing.T, dir, record string) {
	d := openProject(t, &Options{Root: dir})
	for i := 0; ; i++ {
		from, to := "left", "right"
		if !d.Must("fs.exists", "path", from).(bool) {
			from, to = to, from
		}
		content := contentOf('A' + byte(rand.IntN(26)))
		d.Must("fs.move", "from", from, "to", to)
		d.Must("fs.write", "path", to+"/f", "content", content)
		d.Must("fs.write", "path", to+"/deep/g", "content", content)
		d.Must("fs.remove", "path", "kind", "recursive", true)
		if to == "right" {
			d.Must("fs.write", "path", "kind", "content", "file")
		} else {
			d.Must("fs.write", "path", "kind/x", "content", "x")
		}
		undo := d.prepare()
		note := func() {
			b, err := value.Append(nil, undo.Args)
			rowtest.NoError(t, err)
			rowtest.NoError(t, os.WriteFile(record+".new", b, 0o600))
			rowtest.NoError(t, os.Rename(record+".new", record))
		}
		note()
		if i == 0 {
			fmt.Println("begun")
		}
		_, err := d.Run(context.Background(), "fs.commit", argMark, d.mark)
		rowtest.NoError(t, err)
		undo.Args.Put("settled", true)
		note()
		d.finish(undo)
	}
}
