package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// starModules are some functions of each kind. Calls of count.up are added to counter.
func starModules(counter *atomic.Int64) []tool.Module {
	anything := tool.Type{Name: tool.TypeAny}
	return []tool.Module{
		{Funcs: []tool.Func{{Name: "id", Kind: tool.Pure, Params: []tool.Param{{Name: "x", Type: anything}}, Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			x, _ := e.Args.Get("x")
			return tool.Outcome{Value: x}, nil
		}}}},
		{Name: "count", Funcs: []tool.Func{{Name: "up", Kind: tool.Pure, Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
			return tool.Outcome{Value: counter.Add(1)}, nil
		}}}},
		{Name: "math", Funcs: []tool.Func{{Name: "positive", Kind: tool.Pure, Params: []tool.Param{{Name: "n", Type: tool.Type{Name: tool.TypeInteger}, Required: true}}, Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			if n := e.Args.Int("n"); n <= 0 {
				return tool.Outcome{}, value.Errorf(value.Failed, "%d is not positive", n).WithHint("give a positive number")
			}
			return tool.Outcome{Value: true}, nil
		}}}},
		{Name: "random", Funcs: []tool.Func{
			{Name: "int", Kind: tool.Pure, Params: []tool.Param{{Name: "n", Type: tool.Type{Name: tool.TypeInteger}, Required: true}}, Do: func(_ context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
				r, err := g.Rand()
				if err != nil {
					return tool.Outcome{}, err
				}
				return tool.Outcome{Value: r.Int64N(e.Args.IntOr("n", 1))}, nil
			}},
			{Name: "seed", Kind: tool.Recorded, Mode: tool.ModeInternal},
		}},
		{Name: "fs", Funcs: []tool.Func{
			{Name: "read", Kind: tool.Read, Params: []tool.Param{{Name: "path", Type: tool.Type{Name: tool.TypeString}, Required: true}}},
			{Name: "echo", Kind: tool.Read, Params: []tool.Param{{Name: "x", Type: anything}}},
		}},
		{Name: "fs", Funcs: []tool.Func{{Name: "join", Kind: tool.Pure, Params: []tool.Param{{Name: "a", Type: tool.Type{Name: tool.TypeString}}}, Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			return tool.Outcome{Value: "joined " + e.Args.Text("a")}, nil
		}}}},
	}
}

func starEngine() *engine.Engine {
	return engine.New(&engine.Options{Modules: starModules(new(atomic.Int64))})
}

// starRun runs the function f of a script.
func starRun(t testing.TB, src string, args *value.Dict, do tool.Effector) (tool.Outcome, error) {
	t.Helper()
	return both(t, "star").Run(context.Background(), tool.Script{Path: "x.star", Source: src}, tool.Call{Tool: "x", Entry: "f", Args: args}, do)
}

func scriptError(t *testing.T, err error) *value.Error {
	t.Helper()
	var e *value.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want a *tool.Error", err, err)
	}
	return e
}

// TestStarSlowLoad loads a file whose top level takes too long: by its steps, or by the clock of a slow machine.
func TestStarSlowLoad(t *testing.T) {
	s := tool.Script{Path: "x.star", Source: "load('lib/slow.star', 'x')\ndef f(): pass", Libs: map[string]string{"lib/slow.star": "x = [i for i in range(10000000) if False]\n"}}
	_, err := starEngine().Run(context.Background(), s, tool.Call{Entry: "f"}, nil)
	e := scriptError(t, err)
	if e.Limit != value.LimitSteps && e.Limit != value.LimitWall || e.Pos.String() != "lib/slow.star:1:8" {
		t.Errorf("Run = %v at %v, want a limit at lib/slow.star:1:8", e, e.Pos)
	}
}

