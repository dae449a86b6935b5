package tool_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// payloads are one of each type of events, with every field set.
func payloads() []any {
	failure := &value.Error{Kind: value.Limit, Err: value.Errorf(value.Limit, "too much"), Hint: "do less", Limit: value.LimitEffects}
	takes := []tool.Capability{{Name: "fs.read", Target: "a:b"}, {Name: "human"}}
	return []any{
		tool.ToolCallStart{Args: value.NewDict("a", int64(1), "b", value.List{"x"}), Reasoning: "why", Recorded: true},
		tool.ToolCallEnd{Success: true, Result: value.NewDict("n", 1.5), Preview: "p", Duration: 1234567, Usage: tool.Usage{Steps: 3, Effects: 2, Wall: time.Second + 1}},
		tool.ToolCallEnd{Preview: "too much", Err: failure, Waits: true, Recorded: true},
		tool.ArgsRead{Notes: []string{"n: read as m"}},
		tool.ToolOutput{Chunk: "piece\n"},
		tool.Progress{Message: "half", Done: 1, Total: 2.5},
		tool.Log{Message: "line"},
		tool.EffectDone{Func: "fs.read", Step: "3.1", Capabilities: takes, Duration: 1500 * time.Microsecond, Error: "no"},
		tool.Audit{Decision: "denied", Func: "call", Capabilities: takes, Step: "3", Caller: "model", Why: "a rule"},
		tool.ErrorEvent{Error: "no", ErrorType: "user_error", Recorded: true},
		tool.RunStart{Kind: "task", Task: "do", Model: "m", Policy: "p", Format: "json", Tools: []string{"a"}, ToolOverhead: 5, EffectiveLimit: 7, Resumed: true},
		tool.RunEnd{Reason: "final", Answer: "done", Success: true, Iterations: 2, Error: "e", Duration: time.Minute},
		tool.ModelAsk{Iteration: 1, Messages: 2, Tokens: 3},
		tool.Text{Text: "a piece"},
		tool.ModelReply{Iteration: 1, Text: "t", Calls: value.List{value.NewDict("id", "1")}, InputTokens: 2, OutputTokens: 3},
		tool.Decided{Kind: "call", Action: "a", Input: value.NewDict("x", nil), Reasoning: "r", Status: "s", Format: "f", Answer: "w", Error: "e",
			Inferred: true, Repaired: []string{"commas"}, ID: "i", Texts: true},
		tool.SkillLoaded{Name: "s", Notes: []string{"n"}},
		tool.Compacted{Success: true, Summary: "s", TokensBefore: 4, TokensAfter: 3, InputTokens: 2, OutputTokens: 1, CachedTokens: 5, Error: "e"},
		tool.Hooked{Hook: "before_tool", Action: "edited", Path: "h.star", Target: "t", Text: "x", Before: value.NewDict("a", int64(1)), After: value.NewDict("a", int64(2))},
		tool.Lost{N: 7},
		tool.OtherEvent{Type: "later", Fields: value.NewDict("new", int64(1), "deep", value.NewDict("x", true))},
	}
}

// TestEventJSON checks that an event of each type reads back what it wrote, with
// and without its fields.
func TestEventJSON(t *testing.T) {
	all := payloads()
	for _, data := range payloads() {
		if other, ok := data.(tool.OtherEvent); ok {
			all = append(all, tool.OtherEvent{Type: other.Type, Fields: &value.Dict{}})
			continue
		}
		all = append(all, reflect.Zero(reflect.TypeOf(data)).Interface())
	}
	for _, data := range all {
		for _, e := range []tool.Event{
			{Seq: 12, Time: time.Now().UTC().Round(0), Run: "r", Call: "r/1/2", Tool: "t", Session: "s", Data: data},
			{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Run: "r", Call: "r", Data: data},
		} {
			text, err := json.Marshal(e)
			if err != nil {
				t.Errorf("%T: %v", data, err)
				continue
			}
			var back tool.Event
			if err := json.Unmarshal(text, &back); err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			again, err := json.Marshal(back)
			if err != nil || string(again) != string(text) {
				t.Errorf("%T was written as\n%s\nand then, %v, as\n%s", data, text, err, again)
			}
			if back.Seq != e.Seq || !back.Time.Equal(e.Time) || back.Run != e.Run || back.Call != e.Call || back.Tool != e.Tool || back.Session != e.Session ||
				reflect.TypeOf(back.Data) != reflect.TypeOf(data) || !value.Equal(back.Fields(), e.Fields()) {
				t.Errorf("%+v was read back as %+v", e, back)
			}
		}
	}
}

// TestEventNames checks that an event has the names of its type, and refuses any
// other.
func TestEventNames(t *testing.T) {
	e := tool.Event{Seq: 3, Time: time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC), Run: "r", Call: "r/1", Tool: "t", Data: tool.ToolCallStart{Reasoning: "why"}}
	text, err := json.Marshal(e)
	want := `{"type":"tool_call_start","time":"2026-01-02T03:04:05.0000006Z","call":"r/1","tool":"t","run":"r","seq":3,"arguments":{},"toolName":"t","reasoning":"why"}`
	if diff := cmp.Diff(want, string(text)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []any{nil, 3, &tool.Log{}, struct{}{}} {
		if _, err := json.Marshal(tool.Event{Data: bad}); err == nil {
			t.Errorf("an event of %T was written", bad)
		}
		if (tool.Event{Data: bad}).Type() != "" {
			t.Errorf("%T has a type", bad)
		}
	}
	for _, bad := range []string{``, `3`, `{}`, `{"type":""}`, `{"type":"log","message":3}`, `{"type":"log","time":"x"}`, `{"type":"audit","capabilities":[1]}`,
		`{"type":"tool_call_end","usage":{"steps":"x"}}`, `{"type":"tool_call_end","usage":3}`, `{"type":"progress","done":"x"}`} {
		var e tool.Event
		if err := e.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s was read as %+v", bad, e)
		}
	}
	if lost, _ := json.Marshal(tool.Event{Data: tool.Lost{N: 2}}); !strings.Contains(string(lost), `"type":"lost"`) || !strings.Contains(string(lost), `"n":2`) {
		t.Errorf("a Lost is written as %s", lost)
	}
}
