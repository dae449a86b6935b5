package table

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// named are the named arguments of a call.
type named map[string]value.Value

// method calls a method of a table like a script. The last argument may be named
// arguments.
func method(t *Table, name string, args ...value.Value) (value.Value, error) {
	dict := &value.Dict{}
	if n := len(args); n > 0 {
		if given, ok := args[n-1].(named); ok {
			args = args[:n-1]
			for k, v := range given {
				dict.Put(k, v)
			}
		}
	}
	for _, r := range bound(&kinds{}, slices.Concat(shapeRows(), filterRows(), combineRows())) {
		if r.Name != name {
			continue
		}
		bound, err := r.Bind(args, dict)
		if err != nil {
			return nil, err
		}
		grant := tool.Grant{Rand: func() (*rand.Rand, error) { return rand.New(rand.NewPCG(1, 2)), nil }}
		out, err := r.Do(context.Background(), tool.Effect{Args: bound, Self: t}, grant)
		return out.Value, err
	}
	panic("no method " + name)
}

// fataler is the common interface of testing.TB and rapid.T.
type fataler interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// tableBy is method for methods that return a table.
func tableBy(t fataler, u *Table, name string, args ...value.Value) *Table {
	t.Helper()
	v, err := method(u, name, args...)
	if err != nil {
		t.Fatalf("%s(%v): %v", name, args, err)
	}
	return v.(*Table)
}

// heldTable returns a table of columns: a name and its column, as separate arguments.
func heldTable(pairs ...any) *Table {
	b := &Batch{}
	var names []string
	for i := 0; i < len(pairs); i += 2 {
		names = append(names, pairs[i].(string))
		c := pairs[i+1].(*Column)
		b.Columns = append(b.Columns, c)
		b.Rows = c.Len()
	}
	return withKinds(newHeld(names, b))
}

// withKinds sets the object types, as the rows of a module do for their results.
func withKinds(t *Table) *Table {
	t.kinds = &kinds{table: tool.ObjectType{Name: "table"}}
	return t
}

// columnFrom returns a column of the values of a script.
func columnFrom(t Type, values ...value.Value) *Column {
	c := newColumn(t, 0)
	for _, v := range values {
		if v == nil {
			c.addMissing()
		} else if t == Any {
			c.addAny(v)
		} else if !c.addValue(v) {
			panic(fmt.Sprintf("%v is no %s", v, t))
		}
	}
	return c
}

// streamed returns the same table as a stream with batches of so many rows. If known is
// false, the number of rows is unknown.
func streamed(t *Table, size int, known bool) *Table {
	rows := -1
	if known {
		rows = t.rows
	}
	return withKinds(newStream(t.names, t.types, rows, func(_ context.Context, _ tool.Grant, yield func(*Batch) error) error {
		for i := 0; i < t.rows; i += size {
			if err := yield(t.held.slice(i, min(i+size, t.rows))); err != nil {
				return err
			}
		}
		return nil
	}))
}

// forms are the same table held and streamed.
func forms(t *Table) map[string]*Table {
	return map[string]*Table{"held": t, "by 1": streamed(t, 1, false), "by 3": streamed(t, 3, true), "by 100": streamed(t, 100, false)}
}

