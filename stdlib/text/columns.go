package text

import (
	"slices"
	"strings"
	"unicode"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/encoding"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

func textColumns() []tool.Func {
	text := tool.Required("text", tool.TypeString, "The text, one line.")
	width := tool.Required("width", tool.TypeInteger, "How many columns the result takes; a wider text stays as it is.")
	fill := tool.Optional("fill", tool.TypeString, " ", "What to add: one character of one column.")
	return []tool.Func{
		{
			Name:    "pad_left",
			Doc:     "Adds spaces on the left, so that columns end below one another.",
			Params:  []tool.Param{text, width, fill},
			Returns: "the text, at the right of its column",
			Do:      row.Do(func(a *value.Dict) (value.Value, error) { return textPad(a, 1, 1) }),
		},
		{
			Name:    "pad_right",
			Doc:     "Adds spaces on the right, so that columns begin below one another.",
			Params:  []tool.Param{text, width, fill},
			Returns: "the text, at the left of its column",
			Do:      row.Do(func(a *value.Dict) (value.Value, error) { return textPad(a, 0, 1) }),
		},
		{
			Name:    "center",
			Doc:     "Adds spaces on both sides; an odd one goes to the right.",
			Params:  []tool.Param{text, width, fill},
			Returns: "the text, in the middle of its column",
			Do:      row.Do(func(a *value.Dict) (value.Value, error) { return textPad(a, 1, 2) }),
		},
		{
			Name: "table",
			Doc: "Lays rows out in aligned columns for people to read: a header, a rule, and a line for each row. " +
				"Columns of numbers are aligned on the right.",
			Params: []tool.Param{
				tool.Required("rows", tool.TypeArray, "A list of dicts, or a list of lists."),
				row.Items(tool.Maybe("columns", tool.TypeArray, "The columns to show and their order, and the header over rows that are lists; "+
					"without it, every key of the rows in the order in which they first appear."), tool.TypeString),
			},
			Returns: "the table, each line ended by a line break",
			Do:      row.Do(textTable),
		},
	}
}

// textPad puts share parts out of all of the missing columns on the left.
func textPad(a *value.Dict, share, all int) (value.Value, error) {
	text, fill := a.Text("text"), a.Text("fill")
	width, err := row.Size(a, "width", row.MaxText)
	if err != nil {
		return nil, err
	}
	if r := []rune(fill); len(r) != 1 || textRuneWidth(r[0]) != 1 {
		return nil, row.Invalid("argument 'fill' should be one character of one column")
	}
	missing := max(0, width-textWidth(text))
	left := missing * share / all
	var b row.Builder
	b.Repeat(fill, left)
	b.Add(text)
	b.Repeat(fill, missing-left)
	return b.Text()
}

// A textGrid is a table being laid out.
type textGrid struct {
	rows   [][]string
	widths []int
	number []bool // by column: whether every cell is a number
}

func textTable(a *value.Dict) (value.Value, error) {
	rows := row.Elements(a, "rows")
	columns := row.Strings(a, "columns")
	named := row.Arg(a, "columns") != nil
	if !named {
		var err error
		if columns, err = encoding.CSVColumns(rows); err != nil {
			return nil, err
		}
	}
	g := &textGrid{}
	budget := row.MaxValues
	for i, r := range rows {
		if budget -= 1 + len(columns); budget < 0 {
			return nil, row.TooMany()
		}
		cells, err := encoding.CSVCells(r, i+1, columns, named)
		if err != nil {
			return nil, err
		}
		g.add(cells, r)
	}
	return g.write(columns)
}

// add takes up one row; the value says which of its cells are numbers.
func (g *textGrid) add(cells []string, row value.Value) {
	for len(g.widths) < len(cells) {
		g.widths = append(g.widths, 0)
		g.number = append(g.number, true)
	}
	for i, cell := range cells {
		cells[i] = textOneLine(cell)
		g.widths[i] = max(g.widths[i], textWidth(cells[i]))
		g.number[i] = g.number[i] && textIsNumber(cell)
	}
	g.rows = append(g.rows, cells)
}

func (g *textGrid) write(columns []string) (value.Value, error) {
	var b row.Builder
	if len(columns) > 0 {
		header := make([]string, len(columns))
		rule := make([]string, len(columns))
		for len(g.widths) < len(columns) {
			g.widths = append(g.widths, 0)
			g.number = append(g.number, false)
		}
		for i, name := range columns {
			header[i] = textOneLine(name)
			g.widths[i] = max(g.widths[i], textWidth(header[i]))
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

// line writes one row. Spaces wait until a cell follows them, so that no line
// ends in any.
func (g *textGrid) line(b *row.Builder, cells []string) {
	gap := 0
	for i, cell := range cells {
		if i > 0 {
			gap += 2
		}
		missing := g.widths[i] - textWidth(cell)
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

// textIsNumber reports whether a cell is empty or written like a number.
func textIsNumber(cell string) bool {
	switch encoding.CSVTyped(cell).(type) {
	case string, bool:
		return false
	}
	return true
}

// textOneLine makes what would move the cursor a space.
func textOneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// textWidth returns how many columns a text takes on a terminal. What follows
// a zero width joiner is drawn over what is before it.
func textWidth(s string) int {
	width := 0
	joined := false
	for _, r := range s {
		if !joined {
			width += textRuneWidth(r)
		}
		joined = r == '\u200d'
	}
	return width
}

func textRuneWidth(r rune) int {
	switch {
	case r < 0x20 || r == 0x7f:
		return 0
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || (0x1160 <= r && r <= 0x11ff):
		return 0
	}
	_, wide := slices.BinarySearchFunc(textWide, r, func(span [2]rune, r rune) int {
		switch {
		case r < span[0]:
			return 1
		case r > span[1]:
			return -1
		}
		return 0
	})
	if wide {
		return 2
	}
	return 1
}

// textWide holds the characters that Unicode calls wide or fullwidth (UAX #11),
// with what is not yet assigned between two of them.
var textWide = [][2]rune{
	{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec}, {0x23f0, 0x23f0}, {0x23f3, 0x23f3},
	{0x25fd, 0x25fe}, {0x2614, 0x2615}, {0x2648, 0x2653}, {0x267f, 0x267f}, {0x2693, 0x2693}, {0x26a1, 0x26a1},
	{0x26aa, 0x26ab}, {0x26bd, 0x26be}, {0x26c4, 0x26c5}, {0x26ce, 0x26ce}, {0x26d4, 0x26d4}, {0x26ea, 0x26ea},
	{0x26f2, 0x26f3}, {0x26f5, 0x26f5}, {0x26fa, 0x26fa}, {0x26fd, 0x26fd}, {0x2705, 0x2705}, {0x270a, 0x270b},
	{0x2728, 0x2728}, {0x274c, 0x274c}, {0x274e, 0x274e}, {0x2753, 0x2755}, {0x2757, 0x2757}, {0x2795, 0x2797},
	{0x27b0, 0x27b0}, {0x27bf, 0x27bf}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b50}, {0x2b55, 0x2b55}, {0x2e80, 0x303e},
	{0x3041, 0x3247}, {0x3250, 0x4dbf}, {0x4e00, 0xa4c6}, {0xa960, 0xa97c}, {0xac00, 0xd7a3}, {0xf900, 0xfad9},
	{0xfe10, 0xfe19}, {0xfe30, 0xfe6b}, {0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x16fe0, 0x1b2fb},
	{0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320},
	{0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3},
	{0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc},
	{0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567}, {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596},
	{0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2},
	{0x1f6d5, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7f0}, {0x1f90c, 0x1f93a},
	{0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
}
