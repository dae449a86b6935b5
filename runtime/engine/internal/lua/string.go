package lua

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// maxLuaString bounds the strings that builtins make. It is the limit for reading
	// files.
	maxLuaString = 8 << 20
	// bytesPerStep is how many copied bytes count as a step.
	bytesPerStep = 64
)

// countString checks the length of a string that a builtin is about to make, and counts the
// work.
func (c *call) countString(L *lua.LState, builtin string, length int) {
	if length > maxLuaString {
		c.raise(L, value.Limitf(value.LimitMemory, "%s: the result would be longer than %d MB", builtin, maxLuaString>>20))
	}
	if length >= bytesPerStep {
		c.work(L, length/bytesPerStep)
	}
}

func luaRep(L *lua.LState) int {
	s, n := L.CheckString(1), max(L.CheckInt(2), 0)
	length := len(s) * n
	if len(s) > 0 && n > maxLuaString {
		length = maxLuaString + 1 // the product may overflow
	}
	luaCallOf(L).countString(L, "string.rep", length)
	if s == "" {
		n = 0
	}
	L.Push(lua.LString(strings.Repeat(s, n)))
	return 1
}

func luaConcat(L *lua.LState) int {
	table, sep := L.CheckTable(1), L.OptString(2, "")
	from, to := L.OptInt(3, 1), L.OptInt(4, table.Len())
	c := luaCallOf(L)
	length := 0
	for i := from; i <= to; i++ {
		v := table.RawGetInt(i)
		if !lua.LVCanConvToString(v) {
			L.RaiseError("invalid value (%s) at index %d in table for concat", v.Type().String(), i)
		}
		if s, ok := v.(lua.LString); ok {
			length += len(s) + len(sep)
		} else {
			length += len("-1.7976931348623157e+308") + len(sep)
		}
		if length > maxLuaString+len(sep) {
			break // made reports it
		}
		if i == to {
			break // i+1 may overflow
		}
	}
	c.countString(L, "table.concat", length-min(length, len(sep)))
	var b strings.Builder
	b.Grow(length)
	for i := from; i <= to; i++ {
		b.WriteString(table.RawGetInt(i).String())
		if i == to {
			break
		}
		b.WriteString(sep)
	}
	L.Push(lua.LString(b.String()))
	return 1
}

// luaInit returns the start of a search; negative positions count from the end.
func luaInit(L *lua.LState, arg int, length int) int {
	init := L.OptInt(arg, 1)
	if init < 0 {
		init += length + 1
	}
	return min(max(init-1, 0), length)
}

func luaFind(L *lua.LState) int {
	text, pattern := L.CheckString(1), L.CheckString(2)
	from := luaInit(L, 3, len(text))
	if L.ToBool(4) || !strings.ContainsAny(pattern, "^$*+?.()[%-") {
		luaCallOf(L).work(L, len(text)/bytesPerStep)
		i := strings.Index(text[from:], pattern)
		if i < 0 {
			L.Push(lua.LNil)
			return 1
		}
		L.Push(lua.LNumber(from + i + 1))
		L.Push(lua.LNumber(from + i + len(pattern)))
		return 2
	}
	m := newMatcher(L, text, pattern)
	start, end := m.Find(from)
	if start < 0 {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LNumber(start + 1))
	L.Push(lua.LNumber(end))
	if m.Level() == 0 {
		return 2
	}
	return 2 + m.push(start, end)
}

func luaMatch(L *lua.LState) int {
	text, pattern := L.CheckString(1), L.CheckString(2)
	m := newMatcher(L, text, pattern)
	start, end := m.Find(luaInit(L, 3, len(text)))
	if start < 0 {
		L.Push(lua.LNil)
		return 1
	}
	return m.push(start, end)
}

// luaGmatch returns a function that returns one match after the other.
func luaGmatch(L *lua.LState) int {
	m := newMatcher(L, L.CheckString(1), L.CheckString(2))
	at := 0
	L.Push(luaBuiltin(func(L *lua.LState) int {
		m.L = L // another coroutine may continue the iteration
		start, end := -1, -1
		if at <= len(m.text) {
			start, end = m.Find(at)
		}
		if start < 0 || m.Anchored() {
			at = len(m.text) + 1
		} else {
			at = max(end, start+1)
		}
		if start < 0 {
			L.Push(lua.LNil)
			return 1
		}
		return m.push(start, end)
	}))
	return 1
}

func luaGsub(L *lua.LState) int {
	text := L.CheckString(1)
	m := newMatcher(L, text, L.CheckString(2))
	L.CheckTypes(3, lua.LTString, lua.LTNumber, lua.LTTable, lua.LTFunction)
	limit := L.OptInt(4, len(text)+1)
	g := replacer{m: m, with: L.Get(3)}
	count, at := 0, 0
	for count < limit && at <= len(text) {
		start, end := m.Find(at)
		if start < 0 {
			break
		}
		count++
		g.write(text[at:start])
		g.replace(start, end)
		at = end
		if start == end {
			if at == len(text) {
				at++
				break
			}
			g.write(text[at : at+1])
			at++
		}
		if m.Anchored() {
			break
		}
	}
	if at < len(text) {
		g.write(text[at:])
	}
	m.call.countString(L, "string.gsub", len(g.out))
	L.Push(lua.LString(g.out))
	L.Push(lua.LNumber(count))
	return 2
}

