package decision

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/cassidy-run/cassidy/internal/toolfile"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func caseTools(t testing.TB) []tool.Tool {
	t.Helper()
	data, err := os.ReadFile("testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	tools, err := toolfile.Parse(data)
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

// TestFramedCases reads the cases in other words and forms: what is quoted in one form is
// in all, and words that show, quote or refuse a call take it away.
func TestFramedCases(t *testing.T) {
	trials := caseTrials(t)
	for _, c := range trials {
		if wrong, got := c.judged(""); wrong != "" {
			t.Errorf("%s is %s: got %s, want %s", c.name, wrong, describe(c.o.Tools, got[0]), c.want)
		}
	}
	t.Logf("%d replies read", len(trials))
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

// TestLeads puts a call in three formats into the words of testdata/leads.txt.
func TestLeads(t *testing.T) {
	tools := caseTools(t)
	for _, c := range leadCases(t) {
		if got := Read(c.reply, Options{Tools: tools})[0]; (got.Kind == ToolCall) != c.made {
			t.Errorf("%q: got %s, want it made: %v", c.reply, describe(tools, got), c.made)
		}
	}
}

type leadCase struct {
	words string
	reply string
	made  bool
}

func leadCases(t *testing.T) (cases []leadCase) {
	t.Helper()
	data, err := os.ReadFile("testdata/leads.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		kind, words, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || kind != "shown" && kind != "made" || !strings.Contains(words, "%s") {
			continue
		}
		const bare = `{"name": "write_file", "arguments": {"path": "p", "content": "x"}}`
		for _, form := range []string{
			`{"tool_decision": {"action": "write_file", "input": {"path": "p", "content": "x"}, "status": "continue"}}`,
			bare, "<tool_call>\n" + bare + "\n</tool_call>",
		} {
			reply := strings.ReplaceAll(strings.ReplaceAll(words, `\n`, "\n"), `\t`, "\t")
			cases = append(cases, leadCase{words, strings.ReplaceAll(reply, "%s", form), kind == "made"})
		}
	}
	if len(cases) < 200 {
		t.Fatalf("%d cases", len(cases))
	}
	return cases
}
