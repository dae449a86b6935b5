package model_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/model/catalog"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// agentOf returns a session of an agent with the built-in tools, over a folder with some files.
func agentOf(t *testing.T, m model.Model) *agent.Session {
	t.Helper()
	dir := t.TempDir()
	for i := range 40 {
		text := strings.Repeat(fmt.Sprintf("line of file %d, which says nothing that matters\n", i), 120)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	h, err := r.Open(cassidy.Dir(dir), &cassidy.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	a, err := agent.New(h, &agent.Options{Model: m, WorkDir: dir, Tools: []string{"read_file", "list_files"}, Iterations: 50})
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.Session(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reads is a reply that thinks and reads files.
func reads(n int, files ...int) (value.List, string) {
	list := value.List{thoughtBlock(fmt.Sprintf("thought %d of what to read", n))}
	for i, f := range files {
		list = append(list, callBlock(fmt.Sprintf("toolu_%d_%d", n, i), "read_file", "filepath", fmt.Sprintf("f%d.txt", f)))
	}
	return list, "tool_use"
}

// TestClaudeTask lets an agent work on a task of 17 requests, some with more calls than the cache
// looks back, and compares what it costs with the price without a cache.
func TestClaudeTask(t *testing.T) {
	t.Parallel()
	const requests = 17
	c := newClaude(t, func(n int, _ *value.Dict) (value.List, string) {
		switch {
		case n == requests-1:
			return value.List{textBlock("TASK COMPLETE: nothing matters")}, "end_turn"
		case n == 5 || n == 9:
			return reads(n, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31) // 25 blocks with their results
		}
		return reads(n, n)
	})
	reply, err := agentOf(t, c.open("claude-sonnet-5-5")).Send(t.Context(), "Find out what matters.")
	if err != nil || reply.Text != "nothing matters" || len(c.tokens) != requests || len(c.refused) > 0 {
		t.Fatalf("Send = %q, %s, %v, after %d requests; refused: %q", reply.Text, reply.Reason, err, len(c.tokens), c.refused)
	}
	cached, plain := c.cost(catalog.Find("anthropic", "claude-sonnet-5-5").Price)
	read := 0
	for i, u := range c.tokens {
		read += u.read
		if i > 0 && u.read < c.tokens[i-1].read+c.tokens[i-1].written {
			t.Errorf("request %d reads %d tokens from the cache, and the one before it had cached %d", i, u.read, c.tokens[i-1].read+c.tokens[i-1].written)
		}
	}
	t.Logf("%d requests: $%.4f with the cache, $%.4f without: ratio %.3f", requests, cached, plain, cached/plain)
	if cached > 0.3*plain {
		t.Errorf("the task costs %.3f of what it costs without a cache, want at most 0.3", cached/plain)
	}
	if reply.Usage.CachedTokens != read {
		t.Errorf("the reply counts %d cached tokens, want %d", reply.Usage.CachedTokens, read)
	}
}

// thoughts returns the thinking blocks of a request, in order.
func thoughts(body *value.Dict) (list []string) {
	for _, m := range listOf(body, "messages") {
		for _, b := range listOf(m, "content") {
			if b.Text("type") == "thinking" {
				list = append(list, b.Text("thinking"))
			}
		}
	}
	return list
}

// TestClaudeCompaction compacts a conversation with thinking, by hand and because the context
// window is full. The server refuses thinking that is bound to another conversation.
func TestClaudeCompaction(t *testing.T) {
	t.Parallel()
	full := false
	c := newClaude(t, func(n int, body *value.Dict) (value.List, string) {
		switch n {
		case 4, 9:
			return value.List{thoughtBlock("a summary"), textBlock("It was read.")}, "end_turn"
		case 3, 12:
			return value.List{thoughtBlock("it is done"), textBlock("TASK COMPLETE: read")}, "end_turn"
		case 8:
			full = true
			return value.List{thoughtBlock("too much")}, "model_context_window_exceeded"
		}
		return reads(n, n)
	})
	s := agentOf(t, c.open("claude-opus-5-5"))
	if r, err := s.Send(t.Context(), "Read the files."); err != nil || !r.Success() {
		t.Fatalf("Send = %q, %s, %v; refused %q", r.Text, r.Reason, err, c.refused)
	}
	if got := thoughts(c.log[3]); len(got) != 3 {
		t.Errorf("before the compaction %q was sent back, want all three thoughts", got)
	}
	if _, _, err := s.Compact(t.Context()); err != nil {
		t.Fatalf("Compact: %v; refused %q", err, c.refused)
	}
	if r, err := s.Send(t.Context(), "Read on."); err != nil || !r.Success() || !full {
		t.Fatalf("Send = %q, %s, %v; refused %q", r.Text, r.Reason, err, c.refused)
	}
	if len(c.refused) > 0 || c.dropped > 0 {
		t.Errorf("refused %q, dropped %d", c.refused, c.dropped)
	}
	if got := thoughts(c.log[5]); got != nil {
		t.Errorf("after the compaction %q was sent back, want no thought of before", got)
	}
	if got := thoughts(c.log[7]); len(got) != 2 {
		t.Errorf("later %q was sent back, want both thoughts since the compaction", got)
	}
	if got := thoughts(c.log[len(c.log)-1]); len(got) == 0 || slices.Contains(got, "thought 7 of what to read") {
		t.Errorf("after the second compaction %q was sent back", got)
	}
}

// TestClaudePrefix changes what is before a reply: its thinking stays away, and the next thinking
// is sent back again.
func TestClaudePrefix(t *testing.T) {
	t.Parallel()
	changes := map[string]func(r *model.Request){
		"the system prompt":  func(r *model.Request) { r.System = "Be long." },
		"a tool":             func(r *model.Request) { r.Tools = append(r.Tools, tool.Tool{Name: "other", Description: "Other."}) },
		"no tools":           func(r *model.Request) { r.Tools = nil },
		"an earlier message": func(r *model.Request) { r.Messages[0].Text = "Read it now." },
		"a removed message":  func(r *model.Request) { r.Messages = r.Messages[2:] },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			c := newClaude(t, func(n int, _ *value.Dict) (value.List, string) {
				return value.List{thoughtBlock(fmt.Sprintf("thought %d", n)), textBlock(fmt.Sprintf("answer %d", n))}, "end_turn"
			})
			m := c.open("claude-fable-5-1")
			r := &model.Request{System: "Be brief.", Tools: []tool.Tool{readFile()}, Messages: []model.Message{user("Read.")}}
			for n := range 5 {
				if n == 2 {
					change(r)
				}
				reply, err := m.Ask(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				r.Messages = append(r.Messages, reply.Message(), user("More."))
			}
			if len(c.refused) > 0 {
				t.Errorf("refused %q", c.refused)
			}
			if got := thoughts(c.log[1]); !slices.Equal(got, []string{"thought 0"}) {
				t.Errorf("before the change %q was sent back", got)
			}
			if got := thoughts(c.log[4]); !slices.Equal(got, []string{"thought 2", "thought 3"}) {
				t.Errorf("after it %q was sent back, want the thoughts since then", got)
			}
		})
	}
}

// TestClaudeStored stores a conversation as JSON after each reply, as records do: all thinking is
// sent back, streamed or not.
func TestClaudeStored(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{false, true} {
		c := newClaude(t, func(n int, _ *value.Dict) (value.List, string) {
			return value.List{thoughtBlock(fmt.Sprintf("thought %d", n)), textBlock("I look — 四. "), callBlock(fmt.Sprintf("c%d", n), "read_file", "path", "b c", "limit", 1.5, "a", value.List{nil, true})}, "tool_use"
		})
		m := c.open("claude-sonnet-5-5")
		r := &model.Request{System: "Be brief.", MaxTokens: 9000, Tools: []tool.Tool{readFile()}, Messages: []model.Message{user("Read.\u2028 <a>")}}
		if streams {
			r.Text = func(string) {}
		}
		for range 4 {
			got, err := m.Ask(t.Context(), r)
			if err != nil {
				t.Fatalf("%v, refused %q", err, c.refused)
			}
			r.Messages = append(r.Messages, got.Message(), model.Message{Role: model.ToolRole, CallID: got.Calls[0].ID, Tool: "read_file", Text: "x"})
			data, err := json.Marshal(r.Messages)
			if err != nil {
				t.Fatal(err)
			}
			r.Messages = nil
			if err := json.Unmarshal(data, &r.Messages); err != nil {
				t.Fatal(err)
			}
		}
		if got := thoughts(c.log[3]); len(got) != 3 || len(c.refused) > 0 {
			t.Errorf("streams %t: %q was sent back, refused %q", streams, got, c.refused)
		}
	}
}

// TestClaudeRecovery begins with thinking that the server refuses, and which no prefix is known
// of. It is asked to drop it, then and with all later requests; a gateway gets none.
func TestClaudeRecovery(t *testing.T) {
	t.Parallel()
	for _, gateway := range []bool{false, true} {
		c := newClaude(t, func(n int, _ *value.Dict) (value.List, string) {
			return value.List{thoughtBlock(fmt.Sprintf("thought %d", n)), textBlock(fmt.Sprintf("answer %d", n))}, "end_turn"
		})
		c.gateway = gateway
		m := c.open("claude-fable-5-1")
		r := &model.Request{Messages: []model.Message{user("a"), {Role: model.Assistant, Text: "b",
			Opaque: []byte(`[{"type":"thinking","thinking":"old","signature":"s"},{"type":"text","text":"b"}]`)}, user("c")}}
		for range 3 {
			reply, err := m.Ask(t.Context(), r)
			if err != nil {
				t.Fatalf("gateway %t: %v", gateway, err)
			}
			r.Messages = append(r.Messages, reply.Message(), user("More."))
		}
		last := c.log[len(c.log)-1]
		drops := inner(inner(last, "thinking"), "block_binding") != nil
		if want := map[bool]int{false: 4, true: 5}[gateway]; len(c.log) != want || drops == gateway || gateway && thoughts(last) != nil {
			t.Errorf("gateway %t: %d requests, want %d; refused %q; the last drops: %t, thinking %q", gateway, len(c.log), want, c.refused, drops, thoughts(last))
		}
	}
}

// TestClaudeCuts breaks a stream before each of its events.
func TestClaudeCuts(t *testing.T) {
	t.Parallel()
	play := func(int, *value.Dict) (value.List, string) {
		return value.List{thoughtBlock("two files to read"), textBlock("I will look at both."),
			callBlock("c1", "read_file", "path", "a b.txt"), callBlock("c2", "read_file", "path", "c d.txt")}, "tool_use"
	}
	request := func() *model.Request {
		return &model.Request{Tools: []tool.Tool{readFile()}, Messages: []model.Message{user("Read both.")}}
	}
	whole := newClaude(t, play)
	want, err := whole.open("claude-opus-5-5").Ask(t.Context(), request())
	if err != nil || len(want.Calls) != 2 || want.Text != "I will look at both." || want.Reasoning != "two files to read" || want.Stop != model.StopCalls {
		t.Fatalf("Ask = %+v, %v", want, err)
	}
	for cut := 1; ; cut++ {
		c := newClaude(t, play)
		c.cut = cut
		r, streamed := request(), ""
		r.Text = func(p string) { streamed += p }
		r.Notice = func(n model.Notice) {
			if n.Retry != nil {
				streamed = ""
			}
		}
		got, err := c.open("claude-opus-5-5").Ask(t.Context(), r)
		if err != nil {
			t.Fatalf("a break before event %d: %v", cut, err)
		}
		got.Usage, want.Usage = model.Usage{}, model.Usage{}
		if d := cmp.Diff(want, got, cmp.Comparer(func(a, b *value.Dict) bool { return value.Equal(a, b) })); d != "" || streamed != want.Text {
			t.Errorf("a break before event %d: streamed %q (-want +got):\n%s", cut, streamed, d)
		}
		if c.cuts == 0 {
			if cut < 20 {
				t.Errorf("only %d events were cut", cut-1)
			}
			return
		}
	}
}

// TestClaudeErrors tests the errors after which a request is repeated.
func TestClaudeErrors(t *testing.T) {
	t.Parallel()
	for _, f := range []claudeFail{{429, "3"}, {429, ""}, {500, ""}, {502, ""}, {503, "2"}, {529, ""}, {529, "1"}} {
		c := newClaude(t, func(int, *value.Dict) (value.List, string) { return value.List{textBlock("Hi.")}, "end_turn" })
		c.fails = []claudeFail{f, f}
		var waited []time.Duration
		m := c.open("claude-sonnet-5-5", func(o *anthropic.Options) {
			o.HTTP.Sleep = func(_ context.Context, d time.Duration) error {
				waited = append(waited, d)
				return nil
			}
		})
		got, err := m.Ask(t.Context(), hello())
		least, _ := strconv.Atoi(f.after)
		if err != nil || got.Text != "Hi." || len(waited) != 2 || waited[0] < time.Duration(least)*time.Second || waited[0] > time.Duration(least)*time.Second+3*time.Second {
			t.Errorf("%+v: Ask = %+v, %v after waiting %v", f, got, err, waited)
		}
	}
}

// TestClaudeEnds tests the reasons why a turn ends.
func TestClaudeEnds(t *testing.T) {
	t.Parallel()
	search := value.NewDict("type", "server_tool_use", "id", "srv_1", "name", "web_search", "input", value.NewDict("query", "a b"))
	found := value.NewDict("type", "web_search_tool_result", "tool_use_id", "srv_1", "content", value.List{value.NewDict("type", "web_search_result", "url", "https://a.example", "title", "A", "encrypted_content", "x")})
	cited := textBlock("It is so.")
	cited.Put("citations", value.List{value.NewDict("type", "web_search_result_location", "url", "https://a.example", "title", "A", "encrypted_index", "i", "cited_text", "so"),
		value.NewDict("type", "page_location", "document_index", 0, "document_title", "B", "start_page_number", 3, "end_page_number", 4, "cited_text", "is")})
	for _, streams := range []bool{false, true} {
		r := hello()
		if streams {
			r.Text = func(string) {}
		} else {
			r.MaxTokens = 5000
		}
		c := newClaude(t, func(n int, _ *value.Dict) (value.List, string) {
			switch n {
			case 0:
				return value.List{thoughtBlock("I search first"), textBlock("I look. "), search.Clone(0)}, "pause_turn"
			case 1:
				return value.List{found, textBlock("It seems "), thoughtBlock("I am sure"), cited}, "end_turn"
			case 2:
				return value.List{textBlock("Good bye.")}, "end_turn"
			}
			return value.List{search.Clone(0)}, "pause_turn"
		})
		m := c.open("claude-sonnet-5-5")
		got, err := m.Ask(t.Context(), r)
		if err != nil || got.Text != "I look. It seems It is so." || got.Stop != model.StopEnd || len(c.log) != 2 || got.Reasoning != "I search first\n\nI am sure" ||
			!slices.Equal(got.References, []string{"[1] A https://a.example", "[2] B page 3"}) || got.Usage.OutputTokens != c.tokens[0].output+c.tokens[1].output {
			t.Errorf("streams %t: a paused turn = %+v, %v; refused %q", streams, got, err, c.refused)
			continue
		}
		next := &model.Request{Messages: append(r.Messages, got.Message(), user("Thanks.")), Text: r.Text}
		if _, err := m.Ask(t.Context(), next); err != nil || len(c.refused) > 0 {
			t.Errorf("streams %t: after a paused turn: %v, refused %q", streams, err, c.refused)
		}
		back := listOf(listOf(c.log[2], "messages")[1], "content")
		if len(back) != 7 || inner(back[2], "input").Text("query") != "a b" || len(listOf(back[6], "citations")) != 2 || !value.Equal(back[3], found) {
			t.Errorf("streams %t: the paused turn went back as %s", streams, value.List{back[0], back})
		}
		if got, err := m.Ask(t.Context(), r); err != nil || got.Stop != model.StopLength || len(c.log) > 20 {
			t.Errorf("streams %t: a turn that is always paused = %+v, %v after %d requests", streams, got, err, len(c.log))
		}
	}
}

// TestClaudeRefuses tests refusals, and a context window that is full.
func TestClaudeRefuses(t *testing.T) {
	t.Parallel()
	c := newClaude(t, func(n int, _ *value.Dict) (value.List, string) {
		switch n {
		case 0:
			return value.List{}, "refusal"
		case 1:
			return value.List{textBlock("I had begun")}, "refusal"
		}
		return value.List{textBlock("I had begun")}, "model_context_window_exceeded"
	})
	c.details = value.NewDict("type", "refusal", "category", "cyber", "explanation", "It could do harm.")
	m := c.open("claude-sonnet-5-5")
	if got, err := m.Ask(t.Context(), hello()); err != nil || got.Stop != model.StopRefuse || got.Text != "It could do harm." {
		t.Errorf("a refusal = %+v, %v", got, err)
	}
	if got, err := m.Ask(t.Context(), watched()); err != nil || got.Stop != model.StopRefuse || got.Text != "I had begun" {
		t.Errorf("a refusal with a text = %+v, %v", got, err)
	}
	for _, r := range []*model.Request{hello(), watched()} {
		_, err := m.Ask(t.Context(), r)
		if e := value.ErrorOf(err, value.Failed); e == nil || e.Kind != value.Limit || e.Limit != value.LimitContext {
			t.Errorf("a full context = %v, want the limit %q", err, value.LimitContext)
		}
	}
}

// TestClaudeBlank sends a turn back whose text is blank: its thinking is kept, see M23.
func TestClaudeBlank(t *testing.T) {
	t.Parallel()
	c := newClaude(t, func(n int, _ *value.Dict) (value.List, string) {
		if n > 0 {
			return value.List{textBlock("Done.")}, "end_turn"
		}
		return value.List{thoughtBlock("I should look"), textBlock("\n\n"), callBlock("c1", "read_file", "path", "a b.txt")}, "tool_use"
	})
	m := c.open("claude-opus-5-5")
	r := &model.Request{Tools: []tool.Tool{readFile()}, Messages: []model.Message{user("Read.")}}
	got, err := m.Ask(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, got.Message(), model.Message{Role: model.ToolRole, CallID: "c1", Tool: "read_file", Text: "x"})
	if _, err := m.Ask(t.Context(), r); err != nil || len(c.refused) > 0 || len(thoughts(c.log[1])) != 1 {
		t.Errorf("Ask: %v; refused %q; %q was sent back", err, c.refused, thoughts(c.log[1]))
	}
}

// TestClaudeOptions asks every model of the catalog, and some others, with every option: none
// refuses the request.
func TestClaudeOptions(t *testing.T) {
	t.Parallel()
	names := []string{"claude-opus-4-6", "claude-opus-4-8", "claude-sonnet-4-6", "claude-sonnet-5", "claude-fable-5-2", "claude-opus-6", "claude-opus-4-5-20251101", "m"}
	for _, l := range catalog.List("anthropic") {
		names = append(names, l.Name)
	}
	schema := value.NewDict("type", "object", "properties", value.NewDict("n", value.NewDict("type", "integer", "minimum", 3)))
	warm := 0.5
	asked := 0
	for _, name := range names {
		c := newClaude(t, func(int, *value.Dict) (value.List, string) { return value.List{textBlock("Hi.")}, "end_turn" })
		for _, version := range []string{anthropic.Version, anthropic.Version2023} {
			m := c.open(name, func(o *anthropic.Options) { o.Version = version })
			for _, effort := range []string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"} {
				for _, choice := range []string{"", model.ToolAuto, model.ToolNone, model.ToolRequired, "read_file"} {
					r := hello()
					r.Effort, r.ToolChoice, r.Tools, r.Temperature, r.Schema = effort, choice, []tool.Tool{readFile()}, &warm, schema
					if choice == "" {
						r.MaxTokens = 1000
					}
					c.version = version
					if _, err := m.Ask(t.Context(), r); err != nil {
						t.Errorf("%s, effort %q, choice %q, version %s: %v", name, effort, choice, version, err)
					}
					asked++
				}
			}
		}
	}
	t.Logf("%d requests", asked)
	_, err := newClaude(t, nil).open("claude-opus-5").Ask(t.Context(), &model.Request{Messages: []model.Message{user("a")}, Effort: "hihg"})
	if e := value.ErrorOf(err, value.Failed); e == nil || e.Kind != value.Invalid || !strings.Contains(e.Error(), "high") {
		t.Errorf("an unknown effort = %v", err)
	}
}

// TestClaudeSends checks the options in some requests.
func TestClaudeSends(t *testing.T) {
	t.Parallel()
	warm := 0.5
	schema := value.NewDict("type", "object", "properties", value.NewDict("n", value.NewDict("type", "integer")))
	adaptive := `"thinking":{"type":"adaptive","display":"summarized"}`
	format := `"format":{"type":"json_schema","schema":{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}}`
	tests := []struct {
		model, version, effort, choice string
		schema                         *value.Dict
		want                           []string
		not                            string
	}{
		{model: "claude-sonnet-5-5", want: []string{adaptive, `"max_tokens":64000`, `"stream":true`}, not: "output_config temperature"},
		{model: "claude-sonnet-5-5", effort: "none", want: []string{`"thinking":{"type":"between_tools"}`}},
		{model: "claude-opus-5-5", effort: "none", want: []string{adaptive, `"effort":"low"`}},
		{model: "claude-opus-5-5", effort: "xhigh", choice: "required", want: []string{adaptive, `"effort":"xhigh"`}, not: "tool_choice"},
		{model: "claude-opus-5", effort: "none", choice: "read_file", want: []string{`"thinking":{"type":"disabled"}`, `"tool_choice":{"type":"tool","name":"read_file"}`}},
		{model: "claude-opus-4-6", version: "2023-06-01", effort: "xhigh", want: []string{adaptive, `"effort":"max"`}, not: "temperature"},
		{model: "claude-opus-4-6", version: "2023-06-01", want: []string{`"temperature":0.5`}, not: "thinking"},
		{model: "claude-haiku-4-5", effort: "high", choice: "required", want: []string{`"thinking":{"type":"enabled","budget_tokens":16384}`, `"max_tokens":50000`}, not: "tool_choice output_config"},
		{model: "claude-haiku-4-5", choice: "required", schema: schema, want: []string{`"tool_choice":{"type":"any"}`, format}, not: "thinking"},
		{model: "claude-3-5-haiku-latest", effort: "high", schema: schema, want: []string{`"max_tokens":8192`}, not: "thinking output_config stream"},
		{model: "anthropic/claude-opus-4.6", effort: "low", want: []string{adaptive}},
		{model: "gateway-model", schema: schema, choice: "none", want: []string{`"max_tokens":16000`, format, `"tool_choice":{"type":"none"}`}, not: "thinking"},
	}
	for _, test := range tests {
		c := newClaude(t, func(int, *value.Dict) (value.List, string) { return value.List{textBlock("Hi.")}, "end_turn" })
		c.version = test.version
		m := c.open(test.model, func(o *anthropic.Options) { o.Version = test.version })
		r := hello()
		r.Effort, r.ToolChoice, r.Tools, r.Temperature, r.Schema = test.effort, test.choice, []tool.Tool{readFile()}, &warm, test.schema
		if _, err := m.Ask(t.Context(), r); err != nil {
			t.Errorf("%+v: %v", test, err)
			continue
		}
		body := c.log[0].String()
		for _, want := range test.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s, effort %q: sent %s\nwant %s", test.model, test.effort, body, want)
			}
		}
		for _, not := range strings.Fields(test.not) {
			if c.log[0].Has(not) {
				t.Errorf("%s, effort %q: sent %s\nwant no %s", test.model, test.effort, body, not)
			}
		}
	}
}

