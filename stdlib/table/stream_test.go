package table

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// madeFile serves a CSV file of n parts that are equal except for the first line, so the
// file takes little memory.
func madeFile(n int) tool.Grant {
	first, next := linesOfPart("key,text,number,"), linesOfPart("key 0,text of row 0,0,")
	return tool.Grant{Do: func(name string, args *value.Dict) (tool.Outcome, error) {
		switch {
		case name == "fs.stat":
			return tool.Outcome{Value: value.NewDict("kind", "file", "size", int64(n)*partSize, "modified", "")}, nil
		case args.Int("offset") == 0:
			return tool.Outcome{Value: first}, nil
		}
		return tool.Outcome{Value: next}, nil
	}}
}

// lineSize is the length of the lines of the file.
const lineSize = 64

// linesOfPart returns lines with one of 1,000 keys, a distinct text and a number.
func linesOfPart(first string) []byte {
	b := make([]byte, 0, partSize)
	for i := 0; len(b) < partSize; i++ {
		line := fmt.Sprintf("key %d,text of row %d,%d,", i%1000, i, i%1000)
		if i == 0 {
			line = first
		}
		b = append(append(b, line...), strings.Repeat(" ", lineSize-1-len(line))...)
		b = append(b, '\n')
	}
	return b
}

// liveBytes returns the memory in use.
func liveBytes() int64 {
	runtime.GC()
	runtime.GC() // objects that the first one released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestStreamKeepsLittle checks that the results for a file of 12 MB, or 64 MB in make soak, do not
// keep its text, which contains a few of their values.
func TestStreamKeepsLittle(t *testing.T) {
	parts := testutil.Times(3, 16)
	g := madeFile(parts)
	o := csvOptions()
	in, err := openFile(context.Background(), g, "made.csv")
	if err != nil {
		t.Fatal(err)
	}
	read, err := readCSV(context.Background(), g, in, o)
	if err != nil || read.held != nil || read.rows != parts*partSize/lineSize-1 {
		t.Fatalf("read: %v, %v", read, err)
	}
	whole := func(v value.Value, err error) value.Value {
		if err != nil {
			t.Fatal(err)
		}
		of, ok := v.(*Table)
		if !ok || of.held != nil {
			return v
		}
		made, err := of.hold(context.Background(), g)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	call := func(of tool.Object, name string, some []value.Value, named ...value.Value) value.Value {
		return whole(callGranted(t, g, of, name, some, named...))
	}
	everyThousandth := call(read, "filter", nil, "where", "key", "op", "==", "value", "key 7").(*Table)
	if everyThousandth.rows != 66*parts {
		t.Errorf("the filter keeps %d rows", everyThousandth.rows)
	}
	for name, make := range map[string]func() value.Value{
		"group_by": func() value.Value {
			groups := call(read, "group_by", []value.Value{"key"}).(tool.Object)
			return call(groups, "agg", nil, "n", "count", "first", value.Tuple{"text", "first"}, "last", value.Tuple{"text", "last"},
				"least", value.Tuple{"text", "min"}, "greatest", value.Tuple{"text", "max"}, "different", value.Tuple{"text", "distinct"})
		},
		"describe": func() value.Value { return call(read, "describe", nil) },
		"summary":  func() value.Value { return call(read, "summary", nil) },
		"filter":   func() value.Value { return call(read, "filter", nil, "where", "key", "op", "==", "value", "key 7") },
		"distinct": func() value.Value { return call(read, "distinct", []value.Value{"key"}) },
		"sample":   func() value.Value { return call(read, "sample", nil, "n", int64(100), "seed", int64(1)) },
		"tail":     func() value.Value { return call(read, "tail", nil) },
		"rows": func() value.Value {
			var rows []value.Value
			for i := range 20 {
				row, err := read.At(context.Background(), g, int64(i*(read.rows/20)))
				if err != nil {
					t.Fatal(err)
				}
				rows = append(rows, row)
			}
			return value.List(rows)
		},
	} {
		before := liveBytes()
		made := make()
		const most = 2 << 20
		if kept := liveBytes() - before; kept > most {
			t.Errorf("%s keeps %d KB of %d MB", name, kept>>10, parts*partSize>>20)
		}
		runtime.KeepAlive(made)
	}
}

// TestStreamDepth derives tables from one another without end.
func TestStreamDepth(t *testing.T) {
	t.Parallel()
	of := streamed(heldTable("n", columnFrom(Integer, int64(1))), 1, false)
	u, steps := of, 0
	for ; steps < 1_000_000; steps++ {
		v, err := callRow(t, u, "rename", nil, "names", value.NewDict(u.names[0], fmt.Sprint("n", steps)))
		if err != nil {
			if e := value.ErrorOf(err, value.Failed); e.Kind != value.Limit || !strings.Contains(e.Hint, "use fewer operations") {
				t.Errorf("after %d steps: %v", steps, err)
			}
			break
		}
		u = v.(*Table)
	}
	if steps != maxDepth {
		t.Errorf("%d tables are read through one another, want %d", steps, maxDepth)
	}
	if b, err := u.gather(context.Background(), tool.Grant{}); err != nil || b.Rows != 1 {
		t.Errorf("the last of them has %v, %v", b, err)
	}
}

// TestStreamEnds ends a call while a filter keeps no row.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	batches := 0
	endless := newStream([]string{"n"}, []Type{Integer}, -1, func(_ context.Context, _ tool.Grant, yield func(*Batch) error) error {
		for {
			if batches++; batches == 10 {
				cancel()
			}
			if err := yield(&Batch{Rows: 1, Columns: []*Column{columnFrom(Integer, int64(batches))}}); err != nil {
				return err
			}
		}
	})
	none := endless
	for range 3 {
		v, err := callRow(t, none, "filter", nil, "where", "n", "op", "<", "value", int64(0))
		if err != nil {
			t.Fatal(err)
		}
		none = v.(*Table)
	}
	if _, err := none.gather(ctx, tool.Grant{}); !errors.Is(err, context.Canceled) || batches > 10 {
		t.Errorf("after %d batches: %v, want the error of the call", batches, err)
	}
}

func TestFormatOfBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a,b\n1,2\n":                            formatCSV,
		`[{"a":1}]`:                             formatJSON,
		`{"a":1}`:                               formatLines,
		`{"a":[1,2],"b":[3,4]}`:                 formatJSON,
		`{"a":[1,2],"b":3}`:                     formatLines,
		`{"rows":[{"a":1}]}` + "\n":             formatJSON,
		`{"a":[1]}` + "\n" + `{"a":[2]}`:        formatLines,
		"{\n\"a\": [1]}":                        formatJSON,
		"{}":                                    formatLines,
		"PK\x03\x04":                            formatXLSX,
		"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":      formatXLSX,
		"\xff\xfe[\x00{\x00}\x00]\x00":          formatJSON,
		"\x00{\x00\"\x00a\x00\"\x00:\x001\x00}": formatLines,
		"\xff\xfea\x00,\x00b\x00\n\x00":         formatCSV,
		"\ufeff {\"a\":1}\n{\"a\":2}":           formatLines,
	} {
		if got, err := formatOfBytes([]byte(text)); got != want || err != nil {
			t.Errorf("formatOfBytes(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0", -0.5: "-0.5", 12: "12", 1_000_000: "1000000", -1_234_567: "-1234567", 999_999_999_999_999: "999999999999999",
		1e15: "1e+15", 1234567.75: "1234568", 123456.789: "123457", 0.000001234567: "1.23457e-06", 2.5: "2.5",
	} {
		if got := short(f); got != want {
			t.Errorf("short(%v) = %s, want %s", f, got, want)
		}
	}
}
