package promote_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/agent/promote"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib"
)

// promotable are the tools of the programs below.
func promotable() []tool.Tool {
	text := tool.Type{Name: tool.TypeString}
	return []tool.Tool{
		{Name: "read", Params: []tool.Param{{Name: "limit", Type: text}, {Name: "path", Type: text, Required: true}, {Name: "root", Type: text, FromHost: true}},
			Needs: []tool.Capability{{Name: "fs.read"}, {Name: "fs.read", Target: "docs/**"}, {Name: "http"}, {Name: "tool", Target: "@files"}}},
		{Name: "list", Params: []tool.Param{{Name: "name", Type: text}}},
		{Name: "a-b", Params: []tool.Param{{Name: "from", Type: text}, {Name: "x-y", Type: text}, {Name: "z", Type: text}}},
	}
}

// described reads a promoted file as the engine does.
func described(t testing.TB, file string) (tool.Described, error) {
	t.Helper()
	return engine.New(&engine.Options{Modules: slices.Concat(stdlib.Pure(), host.Modules())}).
		Describe(tool.Script{Name: "made", Path: "made.star", Source: file})
}

// handlerOf returns the head of a promoted tool and the body behind its docstring.
func handlerOf(t testing.TB, file string) (head, body string) {
	t.Helper()
	_, rest, _ := strings.Cut(file, "\ndef ")
	head, rest, _ = strings.Cut(rest, "\n")
	doc, end, ok := strings.Cut(rest, "\n\ntool(\n")
	if !ok || end == "" {
		t.Fatalf("this is not a tool:\n%s", file)
	}
	_, doc, _ = strings.Cut(doc, `"""`)
	_, body, _ = strings.Cut(doc, `"""`)
	return "def " + head, strings.TrimPrefix(body, "\n")
}

