package encoding

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// CSV returns the module csv.
func CSV() tool.Module {
	delimiter := tool.Optional("delimiter", tool.TypeString, ",", `The character between cells, as "\t" or ";".`)
	return tool.Module{
		Name: "csv",
		Doc:  "Reads and writes tables as comma-separated text (RFC 4180).",
		Funcs: []tool.Func{
			{
				Name: "parse",
				Doc: "Reads CSV text as a list of rows. Line ends may be LF or CRLF, blank lines are skipped, and a cell " +
					"in double quotes may hold anything. A row of another length than the header, or the first row, is " +
					"an error that names it, and so is a header with a name missing or given twice.",
				Params: []tool.Param{
					tool.Required("text", tool.TypeString, "The CSV text."),
					delimiter,
					tool.Optional("header", tool.TypeBoolean, true, "The first row names the columns, and each other row becomes a dict; else each row becomes a list."),
					tool.Optional("types", tool.TypeBoolean, false, "Turn cells that are written like JSON numbers into numbers, true and false into booleans, "+
						"and empty cells into None. A number with a leading zero, as in 007, stays text."),
					tool.Optional("fill", tool.TypeBoolean, false, "Fill short rows with empty cells instead of failing. A row longer than the header still fails."),
				},
				Returns: "a list of dicts, or of lists with header=False",
				Do:      row.Do(csvParse),
			},
			{
				Name: "encode",
				Doc: "Writes rows as CSV text, which parse reads back. Cells are text, numbers (whole ones without .0), " +
					"booleans (true, false) and None (empty); anything else fails.",
				Params: []tool.Param{
					tool.Required("rows", tool.TypeArray, "A list of dicts, or a list of lists."),
					delimiter,
					tool.Optional("header", tool.TypeBoolean, true, "Begin with a row of column names, where there are any."),
					row.Items(tool.Maybe("columns", tool.TypeArray, "The columns to write and their order, and the header over rows that are lists; "+
						"without it, every key of the rows in the order in which they first appear."), tool.TypeString),
				},
				Returns: "the CSV text, each row ended by a line break",
				Do:      row.Do(csvEncode),
			},
		},
	}
}

// csvDelimiter returns the delimiter of a call, one character that cannot be
// taken for anything else.
func csvDelimiter(a *value.Dict) (string, error) {
	d := a.Text("delimiter")
	if utf8.RuneCountInString(d) != 1 || strings.ContainsAny(d, "\"\r\n\ufeff") {
		return "", row.Invalid("argument 'delimiter' should be one character other than a quote or a line break")
	}
	return d, nil
}

// A csvReader takes rows off a text. It is ours and not that of encoding/csv
// because that one turns every CRLF inside a quoted cell into LF, so that a
// table which is read and written again has changed, and refuses the quote
// in 5" disk, which every spreadsheet reads.
type csvReader struct {
	rest      string
	delimiter string
	line      int // where the row at hand began, from 1
	next      int // where the next one begins
	budget    int // how many more rows and cells there may be
}

// row returns the next row, or nil at the end.
func (r *csvReader) row() ([]string, error) {
	r.skipBlank()
	if r.rest == "" {
		return nil, nil
	}
	r.line = r.next
	var cells []string
	for {
		if r.budget--; r.budget < 0 {
			return nil, row.TooMany()
		}
		cell, err := r.cell()
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
		if rest, ok := strings.CutPrefix(r.rest, r.delimiter); ok {
			r.rest = rest
			continue
		}
		r.skipLineEnd()
		r.budget--
		return cells, nil
	}
}

func (r *csvReader) skipBlank() {
	for r.rest == "\r" || strings.HasPrefix(r.rest, "\n") || strings.HasPrefix(r.rest, "\r\n") {
		r.skipLineEnd()
	}
}

func (r *csvReader) skipLineEnd() {
	r.rest = strings.TrimPrefix(r.rest, "\r")
	if rest, ok := strings.CutPrefix(r.rest, "\n"); ok {
		r.rest = rest
		r.next++
	}
}

