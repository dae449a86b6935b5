package table

import (
	"bytes"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A mark says how a cell was written.
type mark uint8

const (
	plain   mark = iota // without quotes
	free                // in quotes that it does not need
	needed              // in quotes that it needs: it holds a delimiter or a line break
	doubled             // in quotes, and it holds some, each written twice
)

// A span is where a cell is in the text at hand.
type span struct {
	start, end int32
	mark       mark
}

// csvRows are some rows of a file, cell by cell.
type csvRows struct {
	text  string
	width int    // cells in a row
	spans []span // row by row
	lines []int  // of each row, the line in which it begins
}

// cell returns a cell as it is meant. quote is what it may be written in.
func (b *csvRows) cell(sp span, quote string) string {
	s := b.text[sp.start:sp.end]
	if sp.mark == doubled {
		s = strings.ReplaceAll(s, quote+quote, quote)
	}
	return s
}

// Bounds of what a hostile file may hold. A cell is no longer than a text of a
// script may well be, and a row is held in memory while it is looked at.
const (
	maxCell   = 8 << 20
	maxRecord = 16 << 20
	maxCells  = 100_000
	// pieceSize is how much of a text is looked at in one go. It fits the cache of
	// a processor, and whoever keeps a cell keeps no more than that.
	pieceSize = 256 << 10
)

// errNotUTF8 says that a text which was taken for UTF-8 is none.
var errNotUTF8 = value.Errorf(value.Failed, "the text is not UTF-8")

// A scanner divides a text into cells. A cell is a part of the text; nothing is
// copied or allocated for it.
type scanner struct {
	name      string // of the file, for errors
	source    *source
	delimiter string
	quote     string // "" means that nothing is quoted
	guessed   bool   // that the text is UTF-8: where not, the error is errNotUTF8

	delimiters uint64 // the first byte of the delimiter, eight times

	text  string
	pos   int  // where the next row begins
	line  int  // the line of that, from 1
	ended bool // nothing follows the text

	open int // where in the text the cell begins that is looked at
}

func (s *scanner) begin(delimiter, quote string) {
	s.delimiter, s.quote = delimiter, quote
	s.delimiters = uint64(delimiter[0]) * everyByte
}

// fail is an error in a line of the file.
func (s *scanner) fail(line int, format string, args ...any) *value.Error {
	return value.Errorf(value.Failed, "%s, line %d: %s", s.name, line, fmt.Sprintf(format, args...))
}

func limitFailed(e *value.Error) *value.Error {
	e.Kind, e.Limit = value.Limit, value.LimitMemory
	return e
}

// more brings the next piece of the text behind the row that is not complete.
// Pieces grow with the row, so that a long one is not scanned again and again.
func (s *scanner) more() error {
	rest := s.text[s.pos:]
	if len(rest) > maxCell && len(s.text)-s.open > maxCell {
		return s.tooLong()
	}
	if len(rest) > maxRecord {
		return limitFailed(s.fail(s.line, "the row is longer than %d MB", maxRecord>>20))
	}
	piece, err := s.source.next(max(pieceSize, len(rest)))
	if err == io.EOF {
		s.ended = true
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.check(rest, piece); err != nil {
		return err
	}
	var text strings.Builder
	text.Grow(len(rest) + len(piece))
	text.WriteString(rest)
	text.Write(piece)
	s.text, s.open, s.pos = text.String(), max(0, s.open-s.pos), 0
	return nil
}

func (s *scanner) tooLong() error {
	line := s.line + countLines(s.text[s.pos:s.open])
	if s.quote != "" && strings.HasPrefix(s.text[s.open:], s.quote) {
		return limitFailed(s.fail(line, "the quote that opens a cell is not closed within %d MB", maxCell>>20)).
			WithHint(`read the file with quote = "" if quotes have no meaning in it`)
	}
	return limitFailed(s.fail(line, "a cell is longer than %d MB", maxCell>>20))
}

// check looks at a piece before it is text.
func (s *scanner) check(rest string, piece []byte) error {
	if at := bytes.IndexByte(piece, 0); at >= 0 {
		line, _ := s.place(rest, piece[:at])
		return s.fail(line, "a zero byte: this looks like a binary file and not like text").
			WithHint(`if it is text in UTF-16, say so: encoding = "utf-16le"`)
	}
	if s.source.broken {
		at := max(bytes.Index(piece, replacement), 0)
		line, column := s.place(rest, piece[:at])
		return s.fail(line, "character %d is not UTF-16", column).WithHint("is it another encoding, or was the file cut off?")
	}
	if s.source.decoder != nil {
		return nil
	}
	at := invalidAt(piece)
	if at < 0 {
		return nil
	}
	if s.guessed {
		return errNotUTF8
	}
	line, column := s.place(rest, piece[:at])
	return s.fail(line, "character %d is not UTF-8 (byte 0x%02x)", column, piece[at]).
		WithHint(`is it another encoding? Say so: encoding = "windows-1252"`)
}

// place returns the line and the character that follow what was read.
func (s *scanner) place(rest string, piece []byte) (line, column int) {
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

// skipLines passes over lines at the start.
func (s *scanner) skipLines(n int) error {
	for n > 0 {
		at := strings.IndexAny(s.text[s.pos:], "\r\n")
		end := s.pos + at
		if at < 0 || end == len(s.text)-1 && s.text[end] == '\r' && !s.ended {
			if s.ended {
				s.pos = len(s.text)
				return nil
			}
			s.open = s.pos
			if err := s.more(); err != nil {
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

// firstLine brings enough of the text to see what divides it.
func (s *scanner) firstLine() error {
	s.open = s.pos
	for !s.ended && len(s.text)-s.pos < maxCell && !strings.ContainsAny(s.text[s.pos:], "\r\n") {
		if err := s.more(); err != nil {
			return err
		}
	}
	return nil
}

// lineEnd returns where the line begins that follows the line end at i. ok says
// that it is known: a CR at the end of the text may be half of a line end.
func (s *scanner) lineEnd(i int) (next int, ok bool) {
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

// skipBlank passes over empty lines.
func (s *scanner) skipBlank() (ok bool) {
	for s.pos < len(s.text) && (s.text[s.pos] == '\n' || s.text[s.pos] == '\r') {
		next, ok := s.lineEnd(s.pos)
		if !ok {
			return false
		}
		s.pos = next
		s.line++
	}
	return s.pos < len(s.text)
}

// row appends the cells of the next row to b. ok says that there was one in the
// text at hand; if not, b is as it was.
func (s *scanner) row(b *csvRows) (ok bool, err error) {
	s.open = s.pos
	if !s.skipBlank() {
		return false, nil
	}
	text, first, inner := s.text, len(b.spans), 0
	for i := s.pos; ; {
		s.open = i
		var sp span
		if s.quote != "" && i < len(text) && text[i] == s.quote[0] && strings.HasPrefix(text[i:], s.quote) {
			var lines int
			if sp, lines, i, err = s.quoted(i, inner); err != nil || i < 0 {
				b.spans = b.spans[:first]
				return false, err
			}
			inner += lines
		} else {
			start := i
			for i = s.cellEnd(i); !s.atEnd(i); i = s.cellEnd(i + 1) {
			}
			sp = span{int32(start), int32(i), plain}
		}
		b.spans = append(b.spans, sp)
		if len(b.spans)-first > maxCells {
			return false, limitFailed(s.fail(s.line, "the row has more than %d cells", maxCells))
		}
		if i < len(text) && text[i] != '\n' && text[i] != '\r' {
			i += len(s.delimiter)
			continue
		}
		if i, ok = s.rowEnd(i); !ok {
			b.spans = b.spans[:first]
			return false, nil
		}
		return true, s.finish(b, first, i, inner)
	}
}

// cellEnd returns the next place where a cell without quotes may end. It looks at
// eight bytes at a time.
func (s *scanner) cellEnd(i int) int {
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

// load8 returns eight bytes as a number, the first one lowest.
func load8(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// zeros returns a number whose lowest bit stands in the lowest byte of w that is 0;
// above that it may have others.
func zeros(w uint64) uint64 { return (w - everyByte) &^ w & (0x80 * everyByte) }

// atEnd reports whether a cell ends at i: a delimiter of several bytes may share
// its first one with other characters.
func (s *scanner) atEnd(i int) bool {
	return len(s.delimiter) == 1 || i >= len(s.text) || s.text[i] == '\n' || s.text[i] == '\r' || strings.HasPrefix(s.text[i:], s.delimiter)
}

// rowEnd returns where the row that follows begins.
func (s *scanner) rowEnd(i int) (next int, ok bool) {
	if i == len(s.text) {
		return i, s.ended
	}
	return s.lineEnd(i)
}

// finish ends a row.
func (s *scanner) finish(b *csvRows, first, next, inner int) error {
	if next-s.pos > maxCell {
		for _, sp := range b.spans[first:] {
			if sp.end-sp.start > maxCell {
				s.open = int(sp.start)
				return s.tooLong()
			}
		}
	}
	b.lines = append(b.lines, s.line)
	s.pos = next
	s.line += 1 + inner
	return nil
}

// quoted takes the cell in quotes that begins at i. It returns how many line ends
// are in it, and where it ends, or -1 where the text ends before. inner is how many
// line ends the row has before.
func (s *scanner) quoted(i, inner int) (sp span, lines, next int, err error) {
	text, quote := s.text, s.quote
	sp = span{start: int32(i + len(quote)), mark: free}
	at := i + len(quote)
	for {
		k := strings.Index(text[at:], quote)
		if k < 0 {
			if s.ended {
				err = s.fail(s.line+inner, "the quote that opens a cell is never closed").
					WithHint(`write a quote inside a quoted cell twice, as in "5"" disk", or read the file with quote = "" if quotes have no meaning in it`)
			}
			return sp, 0, -1, err
		}
		at += k + len(quote)
		if !strings.HasPrefix(text[at:], quote) {
			break
		}
		sp.mark = doubled
		at += len(quote)
	}
	sp.end = int32(at - len(quote))
	cell := text[sp.start:sp.end]
	if i := strings.IndexAny(cell, "\r\n"); i >= 0 {
		lines = countLines(cell[i:])
		sp.mark = max(sp.mark, needed)
	} else if sp.mark == free && strings.Contains(cell, s.delimiter) {
		sp.mark = needed
	}
	rest := text[at:]
	switch {
	case strings.HasPrefix(rest, s.delimiter), strings.HasPrefix(rest, "\n"), strings.HasPrefix(rest, "\r"), rest == "" && s.ended:
		return sp, lines, at, nil
	case !s.ended && len(rest) < longestRune:
		return sp, lines, -1, nil // a delimiter or a quote may be cut
	}
	return sp, lines, -1, s.fail(s.line+inner+lines, "character %d: text follows the closing quote of a cell", s.columnOf(at)).
		WithHint(`write a quote inside a quoted cell twice, as in "5"" disk"`)
}

// columnOf is the character of its line at which a place of the text is.
func (s *scanner) columnOf(at int) int {
	return utf8.RuneCountInString(s.text[strings.LastIndexAny(s.text[:at], "\r\n")+1:at]) + 1
}
