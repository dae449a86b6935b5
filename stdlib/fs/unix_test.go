//go:build unix

package fs

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/swap"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func link(t rowtest.Tester, target, dir, name string) {
	t.Helper()
	rowtest.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
}

// linkedProject has links of every sort in its project, and a secret outside.
func linkedProject(t *testing.T) (d *project, outside string) {
	outside = t.TempDir()
	rowtest.PutFile(t, outside, "secret", "SECRET")
	rowtest.PutFile(t, outside, "dir/secret", "SECRET")
	d = newProject(t, map[string]string{"in/file": "inside", "sub/x": "x", ".git/config": "[core]"})
	rel, err := filepath.Rel(d.Dir, outside)
	rowtest.NoError(t, err)
	link(t, outside+"/secret", d.Dir, "abs")
	link(t, rel+"/secret", d.Dir, "rel")
	link(t, "abs", d.Dir, "chain")
	link(t, outside+"/dir", d.Dir, "dir")
	link(t, "../"+rel+"/dir", d.Dir, "sub/dir")
	link(t, "sub/../..", d.Dir, "up")
	link(t, "/proc/self/cwd", d.Dir, "proc")
	link(t, d.Dir+"/in/file", d.Dir, "abs-inside")
	link(t, outside+"/new", d.Dir, "dangling-out")
	link(t, "loop2", d.Dir, "loop1")
	link(t, "loop1", d.Dir, "loop2")
	link(t, "nothing", d.Dir, "dangling")
	link(t, "nothing/../in/file", d.Dir, "dotted")
	link(t, "in/file", d.Dir, "good")
	link(t, "../in", d.Dir, "sub/good-dir")
	link(t, "sub/good-dir/../in/file", d.Dir, "winding")
	link(t, ".git", d.Dir, "git-link")
	return d, outside
}

