package decision

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/toolfile"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const bfclDir = "../../../../shared/data/bfcl"

// framing is what models say before and after a decision.
var framing = []struct{ before, after string }{
	{"", ""},
	{"I'll take care of that.\n\n", "\n\nI will report back when I have the result."},
	{"<think>I could write {\"name\": \"x\"} or not.</think>\n", "\n"},
	{"The user wants this to be done, so I need to call the tool.\r\n", "\r\nTASK COMPLETE: as soon as that is done"},
	{"Let me see: it's 3 < 4, {braces} and \"quotes\" `and code` [1].\n", "\n\n"},
}

// A bfclCall is one call of the data, with the first accepted value of each
// argument.
type bfclCall struct {
	name string
	args *value.Dict
}

// TestBFCL writes every call that the Berkeley leaderboard takes for right in
// each format, with prose around it, and reads it back. Whether a tool accepts
// the arguments is not asked here (see the test of the same name in
// runtime/tool, which explains where the data contradict themselves): what was
// written must be read.
//
// In a list of parameters nested values are written as JSON, and everything is
// compared as the tool gets it, after [tool.Tool.Coerce].
func TestBFCL(t *testing.T) {
	read, differs := 0, 0
	for _, file := range []string{"simple_python", "multiple", "parallel"} {
		answers := bfclAnswers(t, file)
		for i, row := range bfclLines(t, filepath.Join(bfclDir, "BFCL_v4_"+file+".json")) {
			line, err := value.AppendJSON(nil, row)
			if err != nil {
				t.Fatal(err)
			}
			tools, err := toolfile.Parse(line)
			if err != nil {
				t.Fatalf("%s: %v", row.Text("id"), err)
			}
			calls := bfclCalls(answers[row.Text("id")])
			for _, f := range []Format{PureJSON, XMLJSON, Markdown, Native} {
				got := writeAndRead(calls, f, i, tools)
				if problem := compareCalls(got, calls, f, tools); problem != "" {
					differs++
					t.Errorf("%s as %s: %s", row.Text("id"), f, problem)
				}
				read += len(calls)
			}
		}
	}
	t.Logf("%d calls written and read, %d replies differ", read, differs)
	if read < 4*1000 {
		t.Errorf("%d calls read, want those of 800 questions in four formats", read)
	}
}

func bfclLines(t *testing.T, path string) (rows []*value.Dict) {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Skipf("the BFCL data are not beside the project: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		v, err := value.ParseJSON(line)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		rows = append(rows, v.(*value.Dict))
	}
	return rows
}

// bfclAnswers returns the rows of a file of answers by the question's id.
func bfclAnswers(t *testing.T, file string) map[string]*value.Dict {
	t.Helper()
	answers := map[string]*value.Dict{}
	for _, row := range bfclLines(t, filepath.Join(bfclDir, "possible_answer", "BFCL_v4_"+file+".json")) {
		answers[row.Text("id")] = row
	}
	return answers
}

func bfclCalls(answer *value.Dict) (calls []bfclCall) {
	truth, _ := answer.Get("ground_truth")
	items, _ := value.Elements(truth)
	for _, item := range items {
		for name, args := range item.(*value.Dict).All() {
			calls = append(calls, bfclCall{name.(string), firstAccepted(args.(*value.Dict))})
		}
	}
	return calls
}

// firstAccepted takes the first accepted value of each argument; "" means that
// it may be left out.
func firstAccepted(args *value.Dict) *value.Dict {
	d := &value.Dict{}
	for k, accepted := range args.All() {
		if items, _ := value.Elements(accepted); len(items) > 0 && items[0] != value.Value("") {
			d.Put(k.(string), concrete(items[0]))
		}
	}
	return d
}

// concrete writes an accepted value out: in a dict each field holds the list of
// its accepted values.
func concrete(v value.Value) value.Value {
	switch v := v.(type) {
	case *value.Dict:
		return firstAccepted(v)
	case value.List:
		list := value.List{}
		for _, item := range v {
			list = append(list, concrete(item))
		}
		return list
	}
	return v
}

