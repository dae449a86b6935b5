package star

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bazelbuild/buildtools/build"
	"github.com/google/go-cmp/cmp"
	"go.starlark.net/syntax"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
)

func TestStripAnnotations(t *testing.T) {
	tests := []struct {
		name, in string
		want     string // the text without annotations; ~ stands for one space
		types    string // name=type@line:col of each
	}{
		{"none", "def f(a, b = 2): pass", "def f(a, b = 2): pass", ""},
		{"one", "def f(a: str): pass", "def f(a~~~~~): pass", "a=str@1:10"},
		{"no space", "def f(a:str,b:int=1)->bool:pass", "def f(a~~~~,b~~~~=1)~~~~~~:pass", "a=str@1:9 b=int@1:15 ->bool@1:23"},
		{"wide space", "def f ( a  :  str  =  1 )  ->  int  : pass", "def f ( a  ~~~~~~  =  1 )  ~~~~~~~  : pass", "a=str@1:15 ->int@1:32"},
		{"stars", "def f(*a: str, **b: int): pass", "def f(*a~~~~~, **b~~~~~): pass", "a=str@1:11 b=int@1:21"},
		{"bare star", "def f(*, a: str): pass", "def f(*, a~~~~~): pass", "a=str@1:13"},
		{"trailing comma", "def f(a: str,): pass", "def f(a~~~~~,): pass", "a=str@1:10"},
		{"nested brackets", "def f(a: dict[str, list[int]], b): pass", "def f(a~~~~~~~~~~~~~~~~~~~~~~, b): pass", "a=dict[str, list[int]]@1:10"},
		{"union", "def f(a: str | None = None): pass", "def f(a~~~~~~~~~~~~ = None): pass", "a=str | None@1:10"},
		{"dotted", "def f(a: typing.Sequence[x.Y]): pass", "def f(a~~~~~~~~~~~~~~~~~~~~~~): pass", "a=typing.Sequence[x.Y]@1:10"},
		{"struct", "def f(a: s[{\"n\": int, \"l\": [int]}]): pass", "def f(a~~~~~~~~~~~~~~~~~~~~~~~~~~~): pass", "a=s[{\"n\": int, \"l\": [int]}]@1:10"},
		{"lines", "def f(\n  a: list[\n    str\n  ],\n  b): pass", "def f(\n  a~~~~~~~\n~~~~~~~\n~~~,\n  b): pass", "a=list[ str ]@2:6"},
		{"result on lines", "def f() -> dict[\n  str,\n\n  int]:\n  pass", "def f() ~~~~~~~~\\\n~~~~~~\\\n\\\n~~~~~~:\n  pass", "->dict[ str, int]@1:12"},
		{"result behind a backslash", "def f() -> \\\n  int:\n  pass", "def f() ~~~~\\\n~~~~~:\n  pass", "->int@2:3"},
		{"comments", "def f(a: list[ # one ]\n  str], # two: int\n  b: int # three\n): pass",
			"def f(a~~~~~~~~~~~~~~~\n~~~~~~, # two: int\n  b~~~~~ # three\n): pass", "a=list[ str]@1:10 b=int@3:6"},
		{"characters of several bytes", "def f(ä: \"x\", é: list[ø], b: int): pass", "def f(ä: \"x\", é: list[ø], b: int): pass", ""},
		{"letters of several bytes", "def f(ä: str, é: list[ø], b: int): pass", "def f(ä~~~~~, é~~~~~~~~~, b~~~~~): pass", "ä=str@1:10 é=list[ø]@1:18 b=int@1:30"},
		{"strings as defaults", `def f(a: str = ") -> x: int,", b: int = '''a"b: '''): pass`, `def f(a~~~~~ = ") -> x: int,", b~~~~~ = '''a"b: '''): pass`, "a=str@1:10 b=int@1:35"},
		{"lambda as default", "def f(a = lambda x, y=lambda p, q: p: x, b: int = 1): pass", "def f(a = lambda x, y=lambda p, q: p: x, b~~~~~ = 1): pass", "b=int@1:45"},
		{"dict as default", "def f(a = {1: 2, 3: {4: 5}}, b: int = g(1)[2:3]): pass", "def f(a = {1: 2, 3: {4: 5}}, b~~~~~ = g(1)[2:3]): pass", "b=int@1:33"},
		{"nested", "def f(a: int):\n  def g(b: str) -> int:\n    pass", "def f(a~~~~~):\n  def g(b~~~~~)~~~~~~~:\n    pass", "a=int@1:10 b=str@2:12 ->int@2:20"},
		{"in a string", "x = \"def f(a: int)\"\ny = '''\ndef f(a: int):\n'''\n# def f(a: int):", "x = \"def f(a: int)\"\ny = '''\ndef f(a: int):\n'''\n# def f(a: int):", ""},
		{"escapes in strings", `x = "\"def f(a: int)"; y = r"\"; def f(a: int): pass"` + "\ndef f(a: int): pass", `x = "\"def f(a: int)"; y = r"\"; def f(a: int): pass"` + "\ndef f(a~~~~~): pass", "a=int@2:10"},
		{"prefixes of strings", "x = rb'def f(a: int)' + b\"def\" + r'''def f(a: int'''\ndef f(a: int): pass", "x = rb'def f(a: int)' + b\"def\" + r'''def f(a: int'''\ndef f(a~~~~~): pass", "a=int@2:10"},
		{"not a def", "define(a)\nx.defs\nundef = {a: 1}", "define(a)\nx.defs\nundef = {a: 1}", ""},
		// Malformed types stay, for go.starlark.net to reject.
		{"missing", "def f(a: , b: ) -> : pass", "def f(a: , b: ) -> : pass", ""},
		{"call", "def f(a: g(1)): pass", "def f(a: g(1)): pass", ""},
		{"operator", "def f(a: int + 1, b: int): pass", "def f(a: int + 1, b: int): pass", ""},
		{"two words", "def f(a: int b: str): pass", "def f(a: int b: str): pass", ""},
		{"brackets that do not fit", "def f(a: list[int)): pass", "def f(a: list[int)): pass", ""},
		{"open end", "def f(a: list[int", "def f(a: list[int", ""},
		{"dangling", "def f(a: int |, b: .x): pass", "def f(a: int |, b: .x): pass", ""},
		{"result ends with the line", "def f() ->\n  int: pass", "def f() ->\n  int: pass", ""},
		{"result without end", "def f() -> int\n  x = {1: 2}", "def f() -> int\n  x = {1: 2}", ""},
		{"arrow in two", "def f() - > int: pass", "def f() - > int: pass", ""},
		{"string without end", "def f(a: int, b = \"x): pass\ndef g(a: int): pass", "def f(a~~~~~, b = \"x): pass\ndef g(a: int): pass", "a=int@1:10"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := scan.StripAnnotations("x.star", test.in)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.ReplaceAll(test.want, "~", " "); got.Text != want {
				t.Errorf("StripAnnotations(%q) =\n%q, want\n%q", test.in, got.Text, want)
			}
			if types := annotationsIn(test.in, got); types != test.types {
				t.Errorf("annotations of %q = %q, want %q", test.in, types, test.types)
			}
		})
	}
}

