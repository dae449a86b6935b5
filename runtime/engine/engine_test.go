package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
	"golang.org/x/tools/txtar"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestEngineRefuses(t *testing.T) {
	tests := []struct {
		name   string
		script tool.Script
		want   string
		kind   value.Kind
	}{
		{"another language", tool.Script{Path: "x.py", Source: "def f(): pass"}, "x.py is not a script", value.Invalid},
		{"no suffix", tool.Script{Path: "dir/x", Source: ""}, "dir/x is not a script", value.Invalid},
		{"too long", tool.Script{Path: "x.star", Source: strings.Repeat("#", engine.MaxSource+1)}, "x.star: the file is longer than 256 KB", value.Limit},
		{"too long in Markdown", tool.Script{Path: "x.md", Source: strings.Repeat("#", engine.MaxSource+1)}, "x.md: the file is longer than 256 KB", value.Limit},
	}
	e := both(t, "none")
	for _, test := range tests {
		_, describeErr := e.Describe(test.script)
		_, runErr := e.Run(context.Background(), test.script, tool.Call{}, nil)
		for _, err := range []error{describeErr, e.Compile(test.script), runErr} {
			if err == nil || err.Error() != test.want || value.KindOf(err) != test.kind {
				t.Errorf("%s: %v, want %s", test.name, err, test.want)
			}
		}
	}
}

// TestEngineKeepsFew compiles more scripts than the cache holds, twice: each still
// gives its own result. A worker has only one script, so this runs in the engine alone.
func TestEngineKeepsFew(t *testing.T) {
	e := engine.New(nil)
	var group sync.WaitGroup
	for i := range 2 {
		for n := range 400 {
			group.Go(func() {
				s := tool.Script{Path: "x.star", Source: fmt.Sprintf("load('lib/x.star', 'x')\ndef f(): return [x, %d]", n), Libs: map[string]string{"lib/x.star": fmt.Sprintf("x = %d", n)}}
				out, err := e.Run(context.Background(), s, tool.Call{}, nil)
				if got, want := value.FormatJSON(out.Value, ""), fmt.Sprintf("[%d,%d]", n, n); err != nil || got != want {
					t.Errorf("round %d: %s, %v, want %s", i, got, err, want)
				}
			})
		}
	}
	group.Wait()
}

// TestEngineDistinguishesScripts runs scripts that differ in only one field.
func TestEngineDistinguishesScripts(t *testing.T) {
	e := both(t, "none")
	for _, test := range []struct {
		script tool.Script
		want   string
	}{
		{tool.Script{Path: "x.star", Source: "def f(): return 1"}, "1"},
		{tool.Script{Path: "x.star", Source: "def f(): return 2"}, "2"},
		{tool.Script{Path: "x.md", Source: "---\n---\n```starlark\ndef f(): return 3\n```\n"}, "3"},
		{tool.Script{Path: "x.star", Source: "load('lib/a.star', 'a')\ndef f(): return a", Libs: map[string]string{"lib/a.star": "a = 4"}}, "4"},
		{tool.Script{Path: "x.star", Source: "load('lib/a.star', 'a')\ndef f(): return a", Libs: map[string]string{"lib/a.star": "a = 5"}}, "5"},
		{tool.Script{Path: "x.star", Source: "def f(): return 1"}, "1"},
	} {
		out, err := e.Run(context.Background(), test.script, tool.Call{}, nil)
		if got := value.FormatJSON(out.Value, ""); err != nil || got != test.want {
			t.Errorf("Run(%q) = %s, %v, want %s", test.script.Source, got, err, test.want)
		}
	}
}

// TestEngineHandler checks calls without an entry.
func TestEngineHandler(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"x.star", "def _g(): return 1\ndef h(): return 2\ndef other(): return 3\ntool(h, name = 'x', description = 'd')", "2"},
		{"x.star", "def _g(): return 1\ndef only(): return 2", "2"},
		{"x.star", "def g(): return 1\ndef x(): return 2", "2"},
		{"x.star", "def g(): return 1\ndef handler(): return 2", "2"},
		{"x.star", "def g(): return 1\ndef h(): return 2", `x.star: function not found: ""`},
		{"x.star", "def h(): return 2\ntool(h, nonsense = 1 + 1)", "2"}, // Describe rejects it
		{"x.star", "x = 1", "x.star: the file does not declare a tool"},
	}
	e := both(t, "none")
	for _, test := range tests {
		out, err := e.Run(context.Background(), tool.Script{Path: test.name, Source: test.src}, tool.Call{}, nil)
		got := value.FormatJSON(out.Value, "")
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("Run(%q) = %s, want %s", test.src, got, test.want)
		}
	}
}

