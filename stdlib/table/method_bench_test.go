package table

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// million returns a table of a million rows and five columns.
func million() *Table {
	const n = 1_000_000
	r := rand.New(rand.NewPCG(1, 2))
	id, n1, f, s, d := newColumn(Integer, n), newColumn(Integer, n), newColumn(Float, n), newColumn(Text, n), newColumn(Date, n)
	for i := range n {
		id.addInt(int64(i))
		n1.addInt(r.Int64N(1000))
		f.addFloat(r.NormFloat64() * 100)
		s.addText(fmt.Sprintf("customer %06d", r.IntN(100_000)))
		d.addInt(r.Int64N(10_000))
	}
	return heldTable("id", id, "n", n1, "price", f, "name", s, "day", d)
}

// BenchmarkFilterAndSort measures methods on a million rows, compared with the minimum
// cost: a pass over the column, or a sort of its bare values.
func BenchmarkFilterAndSort(b *testing.B) {
	u := million()
	prices := u.held.Columns[2].Floats
	b.ResetTimer()
	for _, test := range []struct {
		name string
		args []value.Value
		base func() int
	}{
		{"filter", []value.Value{"price", ">", 100.0}, func() int {
			kept := 0
			for _, f := range prices {
				if f > 100 {
					kept++
				}
			}
			return kept
		}},
		{"sort", []value.Value{"price"}, func() int { c := slices.Clone(prices); slices.Sort(c); return len(c) }},
		{"sort", []value.Value{"name", "-price"}, func() int { c := slices.Clone(u.held.Columns[3].Texts); slices.Sort(c); return len(c) }},
		{"distinct", []value.Value{"name"}, nil},
		{"join", []value.Value{tableBy(b, u, "head", int64(100_000)), "id"}, nil},
	} {
		b.Run(test.name+"_"+fmt.Sprint(len(test.args)), func(b *testing.B) {
			b.ReportAllocs()
			var base time.Duration
			for range b.N {
				tableBy(b, u, test.name, test.args...)
				if test.base != nil {
					b.StopTimer()
					start := time.Now()
					if test.base() == 0 {
						b.Fatal("nothing")
					}
					base += time.Since(start)
					b.StartTimer()
				}
			}
			b.ReportMetric(float64(u.rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
			if base > 0 {
				b.ReportMetric(float64(b.Elapsed())/float64(base), "times_bare")
			}
		})
	}
}

func BenchmarkFilterByAFunction(b *testing.B) {
	u := million()
	f := tool.Function(func(args ...value.Value) (value.Value, error) {
		v, _ := args[0].(*value.Dict).Get("price")
		return v.(float64) > 100, nil
	})
	for b.Loop() {
		tableBy(b, u, "filter", f)
	}
}

func BenchmarkRender(b *testing.B) {
	u := million()
	for b.Loop() {
		if _, err := u.Text(context.Background(), tool.Grant{}); err != nil {
			b.Fatal(err)
		}
	}
}
