package grep

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// The bounds of one search, in bytes.
const (
	maxExpression  = 1000     // of the expression: each byte may be tried in each of its states
	maxLine        = 64 << 10 // of a line; the rest of it is not searched
	maxShownLine   = 500      // of a line in the result
	maxSniffed     = 8000     // of the beginning of a file, to find out whether it is text
	uncheckedBytes = 4 << 10  // between checks of the context: 50 ms with the worst expression
)

// A Search finds the lines of files that match an expression.
type Search struct {
	re    *regexp.Regexp
	left  int64 // bytes that may still be read
	lines *Reader
}

// New returns a search for a regular expression, or for a text if literal is set, in so many
// bytes at most. Its error is of kind Invalid.
func New(pattern string, literal, ignoreCase bool, most int64) (*Search, error) {
	if pattern == "" || len(pattern) > maxExpression {
		return nil, value.Errorf(value.Invalid, "argument 'pattern' should have 1 to %d bytes but has %d", maxExpression, len(pattern))
	}
	text := pattern
	if literal {
		text = regexp.QuoteMeta(text)
	}
	if ignoreCase {
		text = "(?i)" + text
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "invalid regular expression %q: %w", pattern, err).
			WithHint("to search for plain text, set regex to false")
	}
	return &Search{re: re, left: most, lines: NewReader(maxLine)}, nil
}

// File searches one file. It calls found with the number and the text of each line that matches,
// until that returns false, and skip with the line from which on, or in which, something was
// not searched, and why. A binary file has no lines. Its error is one of r, or that of the
// context.
func (s *Search) File(ctx context.Context, r io.Reader, found func(line int64, text string) bool, skip func(line int64, why string)) error {
	const tooMuch = "the limit on searched bytes is reached"
	if s.left <= 0 {
		skip(0, tooMuch)
		return nil
	}
	s.lines.Reset(r)
	if bytes.IndexByte(s.lines.Peek(maxSniffed), 0) >= 0 {
		return nil
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
		at := s.re.FindIndex(line)
		switch {
		case at == nil && cut > 0:
			skip(number, fmt.Sprintf("line too long: the last %d bytes were not searched", cut))
		case at != nil && !found(number, Shown(line, at[0], maxShownLine)):
			return nil
		}
	}
}
