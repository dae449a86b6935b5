package table

import (
	"math"

	"github.com/cassidy-run/cassidy/runtime/value"
)

const partsDoc = "If it is True, the result is a dict with the text and its parts: a list of texts and lists of dicts, each of which can be passed to show. " +
	"The list is empty if there is too much to show, or nothing but text."

// maxParts bounds the parts, in bytes of their texts and eight for everything else.
const maxParts = 32 << 10

// textAndParts returns what methods return with parts = True.
func textAndParts(text string, parts value.List) value.Value {
	if partsSize(parts) > maxParts {
		parts = value.List{}
	}
	return value.NewDict("text", text, "parts", parts)
}

func partsSize(v value.Value) (n int) {
	switch v := v.(type) {
	case string:
		return len(v)
	case value.List:
		for _, x := range v {
			n += partsSize(x)
		}
		return n
	case *value.Dict:
		for k, x := range v.All() {
			n += partsSize(k) + partsSize(x)
		}
		return n
	}
	return 8
}

// partOf returns a value for a part: a long text is cut, and what is not a number, a bool or missing is a text.
func partOf(v value.Value) value.Value {
	const longest = 200
	switch n := v.(type) {
	case nil, bool, int64:
		return v
	case float64:
		if !math.IsNaN(n) && !math.IsInf(n, 0) {
			return v
		}
	case string:
		return cutTo(n, longest)
	}
	return cutTo(valueText(v), longest)
}

// parts returns the rows that are shown, and how many there are.
func (x *excerpt) parts() value.List {
	const most = 2000 // cells
	if x.Rows*len(x.Columns) > most {
		return value.List{}
	}
	rows := value.List{}
	for i := range x.Rows {
		row := &value.Dict{}
		for at, c := range x.Columns {
			row.Put(cut(x.table.names[at]), partOf(c.value(i)))
		}
		if row.Len() < len(x.Columns) { // the beginnings of two names are the same
			return value.List{}
		}
		rows = append(rows, row)
	}
	list := value.List{rows}
	if len(rows) == 0 {
		list = value.List{}
	}
	switch {
	case x.all < 0:
		list = append(list, "more than "+counted(x.Rows, "row"))
	case x.head < x.Rows:
		list = append(list, thousands(int64(x.Rows))+" of "+counted(x.all, "row")+", without those before the last "+thousands(int64(x.Rows-x.head)))
	case x.Rows < x.all:
		list = append(list, "the first "+thousands(int64(x.Rows))+" of "+counted(x.all, "row"))
	case x.Rows == 0:
		list = append(list, counted(x.Rows, "row"))
	}
	return list
}

// parts returns a text and a table for each kind of columns, with what says most at the left.
func (d *description) parts() value.List {
	list := value.List{counted(d.rows, "row") + ", " + counted(len(d.table.names), "column")}
	for _, note := range d.table.notes {
		list = append(list, escaped(note))
	}
	kinds := []struct {
		title string
		is    func(t Type) bool
		row   func(f *facts, row *value.Dict)
	}{
		{"numbers", Type.number, (*facts).putNumbers},
		{"text", func(t Type) bool { return t == Text }, func(f *facts, row *value.Dict) { row.Put("top", f.frequents(3)) }},
		{"bools", func(t Type) bool { return t == Bool }, func(f *facts, row *value.Dict) {
			trues, _ := f.whole.int64()
			row.Put("true", trues)
			row.Put("false", f.n-trues)
		}},
		{"dates and times", Type.time, func(f *facts, row *value.Dict) {
			least, greatest := f.limits()
			row.Put("min", least)
			row.Put("median", f.quartiles()[1])
			row.Put("max", greatest)
			row.Put("type", f.typ.String())
		}},
		{"lists, objects and several types", func(t Type) bool { return t == Any }, func(f *facts, row *value.Dict) { row.Put("top", f.frequents(3)) }},
	}
	for _, kind := range kinds {
		rows := value.List{}
		for _, f := range d.facts {
			if !kind.is(f.typ) {
				continue
			}
			row := value.NewDict("name", cut(f.name))
			kind.row(f, row)
			row.Put("n", f.n)
			if row.Put("missing", f.missing); !f.typ.number() && f.typ != Bool {
				n, _ := f.distinct()
				row.Put("distinct", n)
			}
			if f.typ == Text {
				row.Put("shortest", int64(f.shortest))
				row.Put("longest", int64(f.longest))
			}
			rows = append(rows, row)
		}
		switch {
		case len(rows) == 0:
			continue
		case len(rows) < len(d.facts): // there are other kinds
			list = append(list, "\n"+kind.title)
		}
		list = append(list, rows)
	}
	return list
}

// putNumbers adds what is known of a column of numbers. Its distribution is empty if all of them are the same.
func (f *facts) putNumbers(row *value.Dict) {
	least, greatest := f.limits()
	q := f.quartiles()
	mean, hasMean := f.mean()
	stdev, hasStdev := f.variance.stdev()
	var distribution value.Value
	switch bins := f.q.bars(8); {
	case bins != nil:
		distribution = value.List(value.Map(bins, func(n int64) value.Value { return n }))
	case f.q.n > 0 && f.q.min == f.q.max:
		distribution = value.List{}
	}
	row.Put("distribution", distribution)
	row.Put("min", partOf(least))
	row.Put("median", partOf(q[1]))
	row.Put("max", partOf(greatest))
	row.Put("n", f.n)
	row.Put("mean", partOf(known(mean, hasMean)))
	row.Put("sd", partOf(known(stdev, hasStdev)))
	row.Put("p25", partOf(q[0]))
	row.Put("p75", partOf(q[2]))
	row.Put("type", f.typ.String())
}
