package table

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/charset"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// A jsonScanner iterates over the elements of JSON text, so that a file of any size is
// read with one record in memory. It only finds the end of an element; [value.ParseJSON]
// parses it.
type jsonScanner struct {
	name string                 // of the input, for errors
	next func() ([]byte, error) // returns the next part, or io.EOF
	buf  []byte
	at   int
	done bool // buf is the last part
	line int  // the line of at, from 0
	col  int  // the column of at in characters, from 0
}

// maxJSONRecord is the maximum size of one record: the size of a file that is kept in
// memory.
const maxJSONRecord = maxHeld

// newJSONScanner starts to read UTF-8 or UTF-16. JSON begins with an ASCII character, so
// the first bytes show which encoding it is.
func newJSONScanner(name, encoding string, next func() ([]byte, error)) (*jsonScanner, error) {
	specified, err := parseEncoding(encoding)
	if err != nil {
		return nil, err
	}
	s := &jsonScanner{name: name, next: next}
	const longestMark = 3 // bytes
	for len(s.buf) < longestMark && !s.done {
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
	found, mark := charset.Detect(s.buf)
	s.at = mark
	wide := found == utf16LEEncoding || found == utf16BEEncoding
	expected := utf8Encoding
	if wide {
		expected = found
	}
	if specified != "" && specified != utf8Encoding && !strings.HasPrefix(specified, utf16Encoding) || specified != "" && wide != strings.HasPrefix(specified, utf16Encoding) {
		return nil, value.Errorf(value.Invalid, "%s: argument 'encoding' does not fit the JSON text: expected %s but got %s", name, expected, specified).
			WithHint("omit encoding, or convert the file to UTF-8")
	}
	if wide {
		text := newSource(name, found, next)
		text.rest, text.last = s.buf[s.at:], s.done
		s.buf, s.at, s.done = nil, 0, false
		s.next = func() ([]byte, error) {
			return text.checked(partSize, func(before []byte) (line, column int) {
				line, column = s.after(slices.Concat(s.buf[s.at:], before))
				return line + 1, column + 1
			})
		}
	}
	return s, nil
}

// fill appends the next part to the buffered text.
func (s *jsonScanner) fill() error {
	part, err := s.next()
	if err == io.EOF {
		s.done = true
		return nil
	}
	if err != nil {
		return err
	}
	if s.at == len(s.buf) {
		s.buf, s.at = part, 0
		return nil
	}
	rest := s.buf[s.at:]
	s.buf, s.at = append(append(make([]byte, 0, len(rest)+len(part)), rest...), part...), 0
	return nil
}

// step skips n bytes.
func (s *jsonScanner) step(n int) {
	s.line, s.col = s.after(s.buf[s.at : s.at+n])
	s.at += n
}

// after returns the position after some text.
func (s *jsonScanner) after(b []byte) (line, col int) {
	line, col = s.line, s.col
	if k := bytes.LastIndexByte(b, '\n'); k >= 0 {
		line += bytes.Count(b, []byte{'\n'})
		col = 0
		b = b[k+1:]
	}
	return line, col + utf8.RuneCount(b)
}

// peek skips white space and returns the next byte, or 0 at the end.
func (s *jsonScanner) peek() (byte, error) {
	for {
		n := 0
		for _, c := range s.buf[s.at:] {
			if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
				s.step(n)
				return c, nil
			}
			n++
		}
		s.step(n)
		if s.done {
			return 0, nil
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

// element returns the text of the next element, which is valid until the next call. For
// a malformed element it returns enough text for ParseJSON to report the error.
func (s *jsonScanner) element() ([]byte, error) {
	for {
		raw := s.buf[s.at:]
		n, complete := elementEnd(raw)
		if complete || s.done {
			return raw[:max(n, min(1, len(raw)))], nil
		}
		if len(raw) > maxJSONRecord {
			return nil, s.tooLong()
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

func (s *jsonScanner) tooLong() error {
	return row.Limit("%s: the record at line %d is longer than %d MB", s.name, s.line+1, maxJSONRecord>>20).
		WithHint("write a large file as a list of records, or with a record on each line")
}

// elementEnd returns the length of the element at the start of b. complete is false if
// the element could continue after b.
func elementEnd(b []byte) (n int, complete bool) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			k := stringEnd(b[i:])
			if k == 0 {
				return len(b), false
			}
			i += k - 1
			if depth == 0 {
				return i + 1, true
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1 + depth, true // without the bracket if it closes the list or object around a number
			}
		case ',', ' ', '\n', '\t', '\r', ':':
			if depth == 0 {
				return i, true
			}
		}
	}
	return len(b), false
}

// stringEnd returns the length of the string at the start of b including its quotes, or
// 0 if b does not contain its end.
func stringEnd(b []byte) int {
	for i := 1; ; i++ {
		k := bytes.IndexByte(b[i:], '"')
		if k < 0 {
			return 0
		}
		i += k
		slashes := 0
		for b[i-1-slashes] == '\\' { // stops at the opening quote
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// take calls f with the text of the next element, and skips it.
func (s *jsonScanner) take(f func(raw []byte) error) error {
	raw, err := s.element()
	if err == nil {
		err = f(raw)
	}
	if err == nil {
		s.step(len(raw))
	}
	return err
}

// value returns the next element as text and as a value.
func (s *jsonScanner) value() (raw []byte, v value.Value, err error) {
	if raw, err = s.element(); err == nil {
		v, err = s.parse(raw)
	}
	return raw, v, err
}

// parse parses an element that begins at the position of the scanner.
func (s *jsonScanner) parse(raw []byte) (value.Value, error) {
	v, err := value.ParseJSON(raw)
	if err == nil {
		return v, nil
	}
	// The position in the error is relative to raw. Parsing raw after as many lines and
	// characters as precede it in the file gives the right position.
	const most = 16 << 20 // bytes for the padding
	if s.line+s.col < most {
		_, err = value.ParseJSON(append([]byte(strings.Repeat("\n", s.line)+strings.Repeat(" ", s.col)), raw...))
		return nil, s.wrap(err, "")
	}
	return nil, s.wrap(err, "after line "+strconv.Itoa(s.line)+": ")
}

// wrap adds the input to an error.
func (s *jsonScanner) wrap(err error, where string) error {
	return renamedError(err, "%s: %s%s", s.name, where, value.ErrorOf(err, value.Invalid).Message())
}

// require returns an error if the next byte is not want, which in describes.
func (s *jsonScanner) require(want byte, in string) error {
	c, err := s.peek()
	if err == nil && c != want {
		err = s.unexpected(in)
	}
	return err
}

// expect skips the byte want, or returns an error.
func (s *jsonScanner) expect(want byte, in string) error {
	err := s.require(want, in)
	if err == nil {
		s.step(1)
	}
	return err
}

func (s *jsonScanner) unexpected(want string) error {
	where := value.Errorf(value.Invalid, "%s: invalid JSON at line %d, column %d: expected %s but got the end of the text", s.name, s.line+1, s.col+1, want)
	if s.at < len(s.buf) {
		r, _ := utf8.DecodeRune(s.buf[s.at:])
		where = value.Errorf(value.Invalid, "%s: invalid JSON at line %d, column %d: expected %s but got %q", s.name, s.line+1, s.col+1, want, r)
	}
	return where
}

// list calls f before each element of a list; f must consume it.
func (s *jsonScanner) list(f func() error) error {
	return s.elements('[', ']', "a comma or ]", f)
}

// object calls f with the name of each member before its value; f must consume the
// value.
func (s *jsonScanner) object(f func(name string) error) error {
	given := map[string]bool{}
	return s.elements('{', '}', "a comma or }", func() error {
		if err := s.require('"', "a name in double quotes"); err != nil {
			return err
		}
		raw, v, err := s.value()
		if err != nil {
			return err
		}
		name, _ := v.(string)
		if given[name] {
			return value.Errorf(value.Invalid, "%s: invalid JSON at line %d, column %d: the name %q is given twice", s.name, s.line+1, s.col+1, cut(name))
		}
		given[name] = true
		s.step(len(raw))
		if err := s.expect(':', "a colon"); err != nil {
			return err
		}
		if _, err := s.peek(); err != nil {
			return err
		}
		return f(name)
	})
}

func (s *jsonScanner) elements(opening, closing byte, want string, f func() error) error {
	if err := s.expect(opening, "a "+string(opening)); err != nil {
		return err
	}
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c == closing {
		s.step(1)
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		if c, err = s.peek(); err != nil {
			return err
		}
		switch c {
		case ',':
			s.step(1)
			if _, err := s.peek(); err != nil {
				return err
			}
		case closing:
			s.step(1)
			return nil
		default:
			return s.unexpected(want)
		}
	}
}

// lineText returns the next line without its end, or false after the last one. It does
// not move the scanner.
func (s *jsonScanner) lineText() ([]byte, bool, error) {
	for {
		raw := s.buf[s.at:]
		if k := bytes.IndexByte(raw, '\n'); k >= 0 {
			return raw[:k], true, nil
		}
		if s.done {
			return raw, len(raw) > 0, nil
		}
		if len(raw) > maxJSONRecord {
			return nil, false, s.tooLong()
		}
		if err := s.fill(); err != nil {
			return nil, false, err
		}
	}
}

// skipLine skips the rest of a line, and holds no more of it than a part.
func (s *jsonScanner) skipLine() error {
	for {
		rest := s.buf[s.at:]
		if k := bytes.IndexByte(rest, '\n'); k >= 0 {
			s.step(k + 1)
			return nil
		}
		if s.step(len(rest)); s.done {
			return nil
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
}
