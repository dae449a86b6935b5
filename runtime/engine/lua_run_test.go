package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// luaTool is a tool with a handler with this body, all on line 1.
func luaTool(body string) tool.Script {
	return luaScript("return tool{description = 'd', handler = function(args) " + body + " end}")
}

// luaModules are a module of effects, and one of pure functions that return
// their arguments.
func luaModules() []tool.Module {
	text := func(name string) tool.Param {
		return tool.Param{Name: name, Type: tool.Type{Name: tool.TypeString}}
	}
	path := text("path")
	path.Required, path.Aliases = true, []string{"file"}
	object := &tool.Type{Name: tool.TypeObject}
	echo := func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
		return tool.Outcome{Value: e.Args}, nil
	}
	return []tool.Module{
		{Name: "fs", Funcs: []tool.Func{
			{Name: "read", Params: []tool.Param{path, text("encoding")}, Kind: tool.Read},
			{Name: "list", Params: []tool.Param{text("path"), {Name: "recursive", Type: tool.Type{Name: tool.TypeBoolean}, Default: false, HasDefault: true}}, Kind: tool.Read},
			{Name: "hidden", Kind: tool.Read, Mode: tool.ModeInternal},
		}},
		{Name: "pure", Funcs: []tool.Func{
			{Name: "encode", Kind: tool.Pure, Params: []tool.Param{{Name: "value", Type: tool.Type{Name: tool.TypeAny}, Required: true}, {Name: "indent", Type: tool.Type{Name: tool.TypeInteger}}}, Do: echo},
			{Name: "post", Params: []tool.Param{text("url"), {Name: "headers", Type: tool.Type{Name: tool.TypeObject}}, {Name: "items", Type: tool.Type{Name: tool.TypeArray, Items: object}}}, Kind: tool.External},
			{Name: "fail", Kind: tool.Pure, Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
				return tool.Outcome{}, value.Errorf(value.NotFound, "no such thing: %d%%s", 5).WithHint("try another")
			}},
			{Name: "big", Kind: tool.Pure, Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
				return tool.Outcome{Value: int64(1) << 60}, nil
			}},
			{Name: "panics", Kind: tool.Pure, Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) { panic("a fault of ours") }},
		}},
		{Name: "math", Funcs: []tool.Func{
			{Name: "sum", Kind: tool.Pure, Params: []tool.Param{{Name: "values", Type: tool.Type{Name: tool.TypeArray}}}, Do: echo},
			{Name: "floor", Kind: tool.Pure, Do: echo},
		}},
		{Funcs: []tool.Func{{Name: "progress", Params: []tool.Param{text("message")}, Kind: tool.Notice}}},
	}
}

// A world records effects and returns its own text for each.
type world struct{ effects []string }

func (w *world) do(_ context.Context, e tool.Effect) (tool.Outcome, error) {
	w.effects = append(w.effects, fmt.Sprintf("%s %s%s", e.StepPath, e.Func, value.FormatJSON(e.Args, "")))
	if e.Func == "random.seed" {
		return tool.Outcome{Value: int64(7)}, nil
	}
	return tool.Outcome{Value: "text of " + e.Args.Text("path")}, nil
}

// runLua runs a tool's handler and returns its result as JSON.
func runLua(t *testing.T, s tool.Script, args *value.Dict) (string, *world, error) {
	t.Helper()
	w := &world{}
	out, err := both(t, "lua").Run(t.Context(), s, tool.Call{Args: args}, w.do)
	return value.FormatJSON(out.Value, ""), w, err
}

