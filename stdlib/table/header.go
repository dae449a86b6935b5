package table

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// headerName is what a cell of a header says: without the spaces around it, and
// with a space for each control character.
func headerName(s string) string {
	visible := func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}
	return strings.Clone(strings.TrimSpace(strings.Map(visible, s)))
}

// uniqueNames has each column have a name of its own: one without any is called
// column_1, column_2 and so on by its place, and one that was there before gets a
// number, as name_2. The notes tell of it, unless no column has a name.
func uniqueNames(given []string) (names, notes []string) {
	names = slices.Clone(given)
	taken := make(map[string]bool, len(names))
	for _, name := range names {
		taken[name] = true
	}
	last := make(map[string]int, len(names)) // the number that was last put behind a name
	var made, changed []string
	for i, name := range names {
		if name == "" {
			names[i], _ = unusedName(taken, "column_", i+1)
			made = append(made, names[i])
			continue
		}
		if last[name]++; last[name] == 1 {
			continue
		}
		names[i], last[name] = unusedName(taken, name+"_", last[name])
		changed = append(changed, fmt.Sprintf("%s is %s", quoteCut(name), names[i]))
	}
	if 0 < len(made) && len(made) < len(names) {
		notes = append(notes, "columns without a name are called "+someNames(made))
	}
	if len(changed) > 0 {
		notes = append(notes, "names that were there before: "+someNames(changed))
	}
	return names, notes
}

// unusedName returns a name with a number behind it, at least n, that no column
// has, and takes it.
func unusedName(taken map[string]bool, name string, n int) (string, int) {
	for ; ; n++ {
		s := name + strconv.Itoa(n)
		if !taken[s] {
			taken[s] = true
			return s, n
		}
	}
}

// checkTypes fails where a type is said of a column that there is not.
func checkTypes(types map[string]Type, names []string) error {
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if !known[name] {
			return noSuchColumn(name, names)
		}
	}
	return nil
}

// typesOfColumns returns the types of columns: those that the caller says, and
// else those that the values have.
func (o *readOptions) typesOfColumns(names []string, columns []kindSet) ([]Type, error) {
	if len(names) > 0 { // else nothing is known: a file without records
		if err := checkTypes(o.types, names); err != nil {
			return nil, err
		}
	}
	types := make([]Type, len(names))
	for i, name := range names {
		if t, ok := o.types[name]; ok {
			types[i] = t
		} else {
			types[i] = columns[i].columnType()
		}
	}
	return types, nil
}
