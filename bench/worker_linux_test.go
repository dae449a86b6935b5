package bench

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// BenchmarkWorkerStart is a worker from its start to its first answer, compared with
// starting /bin/true. The goals are 12 ms, and 3.5 MB for an idle worker among several,
// with proportional shared memory (PSS).
func BenchmarkWorkerStart(b *testing.B) {
	for _, name := range []string{"cassidy", "cassidy-worker"} {
		b.Run(name, func(b *testing.B) {
			program := testutil.Build(b, "cmd/"+name)
			var ours, theirs []time.Duration
			for b.Loop() {
				start := time.Now()
				box := startWorker(b, program)
				middle := time.Now()
				if err := box.Close(); err != nil {
					b.Fatal(err)
				}
				closed := time.Now()
				if err := exec.Command("true").Run(); err != nil {
					b.Fatal(err)
				}
				ours, theirs = append(ours, middle.Sub(start)), append(theirs, time.Since(closed))
			}
			var pss int64
			const workers = 8
			for range workers {
				box := startWorker(b, program)
				defer box.Close()
			}
			for _, pid := range children(b) {
				pss += memory(b, pid, "Pss:")
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(median(ours)), "median-ms")
			b.ReportMetric(ms(ours[0]), "least-ms")
			b.ReportMetric(ms(median(theirs)), "true-ms")
			b.ReportMetric(float64(median(ours))/float64(median(theirs)), "ratio")
			b.ReportMetric(float64(pss)/workers/1024, "pss-MB")
		})
	}
}

// processes returns how many processes 100 calls in a worker start.
func processes(tb testing.TB) int {
	tb.Helper()
	dir := tb.TempDir()
	writeTool(tb, dir, "greet.star", greet)
	h := openHost(tb, dir, cassidy.Process)
	seen := map[int]bool{}
	for range 100 {
		callJSON(tb, h, "greet")
		for _, pid := range children(tb) {
			seen[pid] = true
		}
	}
	return len(seen)
}

// TestProcesses bounds the processes that calls start: one that describes the tool, one that runs it, and others
// that are ready to replace them.
func TestProcesses(t *testing.T) {
	const most = 4
	if n := processes(t); n < 1 || n > most {
		t.Errorf("100 calls have started %d processes, want at most %d", n, most)
	}
}

// startWorker returns a sandbox with one worker that has answered.
func startWorker(b *testing.B, program string) *sandbox.Process {
	b.Helper()
	box, err := sandbox.New(&sandbox.Options{Workers: sandbox.Workers{Program: program}}, stdlib.Pure()...)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := box.Describe(context.Background(), tool.Script{Path: "greet.star", Source: greet}); err != nil {
		b.Fatal(err)
	}
	return box
}

// children returns the living processes that this one has started.
func children(b testing.TB) []int {
	b.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		b.Fatal(err)
	}
	var pids []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// memory returns the memory of one kind that a process has, in KB.
func memory(b *testing.B, pid int, kind string) int64 {
	b.Helper()
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), kind); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatalf("process %d does not report %s", pid, kind)
	return 0
}
