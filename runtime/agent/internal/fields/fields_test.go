package fields

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
)

// read reads a block behind its opening tag, or from the start of a text without one.
func read(t *testing.T, text string) *Block {
	t.Helper()
	at, tags := Tag(text, 0)
	if !tags {
		at = 0
	}
	return Read(text, at, tags, loose.NewFinder(text))
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, text, action, input, reasoning, status string }{
		{"JSON", "<TOOL_DECISION>\nACTION: f\nINPUT: {\"a\": 1}\nREASONING: why\nSTATUS: final\n</TOOL_DECISION>", "f", `{"a": 1}`, "why", "final"},
		{"another order", "<TOOL_DECISION>\nSTATUS: final\nREASONING: why\nINPUT: {}\nACTION: f\n</TOOL_DECISION>", "f", `{}`, "why", "final"},
		{"one line", "<TOOL_DECISION>ACTION: f INPUT: {\"a\": 1} STATUS: final</TOOL_DECISION>", "f", `{"a": 1}`, "", "final"},
		{"emphasis", "<tool_decision>\n**ACTION:** f\n**ACTION INPUT**: {\"a\": 1}\n</tool_decision>", "f", `{"a": 1}`, "", ""},
		{"elements", "<TOOL_DECISION>\n<ACTION>f</ACTION>\n<INPUT>{\"a\": 1}</INPUT>\n</TOOL_DECISION>", "f", `{"a": 1}`, "", ""},
		{"a fence", "<TOOL_DECISION>\nACTION: f\nINPUT:\n```json\n{\"a\": 1}\n```\nSTATUS: final\n</TOOL_DECISION>", "f", `{"a": 1}`, "", "final"},
		{"JSON in a string", "<TOOL_DECISION>\nACTION: f\nINPUT: \"{\\\"a\\\": 1}\"\n</TOOL_DECISION>", "f", `{"a": 1}`, "", ""},
		{"no input", "<TOOL_DECISION>\nACTION: f\nINPUT: none\n</TOOL_DECISION>", "f", `{}`, "", ""},
		{"a list", "<TOOL_DECISION>\nACTION: f\n## Parameters\n- a: 1\n- **b**: `two`\n- c: \"3\"\n</TOOL_DECISION>", "f", `{"a": "1", "b": "two", "c": "3"}`, "", ""},
		{"long values", "<TOOL_DECISION>\nACTION: f\n## Parameters\n- a: one\n    two\n\n    three\n- b:\n  ```go\n  if x {\n  \ty()\n  }\n  ```\n</TOOL_DECISION>", "f", `{"a": "one\ntwo\n\nthree", "b": "if x {\n\ty()\n}"}`, "", ""},
		{"a parameter with the name of a field", "<TOOL_DECISION>\nACTION: f\n## Parameters\n- status: open\n- action: none\nSTATUS: final\n</TOOL_DECISION>", "f", `{"status": "open", "action": "none"}`, "", "final"},
		{"names of fields in reasoning", "<TOOL_DECISION>\nACTION: f\nREASONING: the INPUT: of the form,\nand its STATUS: is unknown to me\nINPUT: {\"a\": 1}\n</TOOL_DECISION>", "f", `{"a": 1}`, "the INPUT: of the form,\nand its STATUS: is unknown to me", ""},
		{"no tags", "ACTION: f\nINPUT: {\"a\": 1}\n\nThat is all.", "f", `{"a": 1}`, "", ""},
		{"no fields", "<TOOL_DECISION> is a tag", "", "", "", ""},
	} {
		b := read(t, c.text)
		input := ""
		if b.Input != nil {
			input = strings.ReplaceAll(strings.ReplaceAll(b.Input.String(), `":`, `": `), `,"`, `, "`)
		}
		if b.Err != nil || b.Action != c.action || input != c.input || b.Reasoning != c.reasoning || b.Status != c.status {
			t.Errorf("%s: %q %s %q %q, %+v", c.name, b.Action, input, b.Reasoning, b.Status, b.Err)
		}
		if b.Empty() != (c.action == "") || b.HasInput() != (c.input != "") {
			t.Errorf("%s: empty %v, has an input %v", c.name, b.Empty(), b.HasInput())
		}
	}
}

