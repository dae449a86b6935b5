package assist_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/assist"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/stdlib"
)

func world(t *testing.T) *assist.World {
	t.Helper()
	w, err := stdlib.Open(&stdlib.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return &assist.World{
		Modules: slices.Concat(stdlib.Pure(), w.Modules(), host.Modules()),
		Tools: []assist.Tool{{
			Tool: tool.Tool{Name: "make-slug", Description: "Make a slug.", Params: []tool.Param{
				tool.Required("text", tool.TypeString, "the text"), tool.Optional("limit", tool.TypeInteger, int64(9), "the length"),
			}, Needs: []tool.Capability{{Name: "fs.read"}}, Returns: &tool.Type{Name: tool.TypeString}, ReturnsDoc: "the slug"},
			Path: "/p/.cassidy/tools/make-slug.star",
		}},
		Libs: map[string]assist.Lib{"lib/text.star": {Path: "/p/.cassidy/tools/lib/text.star", Text: "def trim(s, n = 3):\n    \"\"\"Trim a text.\"\"\"\n    return s\n\ndef _own():\n    pass\n"}},
	}
}

// cut removes the mark ‸ from a text, and returns its offset.
func cut(t *testing.T, text string) (string, int) {
	t.Helper()
	before, after, ok := strings.Cut(text, "‸")
	if !ok {
		t.Fatalf("no mark in %q", text)
	}
	return before + after, len(before)
}

const metaHead = "---\ndescription: Read.\n"

func TestComplete(t *testing.T) {
	w := world(t)
	for _, tt := range []struct {
		kind       assist.Kind
		text, want string // some labels, with ! before those that are not wanted
	}{
		{assist.Starlark, "x = fs.re‸", "read read_bytes !commit !print"},
		{assist.Starlark, "def f():\n    fs.‸\n\ntool(f", "read write"},
		{assist.Starlark, "def f(path):\n    ‸", "path f fs text len None tool !read"},
		{assist.Starlark, "fs.read(‸", "path·=· offset·=· limit·=· fs"},
		{assist.Starlark, "fs.read(\"a\", of‸)", "offset·=· limit·=· !path·=·"},
		{assist.Starlark, "fs.read(\"a\", offset = 2, ‸)", "limit·=· !offset·=·"},
		{assist.Starlark, "fs.read(\"a\", offset = ‸)", "fs !limit·=·"},
		{assist.Starlark, "fail(‸", "type·=· hint·=· sep·=· !args·=·"},
		{assist.Starlark, "fail(\"a\", 2, type = \"user_error\", ‸)", "hint·=· sep·=· !type·=·"},
		{assist.Starlark, "fail(\"a\", type = \"‸\")", "user_error validation_error !permission_error"},
		{assist.Lua, "local function f()\n  error({ message = \"a\", ‸ })\nend", "type·=· hint·=· !message·=·"},
		{assist.Lua, "local function f()\n  error({ type = \"‸\" })\nend", "user_error system_error"},
		{assist.Starlark, "tools.‸", "make_slug call"},
		{assist.Starlark, "tools.make_slug(‸", "text·=· limit·=·"},
		{assist.Starlark, "tools.call(\"‸\")", "make-slug !fs.read"},
		{assist.Starlark, "tool(f, ‸)", "needs·=· params·=· examples·=· undo·=·"},
		{assist.Starlark, "tool(f, needs = [\"‸\"])", "fs.read http.get tool:make-slug secret"},
		{assist.Starlark, "tool(f, needs = [\"fs.re‸", "fs.read fs.write"},
		{assist.Starlark, "def f(path): pass\ntool(f, params = {\"‸\": param()})", "path"},
		{assist.Starlark, "tool(f, params = {\"a\": param(‸)})", "min·=· enum·=· type·=·"},
		{assist.Starlark, "tool(f, params = {\"a\": param(type = \"‸\")})", "string integer"},
		{assist.Starlark, "tool(f, examples = [example(‸)])", "args·=· expect·=·"},
		{assist.Starlark, "tool(f, hints = {\"‸\": True})", "read_only"},
		{assist.Starlark, "load(\"‸\")", "lib/text.star"},
		{assist.Starlark, "load(\"lib/text.star\", \"‸\")", "trim !_own"},
		{assist.Starlark, "load(\"lib/text.star\", \"trim\")\ntrim(‸)", "s·=· n·=·"},
		{assist.Starlark, "t = data.read(\"a.csv\")\nt.‸", "filter group_by"},
		{assist.Starlark, "# fs.‸", "!read"},
		{assist.Starlark, "x = \"fs.‸\"", "!read"},
		{assist.Lua, "local x = fs.re‸", "read read_bytes"},
		{assist.Lua, "fs.read(path, { ‸ })", "offset·=· limit·=·"},
		{assist.Lua, "tools.make_slug{ ‸ }", "text·=· limit·=·"},
		{assist.Lua, "return tool{ ‸ }", "needs·=· params·=·"},
		{assist.Lua, "return tool{ needs = { \"‸\" } }", "fs.read tool:make-slug"},
		{assist.Lua, "return tool{ params = { a = param(\"‸\") } }", "string"},
		{assist.Lua, "return tool{ params = { a = param(\"string\", \"A.\", { ‸ }) } }", "min·=· enum·=·"},
		{assist.Lua, "return tool{ limits = { ‸ } }", "cpu steps requests"},
		{assist.Lua, "return tool{ handler = function(args)\n  local n = 1\n  ‸\nend }", "args n fs tools !len"},
		{assist.Markdown, metaHead + "‸\n---\n```star\ndef f(path):\n  pass\n```\n", "needs parameters examples !description !params"},
		{assist.Markdown, metaHead + "needs: [‸]\n---\n```star\nx\n```\n", "fs.read tool:make-slug"},
		{assist.Markdown, metaHead + "needs:\n  - fs.‸\n---\n```star\nx\n```\n", "fs.read"},
		{assist.Markdown, metaHead + "parameters:\n  - name: ‸\n---\n```star\ndef f(path):\n  pass\n```\n", "path"},
		{assist.Markdown, metaHead + "parameters:\n  - {name: path, ‸\n---\n```star\nx\n```\n", "type required default !name"},
		{assist.Markdown, metaHead + "parameters:\n  - name: path\n    type: ‸\n---\n```star\nx\n```\n", "string integer"},
		{assist.Markdown, metaHead + "risky: ‸\n---\n```star\nx\n```\n", "true false"},
		{assist.Markdown, metaHead + "examples:\n  - ‸\n---\n```star\nx\n```\n", ""},
		{assist.Markdown, metaHead + "undo: ‸\n---\n```star\ndef back(args, result):\n  pass\n```\n", "back"},
		{assist.Markdown, metaHead + "---\n```star\nfs.‸\n```\n", "read"},
		{assist.Markdown, metaHead + "---\n```lua\nfs.read(p, { ‸", "offset·=·"},
	} {
		text, offset := cut(t, tt.text)
		d := assist.Read(tt.kind, text)
		items, at := d.Complete(w, offset)
		if at.Start > offset || at.End < offset {
			t.Errorf("%q: the offset is not in %v", tt.text, at)
		}
		for want := range strings.FieldsSeq(tt.want) {
			label, not := strings.CutPrefix(want, "!")
			label = strings.ReplaceAll(label, "·", " ")
			if got := slices.ContainsFunc(items, func(i assist.Item) bool { return i.Label == label }); got == not {
				t.Errorf("%s %q: %q is offered: %v", tt.kind, tt.text, label, got)
			}
		}
	}
}

func TestHover(t *testing.T) {
	w := world(t)
	for _, tt := range []struct {
		kind             assist.Kind
		text, want, span string
	}{
		{assist.Starlark, "x = fs.re‸ad(path)", "fs.read(path: string, offset: integer = 1", "read"},
		{assist.Starlark, "x = f‸s.read(path)", "Files of the project", "fs"},
		{assist.Starlark, "fs.read(path, off‸set = 1)", "the first line to read", "offset"},
		{assist.Starlark, "x = tools.make_sl‸ug(text = 1)", "Make a slug.", "make_slug"},
		{assist.Starlark, "tools.make_slug(te‸xt = 1)", "the text", "text"},
		{assist.Starlark, "tool(f, nee‸ds = [])", "capabilities of the tool", "needs"},
		{assist.Starlark, "tool(f, prev‸iew = g)", "what people see of a result", "preview"},
		{assist.Starlark, "tool(f, needs = [\"fs.re‸ad:docs/**\"])", "reads files", "fs.read:docs/**"},
		{assist.Starlark, "tool(f, params = {\"a\": param(mi‸n = 1)})", "smallest allowed number", "min"},
		{assist.Starlark, "def f(a: str):\n    \"\"\"Do it.\"\"\"\n\nf‸(1)", "Do it.", "f"},
		{assist.Starlark, "def f(a: str):\n    return a‸", "a: str", "a"},
		{assist.Starlark, "load(\"lib/text.star\", \"trim\")\ntri‸m(1)", "Trim a text.", "trim"},
		{assist.Starlark, "sort‸ed(x)", "sorted list", "sorted"},
		{assist.Starlark, "fs = 1\nf‸s.read", "fs = 1", "fs"},
		{assist.Starlark, "fa‸il(\"no\")", "user_error, validation_error", "fail"},
		{assist.Starlark, "fail(\"no\", hi‸nt = \"x\")", "What to do instead", "hint"},
		{assist.Lua, "err‸or(\"no\")", "a table with message, type and hint", "error"},
		{assist.Starlark, "unknown‸", "", ""},
		{assist.Starlark, "t = data.read(\"a\")\nt.fil‸ter(x)", "table.filter", "filter"},
		{assist.Lua, "fs.re‸ad(path)", "fs.read(path: string", "read"},
		{assist.Lua, "fs.read(path, { off‸set = 1 })", "the first line to read", "offset"},
		{assist.Lua, "-- Adds.\nlocal function add(a) end\nad‸d(1)", "Adds.", "add"},
		{assist.Lua, "return tool{ nee‸ds = {} }", "capabilities of the tool", "needs"},
		{assist.Markdown, metaHead + "nee‸ds: [fs.read]\n---\n```star\nx\n```\n", "capabilities of the tool", "needs"},
		{assist.Markdown, metaHead + "needs: [fs.re‸ad]\n---\n```star\nx\n```\n", "reads files", "fs.read"},
		{assist.Markdown, metaHead + "parameters:\n  - name: a\n    requi‸red: true\n---\n```star\nx\n```\n", "a call must pass it", "required"},
		{assist.Markdown, metaHead + "---\n```lua\nfs.re‸ad(p)\n```\n", "fs.read(path", "read"},
	} {
		text, offset := cut(t, tt.text)
		got, at, ok := assist.Read(tt.kind, text).Hover(w, offset)
		if ok != (tt.want != "") || !strings.Contains(got, tt.want) || ok && text[at.Start:at.End] != tt.span {
			t.Errorf("%s %q: %v %q at %q, want %q at %q", tt.kind, tt.text, ok, got, text[at.Start:at.End], tt.want, tt.span)
		}
	}
}

func TestSignature(t *testing.T) {
	w := world(t)
	for _, tt := range []struct {
		kind         assist.Kind
		text, active string // the active parameter; "" if there is none, "-" if there is no signature
	}{
		{assist.Starlark, "fs.read(‸", "path: string"},
		{assist.Starlark, "fs.read(\"a\", ‸", "offset: integer = 1"},
		{assist.Starlark, "fs.read(\"a\", limit = ‸)", "limit: integer = None"},
		{assist.Starlark, "len(fs.read(\"a\", [‸", "offset: integer = 1"},
		{assist.Starlark, "fail(\"a\", \"b\", ‸", "*args"},
		{assist.Starlark, "fail(\"a\", hint = ‸", "hint = \"\""},
		{assist.Starlark, "tools.make_slug(‸)", ""},
		{assist.Starlark, "tools.make_slug(limit = ‸)", "limit: integer = 9"},
		{assist.Starlark, "def f(a, b = 1):\n    pass\nf(1, ‸", "b = 1"},
		{assist.Starlark, "x = (‸", "-"},
		{assist.Lua, "fs.read(path, ‸", "offset: integer = 1"},
		{assist.Lua, "fs.read(path, { limit = ‸", "limit: integer = None"},
		{assist.Markdown, metaHead + "---\n```lua\nfs.read(‸\n```\n", "path: string"},
	} {
		text, offset := cut(t, tt.text)
		got := "-"
		if s := assist.Read(tt.kind, text).Signature(w, offset); s != nil {
			got = ""
			if s.Active >= 0 {
				got = s.Label[s.Params[s.Active].Start:s.Params[s.Active].End]
			}
		}
		if got != tt.active {
			t.Errorf("%q: the active parameter is %q, want %q", tt.text, got, tt.active)
		}
	}
}

func TestDefinition(t *testing.T) {
	w := world(t)
	const tools = "/p/.cassidy/tools/"
	for _, tt := range []struct {
		kind       assist.Kind
		text, want string // the file and the text, or ""
	}{
		{assist.Starlark, "def page(a):\n    pass\n\ntool(pa‸ge)", " page@4"},
		{assist.Starlark, "def page(path):\n    return fs.read(pa‸th)", " path@9"},
		{assist.Starlark, "load(\"lib/text.star\", \"trim\")\ntri‸m(1)", tools + "lib/text.star trim@4"},
		{assist.Starlark, "load(\"lib/te‸xt.star\", \"trim\")", tools + "lib/text.star @0"},
		{assist.Starlark, "tools.make_‸slug(text = 1)", tools + "make-slug.star @0"},
		{assist.Starlark, "tool(f, needs = [\"tool:make‸-slug\"])", tools + "make-slug.star @0"},
		{assist.Starlark, "fs.re‸ad(1)", ""},
		{assist.Lua, "local function page(args) end\nreturn tool{ handler = pa‸ge }", " page@15"},
		{assist.Lua, "tools.make_‸slug{ text = 1 }", tools + "make-slug.star @0"},
		{assist.Markdown, metaHead + "undo: ba‸ck\n---\n```star\ndef back(args, result):\n  pass\n```\n", " back@50"},
		{assist.Markdown, metaHead + "---\n```star\ndef f(a):\n  return a‸\n```\n", " a@41"},
	} {
		text, offset := cut(t, tt.text)
		target, ok := assist.Read(tt.kind, text).Definition(w, offset)
		got := ""
		if ok {
			of := text
			if target.Path != "" {
				of = target.Text
			}
			got = target.Path + " " + of[target.At.Start:target.At.End] + "@" + strconv.Itoa(target.At.Start)
		}
		if got != tt.want {
			t.Errorf("%q: defined at %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestSymbols(t *testing.T) {
	for _, tt := range []struct {
		kind       assist.Kind
		text, want string
	}{
		{assist.Starlark, "def f(a):\n    def g():\n        pass\n    return a\n\ndef h():\n    pass\n\ntool(f)\n", "f(g) h tool"},
		{assist.Lua, "local function f(a) return a end\nreturn tool{ handler = f }\n", "f tool"},
		{assist.Markdown, metaHead + "---\n```star\ndef f(a):\n  pass\n```\n", "front matter f"},
	} {
		var write func(list []assist.Symbol) string
		write = func(list []assist.Symbol) string {
			var names []string
			for _, s := range list {
				name := s.Name
				if len(s.Inner) > 0 {
					name += "(" + write(s.Inner) + ")"
				}
				names = append(names, name)
			}
			return strings.Join(names, " ")
		}
		if got := write(assist.Read(tt.kind, tt.text).Symbols()); got != tt.want {
			t.Errorf("%s: symbols %q, want %q", tt.kind, got, tt.want)
		}
	}
}

// TestCapabilities checks that each capability has a description.
func TestCapabilities(t *testing.T) {
	items, _ := assist.Read(assist.Starlark, "tool(f, needs = [\"\"])").Complete(world(t), 18)
	for _, name := range tool.CapabilityNames() {
		i := slices.IndexFunc(items, func(i assist.Item) bool { return i.Label == name })
		if i < 0 || items[i].Doc == "" {
			t.Errorf("the capability %s is not offered, or has no description", name)
		}
	}
}
