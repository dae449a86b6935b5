package decision

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func caseTools(t testing.TB) []tool.Tool {
	t.Helper()
	data, err := os.ReadFile("testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	tools, err := ParseTools(data)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// TestCases reads the replies in testdata. Each is a file of an
// archive, and what comes out of it is the file that follows, named want: a line
// for each decision, as describe writes it. Of an error it holds what the message
// must contain. See the README there.
func TestCases(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	tools := caseTools(t)
	cases, without := 0, 0
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			reply, want := archive.Files[i], archive.Files[i+1]
			if want.Name != "want" {
				t.Fatalf("%s: %s is not followed by what is wanted", name, reply.Name)
			}
			cases++
			if !strings.HasPrefix(string(want.Data), "call ") {
				without++
			}
			t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar")+"/"+reply.Name, func(t *testing.T) {
				got := Read(strings.TrimSuffix(string(reply.Data), "\n"), Options{Tools: tools})
				compareCase(t, tools, got, strings.TrimSpace(string(want.Data)))
			})
		}
	}
	t.Logf("%d cases, %d of them without a call", cases, without)
}

func compareCase(t *testing.T, tools []tool.Tool, got []Decision, want string) {
	t.Helper()
	if part, ok := strings.CutPrefix(want, "error "); ok && len(got) == 1 && got[0].Kind == Invalid {
		if !strings.Contains(got[0].Error, part) {
			t.Errorf("the error is %q, want it to contain %q", got[0].Error, part)
		}
		return
	}
	var lines []string
	for _, d := range got {
		lines = append(lines, describe(tools, d))
	}
	if all := strings.Join(lines, "\n"); all != want {
		t.Errorf("got\n%s\nwant\n%s", all, want)
	}
}

// describe writes a decision as the cases do: its kind, its tool, its input as
// the tool gets it, and what is not as usual.
func describe(tools []tool.Tool, d Decision) string {
	switch d.Kind {
	case None:
		return "none"
	case Final:
		return "final " + strings.ReplaceAll(d.Answer, "\n", `\n`)
	case Invalid:
		return "error " + d.Error
	}
	line := fmt.Sprintf("call %s %s %s", d.Format, d.Action, value.FormatJSON(typedInput(tools, d), ""))
	if d.Status != Continue {
		line += " status=" + string(d.Status)
	}
	if d.Reasoning != "" {
		line += " reasoning=" + strings.ReplaceAll(d.Reasoning, "\n", `\n`)
	}
	if d.Inferred {
		line += " inferred"
	}
	return line
}

// TestQuotedInOtherFormats writes the calls of two archives in the other formats:
// what is quoted in one is in all, and what is honest too.
func TestQuotedInOtherFormats(t *testing.T) {
	tools := caseTools(t)
	const pure = `{"tool_decision": {"action": "write_file", "input": {"path": "p", "content": "x"}, "status": "continue"}}`
	forms := map[string]string{
		"xml_json": "<TOOL_DECISION>\nACTION: write_file\nINPUT: {\"path\": \"p\", \"content\": \"x\"}\n</TOOL_DECISION>",
		"markdown": "<TOOL_DECISION>\nACTION: write_file\n## Parameters\n- path: p\n- content: x\n</TOOL_DECISION>",
		"tagged":   `<tool_call>{"name": "write_file", "arguments": {"path": "p", "content": "x"}}</tool_call>`,
	}
	for _, name := range []string{"quoted", "honest"} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			reply := string(archive.Files[i].Data)
			if !strings.Contains(reply, pure) || strings.HasPrefix(reply, "    ") { // only the first line would be indented
				continue
			}
			for form, text := range forms {
				got := Read(strings.ReplaceAll(reply, pure, text), Options{Tools: tools})
				if (got[0].Kind == ToolCall) != (name == "honest") {
					t.Errorf("%s/%s as %s: got %s", name, archive.Files[i].Name, form, describe(tools, got[0]))
				}
			}
		}
	}
}

func TestDecisionJSON(t *testing.T) {
	got, err := json.Marshal(Read("TASK COMPLETE: done", Options{})[0])
	want := `{"kind":"final","action":"","input":null,"reasoning":"","status":"continue","format":"","answer":"done","error":"","inferred":false,"repaired":[]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	got, err = json.Marshal(Read("<TOOL_DECISION>\nACTION: f\nINPUT: {a: 1}\nREASONING: r\nSTATUS: final\n</TOOL_DECISION>", Options{})[0])
	want = `{"kind":"call","action":"f","input":{"a":1},"reasoning":"r","status":"final","format":"xml_json","answer":"","error":"","inferred":false,"repaired":["keys without quotes"]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// TestFramedCases puts the replies of the cases that are nothing but calls into
// words: words that show, quote or refuse a call must take it away, and words that
// announce it must not.
func TestFramedCases(t *testing.T) {
	tools := caseTools(t)
	quote := func(reply string) string { return "> " + strings.ReplaceAll(reply, "\n", "\n> ") }
	shown := map[string]func(string) string{
		"example":   func(r string) string { return "For example, a model could write:\n\n" + r },
		"quotation": func(r string) string { return "The page that I fetched contains this:\n\n" + r + "\n\nI ignored it." },
		"quoted":    func(r string) string { return "It told me:\n\n" + quote(r) + "\n\nStrange." },
		"thought":   func(r string) string { return "<think>\n" + r + "\n</think>\nHello." },
		"refusal":   func(r string) string { return "I will not call this, whatever it says:\n" + r },
		"manual":    func(r string) string { return "To call the tool, you would write it like this:\n\n" + r },
		"docs":      func(r string) string { return "## Usage\n\nExample of a call:\n\n" + r },
	}
	meant := map[string]func(string) string{
		"announced": func(r string) string { return "I'll do that now.\n\n" + r },
		"polite":    func(r string) string { return "Sure!\n\n" + r },
		"thinking":  func(r string) string { return "<think>\nIs {this} it?\n</think>\n\n" + r },
		"report": func(r string) string {
			return "Let me look into it first.\n" + r + "\n\nI'll report back with the result."
		},
	}
	n := 0
	for _, name := range []string{"ours", "foreign", "repaired"} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			reply, want := strings.TrimSpace(string(archive.Files[i].Data)), strings.TrimSpace(string(archive.Files[i+1].Data))
			begins := reply[:strings.IndexAny(reply+" ", " \n{(:")]
			onlyCall := strings.ContainsAny(reply[:1], "{[<`") && strings.ContainsAny(reply[len(reply)-1:], "}]>`")
			for _, offered := range tools {
				onlyCall = onlyCall || begins == offered.Name && strings.HasSuffix(reply, ")")
			}
			if !onlyCall || !strings.HasPrefix(want, "call") || strings.Contains(reply, "think") || strings.HasPrefix(reply, "`{") || strings.Contains(reply, "<|channel|>") {
				continue
			}
			n++
			for frame, in := range shown {
				if got := Read(in(reply), Options{Tools: tools}); got[0].Kind == ToolCall {
					t.Errorf("%s/%s as %s: got %s", name, archive.Files[i].Name, frame, describe(tools, got[0]))
				}
			}
			for frame, in := range meant {
				t.Run(name+"/"+archive.Files[i].Name+" "+frame, func(t *testing.T) {
					compareCase(t, tools, Read(in(reply), Options{Tools: tools}), want)
				})
			}
		}
	}
	t.Logf("%d calls framed", n)
}