// cell takes one cell and leaves the delimiter or the line end behind it.
func (r *csvReader) cell() (string, error) {
	if strings.HasPrefix(r.rest, `"`) {
		return r.quoted()
	}
	end := strings.IndexAny(r.rest, "\n"+r.delimiter)
	if end < 0 {
		end = len(r.rest)
	}
	if end > 0 && r.rest[end-1] == '\r' && (end == len(r.rest) || r.rest[end] == '\n') {
		end--
	}
	cell := r.rest[:end]
	r.rest = r.rest[end:]
	return cell, nil
}

func (r *csvReader) quoted() (string, error) {
	text := r.rest[1:]
	doubled := false
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '"')
		if i < 0 {
			return "", row.Invalid("the quote that opens a cell in line %d is never closed", r.next)
		}
		at += i + 1
		if at < len(text) && text[at] == '"' {
			doubled = true
			at++
			continue
		}
		cell := text[:at-1]
		if r.rest = text[at:]; !r.atCellEnd() {
			return "", row.Invalid("text follows the closing quote of a cell in line %d", r.next+strings.Count(cell, "\n")).
				WithHint(`write a quote inside a quoted cell twice, as in "5"" disk"`)
		}
		r.next += strings.Count(cell, "\n")
		if doubled {
			cell = strings.ReplaceAll(cell, `""`, `"`)
		}
		return cell, nil
	}
}

func (r *csvReader) atCellEnd() bool {
	return r.rest == "" || r.rest == "\r" || r.rest[0] == '\n' || strings.HasPrefix(r.rest, "\r\n") ||
		strings.HasPrefix(r.rest, r.delimiter)
}

func csvParse(a *value.Dict) (value.Value, error) {
	delimiter, err := csvDelimiter(a)
	if err != nil {
		return nil, err
	}
	r := &csvReader{rest: strings.TrimPrefix(a.Text("text"), "\ufeff"), delimiter: delimiter, next: 1, budget: row.MaxValues}
	convert := func(cell string) value.Value { return cell }
	if a.Bool("types") {
		convert = CSVTyped
	}
	if a.Bool("header") {
		return csvDicts(r, convert, a.Bool("fill"))
	}
	return csvLists(r, convert, a.Bool("fill"))
}

func csvDicts(r *csvReader, convert func(string) value.Value, fill bool) (value.Value, error) {
	header, err := r.row()
	if err != nil {
		return nil, err
	}
	if problem := csvHeaderProblem(header); problem != "" {
		return nil, row.Invalid("the header: %s", problem).WithHint("mend the first row, or read the text with header=False")
	}
	list := value.List{}
	for {
		cells, err := r.row()
		if err != nil {
			return nil, err
		}
		if cells == nil {
			return list, nil
		}
		if len(cells) > len(header) || (len(cells) < len(header) && !fill) {
			return nil, r.ragged(len(list)+1, len(cells), len(header), "the header has")
		}
		if r.budget -= len(header) - len(cells); r.budget < 0 {
			return nil, row.TooMany()
		}
		row := &value.Dict{}
		for i, name := range header {
			cell := ""
			if i < len(cells) {
				cell = cells[i]
			}
			row.Put(name, convert(cell))
		}
		list = append(list, row)
	}
}

// csvHeaderProblem says what is wrong with the names of columns, or "".
func csvHeaderProblem(names []string) string {
	seen := make(map[string]int, len(names))
	for i, name := range names {
		if name == "" {
			return fmt.Sprintf("column %d has no name", i+1)
		}
		if first, ok := seen[name]; ok {
			return fmt.Sprintf("columns %d and %d are both named %q", first+1, i+1, name)
		}
		seen[name] = i
	}
	return ""
}

// ragged is the error for the row at hand, which is not as long as it should be.
func (r *csvReader) ragged(line, got, want int, whose string) error {
	return row.Invalid("row %d (line %d) has %d cells where %s %d", line, r.line, got, whose, want).
		WithHint("mend the row, check the delimiter, or pass fill=True if short rows are meant to end in empty cells")
}

func csvLists(r *csvReader, convert func(string) value.Value, fill bool) (value.Value, error) {
	list := value.List{}
	width := 0
	for {
		cells, err := r.row()
		if err != nil {
			return nil, err
		}
		if cells == nil {
			break
		}
		if len(list) > 0 && len(cells) != width && !fill {
			return nil, r.ragged(len(list)+1, len(cells), width, "the first row has")
		}
		row := make(value.List, len(cells))
		for i, cell := range cells {
			row[i] = convert(cell)
		}
		list = append(list, row)
		width = max(width, len(cells))
	}
	return csvFill(r, list, width, convert(""))
}