func TestF03LinksThatLeadOut(t *testing.T) {
	t.Parallel()
	d, outside := linkedProject(t)
	before, outsideBefore := rowtest.Snapshot(t, d.Dir), rowtest.Snapshot(t, outside)
	for _, p := range []string{"abs", "rel", "chain", "dir/secret", "sub/dir/secret", "up/x", "up/" + filepath.Base(outside) + "/secret", "proc/x", "abs-inside", "dangling-out"} {
		for _, name := range []string{"fs.read", "fs.read_bytes", "fs.stat", "fs.exists"} {
			d.Fails(value.Security, "a link that leads out of the project", name, "path", p)
		}
	}
	for _, p := range []string{"dir", "sub/dir", "up", "proc"} {
		d.Fails(value.Security, "leads out", "fs.list", "path", p)
		d.Fails(value.Security, "leads out", "fs.glob", "pattern", "**", "path", p)
		d.Fails(value.Security, "leads out", "fs.glob", "pattern", p+"/**")
		d.Fails(value.Security, "leads out", "fs.search", "pattern", "S", "path", p)
		d.Fails(value.Security, "leads out", "fs.write", "path", p+"/new", "content", "evil")
		d.Fails(value.Security, "leads out", "fs.mkdir", "path", p+"/new")
		d.Fails(value.Security, "leads out", "fs.remove", "path", p+"/secret")
		d.Fails(value.Security, "leads out", "fs.move", "from", "in/file", "to", p+"/new")
		d.Fails(value.Security, "leads out", "fs.move", "from", p+"/secret", "to", "mine")
	}
	// A link in the last place is neither followed nor replaced.
	for _, p := range []string{"abs", "rel", "chain", "dir", "dangling-out", "good", "dangling", "loop1"} {
		d.Fails(value.Denied, "expected a regular file but got a link", "fs.write", "path", p, "content", "evil")
		d.Fails(value.Denied, "expected a regular file but got a link", "fs.append", "path", p, "content", "evil")
		d.Fails(value.Denied, "expected a regular file but got a link", "fs.edit", "path", p, "old", "S", "new", "evil")
		d.Fails(value.Denied, "expected a regular file but got a link", "fs.remove", "path", p, "recursive", true)
		d.Fails(value.Denied, "expected a regular file but got a link", "fs.move", "from", p, "to", "mine")
	}
	d.Fails(value.Denied, "expected a regular file but got a link", "fs.remove", "path", "sub", "recursive", true)
	d.Fails(value.Denied, "expected a regular file but got a link", "fs.move", "from", "sub", "to", "elsewhere")
	d.Fails(value.Failed, "too many symbolic links", "fs.read", "path", "loop1")
	d.Fails(value.Failed, "File not found: dangling", "fs.read", "path", "dangling")
	d.Fails(value.Failed, "a link whose target does not exist", "fs.read", "path", "dotted")
	if got := textsOf(d.Must("fs.search", "pattern", "SECRET", "hidden", true)); got != "" {
		t.Errorf("fs.search found %q outside", got)
	}
	if got, want := textsOf(d.Must("fs.glob", "pattern", "**")), "good in/file sub/x winding"; got != want {
		t.Errorf("fs.glob(**) = %q, want %q", got, want)
	}
	d.commit()
	if diff := cmp.Diff(before, rowtest.Snapshot(t, d.Dir)); diff != "" {
		t.Errorf("the project (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(outsideBefore, rowtest.Snapshot(t, outside)); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
}

func TestLinksInside(t *testing.T) {
	t.Parallel()
	d, _ := linkedProject(t)
	for _, p := range []string{"good", "sub/good-dir/file", "winding"} {
		if got := d.Must("fs.read", "path", p); got != "inside" {
			t.Errorf("fs.read(%q) = %q, want %q", p, got, "inside")
		}
	}
	stat := d.Must("fs.stat", "path", "good").(*value.Dict)
	if stat.Text("kind") != "file" || stat.Text("path") != "good" || stat.Int("size") != 6 {
		t.Errorf("fs.stat(good) = %s, want the file that it leads to, by its own path", value.FormatJSON(stat, ""))
	}
	kinds := map[string]string{}
	for _, item := range d.Must("fs.list").(value.List) {
		kinds[item.(*value.Dict).Text("name")] = item.(*value.Dict).Text("kind")
	}
	for name, want := range map[string]string{"good": "file", "abs": "other", "dir": "other", "dangling": "other", "git-link": "dir", "loop1": "other"} {
		if kinds[name] != want {
			t.Errorf("fs.list: kind of %s = %q, want %q", name, kinds[name], want)
		}
	}
	d.Must("fs.write", "path", "sub/good-dir/new", "content", "through a link to a folder")
	if got := d.Must("fs.read", "path", "in/new"); got != "through a link to a folder" {
		t.Errorf("fs.read(in/new) = %q, want what was written by its other name", got)
	}
	d.after(map[string]string{"in/new": "through a link to a folder"})

	// A link is no way around a grant, nor around what is protected.
	d.Fails(value.Denied, "protected", "fs.write", "path", "git-link/hooks/x", "content", "evil")
	d.Fails(value.Denied, "protected", "fs.remove", "path", "git-link/config")
	d.Grant("fs.read:sub/**", "fs.read:good", "fs.write:sub/**", "fs.read:.")
	d.Fails(value.Denied, "fs.read:in/file", "fs.read", "path", "sub/good-dir/file")
	d.Fails(value.Denied, "fs.read:in/file", "fs.stat", "path", "good")
	d.Fails(value.Denied, "fs.read:in", "fs.list", "path", "sub/good-dir")
	d.Fails(value.Denied, "fs.read:in", "fs.glob", "pattern", "sub/good-dir/*")
	d.Fails(value.Denied, "fs.write:in/x", "fs.write", "path", "sub/good-dir/x", "content", "evil")
	d.Fails(value.Denied, "fs.write:in/file", "fs.move", "from", "sub/good-dir/file", "to", "sub/mine")
	if got := textsOf(d.Must("fs.glob", "pattern", "*")); got != "" {
		t.Errorf("fs.glob(*) = %q, want no link whose file may not be read", got)
	}
}

// TestHardLinksAndRules checks that a file is not read by another name than the one that a
// rule keeps from the call.
func TestHardLinksAndRules(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"secret/key": "SECRET", "plain": "SECRET"})
	d.Grant("fs.read")
	rowtest.NoError(t, os.Link(filepath.Join(d.Dir, "secret/key"), filepath.Join(d.Dir, "other")))
	read := func(name, path, rule string) error {
		f := d.Func(name)
		args := value.NewDict("path", path)
		if name == "fs.search" {
			args = value.NewDict("pattern", "SECRET", "path", path)
		}
		bound, err := f.Bind(nil, args)
		rowtest.NoError(t, err)
		out, err := f.Do(t.Context(), tool.Effect{Func: name, Args: bound}, tool.Grant{Check: d.Check, Narrowed: func(string) string { return rule }})
		if err == nil && rule != "" && path != "plain" && strings.Contains(value.FormatJSON(out.Value, ""), "SECRET") {
			t.Errorf("%s of %s gives %s", name, path, value.FormatJSON(out.Value, ""))
		}
		return err
	}
	for _, name := range []string{"fs.read", "fs.read_bytes"} {
		if err := read(name, "other", "deny fs.read:secret/**"); value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), "hard link") {
			t.Errorf("%s beside a rule: %v, want a denial", name, err)
		}
		if err := read(name, "other", ""); err != nil {
			t.Errorf("%s without a rule: %v", name, err)
		}
		if err := read(name, "plain", "deny fs.read:secret/**"); err != nil {
			t.Errorf("%s of a file with one name: %v", name, err)
		}
	}
	_ = read("fs.search", "other", "deny fs.read:secret/**")
	if err := read("fs.search", "plain", "deny fs.read:secret/**"); err != nil {
		t.Errorf("a search beside a file with several names: %v", err)
	}
}

