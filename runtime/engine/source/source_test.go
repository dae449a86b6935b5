package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/engine/source"
)

// cut removes the mark ‸ from a text, and returns its offset.
func cut(t *testing.T, text string) (string, int) {
	t.Helper()
	before, after, ok := strings.Cut(text, "‸")
	if !ok {
		t.Fatalf("no mark in %q", text)
	}
	return before + after, len(before)
}

// describe writes a place in one line.
func describe(text string, p source.Place) string {
	if p.Comment {
		return "comment"
	}
	var b strings.Builder
	if p.String != nil {
		fmt.Fprintf(&b, "string %q", text[p.String.Start:p.String.End])
	} else {
		fmt.Fprintf(&b, "word %q", text[p.Word.Start:p.Word.End])
	}
	if len(p.Owner) > 0 {
		fmt.Fprintf(&b, " of %s", strings.Join(p.Owner, "."))
	}
	if p.Unowned {
		b.WriteString(" of something")
	}
	for c := p.Call; c != nil; c = c.Outer {
		fmt.Fprintf(&b, " in %s[%d", c.Function, c.Index)
		if c.Argument != "" {
			b.WriteString(" " + c.Argument)
		}
		if c.Key != "" {
			b.WriteString(" key " + c.Key)
		}
		if c.Depth > 0 {
			fmt.Fprintf(&b, " depth %d", c.Depth)
		}
		b.WriteString("]")
		if len(c.Given) > 0 {
			b.WriteString(" given " + strings.Join(c.Given, ","))
		}
	}
	if p.Begins {
		b.WriteString(" begins")
	}
	return b.String()
}

func TestAt(t *testing.T) {
	tests := []struct {
		language   source.Language
		text, want string
	}{
		{source.Starlark, "fs.re‸", `word "re" of fs`},
		{source.Starlark, "fs.‸\nx = 1", `word "" of fs`},
		{source.Starlark, "x = fs.re‸ad(path)", `word "read" of fs`},
		{source.Starlark, "f().na‸", `word "na" of something`},
		{source.Starlark, "fs.read(‸", `word "" in fs.read[0] begins`},
		{source.Starlark, "fs.read(path, off‸)", `word "off" in fs.read[1] begins`},
		{source.Starlark, "fs.read(path, offset = ‸1, limit = 2)", `word "1" in fs.read[1 offset] given limit`},
		{source.Starlark, "tool(f, needs = [\"fs.re‸\"])", `string "fs.re" in tool[1 needs depth 1] begins`},
		{source.Starlark, "tool(f, needs = [\"fs.re‸", `string "fs.re" in tool[1 needs depth 1] begins`},
		{source.Starlark, "tool(f, params = {\"a\": param(‸)})", `word "" in param[0] in tool[1 params key a depth 1] begins`},
		{source.Starlark, "tool(f, params = {\"‸\": 1})", `string "" in tool[1 params depth 1] begins`},
		{source.Starlark, "# fs.re‸", `comment`},
		{source.Starlark, "x = \"# fs.re‸\"", `string "# fs.re"`},
		{source.Starlark, "fs.read(\ndef f(a‸):\n  pass", `word "a" begins`},
		{source.Starlark, "def f(a):\n  fs.read(a, ‸\n\ndef g():\n  pass", `word "" in fs.read[1] begins`},
		{source.Starlark, "x = 'open\nfs.re‸", `word "re" of fs`},
		{source.Starlark, "\ufefffs.re‸", `word "re" of fs`},
		{source.Starlark, "# a\r\nfs.re‸\r\n", `word "re" of fs`},
		{source.Starlark, "\"\"\"fs.re‸\"\"\"", `string "fs.re"`},
		{source.Lua, "fs.re‸", `word "re" of fs`},
		{source.Lua, "local x = fs.‸\nreturn x", `word "" of fs`},
		{source.Lua, "fs.read(path, { off‸ })", `word "off" in fs.read[1] begins`},
		{source.Lua, "fs.read(path, { offset = 1, ‸ })", `word "" in fs.read[1] given offset begins`},
		{source.Lua, "return tool{ needs = { \"fs.re‸\" } }", `string "fs.re" in tool[0 needs depth 1] begins`},
		{source.Lua, "return tool{ needs = { 'fs.re‸", `string "fs.re" in tool[0 needs depth 1] begins`},
		{source.Lua, "return tool{ handler = function(args)\n  fs.re‸\nend }", `word "re" of fs`},
		{source.Lua, "return tool{ params = { a = param(\"string\", \"A.\", { ‸ }) } }", `word "" in param[2] in tool[0 params key a depth 1] begins`},
		{source.Lua, "-- fs.re‸", `comment`},
		{source.Lua, "--[[ a\n fs.re‸ ]]", `comment`},
		{source.Lua, "fs.read(\nlocal x = ‸", `word ""`},
		{source.Lua, "x = [[ fs.re‸ ]]", `string " fs.re "`},
		{source.Lua, "tools.slug{ in‸ }", `word "in" in tools.slug[0] begins`},
	}
	for _, tt := range tests {
		text, offset := cut(t, tt.text)
		if got := describe(text, source.Read(tt.language, text).At(offset)); got != tt.want {
			t.Errorf("%s %q:\n got %s\nwant %s", tt.language, tt.text, got, tt.want)
		}
	}
}

