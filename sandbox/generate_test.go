package sandbox_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib"
)

// A generator writes scripts that are valid more often than not and ask too
// much more often than not. The same seed gives the same script.
type generator struct {
	*rand.Rand
	b     strings.Builder
	depth int // of expressions
	fresh int // names
	funcs []pureFunc
}

// A pureFunc is a function that a script can call by its name.
type pureFunc struct {
	name   string
	params []tool.Param
}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	for _, m := range stdlib.Pure() {
		for _, f := range m.Funcs {
			name := f.Name
			if m.Name != "" {
				name = m.Name + "." + name
			}
			g.funcs = append(g.funcs, pureFunc{name, f.Params})
		}
	}
	return g
}

// pick chooses one.
func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

// size is a number that is mostly small, and else far too big.
func (g *generator) size() string {
	return pick(g, "0", "1", "2", "3", "7", "20", "100", "1000", "65536", "100000", "1000000", "16777216", "1073741823", "2147483647", "4611686018427387904", "-1", "-100000")
}

// deeper writes what is nested, or a leaf where that has gone far enough.
func (g *generator) deeper(leaf string, nested func() string) string {
	if g.depth >= 4 || g.IntN(3) == 0 {
		return leaf
	}
	g.depth++
	defer func() { g.depth-- }()
	return nested()
}

// text is a string literal that means the same in both languages.
func (g *generator) text() string {
	return pick(g, `""`, `"a"`, `"a,b\nc,\"d"`, `"{\"a\": [1, 2, {\"b\": null}]}"`, `"[[[[[[[["`, `"(a|aa)+$"`, `"(a*)*(b*)*c"`, `"a: &x [1, 2]\nb: *x"`,
		`"a: &a [x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]"`, `"%s%s%s"`, `"{}{}"`, `"2024-02-30T25:00:00Z"`, `"%Y-%m-%d"`, `"é日本\t👩"`,
		`"http://a.example/../b?c=d&c=e#f"`, `"1e999"`, `"9999999999999999999999"`, `"%b()"`, `"(.-)%1"`, `"[^%w]*-"`, `"\n"`, `" "`, `","`, `"x|y"`, `"UTC"`)
}

// variables are what expressions in Starlark are about, one of each type.
const variables = "s = \"ab\"\nn = 3\nl = [1, 2, 3]\nd = {\"a\": 1}\nt = (1, \"b\")\nx = None\nb = b\"ab\"\nu = set([1])\n"

// star writes a Starlark script.
func (g *generator) star() tool.Script {
	g.b.WriteString("def helper(x, y = None):\n    return " + pick(g, "[x, y]", "(x, x)", "{0: x}", "x", "str(x)", "helper(x)") + "\n\n")
	if g.IntN(4) == 0 {
		g.b.WriteString(variables + "TOP = " + g.anyStar() + "\n\n")
	}
	g.b.WriteString("def f(value = None):\n    \"F.\"\n" +
		"    " + strings.ReplaceAll(strings.TrimSuffix(variables, "\n"), "\n", "\n    ") + "\n")
	for range 2 + g.IntN(8) {
		g.starStatement("    ")
	}
	g.b.WriteString("    return " + pick(g, "x", "s", "l", "d", "t", "n", "u", "b", "len(s)", "str(l)", "fail(x)", "[s, l, d]") + "\n\ntool(f)\n")
	return tool.Script{Path: "generated.star", Source: g.b.String()}
}

func (g *generator) starStatement(indent string) {
	switch {
	case len(indent) < 16 && g.IntN(3) == 0:
		g.fresh++
		fmt.Fprintf(&g.b, "%sfor i%d in %s:\n", indent, g.fresh, pick(g, "range("+g.size()+")", "range(40)", "list("+g.listStar()+")", g.stringStar()+".elems()", "d.items()"))
		for range 1 + g.IntN(3) {
			g.starStatement(indent + "    ")
		}
	case len(indent) < 16 && g.IntN(6) == 0:
		fmt.Fprintf(&g.b, "%sif %s:\n", indent, g.boolStar())
		g.starStatement(indent + "    ")
	default:
		fmt.Fprintf(&g.b, "%s%s\n", indent, g.simpleStar())
	}
}

