package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestFormWhetherDone checks the form for an effect that may have been carried out, and its answers.
func TestFormWhetherDone(t *testing.T) {
	t.Parallel()
	q := &tool.Question{Kind: tool.QuestionUnknown, Func: "http.post", Text: "do it again?"}
	for _, test := range []struct {
		content map[string]any
		want    tool.Answer
		ok      bool
	}{
		{map[string]any{"yes": "yes"}, tool.Answer{Yes: true}, true},
		{map[string]any{"yes": "no", "done": "no", "result": "5"}, tool.Answer{}, true},
		{map[string]any{"yes": "no", "done": "yes"}, tool.Answer{Done: true}, true},
		{map[string]any{"yes": "yes", "done": "yes", "result": " "}, tool.Answer{Done: true}, true},
		{map[string]any{"done": "yes", "result": `5`}, tool.Answer{Done: true, Value: int64(5)}, true},
		{map[string]any{"done": "yes", "result": "five"}, tool.Answer{}, false},
		{map[string]any{"yes": "maybe"}, tool.Answer{}, false},
		{map[string]any{"yes": true}, tool.Answer{}, false},
		{nil, tool.Answer{}, false},
	} {
		a, ok := answerOf(q, &sdk.ElicitResult{Action: "accept", Content: test.content})
		if ok != test.ok || ok && (a.Yes != test.want.Yes || a.Done != test.want.Done || !value.Equal(a.Value, test.want.Value)) {
			t.Errorf("%v: %+v, %v, want %+v, %v", test.content, a, ok, test.want, test.ok)
		}
	}
	files := &tool.Question{Kind: tool.QuestionUnknown, Text: "overwrite?", Changes: []tool.Change{{Path: "a"}}}
	if a, ok := answerOf(files, &sdk.ElicitResult{Action: "accept", Content: map[string]any{"done": "yes"}}); ok {
		t.Errorf("done, of files: %+v", a)
	}
	input, _ := inputOf(q)
	form, _ := input.(*sdk.ElicitParams).RequestedSchema.(map[string]any)
	if fields, _ := form["properties"].(map[string]any); len(fields) != 3 {
		t.Errorf("the form has the fields %v", fields)
	}
}

// TestYesOrNo checks that each question to be answered with yes or no is a choice without a default, and no the first word.
func TestYesOrNo(t *testing.T) {
	t.Parallel()
	for _, q := range []tool.Question{
		{Kind: tool.QuestionApproval, Tool: "t", Why: "it asks"},
		{Kind: tool.QuestionConfirm, Text: "sure?"},
		{Kind: tool.QuestionUnknown, Text: "do it again?", Changes: []tool.Change{{Path: "a"}}},
		{Kind: tool.QuestionUnknown, Func: "http.post", Text: "do it again?"},
	} {
		input, ok := inputOf(&q)
		if !ok {
			t.Fatalf("%s has no form", q.Kind)
		}
		var form struct {
			Required   []string
			Properties map[string]map[string]any
		}
		if err := json.Unmarshal(jsonOf(input.(*sdk.ElicitParams).RequestedSchema), &form); err != nil {
			t.Fatal(err)
		}
		field, _ := fieldOf(&q)
		if len(form.Required) != 1 || form.Required[0] != field {
			t.Errorf("%s requires %q, want %s", q.Kind, form.Required, field)
		}
		for name, schema := range form.Properties {
			if choice := fmt.Sprint(schema["type"], schema["enum"]); name != fieldResult && choice != "string[no yes]" {
				t.Errorf("%s: the field %s is a %s", q.Kind, name, choice)
			}
			if _, has := schema["default"]; has {
				t.Errorf("%s: the field %s has a default", q.Kind, name)
			}
		}
	}
}

// TestMessageIsNotFolded checks that the lines of a question are as long as they are: clients fold them.
func TestMessageIsNotFolded(t *testing.T) {
	t.Parallel()
	why := strings.Repeat("the model has read untrusted text ", 20) + "(earlier in this conversation)"
	long := strings.Repeat("word ", 50) + "end"
	text, ok := messageOf(&tool.Question{Kind: tool.QuestionApproval, Tool: "t", Why: why, Args: value.NewDict("text", long+"\n"+long)})
	if !ok || !strings.HasSuffix(text, "\nwhy: "+why) || strings.Count(text, long) != 2 {
		t.Errorf("the message is %q", text)
	}
}

