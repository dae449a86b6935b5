package lua

import (
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
)

// luaLibrary is what Lua scripts can use: the safe part of Lua's own library,
// some of it guarded, and the functions of the modules. All states share the
// functions, which nothing can change; the tables that hold them are made for
// each state.
type library struct {
	globals []global
	strings *lua.LTable // the metatable of strings, for scripts that do not touch the library's
}

// A luaGlobal is a global name: a value, or a table with fields.
type global struct {
	name   string
	value  lua.LValue
	fields []luaField
	other  *script.Function // what a field that is not there is, or nil
}

type luaField struct {
	name  string
	value lua.LValue
}

// luaNatives are the functions of the interpreter that are lent as they are.
// What is not here or in luaGuarded does not exist: nothing that opens a file,
// reads code, shows the interpreter's inside, or is another state's.
var luaNatives = []struct{ module, names string }{
	{"", "_VERSION getmetatable next pairs rawequal rawget rawset select tonumber tostring type"},
	{"string", "byte char dump len lower reverse sub upper"},
	{"table", "getn insert maxn remove sort"},
	{"math", "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min mod modf pi pow rad sin sinh sqrt tan tanh"},
	{"coroutine", "running status"},
}

// luaGuarded are the functions of Lua that are ours: so that an error keeps
// its place, no memory is taken without bound, and what must be recorded is.
func luaGuarded(native *lua.LState) []global {
	fields := func(fns map[string]lua.LGFunction) []luaField {
		var list []luaField
		for name, fn := range fns {
			list = append(list, luaField{name, luaBuiltin(fn)})
		}
		slices.SortFunc(list, func(a, b luaField) int { return strings.Compare(a.name, b.name) })
		return list
	}
	return []global{
		{name: "", fields: append(fields(map[string]lua.LGFunction{
			"assert": luaAssert, "error": luaError, "pcall": luaPcall, "print": luaPrint,
			"setmetatable": luaSetMetatable(native), "unpack": luaUnpack(native), "xpcall": luaXpcall,
		}), luaField{"ipairs", luaIpairs(native)}, luaField{"null", luaNull})},
		{name: "string", fields: fields(map[string]lua.LGFunction{
			"find": luaFind, "format": luaFormat(native), "gmatch": luaGmatch,
			"gsub": luaGsub, "match": luaMatch, "rep": luaRep,
		})},
		{name: "table", fields: fields(map[string]lua.LGFunction{"concat": luaConcat})},
		{name: "math", fields: fields(map[string]lua.LGFunction{"random": luaRandom, "randomseed": luaRandomSeed})},
		{name: "coroutine", fields: fields(map[string]lua.LGFunction{
			"create": luaCreate(native), "resume": luaResume(native), "wrap": luaWrap(native), "yield": luaYield,
		})},
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
			if f.name == "gmatch" {
				l.add(g.name, "gfind", f.value) // its name in Lua 5.0
			}
		}
	}
	// A module of ours adds to a library of the same name: math has both.
	for _, m := range modules {
		for _, f := range m.Funcs {
			l.add(m.Name, f.Name, luaFunction(f))
		}
		for _, c := range m.Consts {
			v, err := toLua(native, c.Value)
			if err != nil {
				panic("a constant of " + m.Name + " is no value: " + err.Error())
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

// add gives a name a value, unless it has one.
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

// part returns what a script can reach of the library: what it names. One
// that names _G can reach all.
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

// state makes a state for one call.
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

// luaOther gives the function that stands for a field which a module does not
// have.
func luaOther(f script.Function) *lua.LFunction {
	return luaBuiltin(func(L *lua.LState) int {
		name, ok := L.Get(2).(lua.LString)
		if !ok {
			L.Push(lua.LNil)
			return 1
		}
		L.Push(luaFunction(f.Called(string(name))))
		return 1
	})
}

// stringMetatable makes the methods of strings, as in s:upper(), those of a
// table. A script cannot get at it, nor replace it.
func stringMetatable(L *lua.LState, methods *lua.LTable) *lua.LTable {
	mt := L.CreateTable(0, 2)
	mt.RawSetString("__index", methods)
	mt.RawSetString("__metatable", lua.LFalse)
	return mt
}
