package table

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// shownRows and shownWidth are the size of a screen, and small for a model.
	shownRows  = 20
	shownWidth = 160
	// shownCell is the maximum width of a cell.
	shownCell = 40
	// shownMissing is shown for a missing value. An equal text is quoted.
	shownMissing = "–"
	columnGap    = "  "
)

// Text formats the table for people and models.
func (t *Table) Text(ctx context.Context, g tool.Grant) (string, error) {
	return t.render(ctx, g, shownRows, shownWidth)
}

// An excerpt has the rows of a table that are shown.
type excerpt struct {
	table *Table
	*Batch
	head int // the number of rows before the omitted ones
	all  int // the number of rows of the table; -1 if unknown
}

// render formats at most so many rows of the table, in lines of at most so many columns
// of a screen. A table that is not held is read until it has the rows.
func (t *Table) render(ctx context.Context, g tool.Grant, rows, width int) (string, error) {
	x, err := t.excerpt(ctx, g, rows)
	if err != nil {
		return "", err
	}
	return x.text(g, width)
}

// text formats the rows.
func (x *excerpt) text(g tool.Grant, width int) (string, error) {
	const copies = 3 // the cells, the line, and the growing text
	line := min(width, len(x.table.names)*(shownCell+len(columnGap)))
	if err := newBudget(g).take(copies * int64(x.Rows) * int64(line)); err != nil {
		return "", err
	}
	shown, left := x.columns(width)
	var b strings.Builder
	for line := range x.Rows + headerLines {
		if line == headerLines+x.head {
			b.WriteString(x.omitted())
		}
		writeLine(&b, shown, line)
	}
	if x.head == x.Rows {
		b.WriteString(x.omitted())
	}
	if len(left) > 0 {
		more := fmt.Sprintf("… %s: ", counted(len(left), "more column"))
		b.WriteString(more + namesInLine(left, max(width-textWidth(more)-len(", …"), shownCell)) + "\n")
	}
	b.WriteString(x.summary())
	return b.String(), nil
}

// excerpt returns the rows to show: the first and the last of a held table, otherwise
// the first.
func (t *Table) excerpt(ctx context.Context, g tool.Grant, rows int) (*excerpt, error) {
	if t.held != nil {
		if t.rows <= rows {
			return &excerpt{t, t.held, t.rows, t.rows}, nil
		}
		tail := rows / 4
		part := newBatch(t.types)
		part.extend(t.held.slice(0, rows-tail))
		part.extend(t.held.slice(t.rows-tail, t.rows))
		return &excerpt{t, part, rows - tail, t.rows}, nil
	}
	part := newBatch(t.types)
	budget := newBudget(g)
	ended := true
	err := t.each(ctx, g, func(b *Batch) error {
		taken := b.slice(0, min(b.Rows, rows-part.Rows))
		if part.extend(taken); taken.Rows == b.Rows {
			return budget.take(taken.size())
		}
		ended = false
		return errStop
	})
	all := t.rows
	if ended {
		all = part.Rows
	}
	return &excerpt{t, part, part.Rows, all}, err
}

// omitted returns the line for omitted rows, or "".
func (x *excerpt) omitted() string {
	switch more := x.all - x.Rows; {
	case x.all < 0:
		return "… more rows\n"
	case more > 0:
		return fmt.Sprintf("… %s\n", counted(more, "more row"))
	}
	return ""
}

// summary returns the last line.
func (x *excerpt) summary() string {
	if x.all < 0 {
		return "more than " + extent(x.Rows, len(x.table.names))
	}
	return extent(x.all, len(x.table.names))
}

// namesInLine lists names that fit the line.
func namesInLine(names []string, most int) string {
	text := ""
	for i, name := range names {
		next := cutToWidth(shownText(name), shownCell)
		if i > 0 {
			next = ", " + next
		}
		if textWidth(text)+textWidth(next) > most {
			return text + ", …"
		}
		text += next
	}
	return text
}

// headerLines is the number of lines above the rows: names and types.
const headerLines = 2

// A shownColumn is a column as text: a line for its name, one for its type, and one for
// each row.
type shownColumn struct {
	lines []string
	width int
	right bool
}

// columns formats the columns that fit, from both ends of the table. If some are
// omitted, a column of ellipses takes their position, and their names are returned.
func (x *excerpt) columns(width int) (shown []*shownColumn, left []string) {
	var front, back []*shownColumn
	n := len(x.Columns)
	const ellipsisWidth = 1 + len(columnGap)
	used, most := 0, min(shownCell, max(width, 1))
	if n > 1 {
		most = min(shownCell, max(width-ellipsisWidth, 1))
	}
	for len(front)+len(back) < n {
		done := len(front) + len(back)
		at := len(front)
		if len(back) < len(front) {
			at = n - 1 - len(back)
		}
		column := x.column(at, most)
		if done > 0 {
			used += len(columnGap)
		}
		used += column.width
		reserve := ellipsisWidth
		if done == n-1 {
			reserve = 0
		}
		if done > 0 && used+reserve > width {
			break
		}
		if at == len(front) {
			front = append(front, column)
		} else {
			back = append(back, column)
		}
	}
	left = x.table.names[len(front) : n-len(back)]
	if len(left) > 0 {
		front = append(front, ellipses(x.Rows+headerLines))
	}
	slices.Reverse(back)
	return append(front, back...), left
}