func writeAndRead(calls []bfclCall, f Format, seed int, tools []tool.Tool) []Decision {
	o := Options{Tools: tools, Format: f}
	if f == Native {
		r := &model.Reply{Text: framing[seed%len(framing)].before}
		for i, c := range calls {
			native := model.Call{ID: fmt.Sprint(i), Tool: c.name, Args: c.args}
			if seed%2 == 1 {
				native.Args, native.Raw = nil, value.FormatJSON(c.args, "  ")
			}
			r.Calls = append(r.Calls, native)
		}
		return ReadNative(r, o)
	}
	w := framing[seed%len(framing)]
	var b strings.Builder
	b.WriteString(w.before)
	for i, c := range calls {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(writeCall(c, f, seed+i))
	}
	b.WriteString(w.after)
	return Read(b.String(), o)
}

// writeCall writes a call in a format, in one of the ways that models do.
func writeCall(c bfclCall, f Format, seed int) string {
	indent := []string{"", "  "}[seed%2]
	switch f {
	case PureJSON:
		text := value.FormatJSON(value.NewDict("tool_decision", value.NewDict("action", c.name, "input", c.args,
			"reasoning", "it is \"needed\" {here}", "status", "continue")), indent)
		if seed%3 == 0 {
			return "```json\n" + text + "\n```"
		}
		return text
	case XMLJSON:
		return "<TOOL_DECISION>\nACTION: " + c.name + "\nINPUT: " + value.FormatJSON(c.args, indent) +
			"\nREASONING: it is needed\nSTATUS: continue\n</TOOL_DECISION>"
	}
	var b strings.Builder
	b.WriteString("<TOOL_DECISION>\nACTION: " + c.name + "\nREASONING: it is needed\nSTATUS: continue\n\n## Parameters\n")
	for k, v := range c.args.All() {
		text, isText := v.(string)
		if !isText {
			text = value.FormatJSON(v, "")
		}
		b.WriteString("- " + k.(string) + ": " + text + "\n")
	}
	b.WriteString("</TOOL_DECISION>")
	return b.String()
}

func compareCalls(got []Decision, want []bfclCall, f Format, tools []tool.Tool) string {
	if len(got) != len(want) {
		return fmt.Sprintf("got %d decisions (%s %s), want %d", len(got), got[0].Kind, got[0].Error, len(want))
	}
	for i, d := range got {
		input, wanted := d.Input, want[i].args
		same := value.Equal(input, wanted)
		if f == Markdown {
			texts := Decision{Action: want[i].name, Input: want[i].args, Texts: true}
			input, wanted = typedInput(tools, d), typedInput(tools, texts) // a text in the data that is a number is one after Coerce
			same = value.EqualJSON(input, wanted)
		}
		if d.Kind != ToolCall || d.Action != want[i].name || d.Format != f || !same {
			return fmt.Sprintf("got %s %s %s %s (%s), want %s %s", d.Kind, d.Format, d.Action, input, d.Error, want[i].name, wanted)
		}
	}
	return ""
}

