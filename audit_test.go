package cassidy

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/google/go-cmp/cmp"
)

// TestAuditFile goes through a host, as a program would.
func TestAuditFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "home", "state", "audit.jsonl")
	r, err := New(&RuntimeOptions{Workers: Workers{Program: testworker.Exec()}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h, err := r.Open(Source{}, &Options{Dir: t.TempDir(), Audit: file})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("there is an audit file before anything was decided")
	}
	write := tool.Call{Tool: "write_file", Args: value.NewDict("filepath", "a", "content", "x")}
	if _, err := h.Call(t.Context(), write); value.KindOf(err) != value.Denied {
		t.Fatalf("the call gave %v, want it denied", err)
	}
	write.Caller = tool.ByPerson
	if _, err := h.Call(t.Context(), write); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if got := testutil.Decisions(t, file); !cmp.Equal(got, []string{"denied", "allowed"}) {
		t.Errorf("recorded %v, want denied and allowed", got)
	}
	if runtime.GOOS == "windows" {
		return // modes mean nothing there
	}
	for name, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s = %o, want %o", filepath.Base(name), got, want)
		}
	}
}

// TestAuditFails checks that a file that cannot be written fails nothing, and is
// reported once, and again only after it could be.
func TestAuditFails(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := New(&RuntimeOptions{Workers: Workers{Program: testworker.Exec()}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir := t.TempDir()
	h, err := r.Open(Dir(dir), &Options{Dir: dir, Audit: file})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	events := h.Subscribe(t.Context(), EventFilter{})
	denied := func() (told []string) {
		t.Helper()
		if _, err := h.Call(t.Context(), tool.Call{Tool: "write_file", Args: value.NewDict("filepath", "a", "content", "x")}); value.KindOf(err) != value.Denied {
			t.Errorf("the call gave %v, want it denied", err)
		}
		for len(events) > 0 {
			e := <-events
			if line, ok := e.Data.(tool.Log); ok {
				told = append(told, line.Message)
			}
		}
		return told
	}
	want := []string{"the audit event was not recorded: write the audit file " + file + ": not a regular file"}
	if diff := cmp.Diff(want, denied()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if told := denied(); told != nil {
		t.Errorf("told %q again", told)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if told := denied(); told != nil || len(testutil.Decisions(t, file)) != 1 {
		t.Errorf("told %q, recorded %v, want what came when it could be", told, testutil.Decisions(t, file))
	}
	if err := os.Rename(file, file+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, denied()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
