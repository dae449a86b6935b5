package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A shelf is an object with parts: a sequence of numbers. One with a fault can be read
// only up to there.
type shelf struct {
	kind  *tool.ObjectType
	items []int64
	fault bool
}

func (s *shelf) Type() *tool.ObjectType { return s.kind }
func (s *shelf) TypeName() string       { return s.kind.Name }

func (s *shelf) Plain(context.Context, tool.Grant) (value.Value, error) {
	list := value.List{}
	for _, n := range s.items {
		list = append(list, n)
	}
	return list, s.broken()
}

func (s *shelf) Text(context.Context, tool.Grant) (string, error) {
	return fmt.Sprint("shelf", s.items), s.broken()
}

func (s *shelf) broken() error {
	if s.fault {
		return value.Errorf(value.Failed, "the shelf has fallen down")
	}
	return nil
}

func (s *shelf) Len(context.Context, tool.Grant) (int, error) { return len(s.items), s.broken() }

func (s *shelf) At(_ context.Context, _ tool.Grant, key value.Value) (value.Value, error) {
	switch k := key.(type) {
	case int64:
		if k < 0 {
			k += int64(len(s.items))
		}
		if k >= 0 && k < int64(len(s.items)) {
			return s.items[k], nil
		}
	case string:
		if k == "last" {
			return s.items[len(s.items)-1], nil
		}
	}
	return nil, value.Errorf(value.Invalid, "there is no %v", key)
}

func (s *shelf) Each(_ context.Context, _ tool.Grant, yield func(value.Value) bool) error {
	for _, n := range s.items {
		if !yield(n) {
			return nil
		}
	}
	return s.broken()
}

func (s *shelf) Equal(_ context.Context, _ tool.Grant, other tool.Collection) (bool, error) {
	return fmt.Sprint(s.items) == fmt.Sprint(other.(*shelf).items), s.broken()
}

// A lid is an object without parts.
type lid struct{ kind *tool.ObjectType }

func (l *lid) Type() *tool.ObjectType { return l.kind }
func (l *lid) TypeName() string       { return l.kind.Name }
func (l *lid) Plain(context.Context, tool.Grant) (value.Value, error) {
	return nil, value.Errorf(value.Failed, "expected data but got a lid")
}
func (l *lid) Text(context.Context, tool.Grant) (string, error) { return "<lid>", nil }