func TestLuaRun(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"nothing", "", "null"},
		{"an argument", "return args.n + 1", "4"},
		{"an absent argument", "return args.other == nil", "true"},
		{"null is absent", "return args.none == nil and next({none = args.none}) == nil", "true"},
		{"only the first result counts", "return 1, 2", "1"},
		{"strings have methods", "return ('ab'):upper() .. #'abc'", `"AB3"`},
		{"a method of the script's own", "string.twice = function(s) return s .. s end return ('ab'):twice()", `"abab"`},
		{"print is a log", "print('a', 1, nil, {} ~= nil) return 1", "1"},
		{"a pure function", "return pure.encode('x')", `{"value":"x"}`},
		{"an effect", "return fs.read('a')", `"text of a"`},
		{"a function without a module", "progress('half') return 1", "1"},
		{"Lua's library and ours under one name", "return math.floor(2.5) + #math.sum({1, 2}).values", "4"},
		{"texts without addresses", "local t, f = {}, function() end return { tostring(t), string.format('%s %s', f, t), tostring(coroutine.create(f)), tostring(t) }", `["table: 0x00000001","function: 0x00000002 table: 0x00000001","thread: 0x00000003","table: 0x00000001"]`},
		{"_G has everything", "return _G.fs.read('a') .. _G['math'].pi .. tostring(_G._G == _G)", `"text of a3.141592653589793true"`},
		{"internal functions do not exist", "return fs.hidden == nil", "true"},
		{"random numbers are recorded", "local a = math.random(1, 6) math.randomseed(1) local b = math.random() math.randomseed(1) return b == math.random() and a >= 1 and a <= 6", "true"},
		{"a coroutine", "local co = coroutine.wrap(function(a) local b = coroutine.yield(a + 1) return b * 2 end) return {co(1), co(10)}", "[2,20]"},
		{"a coroutine with effects", "return coroutine.wrap(function() return fs.read('a') end)()", `"text of a"`},
		{"a thousand finished coroutines", "local n = 0 for i = 1, 1000 do n = n + coroutine.wrap(function() return 1 end)() end return n", "1000"},
		{"a coroutine that fails has ended", "local co = coroutine.wrap(function() error('x') end) pcall(co) local ok, err = pcall(co) return err:match('can not resume a dead thread') and coroutine.running() == nil", "true"},
		{"as deep as in the interpreter", "local function d(n) if n == 0 then return 0 end return 1 + d(n - 1) end return d(190)", "190"},
		{"many results", "local t = {} for i = 1, 50000 do t[i] = i end return select('#', unpack(t))", "50000"},
		{"a long concat", "local t = {} for i = 1, 100000 do t[i] = 'x' end return #table.concat(t, ', ')", "299998"},
		{"sort by a function", "local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return t", "[3,2,1]"},
		{"a goto", "local n = 0 ::again:: n = n + 1 if n < 3 then goto again end return n", "3"},
		{"format", "return string.format('%5.1f|%-4s|%d|%x|%q|%s|%s|%%|%u|%i|%c', 3.14159, 'a', '12', 255, 'a\"b', null, nil, 3, 4, 65)", `"  3.1|a   |12|ff|\"a\\\"b\"|null|nil|%|3|4|A"`},
		{"a closed state of its own", "counter = (counter or 0) + 1 return counter", "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := runLua(t, luaTool(c.body), value.NewDict("n", int64(3), "none", nil))
			if err != nil || got != c.want {
				t.Errorf("%s = %s, %v; want %s", c.body, got, err, c.want)
			}
		})
	}
}

