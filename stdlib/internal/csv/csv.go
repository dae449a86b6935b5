// Package csv reads the cells of CSV files, without copying them, and quotes cells.
//
// It is not encoding/csv because that changes each CR LF within a quoted cell to LF,
// copies every cell, has no quote other than ", and does not report whether a cell was
// quoted or at which line and character a file is invalid.
package csv

import (
	"fmt"
	"io"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Mark records how a cell was written.
type Mark uint8

// The marks.
const (
	Plain   Mark = iota // without quotes
	Free                // in quotes that are not needed
	Needed              // in quotes that are needed for a delimiter or a line break
	Doubled             // in quotes, and contains quotes, each written twice
	Escaped             // in quotes, and contains escape characters
)

// A Dialect is how the cells of a file are written.
type Dialect struct {
	Delimiter string
	Quote     string // "" means that no cell is quoted
	Escape    string // before a quote in a quoted cell; "" means that quotes are doubled
	Comment   string // the beginning of lines that are skipped; "" means that there are none
	Trim      bool   // spaces around cells and their quotes are skipped
}

// A Span is the position of a cell in the text of its [Rows].
type Span struct {
	Start, End int32
	Mark       Mark
}

// Rows are some rows of a file, cell by cell.
type Rows struct {
	Text   string
	Spans  []Span // Row by row
	Lines  []int  // the line in which each row begins
	quotes *strings.Replacer
}

// Cell returns the value of a cell.
func (b *Rows) Cell(sp Span) string {
	s := b.Text[sp.Start:sp.End]
	if sp.Mark >= Doubled {
		s = b.quotes.Replace(s)
	}
	return s
}

// Limits for hostile files. MaxCell is about the longest text that a script can use, and
// a row is held in memory while it is scanned.
const (
	MaxCell   = 8 << 20
	maxRecord = 16 << 20
	// PieceSize is the size of the text that is scanned at a time. It fits the cache of
	// a processor, and a cell that is kept keeps no more than that in memory.
	PieceSize = 256 << 10
)

// A Scanner splits a text into cells. A cell is a substring of the text; nothing is
// copied or allocated for it.
type Scanner struct {
	name      string // of the file, for errors; may be empty
	next      Next
	maxCells  int // of a row
	delimiter string
	quote     string // "" means that no cell is quoted
	escape    string
	comment   string
	trim      bool
	quotes    *strings.Replacer // replaces the quotes and escape characters in a cell

	delimiters uint64 // the first byte of the delimiter, eight times

	text  string
	last  int  // the start of the last row
	pos   int  // the start of the next row
	line  int  // the line of pos, from 1
	ended bool // the text is the last piece

	open int // the start of the current cell
}

// Next returns about n more bytes of a text in complete characters, or io.EOF at its end.
// If they are invalid after some bytes, locate returns the line and the character there,
// from 1.
type Next func(n int, locate func(before []byte) (line, column int)) ([]byte, error)

// New returns a scanner of a file, of which next returns the text. A row may have
// maxCells cells.
func New(name string, maxCells int, next Next) *Scanner {
	return &Scanner{name: name, next: next, maxCells: maxCells, line: 1}
}

// NewText returns a scanner of a text.
func NewText(text string, maxCells int) *Scanner {
	return &Scanner{text: text, ended: true, maxCells: maxCells, line: 1}
}

// Begin sets the dialect.
func (s *Scanner) Begin(d Dialect) {
	s.delimiter, s.quote, s.escape, s.comment, s.trim = d.Delimiter, d.Quote, d.Escape, d.Comment, d.Trim
	s.delimiters = uint64(d.Delimiter[0]) * everyByte
	replaced := []string{d.Quote + d.Quote, d.Quote}
	if d.Escape != "" {
		replaced = append(replaced, d.Escape+d.Escape, d.Escape, d.Escape+d.Quote, d.Quote)
	}
	s.quotes = strings.NewReplacer(replaced...)
}

// Ended reports whether all of the text was read: the current piece is the last one.
func (s *Scanner) Ended() bool { return s.ended }

// Fail returns an error for a line of the file.
func (s *Scanner) Fail(line int, format string, args ...any) *value.Error {
	return value.Errorf(value.Failed, "%s: %s", Line(s.name, line), fmt.Sprintf(format, args...))
}

// Line returns the place of a line of a file, for errors.
func Line(name string, line int) string {
	if name == "" {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s, line %d", name, line)
}

func limitFailed(e *value.Error) *value.Error {
	e.Kind, e.Limit = value.Limit, value.LimitMemory
	return e
}

// More reads the next piece of the text after the incomplete row. Pieces grow with the
// row, so that a long one is not scanned repeatedly.
func (s *Scanner) More() error {
	if err := s.Full(); err != nil {
		return err
	}
	rest := s.text[s.pos:]
	piece, err := s.next(max(PieceSize, len(rest)), func(before []byte) (line, column int) { return s.position(rest, before) })
	if err == io.EOF {
		s.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	var text strings.Builder
	text.Grow(len(rest) + len(piece))
	text.WriteString(rest)
	text.Write(piece)
	s.text, s.open, s.pos = text.String(), max(0, s.open-s.pos), 0
	return nil
}

// Full returns an error if the incomplete row is too long to read more of it.
func (s *Scanner) Full() error {
	rest := len(s.text) - s.pos
	if rest > MaxCell && len(s.text)-s.open > MaxCell {
		return s.tooLong()
	}
	if rest > maxRecord {
		return limitFailed(s.Fail(s.line, "the row is longer than %d MB", maxRecord>>20))
	}
	return nil
}

// Reject skips the line at which a row begins that cannot be read. It returns its number
// and the beginning of its text, and holds no more of a long one.
func (s *Scanner) Reject() (line int, text string, err error) {
	const most = 1 << 10
	line, text = s.line, strings.Clone(s.text[s.pos:min(len(s.text), s.pos+most)])
	text, _, _ = strings.Cut(strings.ReplaceAll(text, "\r", "\n"), "\n")
	for {
		at := strings.IndexAny(s.text[s.pos:], "\r\n")
		if at < 0 {
			at = len(s.text) - s.pos
		}
		s.pos += at
		if s.pos < len(s.text) {
			if next, ok := s.lineEnd(s.pos); ok {
				s.pos = next
				s.line++
				return line, text, nil
			}
		} else if s.ended {
			return line, text, nil
		}
		s.open = s.pos
		if err := s.More(); err != nil {
			return line, text, err
		}
	}
}

// Last returns the beginning of the text of the last row.
func (s *Scanner) Last() string {
	const most = 1 << 10
	return strings.TrimRight(s.text[s.last:min(s.pos, s.last+most)], "\r\n")
}

func (s *Scanner) tooLong() error {
	line := s.line + countLines(s.text[s.pos:s.open])
	if s.quote != "" && strings.HasPrefix(s.text[s.open:], s.quote) {
		return limitFailed(s.Fail(line, "unclosed quote: the cell has no closing quote within %d MB", MaxCell>>20)).
			WithHint(`if no cell is quoted, set quote to ""`)
	}
	return limitFailed(s.Fail(line, "a cell is longer than %d MB", MaxCell>>20))
}

// position returns the line and the column of the character that follows rest and piece.
func (s *Scanner) position(rest string, piece []byte) (line, column int) {
	before := rest + string(piece)
	return s.line + countLines(before), utf8.RuneCountInString(before[strings.LastIndexAny(before, "\r\n")+1:]) + 1
}

// countLines counts the line ends in a text: LF, CR LF and lone CR.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if crs := strings.Count(s, "\r"); crs > 0 {
		n += crs - strings.Count(s, "\r\n")
	}
	return n
}

// SkipLines skips lines at the start.
func (s *Scanner) SkipLines(n int) error {
	for n > 0 {
		at := strings.IndexAny(s.text[s.pos:], "\r\n")
		end := s.pos + at
		if at < 0 || end == len(s.text)-1 && s.text[end] == '\r' && !s.ended {
			if s.ended {
				s.pos = len(s.text)
				return nil
			}
			s.open = s.pos
			if err := s.More(); err != nil {
				return err
			}
			continue
		}
		s.pos, _ = s.lineEnd(end)
		s.line++
		n--
	}
	return nil
}

// FirstLine reads enough of the text to detect the delimiter.
func (s *Scanner) FirstLine() error {
	s.open = s.pos
	for !s.ended && len(s.text)-s.pos < MaxCell && !strings.ContainsAny(s.text[s.pos:], "\r\n") {
		if err := s.More(); err != nil {
			return err
		}
	}
	return nil
}

// lineEnd returns the start of the line after the line end at i. ok is false if it is
// unknown: a CR at the end of the text may be half of a line end.
func (s *Scanner) lineEnd(i int) (next int, ok bool) {
	if s.text[i] == '\n' {
		return i + 1, true
	}
	if i+1 == len(s.text) {
		return i + 1, s.ended
	}
	if s.text[i+1] == '\n' {
		return i + 2, true
	}
	return i + 1, true
}

// skipBlank skips empty lines and comments.
func (s *Scanner) skipBlank() (ok bool) {
	for s.pos < len(s.text) {
		end := s.pos
		if s.comment != "" && strings.HasPrefix(s.text[s.pos:], s.comment) {
			if at := strings.IndexAny(s.text[s.pos:], "\r\n"); at >= 0 {
				end += at
			} else if end = len(s.text); s.ended {
				s.pos = end
			}
		}
		if end == len(s.text) || s.text[end] != '\n' && s.text[end] != '\r' {
			return end < len(s.text)
		}
		next, ok := s.lineEnd(end)
		if !ok {
			return false
		}
		s.pos = next
		s.line++
	}
	return s.pos < len(s.text)
}

// Row appends the cells of the next row to b. ok is false if the current text has no
// complete row; b is then unchanged.
func (s *Scanner) Row(b *Rows) (ok bool, err error) {
	s.open = s.pos
	if !s.skipBlank() {
		return false, nil
	}
	text, first, inner := s.text, len(b.Spans), 0
	for i := s.pos; ; {
		s.open = i
		var sp Span
		begin := i
		if s.trim {
			begin = s.afterSpaces(i)
		}
		if s.quote != "" && begin < len(text) && text[begin] == s.quote[0] && strings.HasPrefix(text[begin:], s.quote) {
			var lines int
			if sp, lines, i, err = s.quoted(begin, inner); err != nil || i < 0 {
				b.Spans = b.Spans[:first]
				return false, err
			}
			inner += lines
		} else {
			start := i
			for i = s.cellEnd(i); !s.atEnd(i); i = s.cellEnd(i + 1) {
			}
			sp = Span{int32(start), int32(i), Plain}
			if s.trim {
				sp.Start = int32(begin)
				sp.End = sp.Start + int32(len(strings.TrimRight(text[begin:i], " ")))
			}
		}
		b.Spans = append(b.Spans, sp)
		if len(b.Spans)-first > s.maxCells {
			return false, limitFailed(s.Fail(s.line, "the row has more than %d cells", s.maxCells))
		}
		if i < len(text) && text[i] != '\n' && text[i] != '\r' {
			i += len(s.delimiter)
			continue
		}
		if i, ok = s.rowEnd(i); !ok {
			b.Spans = b.Spans[:first]
			return false, nil
		}
		return true, s.finish(b, first, i, inner)
	}
}

// afterSpaces returns the index after the spaces at i.
func (s *Scanner) afterSpaces(i int) int {
	for i < len(s.text) && s.text[i] == ' ' && s.delimiter != " " {
		i++
	}
	return i
}

// cellEnd returns the next index at which a cell without quotes may end. It checks eight
// bytes at a time.
func (s *Scanner) cellEnd(i int) int {
	text := s.text
	for ; i+8 <= len(text); i += 8 {
		w := load8(text[i : i+8])
		if found := zeros(w^s.delimiters) | zeros(w^('\n'*everyByte)) | zeros(w^('\r'*everyByte)); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && text[i] != '\n' && text[i] != '\r' && text[i] != s.delimiter[0] {
		i++
	}
	return i
}

const everyByte = 0x0101010101010101

// load8 returns eight bytes as a number in little-endian order.
func load8(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// zeros returns a number whose lowest set bit is in the lowest byte of w that is 0.
// Higher bits may be set too.
func zeros(w uint64) uint64 { return (w - everyByte) &^ w & (0x80 * everyByte) }

// atEnd reports whether a cell ends at i: other characters may begin with the same byte
// as a delimiter of several bytes.
func (s *Scanner) atEnd(i int) bool {
	return len(s.delimiter) == 1 || i >= len(s.text) || s.text[i] == '\n' || s.text[i] == '\r' || strings.HasPrefix(s.text[i:], s.delimiter)
}

// rowEnd returns the start of the next row.
func (s *Scanner) rowEnd(i int) (next int, ok bool) {
	if i == len(s.text) {
		return i, s.ended
	}
	return s.lineEnd(i)
}

// finish completes a row.
func (s *Scanner) finish(b *Rows, first, next, inner int) error {
	if next-s.pos > MaxCell {
		for _, sp := range b.Spans[first:] {
			if sp.End-sp.Start > MaxCell {
				s.open = int(sp.Start)
				return s.tooLong()
			}
		}
	}
	b.Text, b.quotes, b.Lines = s.text, s.quotes, append(b.Lines, s.line)
	s.last, s.pos = s.pos, next
	s.line += 1 + inner
	return nil
}

// quoted scans the quoted cell that begins at i. It returns the number of line ends in
// the cell and the index after it, or -1 if the text ends before. inner is the number of
// line ends before the cell in the row.
func (s *Scanner) quoted(i, inner int) (sp Span, lines, next int, err error) {
	text, quote := s.text, s.quote
	sp = Span{Start: int32(i + len(quote)), Mark: Free}
	at := i + len(quote)
	for {
		k := strings.Index(text[at:], quote)
		if k < 0 {
			if s.ended {
				err = s.Fail(s.line+inner, "unclosed quote: the cell has no closing quote").
					WithHint("%s; if quotes have no meaning in this file, set quote to \"\"", s.quoteHint(text[i:]))
			}
			return sp, 0, -1, err
		}
		at += k + len(quote)
		if s.escape != "" && s.escapedAt(int(sp.Start), at-len(quote)) {
			continue
		}
		if !strings.HasPrefix(text[at:], quote) {
			break
		}
		sp.Mark = Doubled
		at += len(quote)
	}
	sp.End = int32(at - len(quote))
	cell := text[sp.Start:sp.End]
	if i := strings.IndexAny(cell, "\r\n"); i >= 0 {
		lines = countLines(cell[i:])
		sp.Mark = max(sp.Mark, Needed)
	} else if sp.Mark == Free && strings.Contains(cell, s.delimiter) {
		sp.Mark = Needed
	}
	if s.escape != "" && strings.Contains(cell, s.escape) {
		sp.Mark = Escaped
	}
	if s.trim {
		at = s.afterSpaces(at)
	}
	rest := text[at:]
	switch {
	case strings.HasPrefix(rest, s.delimiter), strings.HasPrefix(rest, "\n"), strings.HasPrefix(rest, "\r"), rest == "" && s.ended:
		return sp, lines, at, nil
	case !s.ended && len(rest) < utf8.UTFMax:
		return sp, lines, -1, nil // a delimiter or a quote may be incomplete
	}
	return sp, lines, -1, s.Fail(s.line+inner+lines, "character %d: unexpected text after the closing quote of a cell", s.columnOf(at)).
		WithHint("%s", s.quoteHint(text[i:at]))
}

// quoteHint returns the hint for a quoted cell that ends at a wrong place.
func (s *Scanner) quoteHint(cell string) string {
	hint := `double each quote inside a quoted cell: the text 5" disk is written "5"" disk"`
	if s.escape == "" && strings.Contains(cell[:min(len(cell), PieceSize)], `\`+s.quote) {
		hint = `if \ stands before the quotes inside a quoted cell, set escape to "\\"`
	}
	if s.trim {
		hint += "; if quotes after a space have no meaning, set trim to false"
	}
	return hint
}

// escapedAt reports whether an odd number of escape characters is before an index of a
// cell.
func (s *Scanner) escapedAt(start, at int) bool {
	n := 0
	for at-n > start && s.text[at-n-1] == s.escape[0] {
		n++
	}
	return n%2 == 1
}

// columnOf returns the number of the character in its line at an index of the text.
func (s *Scanner) columnOf(at int) int {
	return utf8.RuneCountInString(s.text[strings.LastIndexAny(s.text[:at], "\r\n")+1:at]) + 1
}

// Quote returns a cell in quotes.
func Quote(cell string) string { return `"` + strings.ReplaceAll(cell, `"`, `""`) + `"` }