// TestClaudeInstructs adds an instruction in mid-conversation: the cache and the thinking stay.
func TestClaudeInstructs(t *testing.T) {
	t.Parallel()
	c := newClaude(t, func(n int, _ *value.Dict) (value.List, string) {
		return value.List{thoughtBlock(fmt.Sprintf("thought %d", n)), textBlock("Hi.")}, "end_turn"
	})
	m := c.open("claude-opus-5-5")
	r := &model.Request{System: strings.Repeat("Be brief. ", 1000), Messages: []model.Message{user("a")}}
	for n := range 3 {
		got, err := m.Ask(t.Context(), r)
		if err != nil {
			t.Fatalf("%v, refused %q", err, c.refused)
		}
		r.Messages = append(r.Messages, got.Message())
		if n == 0 { // before the message, after which the API wants it
			r.Messages = append(r.Messages, model.Message{Role: model.SystemRole, Text: "Speak German."})
		}
		r.Messages = append(r.Messages, user("b"))
	}
	if got := thoughts(c.log[2]); len(got) != 2 || c.tokens[2].read < c.tokens[1].read || c.tokens[2].read < 2000 {
		t.Errorf("%q was sent back, %+v tokens", got, c.tokens)
	}
	if at := listOf(c.log[2], "messages")[3]; at.Text("role") != "system" {
		t.Errorf("sent %s", c.log[2])
	}
}