// TestLuaCallsByName: a table of names at the end holds the named arguments.
func TestLuaCallsByName(t *testing.T) {
	for _, c := range []struct{ call, effect, want string }{
		{`fs.read("a")`, `1 fs.read{"path":"a"}`, ""},
		{`fs.read{path = "a"}`, `1 fs.read{"path":"a"}`, ""},
		{`fs.read({path = "a", encoding = "utf-8"})`, `1 fs.read{"path":"a","encoding":"utf-8"}`, ""},
		{`fs.read{file = "a"}`, `1 fs.read{"path":"a"}`, ""},
		{`fs.read("a", nil)`, `1 fs.read{"path":"a"}`, ""},
		{`fs.list()`, `1 fs.list{"recursive":false}`, ""},
		{`fs.list{}`, `1 fs.list{"recursive":false}`, ""},
		{`fs.list{recursive = true}`, `1 fs.list{"recursive":true}`, ""},
		{`fs.list("docs", {recursive = true})`, `1 fs.list{"path":"docs","recursive":true}`, ""},
		{`fs.list("docs", true, {})`, `1 fs.list{"path":"docs","recursive":true}`, ""},
		{`pure.encode{a = 1}`, "", `{"value":{"a":1}}`},
		{`pure.encode{value = 1}`, "", `{"value":{"value":1}}`},
		{`pure.encode({a = 1}, {indent = 2})`, "", `{"value":{"a":1},"indent":2}`},
		{`pure.encode({}, {indent = 2})`, "", `{"value":[],"indent":2}`},
		{`pure.encode(nil)`, "", `{"value":null}`},
		{`pure.encode(1, nil)`, "", `{"value":1}`},
		{`pure.post("u", {})`, `1 pure.post{"url":"u","headers":{}}`, ""},
		{`pure.post("u", {url = "x"})`, `1 pure.post{"url":"u","headers":{"url":"x"}}`, ""},
		{`pure.post{url = "u", headers = {}, items = {{}, {a = {}}}}`, `1 pure.post{"url":"u","headers":{},"items":[{},{"a":[]}]}`, ""},
	} {
		got, w, err := runLua(t, luaTool("return "+c.call), nil)
		if err != nil || c.want != "" && got != c.want {
			t.Errorf("%s = %s, %v; want %s", c.call, got, err, c.want)
		}
		if effects := strings.Join(w.effects, "\n"); effects != c.effect {
			t.Errorf("%s: effects %s, want %s", c.call, effects, c.effect)
		}
	}
	for _, c := range []struct{ call, want string }{
		{`fs.read()`, `fs.read: missing argument "path"`},
		{`fs.read({})`, `fs.read: missing argument "path"`},
		{`fs.read{pth = "a"}`, `fs.read: unexpected argument "pth"; did you mean "path"?`},
		{`fs.read("a", {path = "b"})`, `fs.read: argument "path" is given twice`},
		{`fs.read{"a"}`, `fs.read: argument 'path' should be string but got`},
		{`fs.read(3)`, `fs.read: argument 'path' should be string but got`},
		{`fs.read("a", "b", "c")`, `fs.read: too many arguments: expected at most 2 but got 3`},
		{`fs.read(print)`, `fs.read: expected data but got a function`},
		{`fs.read("\255")`, `fs.read: argument 'path' should be string but got`},
	} {
		_, w, err := runLua(t, luaTool("return "+c.call), nil)
		if got := value.ErrorOf(err, value.Internal); got == nil || !strings.HasPrefix(got.Message(), c.want) || len(w.effects) > 0 {
			t.Errorf("%s: %v, %d effects; want %s", c.call, err, len(w.effects), c.want)
		}
	}
}

