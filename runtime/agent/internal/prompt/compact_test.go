package prompt

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// talk writes a conversation: "u:" a user's message, "a:" a reply, "c:ID" a
// reply with a native call, "r:ID" the result of one.
func talk(lines ...string) []model.Message {
	var all []model.Message
	for _, line := range lines {
		kind, text, _ := strings.Cut(line, ":")
		switch kind {
		case "u":
			all = append(all, model.Message{Role: model.User, Text: text})
		case "a":
			all = append(all, model.Message{Role: model.Assistant, Text: text})
		case "c":
			m := model.Message{Role: model.Assistant, Opaque: []byte("signed")}
			for _, id := range strings.Fields(text) {
				m.Calls = append(m.Calls, model.Call{ID: id, Tool: "look", Args: value.NewDict("at", id)})
			}
			all = append(all, m)
		case "r":
			all = append(all, model.Message{Role: model.ToolRole, CallID: text, Tool: "look", Text: "found " + text})
		}
	}
	return all
}

// lines is talk backwards, without the first message.
func lines(all []model.Message) []string {
	var out []string
	for _, m := range all[1:] {
		switch {
		case m.Role == model.ToolRole:
			out = append(out, "r:"+m.CallID)
		case m.Role == model.User:
			out = append(out, "u:"+m.Text)
		case len(m.Calls) > 0:
			var ids []string
			for _, c := range m.Calls {
				ids = append(ids, c.ID)
			}
			out = append(out, "c:"+strings.Join(ids, " "))
		default:
			out = append(out, "a:"+m.Text)
		}
	}
	return out
}

func TestContinue(t *testing.T) {
	for _, c := range []struct {
		name, role string
		old        []string
		pairs      int
		question   string
		want       []string
	}{
		{"a task", "task", []string{"u:prompt", "a:1", "u:RESULT (x):\n1", "a:2", "u:RESULT (x):\n2", "a:3", "u:RESULT (x):\n3"}, 0,
			"the task", []string{"a:2", "u:RESULT (x):\n2", "a:3", "u:RESULT (x):\n3"}},
		{"one pair", "task", []string{"u:prompt", "a:1", "u:RESULT (x):\n1", "a:2", "u:RESULT (x):\n2"}, 1,
			"the task", []string{"a:2", "u:RESULT (x):\n2"}},
		{"a task with native calls", "task", []string{"u:prompt", "c:1", "r:1", "c:2 3", "r:2", "r:3", "c:4", "r:4"}, 0,
			"the task", []string{"c:2 3", "r:2", "r:3", "c:4", "r:4"}},
		{"a chat", "chat", []string{"u:prompt", "a:1", "u:q2", "a:2", "u:q3", "a:3"}, 0,
			"q2", []string{"a:2", "u:q3", "a:3"}},
		{"a chat that waits", "chat", []string{"u:prompt", "a:1", "u:q2", "a:2", "u:q3"}, 1,
			"q2", []string{"a:2", "u:q3"}},
		{"a chat with tools", "chat", []string{"u:prompt", "a:1", "u:q2", "a:call", "u:RESULT (x):\n1", "a:2", "u:q3", "a:3"}, 0,
			"q2", []string{"a:call", "u:RESULT (x):\n1", "a:2", "u:q3", "a:3"}},
		{"a chat with native calls", "", []string{"u:prompt", "a:1", "u:q2", "c:1", "r:1", "a:2"}, 1,
			"q2", []string{"c:1", "r:1", "a:2"}},
		{"a chat of one question", "chat", []string{"u:prompt", "a:call", "u:RESULT (x):\n1"}, 0,
			"the task", []string{"a:call", "u:RESULT (x):\n1"}},
		{"few messages", "task", []string{"u:prompt", "a:1", "u:RESULT (x):\n1"}, 5,
			"the task", []string{"a:1", "u:RESULT (x):\n1"}},
		{"no reply yet", "task", []string{"u:prompt"}, 0, "the task", nil},
		{"nothing", "chat", nil, 0, "the task", nil},
		{"calls without results", "task", []string{"u:prompt", "c:1 2", "r:2", "c:3"}, 0,
			"the task", []string{"c:2", "r:2"}},
	} {
		p := testPrompt(c.role, decision.Native, DocsAuto)
		old := talk(c.old...)
		got := p.Continue("the task", "I found it.", old, &Keep{Pairs: c.pairs})
		if diff := cmp.Diff(c.want, lines(got)); diff != "" {
			t.Errorf("%s: the messages (-want +got):\n%s", c.name, diff)
		}
		first := got[0].Text
		if !strings.HasSuffix(first, "\n\n---\n\n# User Question\n\n"+c.question) || got[0].Role != model.User {
			t.Errorf("%s: the first message should ask %q:\n%s", c.name, c.question, first)
		}
		if !strings.Contains(first, "This is a continuation") || !strings.Contains(first, "\n\nI found it.\n\n") || !strings.Contains(first, "A small library.") {
			t.Errorf("%s: the first message lacks the context or the summary:\n%s", c.name, first)
		}
		if !reflect.DeepEqual(old, talk(c.old...)) {
			t.Errorf("%s: the old conversation was changed", c.name)
		}
		if p.Context != testPrompt(c.role, decision.Native, DocsAuto).Context {
			t.Errorf("%s: the prompt was changed", c.name)
		}
	}
}

