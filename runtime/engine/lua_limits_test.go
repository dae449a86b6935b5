package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The cases of hostile Lua that an engine contains by itself, with their numbers in the
// list of attacks. It cannot contain three of them, where one operation of the
// interpreter takes all memory before any check: R35 (t[67108863] = 1), doubling a
// string with .., and what a script keeps in tables. The worker process contains those.

// bomb runs a handler's body under the default limits and returns the error and the
// allocated bytes.
func bomb(t *testing.T, body string, call tool.Call) (*value.Error, uint64) {
	t.Helper()
	e := both(t, "lua")
	var before, after runtime.MemStats
	e.Around = func(run func()) {
		runtime.ReadMemStats(&before)
		run()
		runtime.ReadMemStats(&after)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	_, err := e.Run(ctx, luaTool(body), call, (&world{}).do)
	return value.ErrorOf(err, value.Internal), after.TotalAlloc - before.TotalAlloc
}

// TestLuaBombs has a fifth of the default limit of steps, except in make soak.
func TestLuaBombs(t *testing.T) {
	testutil.SkipShort(t)
	limits := tool.Limits{Steps: int64(testutil.Times(tool.DefaultSteps/5, tool.DefaultSteps))}
	const megabyte = 1 << 20
	for _, c := range []struct {
		id, body, limit string
		allocated       uint64 // in all, at most
	}{
		{"R32 while", "while true do end", "steps", megabyte},
		{"R32 goto", "::again:: goto again", "steps", megabyte},
		{"R32 repeat and pcall", "repeat pcall(function() while true do end end) until false", "steps", megabyte},
		{"R32 pcall as a tail call", "return pcall(function() while true do end end)", "steps", megabyte},
		{"R32 nested pcalls", "local function f() while true do pcall(f) end end f()", "steps", 64 * megabyte},
		{"R32 xpcall handler loop", "repeat xpcall(function() error('x') end, function() while true do end end) until false", "steps", megabyte},
		{"R32 xpcall of itself", "local function f() xpcall(f, f) end while true do f() end", "steps", 64 * megabyte},
		{"R32 in a coroutine", "coroutine.wrap(function() while true do end end)()", "steps", megabyte},
		{"R32 in a coroutine's pcall", "local co = coroutine.create(function() while true do pcall(function() while true do end end) end end) while true do coroutine.resume(co) end", "steps", 64 * megabyte},
		{"R32 in a metamethod", "local t = setmetatable({}, {__index = function() while true do end end}) while true do pcall(function() return t.x end) end", "steps", megabyte},
		{"R32 in a sort", "table.sort({3, 2, 1}, function() while true do end end)", "steps", megabyte},
		{"R32 in a gsub", "('aaa'):gsub('a', function() while true do end end)", "steps", megabyte},
		{"R33 tail calls", "local function f() return f() end f()", "steps", megabyte},
		{"R33 tail calls in a pcall", "local function f() return f() end while true do pcall(f) end", "steps", megabyte},
		{"R33 tail calls in a coroutine", "local function f() return f() end coroutine.wrap(f)()", "steps", megabyte},
		{"R33 errors above many tail calls", "local function f(n) if n == 0 then while true do pcall(error, 'x') end end return f(n - 1) end f(500000)", "steps", 64 * megabyte},
		{"R33 overflows above many tail calls", "local function f(n) if n == 0 then local function g() g() end while true do pcall(g) end end return f(n - 1) end f(500000)", "steps", 64 * megabyte},
		{"R33 failing handlers above many tail calls", "local function f(n) if n == 0 then while true do xpcall(error, error) end end return f(n - 1) end f(500000)", "steps", 64 * megabyte},
		{"R34 string.rep 1e9", "return ('a'):rep(1e9)", "memory", megabyte},
		{"R34 string.rep 1e12", "return ('a'):rep(1e12)", "memory", megabyte},
		{"R34 string.rep 2^63", "return ('ab'):rep(2^63 - 1024)", "memory", megabyte},
		{"R34 string.rep again and again", "while true do local s = ('a'):rep(8 * 2^20) end", "steps", 512 * megabyte},
		{"R36 coroutine bomb", "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end", "memory", 16 * megabyte},
		{"R36 unfinished coroutines", "local t = {} while true do t[#t + 1] = coroutine.wrap(function() coroutine.yield() end) t[#t]() end", "memory", 16 * megabyte},
		{"R36 nested wrap", "local function f() coroutine.wrap(f)() end f()", "memory", 16 * megabyte},
		{"R36 nested create and resume", "local function f() return select(2, coroutine.resume(coroutine.create(f))) end error(f())", "memory", 16 * megabyte},
		{"R36 finished coroutines", "while true do coroutine.wrap(function() end)() end", "steps", 1024 * megabyte},
		{"R37 optional letters", "return (('a'):rep(30)):find(('a?'):rep(30) .. ('a'):rep(30))", "steps", megabyte},
		{"R37 lazy letters", "return (('a'):rep(1000)):find(('a-'):rep(12) .. 'b')", "steps", megabyte},
		{"R37 many stars", "return (('a'):rep(1000)):find(('.*'):rep(20) .. 'b')", "steps", megabyte},
		{"R37 quadratic", "return (('a'):rep(1e5)):find('.*b')", "steps", megabyte},
		{"R37 unbalanced", "return (('('):rep(1e6)):find('%b()')", "steps", 4 * megabyte},
		{"R37 back references", "return (('a'):rep(1e5)):find('(.*)%1b')", "steps", megabyte},
		{"R37 in a gmatch", "for _ in (('a'):rep(1e5)):gmatch('.-b') do end", "steps", megabyte},
		{"R37 in a pcall", "while true do pcall(string.find, ('a'):rep(1e5), '.*b') end", "steps", megabyte},
		{"R38 gsub by a long text", "return (('a'):rep(1e6)):gsub('', ('b'):rep(1e6))", "memory", 64 * megabyte},
		{"R38 gsub by a function", "local s = ('b'):rep(1e6) return (('a'):rep(1e6)):gsub('a', function() return s end)", "memory", 64 * megabyte},
		{"R38 gsub by the match", "return (('a'):rep(1e6)):gsub('.*', ('%0'):rep(100))", "memory", 64 * megabyte},
		{"R38 format", "local s = ('x'):rep(1e6) return (('%s'):rep(20)):format(s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s)", "memory", 16 * megabyte},
		{"R40 concat with long separators", "local t = {} for i = 1, 1000 do t[i] = '' end return table.concat(t, ('x'):rep(1e5))", "memory", 4 * megabyte},
	} {
		t.Run(c.id, func(t *testing.T) {
			err, allocated := bomb(t, c.body, tool.Call{Limits: limits})
			if err == nil || string(err.Limit) != c.limit || c.limit != "" && err.Kind != value.Limit {
				t.Errorf("error %v, limit %q; want limit %q", err, err.Limit, c.limit)
			}
			if allocated > c.allocated {
				t.Errorf("allocated %d MB, want at most %d MB", allocated/megabyte, c.allocated/megabyte)
			}
		})
	}
}

// TestLuaFailsSoon has bombs that end as plain errors of the script.
func TestLuaFailsSoon(t *testing.T) {
	for _, c := range []struct{ id, body, want string }{
		{"R36 coroutines that resume each other", "local a, b a = coroutine.wrap(function() b() end) b = coroutine.wrap(function() a() end) a()", "can not resume a normal thread"},
		{"R36 coroutines that resume each other, unwrapped", "local a, b a = coroutine.create(function() error((select(2, coroutine.resume(b)))) end) b = coroutine.create(function() return select(2, coroutine.resume(a)) end) error(select(2, coroutine.resume(a)), 0)", "can not resume a normal thread"},
		{"R36 a coroutine that resumes itself", "local co co = coroutine.wrap(function() co() end) co()", "can not resume a running thread"},
		{"R40 concat of nothing", "return table.concat({}, '', 1, 1e8)", "invalid value (nil) at index 1"},
		{"R40 unpack", "return unpack({}, 1, 1e8)", "too many results to unpack"},
		{"R40 unpack of everything", "return unpack({}, -2^53, 2^53)", "too many results to unpack"},
		{"too many arguments", "local t = {} for i = 1, 60000 do t[i] = i end return (function(...) return select('#', ..., ...) + select('#', ...) + #{unpack(t)} end)(unpack(t))", "registry overflow"},
		{"recursion through tostring", "return tostring(setmetatable({}, {__tostring = function(t) return tostring(t) end}))", "stack overflow"},
		{"recursion through __index", "local t = {} setmetatable(t, {__index = function(_, k) return t[k] end}) return t.x", "stack overflow"},
		{"recursion through sort", "local function f() table.sort({2, 1}, f) end f()", "stack overflow"},
		{"recursion through gsub", "local function f() return (('a'):gsub('a', f)) end f()", "stack overflow"},
		{"recursion through pcall", "local function f() local ok, err = pcall(f) if not ok then error(err, 0) end end f()", "stack overflow"},
		{"a loop of __index", "local t = {} setmetatable(t, {__index = t}) return t.x", "too many recursions"},
	} {
		t.Run(c.id, func(t *testing.T) {
			err, allocated := bomb(t, c.body, tool.Call{})
			if err == nil || !strings.Contains(err.Message(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if allocated > 64<<20 {
				t.Errorf("allocated %d MB", allocated>>20)
			}
		})
	}
}

// TestLuaTakenAway is I01 and R39: functions that open the machine, read code or expose
// the interpreter do not exist.
func TestLuaTakenAway(t *testing.T) {
	for _, name := range []string{
		"io", "os", "debug", "package", "channel", "require", "module", "dofile", "loadfile", "load", "loadstring",
		"newproxy", "collectgarbage", "setfenv", "getfenv", "_printregs", "_GOPHER_LUA_VERSION",
	} {
		got, _, err := runLua(t, luaTool(fmt.Sprintf("return %s == nil and _G[%q] == nil and rawget(_G, %q) == nil", name, name, name)), nil)
		if err != nil || got != "true" {
			t.Errorf("%s == nil: %s, %v; want true", name, got, err)
		}
	}
	got, _, err := runLua(t, luaTool("local names = {} for name in pairs(_G) do names[#names + 1] = name end table.sort(names) return table.concat(names, ' ')"), nil)
	const want = `"_G _VERSION assert coroutine error fs getmetatable ipairs math next null pairs pcall print progress pure rawequal rawget rawset select setmetatable string table tonumber tostring type unpack xpcall"`
	if err != nil || got != want {
		t.Errorf("globals: %s, %v; want %s", got, err, want)
	}
	for library, want := range map[string]string{
		"coroutine": "create resume running status wrap yield",
		"math":      "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min mod modf pi pow rad random randomseed sin sinh sqrt sum tan tanh",
		"string":    "byte char dump find format gfind gmatch gsub len lower match rep reverse sub upper",
		"table":     "concat getn insert maxn remove sort",
	} {
		got, _, err := runLua(t, luaTool("local names = {} for name in pairs("+library+") do names[#names + 1] = name end table.sort(names) return table.concat(names, ' ')"), nil)
		if err != nil || got != `"`+want+`"` {
			t.Errorf("%s: %s, %v; want %s", library, got, err, want)
		}
	}
}

func TestLuaSteps(t *testing.T) {
	e := bothSteps(t, "none", 1000)
	out, err := e.Run(t.Context(), luaTool("for i = 1, 10 do end"), tool.Call{}, nil)
	if err != nil || out.Usage.Steps < 10 || out.Usage.Steps > 100 {
		t.Errorf("a short loop took %d steps, %v; want 10 to 100", out.Usage.Steps, err)
	}
	out, err = e.Run(t.Context(), luaTool("while true do end"), tool.Call{}, nil)
	failed := value.ErrorOf(err, value.Internal)
	if failed == nil || failed.Message() != "the script took more than 1000 steps" || out.Usage.Steps != 1000 {
		t.Errorf("an endless loop: %d steps, %v; want 1000 and an error", out.Usage.Steps, err)
	}
	if failed != nil && (failed.Pos.Line != 1 || len(failed.Trace) != 1 || !strings.Contains(failed.Hint, "limits")) {
		t.Errorf("error at %v, trace %q, hint %q; want line 1, a trace and a hint", failed.Pos, failed.Trace, failed.Hint)
	}
	out, err = e.Run(t.Context(), luaTool("for i = 1, 1000 do end return 'done'"), tool.Call{Limits: tool.Limits{Steps: 100000}}, nil)
	if err != nil || out.Value != "done" {
		t.Errorf("with a higher limit: %v, %v; want done", out.Value, err)
	}
	loading := luaScript("while true do end\nreturn tool{description = 'd', handler = function() end}")
	if _, err := e.Run(t.Context(), loading, tool.Call{}, nil); value.ErrorOf(err, value.Internal).Limit != value.LimitSteps {
		t.Errorf("an endless top level: %v, want the limit of steps", err)
	}
}

func TestLuaStops(t *testing.T) {
	s := luaTool("while true do pcall(fs.read, 'a') end")
	e := both(t, "lua")
	unlimited := tool.Call{Limits: tool.Limits{Steps: 1 << 50}}

	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := e.Run(ctx, s, unlimited, func(context.Context, tool.Effect) (tool.Outcome, error) {
			cancel()
			return tool.Outcome{}, nil
		})
		if got := value.ErrorOf(err, value.Internal); got == nil || got.Kind != value.Canceled || got.Pos.Line != 1 {
			t.Errorf("error %v, want a cancellation at line 1", err)
		}
	})
	t.Run("cancelled before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := &world{}
		_, err := e.Run(ctx, s, unlimited, w.do)
		if value.KindOf(err) != value.Canceled || len(w.effects) > 0 {
			t.Errorf("error %v after %d effects, want a cancellation before the first", err, len(w.effects))
		}
	})
	t.Run("with a cause", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := value.Errorf(value.Limit, "the CPU time ran out")
		cause.Limit = value.LimitCPU
		_, err := e.Run(ctx, s, unlimited, func(context.Context, tool.Effect) (tool.Outcome, error) {
			cancel(cause)
			return tool.Outcome{}, nil
		})
		if got := value.ErrorOf(err, value.Internal); got == nil || got.Limit != value.LimitCPU || got.Message() != "the CPU time ran out" {
			t.Errorf("error %v, want the cause", err)
		}
	})
	for _, body := range []string{
		"while true do end",
		"while true do pcall(string.find, ('a'):rep(1e5), '.*b') end",
		"local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end",
		"while true do local co = coroutine.wrap(function() for _ in function() coroutine.yield() end do end end) pcall(co) pcall(co) end",
		"while true do pcall(function() local co = coroutine.create(function() return setmetatable({}, {__index = function() coroutine.yield() end}).x end) coroutine.resume(co) coroutine.resume(co) end) end",
	} {
		t.Run("deadline "+body, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := e.Run(ctx, luaTool(body), unlimited, nil)
			if got := value.ErrorOf(err, value.Internal); got == nil || got.Kind != value.Timeout || got.Limit != value.LimitWall {
				t.Errorf("error %v, want a timeout", err)
			}
		})
	}
	for _, final := range []*value.Error{
		{Kind: value.Limit, Limit: "effects", Err: fmt.Errorf("more than 1000 effects")},
		value.Errorf(value.Timeout, "the host's time ran out"),
		value.Errorf(value.Canceled, "the host gave up"),
	} {
		t.Run("final "+final.Message(), func(t *testing.T) {
			effects := 0
			_, err := e.Run(t.Context(), s, unlimited, func(context.Context, tool.Effect) (tool.Outcome, error) {
				effects++
				return tool.Outcome{}, final
			})
			if got := value.ErrorOf(err, value.Internal); got == nil || got.Message() != final.Message() || effects != 1 {
				t.Errorf("error %v after %d effects, want %v after 1", err, effects, final)
			}
		})
	}
}

func TestLuaWithoutWorld(t *testing.T) {
	_, err := both(t, "lua").Run(t.Context(), luaTool("fs.read('a')"), tool.Call{}, nil)
	if value.KindOf(err) != value.Denied {
		t.Errorf("error %v, want a denial", err)
	}
	out, err := both(t, "none").Run(t.Context(), luaTool("print('nobody hears this') return fs == nil"), tool.Call{}, nil)
	if err != nil || out.Value != true {
		t.Errorf("without modules: %v, %v; want true", out.Value, err)
	}
}
