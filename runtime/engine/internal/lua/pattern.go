package lua

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// This matcher of Lua patterns replaces the interpreter's, which cannot be stopped:
// ".*x" over 100 KB of text takes it minutes, and since it recurses for each character,
// "^.*$" over 1 MB takes 256 MB of stack. This one counts its work as steps, and
// recurses only for the parts of a pattern.

const (
	// maxPattern bounds the length of a pattern, and thus the recursion. Patterns are
	// written by hand.
	maxPattern = 1 << 10
	// maxCaptures is the limit of Lua.
	maxCaptures = 32
	// charsPerStep is how many compared characters count as a step.
	charsPerStep = 8
)

// Lengths of captures that have none.
const (
	captureOpen     = -1
	capturePosition = -2
)

// A matcher matches one pattern against one text.
type matcher struct {
	L        *lua.LState
	call     *call
	text     string
	pattern  string
	anchored bool
	captures [maxCaptures]struct{ start, length int }
	level    int // the number of captures
	chars    int // how many compared characters have not been counted as steps
}

func newMatcher(L *lua.LState, text, pattern string) *matcher {
	m := &matcher{L: L, call: luaCallOf(L), text: text}
	m.pattern, m.anchored = strings.CutPrefix(pattern, "^")
	if len(pattern) > maxPattern {
		m.call.raise(L, value.Limitf(value.LimitMemory, "the pattern is longer than %d characters", maxPattern).WithHint("to find plain text, write string.find(s, text, 1, true)"))
	}
	return m
}

// find returns the start and end of the first match at or after from, or -1.
func (m *matcher) find(from int) (start, end int) {
	defer m.count()
	for start = from; start <= len(m.text); start++ {
		m.level = 0
		m.compared(1)
		if end = m.match(start, 0); end >= 0 {
			return start, end
		}
		if m.anchored {
			break
		}
	}
	return -1, -1
}

// compared counts characters and from time to time converts them to steps of the call.
func (m *matcher) compared(n int) {
	if m.chars += n; m.chars >= 1024 {
		m.count()
	}
}

func (m *matcher) count() {
	steps := m.chars / charsPerStep
	m.chars -= steps * charsPerStep
	if steps > 0 {
		m.call.work(m.L, steps)
	}
}

func (m *matcher) malformed(what string) {
	m.call.fail(m.L, "malformed pattern ("+what+")")
}

// at returns a character of the pattern, or 0 after its end.
func (m *matcher) at(p int) byte {
	if p < len(m.pattern) {
		return m.pattern[p]
	}
	return 0
}

// match matches the pattern from p with the text from s, and returns the end of the
// match, or -1.
func (m *matcher) match(s, p int) int {
	for p < len(m.pattern) {
		switch m.pattern[p] {
		case '(':
			if m.at(p+1) == ')' {
				return m.capture(s, p+2, capturePosition)
			}
			return m.capture(s, p+1, captureOpen)
		case ')':
			return m.endCapture(s, p+1)
		case '$':
			if p+1 == len(m.pattern) {
				if s == len(m.text) {
					return s
				}
				return -1
			}
		case '%':
			if next, ok := m.special(&s, p); ok {
				if s < 0 {
					return -1
				}
				p = next
				continue
			}
		}
		end := m.classEnd(p)
		switch m.at(end) {
		case '?':
			if m.single(s, p, end) {
				if e := m.match(s+1, end+1); e >= 0 {
					return e
				}
			}
			p = end + 1
		case '+':
			if !m.single(s, p, end) {
				return -1
			}
			return m.most(s+1, p, end)
		case '*':
			return m.most(s, p, end)
		case '-':
			return m.least(s, p, end)
		default:
			if !m.single(s, p, end) {
				return -1
			}
			s, p = s+1, end
		}
	}
	return s
}

// special matches the items that begin with % and are not classes: %b, %f and %1 to %9.
// It moves s past the match, or to -1, and returns where the pattern continues.
func (m *matcher) special(s *int, p int) (next int, ok bool) {
	switch c := m.at(p + 1); {
	case c == 'b':
		*s = m.balanced(*s, p+2)
		return p + 4, true
	case c == 'f':
		p += 2
		if m.at(p) != '[' {
			m.malformed("missing '[' after '%f'")
		}
		end := m.classEnd(p)
		var before, after byte
		if *s > 0 {
			before = m.text[*s-1]
		}
		if *s < len(m.text) {
			after = m.text[*s]
		}
		if m.inSet(before, p, end-1) || !m.inSet(after, p, end-1) {
			*s = -1
		}
		return end, true
	case '0' <= c && c <= '9':
		text := m.captured(int(c) - '1')
		m.compared(len(text))
		if strings.HasPrefix(m.text[*s:], text) {
			*s += len(text)
		} else {
			*s = -1
		}
		return p + 2, true
	}
	return p, false
}

// captured returns the text of a finished capture for a back reference.
func (m *matcher) captured(i int) string {
	if i < 0 || i >= m.level || m.captures[i].length == captureOpen {
		m.call.fail(m.L, "invalid capture index")
	}
	c := m.captures[i]
	return m.text[c.start : c.start+max(c.length, 0)]
}