// TestClaudeSchema asks for a schema that the server finds too complex, and for one that it cannot
// enforce: both replies come without it.
func TestClaudeSchema(t *testing.T) {
	t.Parallel()
	c := newClaude(t, func(int, *value.Dict) (value.List, string) { return value.List{textBlock(`{"n": 1}`)}, "end_turn" })
	c.refuses = func(body *value.Dict) string {
		if inner(body, "output_config").Has("format") {
			return "output_config.format.schema: Schema is too complex"
		}
		return ""
	}
	r := hello()
	r.Schema = value.NewDict("type", "object", "properties", value.NewDict("n", value.NewDict("type", "integer")))
	m := c.open("claude-opus-5-5")
	if got, err := m.Ask(t.Context(), r); err != nil || got.Text != `{"n": 1}` || len(c.log) != 2 {
		t.Errorf("Ask = %+v, %v after %d requests", got, err, len(c.log))
	}
	r.Schema = value.NewDict("type", "object", "additionalProperties", true)
	if got, err := m.Ask(t.Context(), r); err != nil || got.Text != `{"n": 1}` || len(c.log) != 3 {
		t.Errorf("Ask = %+v, %v after %d requests", got, err, len(c.log))
	}
	c.refuses = func(*value.Dict) string { return "messages: no" }
	if _, err := m.Ask(t.Context(), r); value.KindOf(err) != value.Invalid || len(c.log) != 4 {
		t.Errorf("another refusal = %v after %d requests", err, len(c.log))
	}
}

