package table

import (
	"bytes"
	"context"
	"path"
	"strings"

	"golang.org/x/text/transform"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/charset"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// The formats of files.
const (
	formatCSV   = "csv"
	formatTSV   = "tsv"
	formatJSON  = "json"
	formatLines = "jsonl"
	formatXLSX  = "xlsx"
	formatSQL   = "sqlite"

	formatParquet = "parquet"
)

var formatNames = []string{formatCSV, formatTSV, formatJSON, formatLines, formatXLSX, formatSQL, formatParquet}

// readOptions are the arguments about a file. What they do not specify is detected.
type readOptions struct {
	format    string          // "" until it is detected
	delimiter string          // "" is detected
	quote     string          // "" means that no cell is quoted
	header    *bool           // nil is detected
	encoding  string          // "" is detected
	types     map[string]Type // by column name
	missing   []string        // the texts that mean a missing value; nil: the default ones
	thousands string          // the separator of groups of three digits, or ""
	decimal   string          // the decimal separator
	percent   bool            // "12.5%" is the number 0.125
	dates     []string        // additional date formats, in the notation of strftime
	fill      bool            // fill short rows with missing values
	skip      int             // number of lines before the table
	skips     bool            // skip was specified
	escape    string          // the character before a quote in a quoted cell, or ""
	comment   string          // the beginning of lines to skip, or ""
	trim      *bool           // skip spaces around cells; nil is detected
	lenient   bool            // leave rows out that cannot be read
	noPercent bool            // "12.5%" is text
	sheet     value.Value     // name or number from 1; nil is the first visible one
	engine    *sqlEngine      // opens databases
}

// readParams are the parameters that data.read and data.parse share.
func readParams() []tool.Param {
	return []tool.Param{
		tool.Maybe("format", tool.TypeString, "csv, tsv, json, jsonl, xlsx, sqlite or parquet. Default: data.read uses the extension of the path. A path without an extension is read as csv, and an unknown extension is an error. data.parse detects the format from the beginning of the text."),
		tool.Maybe("delimiter", tool.TypeString, "The character between the cells of a CSV file. Default: detected from the first lines, among , ; tab and |."),
		tool.Optional("quote", tool.TypeString, `"`, "The character around quoted cells; an empty text means that no cell is quoted."),
		tool.Maybe("header", tool.TypeBoolean, "Whether the first row has the column names. Default for CSV: False if each cell of the first row is empty, a number, a date or a time; else True. Default for sheets and JSON lists: True if all values of the first row are texts. Columns without a name are named column_1, column_2 and so on."),
		tool.Maybe("encoding", tool.TypeString, "The name of an encoding, such as utf-8, utf-16, latin-1, windows-1252, windows-1251 (cp1251), shift_jis, gbk or euc-kr. Default: detected from a byte order mark. Without a mark, data is read as utf-8 if that is valid, or if at least half of the characters beyond ASCII are; bytes that are not UTF-8 become U+FFFD. For other data, the encoding is guessed from frequent characters, among windows-1251, koi8-r, shift_jis, gbk, euc-kr, big5, euc-jp and windows-1252, and noted. JSON must be UTF-8 or UTF-16."),
		tool.Maybe("types", tool.TypeObject, `Types of columns by name, as in {"zip": "text"}. The types of other columns are inferred from all values. A value of another type is an error.`),
		tool.Maybe("missing", tool.TypeCharacter, `Texts that mean a missing value. An empty cell without quotes is always missing. Default: NA, N/A, NaN, null, NULL, -, --, –, —, n/a and #N/A, except in columns of texts.`),
		tool.Maybe("thousands", tool.TypeString, `The character between groups of three digits, as in 1,234,567: one of , . ' _ or a space. Default: none, so 1,234,567 is text.`),
		tool.Maybe("decimal", tool.TypeString, `The character before the fraction: "." or ",". Default: ".", unless the numbers of the first rows can only be read otherwise, as 12,50 and 1,234.50: the notes say so.`),
		tool.Maybe("percent", tool.TypeBoolean, "Whether 12.5% is the number 0.125. If False, such a cell is text. Default: True for a column of percentages, False for a column that also has other numbers."),
		tool.Maybe("dates", tool.TypeCharacter, `Additional formats of dates and times, as in "%d.%m.%Y" or "%m/%d/%Y %H:%M". A column has dates if all values match one format. If several formats match all values but give different dates, the column is text. This can happen with "%d/%m/%Y" and "%m/%d/%Y". ISO 8601, as in 2024-02-29, is always recognized.`),
		tool.Optional("fill", tool.TypeBoolean, false, "Whether to fill short rows with missing values. If False, short rows are an error."),
		tool.Maybe("skip", tool.TypeInteger, "The number of lines or sheet rows to skip before the table. Default for CSV and spreadsheets: those before a table that have fewer cells than it, such as a title; otherwise 0."),
		tool.Optional("escape", tool.TypeString, "", `The character before a quote inside a quoted cell, such as "\\". Default: none; such a quote is doubled.`),
		tool.Optional("comment", tool.TypeString, "", `The beginning of lines to skip in a CSV file, such as "#". Default: none, but "#" if the file begins with such a line and is a table without them; skip = 0 reads them.`),
		tool.Maybe("trim", tool.TypeBoolean, "Whether to skip the spaces around the cells of a CSV file, also around quotes. Default: True if the first rows have spaces before quotes."),
		tool.Optional("lenient", tool.TypeBoolean, false, "Whether to leave out the rows of a CSV file, and the lines of JSON Lines, that cannot be read, instead of failing. The notes show the first of them, and t.rejected has the first 1,000. Invalid bytes become U+FFFD, and zero bytes are left out."),
		tool.Maybe("sheet", tool.TypeAny, "The sheet of a spreadsheet, or the table or view of a SQLite file, by name or by number from 1. Default: the first visible sheet, or the first table."),
	}
}

// csvRules documents how the cells of a CSV file become values.
const csvRules = "\n\nThe rules for CSV:\n\n" +
	"- Lines end in LF, CR LF or CR. Blank lines are skipped. A first line sep=; sets the delimiter.\n" +
	"- A cell in quotes may contain any character. In a cell without quotes, a quote is an ordinary character.\n" +
	"- The type of a column is inferred from all values: integer (64 bits), float, bool (true, false), date (2024-02-29), " +
	"datetime, instant (with a zone), or else text. 007 and integers of more than 64 bits are text.\n" +
	"- A number may have a plus, a minus sign (U+2212), a currency or percent sign, no-break spaces between groups of three digits, or the parentheses of accounting: +5, $99.50, 100 €, 5%, and (500) for -500. A column is text if it has several currencies, if only some of its numbers have a percent sign, or if all have parentheses. + and more than six digits is text.\n" +
	"- A column of fractions is text if one of its numbers has digits that a float does not keep, such as 9007199254740993.\n" +
	"- In a column of other values than texts, -, --, –, —, n/a and #N/A are missing.\n" +
	"- The notes of the table have what was guessed: what is read as a number, as missing or in which encoding, and which column of numbers is text, and why.\n" +
	"- Spaces around a number are ignored. Spaces in a text are kept.\n" +
	"- A cell without quotes that is empty or has only spaces is missing. \"\" is the empty text in a column of texts, and missing in other columns.\n" +
	"- A cell needs quotes if it contains a delimiter, a quote or a line break. If a cell that is not empty has quotes that it does not need, its column is text. If all column names and all cells that are not empty have quotes, the quotes do not affect the types.\n" +
	"- Empty cells beyond the header are left out, and noted. Other long rows are an error, unless lenient is True.\n" +
	"- Spaces around column names are removed. A repeated name gets a number, as in name_2.\n" +
	"- A cell has at most 8 MB. A row has at most 16 MB and 100,000 cells.\n"

// otherRules documents how other files become tables.
const otherRules = "\nThe rules for JSON:\n\n" +
	"- A JSON text is a list of objects, of lists or of plain values.\n" +
	"- A JSON text may also be an object of columns: its values are lists of equal length.\n" +
	"- A JSON text may also be an object in which exactly one value is a list of objects.\n" +
	"- JSON Lines has an object or a list on each line.\n" +
	"- A missing key of an object is a missing value.\n" +
	"- Texts are dates if all texts of the column are dates in ISO 8601.\n" +
	"- A column with values of several types has the type any. A column of texts that are numbers keeps the texts, and is noted: types makes them numbers, in the format of decimal and thousands.\n" +
	"\nThe rules for spreadsheets:\n\n" +
	"- One sheet is read. Empty rows and columns around the table are skipped.\n" +
	"- The rows before a table that have fewer cells than it, such as a title, are skipped, and noted.\n" +
	"- The types of the cells are kept. Texts that are numbers in the format of decimal and thousands, or in one that can be no other, as 1.203,50, become numbers if all texts of the column are.\n" +
	"- The value of a formula is its saved value. A formula without a saved value is an error. A cell with the error value #N/A is missing. All other error values are errors.\n" +
	"- The file may have at most 512 MB after decompression. The table is always kept in memory, even if the file has more than 8 MB.\n" +
	"\nThe rules for SQLite files:\n\n" +
	"- One table or view is read. The file is never written. A view is always kept in memory.\n" +
	"- The types of the values are kept. A column declared as bool with only 0 and 1 is one of bools. Texts are dates if all texts of the column are dates in ISO 8601. Bytes are shown as their number.\n" +
	"- A view cannot use the current time, random numbers or functions of other programs, and has 60 seconds.\n" +
	"- Changes that are only in the -wal file beside it are not read, which a note says. A file whose last write was interrupted is an error.\n\n"

func readRows(e *sqlEngine) []member {
	return []member{
		{tool.Func{
			Name: "read",
			Doc: "Read a table from a file of the project: CSV, TSV, JSON, JSON Lines or XLSX, or one of these in gzip, as in data.csv.gz; SQLite or Parquet. A file of more than 8 MB " +
				"is not kept in memory: each operation reads the file again. Such a table may be larger than memory, and supports the same operations. " +
				"The tables from XLSX files and from JSON objects of columns are always kept in memory, even if the file has more than 8 MB. " +
				csvRules + otherRules + "Needs `fs.read`.",
			Params:   append([]tool.Param{tool.Required("path", tool.TypeString, "The file.")}, readParams()...),
			Returns:  "a table",
			Requests: []string{"fs.read"},
		}, func(c *call) (value.Value, error) { return c.read(e, (*call).fileInput) }},
		{tool.Func{
			Name:    "parse",
			Doc:     "Read a table from a text, or from the bytes of a file. The rules are those of data.read.",
			Params:  append([]tool.Param{tool.Required("text", tool.TypeAny, "The text, or bytes.")}, readParams()...),
			Returns: "a table",
		}, func(c *call) (value.Value, error) { return c.read(e, (*call).textInput) }},
		{tool.Func{
			Name:     "sheets",
			Doc:      "List the names to pass as sheet to data.read: the tables and views of a SQLite file, or the visible sheets of a spreadsheet. Needs `fs.read`.",
			Params:   []tool.Param{tool.Required("path", tool.TypeString, "The file.")},
			Returns:  "a list of names; for a file of another format, an empty list",
			Requests: []string{"fs.read"},
		}, func(c *call) (value.Value, error) { return c.sheets(e) }},
	}
}

// read reads the table that the arguments describe, from the input that open returns.
func (c *call) read(e *sqlEngine, open func(*call, *readOptions) (*input, error)) (value.Value, error) {
	o, err := c.readOptions(e)
	if err != nil {
		return nil, err
	}
	in, err := open(c, o)
	if err != nil {
		return nil, err
	}
	return asTable(read(c.ctx, c.grant, in, o))
}

func (c *call) fileInput(o *readOptions) (*input, error) {
	name := c.args.Text("path")
	if o.format == formatParquet || o.format == "" && strings.EqualFold(path.Ext(name), ".parquet") {
		return &input{name: name, file: true}, nil // another program reads it
	}
	return openFile(c.ctx, c.grant, name)
}

func (c *call) textInput(o *readOptions) (*input, error) {
	in := &input{name: "text"}
	switch text := c.value("text").(type) {
	case string:
		in.held, in.size = []byte(text), int64(len(text))
		if o.encoding == "" {
			o.encoding = utf8Encoding // the encoding of every text
		}
	case []byte:
		in.held, in.size = text, int64(len(text))
		return in.unpack(c.ctx, c.grant)
	default:
		return nil, value.Errorf(value.Invalid, "argument 'text' should be string or bytes but got %s", value.TypeOf(text))
	}
	return in, nil
}

// asTable returns a nil value, not an interface with a nil table, if there is an error.
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
		if in.packed != nil && in.held == nil {
			return nil, value.Errorf(value.Failed, "%s: a spreadsheet in a gzip file is too large", in.name).WithHint("unpack the file")
		}
		return readXLSX(ctx, g, in, o)
	case formatSQL:
		return readSQLite(ctx, g, in, o)
	case formatParquet:
		return readParquet(g, in)
	case formatTSV:
		if o.delimiter == "" {
			o.delimiter = "\t"
		}
	}
	return readCSV(ctx, g, in, o)
}

