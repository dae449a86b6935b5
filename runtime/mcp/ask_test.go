package mcp

import (
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
		{map[string]any{"yes": true}, tool.Answer{Yes: true}, true},
		{map[string]any{"yes": false, "done": false, "result": "5"}, tool.Answer{}, true},
		{map[string]any{"yes": false, "done": true}, tool.Answer{Done: true}, true},
		{map[string]any{"yes": true, "done": true, "result": " "}, tool.Answer{Done: true}, true},
		{map[string]any{"done": true, "result": `5`}, tool.Answer{Done: true, Value: int64(5)}, true},
		{map[string]any{"done": true, "result": "five"}, tool.Answer{}, false},
	} {
		a, ok := answerOf(q, &sdk.ElicitResult{Action: "accept", Content: test.content})
		if ok != test.ok || ok && (a.Yes != test.want.Yes || a.Done != test.want.Done || !value.Equal(a.Value, test.want.Value)) {
			t.Errorf("%v: %+v, %v, want %+v, %v", test.content, a, ok, test.want, test.ok)
		}
	}
	files := &tool.Question{Kind: tool.QuestionUnknown, Text: "overwrite?", Changes: []tool.Change{{Path: "a"}}}
	if a, ok := answerOf(files, &sdk.ElicitResult{Action: "accept", Content: map[string]any{"done": true}}); ok {
		t.Errorf("done, of files: %+v", a)
	}
	input, _ := inputOf(q)
	form, _ := input.(*sdk.ElicitParams).RequestedSchema.(map[string]any)
	if fields, _ := form["properties"].(map[string]any); len(fields) != 3 {
		t.Errorf("the form has the fields %v", fields)
	}
}
