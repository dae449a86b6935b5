package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

func none() (map[string]bool, error) { return nil, nil }

// TestSweepFiles looks at the files that a killed process leaves, and at those
// that are not of this package.
func TestSweepFiles(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), open(t, t.TempDir())
	check(t, s.PutBlob(ctx, sum("kept"), []byte("kept")))
	check(t, s.PutBlob(ctx, sum("old"), []byte("old")))
	for _, name := range []string{"kept", "old"} { // both are aside, as where a sweep was killed
		check(t, os.Rename(s.blobs.path(sum(name)), s.blobs.aside(sum(name))))
	}
	if got, err := s.Blob(ctx, sum("kept"), 4); err != nil || string(got) != "kept" {
		t.Errorf("a blob that is aside reads as %q, %v", got, err)
	}
	for _, name := range []string{"new-123", "README", "old-notes", filepath.Join("2d", "x")} {
		path := filepath.Join(s.blobs.dir, name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		check(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	named := func() (map[string]bool, error) { return map[string]bool{sum("kept"): true}, nil }
	check(t, s.SweepBlobs(ctx, time.Now().Add(-time.Hour), named))
	check(t, s.SweepBlobs(ctx, time.Now().Add(time.Hour), named))
	left := files(t, s.blobs.dir)
	for _, name := range []string{"README", "old-notes", filepath.Join("2d", "x"), filepath.Join(sum("kept")[:2], sum("kept"))} {
		if left[name] == "" {
			t.Errorf("%s was removed", name)
		}
		delete(left, name)
	}
	if len(left) > 0 {
		t.Errorf("the sweep left %v", left)
	}
}

// TestBlobIsNoLink checks that a blob is read only from a file of its own.
func TestBlobIsNoLink(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), open(t, t.TempDir())
	path := s.blobs.path(sum("text"))
	check(t, os.MkdirAll(path, 0o700))
	if _, err := s.Blob(ctx, sum("text"), 4); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("Blob of a folder = %v", err)
	}
}

// TestSweepAndWriter removes old blobs while others store the same ones again.
func TestSweepAndWriter(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	s, other := open(t, dir), open(t, dir)
	var wg sync.WaitGroup
	done := make(chan bool)
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := other.SweepBlobs(ctx, time.Now().Add(-time.Minute), none); err != nil {
				t.Error(err)
			}
		}
	})
	old := time.Now().Add(-time.Hour)
	for i := range 100 {
		text := strings.Repeat(fmt.Sprint("value ", i%3, " "), 1000)
		check(t, s.PutBlob(ctx, sum(text), []byte(text)))
		if got, err := s.Blob(ctx, sum(text), int64(len(text))); err != nil || string(got) != text {
			t.Fatalf("round %d: %v", i, err)
		}
		os.Chtimes(s.blobs.path(sum(text)), old, old)
	}
	close(done)
	wg.Wait()
}