func TestLuaErrors(t *testing.T) {
	for _, c := range []struct {
		name, body string
		kind       value.Kind
		want, hint string
	}{
		{"error", "error('the file is empty')", value.Failed, "the file is empty", ""},
		{"error with a colon", "error('sample.lua: 3: no')", value.Failed, "sample.lua: 3: no", ""},
		{"error without a place", "error('no', 0)", value.Failed, "no", ""},
		{"error of the caller", "local function f() error('no', 2) end f()", value.Failed, "no", ""},
		{"error with per cent", "error('100%d %s')", value.Failed, "100%d %s", ""},
		{"error with bytes", "error('a\\255b', 0)", value.Failed, "a\ufffdb", ""},
		{"error with a message", "error({message = 'no', code = 3})", value.Failed, "no", ""},
		{"error with a table", "error({code = 3})", value.Failed, `{"code":3}`, ""},
		{"error with a table that holds itself", "local t = {} t.t = t error(t)", value.Failed, "the error value cannot be displayed: the value is nested", ""},
		{"error with a number", "error(42)", value.Failed, "42", ""},
		{"error with a type", "error({message = 'no', type = 'validation_error', hint = 'pass 1'})", value.Invalid, "no", "pass 1"},
		{"error for a system", "local ok, err = pcall(error, {message = 'no', type = 'system_error'}) error(err)", value.System, "no", ""},
		{"error with a type of the host", "error({message = 'no', type = 'parked'})", value.Failed, `unknown error type "parked"; the error was: no`, "use one of the types: user_error, validation_error, system_error, command_failed"},
		{"error with a number as type", "error({message = 'no', type = 3, hint = {}})", value.Failed, `unknown error type "3"; the error was: no`, "user_error"},
		{"error with nothing", "error(nil)", value.Failed, "nil", ""},
		{"error with a function", "error(print)", value.Failed, "the error value is a function", ""},
		{"assert", "assert(false, 'no')", value.Failed, "no", ""},
		{"assert without a message", "assert(1 == 2)", value.Internal, "assertion failed!", ""},
		{"nil", "local x x.y = 1", value.Internal, "attempt to index a non-table object(nil) with key 'y'", ""},
		{"arithmetic", "return 1 + {}", value.Internal, "cannot perform add operation between number and table", ""},
		{"a wrong argument", "return ('x'):rep({})", value.Internal, "bad argument #2 to rep (number expected, got table)", ""},
		{"too deep", "local function f() return 1 + f() end f()", value.Internal, "stack overflow", ""},
		{"an empty interval", "return math.random(3, 2)", value.Internal, "bad argument #2 to random (interval is empty)", ""},
		{"io", "io.open('x')", value.Internal, "attempt to index a non-table object(nil) with key 'open'", "fs.read(path)"},
		{"require", "require('x')", value.Internal, "attempt to call a non-function object", "a Lua tool is one file"},
		{"a name of the script's own gives no hint", "local os = nil os.x()", value.Internal, "attempt to index", "os is not available"},
		{"a function of a module", "pure.fail()", value.NotFound, "pure.fail: no such thing: 5%s", "try another"},
		{"raised again", "local ok, err = pcall(pure.fail) error(err, 0)", value.NotFound, "pure.fail: no such thing: 5%s", "try another"},
		{"raised again with a place", "local ok, err = pcall(pure.fail) error(err)", value.NotFound, "pure.fail: no such thing: 5%s", "try another"},
		{"raised in other words", "local ok, err = pcall(pure.fail) error('sorry: ' .. err)", value.Failed, "sorry: pure.fail: no such thing: 5%s", ""},
		{"in a coroutine", "coroutine.wrap(function() pure.fail() end)()", value.NotFound, "pure.fail: no such thing: 5%s", "try another"},
		{"error in a coroutine", "coroutine.wrap(function() error('no') end)()", value.Failed, "no", ""},
		{"error in a coroutine in another", "coroutine.wrap(function() coroutine.wrap(function() error('no') end)() end)()", value.Failed, "no", ""},
		{"nil in a coroutine", "coroutine.wrap(function() local x = nil + 1 end)()", value.Internal, "cannot perform add operation between nil and number", ""},
		{"an interpreter's fault", "pure.panics()", value.Internal, "the interpreter failed: a fault of ours", ""},
		{"a coroutine of a builtin", "coroutine.wrap(print)()", value.Internal, "bad argument #1 to wrap (function of the script expected, got a builtin)", ""},
		{"a function as result", "return print", value.Failed, "expected data but got a function", "call the function"},
		{"a coroutine as result", "return coroutine.create(function() end)", value.Failed, "expected data but got a value of type thread", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := runLua(t, luaTool(c.body), nil)
			var e *value.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if e.Kind != c.kind || !strings.HasPrefix(e.Message(), c.want) || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("error %v %q, hint %q; want %v %q, %q", e.Kind, e.Message(), e.Hint, c.kind, c.want, c.hint)
			}
			if strings.Contains(c.body, "return print") || strings.Contains(c.body, "return coroutine.create") {
				return // no line of the script is at fault
			}
			if e.Pos != (value.Position{File: "sample.lua", Line: 1}) {
				t.Errorf("at %v, want sample.lua:1", e.Pos)
			}
		})
	}
}