func (m *matcher) balanced(s, p int) int {
	if p+1 >= len(m.pattern) {
		m.malformed("missing arguments to '%b'")
	}
	if s >= len(m.text) || m.text[s] != m.pattern[p] {
		return -1
	}
	opening, closing := m.pattern[p], m.pattern[p+1]
	depth := 1
	for i := s + 1; i < len(m.text); i++ {
		m.compared(1)
		switch m.text[i] {
		case closing:
			if depth--; depth == 0 {
				return i + 1
			}
		case opening:
			depth++
		}
	}
	return -1
}

// most matches the class from p to end as often as possible, then the rest.
func (m *matcher) most(s, p, end int) int {
	n := 0
	for m.single(s+n, p, end) {
		n++
	}
	for ; n >= 0; n-- {
		m.compared(1)
		if e := m.match(s+n, end+1); e >= 0 {
			return e
		}
	}
	return -1
}

// least matches the class from p to end as rarely as possible, then the rest.
func (m *matcher) least(s, p, end int) int {
	for {
		if e := m.match(s, end+1); e >= 0 {
			return e
		}
		if !m.single(s, p, end) {
			return -1
		}
		s++
	}
}

func (m *matcher) capture(s, p, length int) int {
	if m.level == maxCaptures {
		m.call.fail(m.L, "too many captures")
	}
	m.captures[m.level].start, m.captures[m.level].length = s, length
	m.level++
	e := m.match(s, p)
	if e < 0 {
		m.level-- // no match: undo
	}
	return e
}

func (m *matcher) endCapture(s, p int) int {
	i := m.level - 1
	for i >= 0 && m.captures[i].length != captureOpen {
		i--
	}
	if i < 0 {
		m.call.fail(m.L, "invalid pattern capture")
	}
	m.captures[i].length = s - m.captures[i].start
	e := m.match(s, p)
	if e < 0 {
		m.captures[i].length = captureOpen
	}
	return e
}

// classEnd returns the end of the class that begins at p.
func (m *matcher) classEnd(p int) int {
	c := m.pattern[p]
	p++
	switch c {
	case '%':
		if p == len(m.pattern) {
			m.malformed("ends with '%'")
		}
		return p + 1
	case '[':
		if m.at(p) == '^' {
			p++
		}
		for first := true; first || m.at(p) != ']'; first = false {
			if p >= len(m.pattern) {
				m.malformed("missing ']'")
			}
			if m.pattern[p] == '%' {
				p++ // the escaped character may be a ]
			}
			p++
		}
		return p + 1
	}
	return p
}

// single reports whether the character at s is in the class from p to end.
func (m *matcher) single(s, p, end int) bool {
	m.compared(1)
	if s >= len(m.text) {
		return false
	}
	c := m.text[s]
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return inLuaClass(c, m.pattern[p+1])
	case '[':
		return m.inSet(c, p, end-1)
	}
	return m.pattern[p] == c
}

// inSet reports whether c is in the set from its [ at p to its ] at end.
func (m *matcher) inSet(c byte, p, end int) bool {
	in := true
	p++
	if m.pattern[p] == '^' {
		in = false
		p++
	}
	for ; p < end; p++ {
		m.compared(1)
		switch {
		case m.pattern[p] == '%':
			p++
			if inLuaClass(c, m.pattern[p]) {
				return in
			}
		case p+2 < end && m.pattern[p+1] == '-':
			if m.pattern[p] <= c && c <= m.pattern[p+2] {
				return in
			}
			p += 2
		case m.pattern[p] == c:
			return in
		}
	}
	return !in
}

// inLuaClass reports whether a character is in a class such as %a. The class of a
// character that is not a letter is the character itself.
func inLuaClass(c, class byte) bool {
	lower, upper := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z'
	digit, control := '0' <= c && c <= '9', c < ' ' || c == 0x7f
	var in bool
	switch class | 0x20 {
	case 'a':
		in = lower || upper
	case 'c':
		in = control
	case 'd':
		in = digit
	case 'l':
		in = lower
	case 'p':
		in = c > ' ' && c < 0x7f && !lower && !upper && !digit
	case 's':
		in = c == ' ' || '\t' <= c && c <= '\r'
	case 'u':
		in = upper
	case 'w':
		in = lower || upper || digit
	case 'x':
		in = digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	return in != ('A' <= class && class <= 'Z') // a capital letter is the complement
}

// push pushes the captures of a match and returns their number. Without captures it
// pushes the full match.
func (m *matcher) push(start, end int) int {
	for i := range max(m.level, 1) {
		m.L.Push(m.value(i, start, end))
	}
	return max(m.level, 1)
}

// value returns the i-th capture of a match, from 0. Without captures the first is the
// full match.
func (m *matcher) value(i, start, end int) lua.LValue {
	if i == 0 && m.level == 0 {
		return lua.LString(m.text[start:end])
	}
	if i >= m.level {
		m.call.fail(m.L, "invalid capture index")
	}
	c := m.captures[i]
	switch c.length {
	case capturePosition:
		return lua.LNumber(c.start + 1)
	case captureOpen:
		m.call.fail(m.L, "unfinished capture")
	}
	return lua.LString(m.text[c.start : c.start+c.length])
}