func TestContinueText(t *testing.T) {
	p := &Prompt{Role: "task", Tools: promptTools()}
	long := "RESULT (x):\n" + strings.Repeat("0123456789\n", 10_000)
	old := talk("u:prompt", "a:1", "u:"+long, "a:2", "u:RESULT (x):\nshort")
	got := p.Continue("task", strings.Repeat("s", 50_000), old, &Keep{Chars: 5_000})
	if n := countChars(got[1:]); n > 5_000 || n < 1_500 || len(got) != 5 || got[4].Text != "RESULT (x):\nshort" {
		t.Errorf("%d messages of %d characters are kept: %q", len(got), n, lines(got))
	}
	if !strings.HasPrefix(got[2].Text, "RESULT (x):\n0123") || !strings.Contains(got[2].Text, " characters are left out here.") {
		t.Errorf("the long result is %q", got[2].Text)
	}
	if n := len(got[0].Text); n > 30_000 {
		t.Errorf("the first message has %d bytes", n)
	}

	old = talk("u:prompt", "a:"+strings.Repeat("a", 9_000), "u:RESULT (x):\n1", "a:2", "u:RESULT (x):\n2")
	got = p.Continue("task", "", old, &Keep{Chars: 5_000})
	if want := []string{"a:2", "u:RESULT (x):\n2"}; !slices.Equal(lines(got), want) {
		t.Errorf("a long reply is kept: %q", lines(got))
	}
}

// TestContinueAny checks conversations of any kind: what is kept is the end of
// the old one, no call is without its result nor a result without its call, and
// the last reply with what follows it is there.
func TestContinueAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		role := rapid.SampledFrom([]string{"task", "chat", "review", ""}).Draw(t, "role")
		script, calls := []string{"u:prompt"}, 0
		for range rapid.IntRange(0, 8).Draw(t, "turns") {
			switch rapid.SampledFrom([]string{"ask", "call", "text call"}).Draw(t, "kind") {
			case "ask":
				script = append(script, "a:answer", "u:question?")
			case "text call":
				script = append(script, "a:decision", "u:RESULT (x):\n"+strings.Repeat("line\n", rapid.IntRange(0, 2000).Draw(t, "length")))
			case "call":
				var ids, results []string
				for range rapid.IntRange(1, 3).Draw(t, "calls") {
					calls++
					ids = append(ids, fmt.Sprint(calls))
					results = append(results, "r:"+fmt.Sprint(calls))
				}
				script = append(append(script, "c:"+strings.Join(ids, " ")), results...)
			}
		}
		if rapid.Bool().Draw(t, "answered") {
			script = append(script, "a:last")
		}
		old := talk(script...)
		keep := &Keep{Pairs: rapid.IntRange(0, 6).Draw(t, "pairs"), Chars: rapid.IntRange(0, 20_000).Draw(t, "chars")}
		p := &Prompt{Role: role, Format: decision.Native}
		got := p.Continue("the task", "so far", old, keep)

		kept := got[1:]
		open := map[string]bool{}
		for i, m := range kept {
			was := old[len(old)-len(kept)+i]
			if m.Role != was.Role || m.CallID != was.CallID || len(m.Calls) != len(was.Calls) || string(m.Opaque) != string(was.Opaque) {
				t.Fatalf("message %d is %v, and was %v", i, m, was)
			}
			if m.Text != was.Text && (m.Role == model.Assistant || !strings.Contains(m.Text, "left out here")) {
				t.Fatalf("message %d is %q, and was %q", i, m.Text, was.Text)
			}
			if m.Role != model.ToolRole && len(open) > 0 {
				t.Fatalf("message %d comes before the results of %v", i, open)
			}
			for _, c := range m.Calls {
				open[c.ID] = true
			}
			if m.Role == model.ToolRole && !open[m.CallID] {
				t.Fatalf("the result %s has no call", m.CallID)
			}
			delete(open, m.CallID)
		}
		if len(open) > 0 {
			t.Fatalf("the calls %v have no results", open)
		}
		if last := slices.IndexFunc(kept, func(m model.Message) bool { return m.Role == model.Assistant }); len(old) > 1 && last != 0 {
			t.Fatalf("what is kept does not begin with a reply: %q", lines(got))
		}
	})
}