// formatOf returns the format that was specified or, if none was, the one detected from
// the name or the first bytes.
func (o *readOptions) formatOf(in *input) (string, error) {
	if o.format != "" {
		return o.format, nil
	}
	name := strings.ToLower(in.name)
	switch suffix := path.Ext(strings.TrimSuffix(name, ".gz")); {
	case bytes.HasPrefix(in.held, []byte(sqliteHeader)), suffix == ".sqlite", suffix == ".sqlite3", suffix == ".db", suffix == ".db3":
		return formatSQL, nil
	case suffix == ".parquet":
		return formatParquet, nil
	case !in.file:
		return formatOfBytes(in.held)
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
		return "", value.Errorf(value.Failed, "%s: unsupported format: %s", in.name, suffix).WithHint("save the file as .xlsx or .csv")
	case suffix == ".feather", suffix == ".arrow", suffix == ".avro", suffix == ".orc":
		return "", value.Errorf(value.Failed, "%s: unsupported format: %s", in.name, suffix).WithHint("convert the file to .csv or .jsonl")
	case suffix == ".zip", suffix == ".bz2", suffix == ".xz", suffix == ".zst", suffix == ".7z", suffix == ".tar", suffix == ".tgz":
		return "", value.Errorf(value.Failed, "%s: unsupported format: %s", in.name, suffix).WithHint("unpack the file, or compress it as .gz")
	default:
		return "", value.Errorf(value.Invalid, "%s: unknown format", in.name).WithHint("set format, for example to %q; the formats are %s", formatCSV, strings.Join(formatNames[1:], ", "))
	}
}