// shelves is a module that returns objects.
func shelves() tool.Module {
	kind, cover := &tool.ObjectType{Name: "shelf"}, &tool.ObjectType{Name: "lid"}
	do := func(f func(e tool.Effect, g tool.Grant) (value.Value, error)) func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
		return func(_ context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			v, err := f(e, g)
			return tool.Outcome{Value: v}, err
		}
	}
	kind.Fields = []tool.Func{{Name: "size", Kind: tool.Pure, Do: do(func(e tool.Effect, _ tool.Grant) (value.Value, error) { return int64(len(e.Self.(*shelf).items)), nil })}}
	kind.Methods = []tool.Func{
		{Name: "map", Kind: tool.Pure, Params: []tool.Param{tool.Required("fn", "function", "")}, Do: do(func(e tool.Effect, _ tool.Grant) (value.Value, error) {
			fn, _ := e.Args.Get("fn")
			f, ok := fn.(tool.Function)
			if !ok {
				return nil, value.Errorf(value.Invalid, "argument 'fn' should be function but got %s", value.TypeOf(fn))
			}
			made := &shelf{kind: kind}
			for _, n := range e.Self.(*shelf).items {
				v, err := f(n)
				if err != nil {
					return nil, err
				}
				i, ok := v.(int64)
				if !ok {
					return nil, value.Errorf(value.Failed, "the function gave %s", value.TypeOf(v))
				}
				made.items = append(made.items, i)
			}
			return made, nil
		})},
		{Name: "plus", Kind: tool.Pure, Mode: tool.ModeVariadic, Params: []tool.Param{tool.Required("items", tool.TypeArray, "")}, Do: do(func(e tool.Effect, _ tool.Grant) (value.Value, error) {
			made := &shelf{kind: kind, items: append([]int64(nil), e.Self.(*shelf).items...)}
			items, _ := e.Args.Get("items")
			list, _ := value.Elements(items)
			for _, v := range list {
				n, _ := v.(int64)
				made.items = append(made.items, n)
			}
			return made, nil
		})},
		{Name: "lid", Kind: tool.Pure, Do: do(func(tool.Effect, tool.Grant) (value.Value, error) { return &lid{cover}, nil })},
	}
	make := func(fault bool) func(tool.Effect, tool.Grant) (value.Value, error) {
		return func(e tool.Effect, _ tool.Grant) (value.Value, error) {
			items, _ := e.Args.Get("items")
			list, _ := value.Elements(items)
			s := &shelf{kind: kind, fault: fault}
			for _, v := range list {
				n, _ := v.(int64)
				s.items = append(s.items, n)
			}
			return s, nil
		}
	}
	items := []tool.Param{tool.Required("items", tool.TypeArray, "")}
	return tool.Module{Name: "shelves", Objects: []*tool.ObjectType{kind, cover}, Funcs: []tool.Func{
		{Name: "of", Kind: tool.Pure, Params: items, Do: do(make(false))},
		{Name: "rotten", Kind: tool.Pure, Params: items, Do: do(make(true))},
		{Name: "keep", Kind: tool.Pure, Mode: tool.ModeObjects, Params: []tool.Param{tool.Required("shelf", "shelf", "")}, Do: do(func(e tool.Effect, _ tool.Grant) (value.Value, error) {
			v, _ := e.Args.Get("shelf")
			return value.TypeOf(v), nil
		})},
		{Name: "plain", Kind: tool.Pure, Params: []tool.Param{tool.Required("value", tool.TypeAny, "")}, Do: do(func(e tool.Effect, _ tool.Grant) (value.Value, error) {
			v, _ := e.Args.Get("value")
			return value.TypeOf(v), nil
		})},
	}}
}

// runObject runs a script with shelves and returns its output and its result.
func runObject(t *testing.T, path, source string) string {
	t.Helper()
	var said []string
	e := engine.New(&engine.Options{Modules: []tool.Module{shelves(), {Funcs: []tool.Func{{Name: "log", Kind: tool.Notice, Params: []tool.Param{{Name: "message"}}}}}}})
	out, err := e.Run(context.Background(), tool.Script{Path: path, Source: source}, tool.Call{Args: &value.Dict{}}, func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
		message, _ := e.Args.Get("message")
		said = append(said, value.FormatJSON(message, ""))
		return tool.Outcome{}, nil
	})
	if err != nil {
		return strings.Join(append(said, "error: "+value.ErrorOf(err, value.Internal).Message()), " ")
	}
	return strings.Join(append(said, value.FormatJSON(out.Value, "")), " ")
}