// TestClaudeAnything sends conversations of any kind, with replies that were kept, changed or
// written by others. The server refuses none.
func TestClaudeAnything(t *testing.T) {
	t.Parallel()
	c := newClaude(t, func(int, *value.Dict) (value.List, string) { return value.List{textBlock("Hi.")}, "end_turn" })
	models := map[string]model.Model{}
	for _, name := range []string{"claude-haiku-4-5", "claude-opus-4-8", "claude-opus-5", "m"} { // those that bind no thinking
		models[name] = c.open(name)
	}
	texts := rapid.SampledFrom([]string{"", " \n", "Hello.", "Look — 四."})
	sent := 0
	rapid.Check(t, func(rt *rapid.T) {
		r := &model.Request{Tools: []tool.Tool{readFile()}, System: texts.Draw(rt, "system"), Effort: rapid.SampledFrom([]string{"", "none", "low", "high"}).Draw(rt, "effort")}
		if rapid.Bool().Draw(rt, "no tools") {
			r.Tools = nil
		}
		if strings.TrimSpace(r.System) == "" {
			r.System = ""
		}
		for i := range rapid.IntRange(0, 6).Draw(rt, "turns") {
			r.Messages = append(r.Messages, user("Q."))
			if rapid.Bool().Draw(rt, "instructed") {
				r.Messages = append(r.Messages, model.Message{Role: model.SystemRole, Text: "Be kind."})
			}
			reply := model.Message{Role: model.Assistant, Text: texts.Draw(rt, "text")}
			kept := value.List{}
			if rapid.Bool().Draw(rt, "thought") {
				kept = append(kept, value.NewDict("type", "thinking", "thinking", "t", "signature", "s"))
			}
			kept = append(kept, textBlock(reply.Text))
			for n := range rapid.IntRange(0, 3).Draw(rt, "calls") {
				call := model.Call{ID: fmt.Sprintf("c%d_%d", i, n), Tool: "read_file", Args: value.NewDict("path", "a")}
				reply.Calls = append(reply.Calls, call)
				kept = append(kept, callBlock(call.ID, call.Tool, "path", "a"))
			}
			switch rapid.IntRange(0, 3).Draw(rt, "kept") {
			case 0:
				reply.Opaque = []byte(value.FormatJSON(kept, ""))
			case 1:
				reply.Opaque = []byte(js("blocks", kept, "prefix", "elsewhere", "drop", rapid.Bool().Draw(rt, "drop")))
			case 2:
				reply.Opaque = []byte(`{"other":[1]}`)
			}
			r.Messages = append(r.Messages, reply)
			for _, call := range reply.Calls {
				one := model.Message{Role: model.ToolRole, CallID: call.ID, Tool: call.Tool, Text: texts.Draw(rt, "result"), Failed: rapid.Bool().Draw(rt, "failed")}
				if rapid.Bool().Draw(rt, "picture") {
					one.Media = []model.Media{{Type: "image/png", Data: []byte("x")}}
				}
				r.Messages = append(r.Messages, one)
			}
		}
		r.Messages = append(r.Messages, user("Last."))
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(models))).Draw(rt, "model")
		before := len(c.refused)
		if _, err := models[name].Ask(t.Context(), r); err != nil || len(c.refused) > before {
			rt.Fatalf("%v; refused %q", err, c.refused[before:])
		}
		sent++
	})
	t.Logf("%d conversations", sent)
}