func TestF05HardLinks(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	rowtest.PutFile(t, outside, "victim", "outside")
	d := newProject(t, map[string]string{"plain": "1", "dir/x": "x"})
	rowtest.NoError(t, os.Link(filepath.Join(outside, "victim"), filepath.Join(d.Dir, "hard")))
	rowtest.NoError(t, os.Link(filepath.Join(outside, "victim"), filepath.Join(d.Dir, "dir/hard")))
	d.Fails(value.Denied, "hard link", "fs.write", "path", "hard", "content", "evil")
	d.Fails(value.Denied, "hard link", "fs.append", "path", "hard", "content", "evil")
	d.Fails(value.Denied, "hard link", "fs.edit", "path", "hard", "old", "outside", "new", "evil")
	d.Fails(value.Denied, "hard link", "fs.remove", "path", "hard")
	d.Fails(value.Denied, "hard link", "fs.remove", "path", "dir", "recursive", true)
	d.Fails(value.Denied, "hard link", "fs.move", "from", "hard", "to", "mine")
	d.Fails(value.Denied, "hard link", "fs.move", "from", "plain", "to", "hard", "overwrite", true)
	// One that is put there between the write and the commit is seen as well.
	d.Must("fs.write", "path", "plain", "content", "new")
	rowtest.NoError(t, os.Link(filepath.Join(d.Dir, "plain"), filepath.Join(outside, "second")))
	d.Fails(value.Denied, "hard link", "fs.commit")
	for name, want := range map[string]string{"victim": "outside", "second": "1"} {
		if got := rowtest.GetFile(t, outside, name); got != want {
			t.Errorf("outside %s = %q, want %q", name, got, want)
		}
	}
}