func TestStarLoad(t *testing.T) {
	libs := map[string]string{
		"lib/words.star":     "load('lib/deep/base.star', base = 'prefix')\nSHARED = ['a']\ndef first(x: str) -> str:\n    return base + x\n_private = 1\n",
		"lib/deep/base.star": "prefix = '>'\n",
		"lib/fails.star":     "# é\ndef late(x: int):\n    return 1 // (x - x)\n",
		"lib/top.star":       "x = 1\ny = [1][x]\n",
		"lib/undefined.star": "x = 1\n\ndef f(a: int): return nope\n",
		"lib/effect.star":    "x = fs.read('a')\n",
		"lib/fail.star":      "fail('not today')\n",
		"lib/tool.star":      "def f():\n    'Says.'\ntool(f)\n",
	}
	tests := []struct{ name, src, want string }{
		{"nested", "load('lib/words.star', 'first')\ndef f(): return first('x')", `">x"`},
		{"renamed", "load('lib/words.star', second = 'first')\ndef f(): return second('x')", `">x"`},
		{"a declaration in a lib is idle", "load('lib/tool.star', g = 'f')\ndef f(): return g()", "null"},
		{"frozen", "load('lib/words.star', 'SHARED')\ndef f(): SHARED.append(1)", "x.star:2:23: append: cannot append to frozen list [x.star:2:23: in f]"},
		{"private", "load('lib/words.star', '_private')\ndef f(): pass", "x.star:1:25: load: names with leading underscores are not exported: _private"},
		{"not in it", "load('lib/words.star', 'third')\ndef f(): pass", "x.star:1:1: load: name third not found in module lib/words.star [x.star:1:1: in <toplevel>]"},
		{"fails in the lib", "load('lib/fails.star', 'late')\ndef f():\n    return late(1)", "lib/fails.star:3:14: floored division by zero [x.star:3:16: in f lib/fails.star:3:14: in late]"},
		{"top level of the lib", "load('lib/top.star', 'x')\ndef f(): pass", "lib/top.star:2:8: list index 1 out of range [-1:0] [lib/top.star:2:8: in <toplevel>]"},
		{"undefined in the lib", "load('lib/undefined.star', 'x')\ndef f(): pass", "lib/undefined.star:3:23: undefined: nope [x.star:1:1: in <toplevel>]"},
		{"effect in the lib", "load('lib/effect.star', 'x')\ndef f(): pass", "lib/effect.star:1:12: fs.read is only available inside a function [lib/effect.star:1:12: in <toplevel>]"},
		{"fail in the lib", "load('lib/fail.star', 'x')\ndef f(): pass", "lib/fail.star:1:5: not today [lib/fail.star:1:5: in <toplevel>]"},
		{"not there", "load('lib/none.star', 'x')\ndef f(): pass", "x.star:1:1: file not found: lib/none.star"},
		{"outside", "load('../none.star', 'x')\ndef f(): pass", `x.star:1:1: load: "../none.star" is not the path of a .star file in the folder lib`},
	}
	e := both(t, "star")
	for _, test := range tests {
		out, err := e.Run(context.Background(), tool.Script{Path: "x.star", Source: test.src, Libs: libs}, tool.Call{Entry: "f"}, nil)
		got := value.FormatJSON(out.Value, "")
		if err != nil {
			if got = err.Error(); len(scriptError(t, err).Trace) > 0 {
				got += " " + fmt.Sprint(scriptError(t, err).Trace)
			}
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestStarLoadLimits(t *testing.T) {
	chain := func(n int) tool.Script {
		s := tool.Script{Path: "x.star", Source: "load('lib/1.star', 'x')\ndef x1():\n    'Says.'\ntool(x1, name = 'x')", Libs: map[string]string{}}
		for i := 1; i <= n; i++ {
			s.Libs[fmt.Sprintf("lib/%d.star", i)] = fmt.Sprintf("load('lib/%d.star', 'x')", i+1)
		}
		s.Libs[fmt.Sprintf("lib/%d.star", n)] = "x = 1"
		for i := 1; i < n; i++ {
			s.Libs[fmt.Sprintf("lib/%d.star", i)] = fmt.Sprintf("load('lib/%d.star', y = 'x')\nx = y", i+1)
		}
		return s
	}
	big := chain(5)
	big.Libs["lib/5.star"] = "x = 1 #" + strings.Repeat("é", engine.MaxSource/2)
	sum := chain(6)
	for i := 1; i <= 5; i++ {
		sum.Libs[fmt.Sprintf("lib/%d.star", i)] += "\n#" + strings.Repeat("x", engine.MaxSource-100)
	}
	tests := []struct {
		name   string
		script tool.Script
		fails  bool
	}{
		{"32 files", chain(32), false},
		{"33 files", chain(33), true},
		{"a file that is too long", big, true},
		{"too long together", sum, true},
	}
	for _, test := range tests {
		_, describeErr := both(t, "star").Describe(test.script)
		for _, err := range []error{describeErr, both(t, "star").Compile(test.script)} {
			if (err != nil) != test.fails {
				t.Errorf("%s: %v, want an error: %v", test.name, err, test.fails)
			}
			if test.fails && (value.KindOf(err) != value.Limit || scriptError(t, err).Limit != value.LimitSource) {
				t.Errorf("%s: %#v, want the limit source", test.name, err)
			}
		}
	}
}

// TestStarCompileOnce lets many goroutines run two tools that share files: each top
// level runs once. It counts calls in this process and tests what one engine shares
// among scripts, so it uses the engine alone.
func TestStarCompileOnce(t *testing.T) {
	var counter atomic.Int64
	e := engine.New(&engine.Options{Modules: starModules(&counter)})
	libs := map[string]string{
		"lib/a.star": "load('lib/b.star', b = 'n')\nn = [count.up(), b]",
		"lib/b.star": "n = count.up()",
	}
	src := "load('lib/%s.star', 'n')\ntop = count.up()\ndef f(): return [n, top]"
	scripts := []tool.Script{
		{Path: "x.star", Source: fmt.Sprintf(src, "a"), Libs: libs},
		{Path: "y.star", Source: fmt.Sprintf(src, "b"), Libs: libs},
	}
	var group sync.WaitGroup
	var results sync.Map
	for i := range 100 {
		group.Go(func() {
			s := scripts[i%2]
			out, err := e.Run(context.Background(), s, tool.Call{Entry: "f"}, nil)
			if err != nil {
				t.Error(err)
			}
			text := value.FormatJSON(out.Value, "")
			if first, loaded := results.LoadOrStore(s.Path, text); loaded && first != text {
				t.Errorf("%s gives %s and %s", s.Path, first, text)
			}
		})
	}
	group.Wait()
	if got := counter.Load(); got != 4 {
		t.Errorf("top levels ran %d times, want 4: two tools, two shared files", got)
	}
}

// TestStarSharedIsFrozen has one tool that tries to change a file that another one
// loads too.
func TestStarSharedIsFrozen(t *testing.T) {
	e := both(t, "star")
	libs := map[string]string{"lib/a.star": "words = ['a', {'b': []}]"}
	run := func(path, body string) (tool.Outcome, error) {
		return e.Run(context.Background(), tool.Script{Path: path, Source: "load('lib/a.star', 'words')\ndef f():\n    " + body, Libs: libs}, tool.Call{}, nil)
	}
	for _, body := range []string{"words.append(1)", "words[1]['c'] = 1", "words[1]['b'].append(1)", "words.clear()", "words[1].update(x = 1)"} {
		if _, err := run("x.star", body); err == nil || !strings.Contains(err.Error(), "frozen") {
			t.Errorf("%s: %v, want that it is frozen", body, err)
		}
	}
	out, err := run("y.star", "return words")
	if got := value.FormatJSON(out.Value, ""); err != nil || got != `["a",{"b":[]}]` {
		t.Errorf("the other tool sees %s, %v, want it unchanged", got, err)
	}
}

// TestStarCyclesTogether compiles two tools that enter one cycle of loads from both
// sides in parallel. Each must get its error; neither may wait for the other.
func TestStarCyclesTogether(t *testing.T) {
	libs := map[string]string{"lib/a.star": "load('lib/b.star', 'x')", "lib/b.star": "load('lib/a.star', 'x')"}
	for range 50 {
		e := both(t, "star")
		var group sync.WaitGroup
		for _, name := range []string{"a", "b"} {
			group.Go(func() {
				err := e.Compile(tool.Script{Path: name + ".star", Source: "load('lib/" + name + ".star', 'x')\ndef f(): pass", Libs: libs})
				if err == nil || !strings.Contains(err.Error(), "load each other in a cycle") {
					t.Errorf("Compile(%s) = %v, want a cycle of loads", name, err)
				}
			})
		}
		group.Wait()
	}
}

// anyStarValue draws a value that survives conversion to a script and back.
func anyStarValue(t *rapid.T, depth int) value.Value {
	kinds := 9
	if depth > 0 {
		kinds = 13
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2, 3:
		return rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, -1, math.MaxInt64, math.MinInt64, 1 << 31, -1 << 31, 1<<31 - 1, 1 << 53})).Draw(t, "int")
	case 4:
		i := new(big.Int).Lsh(big.NewInt(rapid.Int64().Draw(t, "big")), uint(rapid.IntRange(0, 300).Draw(t, "shift")))
		return value.Integer(i)
	case 5, 6:
		return rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 1, 1e308, 5e-324})).Draw(t, "float")
	case 7, 8:
		return strings.ToValidUTF8(rapid.String().Draw(t, "string"), "\ufffd")
	case 9:
		if rapid.Bool().Draw(t, "media") {
			return valuetest.Media().Draw(t, "image")
		}
		return rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
	case 10:
		return value.List(manyStarValues(t, depth))
	case 11:
		return value.Tuple(manyStarValues(t, depth))
	case 12:
		set := value.Set{}
		for _, k := range rapid.SliceOfNDistinct(rapid.String(), 0, 5, rapid.ID[string]).Draw(t, "set") {
			set = append(set, starKey(t, k))
		}
		return set
	}
	d := &value.Dict{}
	for _, k := range rapid.SliceOfNDistinct(rapid.String(), 0, 5, rapid.ID[string]).Draw(t, "keys") {
		if err := d.Set(starKey(t, k), anyStarValue(t, depth-1)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// starKey makes a key of some type from a name; other names give other keys.
func starKey(t *rapid.T, name string) value.Value {
	name = strings.ToValidUTF8(name, "\ufffd")
	switch rapid.IntRange(0, 4).Draw(t, "key") {
	case 0:
		return []byte(name)
	case 1:
		return value.Tuple{name, int64(1), nil, true, 2.5}
	case 2:
		return value.Integer(new(big.Int).SetBytes([]byte("\x01" + name)))
	}
	return name
}

func manyStarValues(t *rapid.T, depth int) []value.Value {
	values := make([]value.Value, rapid.IntRange(0, 5).Draw(t, "len"))
	for i := range values {
		values[i] = anyStarValue(t, depth-1)
	}
	return values
}

// TestStarValues passes values through a script, through a pure function and through an
// effect: they must come back unchanged.
func TestStarValues(t *testing.T) {
	e := both(t, "star")
	script := tool.Script{Path: "x.star", Source: "def f(x): return [x, id(x), id(x = x), fs.echo(x), [y for y in [x]][0]]"}
	script.Hash = script.Sum()
	rapid.Check(t, func(t *rapid.T) {
		want := anyStarValue(t, 4)
		echo := func(_ context.Context, effect tool.Effect) (tool.Outcome, error) {
			x, _ := effect.Args.Get("x")
			return tool.Outcome{Value: x}, nil
		}
		out, err := e.Run(context.Background(), script, tool.Call{Entry: "f", Args: value.NewDict("x", want)}, echo)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range out.Value.(value.List) {
			if !value.Equal(got, want) {
				t.Fatalf("way %d: %#v came back as %#v", i, want, got)
			}
		}
	})
}

// TestStarValuesThatCannotLeave returns values that cannot be converted.
func TestStarValuesThatCannotLeave(t *testing.T) {
	tests := []struct {
		name, body string
		kind       value.Kind
		limit      string
		message    string
	}{
		{"tree of 2^40 leaves", "x = [1]\n    for i in range(40): x = [x, x]\n    return x", value.Limit, "nodes", "the value has more than 100000 elements in total"},
		{"dict of 2^40 leaves", "x = {}\n    for i in range(40): x = {1: x, 2: x}\n    return x", value.Limit, "nodes", "the value has more than 100000 elements in total"},
		{"long list", "return list(range(200000))", value.Limit, "nodes", "the value has more than 100000 elements in total"},
		{"long range", "return range(1000000000000)", value.Limit, "nodes", "the value has more than 100000 elements in total"},
		{"holds itself", "x = []\n    x.append(x)\n    return x", value.Limit, "depth", "the value is nested more than 64 levels deep, or contains itself"},
		{"dict holds itself", "x = {}\n    x[1] = x\n    return x", value.Limit, "depth", "the value is nested more than 64 levels deep, or contains itself"},
		{"10,000 deep", "x = []\n    for i in range(10000): x = [x]\n    return x", value.Limit, "depth", "the value is nested more than 64 levels deep, or contains itself"},
		{"65 deep", "x = []\n    for i in range(64): x = [x]\n    return x", value.Limit, "depth", "the value is nested more than 64 levels deep, or contains itself"},
		{"65 deep tuples", "x = ()\n    for i in range(64): x = (x,)\n    return {x: 1}", value.Limit, "depth", "the value is nested more than 64 levels deep, or contains itself"},
		{"function", "return f", value.Failed, "", "expected data but got the function f"},
		{"lambda", "return {'a': [lambda: 1]}", value.Failed, "", "expected data but got the function lambda"},
		{"builtin", "return len", value.Failed, "", "expected data but got the function len"},
		{"method", "return [].append", value.Failed, "", "expected data but got the function append"},
		{"module function", "return fs.read", value.Failed, "", "expected data but got the function fs.read"},
		{"module", "return fs", value.Failed, "", "expected data but got a value of type module"},
		{"not UTF-8", "return 'é'[0]", value.Failed, "", "a string is not UTF-8"},
		{"not UTF-8 as key", "return {'é'[:1]: 1}", value.Failed, "", "a string is not UTF-8"},
	}
	for _, test := range tests {
		for door, body := range map[string]string{"result": test.body, "effect": strings.Replace(test.body, "return ", "fs.echo(", 1) + ")", "function": strings.Replace(test.body, "return ", "id(x = ", 1) + ")"} {
			_, err := starRun(t, "def f():\n    "+body, nil, func(context.Context, tool.Effect) (tool.Outcome, error) {
				t.Errorf("%s left the script", test.name)
				return tool.Outcome{}, nil
			})
			e := scriptError(t, err)
			if e.Kind != test.kind || string(e.Limit) != test.limit || !strings.HasSuffix(e.Message(), test.message) || e.Pos.Line == 0 {
				t.Errorf("%s as %s: kind %v, limit %q, %v, want kind %v, limit %q, %s", test.name, door, e.Kind, e.Limit, e, test.kind, test.limit, test.message)
			}
		}
	}
	// The engine accepts what the codec accepts.
	out, err := starRun(t, "def f():\n    x = []\n    for i in range(63): x = [x]\n    return x", nil, nil)
	if _, encodeErr := value.Append(nil, out.Value); err != nil || encodeErr != nil {
		t.Errorf("a list 64 deep: %v, %v", err, encodeErr)
	}
	out, err = starRun(t, "def f(): return list(range(99999))", nil, nil)
	if _, encodeErr := value.Append(nil, out.Value); err != nil || encodeErr != nil {
		t.Errorf("a list of 99999: %v, %v", err, encodeErr)
	}
}

// TestStarLargestValues passes the deepest and the longest values through arguments,
// functions, effects and results.
func TestStarLargestValues(t *testing.T) {
	deep := value.Value(int64(1))
	for range value.MaxDepth {
		deep = value.List{deep}
	}
	long := value.List(slices.Repeat([]value.Value{true}, value.MaxNodes-1))
	e := both(t, "star")
	for _, v := range []value.Value{deep, long} {
		out, err := e.Run(t.Context(), tool.Script{Path: "x.star", Source: "def f(x, y): return fs.echo(id(x))"},
			tool.Call{Args: value.NewDict("x", v, "y", v)}, func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
				x, _ := e.Args.Get("x")
				return tool.Outcome{Value: x}, nil
			})
		if err != nil || !value.Equal(out.Value, v) {
			t.Errorf("a value of the greatest size did not come back: %v", err)
		}
	}
}

func TestStarResults(t *testing.T) {
	tests := []struct {
		name, src string
		args      *value.Dict
		want      string
	}{
		{"nothing", "def f(): pass", nil, "null"},
		{"by name", "def f(a, b): return [a, b]", value.NewDict("b", int64(2), "a", int64(1)), "[1,2]"},
		{"absent", "def f(a, b = 5): return [a, b]", nil, "[null,5]"},
		{"more than it takes", "def f(a): return a", value.NewDict("a", "x", "working_dir", "/w"), `"x"`},
		{"star arguments", "def f(a, *args, b = 2, **kwargs): return [a, args, b, kwargs]", value.NewDict("a", int64(1), "z", int64(3)), "[1,[],2,{}]"},
		{"absent in the middle", "def f(a, b = 2, c = 3, *, d = 4, e): return [a, b, c, d, e]", value.NewDict("c", int64(9), "a", int64(1)), "[1,2,9,4,null]"},
		{"absent at first", "def f(a = 1, b = 2): return [a, b]", value.NewDict("b", int64(9)), "[1,9]"},
		{"null", "def f(a = 1, b = 2): return [a, b]", value.NewDict("a", nil), "[null,2]"},
		{"named only", "def f(*, a, b = 2): return [a, b]", value.NewDict("a", int64(1)), "[1,2]"},
		{"order of a dict", "def f(): return {'z': 1, 'a': 2}", nil, `{"z":1,"a":2}`},
		{"set", "def f(): return set([3, 1, 3])", nil, "[3,1]"},
		{"range", "def f(): return range(3)", nil, "[0,1,2]"},
		{"letters", "def f(): return 'abc'.elems()", nil, `["a","b","c"]`},
		{"module of two lists", "def f(): return fs.join('x')", nil, `"joined x"`},
		{"default of a pure function", "def f(): return fs.join()", nil, `"joined "`},
		{"annotated", "def f(a: int = 2, b: list[int] = [1]) -> int: return a + len(b)", nil, "3"},
		{"constants", "N = 3\ndef _g(): return N\ndef f(): return _g()", nil, "3"},
		{"what is declared is idle", "def f(): return [tool(f), param('x'), example()]", nil, "[null,null,null]"},
		{"bytes with annotations", "X = b'é'\ndef f(a: int = 1) -> bytes: return len(X)", nil, "2"},
		{"tabs with annotations", "def f(a: int = 1):\n\tif a:\n\t\treturn a\n", nil, "1"},
	}
	for _, test := range tests {
		out, err := starRun(t, test.src, test.args, nil)
		if got := value.FormatJSON(out.Value, ""); err != nil || got != test.want {
			t.Errorf("%s: %s, %v, want %s", test.name, got, err, test.want)
		}
	}
}

// TestStarErrors runs scripts that fail in all possible ways.
func TestStarErrors(t *testing.T) {
	refuse := func(context.Context, tool.Effect) (tool.Outcome, error) {
		return tool.Outcome{}, value.Errorf(value.Denied, "not granted").WithHint("grant it")
	}
	tests := []struct {
		name, src string
		do        tool.Effector
		want      string // kind type, position, message, hint, trace
	}{
		{"fail", "def f(a):\n    fail('no é', 3)", nil, "user_error|x.star:2:9: no é 3||x.star:2:9: in f"},
		{"fail deeper", "def g(x):\n    fail('no')\ndef f(a):\n    g(1)", nil, "user_error|x.star:2:9: no||x.star:4:6: in f,x.star:2:9: in g"},
		{"fail in a builtin", "def g(x):\n    fail('no')\ndef f(a):\n    sorted([1, 2], key = g)", nil, "user_error|x.star:2:9: no||x.star:4:11: in f,x.star:2:9: in g"},
		{"fail with a type", "def f(a): fail('no', type = 'validation_error', hint = 'pass 1')", nil, "validation_error|x.star:1:15: no|pass 1|x.star:1:15: in f"},
		{"fail for a system", "def f(a): fail('no', type = 'system_error')", nil, "system_error|x.star:1:15: no||x.star:1:15: in f"},
		{"fail for a command", "def f(a): fail('no', type = 'command_failed', hint = None)", nil, "command_failed|x.star:1:15: no||x.star:1:15: in f"},
		{"fail with a type of the host", "def f(a): fail('no', type = 'permission_error')", nil,
			"user_error|x.star:1:15: unknown error type \"permission_error\"; the error was: no|use one of the types: user_error, validation_error, system_error, command_failed|x.star:1:15: in f"},
		{"fail with an unknown type", "def f(a): fail(type = 'x')", nil,
			"user_error|x.star:1:15: unknown error type \"x\"|use one of the types: user_error, validation_error, system_error, command_failed|x.star:1:15: in f"},
		{"fail with an unknown argument", "def f(a): fail('no', typ = 'x')", nil, "system_error|x.star:1:15: fail: unexpected keyword argument \"typ\" (did you mean type?)||x.star:1:15: in f"},
		{"fail with a sep", "def f(a): fail('a', 'b', sep = ': ')", nil, "user_error|x.star:1:15: a: b||x.star:1:15: in f"},
		{"index", "def f(a):\n    x = [1]\n    return x[5]", nil, "system_error|x.star:3:13: list index 5 out of range [-1:0]||x.star:3:13: in f"},
		{"key", "def f(a): return {}['x']", nil, `system_error|x.star:1:20: key "x" not in dict||x.star:1:20: in f`},
		{"types", "def f(a): return 1 + 'a'", nil, "system_error|x.star:1:20: unknown binary op: int + string||x.star:1:20: in f"},
		{"recursion", "def f(a): return f(a)", nil, "system_error|x.star:1:18: function f called recursively||x.star:1:19: in f,x.star:1:18: in f"},
		{"global", "X = []\ndef f(a): X.append(1)", nil, "system_error|x.star:2:19: append: cannot append to frozen list||x.star:2:19: in f"},
		{"default", "def f(a, x = {}): x['a'] = 1", nil, "system_error|x.star:1:20: cannot insert into frozen hash table||x.star:1:20: in f"},
		{"denied", "def f(a):\n    fs.read('a')", refuse, "permission_error|x.star:2:12: not granted|grant it|x.star:2:12: in f"},
		{"no effector", "def f(a):\n    fs.read('a')", nil, "permission_error|x.star:2:12: the function fs.read is not available to this script||x.star:2:12: in f"},
		{"pure function", "def f(a): return math.positive(-1)", nil, "user_error|x.star:1:31: math.positive: -1 is not positive|give a positive number|x.star:1:31: in f"},
		{"wrong argument", "def f(a): return math.positive('x')", nil, "user_error|x.star:1:31: math.positive: argument 'n' should be integer but got string||x.star:1:31: in f"},
		{"unknown argument", "def f(a): return math.positive(m = 1)", nil, `user_error|x.star:1:31: math.positive: unexpected argument "m"||x.star:1:31: in f`},
		{"no such function", "def f(a): return fs.reed('x')", nil, "system_error|x.star:1:20: fs has no function reed (did you mean .read?)||x.star:1:20: in f"},
		{"internal function", "def f(a): return random.seed()", nil, "system_error|x.star:1:24: random has no function seed||x.star:1:24: in f"},
		{"module is not for change", "def f(a): fs.read = 1", nil, "system_error|x.star:1:13: can't assign to .read field of module||x.star:1:13: in f"},
		{"effect at the top", "x = 1\ny = fs.read('a')\ndef f(a): pass", refuse, "validation_error|x.star:2:12: fs.read is only available inside a function|move the call into a function|x.star:2:12: in <toplevel>"},
		{"random at the top", "y = random.int(3)\ndef f(a): pass", refuse, "validation_error|x.star:1:15: random.int: random is only available inside a function|move the call into a function|x.star:1:15: in <toplevel>"},
		{"no function", "def g(): pass", nil, `validation_error|x.star: function not found: "f"||`},
		{"no function but a constant", "f = 1\ndef g(): pass", nil, `validation_error|x.star: function not found: "f"||`},
		{"an f-string", "def f(a: int) -> str:\n    return f'{a}'", nil, "validation_error|x.star:2:18: got string literal, want newline|f-string; write '{}'.format(a)|"},
		{"try", "def f(a):\n    try:\n        a()\n    except: pass", nil, "validation_error|x.star:2:5: got try, want primary expression|try; write r = attempt(fn, arg) and look at r[\"ok\"], r[\"value\"] and r[\"error\"]|"},
		{"undefined", "def f(a): return sum([1])", nil, "validation_error|x.star:1:18: undefined: sum|write math.sum(values)|"},
		{"steps at the top", "x = [i for i in range(10000000) if False]\ndef f(a): pass", nil, `limit_error|x.star:1:8: the script took more than 5000000 steps|do less in one call, replace long loops with builtin functions, or declare limits = {"steps": …}|x.star:1:8: in <toplevel>`},
	}
	for _, test := range tests {
		_, err := starRun(t, test.src, value.NewDict("a", nil), test.do)
		e := scriptError(t, err)
		got := strings.Join([]string{e.Kind.Type(), e.Error(), e.Hint, strings.Join(e.Trace, ",")}, "|")
		if got != test.want {
			t.Errorf("%s: %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestStarErrorOfAnotherTool returns the error of a called tool unchanged: its position
// is in that tool.
func TestStarErrorOfAnotherTool(t *testing.T) {
	inner := value.Errorf(value.Failed, "no")
	inner.Pos, inner.Trace = value.Position{File: "other.star", Line: 7, Col: 3}, []string{"other.star:7:3: in g"}
	_, err := starRun(t, "def f(): fs.read('a')", nil, func(context.Context, tool.Effect) (tool.Outcome, error) { return tool.Outcome{}, inner })
	if e := scriptError(t, err); e.Error() != "other.star:7:3: no" || len(e.Trace) != 1 {
		t.Errorf("got %v, trace %v, want other.star:7:3 and its trace", e, e.Trace)
	}
}

func TestStarLimits(t *testing.T) {
	e := both(t, "star")
	run := func(ctx context.Context, src string, limits tool.Limits, do tool.Effector) *value.Error {
		t.Helper()
		_, err := e.Run(ctx, tool.Script{Path: "x.star", Source: src}, tool.Call{Entry: "f", Limits: limits}, do)
		return scriptError(t, err)
	}
	const loop = "def f():\n    for i in range(1 << 40):\n        pass"
	unlimited := tool.Limits{Steps: 1 << 50}

	if got := run(context.Background(), loop, tool.Limits{Steps: 1000}, nil); got.Kind != value.Limit || got.Limit != value.LimitSteps || got.Pos.Line != 2 {
		t.Errorf("1000 steps: %#v, want the limit steps in line 2", got)
	}
	var deadline context.Context
	for after := 5 * time.Millisecond; ; after *= 4 { // the script must have begun
		var cancel context.CancelFunc
		deadline, cancel = context.WithTimeout(context.Background(), after)
		defer cancel()
		got := run(deadline, loop, unlimited, nil)
		if got.Kind == value.Timeout && got.Pos.Line == 0 && after < 2*time.Minute {
			continue
		}
		if got.Kind != value.Timeout || got.Limit != value.LimitWall || got.Pos.Line == 0 {
			t.Errorf("deadline: %#v, want Timeout with the limit wall and a place", got)
		}
		break
	}
	called := false
	do := func(context.Context, tool.Effect) (tool.Outcome, error) { called = true; return tool.Outcome{}, nil }
	if got := run(deadline, "def f(): fs.read('a')", unlimited, do); got.Kind != value.Timeout || called {
		t.Errorf("deadline before the start: %v, effect done: %v", got, called)
	}
	canceled, stop := context.WithCancelCause(context.Background())
	do = func(context.Context, tool.Effect) (tool.Outcome, error) {
		stop(nil)
		return tool.Outcome{}, nil
	}
	if got := run(canceled, "def f():\n    fs.read('a')\n"+strings.TrimPrefix(loop, "def f():\n"), unlimited, do); got.Kind != value.Canceled {
		t.Errorf("cancelled: %#v, want Canceled", got)
	}
	caused, stop := context.WithCancelCause(context.Background())
	stop(&value.Error{Kind: value.Limit, Limit: "cpu", Err: errors.New("too long")})
	if got := run(caused, loop, unlimited, nil); got.Kind != value.Limit || got.Limit != value.LimitCPU {
		t.Errorf("cancelled with a cause: %#v, want that cause", got)
	}
	do = func(ctx context.Context, _ tool.Effect) (tool.Outcome, error) {
		inside, cancel := context.WithCancel(ctx)
		cancel()
		return tool.Outcome{}, inside.Err()
	}
	if got := run(context.Background(), "def f(): fs.read('a')", unlimited, do); got.Kind != value.Canceled {
		t.Errorf("an effect that was cancelled on its own: %#v, want Canceled", got)
	}
}

// TestStarFinalErrors has an effect that ends the run: no effects follow it.
func TestStarFinalErrors(t *testing.T) {
	limit := value.Errorf(value.Limit, "too many effects")
	limit.Limit = value.LimitEffects
	for _, final := range []*value.Error{limit, value.Errorf(value.Canceled, "given up"), value.Errorf(value.Timeout, "too late")} {
		asked := 0
		_, err := starRun(t, "def f():\n    for i in range(9):\n        print(i)", nil, func(context.Context, tool.Effect) (tool.Outcome, error) {
			asked++
			return tool.Outcome{}, final
		})
		if asked != 1 {
			t.Errorf("%v: %d effects, want 1 and no more", final, asked)
		}
		if err == nil {
			t.Errorf("%v: the script went on to its end", final)
		}
	}
}

// TestStarEffects records the effects of a script.
func TestStarEffects(t *testing.T) {
	src := `
def f(path):
    fs.read(path)
    fs.join("pure functions are no effects")
    print("hello", 3)
    x = [random.int(1000) for _ in range(5)]
    fs.echo(x = x)
    fs.read(path = "b")
    return x
def available(): return fs.read("c") == "c!"
tool(f)
`
	type asked struct{ Func, Args, Place string }
	var effects []asked
	do := func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
		effects = append(effects, asked{e.Func, value.FormatJSON(e.Args, ""), e.StepPath.String()})
		if e.Func == "random.seed" {
			return tool.Outcome{Value: int64(7)}, nil
		}
		return tool.Outcome{Value: e.Args.Text("path") + "!"}, nil
	}
	e := both(t, "star")
	run := func(c tool.Call) tool.Outcome {
		t.Helper()
		effects = nil
		out, err := e.Run(context.Background(), tool.Script{Path: "x.star", Source: src}, c, do)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := run(tool.Call{Args: value.NewDict("path", "a")})
	numbers := value.FormatJSON(out.Value, "")
	want := []asked{
		{"fs.read", `{"path":"a"}`, "1"}, {"log", `{"message":"hello 3"}`, "2"}, {"random.seed", "{}", "3"},
		{"fs.echo", `{"x":` + numbers + `}`, "4"}, {"fs.read", `{"path":"b"}`, "5"},
	}
	if diff := cmp.Diff(want, effects); diff != "" {
		t.Errorf("effects: (-want +got)\n%s", diff)
	}
	if out.Usage.Effects != 5 || out.Usage.Steps < 20 || out.Usage.Wall <= 0 {
		t.Errorf("Usage = %+v, want 5 effects, some steps and some time", out.Usage)
	}
	again := run(tool.Call{Args: value.NewDict("path", "a"), StepPath: tool.StepPath{3, 2}})
	if got := effects[4].Place; got != "3.2.5" {
		t.Errorf("the fifth effect of the call at 3.2 is at %s, want 3.2.5", got)
	}
	if !value.Equal(again.Value, out.Value) {
		t.Errorf("the same seed gives %v and %v", out.Value, again.Value)
	}
	if got := run(tool.Call{Entry: "available"}).Value; got != true {
		t.Errorf("available() = %v, want true", got)
	}
}

func TestStarSeed(t *testing.T) {
	for _, seed := range []value.Value{nil, "7", 7.5} {
		_, err := starRun(t, "def f(): return random.int(3)", nil, func(context.Context, tool.Effect) (tool.Outcome, error) { return tool.Outcome{Value: seed}, nil })
		if scriptError(t, err).Kind != value.Internal {
			t.Errorf("seed %v: %v, want an internal error", seed, err)
		}
	}
}

// TestStarConcurrency runs one script 100 times in parallel: no call sees another's
// values, effects or places.
func TestStarConcurrency(t *testing.T) {
	e := both(t, "star")
	src := "def f(n):\n    seen = {}\n    for i in range(20):\n        seen[i] = fs.echo([n, i])\n    return [seen[i][0] for i in range(20)]"
	var group sync.WaitGroup
	for n := range int64(100) {
		group.Go(func() {
			var places []string
			do := func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
				places = append(places, e.StepPath.String())
				x, _ := e.Args.Get("x")
				return tool.Outcome{Value: x}, nil
			}
			out, err := e.Run(context.Background(), tool.Script{Path: "x.star", Source: src}, tool.Call{Entry: "f", Args: value.NewDict("n", n)}, do)
			if err != nil {
				t.Error(err)
				return
			}
			if want := value.List(slices.Repeat([]value.Value{n}, 20)); !value.Equal(out.Value, want) {
				t.Errorf("run %d gives %v", n, out.Value)
			}
			if len(places) != 20 || places[0] != "1" || places[19] != "20" {
				t.Errorf("run %d asked at %v, want 1 to 20", n, places)
			}
		})
	}
	group.Wait()
}

// TestStarEntryGetsModules checks that a missing argument of an entry is the module of
// its name; given arguments, defaults and a tool's own parameters stay unchanged.
func TestStarEntryGetsModules(t *testing.T) {
	for name, c := range map[string]struct {
		src   string
		entry string
		args  *value.Dict
		want  value.Value
	}{
		"module":        {"def f(task, fs):\n    return fs.read(task)\n", "f", value.NewDict("task", "a"), "a!"},
		"by name only":  {"def f(task, *, fs):\n    return fs.read(task)\n", "f", value.NewDict("task", "a"), "a!"},
		"given":         {"def f(fs):\n    return fs\n", "f", value.NewDict("fs", "mine"), "mine"},
		"given nothing": {"def f(fs):\n    return fs\n", "f", value.NewDict("fs", nil), nil},
		"default":       {"def f(fs = 1):\n    return fs\n", "f", &value.Dict{}, int64(1)},
		"no module":     {"def f(agent):\n    return agent\n", "f", &value.Dict{}, nil},
		"a function":    {"def f(id):\n    return id\n", "f", &value.Dict{}, nil},
		"a tool's own":  {"def f(fs):\n    \"F.\"\n    return fs\n\ntool(f)\n", "", &value.Dict{}, nil},
	} {
		do := func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
			return tool.Outcome{Value: e.Args.Text("path") + "!"}, nil
		}
		out, err := both(t, "star").Run(context.Background(), tool.Script{Path: "f.star", Source: c.src}, tool.Call{Entry: c.entry, Args: c.args}, do)
		if err != nil || !value.Equal(out.Value, c.want) {
			t.Errorf("%s: gave %v, %v, want %v", name, out.Value, err, c.want)
		}
	}
}

// TestStarAttempt checks which errors a script can catch.
func TestStarAttempt(t *testing.T) {
	const got = "def f():\n    return attempt(%s)\n"
	do := func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
		if e.Args.Text("path") == "late" {
			return tool.Outcome{}, value.Errorf(value.Canceled, "it is over")
		}
		return tool.Outcome{}, value.Errorf(value.Denied, "no reading of %s", e.Args.Text("path"))
	}
	for call, want := range map[string]string{
		`lambda x: x + 1, 2`:                  `{"ok":true,"value":3,"error":"","error_type":"","hint":""}`,
		`lambda *a, **k: [a, k], 1, b = 2`:    `{"ok":true,"value":[[1],{"b":2}],"error":"","error_type":"","hint":""}`,
		`lambda: fail("no")`:                  `{"ok":false,"value":null,"error":"no","error_type":"user_error","hint":""}`,
		`fs.read, "a"`:                        `{"ok":false,"value":null,"error":"no reading of a","error_type":"permission_error","hint":""}`,
		`lambda: attempt(fs.read, "a")["ok"]`: `{"ok":true,"value":false,"error":"","error_type":"","hint":""}`,
		`fs.read`:                             `{"ok":false,"value":null,"error":"fs.read: missing argument \"path\"","error_type":"validation_error","hint":""}`,
		`lambda: fail("no", 3, sep = "-", type = "validation_error", hint = "pass 4")`: `{"ok":false,"value":null,"error":"no-3","error_type":"validation_error","hint":"pass 4"}`,
		`lambda: sorted([1, 2], key = lambda x: fail(type = "system_error"))`:          `{"ok":false,"value":null,"error":"unknown error","error_type":"system_error","hint":""}`,
		`lambda: [][1]`: `{"ok":false,"value":null,"error":"index 1 out of range: empty list","error_type":"system_error","hint":""}`,
	} {
		out, err := starRun(t, fmt.Sprintf(got, call), nil, do)
		if text := value.FormatJSON(out.Value, ""); err != nil || compact(text) != compact(want) {
			t.Errorf("attempt(%s) = %s, %v, want %s", call, text, err, want)
		}
	}
	for call, want := range map[string]value.Kind{
		`fs.read, "late"`:                       value.Canceled,
		`lambda: [i for i in range(100000000)]`: value.Limit,
		``:                                      value.Failed,
		`"f"`:                                   value.Failed,
	} {
		if _, err := starRun(t, fmt.Sprintf(got, call), nil, do); value.KindOf(err) != want {
			t.Errorf("attempt(%s) fails with %v, want %v", call, err, want)
		}
	}
}

func compact(text string) string {
	return strings.NewReplacer(": ", ":", ", ", ",").Replace(text)
}
