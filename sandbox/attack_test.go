package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// An attack is a script that would take its host down, hang it or make it
// swell, and how that must end: by one of these limits, with "error" for an
// error of the script itself, or with "ok".
type attack struct {
	id, name string
	path     string // ending in .star or .lua
	source   string
	want     string
}

// star makes an attack of a function's body.
func star(id, name, body, want string) attack {
	source := "def f():\n    \"F.\"\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n\ntool(f)\n"
	return attack{id, name, "f.star", source, want}
}

// lua makes an attack of a handler's body.
func lua(id, name, body, want string) attack {
	source := "return tool{description = \"F.\", handler = function(args)\n" + body + "\nend}\n"
	return attack{id, name, "f.lua", source, want}
}

// file makes an attack of a whole file.
func file(id, name, source, want string) attack { return attack{id, name, "f.star", source, want} }

const tail = "\n\ndef f():\n    \"F.\"\n    return y\n\ntool(f)\n"

// attacks returns all of them. They are no variable: this program is its own worker, and each
// worker would make their long sources when it starts.
func attacks() []attack { return slices.Concat(starAttacks(), luaAttacks(), sourceAttacks()) }

// starAttacks are those of SANDBOX §6 in Starlark, and others by the same means.
func starAttacks() []attack {
	return []attack{
		star("R01", "doubling", "x = 'a'\nfor _ in range(64): x = x + x\nreturn len(x)", "memory steps"),
		star("R01", "doubling a list", "x = [1]\nfor _ in range(64): x = x + x\nreturn len(x)", "memory steps"),
		star("R01", "doubling a tuple", "x = (1,)\nfor _ in range(64): x = x + x\nreturn len(x)", "memory steps"),
		star("R01", "doubling bytes", "x = bytes('a')\nfor _ in range(64): x = x + x\nreturn len(x)", "memory steps error"),
		star("R01", "extending itself", "x = [1]\nfor _ in range(64): x.extend(x)\nreturn len(x)", "memory steps"),
		star("R02", "repeat", "return len([0] * ((1 << 30) - 1))", "memory"),
		star("R02", "repeat a tuple", "return len((0,) * ((1 << 30) - 1))", "memory"),
		star("R03", "list of a range", "return list(range(1000000000000))", "memory"),
		star("R03", "tuple of a range", "return tuple(range(1000000000))", "memory"),
		star("R03", "list of what has no address", "return list(range(4611686018427387904))", "memory"),
		star("R03", "sorted range", "return sorted(range(4611686018427387904))", "memory"),
		star("R03", "reversed range", "return reversed(range(1000000000000))", "memory"),
		star("R04", "long strings", "return ['a' * ((1 << 30) - 1) for _ in range(100)]", "memory"),
		star("R05", "all", "return [all(range(1, (1 << 31) - 1)) for _ in range(1000)]", "cpu"),
		star("R05", "any", "return [any([False]) or any(range(0, 1)) or all(range(1, (1 << 31) - 1)) for _ in range(1000)]", "cpu"),
		star("R06", "max", "for _ in range(1000): max(range((1 << 31) - 1))", "cpu"),
		star("R06", "min", "for _ in range(1000): min(range((1 << 31) - 1))", "cpu"),
		star("R07", "zip", "return zip(range(1000000000), range(1000000000))", "memory"),
		star("R07", "enumerate", "return enumerate(range(1000000000))", "memory"),
		star("R08", "squares", "x = 10\nfor _ in range(40): x = x * x\nreturn len(str(x))", "cpu memory"),
		star("R08", "shift", "x = 1\nfor _ in range(100000): x = x << 511\nreturn len(str(x))", "cpu memory steps"),
		star("R09", "int of digits", "return int('9' * 10000000)", "cpu memory"),
		star("R10", "join", "return len(('a' * 1000000).join(['b'] * 1000000))", "memory"),
		star("R11", "replace", "return len(('a' * 10000).replace('', 'b' * 100000))", "memory"),
		star("R12", "split", "return len(('a,' * 250000000).split(','))", "memory"),
		star("R12", "splitlines", "return len(('a\\n' * 30000000).splitlines())", "memory"),
		star("R12", "elems", "return len(list(('a' * 60000000).elems()))", "memory"),
		star("R12", "codepoints", "return len(list(('é' * 30000000).codepoints()))", "memory cpu"),
		star("R13", "format", "x = 'a'\nfor _ in range(30): x = '{0}{0}{0}{0}'.format(x)\nreturn len(x)", "memory"),
		star("R13", "percent", "x = 'a'\nfor _ in range(30): x = '%s%s%s%s' % (x, x, x, x)\nreturn len(x)", "memory"),
		star("R14", "str of a DAG", "x = [1]\nfor _ in range(40): x = [x, x]\nreturn len(str(x))", "cpu memory"),
		star("R14", "json of a DAG", "x = [1]\nfor _ in range(40): x = [x, x]\nreturn json.encode(x)", "cpu memory nodes"),
		star("R14", "a DAG as the result", "x = [1]\nfor _ in range(40): x = [x, x]\nreturn x", "cpu memory error nodes depth"),
		star("R14", "failing with a DAG", "x = [1]\nfor _ in range(40): x = [x, x]\nfail(x)", "cpu memory"),
		star("R15", "hash of a DAG", "x = (1,)\nfor _ in range(40): x = (x, x)\nreturn {x: 1}[x]", "cpu"),
		star("R15", "hash in an error", "x = (1,)\nfor _ in range(40): x = (x, x)\nreturn {}[x]", "cpu memory"),
		star("R16", "comparing DAGs", "a = [1]\nb = [1]\nfor _ in range(20):\n    a = [a] * 9\n    b = [b] * 9\nreturn a == b", "cpu error"),
		star("R17", "colliding set", "return len(set([i << 32 for i in range(200000)]))", "cpu"),
		star("R17", "colliding dict", "l = [i << 32 for i in range(200000)]\nreturn len(dict(zip(l, l)))", "cpu"),
		star("R18", "sorting long strings", "x = 'a' * 30000000\nreturn len(sorted([x + str(i) for i in range(60)]))", "cpu memory"),
		star("R19", "deep JSON", "return json.decode('[' * 20000000)", "depth memory cpu error"),
		star("R19", "deep JSON objects", "return json.decode('{\"a\":' * 2000000)", "depth memory cpu error"),
		star("R20", "JSON of itself", "x = []\nx.append(x)\nreturn json.encode(x)", "error depth"),
		star("R20", "itself as the result", "x = []\nx.append(x)\nreturn x", "error depth nodes"),
		star("R21", "deep list", "x = []\nfor _ in range(8000000): x = [x]\nreturn len(x)", "ok steps memory cpu"),
		star("R21", "hash of a deep tuple", "x = ()\nfor _ in range(1000000): x = (x,)\nreturn {x: 1}", "memory cpu steps error depth nodes"),
		star("R21", "str of a deep list", "x = []\nfor _ in range(1000000): x = [x]\nreturn len(str(x))", "memory cpu steps"),
		star("R27", "recursion", "def g(n): return g(n + 1)\nreturn g(0)", "error"),
		star("R30", "print flood", "for i in range(1000000): print('x' * 100000)", "cpu effects traffic steps"),
		star("R31", "long result", "return 'x' * 20000000", "traffic result"),
		star("R31", "deep result", "x = []\nfor _ in range(10000): x = [x]\nreturn x", "error depth nodes"),
		star("R31", "many results", "return list(range(200000))", "nodes"),
		star("R05", "regular expression", "return re.find_all('(a|aa)+$', 'a' * 3000000 + 'b')", "cpu memory error ok"),
		star("R05", "sum of a range", "return math.sum(list(range(3000000)))", "nodes cpu memory steps"),
	}
}

