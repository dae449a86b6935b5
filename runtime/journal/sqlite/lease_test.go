package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestLockPath(t *testing.T) {
	t.Parallel()
	s := &Store{dir: "d"}
	hashed := func(tenant string) string { return filepath.Join("d", "runs", "h-"+sum(tenant), "r.lock") }
	for tenant, want := range map[string]string{
		"":                      filepath.Join("d", "runs", "r.lock"),
		"acme":                  filepath.Join("d", "runs", "t-acme", "r.lock"),
		"a-b_c.d1":              filepath.Join("d", "runs", "t-a-b_c.d1", "r.lock"),
		strings.Repeat("a", 64): filepath.Join("d", "runs", "t-"+strings.Repeat("a", 64), "r.lock"),
		strings.Repeat("a", 65): hashed(strings.Repeat("a", 65)),
		"Acme":                  hashed("Acme"),   // is acme where case is ignored
		"x.lock":                hashed("x.lock"), // is the lock file of run t-x
		"x.":                    hashed("x."),
		".x":                    hashed(".x"),
		"..":                    hashed(".."),
		"a/b":                   hashed("a/b"),
		"a\x00":                 hashed("a\x00"),
		"ä":                     hashed("ä"),
	} {
		if got := s.lockPath(tenant, "r"); got != want {
			t.Errorf("lockPath(%q) = %q, want %q", tenant, got, want)
		}
	}
}

// TestLockRemoved checks what a holder learns whose lock file somebody removed.
func TestLockRemoved(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a file that is open cannot be removed")
	}
	ctx, dir := context.Background(), t.TempDir()
	s, other := open(t, dir), open(t, dir)
	l, err := s.Acquire(ctx, "", "r")
	check(t, err)
	check(t, l.Renew(ctx))
	check(t, os.Remove(s.lockPath("", "r")))
	if err := l.Renew(ctx); value.KindOf(err) != value.Conflict {
		t.Errorf("Renew without a lock file = %v", err)
	}
	second, err := other.Acquire(ctx, "", "r")
	check(t, err)
	if err := l.Renew(ctx); value.KindOf(err) != value.Conflict {
		t.Errorf("Renew with another lock file = %v", err)
	}
	check(t, l.Release())
	check(t, second.Renew(ctx)) // its file is still there
	if !s.Held(ctx, "", "r") {
		t.Error("the release of a lost lease ended that of somebody else")
	}
	check(t, second.Release())
	if left := files(t, s.lockDir()); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestHeldLeavesNothing checks that Held creates no file.
func TestHeldLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, s := context.Background(), open(t, t.TempDir())
	for _, tenant := range []string{"", "t", "T"} {
		if s.Held(ctx, tenant, "r") {
			t.Error("held by nobody")
		}
	}
	if list, err := os.ReadDir(s.lockDir()); len(list) > 0 || err != nil {
		t.Errorf("Held created %v, %v", list, err)
	}
	check(t, os.WriteFile(s.lockPath("", "r"), nil, 0o600)) // of a process that was killed
	if s.Held(ctx, "", "r") {
		t.Error("a lock file alone is a lease")
	}
}
