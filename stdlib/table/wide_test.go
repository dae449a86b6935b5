package table

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// wideTable has a row of 100,000 columns; half names every second of them. With
// quadratic time, the tests would take minutes.
func wideTable() (u *Table, half value.List) {
	const n = 100_000
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
	u, half := wideTable()
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
		{"select", tableBy(t, u, "select", half), 1, 50_000, "c99998"},
		{"drop", others, 1, 50_000, "c99999"},
		{"distinct", tableBy(t, u, "distinct", half), 1, 100_000, "c99999"},
		{"rename", tableBy(t, u, "rename", rename), 1, 100_000, "c99999"},
		{"join", tableBy(t, u, "join", u, half, named{"suffix": "_"}), 1, 150_000, "c99999_"},
		{"unpivot", mustTable(t, u, "unpivot", nil), 100_000, 2, "value"},
		{"summary", mustTable(t, u, "summary", []value.Value{half}), 50_000, 15, "estimated"},
	} {
		if names := test.got.names; test.got.rows != test.rows || len(names) != test.columns || names[len(names)-1] != test.last {
			t.Errorf("%s returns %d rows × %d columns, the last %q; want %d × %d, %q", test.name, test.got.rows, len(names), names[len(names)-1], test.rows, test.columns, test.last)
		}
	}
	if _, err := callRow(t, u, "unpivot", []value.Value{half}); value.ErrorOf(err, value.Failed).Kind != value.Limit {
		t.Errorf("unpivot of 50,000 columns next to 50,000: %v, want the limit of memory", err)
	}
}

func TestFinderAgreesWithColumn(t *testing.T) {
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
