package decision

import (
	"strings"
	"testing"
)

// groupTags are tags around several calls. In the others, a call ends the tag.
var groupTags = [][2]string{
	{"<function_calls>", "</function_calls>"}, {"<x:function_calls>", "</x:function_calls>"}, {"<tool_call>", "</tool_call>"},
	{"<tool_calls>", "</tool_calls>"}, {"<tool_code>", "</tool_code>"}, {"<|tool_call_start|>", "<|tool_call_end|>"},
	{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"}, {"[TOOL_CALLS]", "[/TOOL_CALLS]"}, {"[TOOL_REQUEST]", "[END_TOOL_REQUEST]"},
	{"<｜DSML｜function_calls>", "</｜DSML｜function_calls>"}, {"<|tool_call>", "<tool_call|>"},
}

// groupForms are forms of a call of read_file, by name. P is the path.
var groupForms = map[string]string{
	"JSON":     `{"name": "read_file", "arguments": {"filepath": "P"}}`,
	"a list":   `[{"name": "read_file", "arguments": {"filepath": "P"}}]`,
	"invoke":   `<invoke name="read_file"><parameter name="filepath">P</parameter></invoke>`,
	"function": `<function=read_file><parameter=filepath>P</parameter></function>`,
	"the name": `<read_file><filepath>P</filepath></read_file>`,
	"program":  `read_file(filepath="P")`,
	"print":    `print(read_file(filepath="P"))`,
	"Python":   `[read_file(filepath="P")]`,
	"GLM":      "read_file\n<arg_key>filepath</arg_key>\n<arg_value>P</arg_value>",
	"DSML":     `<｜DSML｜invoke name="read_file"><｜DSML｜parameter name="filepath" string="true">P</｜DSML｜parameter></｜DSML｜invoke>`,
	"Gemma":    `call:read_file{filepath:<|"|>P<|"|>}`,
	"nested":   `<tool_call>{"name": "read_file", "arguments": {"filepath": "P"}}</tool_call>`,
}

// groupRest is what cannot be read as a call, but looks like one.
var groupRest = []string{
	`{"name": "raed_file", "arguments": {"filepath": "P"}}`, `{"filepath": "P"}`, `{"name": "read_file", "arguments": `, `[{"name": "raed_file", "arguments": {}}]`,
	`<｜DSML｜invoke name="raed_file"><｜DSML｜parameter name="filepath" string="true">P</｜DSML｜parameter></｜DSML｜invoke>`, `call:raed_file{filepath:<|"|>P<|"|>}`,
	`<invoke name="raed_file"><parameter name="filepath">P</parameter></invoke>`, `<raed_file><filepath>P</filepath></raed_file>`,
	`raed_file(filepath="P")`, `a = read_file(filepath="P")`, `for p in "PQ": read_file(filepath=p)`, `read_file(filepath=name)`,
	"Then this one:\n" + groupForms["JSON"], `- {"name": "clock", "arguments": {}}`, `await asyncio.run(read_file, "P")`,
}

// TestGroups puts two or three calls into one tag: all of them are read, or the reply is an error.
func TestGroups(t *testing.T) {
	t.Parallel()
	o := Options{Tools: caseTools(t)}
	for _, tag := range groupTags {
		wrap := func(parts ...string) string {
			body := ""
			for i, part := range parts {
				body += "\n" + strings.ReplaceAll(part, "P", string(rune('a'+i)))
			}
			return tag[0] + body + "\n" + tag[1]
		}
		for name, form := range groupForms {
			if strings.HasPrefix(form, tag[0]) {
				continue // which of the closing tags is whose?
			}
			for _, parts := range [][]string{{form}, {form, form}, {form, form, form}} {
				if reply := wrap(parts...); !allRead(Read(reply, o), len(parts)) {
					t.Errorf("%s: %q gave %+v", name, reply, Read(reply, o))
				}
			}
			for _, other := range groupForms {
				if reply := wrap(form, other); !allRead(Read(reply, o), 2) && !isReported(Read(reply, o)) {
					t.Errorf("%q gave %+v", reply, Read(reply, o))
				}
			}
			for _, rest := range groupRest {
				for _, reply := range []string{wrap(form, rest), wrap(rest, form), wrap(form, rest, form)} {
					if got := Read(reply, o); !allRead(got, strings.Count(reply, "\n")-1) && !isReported(got) {
						t.Errorf("%q gave %+v", reply, got)
					}
				}
			}
			for _, prose := range []string{"Both files (and the folder) matter.", "# Both files.", ""} {
				if reply := wrap(form, prose); !allRead(Read(reply, o), 1) {
					t.Errorf("%q gave %+v", reply, Read(reply, o))
				}
			}
		}
	}
}

func allRead(got []Decision, n int) bool {
	for i, d := range got {
		if d.Kind != ToolCall || d.Action != "read_file" || d.Input.Text("filepath") != string(rune('a'+i)) {
			return false
		}
	}
	return len(got) == n
}

func isReported(got []Decision) bool {
	return len(got) == 1 && got[0].Error != ""
}
