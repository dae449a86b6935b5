// Package charset reads the text of files whose encoding nobody has named.
package charset

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// The names of encodings. [Detect] finds those of Unicode.
const (
	UTF8        = "utf-8"
	UTF16LE     = "utf-16le"
	UTF16BE     = "utf-16be"
	Windows1252 = "windows-1252"
)

// HeadSize is the number of bytes of a file that is enough to detect UTF-16 by its
// zeros.
const HeadSize = 512

// Detect detects the encoding of a file by its first bytes: by a byte order mark, or by the
// zeros that UTF-16 has in Latin text. It returns "" if neither is found. mark is the number
// of bytes of the byte order mark.
func Detect(head []byte) (name string, mark int) {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return UTF8, 3
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return UTF16LE, 2
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return UTF16BE, 2
	}
	head = head[:min(len(head), HeadSize)]
	var zeros [2]int // at even and at odd offsets
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	const share = 3 // one in so many characters; in a Latin text nearly all have a zero
	switch few := max(1, len(head)/2/share); {
	case zeros[1] > few && zeros[0] == 0:
		return UTF16LE, 0
	case zeros[0] > few && zeros[1] == 0:
		return UTF16BE, 0
	}
	return "", 0
}

// sniffed is how much of the beginning of a file decides whether it is text.
const sniffed = 8000

// sampled is how much of a file decides which encoding other than Unicode it has.
const sampled = 64 << 10

// A Reader reads a file as text: without its byte order mark, in UTF-8 if it is in UTF-16 or in an
// encoding that [Guess] finds, and with LF
// for CR if it begins with lines that end with CR alone. Other
// bytes are those of the file: see [Text]. Begin with Reset.
type Reader struct {
	raw  *bufio.Reader
	text io.Reader
	cr   bool
	err  error // of reading the beginning
}

// Reset has the reader read another file. It reports whether that is binary: whether it begins with
// what no text has.
func (r *Reader) Reset(in io.Reader) (binary bool) {
	if r.raw == nil {
		r.raw = bufio.NewReaderSize(nil, sniffed)
	}
	r.raw.Reset(in)
	r.text = r.raw
	head, err := r.raw.Peek(sniffed)
	if r.err = err; err == io.EOF {
		r.err = nil
	}
	name, mark := Detect(head)
	if by := streamed(name, head); by != nil {
		r.text = transform.NewReader(r.raw, by.NewDecoder())
		head, _ = by.NewDecoder().Bytes(head[mark:])
	}
	_, _ = r.raw.Discard(mark)
	cr := bytes.IndexByte(head, '\r')
	r.cr = cr >= 0 && cr < len(head)-1 && bytes.IndexByte(head, '\n') < 0
	return binaryText(head)
}

// streamed returns the encoding of a file that is decoded as a whole, or nil: lines in Windows-1252 are
// decoded one by one.
func streamed(name string, head []byte) encoding.Encoding {
	switch name {
	case UTF16LE:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case UTF16BE:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case UTF8:
		return nil
	}
	if utf8.Valid(head) {
		return nil
	}
	if good, bad := count(head); good >= bad {
		return nil
	}
	guess, by := Legacy(Guess(AppendForeign(nil, head, true)))
	if guess == Windows1252 {
		return nil
	}
	return by
}

// Read returns bytes of the text.
func (r *Reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.text.Read(p)
	if r.cr {
		for i := range p[:n] {
			if p[i] == '\r' && (i == n-1 || p[i+1] != '\n') {
				p[i] = '\n'
			}
		}
	}
	return n, err
}

// binaryText reports whether a text contains zeros, or many other control characters. Those of
// terminals, such as colours and what is overprinted, are text.
func binaryText(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	controls := 0
	for _, b := range head {
		if b == 0x7f || b < ' ' && bytes.IndexByte([]byte("\t\n\f\r\b\x1b"), b) < 0 {
			controls++
		}
	}
	share := 10 // one in so many bytes
	if !utf8.Valid(head[:max(0, len(head)-utf8.UTFMax)]) {
		share = 50 // any bytes are text in Windows-1252, and one in ten is such a character
	}
	return share*controls > len(head)
}

// A Coding is how the bytes of a file are its text.
type Coding struct {
	Name string
	mark []byte
	by   encoding.Encoding // nil: the text is the bytes
}

// Decode returns the complete content of a file as text, such that an edited text can be encoded
// again. The text has bytes that are not UTF-8 where most characters are UTF-8. ok is false for
// a binary file, and for one whose bytes would not be the same again.
func Decode(data []byte) (text string, c Coding, ok bool) {
	name, mark := Detect(data)
	c = Coding{Name: name, mark: data[:mark]}
	switch name {
	case UTF16LE, UTF16BE:
		c.by = streamed(name, nil)
	default:
		valid := utf8.Valid(data)
		if good, bad := count(data); valid || name == UTF8 || good >= bad {
			return string(data), Coding{Name: UTF8}, valid || !binaryText(data[:min(len(data), sniffed)])
		}
		c.Name, c.by = Legacy(Guess(AppendForeign(nil, data[:min(len(data), sampled)], true)))
	}
	decoded, err := c.by.NewDecoder().Bytes(data[mark:])
	if err != nil || binaryText(decoded[:min(len(decoded), sniffed)]) {
		return "", c, false
	}
	again, err := c.Encode(decoded)
	return string(decoded), c, err == nil && bytes.Equal(again, data)
}

// Encode returns the bytes of a text. It fails for a character that the encoding does not have.
func (c Coding) Encode(text []byte) ([]byte, error) {
	if c.by == nil {
		return text, nil
	}
	encoded, err := c.by.NewEncoder().Bytes(text)
	return append(c.mark[:len(c.mark):len(c.mark)], encoded...), err
}

// count returns how many characters beyond ASCII are UTF-8, and how many bytes are not.
func count(b []byte) (good, bad int) {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case n > 1:
			good++
		case r == utf8.RuneError:
			bad++
		}
		b = b[n:]
	}
	return good, bad
}

// Text returns what a [Reader] has read as valid text. A line that is not UTF-8 is read as
// Windows-1252, unless at least half of its characters beyond ASCII are UTF-8: then its other bytes
// become U+FFFD.
func Text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	text := make([]byte, 0, len(b)+len(b)/8)
	for line := range bytes.Lines(b) {
		switch good, bad := count(line); {
		case bad == 0:
			text = append(text, line...)
		case good >= bad:
			text = append(text, bytes.ToValidUTF8(line, []byte("\ufffd"))...)
		default:
			for _, c := range line {
				text = utf8.AppendRune(text, charmap.Windows1252.DecodeByte(c))
			}
		}
	}
	return string(text)
}