func luaAttacks() []attack {
	return []attack{
		lua("R32", "while", "while true do end", "steps cpu"),
		lua("R32", "repeat", "repeat until false", "steps cpu"),
		lua("R32", "pcall loop", "while true do pcall(function() while true do end end) end", "steps cpu"),
		lua("R32", "xpcall loop", "while true do xpcall(function() error('x') end, function() while true do end end) end", "steps cpu"),
		lua("R33", "tail calls", "local function g() return g() end return g()", "steps cpu memory"),
		lua("R34", "rep", "return #string.rep('a', 1000000000000)", "memory error"),
		lua("R34", "rep of rep", "local x = 'a' for i = 1, 64 do x = x .. x end return #x", "memory"),
		lua("R34", "rep in a loop", "local t = {} for i = 1, 1000 do t[i] = string.rep('a', 10000000) .. i end return #t", "memory error"),
		lua("R35", "sparse array", "local t = {} for i = 1, 100 do local u = {} u[67108863] = 1 t[i] = u end return #t", "ok memory"),
		lua("R35", "growing table", "local t = {} local i = 0 while true do i = i + 1 t[i] = {i} end", "steps memory cpu"),
		lua("R35", "insert far away", "local t = {} table.insert(t, 67108863, 1) return #t", "ok memory error"),
		lua("R36", "coroutines", "local t = {} for i = 1, 1000000 do local c = coroutine.create(function() coroutine.yield() end) coroutine.resume(c) t[i] = c end return #t", "memory error steps"),
		lua("R36", "nested wrap", "local function g(n) return coroutine.wrap(function() return g(n + 1) end)() end return g(0)", "memory error steps"),
		lua("R37", "backtracking", "return string.find(string.rep('a', 30000), string.rep('a-', 12) .. 'b')", "cpu steps error"),
		lua("R37", "balance", "return string.find(string.rep('(', 1000000), '%b()')", "cpu steps ok"),
		lua("R37", "optional", "return string.find(string.rep('a', 28), string.rep('a?', 30) .. string.rep('a', 30))", "cpu steps ok error"),
		lua("R38", "gsub", "return #string.gsub(string.rep('a', 1000000), 'a', string.rep('b', 1000000))", "memory error steps"),
		lua("R39", "load", "return loadstring('return 1')", "error"),
		lua("R40", "concat", "local t = {} for i = 1, 1000 do t[i] = string.rep('a', 1000000) end return #table.concat(t)", "memory error"),
		lua("R40", "unpack", "return select('#', unpack({}, 1, 100000000))", "error memory"),
		lua("R27", "recursion", "local function g() return 1 + g() end return g()", "error steps"),
	}
}

