package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// checkStage has a tool with many kinds of parameters, and counts its calls.
func checkStage(t *testing.T) (*stage, *atomic.Int32) {
	s := newStage(t, setting{files: twoFiles, before: coded})
	calls, three := new(atomic.Int32), 3
	params := []tool.Param{
		tool.Required("name", tool.TypeString, "text"), tool.Optional("count", tool.TypeInteger, int64(1), "number"), tool.Maybe("ratio", tool.TypeNumber, "number"),
		tool.Maybe("deep", tool.TypeBoolean, "flag"), tool.Maybe("tags", tool.TypeArray, "texts"), tool.Maybe("mode", tool.TypeString, "choice"),
		tool.Maybe("options", tool.TypeObject, "object"), tool.Maybe("data-dir", tool.TypeString, "folder"), tool.Maybe("anything", tool.TypeAny, "any"),
	}
	params[0].Aliases, params[0].Type.MaxLength = []string{"title"}, &three
	params[1].Type.Min, params[1].Type.Max = int64(1), int64(9)
	params[4].Type.Items = &tool.Type{Name: tool.TypeString}
	params[5].Type.Enum = []value.Value{"fast", "slow"}
	params[6].Type.Fields = []tool.Param{tool.Required("n", tool.TypeInteger, "number")}
	count := func(context.Context, *value.Dict) (value.Value, error) { calls.Add(1); return "done", nil }
	for _, made := range []tool.Tool{
		{Name: "make", Description: "Make it.", Params: params},
		{Name: "loose-one", Description: "Take anything.", Params: params[:1], AllowExtra: true},
		{Name: "by_schema", Description: "Have a schema.", Schema: []byte(`{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}`)},
		{Name: "nothing", Description: "Take nothing."},
	} {
		if err := s.Register(made, count); err != nil {
			t.Fatal(err)
		}
	}
	return s, calls
}

func runProgram(s *stage, code string) (value.Value, error) {
	r, err := s.Call(context.Background(), tool.Call{Tool: "execute_code", Args: value.NewDict("code", code), Caller: tool.ByPerson})
	return r.Value, err
}

