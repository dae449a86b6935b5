package row

import (
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Columns returns the keys of rows that are dicts, in the order in which
// they first appear.
func Columns(rows []value.Value) ([]string, error) {
	var columns []string
	seen := map[string]bool{}
	for i, r := range rows {
		d, _ := r.(*value.Dict)
		for k := range d.All() {
			name, ok := k.(string)
			if !ok || name == "" {
				return nil, Invalid("row %d: invalid column name: expected a string that is not empty", i+1)
			}
			if !seen[name] {
				seen[name] = true
				columns = append(columns, name)
			}
		}
	}
	return columns, nil
}

// Cells returns the cells of one row, in the order of the columns.
func Cells(r value.Value, number int, columns []string, named bool) ([]string, error) {
	d, isDict := r.(*value.Dict)
	items, isList := value.Elements(r)
	switch {
	case isDict:
		items = make([]value.Value, len(columns))
		for i, name := range columns {
			items[i], _ = d.Get(name)
		}
	case !isList:
		return nil, Invalid("row %d: expected a dict or a list but got %s", number, value.TypeOf(r))
	case len(columns) > 0 && !named:
		return nil, Invalid("row %d is a list, but other rows are dicts", number)
	case named && len(items) != len(columns):
		return nil, Invalid("row %d has %d cells, but there are %d columns", number, len(items), len(columns))
	}
	if len(items) == 0 {
		return nil, Invalid("row %d has no cells", number)
	}
	cells := make([]string, len(items))
	for i, v := range items {
		text, ok := Scalar(v)
		if !ok {
			return nil, Invalid("row %d, column %d: a cell cannot hold a value of type %s", number, i+1, value.TypeOf(v)).
				WithHint("convert it to text first, for example with json.encode")
		}
		cells[i] = text
	}
	return cells, nil
}

// Typed reads a cell as what it is written like.
func Typed(cell string) value.Value {
	switch cell {
	case "":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	first, last := cell[0], cell[len(cell)-1]
	if (first != '-' && (first < '0' || '9' < first)) || last < '0' || '9' < last {
		return cell
	}
	v, err := value.ParseJSON([]byte(cell))
	if err != nil {
		return cell
	}
	return v
}