func TestF06WhatIsNoFile(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"dir/": "", "tree/x": "x"})
	rowtest.NoError(t, syscall.Mkfifo(filepath.Join(d.Dir, "pipe"), 0o666))
	rowtest.NoError(t, syscall.Mkfifo(filepath.Join(d.Dir, "tree/pipe"), 0o666))
	link(t, "pipe", d.Dir, "to-pipe")
	rowtest.NoError(t, syscall.Mknod(filepath.Join(d.Dir, "socket"), syscall.S_IFSOCK|0o666, 0))
	rowtest.Within(t, "a pipe or a socket", func() {
		for p, what := range map[string]string{"pipe": "a pipe", "to-pipe": "a pipe", "socket": "a socket"} {
			d.Fails(value.Denied, what, "fs.read", "path", p)
			d.Fails(value.Denied, what, "fs.read_bytes", "path", p)
			d.Fails(value.Denied, what, "fs.search", "pattern", "x", "path", p)
			d.Fails(value.Failed, "not a folder", "fs.list", "path", p)
			if got := d.Must("fs.stat", "path", p).(*value.Dict).Text("kind"); got != "other" {
				t.Errorf("fs.stat(%q) kind = %q, want other", p, got)
			}
		}
		for p, what := range map[string]string{"pipe": "a pipe", "to-pipe": "a link", "socket": "a socket"} {
			d.Fails(value.Denied, what, "fs.write", "path", p, "content", "x")
			d.Fails(value.Denied, what, "fs.append", "path", p, "content", "x")
			d.Fails(value.Denied, what, "fs.remove", "path", p)
			d.Fails(value.Denied, what, "fs.move", "from", p, "to", "mine")
			d.Fails(value.Failed, "not a folder", "fs.mkdir", "path", p)
		}
		d.Fails(value.Failed, "is a folder", "fs.read", "path", "dir")
		d.Fails(value.Failed, "is a folder", "fs.write", "path", "dir", "content", "x")
		d.Fails(value.Denied, "a pipe", "fs.remove", "path", "tree", "recursive", true)
		if got := textsOf(d.Must("fs.glob", "pattern", "**")); got != "tree/x" {
			t.Errorf("fs.glob(**) = %q, want files only", got)
		}
		if got := textsOf(d.Must("fs.search", "pattern", "x")); got != "tree/x:1:x" {
			t.Errorf("fs.search = %q, want files only", got)
		}
		// One that takes the place of a file before the commit.
		d.Must("fs.write", "path", "late", "content", "x")
		rowtest.NoError(t, syscall.Mkfifo(filepath.Join(d.Dir, "late"), 0o666))
		d.Fails(value.Conflict, "late has changed", "fs.commit")
	})
	dev := openProject(t, &Options{Root: "/dev"})
	rowtest.Within(t, "a device", func() {
		dev.Fails(value.Denied, "a device", "fs.read", "path", "null")
		dev.Fails(value.Denied, "a device", "fs.read", "path", "zero")
		dev.Fails(value.Denied, "a device", "fs.write", "path", "null", "content", "x")
	})
}

// Between two looks a pipe may take the place of what was looked at. Opening it
// must not wait for its other end.
func TestF06APipeInThePlaceOfAFile(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"file": "x", "dir/x": "x"})
	l := d.files.look(t.Context(), tool.Grant{})
	file, err := l.find("file", followAll)
	rowtest.NoError(t, err)
	dir, err := l.find("dir", followAll)
	rowtest.NoError(t, err)
	for _, name := range []string{"file", "dir"} {
		rowtest.NoError(t, os.RemoveAll(filepath.Join(d.Dir, name)))
		rowtest.NoError(t, syscall.Mkfifo(filepath.Join(d.Dir, name), 0o666))
	}
	rowtest.Within(t, "a pipe in the place of a file", func() {
		_, err := file.read(10, nil)
		rowtest.Wrong(t, err, value.Conflict, "file was changed by another process during the call", "read")
		_, err = l.openFolder(dir)
		rowtest.Wrong(t, err, value.Conflict, "dir was changed by another process during the call", "openFolder")
	})
}

func TestF07ASparseFileOfATerabyte(t *testing.T) {
	t.Parallel()
	d := newProject(t, map[string]string{"small": "needle"})
	f, err := os.Create(filepath.Join(d.Dir, "sparse"))
	rowtest.NoError(t, err)
	rowtest.NoError(t, f.Truncate(1<<40))
	rowtest.NoError(t, f.Close())
	rowtest.Within(t, "a file of a terabyte", func() {
		for name, args := range map[string][]value.Value{
			"fs.read": {"path", "sparse"}, "fs.read_bytes": {"path", "sparse"},
			"fs.append": {"path", "sparse", "content", "x"}, "fs.remove": {"path", "sparse"},
			"fs.move": {"from", "sparse", "to", "b"}, "fs.write": {"path", "sparse", "content", "x"},
		} {
			limit := "32 MB"
			if strings.HasPrefix(name, "fs.read") {
				limit = "8 MB"
			}
			d.Fails(value.Limit, "sparse is larger than the limit of "+limit, name, args...)
		}
		if got := textsOf(d.Must("fs.search", "pattern", "needle")); got != "small:1:needle" {
			t.Errorf("fs.search = %q, want the small file", got)
		}
	})
}

