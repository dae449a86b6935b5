package engine_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestHabits checks the errors for programs with Python features that Starlark does not
// have.
func TestHabits(t *testing.T) {
	e := engine.New(&engine.Options{Modules: codeModules()})
	for _, test := range []struct {
		src  string
		want string // "1: a\n2: b" is "line 1: a" and "line 2: b"
	}{
		{`x = f"{a} and {b.c}"`, `1: f-string; write "{} and {}".format(a, b.c)`},
		{`f"{{a}} {x!r} {d['k']} {q=} {a, b} {f(a, b)} {n:d}"`, `1: f-string; write "{{a}} {!r} {} q={!r} {} {} {}".format(x, d['k'], q, (a, b), f(a, b), n)`},
		{`f"{n:.2f} {p:.1%} {w:>8} {w:05d} {w:*^9} {m:,} {l:<4}"`,
			`1: f-string; write "{} {}% {} {} {} {} {}".format(math.round(n, 2), math.round(100 * (p), 1), text.pad_left(str(w), 8), text.pad_left(str(w), 5, "0"), text.center(str(w), 9, "*"), m, text.pad_right(str(l), 4))`},
		{`rf'\d{n}'`, `1: f-string; write r'\d{}'.format(n)`},
		{`F"plain {{}}"`, `1: f-string; write "plain {}"`},
		{"f'''a\n{b}'''", "1: f-string; write the string without f, with {} for each value, and then .format(b)"},
		{`f"{x:{w}}"`, `1: f-string; write "{}".format(value), with a {} for each value`},
		{`f"{d["a"]}"`, `1: f-string; write "{}".format(value), with a {} for each value`},
		{`f"{a}" f"{b}"`, "1: f-string; write \"{}\".format(a)\n1: f-string; write \"{}\".format(b)\n1: two strings side by side; write + between them"},
		{`x = u"a"`, "1: u before a string; leave the u out"},
		{"import json\nimport json as j\nfrom json import loads", "1: import is not supported; json is already available: delete the line\n" +
			"2: import is not supported; json is already available: delete the line and write json for j\n3: import is not supported; json is already available: delete the line and write json.decode"},
		{"import re, os", "1: import is not supported; re is already available: delete the line\n1: import is not supported; os is not available: call a tool for files"},
		{"import numpy as np\nfrom datetime import datetime\nimport requests", "1: import is not supported; numpy is not available: the modules are fs, json, math, re, text, time\n" +
			"2: import is not supported; datetime is not available: write time.now(), time.parse(text) and time.format(time)\n3: import is not supported; requests is not available: the modules are fs, json, math, re, text, time"},
		{"import typing\nfrom tools import read_file\nimport read_file", "1: import is not supported; delete the line\n2: import is not supported; delete the line\n3: import is not supported; delete the line"},
		{"from dataclasses import dataclass", "1: import is not supported; dataclasses is not available: delete the line, and use lists, dicts and functions"},
		{"import os\nos.listdir()\nos.listdir()", "1: import is not supported; os is not available: call a tool for files"},
		{"try:\n    x = 1\nexcept ValueError as e:\n    raise ValueError(\"bad \" + str(e))\nfinally:\n    pass\nraise",
			`1: try; write r = attempt(fn, arg) and look at r["ok"], r["value"] and r["error"]` + "\n4: raise; write fail(\"bad \" + str(e))\n7: raise; write fail(\"what is wrong\")"},
		{"class A:\n    pass", "1: class; use functions, and dicts for the data"},
		{"if x is None and y is not None: pass", "1: is; write ==\n1: is not; write !="},
		{"with open('x') as f:\n    s = f.read()", "1: with open; call read_file or write_file"},
		{"with lock: pass", "1: with; delete with: files need not be closed"},
		{"async def f():\n    await g()\n    yield 1", "1: async; delete the word: every call waits for the result\n2: await; delete the word: every call waits for the result\n3: yield; append to a list and return it"},
		{"def f():\n    global n\n    n = 1", `2: global; keep it in a dict, as in state = {"n": 0}, and write state["n"] += 1`},
		{"def f():\n    nonlocal n", `2: nonlocal; keep it in a dict, as in state = {"n": 0}, and write state["n"] += 1`},
		{"assert x > f(1, 2), 'too small'\nassert x", "1: assert; write if not (x > f(1, 2)): fail('too small')\n2: assert; write if not (x): fail(\"what is wrong\")"},
		{"del d['a'][b]\ndel x", "1: del; write d['a'].pop(b)\n2: del; leave the line out, or build a new list or dict without it"},
		{"y = x ** 2\nz = (a + b) ** n\nx **= 3\nw = f(a) ** b.c", "1: **; write math.pow(x, y), or x * x\n2: **; write math.pow(x, y), or x * x\n3: **; write math.pow(x, y), or x * x\n4: **; write math.pow(x, y), or x * x"},
		{"if a < b < c: pass\nx = 0 <= len(y[1]) <= 10 and b\nq = [a == b != c]", "1: chained comparison; write a < b and b < c\n" +
			"2: chained comparison; write a < b and b < c\n3: chained comparison; write a < b and b < c"},
		{"x = 'a' 'b' \"c\"\nprint('x'\n  'y')", "1: two strings side by side; write + between them\n3: two strings side by side; write + between them"},
		{"s = {1, 2}\nt = {x for x in y}", "1: a set in braces; write set([1, 2])\n2: a set in braces; write set([x for x in y])"},
		{"x: int = 3\ny: list[str]\nz : dict[str, int] = {'a': 1}", "1: a variable with a type; write x = 3\n2: a variable with a type; delete the line, or write y = None\n3: a variable with a type; write z = {'a': 1}"},
		{"a = 1\nprint('x', end = '', flush = True)\nprint(a, sep = '')", "2: print takes no end; leave end= out: each print is a line\n2: print takes no flush; leave flush= out: each print is a line"},
		{"if (n := len(x)) > 3: pass", "1: :=; write n = … on a separate line above"},
		{"a = b = 3", "1: chained assignment; write a = x and b = x on separate lines"},
		{"first, *rest = [1]", "1: * in an assignment; write first = values[0] and rest = values[1:]"},
		{"x = [*a, 1]\ny = {**a, 'b': 1}", "1: * in a list; write a + b to join two lists\n2: ** in a dict; write a | b to join two dicts"},
		{"1_000 + 2", "1: 1_000 has an underscore; write 1000"},
		{"@cache\ndef f():\n    ...", "1: a decorator; delete the line\n3: ...; write pass, or None for a value"},
		{"json.dumps(1)\nx = json.loads('1')", "1: json.dumps; write json.encode\n2: json.loads; write json.decode"},
		{"re.findall('a', 'b')\ntime.time()\njson.lods", "1: re.findall; write re.find_all\n2: time.time; write time.now\n3: json has no lods; it has decode, encode"},
		{"x = 1\n'{:.2f}'.format(x); '{a.b}'.format(a = x)", "2: format takes no {:.2f}; write {} and give math.round(value, 2)\n2: format takes no {a.b}; write {} and give a.b as an argument"},
		{"x = 1\n'%.2f' % x", "2: % takes no width and no digits; write %s and give math.round(value, 2)"},
		{"s = ''\ns.zfill(3); s.ljust(2); s.rjust(1)", "2: there is no .zfill(); write text.pad_left(s, width, \"0\")\n2: there is no .ljust(); write text.pad_right(s, width)\n2: there is no .rjust(); write text.pad_left(s, width)"},
		{"x = []\nx.sort()\ny = x.copy()\n'a'.casefold()", "2: there is no .sort(); write values = sorted(values)\n3: there is no .copy(); write list(values) or dict(values)\n4: there is no .casefold(); write s.lower()"},
		{"sum([1]); sum([2])\nopen('x')", "1: undefined: sum; write math.sum(values)\n2: undefined: open; call read_file or write_file"},
		{"isinstance(1, 2)", `1: undefined: isinstance; write type(x) == "string", or "int", "float", "bool", "list", "dict", "NoneType"`},
		{"def main(): pass\nif __name__ == '__main__':\n    main()", "2: undefined: __name__; write main() without the if"},
		{"x = sum([1])\nprint(f'x')", "1: undefined: sum; write math.sum(values)\n2: f-string; write 'x'"},
		// Findings before a syntax error are reported too, but not those after it.
		{"x = )\nimport os", "1: unexpected ')'\n2: import is not supported; os is not available: call a tool for files"},
		{"import json\nx = )", "1: import is not supported; json is already available: delete the line"},
		{strings.Repeat("f''\n", 52), strings.TrimSuffix(strings.Repeat("N: f-string; write ''\n", 50), "\n") + "\nand more"},
	} {
		e := scriptError(t, e.Compile(Program(test.src)))
		if got := e.Message(); got != numbered(test.want) {
			t.Errorf("%s\ngot\n%s\nwant\n%s", test.src, got, numbered(test.want))
		}
		if e.Kind != value.Invalid || e.Pos.File != "p.code" || e.Pos.Line == 0 || e.Hint == "" {
			t.Errorf("%s: kind %v at %v, hint %q", test.src, e.Kind, e.Pos, e.Hint)
		}
	}
}