// TestEngineWorstSources gives the engine files of maximal length that are made to
// exhaust a parser. Each must end, in a tool or an error, within a quarter of a
// worker's stack: beyond the stack the process, and this test, would die. By default each
// is in one of its forms, and both the files and the stack are a third as large, which is
// enough for the limits of the scanner.
func TestEngineWorstSources(t *testing.T) {
	testutil.SkipShort(t)
	size := testutil.Times(engine.MaxSource/3, engine.MaxSource)
	defer debug.SetMaxStack(debug.SetMaxStack(16 << 20 / engine.MaxSource * size))
	e := both(t, "none").Allow("cpu", "memory")
	var scripts []tool.Script
	for i, forms := range worstSources(size) {
		if testutil.Soak() {
			scripts = append(scripts, forms...)
		} else {
			scripts = append(scripts, forms[i%len(forms)])
		}
	}
	for _, s := range scripts {
		s.Libs = map[string]string{"lib/x.star": "x = 1"}
		_, err := e.Describe(s)
		for _, err := range []error{err, e.Compile(s)} {
			var known *value.Error
			if err != nil && (!errors.As(err, &known) || known.Pos.File != s.Path) {
				t.Errorf("%s, %s: %v, want an error of the file", s.Name, s.Path, err)
			}
		}
	}
}

// worstSources returns files with a length of about size, each in one or several forms.
func worstSources(size int) [][]tool.Script {
	times := func(n int) int { return n * size / engine.MaxSource } // of n in a file of maximal length
	filled := func(before, unit, after string) string {
		return before + strings.Repeat(unit, (size-len(before)-len(after)-150)/len(unit)) + after
	}
	numbered := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	nested := func(line string) string {
		var b strings.Builder
		for depth := 0; b.Len() < size-2000; depth++ {
			b.WriteString(strings.Repeat(" ", depth) + line + "\n")
		}
		return b.String() + strings.Repeat(" ", 1000) + "pass\n"
	}
	sources := map[string]string{
		"a chain of +":                 filled("x = y", "+y", ""),
		"a chain of and":               filled("x = y", " and y", ""),
		"a chain of attributes":        filled("x = y", ".a", ""),
		"a chain of calls":             filled("x = y", "()", ""),
		"a chain of calls with commas": filled("x = y", "(1,)", ""),
		"a chain of indexes":           filled("x = y", "[0]", ""),
		"a chain of slices":            filled("x = y", "[:]", ""),
		"a chain of strings":           filled("x = ", "'a' + ", "'a'"),
		"a chain in a default":         filled("def g(a: int = y", "+y", "): pass"),
		"a chain in an annotation":     filled("def g(a: y", "|y", "): pass"),
		"a chain of lines":             filled("x = (y", "\n+ y", ")"),
		"brackets in an annotation":    filled("def g(a: ", "y[", ""),
		"signs":                        filled("x = ", "-", "1"),
		"nots":                         filled("x = ", "not ", "1"),
		"conditions":                   filled("x = ", "1 if 1 else ", "1"),
		"lambdas":                      filled("x = ", "lambda: ", "1"),
		"parentheses":                  filled("x = ", "(", ""),
		"brackets":                     filled("x = ", "[", ""),
		"braces":                       filled("x = ", "{1:", ""),
		"for clauses":                  filled("x = [1 ", "for a in b ", "]"),
		"if clauses":                   filled("x = [1 for a in b ", "if a ", "]"),
		"elifs":                        filled("def g(x):\n  if x:\n    pass\n", "  elif x:pass\n", ""),
		"nested ifs":                   nested("if 1:"),
		"nested defs":                  nested("def g():"),
		"digits":                       filled("x = ", "9", ""),
		"a list":                       filled("x = [", "1,", "]"),
		"a tuple":                      filled("x = (", "1,", ")"),
		"a dict":                       filled("x = {", "1:1,", "}"),
		"comments":                     filled("", "#\n", ""),
		"locals":                       "def g():\n" + numbered(times(20000), " v%d = 1\n"),
		"parameters":                   "def f(" + numbered(times(20000), "v%d,") + "): pass",
		"a docstring's parameters":     "def f(a):\n '''x\n\n Args:\n" + numbered(times(15000), "  w%d: x\n") + " '''",
		"functions":                    numbered(times(15000), "def f%d(): pass\n"),
		"constants":                    "A = []\n" + numbered(times(8000), "B%d = [A, A]\n"),
		"loads":                        numbered(times(6000), "load('lib/x.star', x%d = 'x')\n"),
		"properties":                   "P = param('object', properties = {" + numbered(times(6000), "'v%d': 'string',") + "}, required = [" + numbered(times(6000), "'v%d',") + "])",
	}
	var scripts [][]tool.Script
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		src := sources[name]
		scripts = append(scripts, []tool.Script{
			{Name: name, Path: "x.star", Source: "y = 1\nb = []\ndef f(a: int = 1):\n  'Says.' # c\ntool(f, name = 'x')\n" + src},
			{Name: name, Path: "x.star", Source: src + "\ntool(f, name = 'x', params = {'a': P}, tags = [B7])"},
			{Name: name, Path: "x.md", Source: "---\ndescription: x\n---\n```python\n" + src + "\n```"},
		})
	}
	for name, src := range map[string]string{
		"fields":      "---\n" + numbered(times(7000), "v%d: 1\n") + "---\n```python\ndef f(): pass\n```",
		"parameters":  "---\nparameters:\n" + numbered(times(4500), "- name: v%d\n") + "---\n```python\ndef f(): pass\n```",
		"fences":      "---\n---\n" + strings.Repeat("```x\n```\n", times(29000)),
		"open fences": "---\n---\n" + strings.Repeat("````\n```\n", times(29000)),
		"brackets":    "---\nx: " + strings.Repeat("[", times(60000)) + "\n---\n",
		"dashes":      "---\n" + strings.Repeat("- ", times(30000)) + "\n---\n```python\ndef f(): pass\n```",
	} {
		scripts = append(scripts, []tool.Script{{Name: name, Path: "x.md", Source: src}})
	}
	return scripts
}