// TestObjects uses an object in both languages.
func TestObjects(t *testing.T) {
	for _, tt := range []struct{ name, star, lua, want string }{
		{"leaves as its plain value", "return shelves.of([1, 2])", "return shelves.of{1, 2}", "[1,2]"},
		{"leaves inside others", "return {'a': [shelves.of([1])]}", "return {a = {shelves.of({1})}}", `{"a":[[1]]}`},
		{"text", "print(shelves.of([1, 2]))\n    return str(shelves.of([3]))", "print(shelves.of{1, 2}) return tostring(shelves.of{3})", `"shelf[1 2]" "shelf[3]"`},
		{"length", "s = shelves.of([1, 2])\n    return [len(s), s.size]", "local s = shelves.of{1, 2} return {#s, s.size}", "[2,2]"},
		{"first and last", "s = shelves.of([1, 2, 3])\n    return [s[0], s[-1], s['last']]", "local s = shelves.of{1, 2, 3} return {s[1], s[-1], s.last}", "[1,3,3]"},
		{"loop", "return [n + 1 for n in shelves.of([1, 2])]", "local r = {} for i, n in ipairs(shelves.of{1, 2}) do r[i] = n + 1 end return r", "[2,3]"},
		{"loop left early", "for n in shelves.of([1, 2, 3]):\n        if n == 2:\n            return n", "for _, n in ipairs(shelves.of{1, 2, 3}) do if n == 2 then return n end end", "2"},
		{"equal", "a = shelves.of([1])\n    return [a == shelves.of([1]), a != shelves.of([1]), a == shelves.of([2])]",
			"local a = shelves.of{1} return {a == shelves.of{1}, a ~= shelves.of{1}, a == shelves.of{2}}", "[true,false,false]"},
		{"function of the script", "k = 10\n    return shelves.of([1, 2]).map(lambda n: n * k)", "local k = 10 return shelves.of({1, 2}):map(function(n) return n * k end)", "[10,20]"},
		{"function inside a function", "return shelves.of([1]).map(lambda n: shelves.of([n]).map(lambda m: m + 1)[0])",
			"return shelves.of({1}):map(function(n) return shelves.of({n}):map(function(m) return m + 1 end)[1] end)", "[2]"},
		{"function that gives something else", "return shelves.of([1]).map(lambda n: 'x')", "return shelves.of({1}):map(function() return 'x' end)", "error: shelf.map: the function gave string"},
		{"no function", "return shelves.of([1]).map(3)", "return shelves.of({1}):map(3)", "error: shelf.map: argument 'fn' should be function but got integer"},
		{"several arguments", "return shelves.of([1]).plus(2, 3)", "return shelves.of({1}):plus(2, 3)", "[1,2,3]"},
		{"a list of arguments", "return shelves.of([1]).plus([2, 3])", "return shelves.of({1}):plus({2, 3})", "[1,2,3]"},
		{"method kept", "f = shelves.of([1]).plus\n    return f(2)", "local s = shelves.of{1} local f = s.plus return f(s, 2)", "[1,2]"},
		{"to one that takes objects", "return shelves.keep(shelves.of([1]))", "return shelves.keep(shelves.of{1})", `"shelf"`},
		{"to one that does not", "return shelves.plain(shelves.of([1]))", "return shelves.plain(shelves.of{1})", `"array"`},
		{"without parts", "return str(shelves.of([1]).lid())", "return tostring(shelves.of({1}):lid())", `"<lid>"`},
		{"one that cannot leave", "return shelves.of([1]).lid()", "return shelves.of({1}):lid()", "error: expected data but got a lid"},
		{"fault in a loop", "for n in shelves.rotten([1]):\n        print(n)\n    return 'all'", "for _, n in ipairs(shelves.rotten{1}) do print(n) end return 'all'", "error: the shelf has fallen down"},
		{"fault in a method", "return shelves.rotten([1]).plus(2)", "return shelves.rotten({1}):plus(2)", "[1,2]"},
		{"fault on the way out", "return shelves.rotten([1])", "return shelves.rotten{1}", "error: the shelf has fallen down"},
	} {
		for _, script := range []struct{ path, source string }{
			{"f.star", "def f():\n    " + tt.star + "\n\ntool(f)\n"},
			{"f.lua", "return tool{description = \"F.\", handler = function() " + tt.lua + " end}\n"},
		} {
			got := strings.NewReplacer(`"1" error`, "error").Replace(runObject(t, script.path, script.source))
			if got != tt.want {
				t.Errorf("%s, %s: %s, want %s", tt.name, script.path, got, tt.want)
			}
		}
	}
}

