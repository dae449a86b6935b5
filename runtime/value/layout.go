package value

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// layoutWidth is the longest line, in characters, that [FormatJSON] does not spread
// over several lines. Every terminal shows it.
const layoutWidth = 80

// layOut spreads compact JSON over lines. A list or object that fits on the line where
// it begins stays there.
func layOut(compact []byte, indent string) string {
	l := layout{rest: compact, indent: indent, out: make([]byte, 0, 2*len(compact))}
	l.value()
	return string(l.out)
}

type layout struct {
	rest   []byte // compact JSON, well-formed
	out    []byte
	indent string
	level  int
}

func (l *layout) value() {
	open := l.rest[0]
	if open != '[' && open != '{' {
		l.token()
		return
	}
	if n := l.fits(); n > 0 {
		l.inline(n)
		return
	}
	l.take(1)
	l.level++
	for l.rest[0] != ']' && l.rest[0] != '}' {
		l.newline()
		if open == '{' {
			l.token()
			l.take(1)
			l.out = append(l.out, ' ')
		}
		l.value()
		if l.rest[0] == ',' {
			l.take(1)
		}
	}
	l.level--
	l.newline()
	l.take(1)
}

// fits returns the length in bytes of the next list or object if it fits on the line,
// else 0. It reads no further than a line.
func (l *layout) fits() int {
	capacity := layoutWidth - utf8.RuneCount(l.out[bytes.LastIndexByte(l.out, '\n')+1:])
	depth := 0
	for i := 0; i < len(l.rest) && capacity > 0; capacity-- {
		n := 1
		switch l.rest[i] {
		case '"':
			n = stringEnd(l.rest[i:min(len(l.rest), i+utf8.UTFMax*layoutWidth)])
			capacity -= utf8.RuneCount(l.rest[i:i+n]) - 1
		case ',', ':':
			capacity-- // the space after it
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if i += n; depth == 0 {
			if capacity > 0 {
				return i
			}
			return 0
		}
	}
	return 0
}

// inline writes n bytes of the rest on one line.
func (l *layout) inline(n int) {
	end := len(l.rest) - n
	for len(l.rest) > end {
		c := l.rest[0]
		l.token()
		if c == ',' || c == ':' {
			l.out = append(l.out, ' ')
		}
	}
}

// token copies a string, or the bytes up to the end of another token.
func (l *layout) token() {
	n := 1
	switch {
	case l.rest[0] == '"':
		n = stringEnd(l.rest)
	case !strings.ContainsRune("[]{},:", rune(l.rest[0])):
		if n = bytes.IndexAny(l.rest, "]},"); n < 0 {
			n = len(l.rest)
		}
	}
	l.take(n)
}

func (l *layout) take(n int) {
	l.out = append(l.out, l.rest[:n]...)
	l.rest = l.rest[n:]
}

func (l *layout) newline() {
	l.out = append(append(l.out, '\n'), strings.Repeat(l.indent, l.level)...)
}

// stringEnd returns the length of the JSON string that b begins with, or len(b) if the
// string continues after b.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}