// formatOfBytes detects the format of a text. JSON begins with a bracket, and JSON Lines
// has one object per line. A spreadsheet is a zip archive; other archives are detected
// so that they can be rejected.
func formatOfBytes(b []byte) (string, error) {
	if bytes.HasPrefix(b, []byte("PAR1")) {
		return formatParquet, nil
	}
	if bytes.HasPrefix(b, []byte("PK\x03\x04")) || bytes.HasPrefix(b, []byte(oldOffice)) {
		return formatXLSX, nil
	}
	if name, mark := charset.Detect(b); name == utf16LEEncoding || name == utf16BEEncoding {
		if text, _, err := transform.Bytes(decoderOf(name), b[mark:]); err == nil {
			b = text
		}
	}
	switch text := bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\ufeff")), " \t\r\n"); {
	case bytes.HasPrefix(text, []byte("[")):
		return formatJSON, nil
	case bytes.HasPrefix(text, []byte("{")):
		return formatOfObject(text), nil
	}
	return formatCSV, nil
}

// formatOfObject detects the format of a text that begins with an object. It is JSON
// Lines if the object is a line of its own, unless it is the only line and all its
// values are lists, which are columns or records.
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

// readOptions returns the arguments that readParams describes.
func (c *call) readOptions(e *sqlEngine) (*readOptions, error) {
	o := &readOptions{
		engine: e,
		format: strings.ToLower(c.args.Text("format")), delimiter: c.args.Text("delimiter"), quote: c.args.Text("quote"),
		encoding: strings.ToLower(c.args.Text("encoding")), thousands: c.args.Text("thousands"), decimal: c.args.Text("decimal"),
		percent: c.args.Bool("percent"), noPercent: c.value("percent") == false, dates: row.Strings(c.args, "dates"), fill: c.args.Bool("fill"),
		skip: int(c.args.Int("skip")), skips: c.value("skip") != nil, sheet: c.value("sheet"),
		escape: c.args.Text("escape"), comment: c.args.Text("comment"), lenient: c.args.Bool("lenient"),
	}
	if trim, ok := c.value("trim").(bool); ok {
		o.trim = &trim
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
		o.missing = row.Strings(c.args, "missing")
	}
	var err error
	o.types, err = c.typesOf("types")
	return o, err
}

// typesOf returns an argument that is a dict from column names to types.
func (c *call) typesOf(name string) (map[string]Type, error) {
	d, _ := c.value(name).(*value.Dict)
	types := make(map[string]Type, d.Len())
	for k, v := range d.All() {
		column, isText := k.(string)
		text, isName := v.(string)
		if !isText || !isName {
			return nil, value.Errorf(value.Invalid, `argument '%s' should be a dict from column names to types, as in {"zip": "text"}`, name)
		}
		t, err := ParseType(text)
		if err != nil {
			return nil, err
		}
		types[column] = t
	}
	return types, nil
}