func TestPromote(t *testing.T) {
	lines := func(l ...string) string { return strings.Join(l, "\n") }
	for _, tt := range []struct {
		name, code, head, body string
		notes                  int
	}{
		{"an expression", "1 + 2", "", "    return 1 + 2", 0},
		{"one of several lines", "x = f(1)\n[\n  x,\n]\n# that is it\n", "", lines("    x = f(1)", "    return [", "      x,", "    ]", "    # that is it"), 0},
		{"a return", "if len('a'):\n\treturn 1\nreturn 2", "", lines("    if len('a'):", "    \treturn 1", "    return 2"), 0},
		{"a statement at the end", "for n in [1]:\n    n", "", lines("    for n in [1]:", "        n"), 0},
		{"on a line", "for n in [1]: n; n", "", "    for n in [1]: n; n", 0},
		{"two on a line", "x = 1; x + 1", "", "    x = 1; return x + 1", 0},
		{"print at the end", "x = len('a')\nprint(x)", "", lines("    x = len('a')", "    print(x)"), 0},
		{"the name result", "result = len('a')\nprint(result)", "", lines("    result = len('a')", "    print(result)", "    return result"), 0},
		{"result as a value", "result = 5\nresult", "", lines("    result = 5", "    return result"), 0},
		{"result or a value", "result = 5\nvalue = [1]\nvalue.pop()", "", lines("    result = 5", "    value = [1]", "    value_ = value.pop()", "    return value_ if value_ != None else result"), 0},
		{"result in a branch", "for result in [1]:\n    pass", "", lines("    result = None", "    for result in [1]:", "        pass", "    return result"), 0},
		{"result behind a colon", "if 1: result = 2", "", lines("    result = None", "    if 1: result = 2", "    return result"), 0},
		{"result in a function", "def f():\n    result = 1\n    return result\nf()", "", lines("    def f():", "        result = 1", "        return result", "    return f()"), 0},
		{"result is no key", "d = dict()\nd.update(result = 1)\nd", "", lines("    d = dict()", "    d.update(result = 1)", "    return d"), 0},
		{"main alone", "N = 2\ndef main(n = 1):\n    return n + N", "def made(N: int = 2):", lines("    def main(n = 1):", "        return n + N", "    return main()"), 0},
		{"main with an argument", "def main(n):\n    return n", "", lines("    def main(n):", "        return n"), 0},
		{"main that is called", "def main():\n    return 1\nmain()", "", lines("    def main():", "        return 1", "    return main()"), 0},

		{"parameters", "# look\na = 'x' # the a\nb = -1\nc = 1.5\n\nd = True\ne = [1,\n  2, # two\n]\nf = {'k': [1, 'x']}\ng = ['a', 1]\nh = 1e3\nlen([a, b, c, d, e, f, g, h])",
			`def made(a: str = 'x', b: int = -1, c: float = 1.5, d: bool = True, e: list[int] = [1, 2], f: dict = {'k': [1, 'x']}, g: list = ['a', 1], h: float = 1e3):`,
			lines("    # look", "", "    return len([a, b, c, d, e, f, g, h])"), 0},
		{"changed values are not parameters", "n = 0\nm = [1]\nd = {'a': 1}\nnone = None\nempty = []\nk = 3\nfor i in m:\n    n += i\nd['b'] = 2\nm.append(4)\nn + k", "def made(k: int = 3):",
			lines("    n = 0", "    m = [1]", "    d = {'a': 1}", "    none = None", "    empty = []", "    for i in m:", "        n += i", "    d['b'] = 2", "    m.append(4)", "    return n + k"), 0},
		{"later assignments are not parameters", "x = len('a')\nk = 3\nx + k", "", lines("    x = len('a')", "    k = 3", "    return x + k"), 0},
		{"names bound twice are not parameters", "x = 1\nf = lambda x: x\nf(x)", "", lines("    x = 1", "    f = lambda x: x", "    return f(x)"), 0},
		{"only parameters", "x = 1\nx", "def made(x: int = 1):", "    return x", 0},

		{"texts keep their lines", "len('''a\n  b\n''')\ns = 'a\\\nb' + r'\\\\'\n\"# \" + s # c", "", lines("    len('''a", "  b", "''')", "    s = 'a\\", "b' + r'\\\\'", "    return \"# \" + s # c"), 0},
		{"continued lines", "x = 1 + \\\n  2\nx", "", lines("    x = 1 + \\", "      2", "    return x"), 0},
		{"Windows, and worse", "x = f(1)\r\rx\r\n", "", lines("    x = f(1)", "", "    return x"), 0},

		{"a call", "read('a')", "", "    return tools.read(path = 'a')", 0},
		{"named, and by position", "read('a', limit = len('b(,'))", "", "    return tools.read(path = 'a', limit = len('b(,'))", 0},
		{"both by position", "read((1, 2)[0], {'x': read('b')},)", "", "    return tools.read(path = (1, 2)[0], limit = {'x': tools.read(path = 'b')},)", 0},
		{"attempted", "attempt(read, 'a', 'b')\nattempt(read)", "", lines("    attempt(tools.read, path = 'a', limit = 'b')", "    return attempt(tools.read)"), 0},
		{"by another name", "list_('x')\na_b(z = list_())", "", lines(`    tools.call("list", name = 'x')`, `    return tools.a_b(z = tools.call("list"))`), 1},
		{"attempted by another name", "attempt(list_, 'x')", "", `    return attempt(tools.call, "list", name = 'x')`, 0},
		{"as a value", "[f(path = 'x') for f in [read]]", "", "    return [f(path = 'x') for f in [tools.read]]", 1},
		{"names that only look like tools", "d = dict(read = 1)\nx = d.get\nx('read') # read(1)", "", lines("    d = dict(read = 1)", "    x = d.get", "    return x('read') # read(1)"), 0},
		{"a name of its own", "def read(x):\n    return x\nread(1)", "", lines("    def read(x):", "        return x", "    return read(1)"), 0},
		{"a builtin", "list('ab'.elems())", "", "    return list('ab'.elems())", 0},
		{"the module", "tools.read(path = 'a')\nattempt(read, **{'path': 'a'})", "", lines("    tools.read(path = 'a')", "    return attempt(tools.read, **{'path': 'a'})"), 0},
		{"not called in the run", "a_b()", "", "    return tools.a_b()", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code := strings.ReplaceAll(tt.code, "f(1)", "len('a')")
			file, notes, err := promote.File(&promote.Program{Name: "made", Code: code, Tools: promotable(), Called: []string{"read", "list"}})
			if err != nil {
				t.Fatal(err)
			}
			head, body := handlerOf(t, file)
			if tt.head == "" {
				tt.head = "def made():"
			}
			if diff := cmp.Diff(tt.head+"\n"+strings.ReplaceAll(tt.body, "f(1)", "len('a')"), head+"\n"+body); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(notes) != tt.notes {
				t.Errorf("the notes are %q, want %d", notes, tt.notes)
			}
			if _, err := described(t, file); err != nil {
				t.Errorf("it is not a tool: %v\n%s", err, file)
			}
		})
	}
}

