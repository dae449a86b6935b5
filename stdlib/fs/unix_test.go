//go:build unix

package fs

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func link(t rowtest.Tester, target, dir, name string) {
	t.Helper()
	rowtest.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
}

// linkedDesk has links of every sort in its project, and a secret outside.
func linkedDesk(t *testing.T) (d *desk, outside string) {
	outside = t.TempDir()
	rowtest.PutFile(t, outside, "secret", "SECRET")
	rowtest.PutFile(t, outside, "dir/secret", "SECRET")
	d = newDesk(t, map[string]string{"in/file": "inside", "sub/x": "x", ".git/config": "[core]"})
	rel, err := filepath.Rel(d.dir, outside)
	rowtest.NoError(t, err)
	link(t, outside+"/secret", d.dir, "abs")
	link(t, rel+"/secret", d.dir, "rel")
	link(t, "abs", d.dir, "chain")
	link(t, outside+"/dir", d.dir, "dir")
	link(t, "../"+rel+"/dir", d.dir, "sub/dir")
	link(t, "sub/../..", d.dir, "up")
	link(t, "/proc/self/cwd", d.dir, "proc")
	link(t, d.dir+"/in/file", d.dir, "abs-inside")
	link(t, outside+"/new", d.dir, "dangling-out")
	link(t, "loop2", d.dir, "loop1")
	link(t, "loop1", d.dir, "loop2")
	link(t, "nothing", d.dir, "dangling")
	link(t, "nothing/../in/file", d.dir, "dotted")
	link(t, "in/file", d.dir, "good")
	link(t, "../in", d.dir, "sub/good-dir")
	link(t, "sub/good-dir/../in/file", d.dir, "winding")
	link(t, ".git", d.dir, "git-link")
	return d, outside
}

