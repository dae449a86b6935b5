package table

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A jsonScanner steps through JSON text from one element to the next, so that a
// file of any size is read with one record in memory. It finds where an element
// ends; what is in it, [value.ParseJSON] says.
type jsonScanner struct {
	name string                 // of the input, for errors
	next func() ([]byte, error) // the following part, or io.EOF
	buf  []byte
	at   int
	done bool // nothing follows buf
	line int  // where at is, from 0
	col  int  // in characters, from 0
}

// maxJSONRecord is how long one record may be: as long as a file that is kept in memory.
const maxJSONRecord = maxHeld

// newJSONScanner begins to read UTF-8 or UTF-16. Since JSON begins with a bracket,
// its first bytes tell which.
func newJSONScanner(name, encoding string, next func() ([]byte, error)) (*jsonScanner, error) {
	said, err := parseEncoding(encoding)
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
	found, mark := findEncoding(s.buf[:min(len(s.buf), headSize)])
	s.at = mark
	var order binary.ByteOrder
	switch found {
	case utf16LEEncoding:
		order = binary.LittleEndian
	case utf16BEEncoding:
		order = binary.BigEndian
	}
	wide := order != nil
	if said != "" && wide != strings.HasPrefix(said, utf16Encoding) || said == latin1Encoding || said == windowsEncoding {
		return nil, value.Errorf(value.Invalid, "%s: JSON is UTF-8 or UTF-16, and this one is not %s", name, said).
			WithHint("leave the encoding out, or convert the file to UTF-8")
	}
	if wide {
		d := &wideDecoder{order: order, name: name, next: next, rest: s.buf[s.at:]}
		s.buf, s.at, s.done, s.next = nil, 0, false, d.part
	}
	return s, nil
}

// fill appends the following part to the text at hand.
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

// step passes over n bytes.
func (s *jsonScanner) step(n int) {
	b := s.buf[s.at : s.at+n]
	if k := bytes.LastIndexByte(b, '\n'); k >= 0 {
		s.line += bytes.Count(b, []byte{'\n'})
		s.col = 0
		b = b[k+1:]
	}
	s.col += utf8.RuneCount(b)
	s.at += n
}

// peek passes over white space and returns the byte that follows, or 0 at the end.
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

// element returns the text of the element that follows, which is good until the
// next one. Of a malformed one it returns so much that ParseJSON tells the fault.
func (s *jsonScanner) element() ([]byte, error) {
	for {
		raw := s.buf[s.at:]
		n, whole := elementEnd(raw)
		if whole || s.done {
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
	return overMemory("%s: the record at line %d is longer than %d MB", s.name, s.line+1, maxJSONRecord>>20).
		WithHint("a large file should be a list of records, or have a record on each line")
}

// elementEnd returns how long the element is that b begins with. whole is false
// where it could go on after b.
func elementEnd(b []byte) (n int, whole bool) {
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
				return i + 1 + depth, true // without the bracket where it closes what is around a number
			}
		case ',', ' ', '\n', '\t', '\r', ':':
			if depth == 0 {
				return i, true
			}
		}
	}
	return len(b), false
}

