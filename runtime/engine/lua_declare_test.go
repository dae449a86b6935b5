package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func luaScript(source string) tool.Script {
	return tool.Script{Name: "sample", Path: "sample.lua", Source: source}
}

// luaFields is a declaration with every field, and starFields the same in Starlark.
const (
	luaFields = `
local GROUPS = "data"
local fruit, LEAST = { "apple", "pear" }, -1
local function run(args) return args end
local function is_there() return true end
local function back(args, result) end

return tool{
  name = "sample", title = "A sample", description = [[Says what was given.
Twice.]], group = GROUPS, risky = true, allow_extra = true, version = "1.2", available = is_there, undo = back,
  hints = { read_only = true, idempotent = false, fast = true },
  needs = { "fs.read:docs/**", "http" },
  params = {
    text = param("string", "a text", { required = true, min_length = 1, max_length = 80, pattern = "^a" }),
    fruit = param{ type = "string", enum = fruit, default = "pear" },
    count = param("integer", "how often", { default = (3), min = LEAST, max = 0x10 }),
    ratio = param("number", "of them", { default = -0.5 }),
    size = param("number", nil, { default = 1e3 }),
    flags = param("boolean", "on", false, true),
    options = param("object", "more", { default = {}, properties = { depth = param("integer", "how deep", { default = 2 }), empty = param("object", "", { properties = {} }) } }),
    lines = param("array", "some", { items = "string", default = {} }),
    table = param("object", "by number", { default = { ["a b"] = 1, [7] = "x" } }),
    ordered = param("array", "by number", { default = { [2] = "b", [1] = "a" } }),
    holes = param("array", "with null", { default = { 1, nil, null, 4 } }),
    word = { type = "string", required = false },
    plain = { type = "string", description = "a plain table", default = "" },
    other = param("string", "by another name", { aliases = { "another" }, default = "x" }),
    nothing = param("string", "absent is null", { default = nil }),
  },
  returns = param("object"),
  examples = {
    example("shows it", { text = "abc", options = {} }, { }),
    example{ description = "shows more", args = { text = "ab" } },
  },
  tags = { "x"; "y" }, deprecated = { since = "1", replacement = "say", message = "use say" },
  timeout = 2.5, overhead = 40, limits = { steps = 1000, cpu = 0.5, memory = 1048576, result = 100, requests = 50 },
  handler = run,
}
`
	starFields = `
GROUPS = "data"
FRUIT = ["apple", "pear"]
def run(text, fruit = "pear", count = 3, ratio = -0.5, size = 1000, flags = True, options = {}, lines = [], table = {"a b": 1, 7: "x"}, ordered = ["a", "b"], holes = [1, None, None, 4], word = None, plain = "", other = "x", nothing = None):
    return text
def is_there():
    return True
def back(args, result):
    return None
tool(run,
  name = "sample", title = "A sample", description = "Says what was given.\nTwice.", group = GROUPS, risky = True, allow_extra = True, version = "1.2", available = is_there, undo = back,
  hints = {"read_only": True, "idempotent": False, "fast": True},
  needs = ["fs.read:docs/**", "http"],
  params = {
    "text": param("string", "a text", required = True, min_length = 1, max_length = 80, pattern = "^a"),
    "fruit": param(type = "string", enum = FRUIT),
    "count": param("integer", "how often", min = -1, max = 16),
    "ratio": param("number", "of them"),
    "size": param("number", ""),
    "flags": param("boolean", "on", False),
    "options": param("object", "more", properties = {"depth": param("integer", "how deep", default = 2), "empty": param("object", "", properties = {})}),
    "lines": param("array", "some", items = "string"),
    "table": param("object", "by number"),
    "ordered": param("array", "by number"),
    "holes": param("array", "with null"),
    "word": "string",
    "plain": param("string", "a plain table"),
    "other": param("string", "by another name", aliases = ["another"]),
    "nothing": param("string", "absent is null"),
  },
  returns = param("object"),
  examples = [example("shows it", {"text": "abc", "options": {}}, {}), example("shows more", args = {"text": "ab"})],
  tags = ["x", "y"], deprecated = {"since": "1", "replacement": "say", "message": "use say"},
  timeout = 2.5, overhead = 40, limits = {"steps": 1000, "cpu": 0.5, "memory": 1048576, "result": 100, "requests": 50},
)
`
)

