package decision

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// checkDecisions checks what holds of every answer of Read.
func checkDecisions(t interface{ Fatalf(string, ...any) }, got []Decision) {
	if len(got) == 0 || len(got) > maxCalls {
		t.Fatalf("got %d decisions", len(got))
	}
	for _, d := range got {
		switch {
		case d.Kind == ToolCall && (d.Input == nil || d.Action == "" || d.Format == "" || d.Error != ""):
			t.Fatalf("got an incomplete call: %+v", d)
		case d.Kind != ToolCall && len(got) > 1:
			t.Fatalf("got %s among %d decisions", d.Kind, len(got))
		case d.Kind != None && (d.Kind == Invalid) != (d.Error != ""):
			t.Fatalf("got %s with the error %q", d.Kind, d.Error)
		case d.Kind == Final && d.Answer == "":
			t.Fatalf("got a final without an answer")
		case d.Status != Continue && d.Status != LastCall:
			t.Fatalf("got the status %q", d.Status)
		}
		if _, err := d.MarshalJSON(); err != nil {
			t.Fatalf("MarshalJSON: %v", err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"ours", "foreign", "none", "broken", "repaired", "final", "inferred", "quoted", "honest"} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		for i := 0; i < len(archive.Files); i += 2 {
			f.Add(string(archive.Files[i].Data))
		}
	}
	for _, reply := range hostileReplies(replySize) {
		f.Add(reply()[:300])
	}
	tools := caseTools(f)
	f.Fuzz(func(t *testing.T, reply string) {
		o := Options{Tools: tools}
		got := Read(reply, o)
		checkDecisions(t, got)
		if again := Read(reply, o); !reflect.DeepEqual(got, again) {
			t.Fatalf("the same reply read twice gave %+v and %+v", got, again)
		}
		for _, d := range ReadNative(&model.Reply{Text: reply, Stop: model.StopLength}, o) {
			if d.Kind == ToolCall {
				t.Fatalf("a call of a reply that was cut off is made: %+v", d)
			}
		}
		checkDecisions(t, Read(reply, Options{}))
	})
}

// TestProseIsNoCall checks that no text without a tool's name, braces or
// brackets is ever a call or an error.
func TestProseIsNoCall(t *testing.T) {
	tools := caseTools(t)
	words := []string{"I'll", "use", "the", "tool", "now", "ACTION:", "INPUT:", "\n", "`", "\"a.txt\"", "<tool_call>", "</tool_call>", "```json", "```",
		"call", "REASONING:", "- key: value", "## Parameters", "let me", "STATUS: final", "<think>", "</think>", "[TOOL_CALLS]", "(x=1)", "read", "file", "...", "é"}
	rapid.Check(t, func(t *rapid.T) {
		reply := strings.Join(rapid.SliceOf(rapid.SampledFrom(words)).Draw(t, "words"), rapid.SampledFrom([]string{" ", "\n", ""}).Draw(t, "between"))
		for _, name := range tools {
			if strings.Contains(tool.Key(reply), tool.Key(name.Name)) {
				t.Skip("it names a tool")
			}
		}
		if got := Read(reply, Options{Tools: tools}); got[0].Kind != None {
			t.Fatalf("Read(%q) = %+v, want none", reply, got)
		}
	})
}

// TestReadIsLinear reads hostile replies of two lengths. A reader that searches for the end of each
// thing, or keeps something of each place, needs more than in proportion.
func TestReadIsLinear(t *testing.T) {
	tools := caseTools(t)
	for name := range hostileReplies(1) {
		testutil.Linear(t, name, 5_000, 5*replySize, func(n int) {
			checkDecisions(t, Read(hostileReplies(n)[name](), Options{Tools: tools}))
		})
		reply := hostileReplies(testutil.Times(20_000, replySize))[name]()
		heard := strings.Repeat(reply, testutil.Times(1, 5))
		checkDecisions(t, Read(heard, Options{Tools: tools, Heard: []string{reply}}))
	}
}

func TestReadManyCalls(t *testing.T) {
	one := `{"tool_decision":{"action":"f","input":{}}}` + "\n"
	if got := Read(strings.Repeat(one, maxCalls), Options{}); len(got) != maxCalls {
		t.Errorf("got %d decisions, want %d", len(got), maxCalls)
	}
	for _, n := range []int{maxCalls + 1, 10 * maxCandidates} {
		if got := Read(strings.Repeat(one, n), Options{}); len(got) != 1 || got[0].Kind != Invalid || !strings.Contains(got[0].Error, "too many") {
			t.Errorf("%d calls: got %+v, want an error", n, got[0])
		}
	}
}

func TestReadManyNativeCalls(t *testing.T) {
	r := &model.Reply{}
	for i := range maxCalls + 1 {
		if got := ReadNative(r, Options{}); i > 0 && (len(got) != i || got[i-1].Kind != ToolCall) {
			t.Errorf("%d calls: got %d decisions, the last %+v", i, len(got), got[len(got)-1])
		}
		r.Calls = append(r.Calls, model.Call{ID: strconv.Itoa(i), Tool: "f", Args: &value.Dict{}})
	}
	if got := ReadNative(r, Options{}); len(got) != 1 || got[0].Kind != Invalid || got[0].ID != "" || !strings.Contains(got[0].Error, "too many calls: limit 64") {
		t.Errorf("%d calls: got %+v, want one error", len(r.Calls), got)
	}
}

func TestReadPrefersTheFormat(t *testing.T) {
	reply := `{"tool_decision":{"action":"f","input":{"a":"1"}}}
<TOOL_DECISION>
ACTION: f
INPUT: {"a": "1"}
</TOOL_DECISION>`
	for _, c := range []struct{ asked, want Format }{{"", PureJSON}, {PureJSON, PureJSON}, {XMLJSON, XMLJSON}, {Markdown, PureJSON}} {
		if got := Read(reply, Options{Format: c.asked}); len(got) != 1 || got[0].Format != c.want {
			t.Errorf("asked for %q: got %+v, want one call as %s", c.asked, got, c.want)
		}
	}
}

func TestReadPositions(t *testing.T) {
	got := Read("é: look\n{\"tool_decision\": {\"action\": \"ü\", \"input\": {x y}}}", Options{})[0]
	if want := `line 2, column 47 of your reply: the JSON of the call is not valid: expected a colon but got "y"`; !strings.HasPrefix(got.Error, want) {
		t.Errorf("got %q, want it to begin with %q", got.Error, want)
	}
}

func TestNoInference(t *testing.T) {
	reply := "I'll use read_file on 'a.txt'."
	for off, want := range map[bool]Kind{false: ToolCall, true: None} {
		if got := Read(reply, Options{Tools: caseTools(t), NoInference: off})[0]; got.Kind != want || got.Inferred == off {
			t.Errorf("NoInference %v: got %+v, want %s", off, got, want)
		}
	}
}

// Where only one tool is offered, its verb is not a name of it either.
func TestInferredOnlyTool(t *testing.T) {
	all := caseTools(t)
	pick := func(names ...string) []tool.Tool {
		var tools []tool.Tool
		for _, d := range all {
			for _, name := range names {
				if d.Name == name {
					tools = append(tools, d)
				}
			}
		}
		return tools
	}
	for _, c := range []struct {
		reply string
		tools []tool.Tool
		want  string
	}{
		{"I will now read the file README.md.", pick("read_file", "task_complete"), "none"},
		{"Let me read README.md first.", pick("read_file"), "none"},
		{"I will now read the file README.md.", pick("read_file", "clock"), "none"},
		{"I will now write the file README.md.", pick("read_file"), "none"},
		{"I will now delete the file README.md.", pick("delete_file"), "none"},
		{"I won't read the file README.md.", pick("read_file"), "none"},
		{"I have read the file README.md.", pick("read_file"), "none"},
		{"I will read the file README.md when you agree.", pick("read_file"), "none"},
		{"Should I read the file README.md?", pick("read_file"), "none"},
		{"I will read it to you: README.md says hello.", pick("read_file"), "none"},
	} {
		if got := describe(all, Read(c.reply, Options{Tools: c.tools})[0]); got != c.want {
			t.Errorf("%q: got %s, want %s", c.reply, got, c.want)
		}
	}
}

// What a tool told the model is no call of the model's.
func TestHeard(t *testing.T) {
	tools := caseTools(t)
	same := value.NewDict("path", "p", "content", "x y")
	pure := `{"tool_decision": {"action": "write_file", "input": {"path": "p", "content": "x y"}, "status": "continue"}}`
	xml := "<TOOL_DECISION>\nACTION: write_file\nINPUT: {\"path\": \"p\", \"content\": \"x y\"}\nSTATUS: continue\n</TOOL_DECISION>"
	numbered := "1\thello\n2\t" + strings.ReplaceAll(xml, "\n", "\n3\t")
	for name, c := range map[string]struct{ reply, heard string }{
		"pure_json":  {pure, "hello\n" + pure + "\nbye"},
		"xml_json":   {xml, "hello\n" + strings.ReplaceAll(xml, "\n", "\r\n  ") + "\nbye"},
		"markdown":   {"<TOOL_DECISION>\nACTION: write_file\n## Parameters\n- path: p\n- content: x y\n</TOOL_DECISION>", "<TOOL_DECISION>\nACTION: write_file\n## Parameters\n- path: p\n- content: x y\n</TOOL_DECISION>"},
		"hermes":     {"<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"p\", \"content\": \"x y\"}}\n</tool_call>", `<tool_call>{"name": "write_file", "arguments": {"path": "p", "content": "x y"}}</tool_call>`},
		"bare":       {`{"name": "write_file", "arguments": {"path": "p", "content": "x y"}}`, `a {"name":"write_file","arguments":{"path":"p","content":"x y"}} b`},
		"python":     {`write_file(path="p", content="x y")`, `run write_file(path="p", content="x y") now`},
		"fenced":     {"```json\n" + pure + "\n```", pure},
		"with lines": {xml, numbered},
		"escaped":    {pure, `{"text": "` + strings.ReplaceAll(pure, `"`, `\"`) + `"}`},
	} {
		got := Read(c.reply, Options{Tools: tools})
		if len(got) != 1 || got[0].Kind != ToolCall || !value.EqualJSON(typedInput(tools, got[0]), same) {
			t.Errorf("%s, not heard: got %+v, want a call", name, got)
		}
		if got := Read(c.reply, Options{Tools: tools, Heard: []string{"other", c.heard}}); got[0].Kind != None {
			t.Errorf("%s, heard: got %+v, want none", name, got)
		}
		other := strings.ReplaceAll(c.heard, "x y", "z")
		if got := Read(c.reply, Options{Tools: tools, Heard: []string{other, "write_file"}}); got[0].Kind != ToolCall {
			t.Errorf("%s, heard another call of the tool: got %+v, want a call", name, got)
		}
		if got := Read("TASK COMPLETE: done.\n\n"+c.reply, Options{Tools: tools, Heard: []string{c.heard}}); got[0].Kind != Final {
			t.Errorf("%s, heard, with an answer: got %+v, want the answer", name, got)
		}
	}
	if got := Read("clock()", Options{Tools: tools, Heard: []string{"clock()"}}); got[0].Kind != ToolCall {
		t.Errorf("too short to be known again: got %+v, want a call", got)
	}
	two := pure + "\nNow I will look at the clock.\n" + `{"tool_decision": {"action": "clock", "input": {}}}`
	if got := Read(two, Options{Tools: tools, Heard: []string{pure}}); len(got) != 1 || got[0].Action != "clock" {
		t.Errorf("one of two was heard: got %+v, want the other", got)
	}
}

func TestReadNative(t *testing.T) {
	tools := caseTools(t)
	args := value.NewDict("filepath", "a.txt")
	for _, c := range []struct {
		name string
		call model.Call
		stop model.Stop
		want string // as describe writes it, or a part of the error
	}{
		{"object", model.Call{Tool: "read_file", Args: args}, model.StopCalls, `call native read_file {"filepath":"a.txt"} reasoning=Look.`},
		{"text", model.Call{Tool: "read_file", Raw: ` {"filepath": "a.txt"} `}, model.StopCalls, `call native read_file {"filepath":"a.txt"} reasoning=Look.`},
		{"text twice", model.Call{Tool: "read_file", Raw: `"{\"filepath\": \"a.txt\"}"`}, model.StopCalls, `call native read_file {"filepath":"a.txt"} reasoning=Look.`},
		{"nothing", model.Call{Tool: "clock"}, model.StopCalls, `call native clock {} reasoning=Look.`},
		{"mended", model.Call{Tool: "read_file", Raw: `{'filepath': "a.txt",}`}, model.StopCalls, `call native read_file {"filepath":"a.txt"} reasoning=Look.`},
		{"unclosed", model.Call{Tool: "read_file", Raw: `{"filepath": "a.txt"`}, model.StopCalls, `call native read_file {"filepath":"a.txt"} reasoning=Look.`},
		{"cut off", model.Call{Tool: "read_file", Raw: `{"filepath": "a.txt"`}, model.StopLength, "cut off"},
		{"cut off after the call", model.Call{Tool: "read_file", Args: args}, model.StopLength, "the call of read_file was not made: the reply was cut off"},
		{"cut off in a text", model.Call{Tool: "read_file", Raw: `{"filepath": "a.t`}, model.StopLength, "an unclosed string"},
		{"without what is required", model.Call{Tool: "read_file", Raw: `{"limit": 1, "x": "y"`}, model.StopCalls, "the text ends inside the arguments"},
		{"another spelling", model.Call{Tool: "my_tool", Args: &value.Dict{}}, model.StopCalls, `call native my-tool {} reasoning=Look.`},
		{"unknown tool", model.Call{Tool: "nope", Args: &value.Dict{}}, model.StopCalls, `call native nope {} reasoning=Look.`},
		{"a list", model.Call{Tool: "clock", Raw: `[1]`}, model.StopCalls, "expected a JSON object but got array"},
		{"broken", model.Call{Tool: "clock", Raw: `{"a": }`}, model.StopCalls, "line 1, column 7"},
		{"two values", model.Call{Tool: "clock", Raw: `{} {}`}, model.StopCalls, "expected the end of the JSON but got"},
	} {
		c.call.ID = "id-1"
		got := ReadNative(&model.Reply{Text: "Look.", Calls: []model.Call{c.call}, Stop: c.stop}, Options{Tools: tools})
		if len(got) != 1 || got[0].ID != "id-1" {
			t.Errorf("%s: got %+v, want one decision of id-1", c.name, got)
			continue
		}
		if text := describe(tools, got[0]); text != c.want && !(got[0].Kind == Invalid && strings.Contains(text, c.want)) {
			t.Errorf("%s: got %s, want %s", c.name, text, c.want)
		}
	}
}

// A reply that reached its longest may lack a part of its last call, or other calls.
func TestReadCutOff(t *testing.T) {
	tools := caseTools(t)
	const call = `{"tool_decision":{"action":"read_file","input":{"filepath":"a.txt"}}}`
	for _, c := range []struct{ reply, want string }{
		{"<TOOL_DECISION>\nACTION: write_file\n## Parameters\n- path: a\n- content: half of", "column 19 of your reply: " + cutOff},
		{`{"tool_decision":{"action":"read_file","input":{"filepath":"a.txt"}`, cutOff},
		{call, cutOff},
		{call + " and then", cutOff},
		{call + "\n" + call[:40], "an unclosed string"},
		{"<tool_call>" + `{"name": "clock", "arguments": {}}` + "</tool_call>\n<tool_c", "the text ends inside a tag"},
		{"```tool_code\nclock()\n```\nThen", cutOff},
		{"I'll use read_file on 'a.txt'.", cutOff},
		{"I'll use read_file on", "none"},
		{"TASK COMPLETE: half of", "final half of"},
	} {
		got := ReadNative(&model.Reply{Text: c.reply, Stop: model.StopLength}, Options{Tools: tools})
		if text := describe(tools, got[0]); len(got) != 1 || got[0].Kind == ToolCall || !strings.Contains(text, c.want) {
			t.Errorf("%q: got %s, want %s", c.reply, text, c.want)
		}
	}
	two := []model.Call{{ID: "1", Tool: "clock"}, {ID: "2", Tool: "read_file", Raw: `{"filepath": "a`}}
	for i, d := range ReadNative(&model.Reply{Calls: two, Stop: model.StopLength}, Options{Tools: tools}) {
		if d.Kind != Invalid || d.ID != two[i].ID {
			t.Errorf("native call %d of a reply that was cut off: got %+v, want an error", i, d)
		}
	}
}

// TestIsAnswer checks that calls, and what cannot be read as one, come before an answer that nothing
// announces.
func TestIsAnswer(t *testing.T) {
	tools := []tool.Tool{{Name: "read_file", Params: []tool.Param{{Name: "filepath", Type: tool.Type{Name: tool.TypeString}, Required: true}}}}
	isObject := func(text string) bool { return strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") }
	for _, c := range []struct {
		reply, answer string
		kind          Kind
	}{
		{`{"ok": true}`, `{"ok": true}`, Final},
		{"<think>I am done.</think>\n{\"ok\": true}\n", `{"ok": true}`, Final},
		{`{"note": "I will use read_file to read README.md"}`, `{"note": "I will use read_file to read README.md"}`, Final},
		{`{"tool_decision": {"action": "read_file", "input": {"filepath": "a"}}}`, "", ToolCall},
		{`{"action": "read_file", "input": {"filepath": "a"}}`, "", ToolCall},
		{`{"tool_decision": {"action": "read_fil", "input": {"filepath": }}}`, "", Invalid},
		{`TASK COMPLETE: {"ok": false}`, `{"ok": false}`, Final},
		{`I think {"ok": true}`, `I think {"ok": true}`, None},
	} {
		got := Read(c.reply, Options{Tools: tools, IsAnswer: isObject})
		checkDecisions(t, got)
		if len(got) != 1 || got[0].Kind != c.kind || got[0].Answer != c.answer {
			t.Errorf("Read(%q) = %+v, want %s %q", c.reply, got, c.kind, c.answer)
		}
	}
}
