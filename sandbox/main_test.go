package sandbox_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// TestMain makes the test its own worker, also with the race detector: its worker can be hostile.
func TestMain(m *testing.M) {
	if hostileMain() {
		return
	}
	sandbox.Main(stdlib.Pure()...)
	os.Exit(testworker.Suite{M: m, Own: true, Measures: true}.Run())
}

// skipWithoutWorkers skips where no worker can be confined.
func skipWithoutWorkers(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux confines workers")
	}
}

// eventually waits until something is so. Minutes later that is a failure.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so after two minutes: %s", what)
		}
	}
}

// newProcess opens a sandbox of workers, with the pure modules and these.
func newProcess(t testing.TB, o *sandbox.Options, modules ...tool.Module) *sandbox.Process {
	t.Helper()
	skipWithoutWorkers(t)
	var opts sandbox.Options
	if o != nil {
		opts = *o
	}
	if opts.Program == "" {
		opts.Program = testworker.Exec()
	}
	p, err := sandbox.New(&opts, append(stdlib.Pure(), modules...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}
