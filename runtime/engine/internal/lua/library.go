package lua

import (
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
)

// library is the library of Lua scripts: the safe part of Lua's own, some of it
// replaced, and the functions of the modules. All states share the functions, which are
// immutable; the tables that hold them are made for each state.
type library struct {
	globals []global
	strings *lua.LTable // the metatable of strings, for scripts that do not change the library's
}

// A global is a global name: a value, or a table with fields.
type global struct {
	name   string
	value  lua.LValue
	fields []luaField
	other  *script.Function // handles any other field, or nil
}

type luaField struct {
	name  string
	value lua.LValue
}

// luaNatives are the interpreter's functions that scripts may use directly. Other
// functions exist only if luaGuarded replaces them: none opens a file, reads code,
// exposes the interpreter, or accesses another state.
var luaNatives = []struct{ module, names string }{
	{"", "_VERSION getmetatable next pairs rawequal rawget rawset select tonumber type"},
	{"string", "byte char dump len lower reverse sub upper"},
	{"table", "getn insert maxn remove sort"},
	{"math", "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min mod modf pi pow rad sin sinh sqrt tan tanh"},
	{"coroutine", "running status"},
}

// luaGuarded are replacements of Lua functions: they keep the positions of errors,
// bound memory, and record what must be recorded.
func luaGuarded(native *lua.LState) []global {
	field := func(name string, fn lua.LGFunction) luaField { return luaField{name, luaBuiltin(fn)} }
	gmatch := luaBuiltin(luaGmatch)
	return []global{
		{fields: []luaField{
			field("assert", luaAssert), field("error", luaError), field("pcall", luaPcall), field("print", luaPrint),
			field("setmetatable", luaSetMetatable(native)), field("tostring", luaToString), field("unpack", luaUnpack(native)), field("xpcall", luaXpcall),
			{"ipairs", luaIpairs(native)}, {"null", luaNull},
		}},
		{name: "string", fields: []luaField{
			field("find", luaFind), field("format", luaFormat(native)),
			{"gmatch", gmatch}, {"gfind", gmatch}, // gfind is the name in Lua 5.0
			field("gsub", luaGsub), field("match", luaMatch), field("rep", luaRep),
		}},
		{name: "table", fields: []luaField{field("concat", luaConcat)}},
		{name: "math", fields: []luaField{field("random", luaRandom), field("randomseed", luaRandomSeed)}},
		{name: "coroutine", fields: []luaField{
			field("create", luaCreate(native)), field("resume", luaResume(native)), field("wrap", luaWrap(native)), field("yield", luaYield),
		}},
	}
}

func newLibrary(modules []script.Module) *library {
	native := lua.NewState(lua.Options{SkipOpenLibs: true})
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenString, lua.OpenTable, lua.OpenMath, lua.OpenCoroutine} {
		native.Push(native.NewFunction(open))
		native.Push(lua.LString(""))
		native.Call(1, 0)
	}
	l := &library{}
	for _, m := range luaNatives {
		for _, name := range strings.Fields(m.names) {
			l.add(m.module, name, nativeLua(native, m.module, name))
		}
	}
	for _, g := range luaGuarded(native) {
		for _, f := range g.fields {
			l.add(g.name, f.name, f.value)
		}
	}
	// A module extends a library of the same name: math has both.
	for _, m := range modules {
		for _, f := range m.Funcs {
			l.add(m.Name, f.Name, luaFunction(f))
		}
		for _, c := range m.Consts {
			v, err := toLua(native, c.Value)
			if err != nil {
				panic("a constant of " + m.Name + " is not a value: " + err.Error())
			}
			l.add(m.Name, c.Name, v)
		}
		if m.Other != nil && m.Name != "" {
			l.global(m.Name).other = m.Other
		}
	}
	l.strings = stringMetatable(native, l.global("string").table(native))
	return l
}

func nativeLua(native *lua.LState, module, name string) lua.LValue {
	table := native.G.Global
	if module != "" {
		table = table.RawGetString(module).(*lua.LTable)
	}
	return table.RawGetString(name)
}

func (l *library) global(name string) *global {
	i := slices.IndexFunc(l.globals, func(g global) bool { return g.name == name })
	if i < 0 {
		l.globals = append(l.globals, global{name: name})
		i = len(l.globals) - 1
	}
	return &l.globals[i]
}

// add sets the value of a name, unless it has one.
func (l *library) add(module, name string, v lua.LValue) {
	if module == "" {
		if g := l.global(name); g.value == nil && g.fields == nil {
			g.value = v
		}
		return
	}
	g := l.global(module)
	if !slices.ContainsFunc(g.fields, func(f luaField) bool { return f.name == name }) {
		g.fields = append(g.fields, luaField{name, v})
	}
}

// part returns the part of the library that a script can reach: the names that it
// mentions, or all if it mentions _G.
func (l *library) part(mentioned map[string]bool) *library {
	if mentioned["_G"] {
		return &library{globals: append(slices.Clone(l.globals), global{name: "_G"})}
	}
	part := &library{}
	for _, g := range l.globals {
		if mentioned[g.name] {
			part.globals = append(part.globals, g)
		}
	}
	if !mentioned["string"] {
		part.strings = l.strings
	}
	return part
}

// state returns a new state for one call.
func (l *library) state(c *call) *lua.LState {
	L := lua.NewState(luaOptions)
	L.Panic = luaPanic
	L.SetContext(c)
	metatable := l.strings
	for i := range l.globals {
		g := &l.globals[i]
		switch {
		case g.name == "_G":
			L.G.Global.RawSetString("_G", L.G.Global)
		case g.value != nil:
			L.G.Global.RawSetString(g.name, g.value)
		default:
			table := g.table(L)
			L.G.Global.RawSetString(g.name, table)
			if g.name == "string" {
				metatable = stringMetatable(L, table)
			}
		}
	}
	L.SetMetatable(lua.LString(""), metatable)
	return L
}

func (g *global) table(L *lua.LState) *lua.LTable {
	table := L.CreateTable(0, len(g.fields))
	for _, f := range g.fields {
		table.RawSetString(f.name, f.value)
	}
	if g.other != nil {
		mt := L.CreateTable(0, 2)
		mt.RawSetString("__index", luaOther(*g.other))
		mt.RawSetString("__metatable", lua.LFalse)
		table.Metatable = mt
	}
	return table
}

// luaOther returns the __index function for fields that a module does not have.
func luaOther(f script.Function) *lua.LFunction {
	return luaBuiltin(luaResult(func(L *lua.LState) (lua.LValue, error) {
		if name, ok := L.Get(2).(lua.LString); ok {
			return luaFunction(f.WithAlias(string(name))), nil
		}
		return lua.LNil, nil
	}))
}

// stringMetatable provides the functions of a table as methods of strings, as in
// s:upper(). A script can neither access nor replace it.
func stringMetatable(L *lua.LState, methods *lua.LTable) *lua.LTable {
	mt := L.CreateTable(0, 2)
	mt.RawSetString("__index", methods)
	mt.RawSetString("__metatable", lua.LFalse)
	return mt
}
