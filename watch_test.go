package cassidy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/trust"
)

// versionText is a tool whose first and last lines have the same number: half a file has one.
func versionText(n int) string {
	return fmt.Sprintf(`FIRST = %d
%s
def version() -> list:
    """Return the numbers of this version."""
    return [FIRST, last()]

def last():
    return %d

tool(version)
`, n, strings.Repeat("# padding\n", n%50), n)
}

// reports are the errors that a host that watches has reported.
type reports struct {
	sync.Mutex
	all  []*cassidy.Error
	each chan struct{} // gets a value after each report
}

func newReports() *reports { return &reports{each: make(chan struct{}, 1)} }

func (r *reports) add(wrong []*cassidy.Error) {
	r.Lock()
	r.all = append(r.all, wrong...)
	r.Unlock()
	select {
	case r.each <- struct{}{}:
	default:
	}
}

// count returns how many errors contain a text.
func (r *reports) count(text string) int {
	r.Lock()
	defer r.Unlock()
	return len(slices.DeleteFunc(slices.Clone(r.all), func(e *cassidy.Error) bool { return !strings.Contains(e.Error(), text) }))
}

// until waits until a condition holds after a report.
func (r *reports) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.After(2 * time.Minute); !holds(); {
		select {
		case <-r.each:
		case <-late:
			t.Fatalf("not in time: %s", what)
		}
	}
}

