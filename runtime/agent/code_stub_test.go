package agent_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib"
)

// TestStubOfTheBuiltinTools holds what a model is told of them against
// testdata/stub.txt.
func TestStubOfTheBuiltinTools(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{before: func(s *stage, o *agent.Options) {
		coded(s, o)
		if err := agent.Register(s.Host, func() (*agent.Options, error) { return o, nil }); err != nil {
			t.Fatal(err)
		}
	}})
	var tools []tool.Tool
	for _, x := range s.Tools() {
		tools = append(tools, x.Tool)
	}
	got := stub.Text(tools) + "\n"
	const file = "testdata/stub.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the stub differs (-want +got):\n%s", diff)
	}
	for _, absent := range []string{"execute_code(", "agent(", "task_complete("} {
		if strings.Contains(got, absent) {
			t.Errorf("the stub has %s, which programs cannot call", absent)
		}
	}
}

func TestStubLines(t *testing.T) {
	t.Parallel()
	text := func(name string) tool.Param {
		return tool.Param{Name: name, Type: tool.Type{Name: tool.TypeString}}
	}
	typed := func(x tool.Type) []tool.Param { return []tool.Param{{Name: "x", Type: x, Required: true}} }
	fields := []tool.Param{{Name: "path", Type: tool.Type{Name: tool.TypeString}, Required: true}, {Name: "line", Type: tool.Type{Name: tool.TypeInteger}}}
	var long []tool.Param
	for i := range 50 {
		long = append(long, text(fmt.Sprintf("field_%d", i)))
	}
	for _, c := range []struct {
		tool tool.Tool
		want string
	}{
		{tool.Tool{Name: "now", Description: "Tell the time.\n\nMore of it."}, "now()  # Tell the time."},
		{tool.Tool{Name: "no-words"}, "no_words()"},
		{tool.Tool{Name: "t", Params: []tool.Param{text("late"), {Name: "first", Type: tool.Type{Name: tool.TypeInteger}, Required: true}, {Name: "dir", FromHost: true}}}, "t(first: int, late: str = None)"},
		{tool.Tool{Name: "json", Params: []tool.Param{text("in"), text("a-b"), text("a_b"), text("tools"), text("type")}}, "json_(in_: str = None, a_b: str = None, a_b_: str = None, tools_: str = None, type: str = None)"},
		{tool.Tool{Name: "t", Params: []tool.Param{
			{Name: "n", HasDefault: true, Default: int64(3)}, {Name: "b", HasDefault: true, Default: false}, {Name: "s", HasDefault: true, Default: "x"},
			{Name: "l", HasDefault: true, Default: value.List{"x"}}, {Name: "long", HasDefault: true, Default: strings.Repeat("x", 40)},
		}}, `t(n: any = 3, b: any = False, s: any = "x", l: any = None, long: any = None)`},
		{tool.Tool{Name: "t", Params: typed(tool.Type{Name: tool.TypeString, Enum: []value.Value{"a", "b"}})}, `t(x: "a"|"b")`},
		{tool.Tool{Name: "t", Params: typed(tool.Type{Name: tool.TypeArray, Items: &tool.Type{Name: tool.TypeNumber, Nullable: true}})}, "t(x: list[float | None])"},
		{tool.Tool{Name: "t", Params: typed(tool.Type{Name: tool.TypeCharacter, Nullable: true})}, "t(x: list[str] | None)"},
		{tool.Tool{Name: "t", Params: typed(tool.Type{Name: tool.TypeObject, Values: &tool.Type{Name: tool.TypeBoolean}})}, "t(x: dict[str, bool])"},
		{tool.Tool{Name: "t", Returns: &tool.Type{Name: tool.TypeArray, Items: &tool.Type{Name: tool.TypeObject, Fields: fields}}}, `t() -> list[{"path": str, "line"?: int}]`},
		{tool.Tool{Name: "t", AllowExtra: true, Params: []tool.Param{text("args")}}, "t(args_: str = None, **args)"},
		{tool.Tool{Name: "t", Schema: []byte(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`)}, "t(q: str)"},
		{tool.Tool{Name: "t", Schema: []byte(`{"type":"object","properties":7}`)}, "t(**args)"},
		{tool.Tool{Name: "t", Params: append(typed(tool.Type{Name: tool.TypeObject, Fields: long}), fields...)}, "t(x: dict, path: str, line: int = None)"},
	} {
		if got := stub.Text([]tool.Tool{c.tool}); got != c.want {
			t.Errorf("the stub of %s is\n%s\nwant\n%s", c.tool.Name, got, c.want)
		}
	}
}

// TestStubOfManyTools checks that they are told in fewer words.
func TestStubOfManyTools(t *testing.T) {
	t.Parallel()
	about := strings.Repeat("Word ", 20) + "end. And then more."
	var tools []tool.Tool
	for i := range 31 {
		tools = append(tools, tool.Tool{Name: fmt.Sprintf("tool_%d", i), Description: about})
	}
	for _, c := range []struct{ tools, longest int }{{30, len(about)}, {31, 60}} {
		for line := range strings.Lines(stub.Text(tools[:c.tools])) {
			_, said, _ := strings.Cut(strings.TrimSpace(line), "# ")
			if n := len([]rune(said)); n != c.longest {
				t.Errorf("of %d tools each is told in %d characters, want %d: %s", c.tools, n, c.longest, line)
			}
		}
	}
	tools[0].Description = "Short. Not told."
	if got := stub.Text(tools); !strings.HasPrefix(got, "tool_0()  # Short.\n") {
		t.Errorf("the stub begins %.40q, want the first sentence alone", got)
	}
}

// TestProgramsLackUntrustedTools checks that a tool which nobody has reviewed is none of
// a program's functions.
func TestProgramsLackUntrustedTools(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{before: coded})
	script := tool.Script{Path: "hidden.star", Source: "def hidden():\n    \"Hide.\"\n\ntool(hidden)\n"}
	d, err := s.Describe(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	info := toolset.Info{Tool: d.Tool, Standing: toolset.Standing{State: toolset.Untrusted}}
	if err := s.RegisterScript(info, func() (tool.Script, error) { return script, nil }); err != nil {
		t.Fatal(err)
	}
	_, err = s.Call(t.Context(), tool.Call{Tool: "execute_code", Args: value.NewDict("code", "hidden()"), Caller: tool.ByPerson})
	if err == nil || !strings.Contains(err.Error(), "undefined: hidden") {
		t.Errorf("the call gave %v, want that there is no such function", err)
	}
}

// TestFunctionsOfPrograms checks that tools get what a program gives them, under
// whatever names they are called.
func TestFunctionsOfPrograms(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{before: coded})
	echo := func(_ context.Context, args *value.Dict) (value.Value, error) { return args, nil }
	text := func(name string, required bool) tool.Param {
		return tool.Param{Name: name, Type: tool.Type{Name: tool.TypeAny}, Required: required}
	}
	for _, x := range []tool.Tool{
		{Name: "my-tool", Params: []tool.Param{text("late", false), text("name", true), text("calls", false)}},
		{Name: "json", Params: []tool.Param{text("in", false), text("tools", false), text("k", false), text("v", false), text("type", true)}},
		{Name: "print", AllowExtra: true, Params: []tool.Param{text("args", false)}},
		{Name: "raw", Schema: []byte(`{"type":"object","properties":{"for":{"type":"string"},"a-b":{"type":["string","null"]}},"required":["a-b"]}`)},
	} {
		x.Description = "Say \"what\" came: \\ '''"
		if err := s.Register(x, echo); err != nil {
			t.Fatal(err)
		}
	}
	for code, want := range map[string]string{
		`my_tool("x", calls = [1])`:                          `{"name": "x", "calls": [1]}`,
		`my_tool(name = "x", late = None)`:                   `{"name": "x"}`,
		`json.decode("[1]")[0]`:                              `1`,
		`json_(in_ = 1, tools_ = 2, k = 3, v = 4, type = 5)`: `{"type": 5, "in": 1, "tools": 2, "k": 3, "v": 4}`,
		`print_(args = 1)`:                                   `{"args": 1}`,
		`raw(a_b = "x", for_ = "y")`:                         `{"a-b": "x", "for": "y"}`,
		`raw(a_b = None)`:                                    `{"a-b": null}`,
	} {
		r, err := s.Call(context.Background(), tool.Call{Tool: "execute_code", Args: value.NewDict("code", code), Caller: tool.ByPerson})
		v, parseErr := value.ParseJSON([]byte(want))
		if err != nil || parseErr != nil || !value.EqualJSON(r.Value, v) {
			t.Errorf("%s = %s, %v, want %s", code, value.FormatJSON(r.Value, ""), err, want)
		}
	}
}

// TestFunctionsHideNoModule checks that no tool takes the place of something that
// programs have by that name.
func TestFunctionsHideNoModule(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{})
	world, err := stdlib.Open(&stdlib.Options{Root: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	modules := append(append(append(stdlib.Pure(), world.Modules()...), host.Modules()...), agent.Modules()...)
	for _, m := range modules {
		names := []string{m.Name}
		if m.Name == "" {
			names = nil
			for i := range m.Funcs {
				names = append(names, m.Funcs[i].Name)
			}
		}
		for _, name := range names {
			if name == "agent" {
				continue // no program has it, nor the tool of that name
			}
			if got := stub.Text([]tool.Tool{{Name: name}}); got != name+"_()" {
				t.Errorf("the tool %s is told as %q, and programs cannot call it: add the name to predeclared in internal/prose/names.go", name, got)
			}
		}
	}
}

// TestNativeModelsWriteProgramsAsText checks that in this format the tools are in
// the prompt alone.
func TestNativeModelsWriteProgramsAsText(t *testing.T) {
	t.Parallel()
	var asked []*model.Request
	s := newStage(t, setting{files: twoFiles, native: true, replies: play{program(`len(read_file("a.txt"))`), done},
		before: func(s *stage, o *agent.Options) {
			coded(s, o)
			o.BeforeAsk = func(_ context.Context, r *model.Request) error { asked = append(asked, r); return nil }
		}})
	r, err := s.turn(context.Background(), "do it")
	if err != nil || len(r.Calls) != 1 || !r.Calls[0].Success || len(asked) != 2 || len(asked[0].Tools) != 0 {
		t.Fatalf("the turn gave %+v, %v, after %d requests", r, err, len(asked))
	}
	text := asked[0].Messages[0].Text
	for _, want := range []string{"# Available Tools\n\n```python\nread_file(filepath: str, ", "## Tool Usage Format", "Let one program do", "TASK COMPLETE: [your answer"} {
		if !strings.Contains(text, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, text)
		}
	}
	for _, absent := range []string{"tool_decision", "execute_code", "Ask for one tool", "### "} {
		if strings.Contains(text, absent) {
			t.Errorf("the prompt has %q:\n%s", absent, text)
		}
	}
}
