package decision

import (
	"strings"
	"testing"
)

// TestUnread checks the error of a reply without a decision in which something looks like a call,
// and that other replies have none.
func TestUnread(t *testing.T) {
	const unknown = `{"name": "clok", "arguments": {}}`
	for _, c := range []struct {
		name, reply string
		chat        bool
		want        string // the error contains it; "" for no error
	}{
		{"text", "Hm.", false, ""},
		{"data", `{"name": "anna", "age": 7}`, false, ""},
		{"a set", "{1, 2, 3}", false, ""},
		{"a list", "1. clock\n2. read_file", false, ""},
		{"an unknown tool", "So:\n" + unknown, false, `line 2, column 1 of your reply: there is no tool with the name "clok"; did you mean "clock"?`},
		{"in a list", "[" + unknown + "]", false, `line 1, column 2 of your reply: there is no tool`},
		{"in a wrapper", `{"calls": [` + unknown + `]}`, false, "line 1, column 1 of your reply: there is no tool"},
		{"in a tag", "<tool_call>\n" + unknown + "\n</tool_call>", false, "there is no tool"},
		{"other keys", `{"function_name": "clock", "params": {}}`, false, looksOther},
		{"invalid JSON", `{"tool_name": "clok", "tool_args": {"a" 1}}`, false, "its JSON is not valid: expected a colon"},
		{"a tag with text", "<tool_call>clock, please</tool_call>", false, "no call of a tool can be read after this tag"},
		{"variables", "read_file(filepath = name)", false, looksOther},
		{"a line ACTION", "ACTION: clok\nINPUT: {}", false, looksOther},
		{"an example", "For example:\n" + `{"tool_decision": {"action": "clock", "input": {}}}`, false, "line 2, column 1 of your reply: this looks like an example"},
		{"in thinking", "<think>" + unknown + "</think>\nHm.", false, ""},
		{"a tag in quotes", "Use `<tool_call>` for that.", false, ""},
		{"all of a chat's reply", unknown, true, "there is no tool"},
		{"all of a chat's reply, in a fence", "```json\n" + unknown + "\n```", true, "there is no tool"},
		{"a part of a chat's reply", "Write it so:\n\n" + unknown, true, ""},
		{"an example in a chat", "For example:\n" + `{"tool_decision": {"action": "clock", "input": {}}}`, true, ""},
	} {
		for _, f := range []Format{PureJSON, XMLJSON, Markdown, Native, Code} {
			got := Read(c.reply, Options{Tools: caseTools(t), Format: f, Chat: c.chat, NoInference: true})
			if len(got) != 1 || got[0].Kind != None || (got[0].Error == "") != (c.want == "") || !strings.Contains(got[0].Error, c.want) {
				t.Errorf("%s: got %+v, want the error %q", c.name, got, c.want)
			}
			if c.want != "" && !strings.HasSuffix(got[0].Error, "write the complete call again"+howTo(f)+".") {
				t.Errorf("%s: the error %q does not have the words of the format %s", c.name, got[0].Error, f)
			}
		}
	}
}

// The words of a call are searched for once in a reply, not at each brace.
func TestUnreadIsCheap(t *testing.T) {
	tools := caseTools(t)
	for _, name := range []string{"braces", "open_strings", "triple", "escaped"} {
		reply := hostileReplies(10_000)[name]()
		if n := testing.AllocsPerRun(1, func() { Read(reply, Options{Tools: tools}) }); n > 20*float64(len(reply)) {
			t.Errorf("%s: %v allocations for %d bytes", name, n, len(reply))
		}
	}
}