func TestLuaPcall(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"return {pcall(function(...) return select('#', ...), ... end, 1, 2, 3)}", "[true,3,1,2,3]"},
		{"return {pcall(error, 'x', 0)}", `[false,"x"]`},
		{"local ok, err = pcall(error, {code = 3}) return err.code", "3"},
		{"return {pcall(nil)}", `[false,"attempt to call a nil value"]`},
		{"return {pcall(setmetatable({}, {__call = function(t, x) return x end}), 5)}", "[true,5]"},
		{"local ok, err = pcall(function() local x = nil; x() end) return err", `"sample.lua:1: attempt to call a non-function object"`},
		{"local ok, err = pcall(fs.read) return {ok, type(err), err}", `[false,"string","fs.read: missing argument \"path\""]`},
		{"local ok, err = pcall(pure.fail) return 'not found: ' .. err", `"not found: pure.fail: no such thing: 5%s"`},
		{"local ok, err = pcall(pure.fail) return err:match('no such (%w+)')", `"thing"`},
		{"local ok, err, more = pcall(pure.fail) return more", `{"error_type":"validation_error","hint":"try another"}`},
		{"local ok, err, more = pcall(fs.read) return more.error_type", `"validation_error"`},
		{"local ok, err, more = pcall(error, {message = 'no', type = 'x'}) return {err.type, more}", `["x"]`},
		{"return {pcall(pcall, error, 'x', 0)}", `[true,false,"x"]`},
		{"return {xpcall(function() return 1, 2 end, print)}", "[true,1,2]"},
		{"return {xpcall(function() error('x', 0) end, function(e) return e .. '!', 2 end)}", `[false,"x!"]`},
		{"return {xpcall(function() error('x', 0) end, function(e) error('y', 0) end)}", `[false,"y"]`},
		{"local n = 0 for i = 1, 100 do if not pcall(error) then n = n + 1 end end return n", "100"},
		{"local function d(n) if n == 0 then return 0 end local _, v = pcall(d, n - 1) return 1 + v end return d(60)", "60"},
		{"local function d() return 1 + d() end return {pcall(d)}", `[false,"sample.lua:1: stack overflow"]`},
		{"local up = 1 pcall(function() up = 2 error('x') end) return up", "2"},
		{"local f pcall(function() local x = 5 f = function() return x end error('x') end) return f()", "5"},
		{"local f xpcall(function() local x = 5 f = function() return x end error('x') end, function() local y = 7 end) return f()", "5"},
		{"local co = coroutine.wrap(function() local ok, err = pcall(function() coroutine.yield(1) end) return err end) return co()", `"sample.lua:1: attempt to yield across a builtin, such as pcall or table.sort"`},
	} {
		got, _, err := runLua(t, luaTool(c.body), nil)
		if err != nil || got != c.want {
			t.Errorf("%s = %s, %v; want %s", c.body, got, err, c.want)
		}
	}
}

func TestLuaTrace(t *testing.T) {
	s := luaScript(`local function inner(x)
  error("too " .. x)
end
function outer(x)
  local list = { x }
  table.sort({ 2, 1 }, function(a, b)
    inner(list[1])
  end)
end
return tool{
  description = "d",
  handler = function(args)
    outer("bad")
    return 1
  end,
}`)
	_, _, err := runLua(t, s, nil)
	e := value.ErrorOf(err, value.Internal)
	if e == nil || e.Error() != "sample.lua:2: too bad" {
		t.Fatalf("error %v, want sample.lua:2: too bad", err)
	}
	want := []string{"sample.lua:13: in handler", "sample.lua:6: in outer", "sample.lua:7: in a function of line 6", "sample.lua:2: in inner"}
	if diff := cmp.Diff(want, e.Trace); diff != "" {
		t.Errorf("Trace (-want +got):\n%s", diff)
	}
	_, _, err = runLua(t, luaScript("local x = nil\nlocal y = x.z\nreturn tool{description = 'd', handler = function() end}"), nil)
	e = value.ErrorOf(err, value.Internal)
	if e == nil || e.Pos.Line != 2 || !slices.Equal(e.Trace, []string{"sample.lua:2: in main chunk"}) {
		t.Errorf("error %v, want one at line 2 of the main chunk", err)
	}
	nested := value.Errorf(value.Failed, "the inner tool's")
	nested.Pos, nested.Trace = value.Position{File: "inner.star", Line: 9}, []string{"inner.star:9:1: in f"}
	_, err = both(t, "lua").Run(t.Context(), luaTool("fs.read('a')"), tool.Call{},
		func(context.Context, tool.Effect) (tool.Outcome, error) { return tool.Outcome{}, nested })
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Pos != nested.Pos || !slices.Equal(e.Trace, nested.Trace) {
		t.Errorf("error %#v, want the place in the inner tool", e)
	}
}