// TestClaudeMedia sends images and documents.
func TestClaudeMedia(t *testing.T) {
	t.Parallel()
	c := newClaude(t, func(int, *value.Dict) (value.List, string) { return value.List{textBlock("I see.")}, "end_turn" })
	m := c.open("claude-sonnet-5-5")
	png, pdf := model.Media{Type: "image/png", Data: []byte("png")}, model.Media{Type: "application/pdf", Name: "a.pdf", Data: []byte("pdf")}
	r := &model.Request{Tools: []tool.Tool{readFile()}, Messages: []model.Message{{Role: model.User, Text: "Look.", Media: []model.Media{png, pdf}},
		{Role: model.Assistant, Calls: []model.Call{{ID: "c", Tool: "read_file", Args: value.NewDict()}}},
		{Role: model.ToolRole, CallID: "c", Tool: "read_file", Text: "a picture", Media: []model.Media{png}},
		{Role: model.User, Media: []model.Media{{Type: "text/plain", Data: []byte("notes")}}}}}
	if _, err := m.Ask(t.Context(), r); err != nil {
		t.Fatalf("Ask: %v, refused %q", err, c.refused)
	}
	messages, _ := c.log[0].Get("messages")
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}`
	want := `[{"role":"user","content":[` + image + `,{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"cGRm"},"title":"a.pdf"},{"type":"text","text":"Look."}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"read_file","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"a picture"},` + image + `]},` +
		`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"notes"}}]}]`
	if got := string(bare(messages)); got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	for _, bad := range []model.Media{{Type: "audio/wav", Name: "a.wav", Data: []byte("x")}, {Type: "image/png", Name: "a.png", Data: make([]byte, 100<<20)}} {
		_, err := m.Ask(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Text: "Look.", Media: []model.Media{bad}}}})
		if e := value.ErrorOf(err, value.Failed); e == nil || e.Kind != value.Invalid || !strings.Contains(e.Error(), bad.Name) || e.Hint == "" {
			t.Errorf("%s = %v, want it refused", bad.Name, err)
		}
	}
}