func ellipses(lines int) *shownColumn {
	return &shownColumn{lines: slices.Repeat([]string{"…"}, lines), width: 1}
}

// column formats one column, in cells of at most this width.
func (x *excerpt) column(at, most int) *shownColumn {
	c := x.Columns[at]
	s := &shownColumn{right: c.Type.number(), lines: make([]string, 0, x.Rows+headerLines)}
	s.lines = append(s.lines, cutToWidth(shownText(x.table.names[at]), most), cutToWidth(c.Type.String(), most))
	for i := range x.Rows {
		s.lines = append(s.lines, cutToWidth(c.shown(i, most), most))
	}
	if c.Type == Float {
		alignPoints(s.lines[headerLines:])
	}
	for _, line := range s.lines {
		s.width = max(s.width, textWidth(line))
	}
	return s
}

// shown formats the i-th value for a cell. For a long text it uses only the beginning.
func (c *Column) shown(i, most int) string {
	if c.missing(i) {
		return shownMissing
	}
	switch c.Type {
	case Text:
		return shownText(beginning(c.Texts[i], most))
	case Float:
		return shownFloat(c.Floats[i])
	case Any:
		if s, ok := c.Values[i].(string); ok {
			return quoted(beginning(s, most)) // to distinguish it from a number
		}
		return escaped(valueText(c.Values[i]))
	}
	return c.text(i)
}

// beginning returns more of a text than fits a cell of this width.
func beginning(s string, most int) string {
	const perColumn = 32 // bytes of four characters and their escapes
	if len(s) <= perColumn*(most+1) {
		return s
	}
	return strings.ToValidUTF8(s[:perColumn*(most+1)], "")
}

// shownText formats a text, in quotes if it is ambiguous.
func shownText(s string) string {
	plain := s != "" && s != shownMissing && s[0] != '"' && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, invisible)
	if plain {
		return s
	}
	return quoted(s)
}

// invisible reports whether a character is not visible or affects others: a tab, a line
// end, or a character that changes the text direction. Emoji joiners are allowed.
func invisible(r rune) bool {
	const wideSpace = '\u3000' // between words in Chinese and Japanese
	return r != ' ' && r != wideSpace && r != zeroWidthJoiner && unicode.In(r, unicode.C, unicode.Z)
}

// quoted formats a text as in JSON.
func quoted(s string) string { return escaped(value.FormatJSON(s, "")) }

// escaped replaces the remaining invisible characters of a text.
func escaped(s string) string {
	if !strings.ContainsFunc(s, invisible) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !invisible(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// shownFloat formats a number with at most ten significant digits, but with all digits
// before the point and, if the float has them, four after it.
func shownFloat(f float64) string {
	const digits = 10
	exact := formatFloat(f)
	size := math.Abs(f)
	if size != 0 && (size < 1e-4 || size >= 1e15) || f != f {
		if rounded := strconv.FormatFloat(f, 'g', digits, 64); len(rounded) < len(exact) {
			return rounded
		}
		return exact
	}
	before := 1
	if size >= 1 {
		before = int(math.Log10(size)) + 1
	} else if size > 0 {
		before = int(math.Floor(math.Log10(size))) + 1 // zeros after the point are not significant
	}
	rounded := strconv.FormatFloat(f, 'f', max(digits-before, min(4, 15-before), 1), 64)
	whole, fraction, _ := strings.Cut(rounded, ".")
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		fraction = "0"
	}
	return whole + "." + fraction
}

// alignPoints pads the numbers of a column so that their points are aligned.
func alignPoints(cells []string) {
	longest := 0
	for _, s := range cells {
		longest = max(longest, fractionLen(s))
	}
	for i, s := range cells {
		cells[i] = s + strings.Repeat(" ", longest-fractionLen(s))
	}
}

// fractionLen returns the number of characters of a number after its integer part. A
// number with an exponent has none.
func fractionLen(s string) int {
	at := strings.IndexByte(s, '.')
	if at < 0 || strings.ContainsAny(s, "e…") {
		return 0
	}
	return len(s) - at
}

// writeLine writes one line of all columns.
func writeLine(b *strings.Builder, columns []*shownColumn, line int) {
	var row strings.Builder
	for i, c := range columns {
		if i > 0 {
			row.WriteString(columnGap)
		}
		pad := strings.Repeat(" ", c.width-textWidth(c.lines[line]))
		if c.right {
			row.WriteString(pad + c.lines[line])
		} else {
			row.WriteString(c.lines[line] + pad)
		}
	}
	b.WriteString(strings.TrimRight(row.String(), " "))
	b.WriteByte('\n')
}