// fuzzDescribe passes any text to Describe: it must return a valid tool that can be
// sent, or an error that names the file.
func fuzzDescribe(f *testing.F, name string) {
	archives, _ := filepath.Glob("testdata/*.txtar")
	libs := map[string]string{"lib/a.star": "load('lib/b.star', 'b')\na = b", "lib/b.star": "b = 1", "lib/c.star": "load('lib/c.star', 'c')"}
	for _, a := range archives {
		archive, err := txtar.ParseFile(a)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if filepath.Ext(file.Name) == filepath.Ext(name) {
				f.Add(string(file.Data))
			}
		}
	}
	e := starEngine()
	f.Fuzz(func(t *testing.T, src string) {
		described, err := e.Describe(tool.Script{Path: name, Source: src, Libs: libs})
		if err != nil {
			var known *value.Error
			if !errors.As(err, &known) || known.Pos.File == "" || known.Message() == "" {
				t.Fatalf("Describe(%q) = %#v, want an error with a file", src, err)
			}
			if lines := 1 + strings.Count(src, "\n") + strings.Count(src, "\r"); known.Pos.File == name && known.Pos.Line > lines {
				t.Fatalf("Describe(%q) = %v, which is beyond its %d lines", src, err, lines)
			}
			if !utf8.ValidString(err.Error()) {
				t.Fatalf("Describe(%q) = %q, want UTF-8", src, err)
			}
			return
		}
		if err := described.Validate(); err != nil {
			t.Fatalf("Describe(%q) gives a tool that is not valid: %v", src, err)
		}
		if _, err := pack.Append(nil, &described); err != nil {
			t.Fatalf("Describe(%q) gives a tool that cannot be sent: %v", src, err)
		}
		for _, format := range tool.Formats() {
			if _, err := described.Definition(format); err != nil {
				t.Fatalf("Describe(%q) gives a tool without a %s: %v", src, format, err)
			}
		}
	})
}

func FuzzDescribeStar(f *testing.F) { fuzzDescribe(f, "x.star") }

func FuzzDescribeMarkdown(f *testing.F) { fuzzDescribe(f, "x.md") }

// trivial is a tool that does next to nothing, to measure the cost of a call.
const trivial = `
def greet(name: str, times: int = 1) -> str:
    "Greets."
    return "hello " + name
tool(greet, name = "x")
`