// annotationsIn lists the annotations by position.
func annotationsIn(text string, a scan.Stripped) string {
	var list []string
	for line := range strings.Count(text, "\n") + 1 {
		for col := range 200 {
			for _, sig := range a.Functions {
				for name, p := range sig.Params {
					if p.At == (scan.Position{Line: line + 1, Col: col}) && p.Text != "" {
						list = append(list, fmt.Sprintf("%s=%s@%d:%d", name, p.Text, line+1, col))
					}
				}
				if sig.Returns.At == (scan.Position{Line: line + 1, Col: col}) && sig.Returns.Text != "" {
					list = append(list, fmt.Sprintf("->%s@%d:%d", sig.Returns.Text, line+1, col))
				}
			}
		}
	}
	return strings.Join(list, " ")
}

// A pair builds a file with annotations, and the same file with spaces instead.
type pair struct{ with, without strings.Builder }

func (p *pair) write(text string) {
	p.with.WriteString(text)
	p.without.WriteString(text)
}

// annotate writes an annotation, or the spaces that replace it.
func (p *pair) annotate(text string, escape bool) {
	p.with.WriteString(text)
	for _, r := range text {
		switch {
		case r == '\n' && escape:
			p.without.WriteString("\\\n")
		case r == '\n':
			p.without.WriteByte('\n')
		default:
			p.without.WriteByte(' ')
		}
	}
}

var (
	annotationTypes = []string{"int", "str|None", "list[str]", "dict[ str , list[int] ]", "a.b.c[d, e]", "list[\n\n  é # ] : ,\n ]",
		"\\\n  int", "x[{\"a\": int}]", "x[[a, b], {}]", "(a | b)", "None", "x[a,]", "list[\"é: )\"]"}
	defaultTexts = []string{"1", "\"é\"", "': -> ,'", "[1, 2]", "{1: 2, 3: 4}", "lambda: 1", "lambda a, b = lambda c: c, *d: {a: b}",
		"(1, 2)", "x[1:2]", "f(a = 1, b = [2])", "-1 if x else not y", "'''a\n): \"b'''", "# c: int\n  1", "[x for x in y if x]", "\"\\\"\\\\\"", "r\"\\\"\""}
	bodyTexts = []string{"pass", "return {1: 2}", "x = 'def f(a: int) -> b:'", "x = lambda a, b: a", "\"\"\"def f(a: int):\n  é\"\"\"",
		"if x: pass", "for a in b: pass", "x = a[1:2]", "return -1 > 2", "# def f(a: int):", "x = {\n1: 2}"}
	spaces = []string{"", "", " ", "  ", "\t"}
)