func TestF03LinksThatLeadOut(t *testing.T) {
	d, outside := linkedDesk(t)
	before, outsideBefore := rowtest.Snapshot(t, d.dir), rowtest.Snapshot(t, outside)
	for _, p := range []string{"abs", "rel", "chain", "dir/secret", "sub/dir/secret", "up/x", "up/" + filepath.Base(outside) + "/secret", "proc/x", "abs-inside", "dangling-out"} {
		for _, name := range []string{"fs.read", "fs.read_bytes", "fs.stat", "fs.exists"} {
			d.fails(value.Security, "a link that leads out of the project", name, "path", p)
		}
	}
	for _, p := range []string{"dir", "sub/dir", "up", "proc"} {
		d.fails(value.Security, "leads out", "fs.list", "path", p)
		d.fails(value.Security, "leads out", "fs.glob", "pattern", "**", "path", p)
		d.fails(value.Security, "leads out", "fs.glob", "pattern", p+"/**")
		d.fails(value.Security, "leads out", "fs.search", "pattern", "S", "path", p)
		d.fails(value.Security, "leads out", "fs.write", "path", p+"/new", "content", "evil")
		d.fails(value.Security, "leads out", "fs.mkdir", "path", p+"/new")
		d.fails(value.Security, "leads out", "fs.remove", "path", p+"/secret")
		d.fails(value.Security, "leads out", "fs.move", "from", "in/file", "to", p+"/new")
		d.fails(value.Security, "leads out", "fs.move", "from", p+"/secret", "to", "mine")
	}
	// A link in the last place is neither followed nor replaced.
	for _, p := range []string{"abs", "rel", "chain", "dir", "dangling-out", "good", "dangling", "loop1"} {
		d.fails(value.Denied, "not a regular file but a link", "fs.write", "path", p, "content", "evil")
		d.fails(value.Denied, "not a regular file but a link", "fs.append", "path", p, "content", "evil")
		d.fails(value.Denied, "not a regular file but a link", "fs.edit", "path", p, "old", "S", "new", "evil")
		d.fails(value.Denied, "not a regular file but a link", "fs.remove", "path", p, "recursive", true)
		d.fails(value.Denied, "not a regular file but a link", "fs.move", "from", p, "to", "mine")
	}
	d.fails(value.Denied, "but a link", "fs.remove", "path", "sub", "recursive", true)
	d.fails(value.Denied, "but a link", "fs.move", "from", "sub", "to", "elsewhere")
	d.fails(value.Failed, "too many links", "fs.read", "path", "loop1")
	d.fails(value.Failed, "File not found: dangling", "fs.read", "path", "dangling")
	d.fails(value.Failed, "a link to nothing", "fs.read", "path", "dotted")
	if got := fsTexts(d.must("fs.search", "pattern", "SECRET", "hidden", true)); got != "" {
		t.Errorf("fs.search found %q outside", got)
	}
	if got, want := fsTexts(d.must("fs.glob", "pattern", "**")), "good in/file sub/x winding"; got != want {
		t.Errorf("fs.glob(**) = %q, want %q", got, want)
	}
	d.commit()
	if diff := cmp.Diff(before, rowtest.Snapshot(t, d.dir)); diff != "" {
		t.Errorf("the project (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(outsideBefore, rowtest.Snapshot(t, outside)); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
}

func TestLinksInside(t *testing.T) {
	d, _ := linkedDesk(t)
	for _, p := range []string{"good", "sub/good-dir/file", "winding"} {
		if got := d.must("fs.read", "path", p); got != "inside" {
			t.Errorf("fs.read(%q) = %q, want %q", p, got, "inside")
		}
	}
	stat := d.must("fs.stat", "path", "good").(*value.Dict)
	if stat.Text("kind") != "file" || stat.Text("path") != "good" || stat.Int("size") != 6 {
		t.Errorf("fs.stat(good) = %s, want the file that it leads to, by its own path", value.FormatJSON(stat, ""))
	}
	kinds := map[string]string{}
	for _, item := range d.must("fs.list").(value.List) {
		kinds[item.(*value.Dict).Text("name")] = item.(*value.Dict).Text("kind")
	}
	for name, want := range map[string]string{"good": "file", "abs": "other", "dir": "other", "dangling": "other", "git-link": "dir", "loop1": "other"} {
		if kinds[name] != want {
			t.Errorf("fs.list: kind of %s = %q, want %q", name, kinds[name], want)
		}
	}
	d.must("fs.write", "path", "sub/good-dir/new", "content", "through a link to a folder")
	if got := d.must("fs.read", "path", "in/new"); got != "through a link to a folder" {
		t.Errorf("fs.read(in/new) = %q, want what was written by its other name", got)
	}
	d.after(map[string]string{"in/new": "through a link to a folder"})

	// A link is no way around a grant, nor around what is protected.
	d.fails(value.Denied, "protected", "fs.write", "path", "git-link/hooks/x", "content", "evil")
	d.fails(value.Denied, "protected", "fs.remove", "path", "git-link/config")
	d.grant("fs.read:sub/**", "fs.read:good", "fs.write:sub/**", "fs.read:.")
	d.fails(value.Denied, "fs.read:in/file", "fs.read", "path", "sub/good-dir/file")
	d.fails(value.Denied, "fs.read:in/file", "fs.stat", "path", "good")
	d.fails(value.Denied, "fs.read:in", "fs.list", "path", "sub/good-dir")
	d.fails(value.Denied, "fs.read:in", "fs.glob", "pattern", "sub/good-dir/*")
	d.fails(value.Denied, "fs.write:in/x", "fs.write", "path", "sub/good-dir/x", "content", "evil")
	d.fails(value.Denied, "fs.write:in/file", "fs.move", "from", "sub/good-dir/file", "to", "sub/mine")
	if got := fsTexts(d.must("fs.glob", "pattern", "*")); got != "" {
		t.Errorf("fs.glob(*) = %q, want no link whose file may not be read", got)
	}
}

func TestF05HardLinks(t *testing.T) {
	outside := t.TempDir()
	rowtest.PutFile(t, outside, "victim", "outside")
	d := newDesk(t, map[string]string{"plain": "1", "dir/x": "x"})
	rowtest.NoError(t, os.Link(filepath.Join(outside, "victim"), filepath.Join(d.dir, "hard")))
	rowtest.NoError(t, os.Link(filepath.Join(outside, "victim"), filepath.Join(d.dir, "dir/hard")))
	d.fails(value.Denied, "hard link", "fs.write", "path", "hard", "content", "evil")
	d.fails(value.Denied, "hard link", "fs.append", "path", "hard", "content", "evil")
	d.fails(value.Denied, "hard link", "fs.edit", "path", "hard", "old", "outside", "new", "evil")
	d.fails(value.Denied, "hard link", "fs.remove", "path", "hard")
	d.fails(value.Denied, "hard link", "fs.remove", "path", "dir", "recursive", true)
	d.fails(value.Denied, "hard link", "fs.move", "from", "hard", "to", "mine")
	d.fails(value.Denied, "hard link", "fs.move", "from", "plain", "to", "hard", "overwrite", true)
	// One that is put there between the write and the commit is seen as well.
	d.must("fs.write", "path", "plain", "content", "new")
	rowtest.NoError(t, os.Link(filepath.Join(d.dir, "plain"), filepath.Join(outside, "second")))
	d.fails(value.Denied, "hard link", "fs.commit")
	for name, want := range map[string]string{"victim": "outside", "second": "1"} {
		if got := rowtest.GetFile(t, outside, name); got != want {
			t.Errorf("outside %s = %q, want %q", name, got, want)
		}
	}
}

func TestF06WhatIsNoFile(t *testing.T) {
	d := newDesk(t, map[string]string{"dir/": "", "tree/x": "x"})
	rowtest.NoError(t, syscall.Mkfifo(filepath.Join(d.dir, "pipe"), 0o666))
	rowtest.NoError(t, syscall.Mkfifo(filepath.Join(d.dir, "tree/pipe"), 0o666))
	link(t, "pipe", d.dir, "to-pipe")
	rowtest.NoError(t, syscall.Mknod(filepath.Join(d.dir, "socket"), syscall.S_IFSOCK|0o666, 0))
	rowtest.Within(t, "a pipe or a socket", func() {
		for p, what := range map[string]string{"pipe": "a pipe", "to-pipe": "a pipe", "socket": "a socket"} {
			d.fails(value.Denied, what, "fs.read", "path", p)
			d.fails(value.Denied, what, "fs.read_bytes", "path", p)
			d.fails(value.Denied, what, "fs.search", "pattern", "x", "path", p)
			d.fails(value.Failed, "not a folder", "fs.list", "path", p)
			if got := d.must("fs.stat", "path", p).(*value.Dict).Text("kind"); got != "other" {
				t.Errorf("fs.stat(%q) kind = %q, want other", p, got)
			}
		}
		for p, what := range map[string]string{"pipe": "a pipe", "to-pipe": "a link", "socket": "a socket"} {
			d.fails(value.Denied, what, "fs.write", "path", p, "content", "x")
			d.fails(value.Denied, what, "fs.append", "path", p, "content", "x")
			d.fails(value.Denied, what, "fs.remove", "path", p)
			d.fails(value.Denied, what, "fs.move", "from", p, "to", "mine")
			d.fails(value.Failed, "not a folder", "fs.mkdir", "path", p)
		}
		d.fails(value.Failed, "is a folder", "fs.read", "path", "dir")
		d.fails(value.Failed, "is a folder", "fs.write", "path", "dir", "content", "x")
		d.fails(value.Denied, "a pipe", "fs.remove", "path", "tree", "recursive", true)
		if got := fsTexts(d.must("fs.glob", "pattern", "**")); got != "tree/x" {
			t.Errorf("fs.glob(**) = %q, want files only", got)
		}
		if got := fsTexts(d.must("fs.search", "pattern", "x")); got != "tree/x:1:x" {
			t.Errorf("fs.search = %q, want files only", got)
		}
		// One that takes the place of a file before the commit.
		d.must("fs.write", "path", "late", "content", "x")
		rowtest.NoError(t, syscall.Mkfifo(filepath.Join(d.dir, "late"), 0o666))
		d.fails(value.Conflict, "late has changed", "fs.commit")
	})
	dev := deskAt(t, &Options{Root: "/dev"})
	rowtest.Within(t, "a device", func() {
		dev.fails(value.Denied, "a device", "fs.read", "path", "null")
		dev.fails(value.Denied, "a device", "fs.read", "path", "zero")
		dev.fails(value.Denied, "a device", "fs.write", "path", "null", "content", "x")
	})
}

// Between two looks a pipe may take the place of what was looked at. Opening it
// must not wait for its other end.
func TestF06APipeInThePlaceOfAFile(t *testing.T) {
	d := newDesk(t, map[string]string{"file": "x", "dir/x": "x"})
	l := d.w.look(t.Context(), tool.Grant{})
	file, err := l.find("file", fsFollowAll)
	rowtest.NoError(t, err)
	dir, err := l.find("dir", fsFollowAll)
	rowtest.NoError(t, err)
	for _, name := range []string{"file", "dir"} {
		rowtest.NoError(t, os.RemoveAll(filepath.Join(d.dir, name)))
		rowtest.NoError(t, syscall.Mkfifo(filepath.Join(d.dir, name), 0o666))
	}
	rowtest.Within(t, "a pipe in the place of a file", func() {
		_, err := file.read(10, nil)
		rowtest.Wrong(t, err, value.Conflict, "file has changed meanwhile", "read")
		_, err = l.openFolder(dir)
		rowtest.Wrong(t, err, value.Conflict, "dir has changed meanwhile", "openFolder")
	})
}

func TestF07ASparseFileOfATerabyte(t *testing.T) {
	d := newDesk(t, map[string]string{"small": "needle"})
	f, err := os.Create(filepath.Join(d.dir, "sparse"))
	rowtest.NoError(t, err)
	rowtest.NoError(t, f.Truncate(1<<40))
	rowtest.NoError(t, f.Close())
	rowtest.Within(t, "a file of a terabyte", func() {
		for name, args := range map[string][]value.Value{
			"fs.read": {"path", "sparse"}, "fs.read_bytes": {"path", "sparse"},
			"fs.append": {"path", "sparse", "content", "x"}, "fs.remove": {"path", "sparse"},
			"fs.move": {"from", "sparse", "to", "b"}, "fs.write": {"path", "sparse", "content", "x"},
		} {
			d.fails(value.Limit, "sparse is larger than 8 MB", name, args...)
		}
		if got := fsTexts(d.must("fs.search", "pattern", "needle")); got != "small:1:needle" {
			t.Errorf("fs.search = %q, want the small file", got)
		}
	})
}

func TestPermissionsAreKept(t *testing.T) {
	d := newDesk(t, map[string]string{"run.sh": "#!/bin/sh\n", "private": "1", "closed/x": "x"})
	for name, mode := range map[string]fs.FileMode{"run.sh": 0o755, "private": 0o600, "closed": 0o700} {
		rowtest.NoError(t, os.Chmod(filepath.Join(d.dir, name), mode))
	}
	d.must("fs.append", "path", "run.sh", "content", "echo\n")
	d.must("fs.write", "path", "private", "content", "2")
	d.must("fs.write", "path", "new", "content", "")
	d.must("fs.move", "from", "closed", "to", "moved")
	rowtest.NoError(t, os.Chmod(filepath.Join(d.dir, "private"), 0o640)) // by somebody, meanwhile
	undo := d.commit()
	mode := func(name string) fs.FileMode {
		info, err := os.Stat(filepath.Join(d.dir, name))
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

// editAndCommit changes files below d. It makes none: in the instant in which
// there is no d, that would be a new one.
func editAndCommit(d *desk, text string) error {
	d.stage = &tool.Stage{}
	for _, p := range []string{"d/file", "d/deep/file"} {
		old, err := d.call("fs.read", "path", p)
		if err == nil {
			_, err = d.call("fs.edit", "path", p, "old", old, "new", "inside "+text)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.call("fs.commit")
	return err
}

func TestF04SwapsWhileReadingAndWriting(t *testing.T) {
	outside := t.TempDir()
	rowtest.PutFile(t, outside, "file", "OUTSIDE")
	rowtest.PutFile(t, outside, "deep/file", "OUTSIDE")
	d := newDesk(t, map[string]string{"d/file": "inside", "d/deep/file": "inside", "other/file": "OTHER", "other/deep/file": "OTHER"})
	d.grant("fs.read:d/**", "fs.write:d/**", "fs.read:.")
	outsideBefore := rowtest.Snapshot(t, outside)
	for _, target := range []string{outside, "other"} {
		stop := make(chan struct{})
		swapped := swapUntil(t, stop, d.dir, "d", target)
		var read, refused, committed int
		for i := range 1000 {
			for _, p := range []string{"d/file", "d/deep/file"} {
				v, err := d.call("fs.read", "path", p)
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
			if got, err := d.call("fs.search", "pattern", "OUTSIDE|OTHER"); err == nil && len(got.(value.List)) > 0 {
				t.Fatalf("fs.search found %s", fsTexts(got))
			}
			if err := editAndCommit(d, fmt.Sprint(i)); err == nil {
				committed++
			}
		}
		close(stop)
		t.Logf("to %s: %d swaps, %d reads, %d refusals, %d commits", filepath.Base(target), <-swapped, read, refused, committed)
		if refused == 0 || read == 0 || committed == 0 {
			t.Errorf("%d reads, %d commits and %d refusals: the race did not take place", read, committed, refused)
		}
	}
	if diff := cmp.Diff(outsideBefore, rowtest.Snapshot(t, outside)); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
	all := rowtest.Snapshot(t, d.dir)
	for _, p := range []string{"other/file", "other/deep/file"} {
		if !strings.HasSuffix(all[p], " OTHER") {
			t.Errorf("%s = %q, want it untouched", p, all[p])
		}
	}
	for p := range all {
		if strings.Contains(p, fsTempPrefix) {
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
	for range 50 {
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
				t.Fatalf("%s holds %d bytes that begin with %.1q, want one content wholly", name, len(got), got)
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
	d := deskAt(t, &Options{Root: dir})
	for i := 1; ; i++ {
		content := contentOf('A' + byte(i%26))
		d.must("fs.write", "path", "sub/f", "content", content)
		d.must("fs.write", "path", "sub/g", "content", content)
		d.commit()
		if i == 1 {
			fmt.Println("begun")
		}
	}
}
