package history

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullDisk records on a file system of 1 MB until that is full.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	ballast := filepath.Join(dir, "ballast")
	check(t, os.WriteFile(ballast, make([]byte, 300<<10), 0o600))
	j := open(t, filepath.Join(dir, "journal"))
	l := begin(t, j, "r")
	n, err := fill(t, l)
	checkFull(t, j, l, n, err, func() { check(t, os.Remove(ballast)) })
	check(t, j.Close())
}