// TestWholeCalls checks that of any messages those stay which an API takes, and
// no text is lost.
func TestWholeCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a:x", "u:y", "c:1", "c:2 3", "c:4 5 6", "r:1", "r:2", "r:3", "r:4", "r:5", "r:7"})
		all := talk(rapid.SliceOfNDistinct(line, 0, 11, rapid.ID).Draw(t, "lines")...)
		whole := wholeCalls(all)
		called, answered, texts := map[string]int{}, map[string]int{}, ""
		for _, m := range whole {
			for _, c := range m.Calls {
				called[c.ID]++
			}
			if m.Role == model.ToolRole {
				answered[m.CallID]++
				continue
			}
			if texts += m.Text; m.Text == "" && len(m.Calls) == 0 {
				t.Fatalf("an empty message is left in %v", whole)
			}
		}
		if !reflect.DeepEqual(called, answered) {
			t.Fatalf("the calls are %v, the results %v, of %v", called, answered, all)
		}
		for _, m := range all {
			if m.Role != model.ToolRole && !strings.Contains(texts, m.Text) {
				t.Fatalf("the text %q is lost", m.Text)
			}
		}
	})
}

// TestContinueWithoutLongReplies checks that a kept reply is cut too, and that calls which are too
// long are left out.
func TestContinueWithoutLongReplies(t *testing.T) {
	p := &Prompt{Role: "task"}
	old := []model.Message{{Role: model.User, Text: "task"}, {Role: model.Assistant, Text: strings.Repeat("long ", 100_000), Opaque: []byte("signed")}, {Role: model.User, Text: "NOTE: less."}}
	got := p.Continue("task", "a summary", old, &Keep{Chars: 20_000})
	if len(got) != 3 || len(got[1].Text) > 20_000 || !strings.HasPrefix(got[1].Text, "long long") || got[1].Opaque != nil || got[2].Text != "NOTE: less." {
		t.Errorf("kept %d messages, the reply with %d bytes, and %q", len(got), len(got[1].Text), got[1].Opaque)
	}
	if len(old[1].Text) != 500_000 || old[1].Opaque == nil {
		t.Error("the conversation has changed")
	}
	calls, results := model.Message{Role: model.Assistant}, []model.Message{}
	for i := range 2000 {
		id := fmt.Sprint(i)
		calls.Calls = append(calls.Calls, model.Call{ID: id, Tool: "look", Args: value.NewDict("at", strings.Repeat("x", 100))})
		results = append(results, model.Message{Role: model.ToolRole, CallID: id, Tool: "look", Text: "no"})
	}
	got = p.Continue("task", "a summary", append([]model.Message{{Role: model.User, Text: "task"}, calls}, results...), &Keep{Chars: 20_000})
	if len(got) != 1 || !strings.Contains(got[0].Text, "a summary") {
		t.Errorf("kept %d messages, want the first one with the summary", len(got))
	}
}
