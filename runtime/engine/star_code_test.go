package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// codeModules are modules with the names of those of programs; their functions are
// trivial.
func codeModules() []tool.Module {
	anything := tool.Type{Name: tool.TypeAny}
	module := func(name string, funcs ...string) tool.Module {
		m := tool.Module{Name: name}
		for _, f := range funcs {
			m.Funcs = append(m.Funcs, tool.Func{Name: f, Kind: tool.Pure, Params: []tool.Param{{Name: "x", Type: anything}, {Name: "y", Type: anything}},
				Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
					x, _ := e.Args.Get("x")
					return tool.Outcome{Value: x}, nil
				}})
		}
		return m
	}
	return []tool.Module{
		module("json", "encode", "decode"), module("math", "round", "sum", "pow"), module("re", "find_all", "search"),
		module("text", "pad_left", "pad_right", "center"), module("time", "now", "format"),
		{Name: "fs", Funcs: []tool.Func{{Name: "read", Kind: tool.Read, Params: []tool.Param{{Name: "path", Type: anything, Required: true}}}}},
	}
}

// codeTools is the library of the tests' programs.
const codeTools = `
_SECRET = 1
LIMIT = 3

def _hidden():
    return _SECRET

def read_file(filepath):
    "Read a file."
    return fs.read(filepath)

def list_files(path = "."):
    return ["a", "b"][:LIMIT + _hidden()]

def broken():
    fail("the disk is full")
`

func Program(source string) tool.Script {
	return tool.Script{Path: "p.code", Source: source, Libs: map[string]string{"tools.star": codeTools}}
}

// capitals is an effector where a file's content is its name, in capitals.
func capitals(_ context.Context, e tool.Effect) (tool.Outcome, error) {
	if e.Func != "fs.read" {
		return tool.Outcome{}, nil
	}
	return tool.Outcome{Value: strings.ToUpper(e.Args.Text("path"))}, nil
}

func TestProgramResult(t *testing.T) {
	e := both(t, "code")
	for _, test := range []struct{ name, src, want string }{
		{"nothing", "", "null"},
		{"a comment", "# nothing\n", "null"},
		{"an expression", "1 + 1", "2"},
		{"an expression behind statements", "x = 20\ny = 3\nx * y\n", "60"},
		{"a string", "'''a\nb'''", `"a\nb"`},
		{"return", "x = 1\nreturn x\nfail('too far')", "1"},
		{"while", "n = 0\nwhile n < 5:\n    n += 2\nn", "6"},
		{"return in a loop", "for i in range(9):\n    if i == 4:\n        return i\n'none'", "4"},
		{"a name result", "result = read_file('a')\n", `"A"`},
		{"result in a branch", "if True:\n    result = 1\nelse:\n    result = 2\n", "1"},
		{"result in a branch that is not taken", "if False:\n    result = 1\n", "null"},
		{"result in a loop", "for i in range(3):\n    a, result = i, i\n", "2"},
		{"result changed", "result = 1\nresult += 1\n", "2"},
		{"result filled", "result = []\nresult.append(1)", "[1]"},
		{"result and print", "result = 5\nprint(result)", "5"},
		{"result and an expression", "result = 5\n6", "6"},
		{"result and a false expression", "result = 5\n0", "0"},
		{"result of a function alone", "def f():\n    result = 1\nf()", "null"},
		{"result of a comprehension alone", "x = [result for result in [1]]", "null"},
		{"print", "print('x')", "null"},
		{"an assignment", "x = 1", "null"},
		{"for", "total = 0\nfor name in list_files():\n    total += len(read_file(filepath = name))\ntotal", "2"},
		{"functions of its own", "n = 2\ndef twice(x):\n    return x * n\ndef all(names):\n    return [twice(read_file(n)) for n in names]\nall(list_files())", `["AA","BB"]`},
		{"a function that comes later", "def f():\n    return g()\ndef g():\n    return 3\nf()", "3"},
		{"annotations", "def f(x: int, y: list[str] = []) -> int:\n    return x\nf(3)", "3"},
		{"a lambda", "sorted([3, 1, 2], key = lambda x: -x)", "[3,2,1]"},
		{"names of its own over others", "list_files = [1]\njson = {'a': 1}\nlist_files + [json['a']]", "[1,1]"},
		{"modules", "json.encode(math.sum(1))", "1"},
		{"attempt", "r = attempt(broken)\n[r['ok'], r['error']]", `[false,"the disk is full"]`},
		{"main", "LIMIT = 3\ndef main():\n    return LIMIT\n", "3"},
		{"main with defaults", "\"Says.\"\ndef main(n = 4, *rest, **more):\n    return n\n", "4"},
		{"main that is called", "def main():\n    return 1\nx = main()", "null"},
		{"main that is called by another", "def main():\n    return 1\ndef f():\n    return main()\n", "null"},
		{"main that needs something", "def main(n):\n    return n\n", "null"},
		{"main beside a result", "result = 1\ndef main():\n    return 2\n", "1"},
		{"main beside what is done", "print('x')\ndef main():\n    return 2\n", "null"},
		{"Windows", "x = 1\r\nx\r\n", "1"},
	} {
		out, err := e.Run(t.Context(), Program(test.src), tool.Call{}, capitals)
		if got := value.FormatJSON(out.Value, ""); err != nil || got != test.want {
			t.Errorf("%s: %s, %v; want %s", test.name, got, err, test.want)
		}
	}
}

