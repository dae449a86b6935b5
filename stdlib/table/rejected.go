package table

import (
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/csv"
)

// maxRejected is the number of rejected rows that are kept.
const maxRejected = 1000

// rejects are the rows of a file that a lenient reader left out.
type rejects struct {
	count int
	first []rejectedRow // at most maxRejected
}

type rejectedRow struct {
	line         int
	reason, text string
}

// add records a row with the error that it had.
func (r *rejects) add(name string, line int, err error, text string) {
	if r == nil {
		return
	}
	if r.count++; len(r.first) == maxRejected {
		return
	}
	const longest = 500 // characters
	reason := value.ErrorOf(err, value.Failed).Message()
	for _, place := range []string{csv.Line(name, line) + ": ", csv.Line(name, line) + ", ", csv.Line(name, line) + " ", name + ": ", name + ", "} {
		reason = strings.TrimPrefix(reason, place)
	}
	r.first = append(r.first, rejectedRow{line, reason, strings.Clone(cutTo(text, longest))})
}

// notes returns the note about the rows, which shows the first few.
func (r *rejects) notes() []string {
	if r == nil || r.count == 0 {
		return nil
	}
	const few = 3
	var shown []string
	for _, row := range r.first[:min(few, len(r.first))] {
		shown = append(shown, fmt.Sprintf("line %d, %s (%s)", row.line, quoteCut(row.text), cutTo(row.reason, 100)))
	}
	if r.count > few {
		shown = append(shown, fmt.Sprintf("and %s more", thousands(int64(r.count-few))))
	}
	return []string{counted(r.count, "row") + " left out: " + strings.Join(shown, "; ")}
}

// table returns the rows as a table.
func (r *rejects) table() *Table {
	b := newBatch([]Type{Integer, Text, Text})
	if r != nil {
		for _, row := range r.first {
			b.Columns[0].addInt(int64(row.line))
			b.Columns[1].addText(row.reason)
			b.Columns[2].addText(row.text)
			b.Rows++
		}
	}
	return newHeld([]string{"line", "reason", "text"}, b)
}