func TestLuaDescribesWhatStarlarkDoes(t *testing.T) {
	e := both(t, "none")
	got, err := e.Describe(luaScript(luaFields))
	if err != nil {
		t.Fatalf("Describe(lua): %v", err)
	}
	want, err := e.Describe(tool.Script{Path: "sample.star", Source: starFields})
	if err != nil {
		t.Fatalf("Describe(star): %v", err)
	}
	if got.Available != "available" || got.Undo != "undo" || want.Undo != "back" {
		t.Errorf("Available = %q, Undo = %q, want the fields that the chunk returns; in Starlark %q, want back", got.Available, got.Undo, want.Undo)
	}
	want.Available, want.Undo = got.Available, got.Undo
	for i := range want.Params {
		p := &want.Params[i]
		if p.Name == "word" { // in Starlark a parameter with the default None, here one without a default
			p.HasDefault = false
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(tool.Tool{}), cmp.Comparer(func(a, b *value.Dict) bool { return value.Equal(a, b) })); diff != "" {
		t.Errorf("Describe(lua) (-star +lua):\n%s", diff)
	}
	if got.Timeout != 2500*time.Millisecond || len(got.Params) != 15 {
		t.Errorf("Timeout = %v, %d params; want 2.5s, 15", got.Timeout, len(got.Params))
	}
}

func TestLuaDescribeForms(t *testing.T) {
	for _, c := range []struct{ name, source string }{
		{"nothing but a handler", `return tool{description = "d", handler = function() end}`},
		{"in parentheses", `return (tool({description = "d", handler = function() end}))`},
		{"a semicolon", `return tool{description = "d"; handler = function() end};`},
		{"a key in brackets", `return tool{["description"] = "d", ["handler"] = function() end}`},
		{"a global function", "function run(args) end\nreturn tool{description = 'd', handler = run}"},
		{"a function under another name", "local run = function() end\nlocal again = run\nreturn tool{description = 'd', handler = again}"},
		{"a byte order mark", "\ufeffreturn tool{description = 'd', handler = function() end}"},
		{"an interpreter's line", "#!/usr/bin/env cassidy\nreturn tool{description = 'd', handler = function() end}"},
		{"carriage returns", "local x = 'd'\r\nreturn tool{\r\n description = x,\r\n handler = function() end,\r\n}\r\n"},
		{"a name that only hides a constant", "local d = 'd'\nlocal function run(d) d = 1 for d = 1, 2 do d = 2 end end\nreturn tool{description = d, handler = run}"},
		{"tool is a word in strings", "local s = 'tool{}'\nreturn tool{description = 'd', handler = function() return s end}"},
		{"a table for an object", `return tool{description = "d", params = {}, hints = {}, limits = {}, handler = function() end}`},
		{"a parameter that is only a type", `return tool{description = "d", params = { a = "string" }, handler = function() end}`},
		{"nothing of it is run", "while true do end\nreturn tool{description = 'd', handler = function() end}"},
		{"a second tool of the script's own", "local t = {tool = function() end}\nt.tool{}\nreturn tool{description = 'd', handler = function() end}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := both(t, "none").Describe(luaScript(c.source))
			if err != nil || got.Description != "d" || got.Name != "sample" {
				t.Errorf("Describe = %q %q, %v; want sample, d", got.Name, got.Description, err)
			}
		})
	}
}