// BenchmarkStarCall is one call of a trivial tool: by the engine, and by
// go.starlark.net alone with a new thread on a frozen module.
func BenchmarkStarCall(b *testing.B) {
	b.Run("engine", func(b *testing.B) {
		e := starEngine()
		s := tool.Script{Path: "x.star", Source: trivial}
		s.Hash = s.Sum()
		call := tool.Call{Tool: "x", Args: value.NewDict("name", "world", "times", int64(1))}
		b.ReportAllocs()
		for b.Loop() {
			if out, err := e.Run(context.Background(), s, call, nil); err != nil || out.Value != "hello world" {
				b.Fatal(out, err)
			}
		}
	})
	b.Run("engine with a deadline", func(b *testing.B) {
		e := starEngine()
		s := tool.Script{Path: "x.star", Source: trivial}
		s.Hash = s.Sum()
		call := tool.Call{Tool: "x", Args: value.NewDict("name", "world", "times", int64(1))}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		b.ReportAllocs()
		for b.Loop() {
			if out, err := e.Run(ctx, s, call, nil); err != nil || out.Value != "hello world" {
				b.Fatal(out, err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		globals, err := starlark.ExecFileOptions(&syntax.FileOptions{}, &starlark.Thread{}, "x.star", "def greet(name, times = 1):\n    return 'hello ' + name", nil)
		if err != nil {
			b.Fatal(err)
		}
		globals.Freeze()
		b.ReportAllocs()
		for b.Loop() {
			thread := &starlark.Thread{Name: "x"}
			thread.SetMaxExecutionSteps(tool.DefaultSteps)
			kwargs := []starlark.Tuple{{starlark.String("name"), starlark.String("world")}, {starlark.String("times"), starlark.MakeInt(1)}}
			v, err := starlark.Call(thread, globals["greet"], nil, kwargs)
			if err != nil || v != starlark.String("hello world") {
				b.Fatal(v, err)
			}
		}
	})
}

// fortyLines is a tool as people write them.
const fortyLines = `"""Word statistics for text files."""

STOP = ["the", "a", "of"]

def _clean(word: str) -> str:
    return word.strip(".,;:!?").lower()

def _count(words: list[str], min_length: int) -> dict[str, int]:
    counts = {}
    for w in words:
        w = _clean(w)
        if len(w) < min_length or w in STOP:
            continue
        counts[w] = counts.get(w, 0) + 1
    return counts

def word_count(filepath: str, min_length: int = 1, top: int | None = None) -> dict[str, any]:
    """Count the words of a text file.

    Args:
      filepath: File to read, relative to the working directory.
      min_length: Ignore shorter words.
      top: How many of the most frequent ones to give.

    Returns:
      words and distinct: how many in all, how many different.
    """
    counts = _count(fs.read(filepath).split(), min_length)
    return {"words": sum_of(counts.values()), "distinct": len(counts)}

def sum_of(values):
    total = 0
    for v in values:
        total += v
    return total

tool(
    word_count,
    group = "files",
    needs = ["fs.read"],
    params = {"min_length": param(min = 1, max = 100)},
    examples = [example("Count the README", args = {"filepath": "README.md"})],
)
`

func BenchmarkDescribe(b *testing.B) {
	e := starEngine()
	s := tool.Script{Path: "word_count.star", Source: fortyLines}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Describe(s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstCall compiles the tool each time, as a host does on first use.
func BenchmarkFirstCall(b *testing.B) {
	s := tool.Script{Path: "word_count.star", Source: fortyLines}
	s.Hash = s.Sum()
	call := tool.Call{Tool: "word_count", Args: value.NewDict("filepath", "README.md", "min_length", int64(1))}
	do := func(context.Context, tool.Effect) (tool.Outcome, error) {
		return tool.Outcome{Value: "one two two"}, nil
	}
	e := starEngine()
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		s.Hash = fmt.Sprint(n)
		if _, err := e.Run(context.Background(), s, call, do); err != nil {
			b.Fatal(err)
		}
	}
}

func dozenModules() []tool.Module {
	return []tool.Module{{Name: "unit", Consts: []tool.Const{{Name: "dozen", Value: int64(12)}}}}
}

func readModules() []tool.Module {
	return []tool.Module{{Name: "fs", Funcs: []tool.Func{{Name: "read", Kind: tool.Read}}}}
}

// TestConstantsInBothLanguages checks that a module's constants are the same
// value in Starlark and in Lua.
func TestConstantsInBothLanguages(t *testing.T) {
	e := both(t, "dozen")
	for path, source := range map[string]string{
		"x.star": "def x():\n    \"D.\"\n    return unit.dozen\n\ntool(x)\n",
		"x.lua":  "return tool{ description = \"D.\", handler = function() return unit.dozen end }\n",
	} {
		out, err := e.Run(context.Background(), tool.Script{Path: path, Source: source}, tool.Call{}, nil)
		if err != nil || out.Value != int64(12) {
			t.Errorf("%s: unit.dozen = %v, %v, want 12", path, out.Value, err)
		}
	}
}

// TestDescribeSeesWhatCannotRun checks that errors of compiling are errors of the file.
func TestDescribeSeesWhatCannotRun(t *testing.T) {
	e := both(t, "read")
	for _, c := range []struct{ path, source, want string }{
		{"x.star", "def x():\n    \"D.\"\n    return fs.reed('a')\n\ntool(x)\n", `x.star:3:15: fs has no reed; did you mean "read"?`},
		{"x.lua", "return tool{ description = \"D.\", handler = function() goto nowhere end }\n", "x.lua:1"},
	} {
		if _, err := e.Describe(tool.Script{Path: c.path, Source: c.source}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("Describe = %v, want %s", err, c.want)
		}
	}
}