// TestPromoteRefuses checks programs that cannot become tools.
func TestPromoteRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		called     []string
		want       string
	}{
		{"nothing", " # nothing\n", nil, "the program is empty"},
		{"an unknown tool", "read('a')", []string{"read", "gone"}, "the program calls the unknown tool 'gone'"},
		{"arguments from a list", "read(*['a'])", nil, "the program:1: the call of 'read' passes its arguments as a list"},
		{"too many", "\nread('a', 'b', 'c')", nil, "the program:2: argument 3 of 'read' cannot be passed by name"},
		{"a word of the language", "a_b('x')", nil, "argument 1 of 'a-b' cannot be passed by name"},
		{"a name with a dash", "a_b(x_y = 1)", nil, `the argument "x-y" of 'a-b' cannot be passed by name`},
		{"a word as a name", "a_b(from_ = 1)", nil, `the argument "from" of 'a-b' cannot be passed by name`},
		{"used as a value", "f = list_", nil, "the program uses the tool 'list' as a value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := promote.File(&promote.Program{Name: "made", Code: tt.code, Tools: promotable(), Called: tt.called})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("File = %v, want %q", err, tt.want)
			}
		})
	}
}

// TestPromoteDeclares checks the declaration of the file.
func TestPromoteDeclares(t *testing.T) {
	host := func(name, target string) tool.Capability { return tool.Capability{Name: name, Target: target} }
	file, _, err := promote.File(&promote.Program{Name: "for", Code: "\"\"\"Read \\\"it\\\" all.\"\"\"\nN = 3 # how \"\"\"many\\\nread('a', N)", About: "not this",
		Result: value.List{value.List{int64(1)}, value.List{"a"}}, Tools: promotable(), Called: []string{"read", "a_b"},
		Used: []tool.Capability{host("http.get", "a.com"), host("http.get", "a.com"), host("shell", "git")}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := described(t, file)
	if err != nil {
		t.Fatalf("it is not a tool: %v\n%s", err, file)
	}
	var needs []string
	for _, c := range d.Needs {
		needs = append(needs, c.String())
	}
	if diff := cmp.Diff([]string{"tool:read", "tool:a-b", "fs.read", "http.get:a.com"}, needs); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
	if d.Summary() != "Read 'it' all." || d.Params[0].Description != `how '''many\` || d.Returns == nil || d.Returns.String() != "array of array" {
		t.Errorf("the tool is %q, %q, %v", d.Summary(), d.Params[0].Description, d.Returns)
	}
	for result, want := range map[value.Value]string{nil: "", true: " -> bool", int64(1): " -> int", 1.5: " -> float", "x": " -> str"} {
		file, _, err := promote.File(&promote.Program{Name: "made", Code: "1", Result: result})
		if err != nil || !strings.Contains(file, "\ndef made()"+want+":\n") {
			t.Errorf("of %v: %v\n%s", result, err, file)
		}
	}
}

// TestPromoteAnything checks that any text is refused, or becomes the body of a handler.
func TestPromoteAnything(t *testing.T) {
	pieces := []string{"x", "read", "list_", "attempt", "result", "main", "(", ")", "[", "]", "{", "}", ",", ":", ";", "=", "==", "+=", "'", `"`, `"""`, `\`, "\n", "\n    ",
		"\t", " ", "#", "def ", "for ", " in ", "if ", "lambda ", "return ", "1", ".5", "-", "*", "**", "r'", "é", "\x00", "."}
	rapid.Check(t, func(t *rapid.T) {
		code := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "pieces"), "")
		file, _, err := promote.File(&promote.Program{Name: "made", Code: code, Tools: promotable()})
		if err != nil && file != "" || err == nil && !strings.Contains(file, "\ntool(\n    made") {
			t.Fatalf("%q gave %v and\n%s", code, err, file)
		}
	})
}
