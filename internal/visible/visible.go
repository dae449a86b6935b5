// Package visible shows untrusted text so that nothing of it is hidden or taken for something
// else. What cannot be seen, or looks like another character, becomes a mark between ⟨ and ⟩:
//
//	⟨U+202E⟩       a character that is invisible or steers a terminal
//	⟨U+200B ×40⟩   40 of them
//	⟨о U+043E⟩     a letter that looks like another one
//	⟨ff⟩           a byte that is not UTF-8
//	⟨3000 spaces⟩  a long run of spaces, or spaces at the end of a line
//	⟨12 tabs⟩      the same for tabs; a short run is shown as ⇥ each
//	⟨9 blank lines⟩
//	↵              a line end, in a text that is shown on one line; many are ⟨9 line ends⟩
//
// The brackets themselves are marked, too, so that the text which is shown determines the
// text that it stands for.
package visible

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Span is a part of a line as it is shown.
type Span struct {
	Text string // what is shown: the part itself, or its mark
	Mark Mark   // why it is marked, or ""
	Size int    // of the part, in bytes
}

// Chars returns how many characters a mark stands for.
func (s Span) Chars() int {
	if _, times, ok := strings.Cut(s.Text, " ×"); ok {
		if n, err := strconv.Atoi(strings.TrimRight(times, "⟩")); err == nil {
			return n
		}
	}
	return 1
}

// A Mark is the reason why a part of a text is not shown as it is.
type Mark string

const (
	Space     Mark = "space"      // white space that could hide what follows it
	Invisible Mark = "invisible"  // nobody could see it, or it would steer the terminal
	Alike     Mark = "look-alike" // it looks like another character
	Invalid   Mark = "invalid"    // it is not UTF-8
)

// The runs of white space that are shown as they are.
const (
	maxIndent     = 32 // spaces at the beginning of a line
	maxTabIndent  = 12
	maxSpaces     = 8 // elsewhere
	maxTabs       = 2
	maxBlankLines = 3
)

// How a tab is shown, and a line end in a line.
const (
	TabText     = "⇥   "
	lineEndText = "↵"
)

// Text shows a text. It keeps its line ends.
func Text(text string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	for _, l := range Lines(text) {
		for _, s := range l.Spans {
			b.WriteString(s.Text)
		}
		if l.Ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Line shows a text on one line: line ends are marked.
func Line(text string) string {
	if plain(text) && !strings.Contains(text, "\n") {
		return text
	}
	var b strings.Builder
	for _, s := range Spans(text) {
		b.WriteString(s.Text)
	}
	return b.String()
}

// A TextLine is a line of a text as it is shown, or a run of blank lines.
type TextLine struct {
	Spans []Span
	Ended bool // by a line end
	Size  int  // in bytes, with its line end
}

// Lines returns the lines of a text.
func Lines(text string) []TextLine {
	var lines []TextLine
	for text != "" {
		if n := blankLines(text); n > maxBlankLines {
			lines = append(lines, TextLine{[]Span{{mark("%d blank lines", n), Space, n}}, true, n})
			text = text[n:]
			continue
		}
		line, rest, ended := strings.Cut(text, "\n")
		lines = append(lines, TextLine{Spans(line), ended, len(text) - len(rest)})
		text = rest
	}
	return lines
}

// blankLines counts the empty lines at the beginning of a text.
func blankLines(text string) int { return len(text) - len(strings.TrimLeft(text, "\n")) }

// plain reports whether a text is shown as it is, in a fast way that may miss some.
func plain(text string) bool {
	spaces := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == ' ':
			if spaces++; spaces > maxSpaces {
				return false
			}
			continue
		case c == '\n':
			if spaces > 0 || strings.HasPrefix(text[i:], "\n\n\n") {
				return false
			}
		case c < ' ' || c > '~':
			return false
		}
		spaces = 0
	}
	return spaces == 0
}

func mark(format string, args ...any) string { return "⟨" + fmt.Sprintf(format, args...) + "⟩" }

// Spans returns the parts of a line as they are shown.
func Spans(line string) []Span {
	if plain(line) && !strings.Contains(line, "\n") {
		if line == "" {
			return nil
		}
		return []Span{{Text: line, Size: len(line)}}
	}
	const blank = " \t"
	s := spans{stack: unstackable, begin: len(line) - len(strings.TrimLeft(line, blank)), end: len(strings.TrimRight(line, blank))}
	s.contextOf(line)
	for i := 0; i < len(line); {
		if line[i] == ' ' || line[i] == '\t' {
			i += s.space(i)
			continue
		}
		if line[i] == '\n' {
			i += s.lineEnds(i)
			continue
		}
		r, size := utf8.DecodeRuneInString(line[i:])
		m := s.markOf(r, size, i)
		if m == "" {
			s.plain(i, i+size)
			i += size
			continue
		}
		switch n := run(line[i:], size); {
		case m == Alike && n <= maxAlike:
			s.add(Span{name(line[i:i+size], r, m, 1), m, size})
			i += size
		default:
			s.add(Span{name(line[i:i+size], r, m, n), m, n * size})
			i += n * size
		}
		s.stack = unstackable
	}
	return s.list
}

// maxAlike is how often a letter that looks like another one may be repeated until it is
// counted.
const maxAlike = 3

