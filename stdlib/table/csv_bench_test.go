package table

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// benchCSV creates a file of a million rows and ten columns, and returns a grant that
// reads it.
func benchCSV(b *testing.B) (path string, g tool.Grant) {
	path = filepath.Join(b.TempDir(), "bench.csv")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	w.WriteString("id,count,price,ratio,city,kind,day,at,code,amount\n")
	for i := range 1_000_000 {
		fmt.Fprintf(w, "%d,%d,%d.%02d,%.6f,city%d,kind_%c,2024-%02d-%02d,2024-%02d-%02dT%02d:%02d:00,K-%07d,%d\n",
			i, i*7919%1000, i%5000, i%100, float64(i*31%1000003)/1000003, i*13%20, 'a'+i*7%20, i%12+1, i%28+1, i%12+1, i%28+1, i%24, i%60, i, i*37%100000)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return path, tool.Grant{Do: func(name string, args *value.Dict) (tool.Outcome, error) {
		if name == "fs.stat" {
			return tool.Outcome{Value: value.NewDict("kind", "file", "size", info.Size(), "modified", "")}, nil
		}
		part := make([]byte, args.Int("length"))
		n, err := f.ReadAt(part, args.Int("offset"))
		if err == io.EOF {
			err = nil
		}
		return tool.Outcome{Value: part[:n]}, err
	}}
}

// BenchmarkReadCSV infers the types of a file of 80 MB and reads it. encoding/csv only
// splits the same file.
func BenchmarkReadCSV(b *testing.B) {
	ctx := context.Background()
	path, g := benchCSV(b)
	var found, scanned, split time.Duration
	var size int64
	for b.Loop() {
		start := time.Now()
		in, err := openFile(context.Background(), g, path)
		if err != nil {
			b.Fatal(err)
		}
		size = in.size
		t, err := readCSV(ctx, g, in, csvOptions())
		if err != nil || t.rows != 1_000_000 {
			b.Fatal(t, err)
		}
		found += time.Since(start)

		start = time.Now()
		if err := t.each(ctx, g, func(*Batch) error { return nil }); err != nil {
			b.Fatal(err)
		}
		scanned += time.Since(start)

		start = time.Now()
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		r := csv.NewReader(bufio.NewReaderSize(f, 256<<10))
		r.ReuseRecord = true
		for err == nil {
			_, err = r.Read()
		}
		f.Close()
		split += time.Since(start)
	}
	b.SetBytes(size)
	megabytes := float64(size) * float64(b.N) / 1e6
	b.ReportMetric(megabytes/found.Seconds(), "found-MB/s")
	b.ReportMetric(megabytes/scanned.Seconds(), "scanned-MB/s")
	b.ReportMetric(megabytes/split.Seconds(), "encoding/csv-MB/s")
	b.ReportMetric(split.Seconds()/found.Seconds(), "found-ratio")
	b.ReportMetric(split.Seconds()/scanned.Seconds(), "scanned-ratio")
}