func TestLuaTopLevel(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"pure functions", "local x = pure.encode(1).value\nreturn tool{description = 'd', handler = function() return x end}", "1"},
		{"print", "print('loading')\nreturn tool{description = 'd', handler = function() return 1 end}", "1"},
		{"no effects", "local x = fs.read('a')\nreturn tool{description = 'd', handler = function() end}", "error: fs.read is only available inside a function"},
		{"no effects in a pcall", "local ok, err = pcall(fs.read, 'a')\nreturn tool{description = 'd', handler = function() return {ok, err} end}", `[false,"fs.read is only available inside a function"]`},
		{"no random numbers", "math.random()\nreturn tool{description = 'd', handler = function() end}", "error: math.random is only available inside a function"},
		{"a declaration is not run", "return tool{description = 'd', params = {x = param('string', {default = ''})}, handler = function() return param == nil and tool == nil and example == nil end}", "true"},
		{"made anew for each call", "local n = 0\nreturn tool{description = 'd', handler = function() n = n + 1 return n end}", "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 2 {
				got, _, err := runLua(t, luaScript(c.source), nil)
				if err != nil {
					got = "error: " + value.ErrorOf(err, value.Internal).Message()
				}
				if got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			}
		})
	}
}

func TestLuaEntry(t *testing.T) {
	s := luaScript(`local function there(args) return next(args) == nil and "here" end
local function hidden() return 1 end
return tool{description = "d", available = there, handler = function() return hidden() end}`)
	e := both(t, "none")
	described, err := e.Describe(s)
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Run(t.Context(), s, tool.Call{Entry: described.Available}, nil)
	if err != nil || out.Value != "here" {
		t.Errorf("Run(available) = %v, %v; want here", out.Value, err)
	}
	for _, entry := range []string{"hidden", "there", "description", "print", "nowhere"} {
		_, err := e.Run(t.Context(), s, tool.Call{Entry: entry}, nil)
		if want := fmt.Sprintf("function not found: %q", entry); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run(%s): %v, want %s", entry, err, want)
		}
	}
}

func TestLuaEmptyTables(t *testing.T) {
	for _, c := range []struct{ returns, body, want string }{
		{"nil", "return {}", "[]"},
		{"'object'", "return {}", "{}"},
		{"'array'", "return {}", "[]"},
		{"'list'", "return {}", "[]"},
		{"'dict[str, list[str]]'", "return {a = {}, b = {'x'}}", `{"a":[],"b":["x"]}`},
		{"'list[dict]'", "return {{}, {a = {}}}", `[{},{"a":[]}]`},
		{"param{type = 'object', properties = {o = 'object', l = 'array', d = 'dict[str, dict]'}}", "return {o = {}, l = {}, d = {x = {}}, other = {}}", `{"o":{},"l":[],"d":{"x":{}},"other":[]}`},
	} {
		s := luaScript("return tool{description = 'd', returns = " + c.returns + ", handler = function(args) " + c.body + " end}")
		got, _, err := runLua(t, s, nil)
		want, parseErr := value.ParseJSON([]byte(c.want))
		if parseErr != nil {
			t.Fatal(parseErr)
		}
		value, gotErr := value.ParseJSON([]byte(got))
		if err != nil || gotErr != nil || !sameFields(value, want) {
			t.Errorf("returns %s: %s = %s, %v; want %s", c.returns, c.body, got, err, c.want)
		}
	}
}