func (g *generator) simpleStar() string {
	switch g.IntN(14) {
	case 0, 1:
		return "s = " + g.stringStar()
	case 2:
		return "n = " + g.intStar()
	case 3, 4:
		return "l = " + g.listStar()
	case 5:
		return "d = " + g.dictStar()
	case 6:
		return "t = " + g.tupleStar()
	case 7:
		return "l.append(" + pick(g, "l", "s", "d", "t", g.anyStar()) + ")"
	case 8:
		return "l.extend(" + g.listStar() + ")"
	case 9:
		return "d[" + pick(g, "n", "s", "t", "len(d)", "(t, t)") + "] = " + pick(g, "d", "l", g.anyStar())
	case 10:
		return "s += s"
	case 11:
		return "u = " + pick(g, "set("+g.listStar()+")", "u | set(l)", "u.union(range("+g.size()+"))", "set([i << 32 for i in range(20000)])")
	case 12:
		return "b = " + pick(g, "b * "+g.size(), "b + b", "bytes(s)", "bytes(list(range(256)))")
	default:
		return "x = " + g.pureCall("=")
	}
}

func (g *generator) stringStar() string {
	return g.deeper(pick(g, "s", g.text()), func() string {
		s := g.stringStar()
		return pick(g, func() string { return "(" + s + " * " + g.size() + ")" }, func() string { return "(" + s + " + " + g.stringStar() + ")" },
			func() string { return s + ".join([" + g.stringStar() + "] * " + g.size() + ")" }, func() string { return s + ".replace(" + g.stringStar() + ", " + g.stringStar() + ")" },
			func() string { return "\"{0}{0}{0}\".format(" + g.anyStar() + ")" }, func() string { return "(\"%s%r\" % (" + g.anyStar() + ", s))" },
			func() string { return "str(" + g.anyStar() + ")" }, func() string { return "repr(" + g.anyStar() + ")" },
			func() string { return "json.encode(" + g.anyStar() + ")" }, func() string { return s + "[::" + pick(g, "-1", "2", "1") + "]" },
			func() string {
				return s + "." + pick(g, "upper", "title", "strip", "capitalize", "lower") + "()"
			})()
	})
}

func (g *generator) intStar() string {
	return g.deeper(pick(g, "n", g.size()), func() string {
		n := g.intStar()
		return pick(g, func() string { return "(" + n + pick(g, " + ", " * ", " - ", " | ", " ^ ") + g.intStar() + ")" }, func() string { return "(" + n + " << " + pick(g, "1", "63", "511", "512") + ")" },
			func() string { return "len(" + g.listStar() + ")" }, func() string { return "int(" + g.stringStar() + " or \"1\")" }, func() string { return "hash(" + g.stringStar() + ")" },
			func() string { return g.stringStar() + ".count(" + g.stringStar() + ")" }, func() string { return "max(range(" + g.size() + ") or [1])" },
			func() string { return "(" + n + " // " + pick(g, "1", "3", "n or 1") + ")" }, func() string { return "(n * n)" })()
	})
}

func (g *generator) listStar() string {
	return g.deeper(pick(g, "l", "[]", "[1]"), func() string {
		l := g.listStar()
		return pick(g, func() string { return "(" + l + " * " + g.size() + ")" }, func() string { return "(" + l + " + " + g.listStar() + ")" }, func() string { return "list(range(" + g.size() + "))" },
			func() string { return "[" + g.anyStar() + " for _ in range(" + g.size() + ")]" }, func() string { return "sorted(" + g.listStar() + ", key = str)" }, func() string { return "list(reversed(" + l + "))" },
			func() string { return g.stringStar() + ".split(" + pick(g, "", "\"a\"", "s or \"b\"") + ")" }, func() string { return "list(zip(" + l + ", range(" + g.size() + ")))" },
			func() string { return "list(enumerate(" + l + "))" }, func() string { return "[" + strings.Repeat("[", 50) + "l" + strings.Repeat("]", 50) + "]" }, func() string { return "[l, l]" },
			func() string {
				return "list(" + g.stringStar() + pick(g, ".elems()", ".codepoints()", ".elem_ords()", ".codepoint_ords()") + ")"
			}, func() string { return l + "[" + g.size() + ":]" },
			func() string { return g.stringStar() + ".splitlines()" }, func() string { return "[helper(e) for e in " + l + "]" })()
	})
}

func (g *generator) dictStar() string {
	return g.deeper("d", func() string {
		return pick(g, func() string { return "{i: " + g.anyStar() + " for i in range(" + g.size() + ")}" }, func() string { return "dict(zip(" + g.listStar() + ", l))" },
			func() string { return "{t: d, s: l, n: t}" }, func() string { return "(d | {\"k\": " + g.anyStar() + "})" }, func() string { return "{i << 32: i for i in range(30000)}" })()
	})
}

