//go:build unix

package beneath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// open returns a folder with a file, a folder in a folder, and links.
func open(t *testing.T) (*Dir, string) {
	t.Helper()
	at := t.TempDir()
	err := errors.Join(
		os.MkdirAll(filepath.Join(at, "a/b"), 0o755), os.WriteFile(filepath.Join(at, "a/b/f"), []byte("f"), 0o644),
		os.Symlink("a", filepath.Join(at, "link")), os.Symlink("/etc", filepath.Join(at, "out")), os.Symlink("b/f", filepath.Join(at, "a/f")),
	)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, at
}

// TestOpenAt opens paths in one call and part by part, which must not differ.
func TestOpenAt(t *testing.T) {
	d, at := open(t)
	for path, ok := range map[string]bool{
		"a": true, "a/b": true, "a/b/f": true, ".": true,
		"link": false, "link/b": false, "link/b/f": false, "a/f": false, "out": false, "out/passwd": false,
		"..": false, "../x": false, "a/../a": false, "/etc": false, "": false, "none": false, "a/none/f": false, "a/b/f/g": false,
	} {
		for name, call := range map[string]func(int, string, int) (*os.File, error){"one call": openAt, "each part": openEach} {
			f, err := call(d.fd(), path, handleFlags)
			if path == "a/../a" && err == nil { // beneath all the same
				f.Close()
				continue
			}
			if (err == nil) != ok {
				t.Errorf("%s: %q: %v, want success: %v", name, path, err, ok)
			}
			if err == nil {
				f.Close()
			}
		}
	}
	// It stays the same folder when another gets its name.
	if err := errors.Join(os.Rename(at, at+"-moved"), os.Symlink("/etc", at)); err != nil {
		t.Fatal(err)
	}
	defer os.Rename(at+"-moved", at)
	defer os.Remove(at)
	if text, err := d.Read("a/b/f", 10); err != nil || string(text) != "f" {
		t.Errorf("after a rename: %q, %v", text, err)
	}
	if text, err := d.Read("passwd", 1<<20); err == nil {
		t.Errorf("it reads %q", text)
	}
}

func TestRead(t *testing.T) {
	d, at := open(t)
	if err := unix.Mkfifo(filepath.Join(at, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"a/b/f": true, "pipe": false, "a": false, "a/f": false} {
		if _, err := d.Read(path, 10); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := d.Read("a/b/f", 0); err == nil {
		t.Error("a file that is too long is read")
	}
}

func TestNext(t *testing.T) {
	d, at := open(t)
	if err := os.Link(filepath.Join(at, "a/b/f"), filepath.Join(at, "g")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := map[string]Entry{}
		for {
			list, err := d.Next(2)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				break
			}
			for _, e := range list {
				got[e.Name] = e
			}
		}
		if len(got) != 4 || got["a"].Kind != Folder || got["link"].Kind != Link || got["g"].Kind != File || got["g"].Links != 2 || got["g"].Changed == 0 {
			t.Errorf("got %v", got)
		}
		if err := d.Rewind(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRemove removes what is deep, closed to its user, or a link to what must stay.
func TestRemove(t *testing.T) {
	d, at := open(t)
	keep := filepath.Join(at, "keep")
	if err := errors.Join(os.Mkdir(keep, 0o755), os.WriteFile(filepath.Join(keep, "f"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(at, "deep")
	if err := errors.Join(os.Mkdir(deep, 0o755), os.Chdir(deep)); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if err := errors.Join(os.Mkdir("d", 0o755), os.Symlink(keep, "link"), os.Chdir("d")); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(home)
	closed := filepath.Join(at, "closed")
	err = errors.Join(os.MkdirAll(filepath.Join(closed, "x/y"), 0o755), os.Chmod(filepath.Join(closed, "x/y"), 0), os.Chmod(filepath.Join(closed, "x"), 0o500), os.Chmod(closed, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"deep", "closed", "link", "a", "none"} {
		if err := d.Remove(name, time.Now().Add(time.Minute)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := d.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	if err := d.Remove("keep", time.Now().Add(-time.Second)); err == nil {
		t.Error("a removal after its deadline succeeds")
	}
	if names, err := filepath.Glob(filepath.Join(at, "*")); err != nil || len(names) != 2 {
		t.Errorf("%q is left, %v, want keep and out", names, err)
	}
	if _, err := os.Stat(filepath.Join(keep, "f")); err != nil {
		t.Errorf("a removal followed a link: %v", err)
	}
}
