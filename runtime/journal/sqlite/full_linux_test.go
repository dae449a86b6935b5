package sqlite

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullDisk writes to a file system of 1 MB until that is full.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	ballast := filepath.Join(dir, "ballast")
	check(t, os.WriteFile(ballast, make([]byte, 300<<10), 0o600))
	s := open(t, filepath.Join(dir, "journal"))
	num := begin(t, s, "", "r")
	frames, err := fill(t, s, num)
	large := bytes.Repeat([]byte("x"), 500_000)
	wantFull(t, "PutBlob", s.PutBlob(context.Background(), sum(string(large)), large))
	checkFull(t, s, num, frames, err, func() { check(t, os.Remove(ballast)) })
	if left := files(t, s.blobs.dir); len(left) > 0 {
		t.Errorf("a blob that could not be stored left %d files", len(left))
	}
	check(t, s.Close())
}

// TestOpenOnFullDisk reads journals on a disk without any space: one that was closed, and one
// whose process died. The index of the log, which even a reader creates, has no space then.
func TestOpenOnFullDisk(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	s := open(t, dir)
	check(t, appendFrame(s, begin(t, s, "", "r"), 0))
	died := files(t, dir)
	delete(died, "journal.db-shm")
	check(t, s.Close())
	for name, all := range map[string]map[string]string{"closed": files(t, dir), "died": died} {
		disk := t.TempDir()
		if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
			t.Skipf("no file system can be mounted here: %v", err)
		}
		t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
		home := filepath.Join(disk, "home")
		check(t, os.Mkdir(home, 0o700))
		refold(t, home, all)
		for _, d := range []string{"runs", "blobs"} {
			check(t, os.MkdirAll(filepath.Join(home, d), 0o700))
		}
		ballast := filepath.Join(disk, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); !isFull(err) {
			t.Fatalf("%s: the disk is not full: %v", name, err)
		}
		full := open(t, home)
		readable(t, full, func(what string, err error) { wantFull(t, name+", "+what, err) })
		check(t, full.Close())
		check(t, os.Remove(ballast))
		again := open(t, home)
		begin(t, again, "", "r2")
		check(t, again.Close())
	}
}
