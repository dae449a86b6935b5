package text

import (
	"math"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

func columnFuncs() []tool.Func {
	text := tool.Required("text", tool.TypeString, "The text, one line.")
	width := tool.Required("width", tool.TypeInteger, "The number of columns of the result. A wider text is returned unchanged.")
	fill := tool.Optional("fill", tool.TypeString, " ", "The character to add. It must be one column wide.")
	return []tool.Func{
		{
			Name:    "pad_left",
			Doc:     "Align a text on the right: pad the text on the left.",
			Params:  []tool.Param{text, width, fill},
			Returns: "the padded text",
			Do:      row.Do(func(a *value.Dict) (value.Value, error) { return pad(a, 1, 1) }),
		},
		{
			Name:    "pad_right",
			Doc:     "Align a text on the left: pad the text on the right.",
			Params:  []tool.Param{text, width, fill},
			Returns: "the padded text",
			Do:      row.Do(func(a *value.Dict) (value.Value, error) { return pad(a, 0, 1) }),
		},
		{
			Name:    "center",
			Doc:     "Center a text: pad the text on both sides. If the two sides cannot be equal, the right side is wider.",
			Params:  []tool.Param{text, width, fill},
			Returns: "the padded text",
			Do:      row.Do(func(a *value.Dict) (value.Value, error) { return pad(a, 1, 2) }),
		},
		{
			Name: "table",
			Doc: "Format rows as aligned columns for people: a header, a rule, and a line for each row. " +
				"Columns of numbers are aligned on the right.",
			Params: []tool.Param{
				tool.Required("rows", tool.TypeArray, "A list of dicts, or a list of lists."),
				row.Items(tool.Maybe("columns", tool.TypeArray, "The columns to show, in this order. If the rows are lists, these are the names in the header. "+
					"Default: all keys of the rows, in the order in which they first appear."), tool.TypeString),
			},
			Returns: "the table as text; each line ends with a line break",
			Do:      row.Do(table),
		},
	}
}

// pad fills the missing columns, share/all of them on the left.
func pad(a *value.Dict, share, all int) (value.Value, error) {
	text, fill := a.Text("text"), a.Text("fill")
	width, err := row.Size(a, "width", row.MaxText)
	if err != nil {
		return nil, err
	}
	if r := []rune(fill); len(r) != 1 || runeWidth(r[0]) != 1 {
		return nil, row.Invalid("argument 'fill' should be one character that is one column wide")
	}
	missing := max(0, width-displayWidth(text))
	left := missing * share / all
	var b row.Builder
	b.Repeat(fill, left)
	b.Add(text)
	b.Repeat(fill, missing-left)
	return b.Text()
}

// A layout is a table that is being written.
type layout struct {
	rows   [][]string
	widths []int
	number []bool // by column: every cell is a number
}

func table(a *value.Dict) (value.Value, error) {
	rows := a.Elements("rows")
	columns := row.Strings(a, "columns")
	named := row.Arg(a, "columns") != nil
	if !named {
		var err error
		if columns, err = row.Columns(rows); err != nil {
			return nil, err
		}
	}
	g := &layout{}
	budget := row.MaxValues
	for i, r := range rows {
		if budget -= 1 + len(columns); budget < 0 {
			return nil, row.TooMany()
		}
		cells, err := row.Cells(r, i+1, columns, named)
		if err != nil {
			return nil, err
		}
		g.add(cells, r)
	}
	return g.write(columns)
}

// add adds one row.
func (g *layout) add(cells []string, row value.Value) {
	for len(g.widths) < len(cells) {
		g.widths = append(g.widths, 0)
		g.number = append(g.number, true)
	}
	for i, cell := range cells {
		cells[i] = oneLine(cell)
		g.widths[i] = max(g.widths[i], displayWidth(cells[i]))
		g.number[i] = g.number[i] && isNumber(cell)
	}
	g.rows = append(g.rows, cells)
}

func (g *layout) write(columns []string) (value.Value, error) {
	var b row.Builder
	if len(columns) > 0 {
		header := make([]string, len(columns))
		rule := make([]string, len(columns))
		for len(g.widths) < len(columns) {
			g.widths = append(g.widths, 0)
			g.number = append(g.number, false)
		}
		for i, name := range columns {
			header[i] = oneLine(name)
			g.widths[i] = max(g.widths[i], displayWidth(header[i]))
			if g.widths[i] > row.MaxText {
				return nil, row.TooLong()
			}
			rule[i] = strings.Repeat("-", g.widths[i])
		}
		g.line(&b, header)
		g.line(&b, rule)
	}
	for _, row := range g.rows {
		if g.line(&b, row); b.Full {
			break
		}
	}
	return b.Text()
}

// line writes one row. It writes spaces only before a cell, so that no line ends in spaces.
func (g *layout) line(b *row.Builder, cells []string) {
	gap := 0
	for i, cell := range cells {
		if i > 0 {
			gap += 2
		}
		missing := g.widths[i] - displayWidth(cell)
		if g.number[i] || cell == "" {
			gap += missing
			missing = 0
		}
		if cell != "" {
			b.Repeat(" ", gap)
			b.Add(cell)
			gap = 0
		}
		gap += missing
	}
	b.Add("\n")
}

// isNumber reports whether a cell is empty or written like a number.
func isNumber(cell string) bool {
	switch row.Typed(cell).(type) {
	case string, bool:
		return false
	}
	return true
}

// oneLine replaces the characters that begin a line or a column by spaces, and escapes others that would
// move the cursor.
func oneLine(s string) string {
	breaks := func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}
	return value.Clean(strings.Map(breaks, s), math.MaxInt)
}

// displayWidth returns how many columns a text takes on a terminal. A character after a zero
// width joiner is drawn over the one before it.
func displayWidth(s string) int {
	width := 0
	joined := false
	for _, r := range s {
		if !joined {
			width += runeWidth(r)
		}
		joined = r == '\u200d'
	}
	return width
}

func runeWidth(r rune) int {
	switch {
	case r < 0x20 || r == 0x7f:
		return 0
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || (0x1160 <= r && r <= 0x11ff):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
