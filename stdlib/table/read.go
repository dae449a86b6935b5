package table

import (
	"bytes"
	"context"
	"path"
	"strings"

	"golang.org/x/text/transform"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The formats of files.
const (
	formatCSV   = "csv"
	formatTSV   = "tsv"
	formatJSON  = "json"
	formatLines = "jsonl"
	formatXLSX  = "xlsx"
)

var formatNames = []string{formatCSV, formatTSV, formatJSON, formatLines, formatXLSX}

// readOptions are what a caller says about a file. What is not said is found out.
type readOptions struct {
	format    string          // "" until it is found out
	delimiter string          // "" is found out
	quote     string          // "" means that nothing is quoted
	header    *bool           // nil is found out
	encoding  string          // "" is found out
	types     map[string]Type // of columns by their names
	missing   []string        // the texts that stand for a missing value; nil: those of the rule
	thousands string          // what stands between groups of three digits, or ""
	decimal   string          // what stands before the fraction
	percent   bool            // "12.5%" is the number 0.125
	dates     []string        // further forms of dates, as strftime has them
	fill      bool            // a short row is filled
	skip      int             // lines before the table
	sheet     value.Value     // name or number from 1; nil is the first visible one
}

// readParams are the parameters that data.read and data.parse share.
func readParams() []tool.Param {
	return []tool.Param{
		tool.Maybe("format", tool.TypeString, "csv, tsv, json, jsonl or xlsx; without it, found out by the path's end or the text's beginning."),
		tool.Maybe("delimiter", tool.TypeString, "The character between the cells of a CSV file; without it, the one of , ; tab | that divides the first lines alike."),
		tool.Optional("quote", tool.TypeString, `"`, "The character around cells that may hold anything; an empty text says that there is none."),
		tool.Maybe("header", tool.TypeBoolean, "Whether the first row names the columns; without it, it does in CSV unless each of its cells is empty or reads as a number, a date or a time, "+
			"and on a sheet and in lists of JSON where each of its values is a text. Columns without a name are named column_1, column_2 and so on."),
		tool.Maybe("encoding", tool.TypeString, "utf-8, utf-16, utf-16le, utf-16be, latin-1 or windows-1252; without it, found out: by a byte order mark, else UTF-8 where all of the file is that, else windows-1252. JSON is UTF-8 or UTF-16."),
		tool.Maybe("types", tool.TypeObject, `Types of columns by name, as in {"zip": "text"}; those of the others are found out from all of their values. A value that does not fit is an error.`),
		tool.Maybe("missing", tool.TypeCharacter, `Texts that stand for a missing value, beside the empty cell. Without it, NA, N/A, NaN, null and NULL do in a column whose other values are no texts.`),
		tool.Maybe("thousands", tool.TypeString, `The character between groups of three digits, as in 1,234,567: one of , . ' _ or a space. Without it, such a cell is text.`),
		tool.Optional("decimal", tool.TypeString, ".", `The character before the fraction: "." or ",".`),
		tool.Optional("percent", tool.TypeBoolean, false, "Whether 12.5% is the number 0.125. Without it, such a cell is text."),
		tool.Maybe("dates", tool.TypeCharacter, `Further ways in which dates and times are written, as in "%d.%m.%Y" or "%m/%d/%Y %H:%M". A column is one of dates where all its values fit one form; where they fit two that read them differently, as "%d/%m/%Y" and "%m/%d/%Y" may, it is text. Those of ISO 8601, as 2024-02-29, are known.`),
		tool.Optional("fill", tool.TypeBoolean, false, "Whether rows that are too short are filled with missing values. Without it, they are an error, as too long ones always are."),
		tool.Optional("skip", tool.TypeInteger, int64(0), "How many lines, or rows of a sheet, to pass over before the table begins."),
		tool.Maybe("sheet", tool.TypeAny, "The sheet of a spreadsheet, by its name or its number from 1; without it, the first visible one."),
	}
}

// csvRules says how the cells of a CSV file become values.
const csvRules = "In a CSV file lines may end in LF, CR LF or CR, a cell in quotes may hold anything, a quote inside a cell without quotes is a quote, and blank lines are passed over. " +
	"A type is found from all values of a column: integer (of 64 bits), float (any of integers and numbers with a point or an exponent), bool (true, false), date (2024-02-29), " +
	"datetime, instant (with a zone), else text; 007 and a whole number of more than 64 bits are text. A number may have spaces around it; a text keeps them. " +
	"A cell without quotes that is empty or only spaces is missing; \"\" is the empty text in a column of texts, else missing. " +
	"Quotes say text: a column with a cell in quotes that it does not need (it holds no delimiter, quote or line break) is text, " +
	"except in a file where all is quoted, the names too. Names of columns are cut of spaces; one that was there before gets a number, as name_2. " +
	"A cell may have 8 MB, a row 16 MB and 100,000 cells. "

// otherRules says how other files become tables.
const otherRules = "JSON is a list of objects, of lists or of plain values, an object of equally long lists, which are columns, or one with exactly one list of objects in it; " +
	"JSON Lines has an object or a list on each line. What an object lacks is missing, texts of dates are dates where all are by ISO 8601, and values of several kinds make a column of type any. " +
	"Of a spreadsheet one sheet is read: empty rows and columns around the table are left out, the types are those of the cells, and a formula gives the value that was saved with it; " +
	"one without a value, or with an error that is not #N/A, is an error. A spreadsheet may unpack to 512 MB, and is held in memory. "

func readRows() []row {
	return []row{
		{tool.Func{
			Name: "read",
			Doc: "Reads a table from a file of the project: CSV, TSV, JSON, JSON Lines or XLSX. A file of more than 8 MB " +
				"is not kept in memory but read again for each thing that is asked of it, so it may be larger than the memory; such a table can be described, grouped, filtered and asked SQL like any other. " +
				csvRules + otherRules + "The tool declares `fs.read`.",
			Params:  append([]tool.Param{tool.Required("path", tool.TypeString, "The file.")}, readParams()...),
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return c.read((*call).fileInput) }},
		{tool.Func{
			Name:    "parse",
			Doc:     "Reads a table from a text, or from the bytes of a file, by the rules of data.read.",
			Params:  append([]tool.Param{tool.Required("text", tool.TypeAny, "The text, or bytes.")}, readParams()...),
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return c.read((*call).textInput) }},
	}
}

// read reads the table that the arguments tell of, from where open finds it.
func (c *call) read(open func(*call, *readOptions) (*input, error)) (value.Value, error) {
	o, err := c.readOptions()
	if err != nil {
		return nil, err
	}
	in, err := open(c, o)
	if err != nil {
		return nil, err
	}
	return asTable(read(c.ctx, c.grant, in, o))
}

func (c *call) fileInput(*readOptions) (*input, error) {
	return openFile(c.grant, c.args.Text("path"))
}

func (c *call) textInput(o *readOptions) (*input, error) {
	in := &input{name: "text"}
	switch text := c.value("text").(type) {
	case string:
		in.held = []byte(text)
		if o.encoding == "" {
			o.encoding = utf8Encoding // as every text is
		}
	case []byte:
		in.held = text
	default:
		return nil, value.Errorf(value.Invalid, "argument 'text' should be string or bytes but got %s", value.TypeOf(text))
	}
	in.size = int64(len(in.held))
	return in, nil
}

// asTable keeps a nil table from becoming a value that is not nil.
func asTable(t *Table, err error) (value.Value, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

// read reads a table of any format.
func read(ctx context.Context, g tool.Grant, in *input, o *readOptions) (*Table, error) {
	format, err := o.formatOf(in)
	if err != nil {
		return nil, err
	}
	switch format {
	case formatJSON:
		return readJSON(ctx, g, in, o)
	case formatLines:
		return readJSONLines(ctx, g, in, o)
	case formatXLSX:
		return readXLSX(ctx, g, in, o)
	case formatTSV:
		if o.delimiter == "" {
			o.delimiter = "\t"
		}
	}
	return readCSV(ctx, g, in, o)
}

// formatOf returns the format that was said, or that the name or the first bytes
// tell.
func (o *readOptions) formatOf(in *input) (string, error) {
	if o.format != "" {
		return o.format, nil
	}
	switch suffix := strings.ToLower(path.Ext(in.name)); {
	case !in.file:
		return formatOfBytes(in.held), nil
	case suffix == ".csv", suffix == ".txt", suffix == ".dat", suffix == "":
		return formatCSV, nil
	case suffix == ".tsv", suffix == ".tab":
		return formatTSV, nil
	case suffix == ".json":
		return formatJSON, nil
	case suffix == ".jsonl", suffix == ".ndjson":
		return formatLines, nil
	case suffix == ".xlsx", suffix == ".xlsm":
		return formatXLSX, nil
	case suffix == ".xls", suffix == ".ods", suffix == ".numbers", suffix == ".xlsb":
		return "", value.Errorf(value.Failed, "%s: a %s file cannot be read", in.name, suffix).WithHint("save it as .xlsx or .csv")
	default:
		return "", value.Errorf(value.Invalid, "%s: which format is it?", in.name).WithHint("say it: format = %q, or one of %s", formatCSV, strings.Join(formatNames[1:], ", "))
	}
}

// formatOfBytes tells the format of a text: JSON begins with a bracket, JSON
// Lines with one object a line, and a spreadsheet is a zip archive, or another
// archive that can only be refused.
func formatOfBytes(b []byte) string {
	if bytes.HasPrefix(b, []byte("PK\x03\x04")) || bytes.HasPrefix(b, []byte(oldOffice)) {
		return formatXLSX
	}
	if name, mark := findEncoding(b[:min(len(b), headSize)]); name == utf16LEEncoding || name == utf16BEEncoding {
		if text, _, err := transform.Bytes(decoderOf(name), b[mark:]); err == nil {
			b = text
		}
	}
	switch text := bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\ufeff")), " \t\r\n"); {
	case bytes.HasPrefix(text, []byte("[")):
		return formatJSON
	case bytes.HasPrefix(text, []byte("{")):
		return formatOfObject(text)
	}
	return formatCSV
}

// formatOfObject tells the format of a text that begins with an object: JSON Lines
// where that is all of a line, unless it is the only one and all it has are lists,
// which are columns or records.
func formatOfObject(text []byte) string {
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	line, rest = bytes.TrimSpace(line), bytes.TrimSpace(rest)
	switch {
	case !bytes.HasSuffix(line, []byte("}")):
		return formatJSON
	case len(rest) > 0 && rest[0] == '{':
		return formatLines
	case len(rest) > 0:
		return formatJSON
	}
	v, _ := value.ParseJSON(line)
	d, _ := v.(*value.Dict)
	for _, member := range d.All() {
		if _, isList := member.(value.List); !isList {
			return formatLines
		}
	}
	if d.Len() == 0 {
		return formatLines
	}
	return formatJSON
}

// readOptions reads the arguments that readParams describe.
func (c *call) readOptions() (*readOptions, error) {
	o := &readOptions{
		format: strings.ToLower(c.args.Text("format")), delimiter: c.args.Text("delimiter"), quote: c.args.Text("quote"),
		encoding: strings.ToLower(c.args.Text("encoding")), thousands: c.args.Text("thousands"), decimal: c.args.Text("decimal"),
		percent: c.args.Bool("percent"), dates: c.names("dates"), fill: c.args.Bool("fill"),
		skip: int(c.args.Int("skip")), sheet: c.value("sheet"),
	}
	if o.format != "" {
		if err := oneOf("format", o.format, formatNames); err != nil {
			return nil, err
		}
	}
	if _, err := parseEncoding(o.encoding); err != nil {
		return nil, err
	}
	if h, ok := c.value("header").(bool); ok {
		o.header = &h
	}
	if c.value("missing") != nil {
		o.missing = c.names("missing")
	}
	var err error
	o.types, err = c.typesOf("types")
	return o, err
}

// typesOf is an argument that gives types by the names of columns.
func (c *call) typesOf(name string) (map[string]Type, error) {
	d, _ := c.value(name).(*value.Dict)
	types := make(map[string]Type, d.Len())
	for k, v := range d.All() {
		column, isText := k.(string)
		text, isName := v.(string)
		if !isText || !isName {
			return nil, value.Errorf(value.Invalid, `argument '%s' should give a type by the name of each column, as in {"zip": "text"}`, name)
		}
		t, err := ParseType(text)
		if err != nil {
			return nil, err
		}
		types[column] = t
	}
	return types, nil
}
