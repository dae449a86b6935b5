package table

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/charset"
	"github.com/cassidy-run/cassidy/stdlib/internal/csv"
)

// The encodings of text files, by the names in errors and notes.
const (
	utf8Encoding    = "utf-8"
	utf16Encoding   = "utf-16" // either of the following two
	utf16LEEncoding = "utf-16le"
	utf16BEEncoding = "utf-16be"
	latin1Encoding  = "latin-1"
	windowsEncoding = "windows-1252"
	gb18030Encoding = "gb18030"
)

var encodingNames = []string{utf8Encoding, utf16Encoding, latin1Encoding, windowsEncoding, "windows-1250", "windows-1251", "windows-1253", "windows-1254",
	"iso-8859-2", "iso-8859-15", "koi8-r", "shift_jis", "euc-jp", "gbk", "gb18030", "big5", "euc-kr", "macintosh", "cp437", "cp850"}

// parseEncoding returns the encoding with a name or one of its usual aliases; "" for "".
func parseEncoding(name string) (string, error) {
	plain := strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(strings.TrimSpace(name)))
	switch plain {
	case "":
		return "", nil
	case "utf-8", "utf8", "utf-8-sig", "utf8-bom", "utf-8-bom", "ascii", "us-ascii":
		return utf8Encoding, nil
	case "utf-16", "utf16", "ucs-2", "unicode":
		return utf16Encoding, nil
	case "utf-16le", "utf-16-le", "utf16le", "utf16-le":
		return utf16LEEncoding, nil
	case "utf-16be", "utf-16-be", "utf16be", "utf16-be":
		return utf16BEEncoding, nil
	case "latin-1", "latin1", "iso-8859-1", "iso8859-1", "iso88591", "l1":
		return latin1Encoding, nil
	case "windows-1252", "windows1252", "cp1252", "cp-1252", "1252", "win-1252", "win1252", "ansi":
		return windowsEncoding, nil
	}
	if found, _ := charset.Legacy(plain); found != "" {
		return found, nil
	}
	return "", value.Errorf(value.Invalid, "unknown encoding %s%s", quoteCut(name), value.DidYouMean(plain, encodingNames)).
		WithHint("use a name of the WHATWG, such as %s", strings.Join(encodingNames, ", "))
}

// decoderOf returns the transformer from an encoding to UTF-8; nil for UTF-8.
func decoderOf(name string) transform.Transformer {
	switch name {
	case utf16LEEncoding:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder()
	case utf16BEEncoding:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder()
	case latin1Encoding:
		return charmap.ISO8859_1.NewDecoder()
	}
	if _, found := charset.Legacy(name); found != nil {
		return found.NewDecoder()
	}
	return nil
}

// A source returns the text of an input in pieces of complete characters.
type source struct {
	name     string // of the input, for errors
	encoding string
	part     func() ([]byte, error) // returns the next part, or io.EOF
	decoder  transform.Transformer  // nil: the input is UTF-8
	skip     int                    // bytes before the text
	rest     []byte                 // the unread bytes of the current part
	last     bool                   // the current part is the last one

	wide, big bool // the input is UTF-16; with the high byte first
	guessed   bool // the encoding UTF-8 is a guess; if it is wrong, the error is errNotUTF8
	broken    bool // a character was invalid

	bad     *badBytes // nil: bytes that are invalid in the encoding are an error
	lenient bool      // zero bytes are left out
}

// badBytes are the bytes of a text that are invalid in its encoding. They are replaced.
type badBytes struct {
	count int
	first string // as 0xe9, or "" if it is unknown
	line  int    // of the first

	zeros, zeroLine int // zero bytes that are left out, and the line of the first
}

// notes returns the notes about the bytes.
func (b *badBytes) notes(encoding string) (notes []string) {
	if b == nil {
		return nil
	}
	if b.count > 0 {
		what, other := "bytes are not UTF-8", windowsEncoding
		if encoding != utf8Encoding {
			what, other = "characters are not "+encoding, utf8Encoding
		}
		if b.count == 1 {
			what = strings.Replace(what, "s are", " is", 1)
		}
		notes = append(notes, fmt.Sprintf("%d %s, the first%s on line %d: read as \ufffd; if the encoding is another, pass it, as in encoding = %q", b.count, what, b.first, b.line, other))
	}
	if b.zeros > 0 {
		notes = append(notes, fmt.Sprintf("%s left out, the first on line %d", counted(b.zeros, "zero byte"), b.zeroLine))
	}
	return notes
}

// newSource starts to read an input, of which part returns the parts.
func newSource(name, encoding string, part func() ([]byte, error)) *source {
	return &source{name: name, encoding: encoding, part: part, decoder: decoderOf(encoding),
		wide: encoding == utf16LEEncoding || encoding == utf16BEEncoding, big: encoding == utf16BEEncoding}
}

// errNotUTF8 reports that a text that was assumed to be UTF-8 is not.
var errNotUTF8 = value.Errorf(value.Failed, "the text is not UTF-8")

