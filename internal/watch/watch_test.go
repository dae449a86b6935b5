package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// patience is how long a test waits for a change that must come.
const patience = 2 * time.Minute

// A bench is a folder, and what its watcher has reported.
type bench struct {
	t       *testing.T
	dir     string
	changed chan struct{}
}

func newBench(t *testing.T) *bench {
	return &bench{t, t.TempDir(), make(chan struct{}, 1000)}
}

// watch watches paths in the folder.
func (b *bench) watch(paths ...string) {
	for i, p := range paths {
		paths[i] = filepath.Join(b.dir, p)
	}
	b.t.Cleanup(Start(&Options{
		Paths:   paths,
		Changed: func(context.Context) { b.changed <- struct{}{} },
		Failed:  func(err error) { b.t.Errorf("the system reports no changes: %v", err) },
	}))
}

func (b *bench) put(name, text string) {
	b.t.Helper()
	file := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// do fails the test if a change of files does.
func (b *bench) do(errs ...error) {
	b.t.Helper()
	if err := errors.Join(errs...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) at(name string) string { return filepath.Join(b.dir, name) }

// reported waits until a change is reported.
func (b *bench) reported(what string) {
	b.t.Helper()
	select {
	case <-b.changed:
	case <-time.After(patience):
		b.t.Fatalf("no report after: %s", what)
	}
}

// noticed waits until a change is reported, and then until no more are.
func (b *bench) noticed(what string) {
	b.t.Helper()
	b.reported(what)
	for calm := time.NewTimer(3 * quiet); ; {
		select {
		case <-b.changed:
			calm.Reset(3 * quiet)
		case <-calm.C:
			return
		}
	}
}

// TestChanges checks that each kind of change is noticed: none of them is the first after
// another without its own report.
func TestChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("p/tools/a.star", "1")
	b.put("p/config.yaml", "1")
	b.watch("p/tools", "p/skills", "p/config.yaml", "later/on/agents")
	for _, c := range []struct {
		what string
		do   func()
	}{
		{"a file is written", func() { b.put("p/tools/a.star", "2") }},
		{"a single file is written", func() { b.put("p/config.yaml", "2") }},
		{"a file is replaced", func() { b.put("p/x", "3"); b.do(os.Rename(b.at("p/x"), b.at("p/tools/a.star"))) }},
		{"the replaced file is written", func() { b.put("p/tools/a.star", "4") }},
		{"a single file is replaced", func() { b.put("p/x", "3"); b.do(os.Rename(b.at("p/x"), b.at("p/config.yaml"))) }},
		{"the replaced single file is written", func() { b.put("p/config.yaml", "4") }},
		{"a file is created", func() { b.put("p/tools/b.star", "1") }},
		{"a folder is created with files", func() { b.put("p/tools/lib/deep/c.star", "1") }},
		{"a file in the new folder is written", func() { b.put("p/tools/lib/deep/c.star", "2") }},
		{"a missing folder is created", func() { b.put("p/skills/s.md", "1") }},
		{"a file in it is written", func() { b.put("p/skills/s.md", "2") }},
		{"a folder is created whose folders did not exist", func() { b.put("later/on/agents/a.md", "1") }},
		{"a file in that is written", func() { b.put("later/on/agents/a.md", "2") }},
		{"a file is removed", func() { b.do(os.Remove(b.at("p/tools/b.star"))) }},
		{"a folder is removed", func() { b.do(os.RemoveAll(b.at("p/tools"))) }},
		{"the folder is made again", func() { b.put("p/tools/a.star", "5") }},
		{"a file in the same folder is written", func() { b.put("p/tools/a.star", "6") }},
		{"all folders are removed and made again", func() { b.do(os.RemoveAll(b.at("p"))); b.put("p/tools/a.star", "7") }},
		{"a file in all of the new folders is written", func() { b.put("p/tools/a.star", "8") }},
		{"a folder is replaced by another one", func() {
			b.put("q/a.star", "1")
			b.do(os.Rename(b.at("p/tools"), b.at("old")), os.Rename(b.at("q"), b.at("p/tools")))
		}},
		{"a file in the other folder is written", func() { b.put("p/tools/a.star", "9") }},
	} {
		c.do()
		b.noticed(c.what)
	}
	b.put("p/unwatched.txt", "1")
	b.put("later/on/other.txt", "1")
	b.put("old/a.star", "1")
	b.put("p/x", "10") // writing a file is several changes, which may be reported one after the other
	b.do(os.Rename(b.at("p/x"), b.at("p/tools/a.star")))
	b.reported("a file is replaced")
	select {
	case <-b.changed:
		t.Error("more than one report, want that other files are ignored")
	case <-time.After(3 * quiet):
	}
}

// TestLinks checks that the files and folders behind links are watched, and the links.
func TestLinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	b := newBench(t)
	b.put("far/one/a.star", "1")
	b.put("far/two/a.star", "1")
	b.put("far/b.star", "1")
	b.put("p/tools/c.star", "1")
	b.do(os.Symlink(b.at("far/one"), b.at("far/now")), os.Symlink("../far/now", b.at("p/skills")))
	b.do(os.Symlink("../../far/b.star", b.at("p/tools/b.star")), os.Symlink("../tools", b.at("p/tools/loop")))
	b.watch("p/tools", "p/skills")
	b.put("far/b.star", "2")
	b.noticed("the target of a link is written")
	b.put("far/one/a.star", "2")
	b.noticed("a file in a linked folder is written")
	b.do(os.Symlink(b.at("far/two"), b.at("far/next")), os.Rename(b.at("far/next"), b.at("far/now")))
	b.noticed("a link between leads elsewhere")
	b.put("far/two/a.star", "2")
	b.noticed("a file where it leads is written")
}