// TestFormOfRules checks that the form of an approval says how to allow it from now on, if rules can.
func TestFormOfRules(t *testing.T) {
	t.Parallel()
	takes := []tool.Capability{{Name: "http.get", Target: "a.example"}, {Name: "secret", Target: "KEY@a.example"}}
	q := &tool.Question{Kind: tool.QuestionApproval, Tool: "t", Why: "it asks", Capabilities: takes}
	message := func() string {
		input, ok := inputOf(q)
		if !ok {
			t.Fatal("the question has no form")
		}
		return input.(*sdk.ElicitParams).Message
	}
	if text := message(); strings.Contains(text, "from now on") {
		t.Errorf("without rules, the form is %q", text)
	}
	for _, c := range takes {
		q.Rules = append(q.Rules, tool.Rule{Verdict: tool.Allow, Tool: "t", Capability: c})
	}
	const want = `cassidy trust --rule '{tool: t, capability: "http.get:a.example"}' '{tool: t, capability: "secret:KEY@a.example"}'`
	if text := message(); !strings.HasSuffix(text, "\n"+want) || !strings.Contains(text, "\nuse the secret KEY@a.example\n") {
		t.Errorf("the form is %q, want %s", text, want)
	}
	q.Rules, q.Sources = nil, []string{"http:a.example"}
	if text := message(); !strings.HasSuffix(text, "\ncassidy config set --add trusted_sources http:a.example") {
		t.Errorf("with a source to trust, the form is %q", text)
	}
	for len(q.Rules) < 200 {
		q.Rules = append(q.Rules, tool.Rule{Verdict: tool.Allow, Tool: "t", Capability: takes[0]})
	}
	if text := message(); strings.Contains(text, "from now on") || len(text) > maxMessage {
		t.Errorf("with many rules, the form has %d bytes", len(text))
	}
}

// TestLongForm checks that a form with a diff is short and ends with the tool and the files, that a short form has no such end,
// and that a diff of which a form could show only a part waits for a person at the terminal.
func TestLongForm(t *testing.T) {
	t.Parallel()
	change := func(lines int) *tool.Question {
		after := strings.Repeat("a line\n", lines)
		q := &tool.Question{Kind: tool.QuestionApproval, Tool: "tidy", Why: "the call changes files", Args: value.NewDict("all", strings.Repeat("x", 3000))}
		for _, path := range []string{"a.md", "b.md", "c.md", "d.md"}[:min(4, 1+lines/10)] {
			q.Changes = append(q.Changes, tool.Change{Path: path, After: tool.FileState{Exists: true, Hash: tool.HashBytes([]byte(after)), Data: []byte(after)}})
		}
		return q
	}
	message := func(q *tool.Question) (string, bool) {
		input, ok := inputOf(q)
		return input.(*sdk.ElicitParams).Message, ok
	}
	if text, ok := message(change(2)); !ok || strings.Count(text, "tidy") != 1 || strings.Count(text, "a line") != 2 {
		t.Errorf("a short form is %q, %v", text, ok)
	}
	text, ok := message(change(15))
	if !ok || strings.Count(text, "+ a line") != 30 || !strings.HasSuffix(text, "\n\ntool: tidy\nfile: a.md\nfile: b.md") || strings.Contains(text, "xxx") {
		t.Errorf("a long form is %q, %v", text, ok)
	}
	q := change(60)
	if text, ok := message(q); ok || !strings.HasSuffix(text, "\ntool: tidy\nfile: a.md\nfile: b.md\nfile: c.md\nand 1 more files") {
		t.Errorf("a diff with more lines than a form shows: %q, %v", text, ok)
	}
	if text, ok := messageOf(q); !ok || strings.Count(text, "+ a line") != 240 {
		t.Errorf("the text of the parked call is %q, %v", text, ok)
	}
}