func sourceAttacks() []attack {
	return []attack{
		file("R22", "calls", "y = y"+strings.Repeat("()", 4<<20)+tail, "source"),
		file("R23", "calls that fit", "def g():\n    return g\n\ndef h():\n    return g"+strings.Repeat("()", 100_000)+"\n\ny = 1"+tail, "ok memory cpu source error"),
		file("R23", "attributes that fit", "x = 1\n\ndef h():\n    return x"+strings.Repeat(".a", 100_000)+"\n\ny = 1"+tail, "ok memory cpu source error"),
		file("R23", "sum that fits", "y = 1"+strings.Repeat("+1", 120_000)+tail, "ok memory cpu source error"),
		file("R24", "elifs", "def g(x):\n    if x:\n        pass\n"+strings.Repeat("    elif x:\n        pass\n", 9_000)+"\ny = 1"+tail, "ok source cpu error memory"),
		file("R25", "long integer", "y = "+strings.Repeat("9", 1<<20)+tail, "source"),
		file("R25", "integer that fits", "y = "+strings.Repeat("9", 250_000)+tail, "ok cpu source error nodes result"),
		file("R26", "indentation", indented(700)+"\ny = 1"+tail, "ok error source memory cpu"),
		file("R26", "brackets", "y = "+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+tail, "error"),
		file("R26", "unary", "y = "+strings.Repeat("-", 200_000)+"1"+tail, "source error"),
		file("R26", "lambdas", "y = "+strings.Repeat("lambda:", 30_000)+"1"+tail, "source error"),
		file("R26", "not", "y = "+strings.Repeat("not ", 60_000)+"1"+tail, "source error"),
		file("R28", "while", "def f():\n    \"F.\"\n    while True: pass\n\ntool(f)\n", "error"),
		file("R29", "load itself", "load(\"lib/a.star\", \"x\")\ny = 1"+tail, "error"),
		file("R29", "load above", "load(\"../x.star\", \"x\")\ny = 1"+tail, "error"),
		file("R29", "load a system file", "load(\"/etc/passwd\", \"x\")\ny = 1"+tail, "error"),
		file("R05", "top level", "y = [all(range(1, (1 << 31) - 1)) for _ in range(1000)]"+tail, "cpu"),
		file("R02", "top level memory", "y = [0] * ((1 << 30) - 1)"+tail, "memory"),
		file("R22", "no text", "\x00\xff\xfe"+tail, "error"),
	}
}

