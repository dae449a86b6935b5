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

// Value returns the lines of the value of a result: a list of objects is a table, an object is names with values, and a text
// is its lines. unfold is what shows all of it, such as "--all"; with all set, all of it is shown.
func (s Screen) Value(v value.Value, all bool, unfold string) []string {
	d := drawing{s, all, unfold}
	switch v := v.(type) {
	case string:
		return strings.Split(strings.TrimRight(visible.Text(v), "\n"), "\n")
	case *value.Dict:
		return d.object(v, "", maxDepth)
	}
	if items, ok := value.Elements(v); ok {
		return d.list(items, "", maxDepth)
	}
	return []string{d.scalar(v)}
}

// A drawing is a value while it is drawn.
type drawing struct {
	Screen
	all    bool
	unfold string
}

// Missing is what is shown for null.
const Missing = "–"

// scalar returns a value on one line.
func (d drawing) scalar(v value.Value) string {
	switch v := v.(type) {
	case nil:
		if d.ASCII {
			return "-"
		}
		return Missing
	case string:
		if v == "" {
			return `""`
		}
		return visible.Line(v)
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case float64:
		return Number(v)
	}
	return visible.Line(value.FormatJSON(v, ""))
}

// Number writes a number with at most six significant digits, and without an exponent where that is short.
func Number(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// simple reports whether a value is shown on one line: also a short list of scalars, and an object of scalars.
func simple(v value.Value) bool {
	if _, ok := v.(*value.Dict); ok {
		return false
	}
	items, ok := value.Elements(v)
	return !ok || len(items) == 0 || len(items) <= 10 && !slices.ContainsFunc(items, func(x value.Value) bool { return !isScalar(x) })
}

func isScalar(v value.Value) bool {
	if _, ok := v.(*value.Dict); ok {
		return false
	}
	_, ok := value.Elements(v)
	return !ok
}

// line returns a simple value on one line.
func (d drawing) line(v value.Value) string {
	items, ok := value.Elements(v)
	if !ok {
		return d.scalar(v)
	}
	if len(items) == 0 {
		return "[]"
	}
	return strings.Join(value.Map(items, d.scalar), ", ")
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
		parts = append(parts, d.scalar(k)+" "+d.scalar(v))
	}
	return strings.Join(parts, d.Between())
}

// object returns the lines of an object: its names with their values, and what has several lines below its name.
func (d drawing) object(o *value.Dict, indent string, depth int) (lines []string) {
	if o.Len() == 0 {
		return []string{indent + "{}"}
	}
	inLine := func(v value.Value) string { // the value after its name, or ""
		text, isText := v.(string)
		inner, isObject := v.(*value.Dict)
		switch {
		case isText && strings.Contains(strings.TrimRight(text, "\n"), "\n"):
			return ""
		case isObject:
			return d.counts(inner)
		case simple(v):
			return d.line(v)
		}
		return ""
	}
	width := 0
	for k, v := range o.All() {
		if inLine(v) != "" {
			width = max(width, Cells(d.scalar(k)))
		}
	}
	for k, v := range o.All() {
		name, text := d.scalar(k), inLine(v)
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

// first returns the first lines of a long text, and how many there are after them.
func (d drawing) first(indent string, lines []string) []string {
	if d.all || d.Width <= 0 || len(lines) <= maxRows {
		return lines
	}
	return append(lines[:headRows:headRows], d.foldLine(indent, d.Fold(len(lines)-headRows, "line", d.unfold)))
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
		return d.Table(t, indent)
	}
	shown, folded := items, 0
	if !d.all && d.Width > 0 && len(items) > maxRows {
		shown, folded = items[:headRows], len(items)-headRows
	}
	bullet := "• "
	if d.ASCII {
		bullet = "- "
	}
	for _, v := range shown {
		if isScalar(v) {
			lines = append(lines, d.first(indent, d.wrap(indent, d.scalar(v)))...)
			continue
		}
		for i, line := range d.below(v, indent+"  ", depth-1) {
			if i == 0 {
				line = indent + bullet + strings.TrimPrefix(line, indent+"  ")
			}
			lines = append(lines, line)
		}
	}
	if folded > 0 {
		lines = append(lines, d.foldLine(indent, d.Fold(folded, "element", d.unfold)))
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
			if !isText || !simple(x) {
				return nil
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) > 50 {
			return nil
		}
	}
	t := &Table{All: d.all, Unfold: d.unfold}
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
				row[i] = d.line(x)
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
