package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestBlobIsNoPipe checks that nobody waits for a writer of a pipe in the place of a blob.
func TestBlobIsNoPipe(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), open(t, t.TempDir())
	path := s.blobs.path(sum("text"))
	check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	check(t, syscall.Mkfifo(path, 0o600))
	if _, err := s.Blob(ctx, sum("text"), 4); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("Blob of a pipe = %v", err)
	}
}