// numbered adds "line " to each line with a number; N is the number of the line itself.
func numbered(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "N:") {
			line = strconv.Itoa(i+1) + line[1:]
		}
		if line[0] >= '0' && line[0] <= '9' {
			line = "line " + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// TestNoHabits checks that valid programs pass.
func TestNoHabits(t *testing.T) {
	e := engine.New(&engine.Options{Modules: codeModules()})
	for _, src := range rightPrograms {
		if err := e.Compile(Program(src)); err != nil {
			t.Errorf("%s\nCompile = %v, want no error", src, err)
		}
	}
	if len(rightPrograms) < 30 {
		t.Errorf("%d programs, want 30", len(rightPrograms))
	}
}

// rightPrograms are valid Starlark with text that looks like findings.
var rightPrograms = []string{
	`x = "import json"`,
	"# import json, f'{x}', x is None, try:\nx = 1",
	"x = '''\nimport os\ntry:\n    raise x\nexcept: pass\n'''\nx",
	`x = "f'{a}' {1, 2} a ** b a < b < c"`,
	"x = 1  # x: int = 3 := **",
	"f = 1\ng = f + len('x')",
	`r"\d" + r'\w'`,
	"d = {'a': {'b': 1}, 'c': []}\nd",
	"{}",
	"{k: v for k, v in [(1, 2)]}",
	"[x for x in range(3) if x < 2 and x > 0]",
	"a, b, c = 1, 2, 3\n(a < b) == (b < c)\na < b and b < c",
	"x = [a < 3 for a in [1]] == [True]",
	"x = 1 << 2 >> 1\ny = x <= 2\nz = x >= 2 or x != 3\ny",
	"def f(a, *args, b = 1, **kwargs):\n    return f2(*args, **kwargs)\ndef f2(*a, **b): pass\nf(1, b = 2)",
	"g = lambda x, *rest: x if x else rest\ng(1)",
	"f = lambda a = 1, b = 2: a < b\nf()",
	"def f(x: int, y: dict[str, list[int]] = {}, *, z: str | None = None) -> list[str]:\n    return []\nf(1)",
	"'{} {!r} {{:.2f}} {0}'.replace('0', '')\n'{} {!r} {{:.2f}}'.format(1, 2)",
	"'%s %d %r %% %x %(a)s'\n'%s is %d %%' % ('a', 1)",
	"5 % 2\nx = '5%'\nx",
	"print('a', 'b', sep = ', ')",
	"def print(*args, end = ''):\n    return end\nprint(1, end = 'x')",
	"json = {'dumps': len}\njson['dumps']('x')",
	"def f(json):\n    return json.dumps(1)\n1",
	"r = attempt(read_file, filepath = 'x')\nr['value'] if r['ok'] else r['error']",
	"text.center('a', 3)",
	"sum = 0\nfor n in [1, 2]:\n    sum += n\nsum",
	"def open(path):\n    return read_file(path)\nopen('x')",
	"x = ['a',\n     'b']\ny = ('a' +\n     'b')",
	"'''A doc.'''\n'''Another.'''\nx = 1; 'y'; 'z'",
	"x = [1, 2, 3][1:2]\nif x: y = 1\nelse: y = 2\ny",
	"x = 1.5e3 + 0x1F + 0o17 + .5",
	"x = {'is': 1, 'try': 2}['is'] not in [1]",
	"x = 'a' if True else 'b'\nx.upper().lower().title()",
	"x = (\n    1 +\n    2\n)\nx",
	"assert = 3\nassert",
	"x = set([1, 2]) | set([3])\nlen(x)",
	"x = {'a': 1} | {'b': 2}\nx",
	"'{a.b} {:}'.format(2, **{'a.b': 1})",
	"t = text\nt.center('a', 3)",
	"def f(m):\n    return m.encode(1)\nf(json)",
}

// FuzzHabits checks that any program is compiled or rejected with a few lines that name
// the positions.
func FuzzHabits(f *testing.F) {
	for _, src := range rightPrograms {
		f.Add(src)
	}
	for _, src := range []string{"f'{", "f'{a!r:>{w}}'", "u'", "{1, (2]}", "x = = = =", "a < b << c < d", "->", "....", "**=", "*a, *b", "import", "from", "import a,",
		"raise X(", "del [", "assert", "with open", ":=", "a:b:c=d=e", "print(end=", "json.", ".zfill(", "'{:08}'.format(", "'%08d' %", "1_", "is not", "f'{a=}{=}{:}{!}'", "@"} {
		f.Add(src)
	}
	e := engine.New(&engine.Options{Modules: codeModules()})
	f.Fuzz(func(t *testing.T, src string) {
		err := e.Compile(Program(src))
		if err == nil {
			return
		}
		failed := scriptError(t, err)
		if lines := strings.Count(failed.Message(), "\nline "); lines >= 10 || failed.Pos.File == "" {
			t.Errorf("%q: %v", src, err)
		}
		if failed.Kind != value.Invalid && failed.Kind != value.Limit {
			t.Errorf("%q: %v, a %v error", src, err, failed.Kind)
		}
	})
}

// TestNumberFormats runs tools that format numbers as Python does: the error says what to write.
func TestNumberFormats(t *testing.T) {
	e := both(t, "none")
	for _, expr := range []string{`"%.2f" % 1.5`, `"%4d" % 1`, `"{:.2f}".format(1.5)`} {
		_, err := e.Run(context.Background(), tool.Script{Path: "x.star", Source: "def f(): return " + expr}, tool.Call{}, nil)
		if got := value.ErrorOf(err, value.Failed); err == nil || !strings.Contains(got.Hint, "math.round(value, 2)") {
			t.Errorf("%s: %v, hint %q", expr, err, got.Hint)
		}
	}
}