// TestObjectMistakes checks errors of single languages.
func TestObjectMistakes(t *testing.T) {
	for _, tt := range []struct{ path, body, want string }{
		{"f.star", "return shelves.of([1]).lenght", "error: type shelf has no field or method lenght"},
		{"f.star", "return shelves.of([1]).siz", "type shelf has no field or method siz; did you mean \"size\"?"},
		{"f.star", "return shelves.of([1])[7]", "error: there is no 7"},
		{"f.star", "return {shelves.of([1]): 1}", "unhashable"},
		{"f.star", "return shelves.of([1]) < shelves.of([2])", "not implemented"},
		{"f.star", "return shelves.of([1]).map(lambda n: fail('inside'))", "inside"},
		{"f.star", "return shelves.of([1]).map(lambda n: undefined_thing(n))", "undefined"},
		{"f.lua", "return shelves.of({1}).map(function(n) return n end)", "write object:map(…), with a colon"},
		{"f.lua", "return shelves.of({1})[0]", "index 0 is out of range: the length of the shelf is 1, and the first index is 1"},
		{"f.lua", "return shelves.of({1})[8]", "index 8 is out of range: the length of the shelf is 1"},
		{"f.lua", "for i = 1, 100 do for _, n in ipairs(shelves.of{1, 2}) do break end end", "more than 16 loops over tables ended early with break or return"},
		{"f.lua", "local n = 0 for i = 1, 100 do for _, x in ipairs(shelves.of{1, 2}) do n = n + x end end return n", "300"},
		{"f.lua", "return shelves.of({1}):mapp()", "there is no mapp"},
		{"f.lua", "return shelves.of({1}):lid():foo()", "type lid has no field or method foo"},
		{"f.lua", "return #shelves.of({1}):lid()", "type lid is not a collection: #, == and ipairs are not supported"},
		{"f.lua", "return shelves.of({1}):map(function(n) error('inside') end)", "inside"},
		{"f.lua", "local ok, err = pcall(function() return shelves.of({1}):map(function(n) error('caught', 0) end) end) return err", `"caught"`},
		{"f.lua", "local co = coroutine.wrap(function() return shelves.of({1}):map(coroutine.yield) end) return co()", "yield"},
		{"f.lua", "shelves.of({1}).size = 3", "index"},
		{"f.lua", "return getmetatable(shelves.of{1})", "false"},
	} {
		source := "def f():\n    " + tt.body + "\n\ntool(f)\n"
		if tt.path == "f.lua" {
			source = "return tool{description = \"F.\", handler = function() " + tt.body + " end}\n"
		}
		if got := runObject(t, tt.path, source); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s: %s, want %s", tt.path, tt.body, got, tt.want)
		}
	}
}

// TestObjectOfTheTopLevel uses an object of a file's top level in several calls.
func TestObjectOfTheTopLevel(t *testing.T) {
	e := engine.New(&engine.Options{Modules: []tool.Module{shelves()}})
	s := tool.Script{Path: "f.star", Source: "KEPT = shelves.of([1, 2])\n\ndef f():\n    return [len(KEPT), [n for n in KEPT], KEPT.plus(3), KEPT.map(lambda n: n + 1)]\n\ntool(f)\n"}
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		out, err := e.Run(ctx, s, tool.Call{Args: &value.Dict{}}, nil)
		cancel()
		if got, want := value.FormatJSON(out.Value, ""), "[2,[1,2],[1,2,3],[2,3]]"; err != nil || got != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

// TestObjectInsideObjects has values that become too deep, or too large, when an
// object's plain value replaces it.
func TestObjectInsideObjects(t *testing.T) {
	const deep = "v = shelves.of([1])\n    for i in range(%d):\n        v = [v]\n    return v"
	for _, tt := range []struct {
		body string
		want string
	}{
		{fmt.Sprintf(deep, 10), "[[[[[[[[[[[1]]]]]]]]]]]"},
		{fmt.Sprintf(deep, 64), "nested more than 64 levels deep"},
		{"s = shelves.of(range(1000))\n    return [s for i in range(200)]", "more than 100000 elements"},
	} {
		if got := runObject(t, "f.star", "def f():\n    "+tt.body+"\n\ntool(f)\n"); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %.200s, want %s", tt.body, got, tt.want)
		}
	}
}