// sameFields compares two values but ignores the order of fields, which a table
// constructor of Lua does not guarantee.
func sameFields(a, b value.Value) bool {
	x, okX := a.(*value.Dict)
	y, okY := b.(*value.Dict)
	if !okX || !okY {
		return value.Equal(a, b)
	}
	for k, v := range x.All() {
		other, ok := y.Get(k.(string))
		if !ok || !sameFields(v, other) {
			return false
		}
	}
	return x.Len() == y.Len()
}

// TestLuaStatesShareNothing is I02 and I04: no call sees what another one does to its
// globals, its libraries and its strings.
func TestLuaStatesShareNothing(t *testing.T) {
	s := luaScript(`local kept = (kept or 0) + 1
return tool{description = "d", handler = function(args)
  if args.poison then
    string.upper, string.format, math.pi, table.insert = nil, print, 3, error
    for k in pairs(_G) do if k ~= "pairs" then _G[k] = nil end end
    leaked, kept = "secret", 99
    return "poisoned"
  end
  return { ("x"):upper(), string.format("%d", 1), math.pi > 3.1, leaked == nil, kept, fs.read("a"), tostring(null), pcall(getmetatable, "") }
end}`)
	e := both(t, "lua")
	w := &world{}
	const want = `["X","1",true,true,1,"text of a","null",true,false]`
	for i, poison := range []bool{false, true, false, true, true, false} {
		out, err := e.Run(t.Context(), s, tool.Call{Args: value.NewDict("poison", poison)}, w.do)
		if got := value.FormatJSON(out.Value, ""); err != nil || !poison && got != want {
			t.Errorf("call %d: %s, %v; want %s", i, got, err, want)
		}
	}
	for _, body := range []string{
		"getmetatable('').__index = {}", "setmetatable('', {})", "setmetatable(null, {})", "setmetatable(print, {})",
		"getmetatable(null).__tostring = nil", "rawset(getmetatable(''), '__index', nil)", "null.x = 1",
	} {
		if _, _, err := runLua(t, luaTool(body), nil); value.KindOf(err) != value.Internal {
			t.Errorf("%s: %v, want an error of the script", body, err)
		}
	}
}

func TestLuaConcurrently(t *testing.T) {
	e := both(t, "lua")
	s := luaTool(`local co = coroutine.wrap(function(n) coroutine.yield(n) error("x") end)
local first = co(args.n) pcall(co)
return { first, ("a%sb"):format(args.n):gsub("%a", string.upper), math.random(1, 3) > 0, tostring(null), fs.read{path = "a"} }`)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			w := &world{}
			for range 25 {
				out, err := e.Run(t.Context(), s, tool.Call{Args: value.NewDict("n", int64(n))}, w.do)
				want := fmt.Sprintf(`[%d,"A%dB",true,"null","text of a"]`, n, n)
				if got := value.FormatJSON(out.Value, ""); err != nil || got != want {
					t.Errorf("call = %s, %v; want %s", got, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkLuaCall(b *testing.B) {
	s := luaTool("return args.n + 1")
	s.Hash = s.Sum()
	e, args := engine.New(&engine.Options{Modules: luaModules()}), value.NewDict("n", int64(1))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Run(context.Background(), s, tool.Call{Args: args}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLuaCallLibraries is a tool that uses most of the library.
func BenchmarkLuaCallLibraries(b *testing.B) {
	s := luaTool("return _G.math.floor(args.n) + #string.rep('a', 3)")
	s.Hash = s.Sum()
	e, args := engine.New(&engine.Options{Modules: luaModules()}), value.NewDict("n", int64(1))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Run(context.Background(), s, tool.Call{Args: args}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
