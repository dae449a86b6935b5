package sandbox_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// newPool returns a pool, and what opens a sandbox of one of its tenants.
func newPool(t testing.TB, w sandbox.Workers) (*sandbox.Pool, func(tenant string, modules ...tool.Module) *sandbox.Process) {
	t.Helper()
	skipWithoutWorkers(t)
	w.Program = cmp.Or(w.Program, testworker.Exec())
	pool, err := sandbox.NewPool(&sandbox.Options{Workers: w})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return pool, func(tenant string, modules ...tool.Module) *sandbox.Process {
		t.Helper()
		p, err := pool.Open(tenant, append(stdlib.Pure(), modules...)...)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

// gives runs a script that returns its argument.
func gives(t testing.TB, box *sandbox.Process) error {
	t.Helper()
	out, err := box.Run(context.Background(), script("echo", "return value"), tool.Call{Args: value.NewDict("value", "x")}, nil)
	if err == nil && out.Value != "x" {
		t.Errorf("echo gave %v", out.Value)
	}
	return err
}

// TestTenantsShareNoWorker runs one script for tenants and sandboxes: it has one worker
// for each tenant and set of effects, and no more.
func TestTenantsShareNoWorker(t *testing.T) {
	pool, open := newPool(t, sandbox.Workers{})
	ann, again, bob := open("ann", world), open("ann", world), open("bob", world)
	less := open("ann")
	workers := func(box *sandbox.Process) []int {
		t.Helper()
		if err := gives(t, box); err != nil {
			t.Fatal(err)
		}
		return box.Used()
	}
	first := workers(ann)
	if got := workers(again); !slices.Equal(got, first) || len(first) != 1 {
		t.Errorf("the sandboxes of one tenant have used %v and %v, want one worker", first, got)
	}
	if got := workers(bob); len(got) != 2 {
		t.Errorf("with another tenant there are %v, want two workers", got)
	}
	if got := workers(less); len(got) != 3 {
		t.Errorf("with other effects there are %v, want three workers", got)
	}
	if _, err := less.Run(context.Background(), script("asks", "return world.ask(1)"), tool.Call{}, nil); err == nil || !strings.Contains(err.Error(), "undefined: world") {
		t.Errorf("a sandbox without the effect gave %v, want that there is none", err)
	}
	if err := again.Close(); err != nil || gives(t, again) == nil || gives(t, ann) != nil {
		t.Errorf("after Close of one sandbox: %v, it gives %v, the other %v", err, gives(t, again), gives(t, ann))
	}
	if err := pool.Close(); err != nil || value.KindOf(gives(t, ann)) != value.Canceled {
		t.Errorf("after Close of the pool: %v, a call gives %v", err, gives(t, ann))
	}
	if _, err := pool.Open("\x00"); value.KindOf(err) != value.Invalid {
		t.Errorf("a tenant of the name of none: %v", err)
	}
}

// TestATenantHasItsShare checks that a tenant whose workers all wait keeps none from
// the others, and that its own call waits.
func TestATenantHasItsShare(t *testing.T) {
	_, open := newPool(t, sandbox.Workers{Max: 4})
	ann, bob := open("ann", world), open("bob", world)
	release := make(chan struct{})
	var inside, all sync.WaitGroup
	inside.Add(2)
	for i := range 2 {
		all.Go(func() { waits(t, ann, fmt.Sprint("f", i), &inside, release) })
	}
	inside.Wait()
	short, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := ann.Run(short, script("g", "return 1"), tool.Call{}, nil); value.KindOf(err) != value.Busy {
		t.Errorf("one call more of the tenant gave %v, want it busy", err)
	}
	if err := gives(t, bob); err != nil {
		t.Errorf("a call of another tenant gave %v", err)
	}
	close(release)
	all.Wait()
	if err := gives(t, ann); err != nil {
		t.Error(err)
	}
}

// BenchmarkTenants is 60 tenants that each call five tools once, and what is left of
// that five seconds later: at most 24 workers, which hold at most 120 MB.
func BenchmarkTenants(b *testing.B) {
	cassidy := testutil.Build(b, "cmd/cassidy") // a test program is larger than what users start
	for b.Loop() {
		pool, open := newPool(b, sandbox.Workers{Program: cassidy})
		var all sync.WaitGroup
		atOnce := make(chan struct{}, 16)
		var box *sandbox.Process
		for i := range 60 {
			box = open(fmt.Sprint("tenant", i), world)
			for k := range 5 {
				atOnce <- struct{}{}
				all.Go(func() {
					defer func() { <-atOnce }()
					s := script(fmt.Sprint("tool", k), "return value")
					if _, err := box.Run(context.Background(), s, tool.Call{Args: value.NewDict("value", "x")}, nil); err != nil {
						b.Error(err)
					}
				})
			}
		}
		all.Wait()
		b.ReportMetric(float64(len(box.Workers())), "workers-at-once")
		time.Sleep(5 * time.Second)
		left, pss := box.Workers(), 0.0
		for _, pid := range left {
			pss += pssMB(b, pid)
		}
		b.ReportMetric(float64(len(left)), "workers-left")
		b.ReportMetric(pss, "MB-left")
		pool.Close()
	}
}

// pssMB is what a process holds of the memory, with its part of what others share.
func pssMB(t testing.TB, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == "Pss:" {
			kb, err := strconv.ParseFloat(string(f[1]), 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb / 1024
		}
	}
	t.Fatal("the process has no Pss")
	return 0
}
