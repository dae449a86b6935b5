package grep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/charset"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// The bounds of one search, in bytes.
const (
	maxExpression  = 1000     // of the expression: each byte may be tried in each of its states
	maxLine        = 64 << 10 // of a line; the rest of it is not searched
	maxShownLine   = 500      // of a line in the result
	maxShownLines  = 4000     // of lines that match together
	maxWhole       = 8 << 20  // of a file that is searched over its lines, and so is held in memory
	uncheckedBytes = 4 << 10  // between checks of the context: 50 ms with the worst expression
)

// Options say what a search looks for.
type Options struct {
	Pattern       string
	Literal       bool
	IgnoreCase    bool
	Multiline     bool  // matches may have several lines; so is a pattern with a line break
	Before, After int   // how many lines around a match are returned
	Most          int64 // bytes to read
}

// A Line is a line of a file that matches, or the lines that match together. Context is set if it
// does not match, but is near a line that does.
type Line struct {
	Number  int64
	Text    string
	Context bool
}

// A Search finds the lines of files that match an expression.
type Search struct {
	re        *regexp.Regexp
	multiline bool
	around    around
	left      int64 // bytes that may still be read
	lines     *Reader
}

// New returns a search. Its error is of kind Invalid.
func New(o Options) (*Search, error) {
	if o.Pattern == "" || len(o.Pattern) > maxExpression {
		return nil, value.Errorf(value.Invalid, "argument 'pattern' should have 1 to %d bytes but has %d", maxExpression, len(o.Pattern))
	}
	text := o.Pattern
	if o.Literal {
		text = regexp.QuoteMeta(text)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	multiline := o.Multiline || err == nil && hasBreak(parsed)
	if o.IgnoreCase {
		text = "(?i)" + text
	}
	if multiline {
		text = "(?m)" + text
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "invalid regular expression %q: %w", o.Pattern, err).
			WithHint("to search for plain text, set regex to false")
	}
	return &Search{re: re, multiline: multiline, around: around{before: o.Before, after: o.After}, left: o.Most, lines: NewReader(maxLine)}, nil
}

// hasBreak reports whether an expression names a line break, which no single line has.
func hasBreak(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n') || slices.ContainsFunc(re.Sub, hasBreak)
}

// ErrBinary reports a file that is not text.
var ErrBinary = errors.New("binary file")

// File searches one file. It calls found with each line that matches and the lines around it, until
// that returns false, and skip with the line from which on, or in which, something was
// not searched, and why. Its error is [ErrBinary], one of r, or that of the context.
func (s *Search) File(ctx context.Context, r io.Reader, found func(Line) bool, skip func(line int64, why string)) error {
	const tooMuch = "the limit on searched bytes is reached"
	if s.left <= 0 {
		skip(0, tooMuch)
		return nil
	}
	if s.lines.Reset(r) {
		return ErrBinary
	}
	s.around.reset(found)
	if s.multiline {
		return s.whole(ctx, skip)
	}
	unchecked := 0
	for number := int64(1); ; number++ {
		line, read, cut, err := s.lines.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if s.left -= read; s.left < 0 {
			skip(number, tooMuch+": not searched from this line on")
			return nil
		}
		if unchecked += len(line) + 1; unchecked > uncheckedBytes {
			unchecked = 0
			if err := row.Stopped(ctx); err != nil {
				return err
			}
		}
		if !utf8.Valid(line) {
			line = []byte(charset.Text(line))
		}
		at := s.re.FindIndex(line)
		if at == nil && cut > 0 {
			skip(number, fmt.Sprintf("line too long: the last %d bytes were not searched", cut))
		}
		if at == nil && !s.around.other(number, line) || at != nil && !s.around.match(number, Shown(line, at[0], maxShownLine)) {
			return nil
		}
	}
}

// whole searches a file for matches that may have several lines.
func (s *Search) whole(ctx context.Context, skip func(int64, string)) error {
	data, err := io.ReadAll(io.LimitReader(s.lines.in, maxWhole+1))
	switch s.left -= int64(len(data)); {
	case err != nil:
		return err
	case len(data) > maxWhole:
		skip(0, fmt.Sprintf("larger than %s, so not searched with a pattern for several lines", row.SizeText(maxWhole)))
		return nil
	}
	text := []byte(charset.Text(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))))
	prefix, _ := s.re.LiteralPrefix()
	for at, number := 0, int64(1); at < len(text); {
		skipped := bytes.Index(text[at:], []byte(prefix))
		var match []int
		if skipped >= 0 {
			// From the beginning of a line, as ^ also matches where the reader begins.
			skipped = bytes.LastIndexByte(text[at:at+skipped], '\n') + 1
			match = s.re.FindReaderIndex(&runes{ctx: ctx, text: text[at+skipped:]})
		}
		if err := row.Stopped(ctx); err != nil {
			return err
		}
		start, end := len(text), len(text)
		if match != nil {
			first, last := at+skipped+match[0], at+skipped+max(match[0], match[1]-1)
			start = bytes.LastIndexByte(text[:first], '\n') + 1
			if n := bytes.IndexByte(text[min(last, len(text)):], '\n'); n >= 0 {
				end = last + n
			}
		}
		for line := range bytes.Lines(text[at:start]) {
			if !s.around.other(number, bytes.TrimSuffix(line, []byte("\n"))) {
				return nil
			}
			number++
		}
		if start == len(text) { // nothing, or the empty text behind the last line
			return nil
		}
		if !s.around.match(number, Shown(text[start:end], 0, maxShownLines)) {
			return nil
		}
		number += int64(1 + bytes.Count(text[start:end], []byte("\n")))
		at = end + 1
	}
	return nil
}

// runes reads a text for an expression, and ends early if the context does.
type runes struct {
	ctx       context.Context
	text      []byte
	unchecked int
}

// ReadRune implements [io.RuneReader].
func (r *runes) ReadRune() (c rune, n int, err error) {
	if r.unchecked++; r.unchecked > uncheckedBytes {
		r.unchecked = 0
		if r.ctx.Err() != nil {
			return 0, 0, io.EOF
		}
	}
	if len(r.text) == 0 {
		return 0, 0, io.EOF
	}
	c, n = utf8.DecodeRune(r.text)
	r.text = r.text[n:]
	return c, n, nil
}

// around passes on the lines that match, with those before and after them.
type around struct {
	before, after int
	found         func(Line) bool
	kept          []Line // at most before lines that may precede a match
	left          int    // how many of the next lines follow a match
}

func (a *around) reset(found func(Line) bool) {
	a.found, a.kept, a.left = found, a.kept[:0], 0
}

// other takes a line that does not match.
func (a *around) other(number int64, line []byte) bool {
	if a.left == 0 && a.before == 0 {
		return true
	}
	at := Line{number, Shown(line, 0, maxShownLine), true}
	if a.left > 0 {
		a.left--
		return a.found(at)
	}
	if len(a.kept) == a.before {
		a.kept = slices.Delete(a.kept, 0, 1)
	}
	a.kept = append(a.kept, at)
	return true
}

// match takes a line that matches.
func (a *around) match(number int64, text string) bool {
	for _, at := range a.kept {
		if !a.found(at) {
			return false
		}
	}
	a.kept, a.left = a.kept[:0], a.after
	return a.found(Line{number, text, false})
}