func TestReadFaults(t *testing.T) {
	for _, c := range []struct{ text, fault string }{
		{"<TOOL_DECISION>\nACTION: f\nACTION: g\n</TOOL_DECISION>", "duplicated"},
		{"<TOOL_DECISION>\nACTION: f\nINPUT: {\"a\" 1}\n</TOOL_DECISION>", "the INPUT is not valid JSON"},
		{"<TOOL_DECISION>\nACTION: f\nINPUT: [1]\n</TOOL_DECISION>", "expected a JSON object after INPUT"},
		{"<TOOL_DECISION>\nACTION: f\nINPUT: \"text\"\n</TOOL_DECISION>", "the INPUT is not a JSON object"},
		{"<TOOL_DECISION>\nACTION: f\nINPUT: {\"a\": 1} {\"b\": 2}\n</TOOL_DECISION>", "unexpected text after the INPUT"},
		{"<TOOL_DECISION>\nACTION: f\n## Parameters\n- a: one\nmore of it\n</TOOL_DECISION>", `expected "- key: value"`},
		{"<TOOL_DECISION>\nACTION: f\n## Parameters\n- a: 1\n- a: 2\n</TOOL_DECISION>", `the parameter "a" is duplicated`},
		{"<TOOL_DECISION>\nACTION: f\n## Parameters\n- without a colon\n</TOOL_DECISION>", "expected a parameter"},
		{"<TOOL_DECISION>\nACTION: f\n## Parameters\n- a:\n  ```\n  code\n</TOOL_DECISION>", "an unclosed code fence"},
	} {
		b := read(t, c.text+"\nafter")
		if b.Err == nil || !strings.Contains(b.Err.What, c.fault) {
			t.Errorf("%q: %+v, want %q", c.text, b.Err, c.fault)
		}
	}
}

// TestReadEnds checks where a block ends, and whether it was closed.
func TestReadEnds(t *testing.T) {
	for _, c := range []struct {
		text, rest string
		closed     bool
	}{
		{"<TOOL_DECISION>\nACTION: f\n</TOOL_DECISION> rest", " rest", true},
		{"<TOOL_DECISION>\nACTION: f\n</tool_decision >rest", "rest", true},
		{"<TOOL_DECISION>\nACTION: f\nother text\n</TOOL_DECISION>", "", true},
		{"<TOOL_DECISION>\nACTION: f\n<TOOL_DECISION>\nACTION: g", "<TOOL_DECISION>\nACTION: g", false},
		{"<TOOL_DECISION>\nACTION: f\n", "", false},
		{"<TOOL_DECISION>\nACTION: f\nACTION: g\n</TOOL_DECISION>rest", "rest", false},
		{"ACTION: f\nINPUT: {}\nother text", "other text", true},
		{"ACTION: f\nINPUT: {}\nACTION: g\nINPUT: {}", "ACTION: g\nINPUT: {}", true},
	} {
		b := read(t, c.text)
		if c.text[b.End:] != c.rest || b.Closed != c.closed {
			t.Errorf("%q: the rest is %q, closed %v, want %q, %v", c.text, c.text[b.End:], b.Closed, c.rest, c.closed)
		}
	}
}

func TestActionAndTag(t *testing.T) {
	for text, want := range map[string]string{"ACTION: f": " f", "**Action:** f": " f", "- action: f": " f", "### ACTION: f": " f", "<ACTION>f": "f", "ACTIONS: f": "-", "INPUT: {}": "-", "The ACTION: f": "-", "": "-"} {
		start, ok := Action(text, 0)
		if got := text[start:]; ok != (want != "-") || ok && got != want {
			t.Errorf("Action(%q) = %q, %v, want %q", text, got, ok, want)
		}
	}
	for text, want := range map[string]bool{"<TOOL_DECISION>": true, "<tool_decision >": true, "<TOOL_DECISION": false, "</TOOL_DECISION>": false, "<TOOL_DECISIONS>": false, "TOOL_DECISION": false, "": false} {
		if _, ok := Tag(text, 0); ok != want {
			t.Errorf("Tag(%q) = %v", text, ok)
		}
	}
	for text, want := range map[string]bool{"none": true, "`None`": true, "N/A": true, "null": true, "nobody": false, "": false} {
		if IsNobody(text) != want {
			t.Errorf("IsNobody(%q) = %v", text, !want)
		}
	}
}

// TestReadIsLinear reads blocks of hostile texts of two lengths. A reader that looks for the end of
// each line or field anew needs more than in proportion.
func TestReadIsLinear(t *testing.T) {
	for _, c := range []struct{ before, unit string }{
		{"", "ACTION: f\n"}, {"", "<TOOL_DECISION>"}, {"", " "}, {"", "\n"}, {"", "<"}, {"REASONING: ", "INPUT: a "}, {"REASONING: a\n", "STATUS: two words\n"},
		{"## Parameters\n", "- a: b\n"}, {"## Parameters\n- a: b\n", "  c\n"}, {"## Parameters\n- a: b\n", "\n"}, {"## Parameters\n- a:\n", "```\n"},
		{"INPUT: ", "{"}, {"INPUT: ", `{"a":`}, {"INPUT: ", "```\n"}, {"INPUT: ", `"`}, {"ACTION: ", "ACTION: "}, {"REASONING: ", "a <"},
	} {
		testutil.Linear(t, fmt.Sprintf("%q %q", c.before, c.unit), 4_000, 300_000, func(size int) {
			text := "<TOOL_DECISION>\n" + c.before + strings.Repeat(c.unit, size/len(c.unit))
			ends := loose.NewFinder(text)
			for at, n := 0, 0; at < len(text) && n < 20; n++ { // some blocks are as short as a tag
				b := Read(text, at, true, ends)
				if b.End < at || b.End > len(text) {
					t.Fatalf("%q: the block at %d ends at %d", c.unit, at, b.End)
				}
				at = max(b.End, at+1)
			}
		})
	}
}
