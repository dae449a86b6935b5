package csv

import (
	"slices"
	"strings"
)

// Delimiter detects the delimiter of the rows that follow: of the candidates comma,
// semicolon, tab and bar, the one with the best fit. Without a delimiter, a file has one
// column, and the result is a comma. d has the rest of the dialect.
func (s *Scanner) Delimiter(d Dialect) string {
	best, _ := s.best(d)
	return best.Delimiter
}

func (s *Scanner) best(d Dialect) (Dialect, fit) {
	candidates := []string{d.Delimiter}
	if d.Delimiter == "" {
		candidates = []string{",", ";", "\t", "|"} // the most usual first
		d.Delimiter = ","
	}
	var best fit
	for _, candidate := range candidates {
		one := d
		if one.Delimiter = candidate; candidate == d.Quote {
			continue
		}
		if fit := s.fit(one); fit.cells > 1 && fit.betterThan(best) {
			d.Delimiter, best = candidate, fit
		}
	}
	return d, best
}

// Separator returns the delimiter in a first line as Excel writes it, sep=;, or "".
func (s *Scanner) Separator() string {
	line, _, _ := strings.Cut(s.text[s.pos:min(len(s.text), s.pos+16)], "\n")
	line = strings.TrimSuffix(line, "\r")
	if len(line) != len("sep=;") || !strings.EqualFold(line[:4], "sep=") || !strings.Contains(",;\t|", line[4:]) {
		return ""
	}
	return line[4:]
}

// Commented reports whether the first line is a comment, and the table is one if such lines are left out.
func (s *Scanner) Commented(d Dialect) bool {
	line := s.nextLine()
	if d.Comment != "" || !strings.HasPrefix(line, "#") {
		return false
	}
	d.Comment = "#"
	best, fit := s.best(d)
	return fit.cells > 1 && fit.rows > 1 && fit.share == 1 && strings.Count(line, best.Delimiter)+1 < fit.cells
}

// Title returns the number of lines before the table: lines that no delimiter divides, before
// rows that one divides into equally many cells; or lines with fewer cells than all names of a header, before rows of
// which at least three quarters have as many.
func (s *Scanner) Title(d Dialect) int {
	const most, enough = 20, 0.75
	one := *s
	widest := 1
	for n := range most {
		best, fit := one.best(d)
		switch {
		case fit.cells < 2:
		case fit.share == 1 && fit.rows > 1 && !fit.stray && widest == 1:
			return n
		case n > 0 && fit.share >= enough && fit.rows > 2 && !fit.stray && fit.cells > widest && named(one.nextLine(), best.Delimiter):
			return n
		default:
			widest = max(widest, strings.Count(one.nextLine(), best.Delimiter)+1)
		}
		at := strings.IndexAny(one.text[one.pos:], "\r\n")
		if at < 0 {
			return 0
		}
		one.pos, _ = one.lineEnd(one.pos + at)
	}
	return 0
}

// nextLine returns the next line that is not blank.
func (s *Scanner) nextLine() string {
	line, _, _ := strings.Cut(strings.TrimLeft(s.text[s.pos:], "\r\n"), "\n")
	return strings.TrimSuffix(line, "\r")
}

// named reports whether all cells of a line can be the names of columns.
func named(line, delimiter string) bool {
	return !strings.ContainsAny(line, "0123456789") && !slices.ContainsFunc(strings.Split(line, delimiter), func(cell string) bool { return strings.TrimSpace(cell) == "" })
}

// SpacedQuotes reports whether the rows that follow have spaces before quoted cells.
func (s *Scanner) SpacedQuotes(d Dialect) bool {
	fit := s.fit(d)
	if !fit.spaced {
		return false
	}
	d.Trim = true
	trimmed := s.fit(d)
	return trimmed.cells > 0 && trimmed.share >= fit.share
}

// A fit describes how well a delimiter divides the first rows of a file.
type fit struct {
	rows  int
	cells int     // of the first row
	share float64 // of the rows that have as many cells as the first row
	// stray reports whether the quotes in a cell without quotes are not pairs. A wrong
	// delimiter often divides a quoted cell: that of x,"a|b" is not |.
	stray  bool
	spaced bool // there are spaces before quotes
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
func (s *Scanner) fit(d Dialect) (found fit) {
	const enough = 50 // rows
	one := *s
	one.Begin(d)
	b := &Rows{}
	alike := 0
	for found.rows < enough {
		b.Spans, b.Lines = b.Spans[:0], b.Lines[:0]
		ok, err := one.Row(b)
		if err != nil {
			return fit{}
		}
		if !ok {
			break
		}
		if found.rows++; found.rows == 1 {
			found.cells = len(b.Spans)
		}
		if len(b.Spans) == found.cells {
			alike++
		}
		found.stray = found.stray || b.strayQuote(d.Quote)
		found.spaced = found.spaced || b.SpacedQuote(d.Quote)
	}
	if found.rows > 0 {
		found.share = float64(alike) / float64(found.rows)
	}
	return found
}

// SpacedQuote reports whether a cell without quotes begins with spaces and a quote.
func (b *Rows) SpacedQuote(quote string) bool {
	return quote != "" && slices.ContainsFunc(b.Spans, func(sp Span) bool {
		cell := b.Text[sp.Start:sp.End]
		return sp.Mark == Plain && strings.HasPrefix(cell, " ") && strings.HasPrefix(strings.TrimLeft(cell, " "), quote)
	})
}

// strayQuote reports whether a cell without quotes contains an odd number of quotes, as a part of a quoted cell
// does.
func (b *Rows) strayQuote(quote string) bool {
	return quote != "" && slices.ContainsFunc(b.Spans, func(sp Span) bool {
		return sp.Mark == Plain && strings.Count(b.Text[sp.Start:sp.End], quote)%2 == 1
	})
}
