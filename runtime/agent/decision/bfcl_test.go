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

// A foreignForm writes calls in one reply. It is "" if the form has only one call.
type foreignForm func(calls []bfclCall) string

// foreignForms are forms of calls that nobody asked for, by name.
func foreignForms() map[string]foreignForm {
	object := func(name, args string) func(c bfclCall) string {
		return func(c bfclCall) string { return valueJSON(value.NewDict(name, c.name, args, c.args)) }
	}
	wrapped := func(key string, inner func(c bfclCall) string) func(c bfclCall) string {
		return func(c bfclCall) string { return `{"` + key + `": ` + inner(c) + "}" }
	}
	around := func(begin, between, end string, write func(c bfclCall) string) foreignForm {
		return func(calls []bfclCall) string {
			return begin + strings.Join(value.Map(calls, write), between) + end
		}
	}
	each := func(begin, end string, write func(c bfclCall) string) foreignForm {
		return around(begin, end+begin, end, write)
	}
	alone := func(form foreignForm) foreignForm {
		return func(calls []bfclCall) string {
			if len(calls) > 1 {
				return ""
			}
			return form(calls)
		}
	}
	texts := func(key, closeKey, end string) func(c bfclCall) string {
		return func(c bfclCall) string {
			var b strings.Builder
			for k, v := range c.args.All() {
				text, isText := v.(string)
				if !isText {
					text = valueJSON(v)
				}
				b.WriteString(key + k.(string) + closeKey + text + end)
			}
			return b.String()
		}
	}
	program := func(c bfclCall) string {
		var args []string
		for k, v := range c.args.All() {
			args = append(args, k.(string)+"="+pythonic(v))
		}
		return c.name + "(" + strings.Join(args, ", ") + ")"
	}
	gemma := func(quote string) func(c bfclCall) string {
		return func(c bfclCall) string { return c.name + escaped(c.args, quote) }
	}
	bare, llama := object("name", "arguments"), object("name", "parameters")
	return map[string]foreignForm{
		"bare": around("", "\n", "", bare),
		"text": around("", "\n", "", func(c bfclCall) string {
			return value.FormatJSON(value.NewDict("function", value.NewDict("name", c.name, "arguments", valueJSON(c.args))), "  ")
		}),
		"fenced":  each("```json\n", "\n```\n", object("tool", "parameters")),
		"hermes":  each("<tool_call>\n", "\n</tool_call>\n", bare),
		"mistral": each("[TOOL_CALLS]", "", func(c bfclCall) string { return c.name + "[ARGS]" + valueJSON(c.args) }),
		"mistral with IDs": each("[TOOL_CALLS]", "", func(c bfclCall) string {
			return c.name + "[CALL_ID]a1B2c3D4e[ARGS]" + valueJSON(c.args)
		}),
		"mistral's list": around("[TOOL_CALLS][", ", ", "]", bare),
		"python":         around("", "\n", "", program),
		"olmo":           around("<function_calls>\n", "\n", "\n</function_calls>", program),
		"pythonic":       around("[", ", ", "]", program),
		"lfm2":           around("<|tool_call_start|>[", ", ", "]<|tool_call_end|>", program),
		"functiongemma":  each("<start_function_call>call:", "<end_function_call>", gemma("<escape>")),
		"gemma":          each("<|tool_call>call:", "<tool_call|>", gemma(`<|"|>`)),
		"nemotron":       around("<TOOLCALL>[", ", ", "]</TOOLCALL>", bare),
		"lm_studio":      each("[TOOL_REQUEST]", "[END_TOOL_REQUEST]\n", bare),
		"internlm":       each("<|action_start|><|plugin|>", "<|action_end|>", bare),
		"phi":            around("functools[", ", ", "]", bare),
		"llama":          around("", "; ", "", llama),
		"llama's tag":    around("<|python_tag|>", "; ", "", llama),
		"params":         around("", "\n", "", object("name", "params")),
		"tool_use":       around("", "\n", "", wrapped("tool_use", object("name", "input"))),
		"functionCall":   around("[", ", ", "]", wrapped("functionCall", object("name", "args"))),
		"tool_uses": around(`{"tool_uses": [`, ", ", "]}", func(c bfclCall) string {
			return object("recipient_name", "parameters")(bfclCall{"functions." + c.name, c.args})
		}),
		"wrapped": alone(around("", "", "", func(c bfclCall) string {
			return valueJSON(value.NewDict("content", valueJSON(value.NewDict(c.name, c.args))))
		})),
		"qwen": each("<tool_call>\n", "\n</tool_call>\n", func(c bfclCall) string {
			return "<function=" + c.name + ">\n" + texts("<parameter=", ">\n", "\n</parameter>\n")(c) + "</function>"
		}),
		"invoke": around("<function_calls>\n", "\n", "\n</function_calls>", func(c bfclCall) string {
			return `<invoke name="` + c.name + "\">\n" + texts(`<parameter name="`, `">`, "</parameter>\n")(c) + "</invoke>"
		}),
		"glm": each("<tool_call>", "</tool_call>\n", func(c bfclCall) string {
			return c.name + "\n" + texts("<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n")(c)
		}),
		"deepseek": around("<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>", func(c bfclCall) string {
			return "<｜tool▁call▁begin｜>" + c.name + "<｜tool▁sep｜>" + valueJSON(c.args) + "<｜tool▁call▁end｜>"
		}),
		"dsml": around("<｜DSML｜function_calls>\n", "\n", "\n</｜DSML｜function_calls>", func(c bfclCall) string {
			var b strings.Builder
			for k, v := range c.args.All() {
				text, isText := v.(string)
				if !isText {
					text = valueJSON(v)
				}
				fmt.Fprintf(&b, "<｜DSML｜parameter name=%q string=\"%t\">%s</｜DSML｜parameter>\n", k, isText, text)
			}
			return "<｜DSML｜invoke name=\"" + c.name + "\">\n" + b.String() + "</｜DSML｜invoke>"
		}),
		"torn": alone(func(calls []bfclCall) string { return bare(calls[0]) + "\n</think>\n" + bare(calls[0]) }),
	}
}

