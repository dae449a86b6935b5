package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
)

type inner struct {
	A int64     `parquet:"a"`
	T time.Time `parquet:"t,timestamp(microsecond)"`
}

type record struct {
	ID     int64            `parquet:"id"`
	Name   *string          `parquet:"name"`
	When   time.Time        `parquet:"when,timestamp(millisecond)"`
	Local  int64            `parquet:"local,timestamp(nanosecond:local)"`
	Day    int32            `parquet:"day,date"`
	Clock  int64            `parquet:"clock,time(microsecond)"`
	Price  int64            `parquet:"price,decimal(2:10)"`
	Tags   []string         `parquet:"tags,list"`
	In     inner            `parquet:"in"`
	Counts map[string]int64 `parquet:"counts"`
	F      float64          `parquet:"f"`
	Bytes  []byte           `parquet:"bytes"`
	Large  uint64           `parquet:"large"`
	Small  uint32           `parquet:"small"`
	Key    [16]byte         `parquet:"key,uuid"`
	Old    deprecated.Int96 `parquet:"old"`
	OK     bool             `parquet:"ok"`
}

// written returns the path of a file with some rows.
func written[T any](t *testing.T, rows ...T) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// tableIn returns rows of a file, as JSON.
func tableIn(t *testing.T, file string, first, size int64) *table {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	opened, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	got := newTable(opened)
	if err := got.read(first, size); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTypes(t *testing.T) {
	t.Parallel()
	name := "Zoë"
	at := time.Date(2024, 3, 10, 13, 0, 0, 5e6, time.UTC)
	day := int32(at.Unix() / (24 * 60 * 60))
	file := written(t, record{
		ID: math.MaxInt64, Name: &name, When: at, Local: at.UnixNano(), Day: day, Clock: int64(90 * time.Second / time.Microsecond), Price: -12345,
		Tags: []string{"a", "b"}, In: inner{1, at}, Counts: map[string]int64{"k": 7}, F: math.NaN(), Bytes: []byte{0xff, 0}, Large: math.MaxUint64, Small: math.MaxUint32,
		Key: [16]byte{15: 1}, Old: deprecated.Int96{0, 0, 2440589}, OK: true,
	}, record{})
	got := tableIn(t, file, 0, defaultBytes)
	micros := at.UnixMicro()
	want := map[string][3]any{ // the type, and the values of both rows
		"id":     {"integer", int64(math.MaxInt64), int64(0)},
		"name":   {"text", "Zoë", nil},
		"when":   {"instant", micros, time.Time{}.UnixMicro()},
		"local":  {"datetime", micros, int64(0)},
		"day":    {"date", int64(day), int64(0)},
		"clock":  {"text", "00:01:30", "00:00:00"},
		"price":  {"float", -123.45, 0.0},
		"tags":   {"any", []any{"a", "b"}, []any{}},
		"in":     {"any", map[string]any{"a": int64(1), "t": "2024-03-10T13:00:00.005Z"}, map[string]any{"a": int64(0), "t": "0001-01-01T00:00:00Z"}},
		"counts": {"any", map[string]any{"k": int64(7)}, map[string]any{}},
		"f":      {"float", "NaN", 0.0},
		"bytes":  {"text", "/wA=", ""},
		"large":  {"any", "18446744073709551615", int64(0)},
		"small":  {"integer", int64(math.MaxUint32), int64(0)},
		"key":    {"text", "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000000"},
		"old":    {"instant", int64(24 * time.Hour / time.Microsecond), int64(-2440588 * 24 * 60 * 60 * 1e6)},
		"ok":     {"bool", true, false},
	}
	if len(got.Names) != len(want) || got.Rows != 2 || got.Count != 2 {
		t.Fatalf("%d columns, %d of %d rows", len(got.Names), got.Count, got.Rows)
	}
	text := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	for i, column := range got.Names {
		if have := text([]any{got.Types[i], got.Columns[i][0], got.Columns[i][1]}); have != text(want[column]) {
			t.Errorf("%s = %s, want %s", column, have, text(want[column]))
		}
	}
}

// A file is read in parts, which have all of its rows.
func TestParts(t *testing.T) {
	t.Parallel()
	type row struct {
		N int64  `parquet:"n"`
		S string `parquet:"s"`
	}
	rows := make([]row, 5000)
	for i := range rows {
		rows[i] = row{int64(i), strings.Repeat("x", i%100)}
	}
	file := written(t, rows...)
	next, parts := int64(0), 0
	for ; next < 5000; parts++ {
		got := tableIn(t, file, next, 50_000)
		for i, n := range got.Columns[0] {
			if n != next+int64(i) {
				t.Fatalf("row %d is %v", next+int64(i), n)
			}
		}
		if got.First != next || got.Count == 0 {
			t.Fatalf("%d rows from %d", got.Count, got.First)
		}
		next += got.Count
	}
	if parts < 5 {
		t.Errorf("%d parts", parts)
	}
	if got := tableIn(t, file, 9999, 1); got.Count != 0 || got.First != 5000 {
		t.Errorf("behind the end: %d rows from %d", got.Count, got.First)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	type row struct{ N int64 }
	whole, err := os.ReadFile(written(t, row{1}, row{2}))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"empty": nil, "text": []byte("a,b\n1,2\n"), "cut": whole[:len(whole)/2], "head": append([]byte("PAR1"), make([]byte, 100)...)} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := run([]string{file}); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range whole { // each byte changed
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0xff
		file := filepath.Join(dir, "damaged")
		if err := os.WriteFile(file, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		func() {
			f, _ := os.Open(file)
			defer f.Close()
			defer func() { _ = recover() }() // as run does
			if opened, err := parquet.OpenFile(f, int64(len(damaged))); err == nil {
				_ = newTable(opened).read(0, 1000)
			}
		}()
	}
	for _, args := range [][]string{nil, {"--help"}, {"a", "b"}, {"a", "1", "-1"}, {"a", "1", "2", "3"}, {filepath.Join(dir, "none")}} {
		if err := run(args); err == nil {
			t.Errorf("run(%q) succeeded", args)
		}
	}
}

// The files of the library's own tests, which other programs have written.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/parquet-go/parquet-go").Output()
	if err != nil {
		t.Skipf("the library's folder is unknown: %v", err)
	}
	files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "*.parquet"))
	if len(files) < 40 {
		t.Fatalf("only %d files in %s", len(files), dir)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			for next, rows := int64(0), int64(1); next < rows; {
				got := tableIn(t, file, next, 1_000_000)
				if next, rows = got.First+got.Count, got.Rows; got.Count == 0 && rows > 0 {
					t.Fatalf("no rows from %d of %d", next, rows)
				}
				if _, err := json.Marshal(got); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	got := tableIn(t, filepath.Join(strings.TrimSpace(string(dir)), "testdata", "alltypes_plain.parquet"), 0, defaultBytes)
	at := slices.Index(got.Names, "timestamp_col")
	if v := got.Columns[at][0].(int64); got.Types[at] != "instant" || !time.UnixMicro(v).Equal(time.Date(2009, 3, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("timestamp_col = %s %d", got.Types[at], v)
	}
}
