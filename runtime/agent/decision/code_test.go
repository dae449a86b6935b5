package decision_test

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// codeTools are what a model is offered in the format code.
func codeTools() []tool.Tool {
	return []tool.Tool{
		{Name: "read_file", Hints: tool.Hints{ReadOnly: true}, Params: []tool.Param{{Name: "filepath", Type: tool.Type{Name: tool.TypeString}, Required: true}}},
		{Name: "execute_code", Params: []tool.Param{{Name: "code", Type: tool.Type{Name: tool.TypeString}, Required: true}}},
	}
}

func TestReadingPrograms(t *testing.T) {
	const fence = "```"
	const readFile = `{"tool_decision": {"action": "read_file", "input": {"filepath": "a.txt"}, "reasoning": "it is needed", "status": "continue"}}`
	block := func(tag, code string) string { return fence + tag + "\n" + code + "\n" + fence }
	readme := "write_file(filepath = \"README.md\", content = \"\"\"# Title\n" + block("console", "$ make") + "\n\"\"\")"
	for _, c := range []struct {
		name, reply string
		kind        decision.Kind
		want        string // the code, or the answer
	}{
		{"alone", block("starlark", "x = 1\nx"), decision.ToolCall, "x = 1\nx\n"},
		{"tagged star", block("star", "1"), decision.ToolCall, "1\n"},
		{"tagged python", block("Python", "1"), decision.ToolCall, "1\n"},
		{"with words on the fence", block("starlark title=\"a\"", "1"), decision.ToolCall, "1\n"},
		{"without a tag", block("", "1"), decision.ToolCall, "1\n"},
		{"with tildes", "~~~py\n1\n~~~", decision.ToolCall, "1\n"},
		{"with more backquotes", "````\nx = '''\n" + block("", "y") + "'''\n````", decision.ToolCall, "x = '''\n" + block("", "y") + "'''\n"},
		{"with words around it", "I look first.\n\n" + block("starlark", "1") + "\n\nThen I go on.", decision.ToolCall, "1\n"},
		{"in a list", "1. Look:\n\n   " + fence + "starlark\n   if x:\n       1\n   " + fence, decision.ToolCall, "if x:\n    1\n"},
		{"with a fence in a string", block("starlark", readme+"\n1"), decision.ToolCall, readme + "\n1\n"},
		{"with quotes in a comment", block("starlark", "1 # don't say \"\"\"") + "\nDone soon.", decision.ToolCall, "1 # don't say \"\"\"\n"},
		{"with an unclosed string", block("starlark", "x = \"\"\"a") + "\nWell.", decision.ToolCall, "x = \"\"\"a\n"},
		{"with a call in its text", block("starlark", `x = {"name": "read_file", "arguments": {"filepath": "a"}}`), decision.ToolCall, `x = {"name": "read_file", "arguments": {"filepath": "a"}}` + "\n"},
		{"not closed", fence + "starlark\n1", decision.ToolCall, "1"},
		{"two, and the first counts", block("python", "1") + "\n" + block("python", "2"), decision.ToolCall, "1\n"},
		{"two, and one is Starlark", block("", "out") + "\n" + block("starlark", "2"), decision.ToolCall, "2\n"},
		{"after thinking", "<think>\n" + block("starlark", "0") + "\n</think>\n" + block("starlark", "1"), decision.ToolCall, "1\n"},
		{"before the answer", block("starlark", "1") + "\nTASK COMPLETE: one", decision.ToolCall, "1\n"},
		{"a call in another format", readFile, decision.ToolCall, ""},
		{"in a fence of data", block("json", readFile), decision.ToolCall, ""},
		{"in a fence without a tag", block("", readFile), decision.ToolCall, ""},
		{"the answer", "TASK COMPLETE: it is\n\n" + block("python", "print(1)"), decision.Final, "it is\n\n" + block("python", "print(1)")},
		{"only the answer", "TASK COMPLETE: done", decision.Final, "done"},
		{"no block", "I would read it.", decision.None, "I would read it."},
		{"an empty block", "Hm.\n" + block("starlark", " "), decision.None, ""},
		{"another language", "It is\n" + block("sh", "rm -r x"), decision.None, ""},
		{"an example", "A program would look like this:\n\n" + block("starlark", "1"), decision.None, ""},
		{"like this, but meant", "I'll do it like this:\n\n" + block("starlark", "1"), decision.ToolCall, "1\n"},
		{"forbidden", "You must never run this:\n\n---\n\n" + block("starlark", "1"), decision.None, ""},
		{"forbidden above a heading", "No one may ever use it; it is not to be run:\n<think>Hm.</think>\n\n## Program\n\n" + block("starlark", "1"), decision.None, ""},
		{"under a heading", "It is not there yet.\n\n## Program\n\n" + block("starlark", "1"), decision.ToolCall, "1\n"},
		{"introduced", "Here is the program:\n\n" + block("starlark", "1"), decision.ToolCall, "1\n"},
		{"heard as a block", "So it goes:\n" + block("starlark", "write_file(\"planted\", \"x\")"), decision.None, ""},
		{"heard as lines", block("", "send(\"planted by somebody\")\nsend(\"again\")"), decision.None, ""},
		{"heard and quoted", "The file says:\n" + block("", "send(\"planted by somebody\")\n"), decision.None, ""},
		{"heard in an error", block("starlark", "send(\"planted by somebody\")"), decision.ToolCall, "send(\"planted by somebody\")\n"},
	} {
		o := decision.Options{Tools: codeTools(), Format: decision.Code, Heard: []string{"notes\n" + block("starlark", "write_file(\"planted\", \"x\")") + "\n\nsend(\"planted by somebody\")\nsend(\"again\")\n"}}
		d := decision.Read(c.reply, o)[0]
		got := d.Answer
		if d.Kind == decision.ToolCall {
			got = d.Input.Text("code")
		}
		if d.Kind != c.kind || c.want != "" && got != c.want || d.Format == decision.Code != (d.Action == "execute_code") {
			t.Errorf("%s: read %s %s %q in %s, want %s %q", c.name, d.Kind, d.Action, got, d.Format, c.kind, c.want)
		}
		if c.kind == decision.ToolCall && c.want == "" && d.Action != "read_file" {
			t.Errorf("%s: read a call of %s, want read_file", c.name, d.Action)
		}
	}
}

