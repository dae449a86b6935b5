package csv

import (
	"slices"
	"strings"
)

// Delimiter detects the delimiter of the rows that follow: of the candidates comma,
// semicolon, tab and bar, the one with the best fit. Without a delimiter, a file has one
// column, and the result is a comma.
func (s *Scanner) Delimiter(quote string) string {
	delimiter := ","
	var best fit
	for _, d := range []string{",", ";", "\t", "|"} { // the most usual first
		if d == quote {
			continue
		}
		if one := s.fit(d, quote); one.cells > 1 && one.betterThan(best) {
			delimiter, best = d, one
		}
	}
	return delimiter
}

// A fit describes how well a delimiter divides the first rows of a file.
type fit struct {
	cells int     // of the first row
	share float64 // of the rows that have as many cells as the first row
	// stray reports whether the quotes in a cell without quotes are not pairs. A wrong
	// delimiter often divides a quoted cell: that of x,"a|b" is not |.
	stray bool
}

// betterThan reports whether a delimiter with the fit f is more likely than one with the
// fit best, which is zero before the first candidate.
func (f fit) betterThan(best fit) bool {
	switch {
	case best.cells == 0:
		return true
	case f.stray != best.stray:
		return best.stray
	case f.share != best.share:
		return f.share > best.share
	}
	return f.cells > best.cells
}

// fit returns how well a delimiter divides the rows that follow. The zero fit means that
// the quotes are invalid with it.
func (s *Scanner) fit(delimiter, quote string) (found fit) {
	const enough = 50 // rows
	one := *s
	one.Begin(delimiter, quote)
	b := &Rows{}
	rows, alike := 0, 0
	for rows < enough {
		b.Spans, b.Lines = b.Spans[:0], b.Lines[:0]
		ok, err := one.Row(b)
		if err != nil {
			return fit{}
		}
		if !ok {
			break
		}
		if rows++; rows == 1 {
			found.cells = len(b.Spans)
		}
		if len(b.Spans) == found.cells {
			alike++
		}
		found.stray = found.stray || b.strayQuote(quote)
	}
	if rows > 0 {
		found.share = float64(alike) / float64(rows)
	}
	return found
}

// strayQuote reports whether a cell without quotes contains an odd number of quotes, as a part of a quoted cell
// does.
func (b *Rows) strayQuote(quote string) bool {
	return quote != "" && slices.ContainsFunc(b.Spans, func(sp Span) bool {
		return sp.Mark == Plain && strings.Count(b.Text[sp.Start:sp.End], quote)%2 == 1
	})
}
