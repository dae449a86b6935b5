//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package scratch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain is also the process that makes a folder, and is killed.
func TestMain(m *testing.M) {
	if in := os.Getenv("SCRATCH_MAKE_IN"); in != "" {
		d, err := Make(in, "command")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(d.Path)
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0) // without Close
	}
	os.Exit(m.Run())
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// make1 makes a folder in this process.
func make1(t *testing.T, in string) *Dir {
	t.Helper()
	d, err := Make(in, "mcp")
	check(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

// other makes a folder in another process, which kill ends.
func other(t *testing.T, in string) (dir string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SCRATCH_MAKE_IN="+in)
	cmd.Stderr = os.Stderr
	_, err := cmd.StdinPipe() // which stays open while this process lives
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	check(t, err)
	return strings.TrimSpace(line), kill
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// TestMakeSweeps has a process killed that had a folder: the next one removes it, and not before.
func TestMakeSweeps(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	outside := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(outside, []byte("kept"), 0o600))
	dir, kill := other(t, in)
	living, _ := other(t, in)
	own := make1(t, in)
	check(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o700))
	check(t, os.WriteFile(filepath.Join(dir, "a/b/f"), nil, 0o600))
	check(t, os.Symlink(outside, filepath.Join(dir, "a/link")))
	check(t, os.Symlink(filepath.Dir(outside), filepath.Join(dir, "folder")))
	check(t, os.Chmod(filepath.Join(dir, "a/b"), 0))
	check(t, os.Chmod(dir, 0))
	make1(t, in)
	if !exists(dir) {
		t.Fatal("the folder of a process that lives was removed")
	}
	kill()
	make1(t, in)
	if exists(dir) {
		t.Error("the folder of a killed process is still there")
	}
	if !exists(living) || !exists(own.Path) {
		t.Error("a folder that is in use was removed")
	}
	if !exists(outside) {
		t.Error("what a link leads to was removed")
	}
	entries, err := os.ReadDir(in)
	check(t, err)
	if len(entries) != 4 {
		t.Errorf("%d folders are there, want those of the living", len(entries))
	}
}

// TestMakeLeaves has folders and files with such names, or similar ones, that nobody has locked: only
// those stay that Make has not made.
func TestMakeLeaves(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	target := filepath.Join(in, "target")
	check(t, os.Mkdir(target, 0o700))
	stay := []string{"cassidy-command-12", "cassidy-mcp-12", "cassidy-command-.held", "cassidy-12.held", "cassidy-command-12.held.bak", "my-cassidy-command-12.held", "cassidy-command-1x2.held", "cassidy-runs-old-12.held"}
	for _, name := range stay {
		check(t, os.Mkdir(filepath.Join(in, name), 0o700))
	}
	stay = append(stay, "target", "cassidy-command-77.held", "cassidy-command-78.held", "cassidy-command-79.held")
	check(t, os.Symlink(target, filepath.Join(in, "cassidy-command-77.held")))
	check(t, os.WriteFile(filepath.Join(in, "cassidy-command-78.held"), nil, 0o600))
	check(t, syscall.Mkfifo(filepath.Join(in, "cassidy-command-79.held"), 0o600))
	gone := filepath.Join(in, "cassidy-eval-12.held")
	check(t, os.Mkdir(gone, 0o700))
	foreign := filepath.Join(in, "cassidy-mcp-80.held")
	if os.Geteuid() == 0 {
		check(t, os.Mkdir(foreign, 0o700))
		check(t, unix.Lchown(foreign, 12345, 12345))
		stay = append(stay, filepath.Base(foreign))
	}
	make1(t, in)
	for _, name := range stay {
		if !exists(filepath.Join(in, name)) {
			t.Errorf("%s was removed", name)
		}
	}
	if exists(gone) {
		t.Error("a folder that nobody holds is still there")
	}
}

// TestClose removes what a program has made unwritable, and releases the folder once.
func TestClose(t *testing.T) {
	t.Parallel()
	d := make1(t, t.TempDir())
	check(t, os.MkdirAll(filepath.Join(d.Path, "a/b"), 0o700))
	check(t, os.Chmod(filepath.Join(d.Path, "a"), 0))
	at := d.Path
	check(t, d.Close())
	check(t, d.Close())
	check(t, (*Dir)(nil).Close())
	if exists(at) {
		t.Error("the folder is still there")
	}
}

// TestMakeTogether makes folders in one place from many goroutines: nobody's is removed.
func TestMakeTogether(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	made := make(chan *Dir, 64)
	for range cap(made) {
		go func() {
			d, err := Make(in, "command")
			if err != nil {
				t.Error(err)
			}
			made <- d
		}()
	}
	var dirs []*Dir
	for range cap(made) {
		dirs = append(dirs, <-made)
	}
	for _, d := range dirs {
		if !exists(d.Path) {
			t.Errorf("%s was removed", d.Path)
		}
		check(t, d.Close())
	}
}