func TestPermissionsAreKept(t *testing.T) {
	d := newProject(t, map[string]string{"run.sh": "#!/bin/sh\n", "private": "1", "closed/x": "x"})
	for name, mode := range map[string]fs.FileMode{"run.sh": 0o755, "private": 0o600, "closed": 0o700} {
		rowtest.NoError(t, os.Chmod(filepath.Join(d.Dir, name), mode))
	}
	d.Must("fs.append", "path", "run.sh", "content", "echo\n")
	d.Must("fs.write", "path", "private", "content", "2")
	d.Must("fs.write", "path", "new", "content", "")
	d.Must("fs.move", "from", "closed", "to", "moved")
	rowtest.NoError(t, os.Chmod(filepath.Join(d.Dir, "private"), 0o640)) // by somebody, meanwhile
	undo := d.commit()
	mode := func(name string) fs.FileMode {
		info, err := os.Stat(filepath.Join(d.Dir, name))
		rowtest.NoError(t, err)
		return info.Mode().Perm()
	}
	for name, want := range map[string]fs.FileMode{"run.sh": 0o755, "private": 0o640, "moved": 0o700, "new": 0o644 &^ umask()} {
		if got := mode(name); got != want {
			t.Errorf("permissions of %s = %o, want %o", name, got, want)
		}
	}
	_, err := d.restore(undo)
	rowtest.NoError(t, err)
	for name, want := range map[string]fs.FileMode{"run.sh": 0o755, "private": 0o640, "closed": 0o700} {
		if got := mode(name); got != want {
			t.Errorf("permissions of %s after the undo = %o, want %o", name, got, want)
		}
	}
}

func umask() fs.FileMode {
	old := syscall.Umask(0)
	syscall.Umask(old)
	return fs.FileMode(old)
}

// swapUntil exchanges a folder for a link to another, and back, until it is
// told to stop.
func swapUntil(t *testing.T, stop <-chan struct{}, dir, name, target string) (stopped <-chan int) {
	full := filepath.Join(dir, name)
	away, trap := full+".away", full+".trap"
	done := make(chan int)
	go func() {
		n := 0
		defer func() { done <- n }()
		for {
			select {
			case <-stop:
				return
			default:
			}
			n++
			if os.Symlink(target, trap) != nil || os.Rename(full, away) != nil || os.Rename(trap, full) != nil {
				t.Errorf("round %d: the swap failed", n)
				return
			}
			if os.Remove(full) != nil || os.Rename(away, full) != nil {
				t.Errorf("round %d: the swap back failed", n)
				return
			}
		}
	}()
	return done
}

