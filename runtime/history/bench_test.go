package history

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// benchArgs gives a step a record of about 1 KB, as PERF.md measures.
func benchArgs() (*value.Dict, tool.Outcome) {
	return value.NewDict("path", "out/report.md", "text", strings.Repeat("x", 400)), tool.Outcome{Value: strings.Repeat("y", 400)}
}

// BenchmarkStep is one durable effect: its intent and the outcome of the one before
// share one flush. It is compared with one row of the same size in a bare database that
// flushes in the same way. The two alternate, so that both have the same load of the
// machine.
func BenchmarkStep(b *testing.B) {
	ctx := context.Background()
	l := begin(b, onDisk(b).open(), "bench")
	args, out := benchArgs()
	bare := bareRow(b)
	var ours, theirs time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		p := tool.StepPath{i + 1}
		if err := l.Intend(ctx, Intent{StepPath: p, Func: "fs.write", Args: args, Kind: tool.Write}); err != nil {
			b.Fatal(err)
		}
		if err := l.Settle(ctx, p, out, nil); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(start)
		start = time.Now()
		bare()
		theirs += time.Since(start)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "step-µs")
	b.ReportMetric(float64(theirs.Microseconds())/float64(b.N), "bare-µs")
	b.ReportMetric(float64(ours)/float64(theirs), "step/bare")
}

// bareRow returns a func that inserts one row into a database of its own.
func bareRow(b *testing.B) func() {
	db, err := sql.Open("sqlite", "file://"+filepath.Join(b.TempDir(), "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)"); err != nil {
		b.Fatal(err)
	}
	stmt, err := db.Prepare("INSERT INTO t (body) VALUES (?)")
	if err != nil {
		b.Fatal(err)
	}
	body := make([]byte, 980)
	return func() {
		if _, err := stmt.Exec(body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRuns64 is 64 runs in parallel. An event is an intent or an outcome.
func BenchmarkRuns64(b *testing.B) {
	ctx := context.Background()
	j := onDisk(b).open()
	const runs = 64
	logs := make([]*Log, runs)
	for i := range logs {
		logs[i] = begin(b, j, fmt.Sprintf("bench%d", i))
	}
	args, out := benchArgs()
	var wg sync.WaitGroup
	steps := b.N/runs + 1
	b.ResetTimer()
	for _, l := range logs {
		wg.Go(func() {
			for i := range steps {
				p := tool.StepPath{i + 1}
				if err := l.Intend(ctx, Intent{StepPath: p, Func: "fs.write", Args: args, Kind: tool.Write}); err != nil {
					b.Error(err)
					return
				}
				l.Settle(ctx, p, out, nil)
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(2*runs*steps)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkReplay opens a run of 10,000 effects and reads every outcome.
func BenchmarkReplay(b *testing.B) {
	const effects = 10_000
	ctx := context.Background()
	j := onDisk(b).open()
	l := begin(b, j, "bench")
	args := value.NewDict("path", "src/main.go", "limit", 100)
	for i := range effects {
		p := tool.StepPath{i + 1}
		if err := l.Intend(ctx, Intent{StepPath: p, Func: "fs.read", Args: args, Kind: tool.Read}); err != nil {
			b.Fatal(err)
		}
		l.Settle(ctx, p, tool.Outcome{Value: fmt.Sprintf("the content of file %d, some hundred bytes of it: %s", i, strings.Repeat("z", 100))}, nil)
	}
	l.Close()
	for b.Loop() {
		l, err := j.Resume(ctx, "bench")
		if err != nil {
			b.Fatal(err)
		}
		for i := range effects {
			e, ok, err := l.Recorded(tool.StepPath{i + 1})
			if !ok || err != nil || e.Settled.IsZero() {
				b.Fatal(ok, err)
			}
			if err := e.Matches(tool.Effect{Func: "fs.read", Args: args}); err != nil {
				b.Fatal(err)
			}
		}
		l.Close()
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/op")
}
