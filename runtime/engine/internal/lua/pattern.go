package lua

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// The matcher of Lua's patterns. It is ours since that of the interpreter
// cannot be stopped: ".*x" over 100 KB of text takes it minutes, and as it
// calls itself for each character, "^.*$" over 1 MB takes 256 MB of stack.
// This one counts its work as steps, and calls itself only for the parts of a
// pattern.

const (
	// maxPattern bounds how deep the matcher calls itself, and a pattern is
	// not data: it is written by hand.
	maxPattern = 1 << 10
	// maxCaptures is Lua's own.
	maxCaptures = 32
	// charsPerStep is how many characters are compared in the time of a step.
	charsPerStep = 8
)

// What the length of a capture says where it is none.
const (
	captureOpen     = -1
	capturePosition = -2
)

// A luaMatcher matches one pattern against one text.
type matcher struct {
	L        *lua.LState
	call     *call
	text     string
	pattern  string
	anchored bool
	captures [maxCaptures]struct{ start, length int }
	level    int // how many captures there are
	chars    int // how many characters have been compared and not yet counted
}

func newMatcher(L *lua.LState, text, pattern string) *matcher {
	m := &matcher{L: L, call: luaCallOf(L), text: text}
	m.pattern, m.anchored = strings.CutPrefix(pattern, "^")
	if len(pattern) > maxPattern {
		m.call.raise(L, luaLimit("a pattern of more than %d characters", maxPattern).WithHint("find text as it is with string.find(s, text, 1, true)"))
	}
	return m
}

// find returns the first match at or behind a place: its start and end, or -1.
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

// compared counts characters; now and then it has the call count steps.
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

// at returns a character of the pattern, or 0 behind its end.
func (m *matcher) at(p int) byte {
	if p < len(m.pattern) {
		return m.pattern[p]
	}
	return 0
}

// match matches the pattern from p on with the text from s on, and returns
// where the match ends, or -1.
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

// special matches what begins with % and is no class: %b, %f and %1 to %9. It
// moves s behind the match, or to -1, and returns where the pattern goes on.
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

// captured returns the text of a finished capture that the pattern refers to.
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

// most matches as many as possible of the class from p to end, then the rest.
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

// least matches as few as possible of the class from p to end, then the rest.
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
		m.level-- // it did not match: undo
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

// classEnd returns where the class that begins at p ends.
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
				p++ // what it escapes may be a ]
			}
			p++
		}
		return p + 1
	}
	return p
}

// single reports whether the text at s is of the class from p to end.
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

// inSet reports whether a character is in the set from p, its [, to end, its ].
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

// inLuaClass reports whether a character is in a class such as %a; the class
// of any other character is that character.
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
	return in != ('A' <= class && class <= 'Z') // a capital letter means all others
}

// push pushes what a match captured, or all of it where nothing was, and
// returns how many values that is.
func (m *matcher) push(start, end int) int {
	for i := range max(m.level, 1) {
		m.L.Push(m.value(i, start, end))
	}
	return max(m.level, 1)
}

// value returns a capture of a match, counted from 0. Without captures the
// first is the whole match.
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