// stringEnd returns the length of the string that b begins with, with both quotes;
// 0 where it does not end in b.
func stringEnd(b []byte) int {
	for i := 1; ; i++ {
		k := bytes.IndexByte(b[i:], '"')
		if k < 0 {
			return 0
		}
		i += k
		slashes := 0
		for b[i-1-slashes] == '\\' { // ends at the first quote
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// value returns the element that follows as text and as value.
func (s *jsonScanner) value() (raw []byte, v value.Value, err error) {
	if raw, err = s.element(); err == nil {
		v, err = s.parse(raw)
	}
	return raw, v, err
}

// parse reads an element that begins where the scanner is.
func (s *jsonScanner) parse(raw []byte) (value.Value, error) {
	v, err := value.ParseJSON(raw)
	if err == nil {
		return v, nil
	}
	// The place that the error names is one in raw. Read behind as many lines and
	// characters as there are before raw in the file, it is the right one.
	const most = 16 << 20 // bytes that this may take
	if s.line+s.col < most {
		_, err = value.ParseJSON(append([]byte(strings.Repeat("\n", s.line)+strings.Repeat(" ", s.col)), raw...))
		return nil, s.wrap(err, "")
	}
	return nil, s.wrap(err, "after line "+formatCount(s.line)+": ")
}

// wrap names the input in an error.
func (s *jsonScanner) wrap(err error, where string) error {
	return renamedError(err, "%s: %s%s", s.name, where, value.ErrorOf(err, value.Invalid).Message())
}

// expect passes over one byte, or says what should be there.
func (s *jsonScanner) expect(want byte, in string) error {
	c, err := s.peek()
	if err == nil && c != want {
		err = s.unexpected(in)
	}
	if err != nil {
		return err
	}
	s.step(1)
	return nil
}

func (s *jsonScanner) unexpected(want string) error {
	where := value.Errorf(value.Invalid, "%s: invalid JSON at line %d, column %d: the text ends where %s should follow", s.name, s.line+1, s.col+1, want)
	if s.at < len(s.buf) {
		r, _ := utf8.DecodeRune(s.buf[s.at:])
		where = value.Errorf(value.Invalid, "%s: invalid JSON at line %d, column %d: %q where %s should follow", s.name, s.line+1, s.col+1, r, want)
	}
	return where
}

// list calls f with the scanner before each element of a list; f passes over it.
func (s *jsonScanner) list(f func() error) error {
	return s.elements('[', ']', "a comma or ]", f)
}

// object calls f with the name of each member, and with the scanner before its
// value; f passes over it.
func (s *jsonScanner) object(f func(name string) error) error {
	given := map[string]bool{}
	return s.elements('{', '}', "a comma or }", func() error {
		if c, err := s.peek(); err != nil || c != '"' {
			return first(err, s.unexpected("a name in double quotes"))
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

func first(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
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

// lineText returns the line that follows, without its end, and false after the
// last one. The scanner is left before it.
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

// A wideDecoder turns parts of UTF-16 into parts of UTF-8.
type wideDecoder struct {
	order binary.ByteOrder
	name  string
	next  func() ([]byte, error)
	rest  []byte // bytes that are not decoded yet
	ended bool
}

func (d *wideDecoder) part() ([]byte, error) {
	for !d.ended {
		part, err := d.next()
		if err != nil && err != io.EOF {
			return nil, err
		}
		d.ended = err == io.EOF
		b := append(d.rest, part...)
		text, used := decodeWide(b, d.order, d.ended)
		if d.ended && used < len(b) {
			return nil, value.Errorf(value.Invalid, "%s: the UTF-16 text ends in the middle of a character", d.name)
		}
		d.rest = append([]byte(nil), b[used:]...)
		if len(text) > 0 {
			return text, nil
		}
	}
	return nil, io.EOF
}

// decodeWide decodes the whole characters of b. Half of a surrogate pair becomes a
// byte that UTF-8 has not, so that it is refused where it stands.
func decodeWide(b []byte, order binary.ByteOrder, all bool) (text []byte, used int) {
	const unit = 2 // bytes
	text = make([]byte, 0, len(b))
	for used+unit <= len(b) {
		r := rune(order.Uint16(b[used:]))
		if !utf16.IsSurrogate(r) {
			text = utf8.AppendRune(text, r)
			used += unit
			continue
		}
		if used+2*unit > len(b) && !all {
			break
		}
		full := utf8.RuneError
		if used+2*unit <= len(b) {
			full = utf16.DecodeRune(r, rune(order.Uint16(b[used+unit:])))
		}
		if full == utf8.RuneError {
			text = append(text, 0xff)
			used += unit
			continue
		}
		text = utf8.AppendRune(text, full)
		used += 2 * unit
	}
	return text, used
}
