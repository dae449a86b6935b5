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
)

var encodingNames = []string{utf8Encoding, utf16Encoding, utf16LEEncoding, utf16BEEncoding, latin1Encoding, windowsEncoding}

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
	return "", value.Errorf(value.Invalid, "unknown encoding %s%s", quoteCut(name), value.DidYouMean(plain, encodingNames)).
		WithHint("the encodings are %s", strings.Join(encodingNames, ", "))
}

// decoderOf returns the transformer from an encoding to UTF-8; nil for UTF-8.
func decoderOf(encoding string) transform.Transformer {
	switch encoding {
	case utf16LEEncoding:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder()
	case utf16BEEncoding:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder()
	case latin1Encoding:
		return charmap.ISO8859_1.NewDecoder()
	case windowsEncoding:
		return charmap.Windows1252.NewDecoder()
	}
	return nil
}

// A source returns the text of an input in pieces of complete characters.
type source struct {
	name    string                 // of the input, for errors
	part    func() ([]byte, error) // returns the next part, or io.EOF
	decoder transform.Transformer  // nil: the input is UTF-8
	skip    int                    // bytes before the text
	rest    []byte                 // the unread bytes of the current part
	last    bool                   // the current part is the last one

	wide, big bool // the input is UTF-16; with the high byte first
	guessed   bool // the encoding UTF-8 is a guess; if it is wrong, the error is errNotUTF8
	broken    bool // a character was invalid

	bad *badBytes // nil: bytes that are not UTF-8 are an error
}

// badBytes are the bytes of a text in UTF-8 that are not UTF-8. They are replaced.
type badBytes struct {
	count int
	first byte
	line  int // of the first
}

// note returns the note about the bytes, or "".
func (b *badBytes) note() string {
	if b == nil || b.count == 0 {
		return ""
	}
	are := "bytes are"
	if b.count == 1 {
		are = "byte is"
	}
	return fmt.Sprintf("%d %s not UTF-8, the first 0x%02x on line %d: read as \ufffd; if the encoding is another, pass it, as in encoding = %q", b.count, are, b.first, b.line, windowsEncoding)
}

// mostlyUTF8 reports whether a text that is not valid UTF-8 is in UTF-8 nevertheless: its
// characters beyond ASCII are UTF-8, with exceptions. In another encoding, hardly any two
// bytes are a character of UTF-8 by chance.
func mostlyUTF8(name string, part func() ([]byte, error)) (bool, error) {
	text, good, bad := newSource(name, utf8Encoding, part), 0, 0
	for {
		const size = 64 << 10
		piece, err := text.next(size)
		if err == io.EOF {
			return good >= bad, nil
		}
		if err != nil {
			return false, err
		}
		for len(piece) > 0 {
			r, n := utf8.DecodeRune(piece)
			switch {
			case n > 1:
				good++
			case r == utf8.RuneError:
				bad++
			}
			piece = piece[n:]
		}
	}
}

// newSource starts to read an input, of which part returns the parts.
func newSource(name, encoding string, part func() ([]byte, error)) *source {
	return &source{name: name, part: part, decoder: decoderOf(encoding),
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
		return nil, value.Errorf(value.Failed, "%s: unexpected zero byte: the file is probably binary, not text", csv.Line(s.name, line)).
			WithHint(`for text in UTF-16, set encoding to "utf-16le"`)
	}
	if s.broken {
		line, column := locate(piece[:max(bytes.Index(piece, replacement), 0)])
		return nil, value.Errorf(value.Failed, "%s: character %d is not UTF-16", csv.Line(s.name, line), column).
			WithHint("set another encoding, or check that the file is complete")
	}
	at := invalidAt(piece)
	switch {
	case at < 0 || s.decoder != nil:
		return piece, nil
	case s.guessed:
		return nil, errNotUTF8
	case s.bad != nil:
		if s.bad.count == 0 {
			s.bad.first = piece[at]
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