// editAndCommthe call changes files below d. It makes none: in the instant in which
// there is no d, that would be a new one.
func editAndCommit(d *project, text string) error {
	d.Stage = &tool.Stage{}
	for _, p := range []string{"d/file", "d/deep/file"} {
		old, err := d.Call("fs.read", "path", p)
		if err == nil {
			_, err = d.Call("fs.edit", "path", p, "old", old, "new", "inside "+text)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.Call("fs.commit")
	return err
}

func TestF04SwapsWhileReadingAndWriting(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	rowtest.PutFile(t, outside, "file", "OUTSIDE")
	rowtest.PutFile(t, outside, "deep/file", "OUTSIDE")
	d := newProject(t, map[string]string{"d/file": "inside", "d/deep/file": "inside", "other/file": "OTHER", "other/deep/file": "OTHER"})
	d.Grant("fs.read:d/**", "fs.write:d/**", "fs.read:.")
	outsideBefore := rowtest.Snapshot(t, outside)
	for _, target := range []string{outside, "other"} {
		stop := make(chan struct{})
		swapped := swapUntil(t, stop, d.Dir, "d", target)
		var read, refused, committed int
		// On a slow machine a swap can meet every commit: the
		// rounds continue until each outcome was seen.
		seenAll := func() bool { return refused > 0 && read > 0 && committed > 0 }
		for i := 0; i < testutil.Times(100, 1000) || !seenAll() && i < 50_000; i++ {
			for _, p := range []string{"d/file", "d/deep/file"} {
				v, err := d.Call("fs.read", "path", p)
				text, _ := v.(string)
				switch {
				case err != nil:
					refused++
				case strings.HasPrefix(text, "inside"):
					read++
				default:
					t.Fatalf("fs.read(%q) = %q: what may not be read", p, v)
				}
			}
			if got, err := d.Call("fs.search", "pattern", "OUTSIDE|OTHER"); err == nil && slices.ContainsFunc(got.(value.List), func(v value.Value) bool { return !v.(*value.Dict).Has("skipped") }) {
				t.Fatalf("fs.search found %s", textsOf(got))
			}
			if err := editAndCommit(d, fmt.Sprint(i)); err == nil {
				committed++
			}
		}
		close(stop)
		t.Logf("to %s: %d swaps, %d reads, %d refusals, %d commits", filepath.Base(target), <-swapped, read, refused, committed)
		if !seenAll() {
			t.Errorf("%d reads, %d commits and %d refusals: the race did not take place", read, committed, refused)
		}
	}
	if diff := cmp.Diff(outsideBefore, rowtest.Snapshot(t, outside)); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
	all := rowtest.Snapshot(t, d.Dir)
	for _, p := range []string{"other/file", "other/deep/file"} {
		if !strings.HasSuffix(all[p], " OTHER") {
			t.Errorf("%s = %q, want it untouched", p, all[p])
		}
	}
	for p := range all {
		if strings.Contains(p, swap.Prefix) {
			t.Errorf("%s was left behind", p)
		}
	}
}

// commitLoopEnv makes the test below the process that is killed.
const commitLoopEnv = "CASSIDY_TEST_COMMIT_LOOP"

// contentOf is one of the contents that a file has in the test below: large
// enough that writing it takes a while.
func contentOf(letter byte) string { return strings.Repeat(string(letter), 300_000) }

func TestF09KilledAtAnyInstant(t *testing.T) {
	if dir := os.Getenv(commitLoopEnv); dir != "" {
		commitUntilKilled(t, dir)
	}
	dir := t.TempDir()
	rowtest.PutFile(t, dir, "sub/f", contentOf('A'))
	rowtest.PutFile(t, dir, "sub/g", contentOf('A'))
	random := rand.New(rand.NewPCG(1, 2))
	seen := map[byte]int{}
	for range testutil.Times(8, 50) {
		killed := exec.Command(os.Args[0], "-test.run=^TestF09KilledAtAnyInstant$")
		killed.Env = append(os.Environ(), commitLoopEnv+"="+dir)
		out, err := killed.StdoutPipe()
		rowtest.NoError(t, err)
		rowtest.NoError(t, killed.Start())
		_, err = out.Read(make([]byte, 1)) // it has begun
		rowtest.NoError(t, err)
		timer := time.NewTimer(time.Duration(random.IntN(20_000)) * time.Microsecond)
		<-timer.C // the random instant is what is tested
		rowtest.NoError(t, killed.Process.Kill())
		_ = killed.Wait() // it was killed
		for _, name := range []string{"sub/f", "sub/g"} {
			got := rowtest.GetFile(t, dir, name)
			if got != contentOf(got[0]) {
				t.Fatalf("%s holds %d bytes that begin with %.1q, want one content and no other", name, len(got), got)
			}
			seen[got[0]]++
		}
	}
	if delete(seen, 'A'); len(seen) == 0 {
		t.Error("only saw what was there at first: the commits did not take place")
	}
}

// commitUntilKilled writes one content after the other, for ever.
func commitUntilKilled(t *testing.T, dir string) {
	d := openProject(t, &Options{Root: dir})
	for i := 1; ; i++ {
		content := contentOf('A' + byte(i%26))
		d.Must("fs.write", "path", "sub/f", "content", content)
		d.Must("fs.write", "path", "sub/g", "content", content)
		d.commit()
		if i == 1 {
			fmt.Println("begun")
		}
	}
}
