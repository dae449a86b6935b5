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