// run counts how often the first size bytes of a text are repeated.
func run(text string, size int) int {
	n := 1
	for first := text[:size]; strings.HasPrefix(text[n*size:], first); {
		n++
	}
	return n
}

// A list of spans under construction.
type spans struct {
	list       []Span
	begin, end int // of the line, without the white space around it
	stack      int // combining characters on the last one, or unstackable
	context
}

// maxStack is how many combining characters a letter may carry, as in Vietnamese or Hebrew.
// More of them cover the lines around.
const maxStack = 3

// unstackable is the stack of what a combining character cannot be shown on.
const unstackable = maxStack

func (s *spans) add(span Span) { s.list = append(s.list, span) }

// plain adds a part of the line that is shown as it is.
func (s *spans) plain(from, to int) {
	last := len(s.list) - 1
	if last < 0 || s.list[last].Mark != "" {
		s.add(Span{})
		last++
	}
	size := s.list[last].Size + to - from
	s.list[last] = Span{Text: s.line[to-size : to], Size: size}
}

// space adds the run of spaces or tabs at a position of the line, and returns its length.
func (s *spans) space(at int) int {
	s.stack = unstackable
	n := run(s.line[at:], 1)
	most, mostIndent, what := maxSpaces, maxIndent, "space"
	if s.line[at] == '\t' {
		most, mostIndent, what = maxTabs, maxTabIndent, "tab"
	}
	switch {
	case at >= s.end:
		most = 0
	case at < s.begin:
		most = mostIndent
	}
	switch {
	case n > most && n == 1:
		s.add(Span{mark("1 %s", what), Space, 1})
	case n > most:
		s.add(Span{mark("%d %ss", n, what), Space, n})
	case what == "tab":
		for range n {
			s.add(Span{TabText, Space, 1})
		}
	default:
		s.plain(at, at+n)
	}
	return n
}

// lineEnds adds the run of line ends at a position of the line, and returns its length.
func (s *spans) lineEnds(at int) int {
	s.stack = unstackable
	n := run(s.line[at:], 1)
	if n > maxBlankLines {
		s.add(Span{mark("%d line ends", n), Space, n})
		return n
	}
	for range n {
		s.add(Span{lineEndText, Space, 1})
	}
	return n
}

// markOf returns why a character at a position of the line is marked, or "".
func (s *spans) markOf(r rune, size, at int) Mark {
	switch {
	case r == utf8.RuneError && size == 1:
		return Invalid
	case r < utf8.RuneSelf:
		if ' ' < r && r <= '~' {
			s.stack = 0
			return ""
		}
		return Invisible
	case value.IsInvisible(r), composes(s.line[:at], r):
		return Invisible
	case combines(r):
		if s.stack++; s.stack > maxStack || covers(r) {
			return Invisible
		}
		return ""
	case composed(r), s.alike(r, at):
		return Alike
	}
	s.stack = 0
	return ""
}

// name returns the mark of n equal characters.
func name(char string, r rune, m Mark, n int) string {
	text := fmt.Sprintf("U+%04X", r)
	switch {
	case m == Invalid:
		text = fmt.Sprintf("%02x", char)
	case m == Alike && !strings.ContainsRune(ours, r) && !rightToLeft(r):
		text = char + " " + text
	}
	if n > 1 {
		text += " ×" + strconv.Itoa(n)
	}
	return mark("%s", text)
}

// Fold cuts a line into pieces of at most some columns, with words set after spaces where it can. A
// character that may be wide counts as two, so that no terminal breaks a piece again. A mark is
// broken only if it is longer than a line.
func Fold(line []Span, columns int, words bool) [][]Span {
	var pieces [][]Span
	var piece []Span
	used := 0
	end := func() {
		pieces = append(pieces, piece)
		piece, used = nil, 0
	}
	for _, s := range line {
		if s.Mark != "" && used > 0 && used+Columns(s.Text) > columns {
			end()
		}
		start := 0
		for i, r := range s.Text {
			n := columnsOf(r)
			if used > 0 && used+n > columns {
				to := i
				if space := strings.LastIndexByte(s.Text[start:i], ' '); words && s.Mark == "" && space > 0 {
					to = start + space + 1
				}
				if to > start {
					piece = append(piece, s.cut(start, to))
				}
				end()
				start, used = to, Columns(s.Text[to:i])
			}
			used += n
		}
		piece = append(piece, s.cut(start, len(s.Text)))
	}
	return append(pieces, piece)
}

// cut returns a part of a span. The size of a mark counts where it begins.
func (s Span) cut(from, to int) Span {
	part := Span{s.Text[from:to], s.Mark, s.Size}
	switch {
	case s.Mark == "" && s.Size > 0:
		part.Size = to - from
	case from > 0:
		part.Size = 0
	}
	return part
}

// Columns returns how many columns a text may take on a terminal.
func Columns(text string) (n int) {
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	if r >= 0x1100 { // the first one that East Asian terminals show wide
		return 2
	}
	return 1
}

// Cut cuts a text where it is longer than width characters as it is shown. The result is
// not shown yet.
func Cut(text string, width int) string {
	used, size := 0, 0
	for _, s := range Spans(text) {
		n := utf8.RuneCountInString(s.Text)
		if used += n; used <= width {
			size += s.Size
			continue
		}
		if s.Mark == "" { // as much of it as there is space for
			size += len(string([]rune(s.Text)[:max(0, width-1-used+n)]))
		}
		return text[:size] + "…"
	}
	return text
}
