package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
)

// BenchmarkCommit is one step, a frame of 1 KB and a head in one transaction,
// against one row of the same size in a bare database that flushes in the same
// way. The two take turns, so that both meet the same load of the machine.
func BenchmarkCommit(b *testing.B) {
	ctx := context.Background()
	s := open(b, b.TempDir())
	num := begin(b, s, "", "bench")
	bare := bareRow(b)
	body, head := make([]byte, 980), make([]byte, 90)
	var ours, theirs time.Duration
	for i := int64(0); b.Loop(); i++ {
		start := time.Now()
		if err := s.Commit(ctx, []*journal.Write{{Num: num, Frames: []journal.Frame{{Seq: i, Body: body}}, Head: head}}); err != nil {
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
	check(b, err)
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	_, err = db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)")
	check(b, err)
	stmt, err := db.Prepare("INSERT INTO t (body) VALUES (?)")
	check(b, err)
	body := make([]byte, 980)
	return func() {
		if _, err := stmt.Exec(body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit64 is a batch of the steps of 64 runs. A frame holds what
// history counts as two events: an intent and an outcome.
func BenchmarkCommit64(b *testing.B) {
	ctx := context.Background()
	s := open(b, b.TempDir())
	batch := make([]*journal.Write, 64)
	for i := range batch {
		batch[i] = &journal.Write{Num: begin(b, s, "", fmt.Sprint("bench", i)), Head: make([]byte, 90)}
	}
	body := make([]byte, 980)
	for seq := int64(0); b.Loop(); seq++ {
		for _, w := range batch {
			w.Frames = []journal.Frame{{Seq: seq, Body: body}}
		}
		if err := s.Commit(ctx, batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(64*b.N)/b.Elapsed().Seconds(), "frames/s")
}

// BenchmarkList is a list of the newest 20 of 20,000 runs, and of those parked,
// which are 20.
func BenchmarkList(b *testing.B) {
	ctx := context.Background()
	s := open(b, b.TempDir())
	const runs = 20_000
	for i := 0; i < runs; {
		var batch []*journal.Write
		for range 1000 {
			r := &journal.Row{ID: fmt.Sprint("run", i), Kind: "run", State: journal.Done, Head: make([]byte, 90)}
			if i%(runs/20) == 0 {
				r.State = journal.Parked
			}
			batch = append(batch, &journal.Write{New: r, Frames: []journal.Frame{{Body: make([]byte, 400)}, {Seq: 1, Body: make([]byte, 400)}}})
			i++
		}
		check(b, s.Commit(ctx, batch))
	}
	for name, f := range map[string]journal.Filter{
		"newest": {Limit: 20},
		"parked": {States: []journal.State{journal.Parked}},
		"done":   {States: []journal.State{journal.Done}, Limit: 20},
		"all":    {},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				n := 0
				for _, err := range s.List(ctx, f) {
					check(b, err)
					n++
				}
				if n != 20 && n != runs {
					b.Fatal(n)
				}
			}
		})
	}
}