// records returns the rows as scripts see them, without names.
func records(t fataler, u *Table) [][]value.Value {
	t.Helper()
	var rows [][]value.Value
	err := u.each(context.Background(), tool.Grant{}, func(b *Batch) error {
		for _, c := range b.Columns {
			if c.Len() != b.Rows || c.Missing != nil && len(c.Missing) != b.Rows {
				t.Fatalf("a column has %d values (%d marks) in a batch of %d rows", c.Len(), len(c.Missing), b.Rows)
			}
		}
		for i := range b.Rows {
			row := make([]value.Value, len(b.Columns))
			for at, c := range b.Columns {
				if c.Type != u.types[at] {
					t.Fatalf("column %d is %v, but declared as %v", at, c.Type, u.types[at])
				}
				row[at] = c.value(i)
			}
			rows = append(rows, row)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("records: %v", err)
	}
	return rows
}

// check fails if a table does not have these names, types and rows.
func check(t fataler, what string, got *Table, names []string, types []Type, want [][]value.Value) {
	t.Helper()
	if !slices.Equal(got.names, names) || !slices.Equal(got.types, types) {
		t.Fatalf("%s has columns %v %v, want %v %v", what, got.names, got.types, names, types)
	}
	rows := records(t, got)
	if got.rows >= 0 && got.rows != len(rows) {
		t.Fatalf("%s declares %d rows, but has %d", what, got.rows, len(rows))
	}
	if len(rows) != len(want) {
		t.Fatalf("%s = %v, want %v", what, rows, want)
	}
	for i := range rows {
		for at := range names {
			if !value.Equal(rows[i][at], want[i][at]) {
				t.Fatalf("%s: row %d, %s = %#v, want %#v", what, i, names[at], rows[i][at], want[i][at])
			}
		}
	}
}

// drawTable draws a table with a column of each of several types.
func drawTable(t *rapid.T, label string) *Table {
	names := []string{"text", "integer", "float", "bool", "date", "datetime", "instant", "any", "number"}
	kinds := []Type{Text, Integer, Float, Bool, Date, DateTime, Instant, Any, Float}
	rows := rapid.IntRange(0, 12).Draw(t, label+" rows")
	b := &Batch{Rows: rows}
	for i, typ := range kinds {
		c := newColumn(typ, rows)
		for range rows {
			if rapid.IntRange(0, 5).Draw(t, "missing") == 0 {
				c.addMissing()
			} else {
				drawCell(t, c, names[i] == "number")
			}
		}
		b.Columns = append(b.Columns, c)
	}
	return withKinds(newHeld(names, b))
}

// drawCell appends one of a few values, so that values are repeated.
func drawCell(t *rapid.T, c *Column, whole bool) {
	switch c.Type {
	case Text:
		c.addText(rapid.SampledFrom([]string{"", "a", "b", "ab", "é", "–", "10", "a long text with the same beginning 1", "a long text with the same beginning 2"}).Draw(t, "text"))
	case Integer:
		c.addInt(rapid.SampledFrom([]int64{-2, 0, 1, 2, 3, math.MaxInt64, math.MinInt64, 1 << 53}).Draw(t, "integer"))
	case Float:
		floats := []float64{-1.5, 0, 1, 2, 1e300, math.Inf(1), math.Inf(-1), math.NaN()}
		if whole {
			floats = []float64{0, 1, 2, 3, 1 << 53}
		}
		c.addFloat(rapid.SampledFrom(floats).Draw(t, "float"))
	case Bool:
		c.addInt(rapid.Int64Range(0, 1).Draw(t, "bool"))
	case Date:
		c.addInt(rapid.Int64Range(-1, 1).Draw(t, "days"))
	case Any:
		c.addAny(rapid.SampledFrom([]value.Value{"a", "b", int64(1), 1.0, 2.5, true, value.List{int64(1), "a"}, value.NewDict("k", "v")}).Draw(t, "any"))
	default:
		c.addInt(rapid.Int64Range(-1, 1).Draw(t, "days") * microsPerDay)
	}
}

// both checks the result of a method for each form of a table.
func both(t fataler, u *Table, names []string, types []Type, want [][]value.Value, name string, args ...value.Value) {
	t.Helper()
	for form, v := range forms(u) {
		check(t, fmt.Sprintf("%s: %s%v", form, name, args), tableBy(t, v, name, args...), names, types, want)
	}
}

// refused checks that a method returns the same error for each form of a table.
func refused(t *testing.T, u *Table, want, hint, name string, args ...value.Value) {
	t.Helper()
	for form, v := range forms(u) {
		made, err := method(v, name, args...)
		if m, ok := made.(*Table); ok && err == nil {
			_, err = m.gather(context.Background(), tool.Grant{})
		}
		e := value.ErrorOf(err, value.Internal)
		if e == nil {
			t.Errorf("%s: %s%v does not fail, want %q", form, name, args, want)
			continue
		}
		if e.Message() != want || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %s%v = %q (hint %q), want %q (hint %q)", form, name, args, e.Message(), e.Hint, want, hint)
		}
		if e.Kind != value.Invalid && e.Kind != value.Denied {
			t.Errorf("%s: %s%v fails with kind %v", form, name, args, e.Kind)
		}
	}
}
