package secret

import (
	"html"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A table makes a view of a text: what each byte becomes, or 0 if it is dropped. The
// tables drop white space and everything else that programs put between the parts of
// what they encode.
var (
	// denseBytes keeps visible ASCII, in lower case. What is left of UTF-16 and UTF-32 is
	// their ASCII.
	denseBytes = tableOf(func(c byte) byte {
		switch {
		case c <= ' ' || c >= 0x7f:
			return 0
		case 'A' <= c && c <= 'Z':
			return c + 'a' - 'A'
		}
		return c
	})
	// joinedBytes keeps ASCII letters, in lower case, and digits. It joins what was cut into
	// a list, into quoted lines or with hyphens.
	joinedBytes = tableOf(func(c byte) byte {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			return c
		case 'A' <= c && c <= 'Z':
			return c + 'a' - 'A'
		}
		return 0
	})
	// base64Bytes keeps the alphabet of base64, in its usual form, without the character
	// that is also a space of a query.
	base64Bytes = tableOf(func(c byte) byte {
		switch {
		case 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '/':
			return c
		case c == '_':
			return '/'
		}
		return 0
	})
	// hexBytes keeps hexadecimal digits, in lower case.
	hexBytes = tableOf(func(c byte) byte {
		switch {
		case '0' <= c && c <= '9' || 'a' <= c && c <= 'f':
			return c
		case 'A' <= c && c <= 'F':
			return c + 'a' - 'A'
		}
		return 0
	})
)

func tableOf(becomes func(byte) byte) (table [256]byte) {
	for c := range table {
		table[c] = becomes(byte(c))
	}
	return table
}

// project appends the view that a table makes of a text.
func project(view, text []byte, table *[256]byte) []byte {
	n := len(view)
	view = append(view, text...)
	for _, c := range text {
		view[n] = table[c]
		if table[c] != 0 {
			n++
		}
	}
	return view[:n]
}

// A tracker translates offsets of what was decoded to those of the text: the starts of
// spans and their ends in turn, ascending.
type tracker struct {
	offsets []int
	next    int
}

// passed notes that text[from:to] became the decoded bytes up to n.
func (t *tracker) passed(from, to, n int) {
	for t.next < len(t.offsets) {
		switch {
		case t.next%2 == 0 && t.offsets[t.next] < n:
			t.offsets[t.next] = from
		case t.next%2 == 1 && t.offsets[t.next] <= n:
			t.offsets[t.next] = to
		default:
			return
		}
		t.next++
	}
}

// copied notes that text[from:to] was copied, and is now before the decoded byte n.
func (t *tracker) copied(from, to, n int) {
	for t.next < len(t.offsets) {
		at := t.offsets[t.next]
		if at > n || at == n && t.next%2 == 0 {
			return
		}
		t.offsets[t.next] = to - (n - at)
		t.next++
	}
}

// numbersIn appends the decimal numbers in a text, with a comma between two. offsets are
// translated as by a [tracker].
func numbersIn(view, text []byte, offsets []int) []byte {
	t := tracker{offsets: offsets}
	for i, c := range text {
		switch {
		case '0' <= c && c <= '9':
			view = append(view, c)
		case len(view) > 0 && view[len(view)-1] != ',':
			view = append(view, ',')
		default:
			continue
		}
		if t.next < len(offsets) {
			t.passed(i, i+1, len(view))
		}
	}
	return view
}