// TestLuaDescribeErrors has for each invalid file a part of the message, the line, and,
// if not "", a part of the hint.
func TestLuaDescribeErrors(t *testing.T) {
	const rest = `description = "d", handler = function() end}`
	for _, c := range []struct {
		source, want string
		line         int
		hint         string
	}{
		{"", "the file does not declare a tool", 0, "return tool{"},
		{"local x = 1", "the file does not declare a tool", 0, "return tool{"},
		{"return 1", "the file does not declare a tool", 0, ""},
		{"\nlocal t = tool{" + rest + "\nreturn t", "the file must end with return tool{…}", 2, "end the file with"},
		{"tool{" + rest + "\n\nreturn tool{" + rest, "the file has more than one tool(…)", 3, "one tool per file"},
		{"return tool{" + rest + ", 2", "the file must end with return tool{…}", 1, ""},
		{"local fields = {}\nreturn tool(fields)", "tool() takes one table", 2, ""},
		{"return tool()", "tool() takes one table", 1, ""},
		{"if x then\n  return nil\nend\nreturn tool{" + rest, "return is only allowed at the end of the file", 2, ""},
		{"local function tool(t) return t end\nreturn tool{" + rest, "reserved for declarations", 0, "rename tool"},
		{"param = nil\nreturn tool{" + rest, "the file defines param", 0, ""},
		{"return tool{description = 'd'}", "tool() has no handler", 1, "handler = function"},
		{"return tool{description = 'd',\n handler = 3}", "handler must be a function", 2, "handler = function"},
		{"return tool{description = 'd',\n handler = 'run'}", "handler must be a function", 2, ""},
		{"return tool{description = 'd',\n handler = nowhere}", "handler must be a function", 2, ""},
		{"local function f() end\nf = print\nreturn tool{description = 'd',\n handler = f}", "handler must be a function", 4, "once"},
		{"return tool{description = 'd',\n description = 'e', handler = function() end}", "'description' is given twice", 2, ""},
		{"return tool{handler = function() end,\n handler = function() end}", "'handler' is given twice", 2, ""},
		{"return tool{function() end, description = 'd'}", "tool() has a field without a name", 1, ""},
		{"return tool{\n [1 .. 2] = 3, " + rest, "the name of a field must be a constant", 2, ""},
		{"return tool{\n title = 'a' .. 'b', " + rest, "the declaration contains an expression that needs execution", 2, "write the value"},
		{"return tool{\n timeout = 1 + 1, " + rest, "the declaration contains an expression that needs execution", 2, ""},
		{"return tool{\n title = string.upper('a'), " + rest, "the declaration contains an expression that needs execution", 2, ""},
		{"return tool{\n title = not true, " + rest, "the declaration contains an expression that needs execution", 2, ""},
		{"return tool{\n title = x or 'a', " + rest, "the declaration contains an expression that needs execution", 2, ""},
		{"return tool{\n timeout = -'1', " + rest, "the declaration contains an expression that needs execution", 2, ""},
		{"return tool{\n tags = { function() end }, " + rest, "the declaration contains an expression that needs execution", 2, ""},
		{"return tool{\n title = nowhere, " + rest, "nowhere is not a constant or function of this file", 2, ""},
		{"local x = 1\nx = 2\nreturn tool{\n timeout = x, " + rest, "x is assigned more than once", 4, ""},
		{"local x = 1\nlocal function f() x = 2 end\nreturn tool{\n timeout = x, " + rest, "x is assigned more than once", 4, ""},
		{"do local x = 1 end\nreturn tool{\n timeout = x, " + rest, "x is not a constant", 3, ""},
		{"local x, y = f(), 1\nreturn tool{\n timeout = x, " + rest, "the declaration contains an expression that needs execution", 1, ""},
		{"local a = {a, a}\nreturn tool{\n title = a, " + rest, "nested more than 64 levels deep", 1, ""},
		{"local a = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}\nlocal b = {a, a, a, a, a, a, a, a, a, a}\nlocal c = {b, b, b, b, b, b, b, b, b, b}\n" +
			"local d = {c, c, c, c, c, c, c, c, c, c}\nlocal e = {d, d, d, d, d, d, d, d, d, d}\nreturn tool{\n title = e, " + rest, "the declaration has more than 100000 values", 0, ""},
		{"local a = a\nreturn tool{\n title = a, " + rest, "nested more than 64 levels deep", 1, ""},
		{"local function f() end\nreturn tool{\n title = f, " + rest, "'title' should be a string but got the function f", 3, ""},
		{"return tool{\n title = function() end, " + rest, "'title' should be a string but got the function title", 2, ""},
		{"return tool{\n title = {}, " + rest, "'title' should be a string but got array", 2, ""},
		{"return tool{\n title = '\\255', " + rest, "'title' should be a string but got bytes", 2, ""},
		{"return tool{\n available = true, " + rest, "'available' should be the name of a function", 2, ""},
		{"return tool{\n undo = 'f', " + rest, "'undo' should be the name of a function in this file but got string", 2, ""},
		{"return tool{\n undo = function(a, b) end, " + rest, "'undo' should be a function of two parameters, args and result, but undo takes (a, b)", 2, ""},
		{"local function back(args) end\nlocal b = back\nreturn tool{\n undo = b, " + rest, "but undo takes (args)", 4, ""},
		{"return tool{\n undo = function(args, result, ...) end, " + rest, "but undo takes (args, result, ...)", 2, ""},
		{"return tool{\n colour = 'red', " + rest, "tool() has no field 'colour'", 2, "the fields are"},
		{"return tool{\n need = {}, " + rest, "did you mean \"needs\"", 2, ""},
		{"return tool{\n needs = {'fs.reed'}, " + rest, "unknown capability \"fs.reed\"", 2, ""},
		{"return tool{\n params = {\n  a = param('string', 'd', {defualt = 1})}, " + rest, "param() has no field 'defualt'; did you mean \"default\"?", 3, ""},
		{"return tool{\n params = {\n  a = param('string', 'd', {min = 1, min = 2})}, " + rest, "'min' is given twice", 3, ""},
		{"return tool{\n params = {\n  a = param('string', {type = 'string'})}, " + rest, "'type' is given twice", 3, ""},
		{"return tool{\n params = {\n  a = param{'string'}}, " + rest, "param() has a field without a name", 3, ""},
		{"return tool{\n params = {\n  a = param(1,2,3,4,5,6,7,8,9,10,11,12,13,\n14)}, " + rest, "param() takes at most 13 arguments", 4, ""},
		{"return tool{\n params = {\n  a = param('integer', 'd', {default = 'x'})}, " + rest, "the default of 'a'", 0, ""},
		{"return tool{\n params = { 'string' }, " + rest, "'params' should be an object but got array", 2, ""},
		{"return tool{\n params = {\n a = 1, a = 2}, " + rest, `the key "a" is given twice`, 3, ""},
		{"return tool{\n params = {\n [nil] = 2}, " + rest, "unsupported type of a key: null", 3, ""},
		{"return tool{\n params = {\n [{}] = 2}, " + rest, "unsupported type of a key: array", 3, ""},
		{"return tool{\n examples = {\n  example('d', {nope = 1})}, " + rest, "Unknown parameter: nope", 3, ""},
		{"return tool{\n examples = {\n  example('d', {}, 1, 2)}, " + rest, "example() takes at most 3 arguments", 3, ""},
		{"return tool{\n limits = {steps = 'many'}, " + rest, "limit 'steps' should be a positive integer", 2, ""},
		{"return tool{\n limits = {requests = 1001}, " + rest, "limit 'requests' should be an integer from 1 to 1000 but got 1001", 2, ""},
		{"return tool{\n timeout = 9007199254740993, " + rest, "cannot be represented exactly as a Lua number", 2, ""},
		{"return tool{\n timeout = 1e999, " + rest, "malformed or out of range", 2, ""},
		{"return tool{name = 'other', " + rest, `the file name "sample" differs from the tool name "other"`, 1, ""},
		{"return tool{handler = function() end}", "has no description", 0, ""},
		{"return tool{\n description = 'd', handler = function() end", "syntax error at the end of the file", 2, ""},
		{"local x = = 1\n", `syntax error near "="`, 1, ""},
		{"\n\nlocal s = 'abc", "unterminated string", 3, ""},
		{"x = 1 @ 2", `Invalid token near "@"`, 1, ""},
		{"#!x\n" + strings.Repeat("x = ", 3), "syntax error", 2, ""},
	} {
		_, err := both(t, "none").Describe(luaScript(c.source))
		var e *value.Error
		if !errors.As(err, &e) {
			t.Errorf("Describe(%q): error %v, want %q", c.source, err, c.want)
			continue
		}
		if !strings.Contains(e.Message(), c.want) || e.Kind != value.Invalid || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("Describe(%q): error %q, hint %q; want %q, %q", c.source, e.Message(), e.Hint, c.want, c.hint)
		}
		if e.Pos.File != "sample.lua" || c.line != 0 && e.Pos.Line != c.line {
			t.Errorf("Describe(%q): at %v, want line %d", c.source, e.Pos, c.line)
		}
	}
}