// TestFaultsBeforeTheFirstCall checks programs with faults that are certain: each begins with a
// good call, which is not made.
func TestFaultsBeforeTheFirstCall(t *testing.T) {
	t.Parallel()
	cases := []struct {
		code string
		want []string // the faults, from line 2 on
	}{
		{`mak("a")`, []string{`2: undefined: mak; did you mean "make" or "max"?`}},
		{`make(nmae = "a")`, []string{`2: make has no parameter "nmae"; did you mean "name"?`}},
		{`make(title = "a")`, []string{`2: make has no parameter "title"; write name`}},
		{`make()`, []string{"2: make lacks the required argument name"}},
		{`make("a", 1, 2.0, True, [], "fast", {"n": 1}, "d", 1, 2)`, []string{"2: make accepts at most 9 arguments, but got 10"}},
		{`make("a", name = "b")`, []string{`2: make gets the argument "name" twice`}},
		{`make(5)`, []string{"2: make: argument 'name'"}},
		{`make("long")`, []string{"2: make: argument 'name'"}},
		{`make("a", count = "many")`, []string{"2: make: argument 'count'"}},
		{`make("a", count = 10)`, []string{"2: make: argument 'count'"}},
		{`make("a", count = -1)`, []string{"2: make: argument 'count'"}},
		{`make("a", count = 1.5)`, []string{"2: make: argument 'count'"}},
		{`make("a", deep = "yes")`, []string{"2: make: argument 'deep'"}},
		{`make("a", tags = [1])`, []string{"2: make: argument 'tags"}},
		{`make("a", tags = {"a": 1})`, []string{"2: make: argument 'tags'"}},
		{`make("a", mode = "fsat")`, []string{"2: make: argument 'mode'"}},
		{`make("a", options = {"m": 1})`, []string{"2: make: argument 'options"}},
		{`make("a", options = {"n": "x"})`, []string{"2: make: argument 'options"}},
		{`make("a", data_dirs = "x")`, []string{`2: make has no parameter "data_dirs"; did you mean "data_dir"?`}},
		{`nothing(1)`, []string{"2: nothing accepts at most 0 arguments, but got 1"}},
		{`nothing(x = 1)`, []string{`2: nothing has no parameter "x": it has no parameters`}},
		{`by_schema()`, []string{"2: by_schema lacks the required argument n"}},
		{`by_schema(m = 1)`, []string{"2: by_schema lacks the required argument n", `2: by_schema has no parameter "m": it has n`}},
		{`loose_one(5)`, []string{"2: loose_one: argument 'name'"}},
		{`attempt(make, nmae = "a")`, []string{`2: make has no parameter "nmae"`}},
		{`attempt()`, []string{"2: attempt needs a function"}},
		{`attempt("make", "a")`, []string{"2: the first argument of attempt should be a function"}},
		{`tools.make("a")`, []string{"2: the arguments of tools.make must be named"}},
		{`tools.make(nmae = "a")`, []string{`2: tools.make has no parameter "nmae"`}},
		{`tools.mkae(name = "a")`, []string{`2: unknown tool "mkae"; did you mean "make"?`}},
		{`tools.call("make", name = 7)`, []string{"2: tools.make: argument 'name'"}},
		{`json.encod(1)`, []string{`2: json has no encod; did you mean "encode"?`}},
		{`json.decode()`, []string{"2: json.decode lacks the required argument"}},
		{`json.decode("1", txt = 2)`, []string{`2: json.decode has no parameter "txt"`}},
		{`re.search(1, "a")`, []string{"2: re.search: argument"}},
		{`",".jion(["a"])`, []string{`2: the type string has no method jion; did you mean "join"?`}},
		{`[1].push(2)`, []string{"2: "}},
		{`len()`, []string{"2: len needs exactly 1 argument, but got 0"}},
		{`len([], [])`, []string{"2: len accepts exactly 1 argument, but got 2"}},
		{`sorted([1], revers = True)`, []string{`2: sorted has no parameter "revers"; did you mean "reverse"?`}},
		{"def f():\n    for x in [1]:\n        make(x, count = \"a\", nme = x)\n    return mkae(1)\nmake(name = 1)", []string{
			"4: make: argument 'count'", `4: make has no parameter "nme"`, `5: undefined: mkae; did you mean "make"?`, "6: make: argument 'name'"}},
	}
	for _, c := range cases {
		s, calls := checkStage(t)
		_, err := runProgram(s, "make(\"a\")\n"+c.code)
		if err == nil || value.KindOf(err) != value.Invalid || calls.Load() != 0 {
			t.Errorf("%s: %v, %d calls, want it refused", c.code, err, calls.Load())
			continue
		}
		text, _, _ := strings.Cut(err.Error(), "\n\nNo tool was called.")
		lines := strings.Split(text, "\n")
		if len(lines) != len(c.want) {
			t.Errorf("%s:\n%s\nwant %q", c.code, text, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(lines[i], "line "+want) {
				t.Errorf("%s: fault %d is %q, want %q", c.code, i, lines[i], want)
			}
		}
	}
}

// TestNoFalseFaults checks programs that are correct, or may be: nothing of them is refused before
// it runs.
func TestNoFalseFaults(t *testing.T) {
	t.Parallel()
	for i, code := range []string{
		`make("a")`,
		`make(name = "a", count = 9, ratio = 1, deep = False, tags = ["x"], mode = "slow", options = {"n": 1}, data_dir = "d", anything = {"x": [1, None]})`,
		`make("a", None, None, None)`,
		`make("a", count = 2.0)`,
		`make("a", ratio = -1.5)`,
		`make("a", tags = [])`,
		`make("a", tags = ("x", "y"))`,
		`make(*["a"])`,
		`make(**{"name": "a"})`,
		`make(count = 2, *["a"])`,
		`args = {"name": "a", "count": 3}` + "\nmake(**args)",
		`n = "3"` + "\nmake(\"a\", count = int(n))",
		`make("a", mode = "sl" + "ow")`,
		`make("a", mode = "slow" if True else "never")`,
		`make("a", count = len("abc"))`,
		`loose_one("a", more = 1, other = "x")`,
		`loose_one("a", **{"x": 1})`,
		`by_schema(n = 3)`,
		`nothing()`,
		`",".join(["a", "b"]).upper().split(",")`,
		`{"a": 1}.get("b", 2)`,
		`[1, 2].index(2)`,
		`attempt(make, "a")`,
		`attempt(make, name = "a", count = 3)`,
		`attempt(lambda: make("a"))`,
		`attempt(*[make, "a"])`,
		`f = make` + "\nf(\"a\")",
		"def make(x, y, z):\n    return x\nmake(1, 2, z = 3)",
		"def f(make):\n    return make(1, 2, 3, four = 4)\nf(lambda *a, **k: 0)",
		"nothing = 3\n[nothing for nothing in [1]]",
		"len = 3\nlen",
		"json = {\"decode\": 1}\njson.get(\"decode\")",
		"[make(n) for n in [\"a\", \"b\"]]",
		`tools.make(title = "a", count = 2)`,
		`tools.call("make", name = "a")`,
		`t = "make"` + "\ntools.call(t, name = \"a\")",
		`tools.call_all([("make", {"name": "a"}), ("nothing", {})])`,
		`json.decode(json.encode({"a": [1, 2.5, None]}))`,
		`sorted([3, 1], key = lambda x: -x, reverse = True)`,
		`max([1, 2], key = lambda x: x)`,
		`max(1, 2, 3)`,
		`print("a", "b", sep = "-")`,
		`dict([("a", 1)], b = 2)`,
		`zip([1], [2], [3])`,
		`"{} {}".format(1, 2)`,
		`range(1, 10, 2)`,
		`int("ff", 16) + int("ff", base = 16)`,
		"def g(x, *rest, y = 2, **more):\n    return x\ng(1, 2, 3, y = 4, z = 5)",
	} {
		s, _ := checkStage(t)
		if _, err := runProgram(s, code); err != nil {
			t.Errorf("program %d is refused: %v\n%s", i, err, code)
		}
	}
}

// TestEveryExampleOfATool checks that the examples of the built-in tools are not refused.
func TestEveryExampleOfATool(t *testing.T) {
	t.Parallel()
	s, _ := checkStage(t)
	n := 0
	for _, made := range s.Tools() {
		for _, e := range made.Examples {
			var args []string
			for k, v := range e.Args.All() {
				args = append(args, fmt.Sprintf("%s = %s", k, strings.NewReplacer("true", "True", "false", "False", "null", "None").Replace(value.FormatJSON(v, ""))))
			}
			n++
			_, err := runProgram(s, "if False:\n    "+strings.ReplaceAll(made.Name, "-", "_")+"("+strings.Join(args, ", ")+")")
			if err != nil && made.Name != "execute_code" && made.Name != "task_complete" {
				t.Errorf("%s: %v", made.Name, err)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d examples were checked, want more", n)
	}
}