// unescape decodes the escapes of URLs, HTML and programming languages. It returns nil
// if there are none. offsets are translated as by a [tracker].
func unescape(text []byte, offsets []int) []byte {
	return decode(text, offsets, `%&\`, escapeAt)
}

// unquote decodes quoted-printable, as in mail.
func unquote(text []byte, offsets []int) []byte {
	return decode(text, offsets, "=", quotedAt)
}

// decode replaces what begins with one of some bytes by what at returns for it, and for
// how many bytes: 0 for what is not encoded.
func decode(text []byte, offsets []int, starts string, at func(text []byte) (string, int)) []byte {
	var special [256]bool
	for i := range len(starts) {
		special[starts[i]] = true
	}
	var out []byte
	t := tracker{offsets: offsets}
	copied := 0 // so much of the text is in out
	take := func(to int) {
		if out == nil {
			out = make([]byte, 0, len(text))
		}
		out = append(out, text[copied:to]...)
		t.copied(copied, to, len(out))
	}
	for i := 0; i < len(text); {
		if !special[text[i]] {
			i++
			continue
		}
		is, n := at(text[i:])
		if n == 0 {
			i++
			continue
		}
		take(i)
		out = append(out, is...)
		t.passed(i, i+n, len(out))
		i += n
		copied = i
	}
	if out == nil {
		return nil
	}
	take(len(text))
	return out
}

// quotedAt decodes one byte of quoted-printable, or a line break that it adds.
func quotedAt(text []byte) (string, int) {
	switch b, n := digits(text[1:], 16, 2); {
	case n == 2:
		return string([]byte{byte(b)}), 3
	case len(text) > 1 && text[1] == '\n':
		return "", 2
	case len(text) > 2 && text[1] == '\r' && text[2] == '\n':
		return "", 3
	}
	return "", 0
}

// escapeAt decodes one escape.
func escapeAt(text []byte) (string, int) {
	switch {
	case len(text) < 2:
		return "", 0
	case text[0] == '%':
		return percentAt(text)
	case text[0] == '&':
		return entityAt(text)
	}
	return backslashAt(text)
}

func percentAt(text []byte) (string, int) {
	if b, n := digits(text[1:], 16, 2); n == 2 {
		return string([]byte{byte(b)}), 3
	}
	if text[1] == 'u' || text[1] == 'U' {
		return unitAt(text, 2)
	}
	return "", 0
}

// maxEntity is the length of the longest name of a character in HTML.
const maxEntity = 33

func entityAt(text []byte) (string, int) {
	end := 1
	if text[1] == '#' {
		base, start := 10, 2
		if len(text) > 2 && (text[2] == 'x' || text[2] == 'X') {
			base, start = 16, 3
		}
		r, n := digits(text[start:], base, len(text))
		if n == 0 {
			return "", 0
		}
		end = start + n
		if end < len(text) && text[end] == ';' {
			end++
		}
		return string(rune(min(r, utf8.MaxRune+1))), end
	}
	for end < len(text) && end < maxEntity && isNameByte(text[end]) {
		end++
	}
	if end < len(text) && text[end] == ';' {
		end++
	}
	name := string(text[:end])
	if is := html.UnescapeString(name); is != name {
		return is, end
	}
	return "", 0
}

func isNameByte(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
}

// backslashAt decodes an escape of a programming language. A backslash before any other
// byte only marks that.
func backslashAt(text []byte) (string, int) {
	switch c := text[1]; c {
	case 'u':
		if len(text) > 3 && text[2] == '{' {
			if r, n := digits(text[3:], 16, len(text)); n > 0 && 3+n < len(text) && text[3+n] == '}' {
				return string(rune(min(r, utf8.MaxRune+1))), 4 + n
			}
		}
		return unitAt(text, 2)
	case 'U':
		if r, n := digits(text[2:], 16, 8); n == 8 {
			return string(rune(min(r, utf8.MaxRune+1))), 10
		}
		return "", 0
	case 'x':
		if b, n := digits(text[2:], 16, 2); n > 0 {
			return string([]byte{byte(b)}), 2 + n
		}
		return "", 0
	case '\n':
		return "", 2
	}
	if i := strings.IndexByte("nrtfvba", text[1]); i >= 0 {
		return "\n\r\t\f\v\b\a"[i : i+1], 2
	}
	if b, n := digits(text[1:], 8, 3); n > 0 {
		return string([]byte{byte(b)}), 1 + n
	}
	return string(text[1:2]), 2
}

// unitAt decodes four hexadecimal digits, a unit of UTF-16, and a second such escape
// after it that belongs to it.
func unitAt(text []byte, start int) (string, int) {
	first, n := digits(text[start:], 16, 4)
	if n < 4 {
		return "", 0
	}
	end := start + 4
	if rest := text[end:]; utf16.IsSurrogate(rune(first)) && len(rest) > start && string(rest[:start]) == string(text[:start]) {
		if second, n := digits(rest[start:], 16, 4); n == 4 {
			if r := utf16.DecodeRune(rune(first), rune(second)); r != utf8.RuneError {
				return string(r), end + start + 4
			}
		}
	}
	return string(rune(first)), end
}

// digits reads at most so many digits of a number, and returns how many it has read. A
// number that is too large is utf8.MaxRune+1.
func digits(text []byte, base, most int) (number, n int) {
	for n < len(text) && n < most {
		c, d := text[n], 0
		switch {
		case '0' <= c && c <= '9':
			d = int(c - '0')
		case 'a' <= c && c <= 'f':
			d = int(c-'a') + 10
		case 'A' <= c && c <= 'F':
			d = int(c-'A') + 10
		default:
			return number, n
		}
		if d >= base {
			return number, n
		}
		number = min(number*base+d, utf8.MaxRune+1)
		n++
	}
	return number, n
}
