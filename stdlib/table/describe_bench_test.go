package table

import (
	"strconv"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// benchTable is 1,000,000 rows of ten columns of all kinds.
func benchTable(n int) *Table {
	b := &Batch{Rows: n}
	var names []string
	add := func(name string, c *Column) {
		names = append(names, name)
		b.Columns = append(b.Columns, c)
	}
	whole := func(t Type, f func(i int) int64) *Column {
		c := newColumn(t, n)
		for i := range n {
			c.addInt(f(i))
		}
		return c
	}
	real := func(f func(i int) float64) *Column {
		c := newColumn(Float, n)
		for i := range n {
			c.addFloat(f(i))
		}
		return c
	}
	texts := func(mod int) *Column {
		c := newColumn(Text, n)
		for i := range n {
			c.addText("value " + strconv.Itoa(i*7919%mod))
		}
		return c
	}
	add("id", whole(Integer, func(i int) int64 { return int64(i) }))
	add("region", texts(20))
	add("town", texts(5000))
	add("comment", texts(n))
	add("count", whole(Integer, func(i int) int64 { return int64(i * 31 % 100) }))
	add("amount", real(func(i int) float64 { return float64(i*7919%100_003) / 100 }))
	add("price", real(func(i int) float64 { return float64(i*104729%1_000_003) / 7 }))
	add("ok", whole(Bool, func(i int) int64 { return int64(i % 2) }))
	add("day", whole(Date, func(i int) int64 { return int64(i % 3000) }))
	add("at", whole(DateTime, func(i int) int64 { return int64(i) * 1e6 }))
	return newHeld(names, b)
}

func BenchmarkDescribe(b *testing.B) {
	const n = 1_000_000
	of := benchTable(n)
	for b.Loop() {
		described(b, of)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(n*10), "ns/cell")
}

func BenchmarkAgg(b *testing.B) {
	const n = 1_000_000
	of := benchTable(n)
	tests := []struct {
		name string
		keys []value.Value
		aggs []value.Value
	}{
		{"text, two sums", []value.Value{"region"}, []value.Value{"a", pair("count", "sum"), "b", pair("amount", "sum")}},
		{"5,000 texts, two sums", []value.Value{"town"}, []value.Value{"a", pair("count", "sum"), "b", pair("amount", "sum")}},
		{"integer, count", []value.Value{"count"}, []value.Value{"n", "count"}},
		{"two keys, mean", []value.Value{"region", "day"}, []value.Value{"m", pair("amount", "mean")}},
		{"text, median", []value.Value{"region"}, []value.Value{"m", pair("amount", "median")}},
		{"text, distinct", []value.Value{"region"}, []value.Value{"d", pair("town", "distinct")}},
	}
	for _, test := range tests {
		b.Run(test.name, func(b *testing.B) {
			s := grouped(b, of, test.keys...)
			for b.Loop() {
				mustTable(b, s, "agg", nil, test.aggs...)
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/float64(time.Second/time.Microsecond), "Mrows/s")
		})
	}
}
