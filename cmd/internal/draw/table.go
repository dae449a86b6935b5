package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Column is a column of a [Table].
type Column struct {
	Name  string
	Right bool // numbers, on their last digit
	// Rank says which columns are left out first where a table is too wide: those with the highest.
	Rank int
	Dim  bool // what may be skipped
	// Whole says that its texts are not cut.
	Whole bool
}

// A Table is a table without borders.
type Table struct {
	Columns []Column
	Rows    [][]string
	Marks   []Symbol // of the rows, in the gutter; nil for a table without
	// AllRows shows all rows, and AllColumns all columns, also where they do not fit.
	AllRows, AllColumns bool
	// Unfold is what shows all rows, such as "--all", and Widen what shows all columns; "" for none.
	Unfold, Widen string
}

const (
	// MaxRows is how many rows a table shows whole. Of a longer one, HeadRows and TailRows are shown.
	MaxRows, HeadRows, TailRows = 20, 15, 2
	// leastText is how many cells a column of text keeps where a table is too wide.
	leastText = 16
)

// Table returns the lines of a table, each with an indent. Where it is too wide, the texts of its widest columns are cut, and
// columns are left out whole; if that is not enough each row is a record with a line for each column. Numbers are never cut.
func (s Screen) Table(t *Table, indent string) []string {
	if s.Plain && len(t.Columns) > 1 {
		return s.records(t, indent)
	}
	if t.Marks != nil {
		indent += "  "
	}
	rows, marks, folded := t.shown(s)
	widths := widthsOf(t.Columns, rows)
	room := s.Width - 1 - Cells(indent)
	shown, left := allColumns(t.Columns), []string(nil)
	if s.Width > 0 && !t.AllColumns {
		if shown, left = fit(t.Columns, widths, room); shown == nil {
			return s.records(t, indent)
		}
	}
	var lines []string
	add := func(row func(i int) string, code string, mark Symbol) {
		var cells []string
		for _, i := range shown {
			cell := Pad(s.CutText(row(i), widths[i]), widths[i], t.Columns[i].Right)
			if (t.Columns[i].Dim || strings.TrimSpace(row(i)) == Missing) && code == "" {
				cell = s.Paint(Dim, cell)
			}
			cells = append(cells, cell)
		}
		line := strings.TrimRight(strings.Join(cells, "  "), " ")
		lead := indent
		if mark != None {
			lead = indent[2:] + s.Mark(mark) + " "
		}
		lines = append(lines, lead+s.Paint(code, line))
	}
	add(func(i int) string { return t.Columns[i].Name }, Bold, None)
	for n, row := range rows {
		if folded > 0 && n == HeadRows {
			lines = append(lines, s.foldLine(indent, s.Fold(folded, "row", t.Unfold)))
		}
		mark := None
		if t.Marks != nil {
			mark = marks[n]
		}
		add(func(i int) string { return row[i] }, "", mark)
	}
	if len(left) > 0 {
		lines = append(lines, s.foldLine(indent, s.Fold(len(left), "column", t.Widen)+": "+strings.Join(left, " ")))
	}
	return lines
}

// widthsOf returns how many cells each column needs.
func widthsOf(columns []Column, rows [][]string) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = Cells(c.Name)
		for _, row := range rows {
			widths[i] = max(widths[i], Cells(row[i]))
		}
	}
	return widths
}

// width returns how many cells the table needs.
func (t *Table) width() int {
	widths := widthsOf(t.Columns, t.Rows)
	return total(allColumns(t.Columns), func(i int) int { return widths[i] })
}

// shown returns the rows that are shown with their marks, and how many are not.
func (t *Table) shown(s Screen) (rows [][]string, marks []Symbol, folded int) {
	rows, marks = t.Rows, t.Marks
	if last := len(rows) - TailRows; !t.AllRows && s.Width > 0 && len(rows) > MaxRows {
		if marks != nil {
			marks = slices.Concat(marks[:HeadRows], marks[last:])
		}
		rows, folded = slices.Concat(rows[:HeadRows], rows[last:]), last-HeadRows
	}
	if !s.ASCII {
		return rows, marks, folded
	}
	shown := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			shown[i] = append(shown[i], s.Shown(cell))
		}
	}
	return shown, marks, folded
}

// Fold says what is not shown, and what shows it.
func (s Screen) Fold(n int, what, unfold string) string {
	if n != 1 {
		what += "s"
	}
	text := fmt.Sprintf("%s %d %s", s.Symbol(Folded), n, what)
	if unfold != "" {
		text += " (" + unfold + ")"
	}
	return text
}

// foldLine returns a line that says what is not shown.
func (s Screen) foldLine(indent, text string) string {
	if s.Width > 0 {
		text = s.Cut(text, max(1, s.Width-1-Cells(indent)))
	}
	return indent + s.Paint(Dim, text)
}

func allColumns(columns []Column) (shown []int) {
	for i := range columns {
		shown = append(shown, i)
	}
	return shown
}

// fit returns the columns that fit, and the names of those that are left out, from the highest rank: a column without a rank
// stays. It makes the widest texts shorter. The columns are nil if they do not fit.
func fit(columns []Column, widths []int, room int) (shown []int, left []string) {
	least := func(i int) int {
		if columns[i].Right || columns[i].Whole {
			return widths[i]
		}
		return min(widths[i], leastText)
	}
	for shown = allColumns(columns); total(shown, least) > room; {
		worst := -1
		for n, i := range shown {
			if columns[i].Rank > 0 && (worst < 0 || columns[i].Rank >= columns[shown[worst]].Rank) {
				worst = n
			}
		}
		if worst < 0 {
			return nil, nil
		}
		shown = slices.Delete(shown, worst, worst+1)
	}
	for i, c := range columns {
		if !slices.Contains(shown, i) {
			left = append(left, c.Name)
		}
	}
	for total(shown, func(i int) int { return widths[i] }) > room {
		widest := slices.MaxFunc(shown, func(a, b int) int { return cmp.Compare(widths[a]-least(a), widths[b]-least(b)) })
		widths[widest]--
	}
	return shown, left
}

// total returns the cells of columns with two spaces between them.
func total(shown []int, cells func(i int) int) int {
	sum := 2 * (len(shown) - 1)
	for _, i := range shown {
		sum += cells(i)
	}
	return sum
}

// records returns each row of a table with a line for each column, and an empty line between rows.
func (s Screen) records(t *Table, indent string) (lines []string) {
	rows, marks, folded := t.shown(s)
	width := 0
	for _, c := range t.Columns {
		width = max(width, Cells(c.Name))
	}
	for n, row := range rows {
		if n > 0 {
			lines = append(lines, "")
		}
		if folded > 0 && n == HeadRows {
			lines = append(lines, s.foldLine(indent, s.Fold(folded, "row", t.Unfold)), "")
		}
		if marks != nil && marks[n] != None {
			lines = append(lines, indent+s.Mark(marks[n]))
		}
		for i, c := range t.Columns {
			if row[i] == "" {
				continue
			}
			lines = append(lines, s.fact(indent, c.Name, min(width, maxName), row[i])...)
		}
	}
	return lines
}
