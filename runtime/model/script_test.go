package model_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// asked returns what a script model answers where its function returns a value.
func asked(t *testing.T, v value.Value, err error) (*model.Reply, error) {
	m := model.NewScript("s.star", false, func(context.Context, value.List, int) (value.Value, error) { return v, err })
	if m.Name() != "script:s.star" || m.Native() {
		t.Errorf("name %q, native %t", m.Name(), m.Native())
	}
	return m.Ask(t.Context(), hello())
}

func TestScriptReturns(t *testing.T) {
	openAI := `{"role":"assistant","content":null,"tool_calls":[{"id":"c9","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}`
	for _, text := range []string{openAI, `{"tool_calls":[{"name":"f","arguments":{"a":1}}]}`} {
		reply, err := asked(t, parse(t, text), nil)
		if err != nil || len(reply.Calls) != 1 || reply.Calls[0].Tool != "f" || reply.Calls[0].Args.Int("a") != 1 || reply.Stop != model.StopCalls {
			t.Errorf("%s: %+v, %v", text, reply, err)
		}
	}
	for text, want := range map[string]string{
		`null`:                             "script:s.star: reply returned null",
		`7`:                                "script:s.star: reply returned integer",
		`["a"]`:                            "script:s.star: reply returned array",
		`{"text":"a"}`:                     `script:s.star: reply returned a dict with the key "text"`,
		`{"content":7}`:                    "script:s.star: content is integer, not a string",
		`{"tool_calls":"f"}`:               "script:s.star: tool_calls is string, not a list",
		`{"tool_calls":["f"]}`:             "script:s.star: tool_calls[0] is string",
		`{"tool_calls":[{"arguments":1}]}`: "script:s.star: tool_calls[0] has no name",
		`{"tool_calls":[{"name":"f","arguments":[1]}]}`: "script:s.star: the arguments of tool_calls[0] are array, not a dict",
		`{}`: "script:s.star: the answer is empty",
		`""`: "script:s.star: the answer is empty",
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
	m := model.NewScript("s.star", true, func(_ context.Context, messages value.List, turn int) (value.Value, error) {
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