func TestProgramErrors(t *testing.T) {
	e := both(t, "code")
	for _, test := range []struct{ name, src, want string }{
		{"fails", "x = 1\nif x:\n    fail('no')", "p.code:3:9: no"},
		{"fails behind text", "x = '''a\nb'''\nx + 1", "p.code:3:3: unknown binary op: string + int"},
		{"a tool fails", "é = 1; broken()", "tools.star:16:9: the disk is full"},
		{"no value", "def f(): pass\nf", "p.code:1:1: expected data but got the function f"},
		{"recursion", "def f(n): return f(n)\nf(1)", "p.code:1:18: function f called recursively"},
		{"load", "load('lib/x.star', 'x')\nx", "p.code:1:1: load is not supported in programs"},
		{"load inside", "if True:\n    load('tools.star', 'read_file')", "p.code:2:5: load is not supported in programs"},
		{"what a library hides", "_hidden()", "p.code:1:1: line 1: undefined: _hidden"},
		{"what a library does not define as a function", "LIMIT + 1", "p.code:1:1: line 1: undefined: LIMIT"},
		{"a declaration", "def f(): pass\ntool(f)", `p.code:2:1: line 2: undefined: tool; did you mean "bool"?`},
		{"a slip", "reed_file('a')", `p.code:1:1: line 1: undefined: reed_file; did you mean "read_file"?`},
		{"a slip of its own", "totals = 1\nprint(totls)", `p.code:2:7: line 2: undefined: totls; did you mean "totals"?`},
		{"two slips", "reed_file(lst_files())\nreed_file(2)", "p.code:1:1: line 1: undefined: reed_file; did you mean \"read_file\"?\nline 1: undefined: lst_files; did you mean \"list_files\"?"},
		{"no syntax", "x = 1\ny = )\n", "p.code:2:5: line 2: unexpected ')'"},
		{"an escape", "x = '\\d'", `p.code:1:5: line 1: invalid escape sequence \d; put an r before the string, or write \\ for \`},
		{"not in a loop", "break", "p.code:1:1: line 1: break not in a loop"},
		{"too long", "#" + strings.Repeat("x", 300<<10), "p.code: the file is longer than 256 KB"},
		{"no text", "x = \xff", "p.code:1:5: the byte 0xff is not allowed in a script"},
	} {
		_, err := e.Run(t.Context(), Program(test.src), tool.Call{}, capitals)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v\nwant %s", test.name, err, test.want)
		}
	}
}

// TestProgramHints checks the hints for programs that would not fail in Python.
func TestProgramHints(t *testing.T) {
	e := both(t, "code")
	for _, test := range []struct{ src, want, hint string }{
		{"x = 1\nlist_files = list_files()", "p.code:2:14: local variable list_files referenced before assignment", "rename the variable"},
		{"r = {'ok': 1}\nr.ok", "p.code:2:2: dict has no .ok field or method", `write d["ok"], or d.get("ok")`},
		{"for c in 'abc':\n    print(c)", "p.code:1:1: string value is not iterable", "s.elems()"},
		{"[c for c in 'abc']", "p.code:1:4: string value is not iterable", "s.elems()"},
		{"1 // 0", "p.code:1:3: floored division by zero", ""},
	} {
		_, err := e.Run(t.Context(), Program(test.src), tool.Call{}, capitals)
		if e := scriptError(t, err); e.Error() != test.want || !strings.Contains(e.Hint, test.hint) || test.hint == "" && e.Hint != "" {
			t.Errorf("%s: %v, hint %q; want %s, hint %s", test.src, err, e.Hint, test.want, test.hint)
		}
	}
}

func TestProgramLibrary(t *testing.T) {
	e := both(t, "code")
	for _, test := range []struct {
		name string
		libs map[string]string
		want string
	}{
		{"none", nil, `p.code:1:1: line 1: undefined: f; did you mean "fs"?`},
		{"loads", map[string]string{"tools.star": "load('lib/x.star', 'g')\ndef f(): return g()\n", "lib/x.star": "def g(): return 7\n"}, "7"},
		{"loads what is not there", map[string]string{"tools.star": "load('lib/x.star', 'g')\ndef f(): return g()\n"}, "tools.star:1:1: file not found: lib/x.star"},
		{"is no Starlark", map[string]string{"tools.star": "def f(:\n"}, "tools.star:1:7: got ':', want ')'"},
		{"is not to be run", map[string]string{"tools.star": "fs.read('x')\ndef f(): return 1\n"}, "tools.star:1:8: fs.read is only available inside a function"},
	} {
		s := tool.Script{Path: "p.code", Source: "f()", Libs: test.libs}
		out, err := e.Run(t.Context(), s, tool.Call{}, nil)
		got := value.FormatJSON(out.Value, "")
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestProgramIsNoTool(t *testing.T) {
	_, err := both(t, "code").Describe(Program("def f(): pass\ntool(f)"))
	if e := scriptError(t, err); e.Kind != value.Invalid || !strings.Contains(e.Message(), "cannot declare a tool") {
		t.Errorf("Describe = %v (%v), want an invalid file", err, e.Kind)
	}
	if _, err := both(t, "code").Run(t.Context(), Program("def f(): return 1"), tool.Call{Entry: "f"}, nil); err == nil || !strings.Contains(err.Error(), `function not found: "f"`) {
		t.Errorf("Run(f) = %v, want an error", err)
	}
}
