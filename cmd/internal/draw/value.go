package draw

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxDepth is how deep values are drawn: below they are JSON.
const maxDepth = 3

// Folds says what of a value is not shown where it is long.
type Folds struct {
	AllRows, AllColumns bool   // nothing is left out
	Rows, Columns       string // the flags that show all of it, such as "--all"; "" for none
}

// Value returns the lines of the value of a result: a list of objects is a table, an object is names with values, and a text
// is its lines.
func (s Screen) Value(v value.Value, f Folds) []string {
	d := drawing{s, f}
	switch v := v.(type) {
	case string:
		var lines []string
		for line := range strings.SplitSeq(strings.TrimRight(visible.Text(v), "\n"), "\n") {
			if s.Width <= 0 || Cells(line) < s.Width {
				lines = append(lines, line)
				continue
			}
			lines = append(lines, s.wrap("", line)...)
		}
		return lines
	case *value.Dict:
		return d.object(v, "", maxDepth)
	}
	if items, ok := value.Elements(v); ok {
		return d.list(items, "", maxDepth)
	}
	return []string{d.scalar("", v)}
}

// A drawing is a value while it is drawn.
type drawing struct {
	Screen
	Folds
}

// Missing is what is shown for null.
const Missing = "–"

// scalar returns a value on one line. The name of a number says whether its digits are grouped.
func (d drawing) scalar(name string, v value.Value) string {
	switch v := v.(type) {
	case nil:
		return d.Own(Missing)
	case string:
		if v == "" {
			return `""`
		}
		return visible.Line(v)
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case float64:
		return group(name, Number(v))
	}
	return group(name, visible.Line(value.FormatJSON(v, "")))
}