// TestBFCLForeign writes the calls in forms that nobody asked for: they must be
// read too, and not where they are shown as an example.
func TestBFCLForeign(t *testing.T) {
	forms := map[string]func(c bfclCall) string{
		"bare": func(c bfclCall) string {
			return `{"name": "` + c.name + `", "arguments": ` + value.FormatJSON(c.args, "") + `}`
		},
		"text": func(c bfclCall) string {
			return value.FormatJSON(value.NewDict("function", value.NewDict("name", c.name, "arguments", value.FormatJSON(c.args, ""))), "  ")
		},
		"fenced": func(c bfclCall) string {
			return "```json\n" + value.FormatJSON(value.NewDict("tool", c.name, "parameters", c.args), "  ") + "\n```"
		},
		"hermes": func(c bfclCall) string {
			return "<tool_call>\n" + value.FormatJSON(value.NewDict("name", c.name, "arguments", c.args), "") + "\n</tool_call>"
		},
		"mistral": func(c bfclCall) string { return "[TOOL_CALLS]" + c.name + "[ARGS]" + value.FormatJSON(c.args, "") },
		"python": func(c bfclCall) string {
			var args []string
			for k, v := range c.args.All() {
				args = append(args, k.(string)+"="+pythonic(v))
			}
			return c.name + "(" + strings.Join(args, ", ") + ")"
		},
		"qwen": func(c bfclCall) string {
			var b strings.Builder
			for k, v := range c.args.All() {
				text, isText := v.(string)
				if !isText {
					text = value.FormatJSON(v, "")
				}
				b.WriteString("<parameter=" + k.(string) + ">\n" + text + "\n</parameter>\n")
			}
			return "<tool_call>\n<function=" + c.name + ">\n" + b.String() + "</function>\n</tool_call>"
		},
	}
	program := func(c bfclCall) string { return forms["python"](c) }
	tags := func(c bfclCall, key, value, end string) string {
		var b strings.Builder
		for k, v := range c.args.All() {
			text, isText := v.(string)
			if !isText {
				text = valueJSON(v)
			}
			b.WriteString(key + k.(string) + value + text + end)
		}
		return b.String()
	}
	forms["pythonic"] = func(c bfclCall) string { return "[" + program(c) + "]" }
	forms["lfm2"] = func(c bfclCall) string {
		return "<|tool_call_start|>[" + program(c) + "]<|tool_call_end|>"
	}
	forms["functiongemma"] = func(c bfclCall) string {
		return "<start_function_call>call:" + c.name + escaped(c.args) + "<end_function_call>"
	}
	forms["nemotron"] = func(c bfclCall) string { return "<TOOLCALL>[" + forms["bare"](c) + "]</TOOLCALL>" }
	forms["lm_studio"] = func(c bfclCall) string { return "[TOOL_REQUEST]" + forms["bare"](c) + "[END_TOOL_REQUEST]" }
	forms["internlm"] = func(c bfclCall) string {
		return "<|action_start|><|plugin|>" + forms["bare"](c) + "<|action_end|>"
	}
	forms["wrapped"] = func(c bfclCall) string {
		return value.FormatJSON(value.NewDict("content", value.FormatJSON(value.NewDict(c.name, c.args), "")), "")
	}
	forms["glm"] = func(c bfclCall) string {
		return "<tool_call>" + c.name + "\n" + tags(c, "<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n") + "</tool_call>"
	}
	forms["deepseek"] = func(c bfclCall) string {
		return "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>" + c.name + "<｜tool▁sep｜>" + valueJSON(c.args) + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
	}
	forms["torn"] = func(c bfclCall) string { return forms["bare"](c) + "\n</think>\n" + forms["bare"](c) }
	leads := []string{"", "I'll do that.\n\n", "<think>\nhm\n</think>\n\n", "Okay.\n"}
	totals, losses := map[string]int{}, map[string]int{}
	answers := bfclAnswers(t, "multiple")
	for i, row := range bfclLines(t, filepath.Join(bfclDir, "BFCL_v4_multiple.json")) {
		line, _ := value.AppendJSON(nil, row)
		tools, err := toolfile.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range bfclCalls(answers[row.Text("id")]) {
			for name, write := range forms {
				totals[name]++
				f := Other
				lead := leads[i%len(leads)]
				if name == "torn" {
					lead = ""
				}
				got := Read(lead+write(c), Options{Tools: tools})
				if name == "qwen" || name == "glm" {
					got[0].Format, f = Markdown, Markdown // compared as the tool gets it
				}
				if problem := compareCalls(got, []bfclCall{c}, f, tools); problem != "" {
					losses[name]++
					t.Logf("%s as %s: %s", row.Text("id"), name, problem)
				}
				if got := Read("For example, it could be:\n\n"+write(c), Options{Tools: tools}); got[0].Kind == ToolCall && name != "torn" {
					t.Errorf("%s as an example in the form %s is read as a call", row.Text("id"), name)
				}
			}
		}
	}
	for name, total := range totals {
		t.Logf("%s: %d of %d calls read", name, total-losses[name], total)
		if 100*losses[name] > total {
			t.Errorf("%s: %d of %d calls were not read", name, losses[name], total)
		}
	}
}

func valueJSON(v value.Value) string { return value.FormatJSON(v, "") }

// escaped writes a value as FunctionGemma does.
func escaped(v value.Value) string {
	var items []string
	switch v := v.(type) {
	case string:
		return "<escape>" + v + "<escape>"
	case value.List:
		for _, item := range v {
			items = append(items, escaped(item))
		}
		return "[" + strings.Join(items, ",") + "]"
	case *value.Dict:
		for k, item := range v.All() {
			items = append(items, k.(string)+":"+escaped(item))
		}
		return "{" + strings.Join(items, ",") + "}"
	}
	return valueJSON(v)
}

// pythonic writes a value as Python does.
func pythonic(v value.Value) string {
	switch v := v.(type) {
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case nil:
		return "None"
	case value.List:
		var items []string
		for _, item := range v {
			items = append(items, pythonic(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case *value.Dict:
		var items []string
		for k, item := range v.All() {
			items = append(items, "'"+k.(string)+"': "+pythonic(item))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	return value.FormatJSON(v, "")
}