// A replacer builds the result of string.gsub.
type replacer struct {
	m    *matcher
	with lua.LValue
	out  []byte
}

func (g *replacer) write(s string) {
	if len(g.out)+len(s) > maxLuaString {
		g.m.call.countString(g.m.L, "string.gsub", maxLuaString+1)
	}
	g.out = append(g.out, s...)
}

// replace writes the replacement of a match, or the match itself if the function or
// table returns nil or false.
func (g *replacer) replace(start, end int) {
	m := g.m
	var v lua.LValue
	switch with := g.with.(type) {
	case *lua.LFunction:
		m.L.Push(with)
		m.L.Call(m.push(start, end), 1)
		v = m.L.Get(-1)
		m.L.Pop(1)
	case *lua.LTable:
		v = m.L.GetTable(with, m.value(0, start, end))
	default:
		g.template(with.String(), start, end)
		return
	}
	switch v.(type) {
	case lua.LString, lua.LNumber:
		g.write(v.String())
	default:
		if !lua.LVIsFalse(v) {
			m.call.fail(m.L, "invalid replacement value (a "+v.Type().String()+")")
		}
		g.write(m.text[start:end])
	}
}

// template writes a replacement where %0 to %9 refer to captures. A % before another
// character is kept, as in the interpreter's gsub.
func (g *replacer) template(t string, start, end int) {
	for {
		i := strings.IndexByte(t, '%')
		if i < 0 || i == len(t)-1 {
			g.write(t)
			return
		}
		g.write(t[:i])
		switch c := t[i+1]; {
		case c == '%':
			g.write("%")
		case c == '0':
			g.write(g.m.text[start:end])
		case '1' <= c && c <= '9':
			g.write(g.m.value(int(c-'1'), start, end).String())
		default:
			g.write(t[i : i+2])
		}
		t = t[i+2:]
	}
}

// luaFormat checks a format before the interpreter uses it: it passes formats to Go,
// which supports more verbs and widths than Lua.
func luaFormat(native *lua.LState) lua.LGFunction {
	format := nativeLua(native, "string", "format").(*lua.LFunction).GFunction
	return func(L *lua.LState) int {
		text := L.CheckString(1)
		var b strings.Builder
		length, arg := len(text), 1
		for rest := text; rest != ""; {
			i := strings.IndexByte(rest, '%')
			if i < 0 {
				b.WriteString(rest)
				break
			}
			b.WriteString(rest[:i])
			verb := luaVerb(L, rest[i:])
			rest = rest[i+len(verb):]
			if verb != "%%" {
				arg++
				length += luaFormatted(L, arg, verb[len(verb)-1])
			}
			if strings.HasSuffix(verb, "u") {
				verb = verb[:len(verb)-1] + "d"
			}
			b.WriteString(verb)
		}
		luaCallOf(L).countString(L, "string.format", length)
		L.SetTop(arg)
		L.Replace(1, lua.LString(b.String()))
		return format(L)
	}
}

// luaVerb returns the verb at the beginning of a text, as %-5.2f.
func luaVerb(L *lua.LState, text string) string {
	rest := strings.TrimLeft(text[1:], "-+ #0")
	digits := func() int {
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		rest = rest[n:]
		return n
	}
	width, precision := digits(), 0
	if strings.HasPrefix(rest, ".") {
		rest = rest[1:]
		precision = digits()
	}
	c := luaCallOf(L)
	length := len(text) - len(rest) + 1
	switch {
	case width > 2 || precision > 2:
		c.fail(L, "invalid format (width or precision too long)")
	case rest == "":
		c.fail(L, "invalid format (ends with '%')")
	case !strings.Contains("cdiouxXeEfgGqs%", rest[:1]), rest[0] == '%' && length > 2:
		c.fail(L, "invalid option '"+text[:length]+"' to 'format'")
	}
	return text[:length]
}

// luaFormatted converts the argument of a verb, and returns the maximum length of its
// text.
func luaFormatted(L *lua.LState, arg int, verb byte) int {
	const longestNumber = 420 // 309 digits before the point and 99 behind it
	v := L.CheckAny(arg)
	if verb != 's' && verb != 'q' {
		if _, ok := v.(lua.LNumber); ok {
			return longestNumber
		}
		n, ok := luaToNumber(v)
		if !ok {
			L.TypeError(arg, lua.LTNumber)
		}
		L.Replace(arg, n)
		return longestNumber
	}
	if n, ok := v.(lua.LNumber); ok {
		v = lua.LString(n.String())
	}
	s, ok := v.(lua.LString)
	if !ok {
		s = lua.LString(luaCallOf(L).text(L, v).String())
		L.Replace(arg, s)
	}
	if verb == 'q' {
		return 4*len(s) + 102
	}
	return len(s) + 99
}

// luaToNumber converts a string to a number, as arithmetic does.
func luaToNumber(v lua.LValue) (lua.LNumber, bool) {
	s, ok := v.(lua.LString)
	if !ok {
		return 0, false
	}
	text := strings.TrimSpace(string(s))
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return lua.LNumber(n), true
	}
	n, err := strconv.ParseInt(text, 0, 64) // hexadecimal
	return lua.LNumber(n), err == nil
}
