package visible

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// A cell is a character of a line as it is shown, or a mark.
type cell struct {
	text  string
	start int // the offset of its part in the line
	width int // in columns
}

// Excerpt shows a line of a file without its indentation, and a second line with carets under the
// length characters from a column on, which counts from 1 in characters. Column 0 is unknown: the
// carets are under the complete line. A line that is wider than columns is cut around the column,
// with … where something is missing. Both results end without spaces.
func Excerpt(line string, column, length, columns int) (text, carets string) {
	from, to := byteRange(line, column, length)
	body := strings.TrimLeft(line, " \t")
	indent := len(line) - len(body)
	body = strings.TrimRight(body, " \t")
	from, to = max(from-indent, 0), max(to-indent, 0)
	if column <= 0 {
		from, to = 0, len(body)
	}
	// A line can be as long as a file. Only the part of it that may be shown is examined.
	reach := 4 * max(columns, 20) * utf8.UTFMax
	before, after := from > reach, len(body)-from > reach
	if after {
		body = body[:runeStart(body, from+reach)]
	}
	if before {
		start := runeStart(body, from-reach)
		body, from, to = body[start:], from-start, to-start
	}
	cells := cellsOf(body)
	first, last := cellAt(cells, from), cellAt(cells, to-1)
	begin, end := window(cells, first, columns)
	var shown, under strings.Builder
	if begin > 0 || before {
		shown.WriteString("…")
		under.WriteByte(' ')
	}
	for i := begin; i < end; i++ {
		shown.WriteString(cells[i].text)
		under.WriteString(strings.Repeat(caret(first <= i && i <= max(first, last)), cells[i].width))
	}
	if end < len(cells) || after {
		shown.WriteString("…")
	}
	carets = strings.TrimRight(under.String(), " ")
	if carets == "" { // it is behind the end of the line, or of no width
		carets = under.String() + "^"
	}
	return shown.String(), carets
}

func caret(marked bool) string {
	if marked {
		return "^"
	}
	return " "
}

// runeStart returns the offset at or before at where a character begins.
func runeStart(line string, at int) int {
	for at > 0 && at < len(line) && !utf8.RuneStart(line[at]) {
		at--
	}
	return min(at, len(line))
}

// byteRange returns the offsets of some characters of a line.
func byteRange(line string, column, length int) (from, to int) {
	from, to = len(line), len(line)
	n := 1
	for i := range line {
		if n == column {
			from = i
		}
		if n == column+max(length, 1) {
			return from, i
		}
		n++
	}
	return from, to
}

// cellsOf returns the cells of a line.
func cellsOf(line string) []cell {
	var cells []cell
	at := 0
	for _, s := range Spans(line) {
		if s.Mark != "" || len(s.Text) != s.Size {
			cells = append(cells, cell{s.Text, at, Width(s.Text)})
			at += s.Size
			continue
		}
		for i, r := range s.Text {
			cells = append(cells, cell{string(r), at + i, widthOf(r)})
		}
		at += s.Size
	}
	return cells
}

// cellAt returns the index of the cell that has a byte of the line, or how many cells there are.
func cellAt(cells []cell, at int) int {
	for i := range cells {
		if i+1 == len(cells) || cells[i+1].start > at {
			if i+1 == len(cells) && at >= cells[i].start+len(cells[i].text) {
				break // behind it; a mark is longer than what it stands for
			}
			return i
		}
	}
	return len(cells)
}

// window returns the range of the cells that are shown around one of them.
func window(cells []cell, around, columns int) (begin, end int) {
	columns = max(columns, 8)
	total := 0
	for _, c := range cells {
		total += c.width
	}
	if total <= columns {
		return 0, len(cells)
	}
	columns -= 2 // for …
	begin = min(around, len(cells))
	for left := columns / 2; begin > 0 && left >= cells[begin-1].width; begin-- {
		left -= cells[begin-1].width
	}
	end = begin
	for left := columns; end < len(cells) && left >= cells[end].width; end++ {
		left -= cells[end].width
	}
	return begin, max(end, min(around+1, len(cells)))
}

// Width returns how many columns a text takes on most terminals; see [Columns] for the most that it
// may take.
func Width(text string) (n int) {
	for _, r := range text {
		n += widthOf(r)
	}
	return n
}

func widthOf(r rune) int {
	switch {
	case r < utf8.RuneSelf:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