func (g *generator) tupleStar() string {
	return g.deeper("t", func() string {
		return pick(g, func() string { return "(t, t)" }, func() string { return "(t * " + g.size() + ")" }, func() string { return "tuple(" + g.listStar() + ")" },
			func() string { return "(t + " + g.tupleStar() + ")" }, func() string { return "(" + g.anyStar() + ", " + g.anyStar() + ")" })()
	})
}

func (g *generator) boolStar() string {
	return pick(g, "True", "not x", "l == [l]", g.anyStar()+" == "+g.anyStar(), g.stringStar()+" in "+g.stringStar(), "t < t", "any("+g.listStar()+")", "all(range(1, "+g.size()+"))", "n > 2")
}

func (g *generator) anyStar() string {
	return g.deeper(pick(g, "s", "n", "l", "d", "t", "x", "b", "u", "None", "True", "1.5", "helper", "(lambda: l)"), func() string {
		return pick(g, g.stringStar, g.intStar, g.listStar, g.dictStar, g.tupleStar, g.boolStar, func() string { return "helper(" + g.anyStar() + ", x)" },
			func() string { return "(lambda y: [y, y])(" + g.anyStar() + ")" }, func() string { return g.pureCall("=") })()
	})
}

// pureCall calls a function of the library with arguments that are of the right
// type, mostly. assign is what names an argument, or "" where none can be.
func (g *generator) pureCall(assign string) string {
	f := g.funcs[g.IntN(len(g.funcs))]
	var args []string
	for _, p := range f.params {
		if !p.Required && g.IntN(2) == 0 {
			if assign == "" {
				break
			}
			continue
		}
		arg := g.argument(p.Type.Name, assign != "")
		if assign != "" {
			arg = p.Name + " " + assign + " " + arg
		}
		args = append(args, arg)
	}
	return f.name + "(" + strings.Join(args, ", ") + ")"
}

func (g *generator) argument(kind string, star bool) string {
	switch {
	case g.IntN(12) == 0:
		kind = tool.TypeAny
	case kind == tool.TypeBoolean:
		return pick(g, "s == \"\"", "n == 3")
	}
	of := map[string][]func() string{
		tool.TypeString: {g.stringStar, g.stringLua}, tool.TypeInteger: {g.intStar, g.intLua}, tool.TypeNumber: {g.intStar, g.intLua},
		tool.TypeList: {g.listStar, g.tableLua}, tool.TypeArray: {g.listStar, g.tableLua}, tool.TypeObject: {g.dictStar, g.tableLua},
	}[kind]
	switch {
	case of == nil && star:
		return g.anyStar()
	case of == nil:
		return g.anyLua()
	case star:
		return of[0]()
	}
	return of[1]()
}

// lua writes a Lua script.
func (g *generator) lua() tool.Script {
	g.b.WriteString("local function helper(x, ...) return " + pick(g, "x", "{x, x}", "helper(x)", "tostring(x)", "select('#', ...)", "...") + " end\n" +
		"return tool{description = \"F.\", handler = function(args)\nlocal s, n, l, x, c = \"ab\", 3, {1, 2, 3}, nil, nil\n")
	for range 2 + g.IntN(8) {
		g.luaStatement(0)
	}
	g.b.WriteString("return " + pick(g, "x", "s", "l", "n", "#s", "error(x)", "{s, l}", "pcall(helper, l)", "helper(s)") + "\nend}\n")
	return tool.Script{Path: "generated.lua", Source: g.b.String()}
}

func (g *generator) luaStatement(depth int) {
	block := func(head, tail string) {
		g.b.WriteString(head + "\n")
		for range 1 + g.IntN(3) {
			g.luaStatement(depth + 1)
		}
		g.b.WriteString(tail + "\n")
	}
	switch {
	case depth < 3 && g.IntN(3) == 0:
		b := pick(g, [2]string{"for i = 1, " + g.size() + " do", "end"}, [2]string{"for k, v in pairs(" + g.tableLua() + ") do", "end"}, [2]string{"while n do", "end"},
			[2]string{"repeat", "until " + g.anyLua()}, [2]string{"for w in string.gmatch(" + g.stringLua() + ", " + g.patternLua() + ") do", "end"}, [2]string{"pcall(function()", "end)"},
			[2]string{"xpcall(function()", "end, function(e) return e .. s end)"}, [2]string{"x = coroutine.wrap(function()", "end) pcall(x)"}, [2]string{"c = coroutine.create(function()", "end)"},
			[2]string{"table.sort(l, function(a, b)", "return nil end)"}, [2]string{"string.gsub(s, '.', function(m)", "end)"})
		block(b[0], b[1])
	default:
		g.b.WriteString(g.simpleLua() + "\n")
	}
}