// TestCollects checks that changes in a row are one, also those of a file that is written in steps.
func TestCollects(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.watch("tools")
	for i := range 200 {
		b.put(fmt.Sprintf("tools/t%d.star", i), strings.Repeat("x", i))
	}
	b.noticed("many files are written")
	if n := len(b.changed); n > 0 {
		t.Errorf("%d more reports", n)
	}
}

// TestReportsWhileFilesChange checks that files that never stop changing are reported nevertheless.
func TestReportsWhileFilesChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.watch("tools")
	ended := time.Now().Add(patience)
	for i := 0; len(b.changed) < 2; i++ {
		b.put("tools/a.star", fmt.Sprint(i))
		if time.Now().After(ended) {
			t.Fatalf("%d reports while a file changes, want 2", len(b.changed))
		}
	}
}

// TestStop checks that nothing is reported after a stop.
func TestStop(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stop := Start(&Options{Paths: []string{b.at("tools")}, Changed: func(context.Context) { b.changed <- struct{}{} }})
	b.put("tools/a.star", "1")
	b.reported("a file is written")
	stop()
	for len(b.changed) > 0 {
		<-b.changed
	}
	b.put("tools/a.star", "2")
	select {
	case <-b.changed:
		t.Error("a report after the stop")
	case <-time.After(2 * quiet):
	}
}

// TestLooks checks that the files are looked at if the system cannot report changes, and that this
// is reported once.
func TestLooks(t *testing.T) {
	t.Parallel()
	full := func() (*fsnotify.Watcher, error) { return nil, errors.New("no space left on device") }
	closes := func() (*fsnotify.Watcher, error) {
		w, err := fsnotify.NewWatcher()
		return w, errors.Join(err, w.Close()) // each Add fails
	}
	for name, open := range map[string]func() (*fsnotify.Watcher, error){"no watcher": full, "no folder": closes} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.put("tools/a.star", "1")
			b.do(os.Chtimes(b.at("tools/a.star"), time.Time{}, time.Now().Add(-time.Hour)))
			ticks, failed := make(chan time.Time), 0
			stop := start(&Options{
				Paths:   []string{b.at("tools"), b.at("skills")},
				Changed: func(context.Context) { b.changed <- struct{}{} },
				Failed: func(err error) {
					if failed++; !strings.Contains(err.Error(), "the files are checked every 2s") {
						t.Errorf("the error is %v", err)
					}
				},
			}, open, ticks)
			defer stop()
			look := func() { ticks <- time.Now(); ticks <- time.Now() } // the first look has ended at the second
			look()
			if len(b.changed) > 0 {
				t.Error("a report without a change")
			}
			for _, change := range []func(){
				func() { b.put("tools/a.star", "2") },
				func() { b.put("tools/a.star", "3") }, // perhaps at the same time
				func() { b.put("skills/s.md", "1") },
				func() { b.do(os.Remove(b.at("skills/s.md"))) },
			} {
				for len(b.changed) > 0 {
					<-b.changed
				}
				change()
				look()
				if len(b.changed) == 0 {
					t.Error("no report after a change")
				}
			}
			if failed != 1 {
				t.Errorf("Failed was called %d times", failed)
			}
		})
	}
}

// TestSurvey checks that the folders and names to follow are found without looking at each file.
func TestSurvey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a/one.star", "a/deep/two.star", "elsewhere/three.star"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.Symlink(filepath.Join(dir, "elsewhere", "three.star"), filepath.Join(dir, "a", "link.star")) // not on all systems
	paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "missing")}
	looked, followed := survey(paths, true), survey(paths, false)
	if !maps.Equal(looked.dirs, followed.dirs) || !maps.Equal(looked.names, followed.names) || looked.count != followed.count {
		t.Errorf("survey finds %v, %v, %d, want %v, %v, %d", followed.dirs, followed.names, followed.count, looked.dirs, looked.names, looked.count)
	}
	if len(looked.dirs) < 3 || len(looked.files) < 2 {
		t.Errorf("survey finds the folders %v and the files %v", looked.dirs, looked.files)
	}
}
