package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// readOnly returns a folder with the content of dir that cannot be written, even by root.
func readOnly(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := syscall.Mount(dir, to, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { check(t, syscall.Unmount(to, syscall.MNT_DETACH)) })
	check(t, syscall.Mount("", to, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	return to
}

// TestReadOnlyFolder reads a journal in a folder that cannot be written: while a process
// writes to it elsewhere, after that has died, and after it has closed it.
func TestReadOnlyFolder(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	s := open(t, dir)
	check(t, appendFrame(s, begin(t, s, "", "r"), 0))
	lease, err := s.Acquire(ctx, "", "r")
	check(t, err)
	live := open(t, readOnly(t, dir))
	wantReadable(t, live)
	if !live.Held(ctx, "", "r") {
		t.Error("a run of another process is not held")
	}
	check(t, live.Close())

	died := t.TempDir()
	all := files(t, dir)
	delete(all, "journal.db-shm")
	refold(t, died, all)
	left := open(t, readOnly(t, died))
	wantReadable(t, left)
	check(t, left.Close())
	if names, _ := os.ReadDir(os.TempDir()); len(names) > 0 {
		t.Errorf("Close left %v", names)
	}
	delete(all, "journal.db-wal")
	refold(t, died, all)
	if _, err := Open(readOnly(t, died)); value.KindOf(err) != value.Failed && value.KindOf(err) != value.Unavailable {
		t.Errorf("a read-only journal that lost its log: %v", err)
	}

	check(t, lease.Release())
	check(t, s.Close())
	closed := open(t, readOnly(t, dir))
	wantReadable(t, closed)
	check(t, closed.Close())

	if _, err := Open(filepath.Join(readOnly(t, t.TempDir()), "new")); value.KindOf(err) != value.Unavailable {
		t.Errorf("a new journal in a read-only folder: %v", err)
	}
}

// wantReadable checks that the run r can be read, and that nothing can be written.
func wantReadable(t *testing.T, s *Store) {
	t.Helper()
	readable(t, s, func(what string, err error) {
		var e *value.Error
		if !errors.As(err, &e) || e.Kind != value.Unavailable || e.Hint != "set CASSIDY_HOME to a folder that you can write" {
			t.Errorf("%s in a read-only folder = %v", what, err)
		}
	})
}

// readable checks that the run r can be read, and passes the error of each write.
func readable(t *testing.T, s *Store, refused func(what string, err error)) {
	t.Helper()
	ctx := context.Background()
	listed := 0
	for r, err := range s.List(ctx, journal.Filter{}) {
		check(t, err)
		st, err := s.Load(ctx, r.Num)
		if listed++; err != nil || r.ID != "r" || len(st.Frames) != 1 {
			t.Errorf("run %q has %d frames, %v", r.ID, len(st.Frames), err)
		}
	}
	if listed != 1 {
		t.Errorf("%d runs are listed, want 1", listed)
	}
	refusals := writeAll(s)
	_, refusals["Acquire"] = s.Acquire(ctx, "", "other")
	refusals["SweepBlobs"] = s.SweepBlobs(ctx, now().AddDate(1, 0, 0), nil)
	for what, err := range refusals {
		refused(what, err)
	}
}