// csvFill makes all rows as long as the longest.
func csvFill(r *csvReader, list value.List, width int, empty value.Value) (value.Value, error) {
	for i, v := range list {
		line := v.(value.List)
		if r.budget -= width - len(line); r.budget < 0 {
			return nil, row.TooMany()
		}
		for len(line) < width {
			line = append(line, empty)
		}
		list[i] = line
	}
	return list, nil
}

// CSVTyped reads a cell as what it is written like.
func CSVTyped(cell string) value.Value {
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

func csvEncode(a *value.Dict) (value.Value, error) {
	delimiter, err := csvDelimiter(a)
	if err != nil {
		return nil, err
	}
	rows := row.Elements(a, "rows")
	columns := row.Strings(a, "columns")
	named := row.Arg(a, "columns") != nil
	if !named {
		if columns, err = CSVColumns(rows); err != nil {
			return nil, err
		}
	} else if problem := csvHeaderProblem(columns); problem != "" {
		return nil, row.Invalid("argument 'columns': %s", problem)
	}
	w := &csvWriter{delimiter: delimiter}
	if a.Bool("header") && len(columns) > 0 {
		w.row(columns)
	}
	for i, row := range rows {
		cells, err := CSVCells(row, i+1, columns, named)
		if err != nil {
			return nil, err
		}
		if w.row(cells); w.Full {
			break
		}
	}
	return w.Text()
}

// CSVColumns returns the keys of rows that are dicts, in the order in which
// they first appear.
func CSVColumns(rows []value.Value) ([]string, error) {
	var columns []string
	seen := map[string]bool{}
	for i, r := range rows {
		d, _ := r.(*value.Dict)
		for k := range d.All() {
			name, ok := k.(string)
			if !ok || name == "" {
				return nil, row.Invalid("row %d has a key that is no column name: it should be a string that is not empty", i+1)
			}
			if !seen[name] {
				seen[name] = true
				columns = append(columns, name)
			}
		}
	}
	return columns, nil
}

// CSVCells returns the cells of one row, in the order of the columns.
func CSVCells(r value.Value, number int, columns []string, named bool) ([]string, error) {
	d, isDict := r.(*value.Dict)
	items, isList := value.Elements(r)
	switch {
	case isDict:
		items = make([]value.Value, len(columns))
		for i, name := range columns {
			items[i], _ = d.Get(name)
		}
	case !isList:
		return nil, row.Invalid("row %d should be a dict or a list but is %s", number, value.TypeOf(r))
	case len(columns) > 0 && !named:
		return nil, row.Invalid("row %d is a list among rows that are dicts", number)
	case named && len(items) != len(columns):
		return nil, row.Invalid("row %d has %d cells for %d columns", number, len(items), len(columns))
	}
	if len(items) == 0 {
		return nil, row.Invalid("row %d has no cells", number)
	}
	cells := make([]string, len(items))
	for i, v := range items {
		text, ok := row.Scalar(v)
		if !ok {
			return nil, row.Invalid("row %d, column %d: no cell can hold a value of type %s", number, i+1, value.TypeOf(v)).
				WithHint("turn it into text first, as with json.encode")
		}
		cells[i] = text
	}
	return cells, nil
}

// A csvWriter writes rows.
type csvWriter struct {
	row.Builder
	delimiter string
}

func (w *csvWriter) row(cells []string) {
	for i, cell := range cells {
		if i > 0 {
			w.Add(w.delimiter)
		}
		// A lone empty cell is quoted because its line would be blank; one that
		// could be taken for the mark of an encoding, because it would be.
		quote := strings.ContainsAny(cell, "\"\r\n") || strings.Contains(cell, w.delimiter) ||
			(cell == "" && len(cells) == 1) || (w.Len() == 0 && strings.HasPrefix(cell, "\ufeff"))
		if quote {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		w.Add(cell)
	}
	w.Add("\n")
}