// TestBFCLForeign writes the calls in forms that nobody asked for: they must be
// read too, and not where they are shown as an example.
func TestBFCLForeign(t *testing.T) {
	leads := []string{"", "I'll do that.\n\n", "<think>\nhm\n</think>\n\n", "Okay.\n"}
	forms, totals, losses := foreignForms(), map[string]int{}, map[string]int{}
	for _, file := range []string{"simple_python", "multiple", "parallel"} {
		answers := bfclAnswers(t, file)
		for i, row := range bfclLines(t, filepath.Join(bfclDir, "BFCL_v4_"+file+".json")) {
			line, _ := value.AppendJSON(nil, row)
			tools, err := toolfile.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			calls := bfclCalls(answers[row.Text("id")])
			for name, write := range forms {
				reply := write(calls)
				if reply == "" {
					continue
				}
				lead := leads[i%len(leads)]
				if name == "torn" {
					lead = ""
				}
				totals[name]++
				got := Read(lead+reply, Options{Tools: tools})
				for i := range got {
					got[i].Input = typedInput(tools, got[i]) // compared as the tool gets it
				}
				if problem := compareCalls(got, calls, Other, tools); problem != "" {
					losses[name]++
					t.Logf("%s as %s: %s", row.Text("id"), name, problem)
				}
				if got := Read("For example, it could be:\n\n"+reply, Options{Tools: tools}); got[0].Kind == ToolCall && name != "torn" {
					t.Errorf("%s as an example in the form %s is read as a call", row.Text("id"), name)
				}
			}
		}
	}
	for name, total := range totals {
		t.Logf("%s: %d of %d replies read", name, total-losses[name], total)
		if 100*losses[name] > total {
			t.Errorf("%s: %d of %d replies were not read", name, losses[name], total)
		}
	}
}

func valueJSON(v value.Value) string { return value.FormatJSON(v, "") }

// escaped writes a value as Gemma does.
func escaped(v value.Value, quote string) string {
	var items []string
	switch v := v.(type) {
	case string:
		return quote + v + quote
	case value.List:
		for _, item := range v {
			items = append(items, escaped(item, quote))
		}
		return "[" + strings.Join(items, ",") + "]"
	case *value.Dict:
		for k, item := range v.All() {
			items = append(items, k.(string)+":"+escaped(item, quote))
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
