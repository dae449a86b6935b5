package encoding

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/csv"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// CSV returns the module csv: parse and encode, for tables that fit in memory as lists.
func CSV() tool.Module {
	delimiter := tool.Optional("delimiter", tool.TypeString, ",", `The character between cells, such as "\t" or ";".`)
	return row.Pure(tool.Module{
		Name: "csv",
		Doc:  "Tables as comma-separated text (RFC 4180).",
		Funcs: []tool.Func{
			{
				Name: "parse",
				Doc: "Parse CSV text into a list of rows. Lines may end in LF, CR LF or CR. Blank lines are skipped. A cell " +
					"in double quotes may contain any character. Rows of different lengths, " +
					"missing column names and repeated column names are errors.",
				Params: []tool.Param{
					tool.Required("text", tool.TypeString, "The CSV text."),
					delimiter,
					tool.Optional("header", tool.TypeBoolean, true, "Whether the first row has the names of the columns. If True, each row after the first row becomes a dict. If False, each row becomes a list."),
					tool.Optional("types", tool.TypeBoolean, false, "Convert JSON numbers to numbers, true and false to booleans, "+
						"and empty cells to None. A number with a leading zero, such as 007, remains text."),
					tool.Optional("fill", tool.TypeBoolean, false, "Fill short rows with empty cells. If header is True, a row that is longer than the header is an error. If header is False, all rows get the length of the longest row."),
				},
				Returns: "a list of dicts; with header = False, a list of lists",
				Do:      row.Do(csvParse),
			},
			{
				Name: "encode",
				Doc:  "Format rows as CSV text, which csv.parse can read. A cell is a text, a number, a boolean or None. 2.0 is written as 2, True as true, and None as an empty cell. Other values are an error.",
				Params: []tool.Param{
					tool.Required("rows", tool.TypeArray, "A list of dicts, or a list of lists."),
					delimiter,
					tool.Optional("header", tool.TypeBoolean, true, "Begin with a row of column names. If the rows are lists, pass columns too."),
					row.Items(tool.Maybe("columns", tool.TypeArray, "The columns to write, in this order. If the rows are lists, these are the names in the header. "+
						"Default: all keys of the rows, in the order in which they first appear."), tool.TypeString),
				},
				Returns: "the CSV text; each row ends with a line break",
				Do:      row.Do(csvEncode),
			},
		},
	})
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

// A csvReader reads the rows of a text.
type csvReader struct {
	scanner *csv.Scanner
	rows    csv.Rows
	budget  int // the number of rows and cells that may follow
}

// row returns the next row, or nil at the end.
func (r *csvReader) row() ([]string, error) {
	r.rows.Spans, r.rows.Lines = r.rows.Spans[:0], r.rows.Lines[:0]
	more, err := r.scanner.Row(&r.rows)
	if e := value.ErrorOf(err, value.Invalid); e != nil && e.Kind == value.Failed {
		e.Kind = value.Invalid // it is an argument, not a file
	}
	if err != nil || !more {
		return nil, err
	}
	cells := make([]string, len(r.rows.Spans))
	for i, sp := range r.rows.Spans {
		cells[i] = r.rows.Cell(sp)
	}
	if r.budget -= len(cells) + 1; r.budget < 0 {
		return nil, row.TooMany()
	}
	return cells, nil
}

func csvParse(a *value.Dict) (value.Value, error) {
	delimiter, err := csvDelimiter(a)
	if err != nil {
		return nil, err
	}
	r := &csvReader{scanner: csv.NewText(strings.TrimPrefix(a.Text("text"), "\ufeff"), row.MaxValues), budget: row.MaxValues}
	r.scanner.Begin(csv.Dialect{Delimiter: delimiter, Quote: `"`})
	convert := func(cell string) value.Value { return cell }
	if a.Bool("types") {
		convert = row.Typed
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
		return nil, row.Invalid("invalid header: %s", problem).WithHint("fix the first row, or set header to false")
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
	err := row.Invalid("row %d (line %d) has %d cells, but %s %d", line, r.rows.Lines[0], got, whose, want)
	if got < want {
		return err.WithHint("fix the row, or set fill to true to fill short rows with empty cells")
	}
	return err.WithHint("fix the row, put double quotes around cells with the delimiter, or set another delimiter")
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

func csvEncode(a *value.Dict) (value.Value, error) {
	delimiter, err := csvDelimiter(a)
	if err != nil {
		return nil, err
	}
	rows := a.Elements("rows")
	columns := row.Strings(a, "columns")
	named := row.Arg(a, "columns") != nil
	if !named {
		if columns, err = row.Columns(rows); err != nil {
			return nil, err
		}
	} else if problem := csvHeaderProblem(columns); problem != "" {
		return nil, row.Invalid("argument 'columns': %s", problem)
	}
	w := &csvWriter{delimiter: delimiter}
	if a.Bool("header") && len(columns) > 0 {
		w.row(columns)
	}
	for i, item := range rows {
		cells, err := row.Cells(item, i+1, columns, named)
		if err != nil {
			return nil, err
		}
		if w.row(cells); w.Full {
			break
		}
	}
	return w.Text()
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
			cell = csv.Quote(cell)
		}
		w.Add(cell)
	}
	w.Add("\n")
}