// indented nests blocks as deep as a file can.
func indented(depth int) string {
	var b strings.Builder
	b.WriteString("def g():\n")
	for i := range depth {
		if b.Len() > 250<<10 {
			break
		}
		b.WriteString(strings.Repeat(" ", i+1) + "if True:\n")
	}
	b.WriteString(strings.Repeat(" ", depth+1) + "pass\n")
	return b.String()
}

// limits are those of an attack. Where it is to be the time that ends it, that
// is short, so that many can be tried. So is the memory by default: to fill it
// takes long.
func (a attack) limits() tool.Limits {
	limits := tool.Limits{CPU: 20 * time.Second, Memory: int64(testutil.Times(32<<20, tool.DefaultMemory))}
	if strings.Contains(a.want, "cpu") {
		limits.CPU = time.Duration(testutil.Times(50, 300)) * time.Millisecond
	}
	return limits
}

// someAttacks returns the attacks of an ordinary run: of those of one rule that fill the memory or
// use up the time the first in each language, and all others.
func someAttacks() []attack {
	seen := map[string]bool{}
	return slices.DeleteFunc(attacks(), func(a attack) bool {
		rule, again := a.id+filepath.Ext(a.path), strings.HasPrefix(a.want, "cpu") || strings.HasPrefix(a.want, "memory")
		again = again && seen[rule]
		seen[rule] = true
		return again
	})
}

// TestAttacks runs what would take a host down, and looks how the host is
// afterwards.
func TestAttacks(t *testing.T) {
	all := someAttacks()
	if testutil.Soak() {
		all = attacks()
	}
	box := newProcess(t, nil)
	for _, a := range all {
		t.Run(a.id+" "+a.name, func(t *testing.T) {
			before := residentMB(t)
			got, err := a.run(box)
			if !slices.Contains(strings.Fields(a.want), got) {
				t.Errorf("it ended by %s (%v), want %s", got, err, a.want)
			}
			tellsNothing(t, err)
			if grown := residentMB(t) - before; grown > 64 {
				t.Errorf("the host has grown by %d MB, want at most 64", grown)
			}
			nextCallIsRight(t, box)
		})
	}
}

// script is what the attack is made with.
func (a attack) script() tool.Script {
	return tool.Script{Path: a.path, Source: a.source, Libs: map[string]string{"lib/a.star": "load(\"lib/a.star\", \"x\")\n"}}
}

// run tells how an attack ends: "ok", "error", or the name of a limit.
func (a attack) run(box sandbox.Sandbox) (string, error) { return a.runWithin(box, a.limits()) }

func (a attack) runWithin(box sandbox.Sandbox, limits tool.Limits) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s := a.script()
	_, err := box.Describe(ctx, s)
	if err == nil {
		notices := 0
		_, err = box.Run(ctx, s, tool.Call{Args: &value.Dict{}, Limits: limits}, func(context.Context, tool.Effect) (tool.Outcome, error) {
			notices++
			return tool.Outcome{}, nil
		})
	}
	e := value.ErrorOf(err, value.Internal)
	switch {
	case e == nil:
		return "ok", nil
	case e.Limit != "":
		return string(e.Limit), e
	case e.Kind == value.Canceled, e.Kind == value.Timeout, e.Kind == value.Unavailable, e.Kind == value.Security:
		return e.Kind.String(), e
	}
	return "error", e
}

var echoScript = tool.Script{Path: "echo.star", Source: "def echo(value):\n    \"Echo.\"\n    return value\n\ntool(echo)\n"}

// nextCallIsRight checks that an unrelated script can be called.
func nextCallIsRight(t testing.TB, box sandbox.Sandbox) {
	t.Helper()
	out, err := box.Run(context.Background(), echoScript, tool.Call{Args: value.NewDict("value", int64(42))}, nil)
	if err != nil || out.Value != int64(42) {
		t.Errorf("the next call gave %v, %v, want 42", out.Value, err)
	}
}

// residentMB is how much memory this process holds, where that says something:
// not with the race detector, which has a shadow of it.
func residentMB(t testing.TB) int {
	t.Helper()
	if runtime.GOOS != "linux" || sandbox.RaceDetector {
		return 0
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(fmt.Errorf("statm: %w", err))
	}
	return pages * os.Getpagesize() >> 20
}