func TestLuaColumns(t *testing.T) {
	_, err := both(t, "none").Describe(luaScript("local x = 'äöü' @ 1"))
	if want := "sample.lua:1:17: Invalid token near \"@\""; err == nil || err.Error() != want {
		t.Errorf("Describe = %v, want %s", err, want)
	}
}

// TestLuaHostileSource has files that would cost the interpreter's parser or compiler
// gigabytes or minutes; they are rejected soon. By default most are an eighth as long.
func TestLuaHostileSource(t *testing.T) {
	size := testutil.Times(engine.MaxSource/8, engine.MaxSource-200)
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for _, c := range []struct{ name, code, want string }{
		{"not not", "x = " + repeat("not ") + "x", "nested more than"},
		{"minus", "x = " + repeat("- ") + "1", "nested more than"},
		{"concatenation", "x = " + repeat("a..") + "a", "nested more than"},
		{"power", "x = " + repeat("a^") + "a", "nested more than"},
		{"sum", "x = " + repeat("a+") + "a", "nested more than"},
		{"fields", "x = a" + repeat(".a"), "nested more than"},
		{"calls", "x = a" + repeat("()"), "nested more than"},
		{"tables", "x = " + strings.Repeat("{", size/2) + strings.Repeat("}", size/2), "nested more than"},
		{"functions", "x = " + strings.Repeat("function() return ", size/25) + strings.Repeat(" end", size/25), "nested more than"},
		{"blocks", strings.Repeat("do ", size/8) + strings.Repeat(" end", size/8), "nested more than"},
		{"elseif", "if a then " + repeat("elseif a then ") + "end", "nested more than"},
		{"open parentheses", "x = " + repeat("("), "syntax error"},
		{"a long number", "x = " + repeat("9"), ""},
		{"a long name", repeat("x") + " = 1", ""},
		{"a long comment", "--[==[" + repeat("]") + "]==]", ""},
		{"many numbers", "x = {" + manyNumbers(engine.MaxSource-200) + "}", "too many different constants in one function"},
		{"gotos and labels", manyGotos(), "too many labels and gotos in one function"},
		{"many locals", strings.Repeat("local x = 1\n", 300), "too many local variables"},
		{"many labels", "do goto l end ::l:: " + strings.Repeat("do goto m end ", 10000) + "::m::", ""},
		{"too long", strings.Repeat("-", engine.MaxSource), "longer than 256 KB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := luaScript(c.code + "\nreturn tool{description = 'd', handler = function() end}")
			e := both(t, "none").Allow("memory", "cpu")
			_, describeErr := e.Describe(s)
			compileErr := e.Compile(s)
			err := errors.Join(describeErr, compileErr)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("Describe, Compile: %.200v, want %q", err, c.want)
			}
		})
	}
}

