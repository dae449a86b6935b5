package table

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// wideTable has a row of n columns; half names every second of them. With quadratic time,
// the tests would take minutes in make soak.
func wideTable(n int) (u *Table, half value.List) {
	names, b := make([]string, n), &Batch{Rows: 1}
	for i := range names {
		names[i] = fmt.Sprint("c", i)
		b.Columns = append(b.Columns, ints(int64(i)))
		if i%2 == 0 {
			half = append(half, names[i])
		}
	}
	return newHeld(names, b), half
}

func TestWideTables(t *testing.T) {
	t.Parallel()
	n := testutil.Times(20_000, 100_000)
	u, half := wideTable(n)
	last := func(i int, suffix string) string { return fmt.Sprint("c", n-i, suffix) }
	others := tableBy(t, u, "drop", half)
	rename := &value.Dict{}
	for _, name := range half {
		rename.Put(name.(string), "x"+name.(string))
	}
	for _, test := range []struct {
		name          string
		got           *Table
		rows, columns int
		last          string
	}{
		{"select", tableBy(t, u, "select", half), 1, n / 2, last(2, "")},
		{"drop", others, 1, n / 2, last(1, "")},
		{"distinct", tableBy(t, u, "distinct", half), 1, n, last(1, "")},
		{"rename", tableBy(t, u, "rename", rename), 1, n, last(1, "")},
		{"join", tableBy(t, u, "join", u, half, named{"suffix": "_"}), 1, n + n/2, last(1, "_")},
		{"unpivot", mustTable(t, u, "unpivot", nil), n, 2, "value"},
		{"summary", mustTable(t, u, "summary", []value.Value{half}), n / 2, 15, "estimated"},
	} {
		if names := test.got.names; test.got.rows != test.rows || len(names) != test.columns || names[len(names)-1] != test.last {
			t.Errorf("%s returns %d rows × %d columns, the last %q; want %d × %d, %q", test.name, test.got.rows, len(names), names[len(names)-1], test.rows, test.columns, test.last)
		}
	}
	if _, err := callRow(t, u, "unpivot", []value.Value{half}); value.ErrorOf(err, value.Failed).Kind != value.Limit {
		t.Errorf("unpivot of half of the columns next to the others: %v, want the limit of memory", err)
	}
}

func TestFinderAgreesWithColumn(t *testing.T) {
	t.Parallel()
	u := tableOf("a", Integer, []value.Value{1}, "b", Integer, []value.Value{1}, "A", Integer, []value.Value{1})
	for _, name := range slices.Concat(u.names, []string{"", "c"}) {
		at, err := u.column(name)
		for _, times := range []int{0, 1, 100} {
			found, failed := u.finder(times)(name)
			if found != at || fmt.Sprint(failed) != fmt.Sprint(err) {
				t.Errorf("finder(%d)(%q) = %d, %v, want %d, %v", times, name, found, failed, at, err)
			}
		}
	}
}