// genPair draws a file of a few functions.
func genPair(t *rapid.T) (with, without string) {
	var p pair
	pick := func(list []string) string { return rapid.SampledFrom(list).Draw(t, "text") }
	space := func() string { return pick(spaces) }
	for range rapid.IntRange(1, 4).Draw(t, "functions") {
		p.write("def" + " " + space() + "f" + space() + "(" + space())
		for i := range rapid.IntRange(0, 4).Draw(t, "params") {
			if i > 0 {
				p.write(pick([]string{",", ", ", ",\n  ", ", # é: int\n  "}))
			}
			p.write(pick([]string{"", "", "", "*", "**"}) + pick([]string{"a", "bé", "c_1"}) + space())
			if rapid.Bool().Draw(t, "annotated") {
				p.annotate(":"+space()+pick(annotationTypes), false)
			}
			if rapid.Bool().Draw(t, "default") {
				p.write(space() + "=" + space() + pick(defaultTexts))
			}
			p.write(space())
		}
		p.write(")" + space())
		if rapid.Bool().Draw(t, "result") {
			p.annotate("->"+space()+pick(annotationTypes), true)
		}
		p.write(space() + ":\n")
		for range rapid.IntRange(1, 3).Draw(t, "statements") {
			p.write("  " + pick(bodyTexts) + "\n")
		}
	}
	return p.with.String(), p.without.String()
}

func TestStripAnnotationsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		with, without := genPair(t)
		got, err := scan.StripAnnotations("x.star", with)
		if err != nil {
			t.Fatal(err)
		}
		if got.Text != without {
			t.Fatalf("StripAnnotations(%q): (-want +got)\n%s", with, cmp.Diff(without, got.Text))
		}
		again, err := scan.StripAnnotations("x.star", without)
		if err != nil || again.Text != without || len(again.Functions) > 0 {
			t.Fatalf("StripAnnotations changes %q, which has none, to %q", without, again.Text)
		}
	})
}

// TestStripAnnotationsLikeBazel compares with Bazel's parser, which supports
// annotations: both must find the same annotations in each generated file that it
// accepts.
func TestStripAnnotationsLikeBazel(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		with, _ := genPair(t)
		with = strings.ReplaceAll(with, "\t", " ")
		file, err := build.ParseDefault("x.star", []byte(with))
		if err != nil {
			return
		}
		accepted++
		var want []string
		build.WalkStatements(file, func(x build.Expr, _ []build.Expr) error {
			if def, ok := x.(*build.DefStmt); ok {
				want = append(want, bazelTypes(def)...)
			}
			return nil
		})
		got, err := scan.StripAnnotations("x.star", with)
		if err != nil {
			t.Fatal(err)
		}
		var starts []string
		for _, sig := range got.Functions {
			for _, a := range sig.Params {
				starts = append(starts, fmt.Sprintf("%d:%d", a.At.Line, a.At.Col))
			}
			if sig.Returns.Text != "" {
				starts = append(starts, fmt.Sprintf("%d:%d", sig.Returns.At.Line, sig.Returns.At.Col))
			}
		}
		if diff := cmp.Diff(asSet(want), asSet(starts)); diff != "" {
			t.Fatalf("annotations of %q: (-Bazel +ours)\n%s", with, diff)
		}
	})
	if accepted < 10 && !testing.Short() { // which generates a fifth of the files
		t.Errorf("Bazel's parser accepted %d files, want more to compare", accepted)
	}
}

func asSet(list []string) map[string]bool {
	set := map[string]bool{}
	for _, s := range list {
		set[s] = true
	}
	return set
}

// bazelTypes lists where the annotations of a function begin. Of two parameters with
// the same name, which is an error, the last counts.
func bazelTypes(def *build.DefStmt) []string {
	var list []string
	types := map[string]build.Expr{}
	for _, p := range def.Params {
		if assign, ok := p.(*build.AssignExpr); ok {
			p = assign.LHS
		}
		if star, ok := p.(*build.UnaryExpr); ok {
			p = star.X
		}
		if typed, ok := p.(*build.TypedIdent); ok {
			types[typed.GetIdent().Name] = typed.Type
		}
	}
	if def.Type != nil {
		types["->"] = def.Type
	}
	for _, x := range types {
		start, _ := x.Span()
		list = append(list, fmt.Sprintf("%d:%d", start.Line, start.LineRune))
	}
	return list
}