// checked is the [csv.Next] of the text.
func (s *source) checked(n int, locate func(before []byte) (line, column int)) ([]byte, error) {
	piece, err := s.next(n)
	if err != nil {
		return nil, err
	}
	if at := bytes.IndexByte(piece, 0); at >= 0 {
		line, _ := locate(piece[:at])
		if !s.lenient {
			return nil, value.Errorf(value.Failed, "%s: unexpected zero byte: the file is probably binary, not text", csv.Line(s.name, line)).
				WithHint(`for text in UTF-16, set encoding to "utf-16le"; to leave zero bytes out, set lenient to true`)
		}
		if s.bad.zeros == 0 {
			s.bad.zeroLine = line
		}
		s.bad.zeros += bytes.Count(piece, []byte{0})
		piece = bytes.ReplaceAll(piece, []byte{0}, nil)
	}
	if s.broken {
		line, column := locate(piece[:max(bytes.Index(piece, replacement), 0)])
		return nil, value.Errorf(value.Failed, "%s: character %d is not UTF-16", csv.Line(s.name, line), column).
			WithHint("set another encoding, or check that the file is complete")
	}
	if s.decoder != nil {
		return piece, s.checkDecoded(piece, locate)
	}
	at := invalidAt(piece)
	switch {
	case at < 0:
		return piece, nil
	case s.guessed:
		return nil, errNotUTF8
	case s.bad != nil:
		if s.bad.count == 0 {
			s.bad.first = fmt.Sprintf(" 0x%02x", piece[at])
			s.bad.line, _ = locate(piece[:at])
		}
		for b := piece; at >= 0; at = invalidAt(b) {
			s.bad.count++
			b = b[at+1:]
		}
		return bytes.ToValidUTF8(piece, replacement), nil
	}
	line, column := locate(piece[:at])
	return nil, value.Errorf(value.Failed, "%s: character %d is not UTF-8 (byte 0x%02x)", csv.Line(s.name, line), column, piece[at]).
		WithHint(`if the file has another encoding, set it, for example encoding to "windows-1252"`)
}

// checkDecoded looks for characters that were invalid in an encoding other than UTF-8.
func (s *source) checkDecoded(piece []byte, locate func([]byte) (line, column int)) error {
	at := bytes.Index(piece, replacement)
	if s.wide || at < 0 || s.encoding == gb18030Encoding && s.bad == nil { // which has the replacement character itself
		return nil
	}
	line, column := locate(piece[:at])
	if s.bad == nil {
		return value.Errorf(value.Failed, "%s: character %d is not %s", csv.Line(s.name, line), column, s.encoding).
			WithHint("set another encoding; to read such characters as \ufffd, set lenient to true")
	}
	if s.bad.count == 0 {
		s.bad.line = line
	}
	s.bad.count += bytes.Count(piece[at:], replacement)
	return nil
}

// next returns the next bytes of the text, about n, or io.EOF at the end. If the input
// is UTF-8, they may be invalid.
func (s *source) next(n int) ([]byte, error) {
	for len(s.rest) < utf8.UTFMax && !s.last {
		part, err := s.part()
		switch {
		case err == io.EOF:
			s.last = true
		case err != nil:
			return nil, err
		default:
			skip := min(s.skip, len(part))
			s.skip -= skip
			s.rest = join(s.rest, part[skip:])
		}
	}
	if len(s.rest) == 0 {
		return nil, io.EOF
	}
	piece := s.rest[:min(n, len(s.rest))]
	atEnd := s.last && len(piece) == len(s.rest)
	if s.decoder != nil {
		return s.decode(piece, atEnd)
	}
	if !atEnd {
		piece = completeRunes(piece)
	}
	s.rest = s.rest[len(piece):]
	return piece, nil
}

// join returns a followed by b, without a copy if a is empty.
func join(a, b []byte) []byte {
	if len(a) == 0 {
		return b
	}
	return append(a[:len(a):len(a)], b...)
}

func (s *source) decode(piece []byte, atEnd bool) ([]byte, error) {
	const most = 3 // bytes of UTF-8 for one byte of the input
	text := make([]byte, most*len(piece)+utf8.UTFMax)
	n, took, err := s.decoder.Transform(text, piece, atEnd)
	if err != nil && err != transform.ErrShortSrc {
		return nil, value.Errorf(value.Failed, "%s cannot be decoded: %v", s.name, err).
			WithHint(`set encoding to another one, such as "windows-1252"`)
	}
	s.rest = s.rest[took:]
	s.broken = s.broken || s.wide && bytes.Count(text[:n], replacement) != countReplacements(piece[:took], s.big)
	return text[:n], nil
}

// replacement is the character that a decoder writes for an invalid one.
var replacement = []byte("\ufffd")

// countReplacements counts the replacement characters that a text in UTF-16 contains.
func countReplacements(b []byte, big bool) int {
	high, low, n := 1, 0, 0
	if big {
		high, low = 0, 1
	}
	for i := 0; i+1 < len(b); i += 2 {
		if b[i+high] == 0xff && b[i+low] == 0xfd {
			n++
		}
	}
	return n
}

// completeRunes removes an incomplete character at the end.
func completeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// invalidAt returns the index of the first byte that is not UTF-8, or -1.
func invalidAt(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i, r := range string(b) {
		if r == utf8.RuneError && !bytes.HasPrefix(b[i:], replacement) {
			return i
		}
	}
	return -1
}
