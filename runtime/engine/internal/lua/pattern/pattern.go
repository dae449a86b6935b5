// Package pattern matches patterns of Lua.
package pattern

import "strings"

// This matcher of Lua patterns replaces the interpreter's, which cannot be stopped:
// ".*x" over 100 KB of text takes it minutes, and since it recurses for each character,
// "^.*$" over 1 MB takes 256 MB of stack. This one counts its work as steps, and
// recurses only for the parts of a pattern.

const (
	// MaxLength bounds the length of a pattern, and thus the recursion. Patterns are
	// written by hand.
	MaxLength = 1 << 10
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

// A Matcher matches one pattern against one text.
type Matcher struct {
	work     func(steps int)   // counts steps
	fail     func(text string) // raises an error
	text     string
	pattern  string
	anchored bool
	captures [maxCaptures]struct{ start, length int }
	level    int // the number of captures
	chars    int // how many compared characters have not been counted as steps
}

// New returns a matcher. Work counts steps, and fail raises an error and does not return. A pattern must not be
// longer than [MaxLength].
func New(text, pattern string, work func(steps int), fail func(text string)) *Matcher {
	m := &Matcher{work: work, fail: fail, text: text}
	m.pattern, m.anchored = strings.CutPrefix(pattern, "^")
	return m
}

// Level returns the number of captures of the last match.
func (m *Matcher) Level() int { return m.level }

// Anchored reports whether the pattern begins with ^.
func (m *Matcher) Anchored() bool { return m.anchored }

// Capture returns the i-th capture of a match, from 0: a text, or the position of an empty capture, from 1,
// which is 0 for a text. Without captures the first is the full match.
func (m *Matcher) Capture(i, start, end int) (text string, position int) {
	if i == 0 && m.level == 0 {
		return m.text[start:end], 0
	}
	if i >= m.level {
		m.fail("invalid capture index")
	}
	c := m.captures[i]
	switch c.length {
	case capturePosition:
		return "", c.start + 1
	case captureOpen:
		m.fail("unfinished capture")
	}
	return m.text[c.start : c.start+c.length], 0
}

// Find returns the start and end of the first match at or after from, or -1.
func (m *Matcher) Find(from int) (start, end int) {
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
func (m *Matcher) compared(n int) {
	if m.chars += n; m.chars >= 1024 {
		m.count()
	}
}

func (m *Matcher) count() {
	steps := m.chars / charsPerStep
	m.chars -= steps * charsPerStep
	if steps > 0 {
		m.work(steps)
	}
}

func (m *Matcher) malformed(what string) {
	m.fail("malformed pattern (" + what + ")")
}

// at returns a character of the pattern, or 0 after its end.
func (m *Matcher) at(p int) byte {
	if p < len(m.pattern) {
		return m.pattern[p]
	}
	return 0
}

// match matches the pattern from p with the text from s, and returns the end of the
// match, or -1.
func (m *Matcher) match(s, p int) int {
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
func (m *Matcher) special(s *int, p int) (next int, ok bool) {
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
func (m *Matcher) captured(i int) string {
	if i < 0 || i >= m.level || m.captures[i].length == captureOpen {
		m.fail("invalid capture index")
	}
	c := m.captures[i]
	return m.text[c.start : c.start+max(c.length, 0)]
}

func (m *Matcher) balanced(s, p int) int {
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
func (m *Matcher) most(s, p, end int) int {
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
func (m *Matcher) least(s, p, end int) int {
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

func (m *Matcher) capture(s, p, length int) int {
	if m.level == maxCaptures {
		m.fail("too many captures")
	}
	m.captures[m.level].start, m.captures[m.level].length = s, length
	m.level++
	e := m.match(s, p)
	if e < 0 {
		m.level-- // no match: undo
	}
	return e
}

func (m *Matcher) endCapture(s, p int) int {
	i := m.level - 1
	for i >= 0 && m.captures[i].length != captureOpen {
		i--
	}
	if i < 0 {
		m.fail("invalid pattern capture")
	}
	m.captures[i].length = s - m.captures[i].start
	e := m.match(s, p)
	if e < 0 {
		m.captures[i].length = captureOpen
	}
	return e
}

// classEnd returns the end of the class that begins at p.
func (m *Matcher) classEnd(p int) int {
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
func (m *Matcher) single(s, p, end int) bool {
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
func (m *Matcher) inSet(c byte, p, end int) bool {
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