// manyGotos returns gotos that jump forward, and then their labels.
func manyGotos() string {
	var b strings.Builder
	for _, line := range []string{"goto l%d\n", "::l%d::\n"} {
		for i := range 5_000 {
			fmt.Fprintf(&b, line, i)
		}
	}
	return b.String()
}

// manyNumbers writes as many different numbers as fit.
func manyNumbers(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size-10; i++ {
		fmt.Fprintf(&b, "%d,", i)
	}
	return b.String()
}

func FuzzLuaDescribe(f *testing.F) {
	f.Add(luaFields)
	f.Add("return tool{description = 'd', handler = function() end}")
	f.Add("local a, b = 1\nfunction t.x:y() end\nrepeat local z until z\nreturn tool{handler = b}")
	f.Add("goto x ::x:: for i = 1, 2, 3 do break end for k in pairs{} do end x.y[1] = #-not 1 ^ 2 .. '\\255'")
	f.Add("return tool{params = { a = param{default = -{}} }, examples = { example('', {a = null}) }}")
	f.Fuzz(func(t *testing.T, source string) {
		e := engine.New(nil)
		s := luaScript(source)
		got, err := e.Describe(s)
		var known *value.Error
		if err != nil && (!errors.As(err, &known) || known.Pos.File != s.Path) {
			t.Errorf("Describe(%q): %#v is no error with a place", source, err)
		}
		if err == nil && (got.Name != "sample" || got.Description == "") {
			t.Errorf("Describe(%q) = %+v", source, got)
		}
		if err := e.Compile(s); err != nil && !errors.As(err, &known) {
			t.Errorf("Compile(%q): %#v", source, err)
		}
		md := tool.Script{Path: "sample.md", Source: "---\ndescription: d\n---\n```lua\n" + source + "\n```\n"}
		if _, err := e.Describe(md); err != nil && !errors.As(err, &known) {
			t.Errorf("Describe(Markdown of %q): %#v", source, err)
		}
	})
}
