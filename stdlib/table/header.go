package table

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// headerName returns the column name in a cell of a header: without the spaces around
// it, and with a space for each control character.
func headerName(s string) string {
	visible := func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}
	return strings.Clone(strings.TrimSpace(strings.Map(visible, s)))
}

// uniqueNames makes column names unique. A column without a name is named column_1,
// column_2 and so on by its position, and a repeated name gets a number, as in name_2.
// The notes report the changes, unless no column has a name.
func uniqueNames(given []string) (names, notes []string) {
	names = slices.Clone(given)
	taken := setOf(names)
	last := make(map[string]int, len(names)) // the last number that was appended to a name
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
		notes = append(notes, "columns without a name: renamed to "+someNames(made))
	}
	if len(changed) > 0 {
		notes = append(notes, "repeated names: "+someNames(changed))
	}
	return names, notes
}

// unusedName returns a name with a number appended, at least n, that no column has, and
// adds it to taken.
func unusedName(taken map[string]bool, name string, n int) (string, int) {
	for ; ; n++ {
		s := name + strconv.Itoa(n)
		if !taken[s] {
			taken[s] = true
			return s, n
		}
	}
}

// checkTypes returns an error if types has a column that does not exist.
func checkTypes(types map[string]Type, names []string) error {
	known := setOf(names)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if !known[name] {
			return noSuchColumn(name, names)
		}
	}
	return nil
}

// typesOfColumns returns the types of columns: those that the caller specified, and the
// types of their values for the others.
func (o *readOptions) typesOfColumns(names []string, columns []kindSet) ([]Type, error) {
	if len(names) > 0 { // otherwise the columns are unknown: a file without records
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