func TestFunctions(t *testing.T) {
	star := source.Read(source.Starlark, `load("lib/text.star", "trim", short = "shorten")

LIMIT = 3

def _helper(x, *args, y = 2, **kwargs):
    return x

def page(path: str, limit: int = 3) -> dict[str, int]:
    """Read a page.

    Args:
      path: File.
    """
    def inner(z):
        return z
    lines = fs.read(path)
    for line, n in lines:
        last = line

tool(page)
`)
	lua := source.Read(source.Lua, `local M = {}
-- Adds numbers.
-- All of them.
local function add(a, b) return a + b end
function M.sub(a) return -a end
local later = function(x)
  local y = x
  return y
end
`)
	for _, tt := range []struct {
		file *source.File
		want []string
	}{
		{star, []string{"_helper(x, *args, y = 2, **kwargs)", "page(path: str, limit: int = 3) -> dict[str, int]: Read a page.\n\nArgs:\n  path: File.", "inner(z)"}},
		{lua, []string{"add(a, b): Adds numbers.\nAll of them.", "sub(a)", "later(x)"}},
	} {
		var got []string
		for _, fn := range tt.file.Functions() {
			text := fn.Signature()
			if fn.Doc != "" {
				text += ": " + fn.Doc
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("functions (-want +got):\n%s", diff)
		}
	}
	names := func(f *source.File, at string) string {
		var list []string
		for _, n := range f.Names(strings.Index(f.Text, at)) {
			list = append(list, n.Name)
		}
		return strings.Join(list, " ")
	}
	if got, want := names(star, "last ="), "path limit lines line n last _helper page trim short LIMIT"; got != want {
		t.Errorf("names = %s, want %s", got, want)
	}
	if got, want := names(star, "tool(page"), "_helper page trim short LIMIT"; got != want {
		t.Errorf("names at the end = %s, want %s", got, want)
	}
	if got, want := names(lua, "return y"), "x y add later M"; got != want {
		t.Errorf("names of Lua = %s, want %s", got, want)
	}
	loads := star.Loads()
	if len(loads) != 1 || loads[0].Path != "lib/text.star" || len(loads[0].Names) != 2 || loads[0].Names[1].Local != "short" || loads[0].Names[1].Name != "shorten" {
		t.Errorf("loads = %+v", loads)
	}
}

func TestMarkdown(t *testing.T) {
	const head = "---\ndescription: x\n---\ntext\n"
	for _, tt := range []struct{ name, text, meta, code string }{
		{"complete", head + "```lua\nreturn 1\n```\n", "description: x", "return 1"},
		{"windows", strings.ReplaceAll(head+"```lua\nreturn 1\n```\n", "\n", "\r\n"), "description: x", "return 1"},
		{"open front matter", "---\ndescription: x\n\n```python\nx = 1\n```\n", "description: x", "x = 1"},
		{"open code", head + "```star\nx = 1\n", "description: x", "x = 1"},
		{"other code first", head + "```sh\nls\n```\n```python\nx = 1\n```\n", "description: x", "x = 1"},
		{"no code", head, "description: x", ""},
		{"no front matter", "# Title\n```lua\nx\n```\n", "", ""},
		{"empty", "", "", ""},
	} {
		m := source.ReadMarkdown(tt.text)
		code := ""
		if m.Code != nil {
			code = strings.TrimSpace(m.Code.Text)
			if at := strings.Index(m.Code.Text, code); !strings.HasPrefix(tt.text[at:], code) {
				t.Errorf("%s: the offset %d of the code is another one in the file", tt.name, at)
			}
		}
		if got := strings.TrimSpace(tt.text[m.Meta.Start:m.Meta.End]); got != tt.meta || code != tt.code {
			t.Errorf("%s: front matter %q, code %q, want %q, %q", tt.name, got, code, tt.meta, tt.code)
		}
	}
}

func TestMetaAt(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"des‸", `[] key "" word "des"`},
		{"description: x\nne‸", `[] key "" word "ne" given description`},
		{"needs: [fs.re‸]", `[needs] item word "fs.re"`},
		{"needs:\n  - fs.re‸", `[needs] item word "fs.re"`},
		{"needs:\n- fs.re‸", `[needs] item word "fs.re"`},
		{"parameters:\n  - name: a\n    ty‸", `[parameters] key "" word "ty" given name`},
		{"parameters:\n  - name: a\n    type: str‸", `[parameters] key "type" word "str" given name`},
		{"parameters:\n  - {name: a, ty‸", `[parameters] key "" word "ty" given name`},
		{"parameters:\n  - {name: a, type: int‸}", `[parameters] key "type" word "int" given name`},
		{"parameters:\n  path:\n    type: string\n    d‸", `[parameters path] key "" word "d" given type`},
		{"limits: {cpu: 1, me‸", `[limits] key "" word "me" given cpu`},
		{"risky: tr‸", `[] key "risky" word "tr"`},
	} {
		text, offset := cut(t, tt.text)
		m := source.MetaAt(text, offset)
		got := fmt.Sprintf("%v", m.Path)
		if m.Item {
			got += " item"
		} else {
			got += fmt.Sprintf(" key %q", m.Key)
		}
		got += fmt.Sprintf(" word %q", text[m.Word.Start:m.Word.End])
		if len(m.Given) > 0 {
			got += " given " + strings.Join(m.Given, ",")
		}
		if got != tt.want {
			t.Errorf("%q:\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

// TestLarge reads large files that repeat one text. Without the limits it takes minutes.
func TestLarge(t *testing.T) {
	for _, unit := range []string{"(", "[[", "def f(", "def f():\n", "def f() ", "function f(", "function f()\n", "a,", "for a in ", "x = 'a\n", "\"",
		"{ a = ", "f{", "end ", "if ", "- {", "a: [", "- a:\n", "load('", "--[[\n", "local a = function(", "```lua\n", "  - x: {y: \n", "\r", "~"} {
		text := strings.Repeat(unit, 1<<16/len(unit))
		for _, language := range []source.Language{source.Starlark, source.Lua} {
			f := source.Read(language, text)
			for _, offset := range []int{0, len(text) / 2, len(text)} {
				if p := f.At(offset); p.Word.End > len(text) {
					t.Errorf("%q: the word is %v", unit, p.Word)
				}
				_ = f.Names(offset)
			}
		}
		if m := source.ReadMarkdown("---\n" + text); m.Meta.End > len(text)+4 {
			t.Errorf("%q: the front matter is %v", unit, m.Meta)
		}
		if m := source.MetaAt(text, len(text)); m.Word.End != len(text) {
			t.Errorf("%q: the word of YAML is %v", unit, m.Word)
		}
	}
}

// FuzzRead checks that no text makes the reader fail, and that all places are in the text.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"", "fs.read(", "tool{ needs = { \"fs", "def f(a, b = (1, 2)) -> str:\n  \"\"\"x", "---\na: {b\n```lua\nx", "\r\n\"\\", "[[", "[=", "--[[", "load('", "ä𝄞.x(", "end end ) } ]", "function a.b:c("} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, offset int) {
		if len(text) > 1<<12 {
			return
		}
		in := func(what string, s source.Span) {
			if s.Start < 0 || s.End < s.Start || s.End > len(text) {
				t.Fatalf("%s is %v in a text of %d bytes", what, s, len(text))
			}
		}
		files := []*source.File{source.Read(source.Starlark, text), source.Read(source.Lua, text)}
		m := source.ReadMarkdown(text)
		in("front matter", m.Meta)
		if m.Code != nil {
			files = append(files, m.Code)
		}
		for _, file := range files {
			p := file.At(offset)
			in("word", p.Word)
			if p.String != nil {
				in("string", *p.String)
			}
			for c := p.Call; c != nil; c = c.Outer {
				in("call", c.Name)
			}
			for _, fn := range file.Functions() {
				in("function", fn.Span)
				in("name of a function", fn.At)
				_ = fn.Signature()
			}
			for _, n := range file.Names(offset) {
				in("name", n.At)
			}
			for _, l := range file.Loads() {
				in("load", l.At)
			}
		}
		in("word of YAML", source.MetaAt(text, offset).Word)
	})
}