func (g *generator) simpleLua() string {
	return pick(g, func() string { return "s = " + g.stringLua() }, func() string { return "n = " + g.intLua() }, func() string { return "l = " + g.tableLua() },
		func() string { return "l[" + pick(g, "n", "#l + 1", "s", "{}", g.size()) + "] = " + g.anyLua() }, func() string { return "s = s .. s" },
		func() string { return "pcall(function() x = " + g.pureCall("") + " end)" }, func() string { return "table.insert(l, " + pick(g, "l", g.anyLua(), g.size()+", s") + ")" },
		func() string {
			return "setmetatable(l, {__index = " + pick(g, "l", "helper", "function(t, k) return t[k] end") + ", __call = helper, __concat = helper, __tostring = function() return l end})"
		},
		func() string {
			return "x = select(2, pcall(coroutine." + pick(g, "resume", "wrap", "status", "create") + ", " + pick(g, "c", "helper", "function() coroutine.yield(s) end") + "))"
		},
		func() string { return "pcall(string.format, " + g.stringLua() + ", " + g.anyLua() + ")" }, func() string { return "pcall(table.concat, l, " + g.stringLua() + ")" },
		func() string { return "pcall(unpack, l, 1, " + g.size() + ")" }, func() string { return "x = " + g.anyLua() })()
}

func (g *generator) patternLua() string {
	return pick(g, `"."`, `".-"`, `"%w+"`, `"(a*)*"`, `"%b()"`, `"%f[%w]"`, `"[a-z]-b"`, `"(.)%1"`, `""`, `"a?a?a?a?a?a?a?a?aaaaaaaa"`, `string.rep("a?", 30) .. string.rep("a", 30)`, `string.rep(".-", 20) .. "x"`, "s", g.text())
}

func (g *generator) stringLua() string {
	return g.deeper(pick(g, "s", g.text()), func() string {
		s := g.stringLua()
		return pick(g, func() string { return "string.rep(" + s + ", " + g.size() + ")" }, func() string { return "(" + s + " .. " + g.stringLua() + ")" },
			func() string { return "(string.gsub(" + s + ", " + g.patternLua() + ", " + g.stringLua() + "))" }, func() string { return "(string.match(" + s + ", " + g.patternLua() + ") or s)" },
			func() string { return "string." + pick(g, "upper", "lower", "reverse") + "(" + s + ")" }, func() string { return "string.sub(" + s + ", " + g.size() + ", " + g.size() + ")" },
			func() string { return "tostring(" + g.anyLua() + ")" }, func() string { return "string.char(" + g.size() + " % 256)" }, func() string { return "json.encode(" + g.anyLua() + ")" })()
	})
}

func (g *generator) intLua() string {
	return g.deeper(pick(g, "n", g.size()), func() string {
		return pick(g, func() string { return "(" + g.intLua() + pick(g, " + ", " * ", " - ", " % ", " ^ ") + g.intLua() + ")" }, func() string { return "#" + g.stringLua() }, func() string { return "#" + g.tableLua() },
			func() string { return "(string.find(" + g.stringLua() + ", " + g.patternLua() + ") or 0)" }, func() string { return "(tonumber(" + g.stringLua() + ") or 1)" }, func() string { return "math.random(" + g.size() + ")" },
			func() string { return "select('#', unpack(l))" }, func() string { return "(string.byte(" + g.stringLua() + ") or 0)" })()
	})
}

func (g *generator) tableLua() string {
	return g.deeper(pick(g, "l", "{}", "{1, 2}", "{a = l}"), func() string {
		return pick(g, func() string { return "{" + g.anyLua() + ", " + g.anyLua() + "}" }, func() string { return "{l, l}" }, func() string { return "{[" + g.stringLua() + "] = " + g.anyLua() + "}" },
			func() string { return "{unpack(l)}" }, func() string { return "setmetatable({}, {__index = l})" }, func() string { return strings.Repeat("{", 40) + "l" + strings.Repeat("}", 40) })()
	})
}

func (g *generator) anyLua() string {
	return g.deeper(pick(g, "s", "n", "l", "x", "c", "nil", "true", "1.5", "0/0", "1/0", "helper", "null", "string"), func() string {
		return pick(g, g.stringLua, g.intLua, g.tableLua, func() string { return "helper(" + g.anyLua() + ")" }, func() string { return "function() return l end" },
			func() string { return "(" + g.anyLua() + pick(g, " == ", " ~= ", " and ", " or ") + g.anyLua() + ")" })()
	})
}