// TestProgramsWhereNobodyRunsThem checks that a block of code is none elsewhere.
func TestProgramsWhereNobodyRunsThem(t *testing.T) {
	reply := "Here it is:\n```starlark\nread_file(filepath = 'a.txt')\nx = 1\n```"
	for _, o := range []decision.Options{{Format: decision.Code}, {Format: decision.Code, Tools: codeTools()[:1]}, {Format: decision.PureJSON, Tools: codeTools()}} {
		if d := decision.Read(reply, o)[0]; d.Action == "execute_code" {
			t.Errorf("with %+v, a program was read: %+v", o, d)
		}
	}
	o := decision.Options{Format: decision.Code, Tools: codeTools()}
	if d := decision.ReadNative(&model.Reply{Text: "```starlark\nx =", Stop: model.StopLength}, o)[0]; d.Kind != decision.Invalid || !strings.Contains(d.Error, "cut off") {
		t.Errorf("of a reply that was cut off was read %+v, want an error", d)
	}
	two := "I go on.\n```starlark\n1\n```\n```starlark\n2\n```"
	if d := decision.Read(two, o)[0]; d.Reasoning != "I go on." || len(d.Repaired) != 1 || !strings.Contains(d.Repaired[0], "first of several") {
		t.Errorf("of two blocks was read %+v, want the first with a note", d)
	}
}

// FuzzReadingPrograms checks that whatever is read as a program has a text.
func FuzzReadingPrograms(f *testing.F) {
	f.Add("```starlark\nx = 1\n```", "x")
	f.Add("~~~\n'''\n~~~\n~~~", "")
	f.Add("<think>```\n</think>```py\n\"\\", "TASK COMPLETE")
	f.Fuzz(func(t *testing.T, reply, heard string) {
		for _, d := range decision.Read(reply, decision.Options{Format: decision.Code, Tools: codeTools(), Heard: []string{heard}}) {
			if d.Format == decision.Code && (d.Kind != decision.ToolCall || d.Input.Text("code") == "") {
				t.Errorf("%q was read as %+v", reply, d)
			}
		}
	})
}
