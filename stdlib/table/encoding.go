package table

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// The encodings of text files, by the names that errors and notes show.
const (
	utf8Encoding    = "utf-8"
	utf16Encoding   = "utf-16" // either of the two that follow
	utf16LEEncoding = "utf-16le"
	utf16BEEncoding = "utf-16be"
	latin1Encoding  = "latin-1"
	windowsEncoding = "windows-1252"
)

var encodingNames = []string{utf8Encoding, utf16Encoding, utf16LEEncoding, utf16BEEncoding, latin1Encoding, windowsEncoding}

// parseEncoding returns the encoding of a name or of one of its usual aliases;
// "" for "".
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
	return "", value.Errorf(value.Invalid, "there is no encoding %s%s", quoteCut(name), value.DidYouMean(plain, encodingNames)).
		WithHint("the encodings are %s", strings.Join(encodingNames, ", "))
}

// headSize is how many bytes of a file are enough to see UTF-16 by its zeros.
const headSize = 512

// findEncoding tells the encoding of a file by its first bytes: by a byte order
// mark, or by the zeros that UTF-16 has where a text is Latin. "" says that they
// do not tell it. mark is how many bytes the byte order mark has.
func findEncoding(head []byte) (name string, mark int) {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return utf8Encoding, 3
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return utf16LEEncoding, 2
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return utf16BEEncoding, 2
	}
	var zeros [2]int // at even and at odd places
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	const share = 3 // of the characters, one in how many: a Latin text has nearly all
	switch pairs := len(head) / 2; {
	case zeros[1] > pairs/share && zeros[0] == 0:
		return utf16LEEncoding, 0
	case zeros[0] > pairs/share && zeros[1] == 0:
		return utf16BEEncoding, 0
	}
	return "", 0
}

// decoderOf returns what turns an encoding into UTF-8; nil for UTF-8.
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

// A source gives the text of an input in pieces of whole characters.
type source struct {
	parts   *parts
	decoder transform.Transformer // nil: the input is UTF-8
	skip    int                   // bytes at the beginning which are no text
	rest    []byte                // what is left of the part at hand
	last    bool                  // no part follows it

	wide, big bool // it is UTF-16, and that with the higher byte first
	broken    bool // a character was not
}

// newSource begins to read an input.
func newSource(p *parts, encoding string, mark int) *source {
	return &source{parts: p, decoder: decoderOf(encoding), skip: mark,
		wide: encoding == utf16LEEncoding || encoding == utf16BEEncoding, big: encoding == utf16BEEncoding}
}

// longestRune is how many bytes a character has at most, in every encoding.
const longestRune = 4

// next returns the following bytes of the text, about n, and io.EOF at the end.
// They are not yet known to be UTF-8 where nothing was decoded.
func (s *source) next(n int) ([]byte, error) {
	for len(s.rest) < longestRune && !s.last {
		part, err := s.parts.Next()
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
		piece = wholeRunes(piece)
	}
	s.rest = s.rest[len(piece):]
	return piece, nil
}

// join returns a and b behind each other, without a copy where a is empty.
func join(a, b []byte) []byte {
	if len(a) == 0 {
		return b
	}
	return append(a[:len(a):len(a)], b...)
}

func (s *source) decode(piece []byte, atEnd bool) ([]byte, error) {
	const most = 3 // bytes of UTF-8 for one of the input
	text := make([]byte, most*len(piece)+longestRune)
	n, took, err := s.decoder.Transform(text, piece, atEnd)
	if err != nil && err != transform.ErrShortSrc {
		return nil, value.Errorf(value.Failed, "%s cannot be decoded: %v", s.parts.in.name, err)
	}
	s.rest = s.rest[took:]
	s.broken = s.broken || s.wide && bytes.Count(text[:n], replacement) != countReplacements(piece[:took], s.big)
	return text[:n], nil
}

// replacement is what a decoder puts where something is wrong.
var replacement = []byte("\ufffd")

// countReplacements counts those that a text in UTF-16 has itself.
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

// wholeRunes cuts off the beginning of a character at the end.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i > len(b)-longestRune; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// invalidAt returns where the first byte is that is not UTF-8, or -1.
func invalidAt(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return -1
}
