package model_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// asked returns the answer of a script model whose function returns a value.
func asked(t *testing.T, v value.Value, err error) (*model.Reply, error) {
	m := script.New("s.star", false, func(context.Context, value.List, int) (value.Value, error) { return v, err })
	if m.Name() != "script:s.star" || m.Native() {
		t.Errorf("name %q, native %t", m.Name(), m.Native())
	}
	return m.Ask(t.Context(), hello())
}

func TestScriptReturns(t *testing.T) {
	t.Parallel()
	openAI := `{"role":"assistant","content":null,"tool_calls":[{"id":"c9","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}`
	for _, text := range []string{openAI, `{"tool_calls":[{"name":"f","arguments":{"a":1}}]}`} {
		reply, err := asked(t, parse(t, text), nil)
		if err != nil || len(reply.Calls) != 1 || reply.Calls[0].Tool != "f" || reply.Calls[0].Args.Int("a") != 1 || reply.Stop != model.StopCalls {
			t.Errorf("%s: %+v, %v", text, reply, err)
		}
	}
	for text, want := range map[string]string{
		`null`:                             "script:s.star: invalid reply: expected a string or a dict but got null",
		`7`:                                "script:s.star: invalid reply: expected a string or a dict but got integer",
		`["a"]`:                            "script:s.star: invalid reply: expected a string or a dict but got array",
		`{"text":"a"}`:                     `script:s.star: invalid reply: unknown key "text"`,
		`{"content":7}`:                    "script:s.star: invalid reply: content: expected a string but got integer",
		`{"tool_calls":"f"}`:               "script:s.star: invalid reply: tool_calls: expected a list but got string",
		`{"tool_calls":["f"]}`:             "script:s.star: invalid reply: tool_calls[0]: expected a dict but got string",
		`{"tool_calls":[{"arguments":1}]}`: "script:s.star: invalid reply: tool_calls[0]: name is missing",
		`{"tool_calls":[{"name":"f","arguments":[1]}]}`: "script:s.star: invalid reply: tool_calls[0]: expected a dict as arguments but got array",
		`{}`: "script:s.star: the reply is empty",
		`""`: "script:s.star: the reply is empty",
	} {
		if reply, err := asked(t, parse(t, text), nil); err == nil || err.Error() != want {
			t.Errorf("%s: %+v, %v, want %s", text, reply, err, want)
		}
	}
	if _, err := asked(t, nil, errors.New("no such answer")); value.KindOf(err) != value.Failed {
		t.Errorf("a script that fails: %v", err)
	}
	if _, err := asked(t, nil, value.Errorf(value.Limit, "steps")); value.KindOf(err) != value.Limit {
		t.Errorf("a script that runs too long: %v", err)
	}
}

func TestScriptGets(t *testing.T) {
	t.Parallel()
	m := script.New("s.star", true, func(_ context.Context, messages value.List, turn int) (value.Value, error) {
		want := `[{"role":"system","content":"Be brief."},{"role":"user","content":"Read."},` +
			`{"role":"assistant","content":"Well.","tool_calls":[{"id":"c1","name":"f","arguments":{"a":1}},{"id":"c2","name":"f","arguments":"{"}]},` +
			`{"role":"tool","content":"A","tool_call_id":"c1","name":"f"}]`
		if got := value.FormatJSON(messages, ""); got != want || turn != 1 {
			t.Errorf("turn %d: %s\nwant 1: %s", turn, got, want)
		}
		return "Done.", nil
	})
	_, err := m.Ask(t.Context(), &model.Request{System: "Be brief.", Messages: []model.Message{user("Read."),
		{Role: model.Assistant, Text: "Well.", Calls: []model.Call{{ID: "c1", Tool: "f", Args: value.NewDict("a", 1)}, {ID: "c2", Tool: "f", Raw: "{"}}},
		{Role: model.ToolRole, CallID: "c1", Tool: "f", Text: "A"}}})
	if err != nil {
		t.Error(err)
	}
}