// TestEditsUnderLoad edits a tool 1,000 times while it is called: with half a file between two
// versions, with files that do not parse, and with files that replace it. No call fails, each
// result is of one version, and the last version is served at the end.
func TestEditsUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, ".cassidy", "tools", "version.star")
	putFile(t, file, versionText(0))
	seen := newReports()
	r := newRuntime(t, &cassidy.RuntimeOptions{Sandbox: cassidy.Inline}) // each version would start a process
	h := openIn(t, r, cassidy.Dir(dir), &cassidy.Options{Dir: dir, TrustSource: true, NoBuiltins: true, Watch: seen.add})
	edits := testutil.Times(60, 1000)
	call := func() int64 {
		v, err := callOf(t, h, "version")
		list, _ := v.(cassidy.List)
		if err != nil || len(list) != 2 || list[0] != list[1] {
			t.Errorf("version() = %v, %v, want one version", v, err)
			return -1
		}
		return list[0].(int64)
	}
	call() // a file that is half when it is first read has no good version
	ended := make(chan struct{})
	var load sync.WaitGroup
	for range 3 {
		load.Go(func() {
			for call() >= 0 {
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	read := func() int64 {
		if err := h.Refresh(context.Background()); err != nil {
			t.Error(err)
		}
		return call()
	}
	for n := 1; n <= edits; n++ {
		if err := edit(file, n, read); err != nil {
			t.Fatal(err)
		}
		if got := read(); got != int64(n) {
			t.Fatalf("after edit %d, version %d is served", n, got)
		}
	}
	close(ended)
	load.Wait()
	seen.until(t, "the last version is served", func() bool { return call() == int64(edits) })
}

// edit writes version n of a tool, in one of the ways of editors. It calls read for each state
// between.
func edit(file string, n int, read func() int64) error {
	text := versionText(n)
	switch n % 4 {
	case 1: // in two steps
		half := len(text) * (n % 7) / 7
		if err := os.WriteFile(file, []byte(text[:half]), 0o600); err != nil {
			return err
		}
		read()
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text[half:])
		return errors.Join(err, f.Close())
	case 2: // after an error in the syntax
		if err := os.WriteFile(file, []byte(strings.Replace(text, "def last():", "def last(:", 1)), 0o600); err != nil {
			return err
		}
		read()
	case 3: // in another file, which replaces this one
		return errors.Join(os.WriteFile(file+"~", []byte(text), 0o600), os.Rename(file+"~", file))
	}
	return os.WriteFile(file, []byte(text), 0o600)
}

// TestWatch checks that a host that watches serves what its files are, keeps the last good version
// of those that are broken, and reports each error once.
func TestWatch(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	tools := filepath.Join(dir, ".cassidy", "tools")
	putFile(t, filepath.Join(tools, "never_called.star"), starTool("never_called", "return 1", ""))
	putFile(t, filepath.Join(tools, "wrong.star"), "def")
	seen := newReports()
	r := newRuntime(t, nil)
	cache := t.TempDir()
	open := func(watch func([]*cassidy.Error)) *cassidy.Host {
		return openIn(t, r, cassidy.Dir(dir), &cassidy.Options{Dir: dir, Home: home, Cache: cache, TrustSource: true, NoBuiltins: true, Watch: watch})
	}
	if first := open(nil); len(first.Tools()) != 1 { // it writes the index
		t.Fatalf("the tools are %v", first.Tools())
	}
	h := open(seen.add)
	if n := len(h.Broken()); n != 1 {
		t.Fatalf("%d broken files", n)
	}
	is := func(name string, want cassidy.Value) func() bool {
		return func() bool {
			res, err := h.Call(context.Background(), cassidy.Call{Tool: name, Caller: cassidy.ByPerson})
			return err == nil && res.Value == want
		}
	}
	putFile(t, filepath.Join(tools, "never_called.star"), "def never_called(")
	seen.until(t, "the syntax error", func() bool { return seen.count("never_called.star") == 1 })
	if !is("never_called", int64(1))() {
		t.Error("the last good version of a tool that was never called is not kept")
	}
	putFile(t, filepath.Join(home, "tools", "mine.star"), starTool("mine", "return 2", ""))
	seen.until(t, "a new tool of the user", is("mine", int64(2)))
	if seen.count("never_called.star") != 1 || seen.count("wrong.star") != 0 {
		t.Errorf("the reports are %v, want each error once, and not those of the beginning", seen.all)
	}
	putFile(t, filepath.Join(tools, "never_called.star"), "x = 1\n")
	seen.until(t, "another error", func() bool { return seen.count("never_called.star") == 2 })
	putFile(t, filepath.Join(tools, "never_called.star"), starTool("never_called", "return 3", ""))
	seen.until(t, "the repaired version", is("never_called", int64(3)))
	putFile(t, filepath.Join(dir, ".cassidy", "agents", "a.md"), "---\ndescription: [\n---\n")
	seen.until(t, "the error of an agent file", func() bool { return seen.count("agents/a.md") == 1 })
	putFile(t, filepath.Join(dir, ".cassidy", "config.yaml"), "deny: 1\n")
	seen.until(t, "the error of the config", func() bool { return seen.count("config.yaml") == 1 })
	if !is("never_called", int64(3))() {
		t.Error("the tools are gone while the config is invalid")
	}
	putFile(t, filepath.Join(dir, ".cassidy", "config.yaml"), "{}\n")
	if err := os.RemoveAll(tools); err != nil {
		t.Fatal(err)
	}
	seen.until(t, "a removed folder", func() bool { return len(h.Tools()) == 1 })
	putFile(t, filepath.Join(tools, "again.star"), starTool("again", "return 4", ""))
	seen.until(t, "a folder that was made again", is("again", int64(4)))
}

// TestWatchTrust checks that an edited tool is not served before it is reviewed, and then is, and
// that others stay.
func TestWatchTrust(t *testing.T) {
	t.Parallel()
	dir, state := t.TempDir(), t.TempDir()
	tools := filepath.Join(dir, ".cassidy", "tools")
	putFile(t, filepath.Join(tools, "edited.star"), starTool("edited", "return 1", ""))
	putFile(t, filepath.Join(tools, "same.star"), starTool("same", "return 1", ""))
	seen := newReports()
	h := openIn(t, newRuntime(t, nil), cassidy.Dir(dir), &cassidy.Options{Dir: dir, State: state, NoBuiltins: true, Watch: seen.add})
	stateOf := func(name string) func() bool {
		return func() bool {
			i, err := h.Tool(name)
			return err == nil && i.State == cassidy.Ready
		}
	}
	trustAll(t, h, dir, state)
	seen.until(t, "the review is noticed", stateOf("edited"))
	putFile(t, filepath.Join(tools, "edited.star"), starTool("edited", "return fs.read(\"x\")", "\"fs.read\""))
	seen.until(t, "the edit is reported", func() bool { return seen.count("the tool 'edited' is untrusted") == 1 })
	if _, err := callOf(t, h, "edited"); !errors.Is(err, cassidy.ErrDenied) {
		t.Errorf("a call of an edited tool: %v, want that it is denied", err)
	}
	if !stateOf("same")() {
		t.Error("a tool that was not edited is no longer trusted")
	}
	trustAll(t, h, dir, state)
	seen.until(t, "the second review is noticed", stateOf("edited"))
}

// trustAll reviews all files of a project.
func trustAll(t *testing.T, h *cassidy.Host, dir, state string) {
	t.Helper()
	store := trust.New(state)
	review, err := project.Review(context.Background(), dir, &project.Options{Scope: trust.Scope{Trust: store}, Describe: h.Describe})
	if err == nil {
		err = store.Record(dir, review.Files, false)
	}
	if err != nil {
		t.Fatal(err)
	}
}