// Number writes a number with at most six significant digits, or all those before the point, and without an exponent where
// that is short.
func Number(f float64) string {
	if size := math.Abs(f); size < 1e15 && (f == math.Trunc(f) || size >= 1e6) {
		return strconv.FormatFloat(math.Round(f), 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// Thousands writes a number with its thousands separated, from 10,000 on.
func Thousands(n int) string { return group("", strconv.Itoa(n)) }

// group separates the thousands of a number from 10,000 on. What identifies something stays as it is.
func group(name, number string) string {
	digits, fraction, _ := strings.Cut(strings.TrimPrefix(number, "-"), ".")
	if len(digits) < 5 || len(digits) > 15 || strings.Trim(digits, "0123456789") != "" || identifies(name) {
		return number
	}
	digits = Commas(digits)
	if fraction != "" {
		digits += "." + fraction
	}
	if strings.HasPrefix(number, "-") {
		digits = "-" + digits
	}
	return digits
}

// Commas separates the thousands of digits.
func Commas(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// identifies reports whether the numbers under a name tell things apart and measure nothing.
func identifies(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' || r == ' ' || r == '.' })
	return strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "ID") || slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains([]string{"id", "pid", "uid", "gid", "year", "line", "port", "zip", "plz", "postcode", "phone", "code", "status", "version", "key", "time", "timestamp", "ts", "epoch", "inode", "hash", "serial"}, word)
	})
}

// simple reports whether a value is shown on one line: also a short list of scalars, and a series of numbers.
func (d drawing) simple(v value.Value) bool {
	if _, ok := v.(*value.Dict); ok {
		return false
	}
	items, ok := value.Elements(v)
	return !ok || len(items) == 0 || len(items) <= shortList && !slices.ContainsFunc(items, func(x value.Value) bool { return !isScalar(x) }) || d.series(items) != nil
}

// shortList is how many elements are shown on a line.
const shortList = 10

// series returns the numbers of a long list, or nil. They are shown as a line, unless all of it is to be shown.
func (d drawing) series(items []value.Value) []float64 {
	if d.AllRows || len(items) <= shortList {
		return nil
	}
	return numbers(items)
}

// numbers returns the numbers of a list, where null is NaN, or nil if it has anything else.
func numbers(items []value.Value) []float64 {
	list := make([]float64, len(items))
	for i, v := range items {
		switch v := v.(type) {
		case nil:
			list[i] = math.NaN()
		case int64:
			list[i] = float64(v)
		case float64:
			list[i] = v
		default:
			return nil
		}
	}
	return list
}

func isScalar(v value.Value) bool {
	if _, ok := v.(*value.Dict); ok {
		return false
	}
	_, ok := value.Elements(v)
	return !ok
}

// line returns a simple value on one line. A list under the name distribution has the numbers of values in bins.
func (d drawing) line(name string, v value.Value) string {
	items, ok := value.Elements(v)
	if !ok {
		return d.scalar(name, v)
	}
	if name == "distribution" && (!d.Plain || len(items) == 0) {
		if counts := numbers(items); counts != nil {
			return d.Histogram(counts)
		}
	}
	if len(items) == 0 {
		return "[]"
	}
	if series := d.series(items); series != nil {
		text := strconv.Itoa(len(series)) + " numbers"
		if line := d.Sparkline(series); line != "" && !d.Plain {
			text = line + " (" + text + ")"
		}
		return text
	}
	return strings.Join(value.Map(items, func(v value.Value) string { return d.scalar(name, v) }), ", ")
}

// Counts returns an object of a few scalars on one line, or "".
func (s Screen) Counts(o *value.Dict) string { return drawing{Screen: s}.counts(o) }

// counts returns an object of a few scalars on one line, as in "INFO 185 · WARN 20", or "".
func (d drawing) counts(o *value.Dict) string {
	if o.Len() == 0 {
		return "{}"
	}
	if o.Len() > 5 {
		return ""
	}
	var parts []string
	for k, v := range o.All() {
		text, isText := v.(string)
		if !isScalar(v) || isText && (len(text) > 20 || strings.ContainsAny(text, " \n")) {
			return ""
		}
		parts = append(parts, d.scalar("", k)+" "+d.scalar("", v))
	}
	return strings.Join(parts, d.Between())
}

// object returns the lines of an object: its names with their values, and what has several lines below its name.
func (d drawing) object(o *value.Dict, indent string, depth int) (lines []string) {
	if o.Len() == 0 {
		return []string{indent + "{}"}
	}
	inLine := func(k, v value.Value) string { // the value after its name, or ""
		name, _ := k.(string)
		text, isText := v.(string)
		inner, isObject := v.(*value.Dict)
		switch {
		case isText && strings.Contains(strings.TrimRight(text, "\n"), "\n"):
			return ""
		case isObject:
			return d.counts(inner)
		case d.simple(v):
			return d.line(name, v)
		}
		return ""
	}
	width := 0
	for k, v := range o.All() {
		if inLine(k, v) != "" {
			width = max(width, Cells(d.scalar("", k)))
		}
	}
	for k, v := range o.All() {
		name, text := d.scalar("", k), inLine(k, v)
		if text != "" {
			lines = append(lines, d.first(indent, d.fact(indent, name, min(width, maxName), text))...)
			continue
		}
		lines = append(lines, d.wrap(indent, name)...)
		if long, ok := v.(string); ok {
			var broken []string
			for line := range strings.SplitSeq(strings.TrimRight(visible.Text(long), "\n"), "\n") {
				broken = append(broken, d.breakLine(indent+"  ", line)...)
			}
			lines = append(lines, d.first(indent+"  ", broken)...)
			continue
		}
		lines = append(lines, d.below(v, indent+"  ", depth-1)...)
	}
	return lines
}

func (d drawing) first(indent string, lines []string) []string {
	if d.AllRows {
		return lines
	}
	return d.First(indent, lines, d.Rows)
}

// First returns the first lines of many, and how many there are after them.
func (s Screen) First(indent string, lines []string, unfold string) []string {
	if s.Width <= 0 || len(lines) <= MaxRows {
		return lines
	}
	return append(lines[:HeadRows:HeadRows], s.foldLine(indent, s.Fold(len(lines)-HeadRows, "line", unfold)))
}

// maxName is how many cells the names of values take beside them.
const maxName = 24

// fact returns a name with its value beside it, or below it where there is little room.
func (s Screen) fact(indent, name string, width int, text string) []string {
	head := indent + Pad(name, width, false) + "  "
	if s.Plain {
		head = indent + name + ": "
	}
	if s.Width > 0 && Cells(head) > s.Width/2 {
		return append(s.wrap(indent, name), s.wrap(indent+"  ", text)...)
	}
	return s.wrap(head, text)
}

// wrap is [Wrap] for a line of the screen.
func (s Screen) wrap(head, text string) []string {
	if s.Width <= 0 {
		return []string{head + text}
	}
	return Wrap(head, s.Shown(text), s.Width-1)
}

// breakLine breaks a line where the screen ends: its spaces mean something.
func (s Screen) breakLine(indent, line string) (lines []string) {
	for s.Width > 0 && Cells(indent+line) >= s.Width {
		head, rest := split(line, max(2, s.Width-1-Cells(indent)))
		lines, line = append(lines, indent+head), rest
	}
	return append(lines, indent+line)
}

// below returns the lines of what is in an object or a list.
func (d drawing) below(v value.Value, indent string, depth int) []string {
	if o, ok := v.(*value.Dict); ok && depth > 0 {
		return d.object(o, indent, depth)
	}
	if items, ok := value.Elements(v); ok && depth > 0 {
		return d.list(items, indent, depth)
	}
	return d.first(indent, d.wrap(indent, visible.Line(value.FormatJSON(v, ""))))
}

// list returns the lines of a list: a table if it has objects of scalars, else a line or more for each element.
func (d drawing) list(items []value.Value, indent string, depth int) (lines []string) {
	if len(items) == 0 {
		return []string{indent + "[]"}
	}
	if t := d.table(items); t != nil {
		d.bars(t, items, indent)
		return d.Table(t, indent)
	}
	shown, folded := items, 0
	if !d.AllRows && d.Width > 0 && len(items) > MaxRows {
		shown, folded = items[:HeadRows], len(items)-HeadRows
	}
	for _, v := range shown {
		if isScalar(v) {
			lines = append(lines, d.first(indent, d.wrap(indent, d.scalar("", v)))...)
			continue
		}
		for i, line := range d.below(v, indent+"  ", depth-1) {
			if i == 0 {
				line = indent + d.Own("• ") + strings.TrimPrefix(line, indent+"  ")
			}
			lines = append(lines, line)
		}
	}
	if folded > 0 {
		lines = append(lines, d.foldLine(indent, d.Fold(folded, "element", d.Rows)))
	}
	return lines
}

// table returns the table of a list of objects of scalars, or nil.
func (d drawing) table(items []value.Value) *Table {
	var names []string
	for _, v := range items {
		o, ok := v.(*value.Dict)
		if !ok {
			return nil
		}
		for k, x := range o.All() {
			name, isText := k.(string)
			if !isText || !d.simple(x) {
				return nil
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) > 100 {
			return nil
		}
	}
	t := &Table{AllRows: d.AllRows, AllColumns: d.AllColumns, Unfold: d.Rows, Widen: d.Columns}
	for i, name := range names {
		c := Column{Name: visible.Line(name), Right: true, Rank: i}
		for _, v := range items {
			switch x, _ := v.(*value.Dict).Get(name); x.(type) {
			case nil, int64, float64, *big.Int:
			default:
				c.Right = false
			}
		}
		t.Columns = append(t.Columns, c)
	}
	for _, v := range items {
		row := make([]string, len(names))
		for i, name := range names {
			if x, ok := v.(*value.Dict).Get(name); ok {
				row[i] = d.line(name, x)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	for i, c := range t.Columns {
		if c.Right {
			alignPoints(t.Rows, i)
		}
	}
	return t
}

// maxBars is how many rows of a table have bars.
const maxBars = 24

// bars adds bars to a table of labels and numbers: a text or a year, a number, and at most one integer more, such as how
// many there are.
func (d drawing) bars(t *Table, items []value.Value, indent string) {
	if len(items) < 2 || len(items) > maxBars || len(t.Columns) < 2 || len(t.Columns) > 3 || d.Plain {
		return
	}
	column := func(i int, is func(v value.Value) bool) bool {
		return !slices.ContainsFunc(items, func(o value.Value) bool {
			v, _ := o.(*value.Dict).Get(t.Columns[i].Name)
			return !is(v)
		})
	}
	isText := func(v value.Value) bool { _, ok := v.(string); return ok }
	isYear := func(v value.Value) bool { n, ok := v.(int64); return ok && 1000 <= n && n < 3000 }
	isInteger := func(v value.Value) bool { _, ok := v.(int64); return ok }
	measure := value.List{}
	for _, o := range items {
		v, _ := o.(*value.Dict).Get(t.Columns[1].Name)
		measure = append(measure, v)
	}
	list := numbers(measure)
	if list == nil || identifies(t.Columns[1].Name) || !column(0, isText) && !column(0, isYear) || len(t.Columns) == 3 && !column(2, isInteger) {
		return
	}
	free := d.Width - 1 - Cells(indent) - t.width() - 2
	if free < leastBar {
		return
	}
	t.Columns[0].Right = false
	t.Columns, t.AllRows = append(t.Columns, Column{}), true
	for i, bar := range d.Bars(list, free) {
		t.Rows[i] = append(t.Rows[i], bar)
	}
}

// alignPoints appends spaces to the numbers of a column, so that their decimal points are below each other.
func alignPoints(rows [][]string, i int) {
	after := func(text string) int {
		if at := strings.IndexByte(text, '.'); at >= 0 {
			return len(text) - at
		}
		return 0
	}
	most := 0
	for _, row := range rows {
		most = max(most, after(row[i]))
	}
	for _, row := range rows {
		row[i] += strings.Repeat(" ", most-after(row[i]))
	}
}
