package lua

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/lua/pattern"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A matcher matches one pattern against one text, for a state.
type matcher struct {
	*pattern.Matcher
	L    *lua.LState
	call *call
	text string
}

func newMatcher(L *lua.LState, text, expr string) *matcher {
	c := luaCallOf(L)
	if len(expr) > pattern.MaxLength {
		c.raise(L, value.Limitf(value.LimitMemory, "the pattern is longer than %d characters", pattern.MaxLength).WithHint("to find plain text, write string.find(s, text, 1, true)"))
	}
	return &matcher{pattern.New(text, expr, func(steps int) { c.work(L, steps) }, func(text string) { c.fail(L, text) }), L, c, text}
}

// push pushes the captures of a match and returns their number. Without captures it
// pushes the full match.
func (m *matcher) push(start, end int) int {
	for i := range max(m.Level(), 1) {
		m.L.Push(m.value(i, start, end))
	}
	return max(m.Level(), 1)
}

// value returns the i-th capture of a match, from 0. Without captures the first is the
// full match.
func (m *matcher) value(i, start, end int) lua.LValue {
	text, position := m.Capture(i, start, end)
	if position > 0 {
		return lua.LNumber(position)
	}
	return lua.LString(text)
}