// starlarkTests returns the folder of go.starlark.net's own test programs, or "" if the
// module cache does not have them.
func starlarkTests(t *testing.T) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.starlark.net").Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "starlark", "testdata")
	if _, statErr := os.Stat(dir); err != nil || statErr != nil {
		t.Logf("go.starlark.net's source: %v %v", err, statErr)
		return ""
	}
	return dir
}

// TestAnnotateCorpus puts annotations, and in a copy spaces, into every function of
// go.starlark.net's own test programs: stripping must give the copy.
func TestAnnotateCorpus(t *testing.T) {
	dir := starlarkTests(t)
	if dir == "" {
		t.Skip("SKIPPED: go.starlark.net's own tests are not in the module cache")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.star"))
	functions := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, chunk := range strings.Split(string(data), "\n---\n") {
			got, err := scan.StripAnnotations(name, chunk)
			if err != nil || got.Text != chunk || len(got.Functions) > 0 {
				t.Errorf("%s: StripAnnotations changes a file without annotations: %v\n%s", name, err, cmp.Diff(chunk, got.Text))
			}
			with, without, n := annotateAll(name, chunk, ": int", ":list[é,\n x]", " : str | None")
			functions += n
			if got, err := scan.StripAnnotations(name, with); err != nil || got.Text != without {
				t.Errorf("%s: %v (-want +got)\n%s", name, err, cmp.Diff(without, got.Text))
			}
		}
	}
	t.Logf("%d files, %d functions annotated", len(files), functions)
	if functions < 100 {
		t.Errorf("annotated %d functions, want many", functions)
	}
}

// annotateAll adds a type after each parameter of each def of a file, and as many
// spaces in a copy.
func annotateAll(name, text string, types ...string) (with, without string, functions int) {
	file, err := New(nil).options.Parse(name, text, 0)
	if err != nil {
		return text, text, 0
	}
	lines := strings.SplitAfter(text, "\n")
	var offsets []int
	syntax.Walk(file, func(n syntax.Node) bool {
		def, ok := n.(*syntax.DefStmt)
		if !ok {
			return true
		}
		functions++
		for _, p := range def.Params {
			if b, ok := p.(*syntax.BinaryExpr); ok {
				p = b.X
			}
			if u, ok := p.(*syntax.UnaryExpr); ok {
				p = u.X
			}
			if id, ok := p.(*syntax.Ident); ok {
				_, end := id.Span()
				line := []rune(lines[end.Line-1])
				offsets = append(offsets, len(strings.Join(lines[:end.Line-1], ""))+len(string(line[:end.Col-1])))
			}
		}
		return true
	})
	var p pair
	last := 0
	for i, at := range offsets {
		if at < last {
			continue // of a nested def, which the walk meets later
		}
		p.write(text[last:at])
		p.annotate(types[i%len(types)], false)
		last = at
	}
	p.write(text[last:])
	return p.with.String(), p.without.String(), functions
}

// FuzzStripAnnotations strips any text: no character may move, and a file that
// go.starlark.net accepts must not change.
func FuzzStripAnnotations(f *testing.F) {
	for _, text := range annotationTypes {
		f.Add("def f(a: " + text + " = 1, *b) -> " + text + ":\n  return lambda x: {1: 2}\n")
	}
	for _, text := range append(bodyTexts, defaultTexts...) {
		f.Add("def f(a = " + text + "):\n  " + text + "\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		text, err := script.PlainText("x.star", text)
		if err != nil {
			return
		}
		got, err := scan.StripAnnotations("x.star", text)
		if err != nil {
			return
		}
		if _, err := New(nil).options.Parse("x.star", text, 0); err == nil && got.Text != text {
			t.Fatalf("StripAnnotations changes %q, which is Starlark, to %q", text, got.Text)
		}
		before, after := strings.Split(text, "\n"), strings.Split(got.Text, "\n")
		if len(before) != len(after) {
			t.Fatalf("StripAnnotations(%q) = %q, of other lines", text, got.Text)
		}
		for i := range before {
			old, now := []rune(before[i]), []rune(after[i])
			if len(now) == len(old)+1 && now[len(old)] == '\\' {
				now = now[:len(old)] // the line break after it is escaped
			}
			if len(now) != len(old) {
				t.Fatalf("StripAnnotations(%q) = %q: line %d has another length", text, got.Text, i+1)
			}
			for c := range old {
				if old[c] != now[c] && now[c] != ' ' {
					t.Fatalf("StripAnnotations(%q) = %q: line %d, column %d is another character", text, got.Text, i+1, c+1)
				}
			}
		}
		again, err := scan.StripAnnotations("x.star", got.Text)
		if err != nil || again.Text != got.Text {
			t.Fatalf("StripAnnotations(%q) = %q, and again %q", text, got.Text, again.Text)
		}
	})
}
