package serve

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A speaker is a model that does what it is told: "call TOOL" has it call a tool, "slowly" has it say the pieces that come
// from a channel, until that is empty, and "fail" has it fail.
type speaker struct{ pieces chan string }

func (*speaker) Name() string                    { return "test:speaker" }
func (*speaker) Native() bool                    { return true }
func (*speaker) Info(context.Context) model.Info { return model.Info{} }
func (s *speaker) Ask(ctx context.Context, r *model.Request) (*model.Reply, error) {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == model.ToolRole {
		return s.end("The tool says: " + last.Text)
	}
	words := strings.Fields(last.Text)
	if len(words) == 0 {
		return s.end("What?")
	}
	switch said := words[len(words)-1]; {
	case said == "slowly":
		text := ""
		for piece := ""; ; text += piece {
			select {
			case piece = <-s.pieces:
			case <-ctx.Done():
				return nil, value.AsError(ctx.Err(), value.Canceled)
			}
			if piece == "" {
				return s.end(text)
			}
			if r.Text != nil {
				r.Text(piece)
			}
		}
	case said == "fail":
		return nil, value.Errorf(value.Invalid, "the model is out of order")
	case len(words) > 1 && words[len(words)-2] == "call":
		args := &value.Dict{}
		if said == "echo" {
			args.Put("text", "a line of echo")
		}
		return &model.Reply{Text: "I look **it** up.", Calls: []model.Call{{ID: "c1", Tool: said, Args: args}}, Stop: model.StopCalls}, nil
	default:
		return s.end("You said: " + said)
	}
}

func (*speaker) end(text string) (*model.Reply, error) {
	return &model.Reply{Text: text, Stop: model.StopEnd, Usage: model.Usage{InputTokens: 1000, OutputTokens: 17}}, nil
}

// withAgent gives projects an agent that a speaker answers for.
func withAgent(s *speaker, o *Options, projects ...int) {
	for _, i := range projects {
		p := o.Projects[i]
		p.Agent = func(_ context.Context, name string) (*agent.Agent, error) {
			opts := agent.Options{Model: s, Policy: "chat"}
			for i := range testAgents {
				if testAgents[i].Name == name {
					opts.As = &testAgents[i]
				}
			}
			return agent.New(p.Host, &opts)
		}
	}
}

// chat begins a talk, and returns its address without the query.
func (r *rig) chat(token, form string) string {
	r.t.Helper()
	at, _, _ := strings.Cut(r.submit(token, "/chat", form), "#")
	return at
}

func TestChat(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { withAgent(&speaker{}, o, 0) }).start()
	r.shows("rob", "/chat", http.StatusOK, "New chat", "bakery: the default agent", "bakery: reviewer", "!helper", "!other: ", "No chats yet.")
	r.shows("rob", "/chat?agent=reviewer&project=bakery", http.StatusOK, `agent=reviewer&amp;project=bakery" selected`)
	r.shows("vera", "/chat", http.StatusOK, "You can view chats.", "!<textarea")
	r.shows("una", "/chat", http.StatusOK, "There is no agent to chat with.")
	r.refuses("vera", "/chat", "text=hello", http.StatusForbidden)
	expect(t, "an empty message", r.refuses("rob", "/chat", "text=+", http.StatusBadRequest), "Write a message first.")

	at := r.chat("rob", "text=please+call+echo&_key=k1&agent=project%3Dbakery%26agent%3Dreviewer")
	if again := r.chat("rob", "text=please+call+echo&_key=k1"); again != at {
		t.Errorf("the same form began %s and %s", at, again)
	}
	id := strings.TrimPrefix(at, "/chat/")
	r.until(id, history.Done)
	r.shows("rob", at, http.StatusOK, "please call echo", "I look it up.", "<strong>", "<b><bdi>echo</bdi></b>", "a line of echo", "The tool says:", "test:speaker", "turn 1", `data-live="/live`+at+`"`, "Send", "!Stop",
		`href="/agents/reviewer"`, `aria-current="page"`, "Today", `href="/runs/`+id+`?step=`)
	r.shows("ann", at, http.StatusOK, "You can view this chat. It is that of rob.", "!<textarea")
	r.refuses("ann", at, "text=hello", http.StatusForbidden)
	r.shows("una", at, http.StatusNotFound, "There is nothing here")
	expect(t, "an empty message", r.refuses("rob", at, "text=", http.StatusBadRequest), "Write a message first.")

	r.submit("rob", at, "text=now+fail&_key=k2")
	r.until(id+"--2", history.Failed)
	r.shows("rob", at, http.StatusOK, "out of order", "The talk goes on from here.", "turn 2")
	r.submit("rob", at, "text=bye&_key=k3")
	r.submit("rob", at, "text=bye&_key=k3")
	r.until(id+"--3", history.Done)
	html := r.shows("rob", at, http.StatusOK, "You said: bye", "turn 3")
	if n := strings.Count(html, "You said: bye"); n != 1 {
		t.Errorf("the answer is there %d times", n)
	}
	r.shows("rob", "/agents/reviewer?project=bakery", http.StatusOK, "You review invoices.", "echo, ask", "Chat with reviewer", `href="`+at+`"`)
	r.shows("rob", "/chat/none", http.StatusNotFound, "There is nothing here")
}

func TestChatQuestions(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { withAgent(&speaker{}, o, 0) }).start()
	at := r.chat("rob", "text=call+ask")
	id := strings.TrimPrefix(at, "/chat/")
	q := r.question(id).Text("id")
	r.shows("rob", at, http.StatusOK, "Waiting", "ask", "Stop", "Send after this turn")
	stream := r.stream("rob", "/live"+at)
	stream.expect("part", "Waiting")
	r.post("ann", "/v1/runs/"+id+"/questions/"+q+"/answer", `{"value": "this one"}`, http.StatusOK)
	stream.expect("part", "The tool says:", "this one")
	stream.expect("part", `id="chat-buttons"`, "!Stop")

	again := r.chat("rob", "text=call+ask")
	second := strings.TrimPrefix(again, "/chat/")
	r.question(second)
	r.refuses("vera", again, "stop=1", http.StatusForbidden)
	r.submit("rob", again, "text=later&_key=later")
	r.shows("rob", again, http.StatusOK, "After this turn: “later”")
	r.submit("rob", again, "stop=1")
	r.until(second, history.Cancelled)
	r.until(second+"--2", history.Done)
	r.shows("rob", again, http.StatusOK, "Cancelled", "You said: later", "!After this turn")
}

// TestChatFiles shows what a chat used, the files that its calls changed, and the images that they returned.
func TestChatFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) {
		picture := value.Media{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\nabc")}
		err := o.Projects[0].Host.Register(tool.Tool{Name: "paint", Description: "Paint.", Hints: tool.Hints{ReadOnly: true}}, func(context.Context, *value.Dict) (value.Value, error) {
			return value.NewDict("picture", picture), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		withAgent(&speaker{}, o, 0)
	}).start()
	at := r.chat("rob", "text=call+bump")
	id := strings.TrimPrefix(at, "/chat/")
	q := r.question(id).Text("id")
	r.post("ann", "/v1/runs/"+id+"/questions/"+q+"/answer", `{"yes": true}`, http.StatusOK)
	r.until(id, history.Done)
	r.shows("rob", at, http.StatusOK, "1,017 tokens", "Changed 1 file", "count", "+1", "−1", `class="diff"`)
	r.submit("rob", at, "text=call+paint&_key=2")
	r.until(id+"--2", history.Done)
	html := r.shows("rob", at, http.StatusOK, "2,034 tokens", "image/png, 11 B · Show")
	path := regexp.MustCompile(`/runs/[^"]*/media/[0-9a-f]+`).FindString(html)
	if response, body := r.browse("rob", http.MethodGet, path, "", http.StatusOK); response.Header.Get("Content-Type") != "image/png" || !strings.HasSuffix(body, "abc") {
		t.Errorf("%s is %q of the type %s", path, body, response.Header.Get("Content-Type"))
	}
}

// TestChatLive follows a reply that arrives in pieces, by one client from its beginning, and by one from the middle.
func TestChatLive(t *testing.T) {
	t.Parallel()
	s := &speaker{make(chan string)}
	r := newRig(t, func(o *Options) { withAgent(s, o, 0) }).start()
	at := r.chat("rob", "text=hello")
	id := strings.TrimPrefix(at, "/chat/")
	r.until(id, history.Done)
	first := r.stream("rob", "/live"+at)
	first.expect("part", "You said: hello")
	r.submit("rob", at, "text=slowly&_key=2")
	first.expect("part", `id="m-2-ask"`, "slowly")
	first.expect("part", `id="m-2"`, "data-stream")
	s.pieces <- "Once upon "
	first.expect("text", `{"add":"Once upon ","to":"m-2"}`)
	second := r.stream("ann", "/live"+at)
	second.expect("part", `id="m-2"`, "Once upon")
	s.pieces <- "a *time*"
	first.expect("text", `{"add":"a *time*","to":"m-2"}`)
	second.expect("text", `{"add":"a *time*","to":"m-2"}`)
	s.pieces <- ""
	first.expect("part", "Once upon a time", "<em>", "!data-stream")
	second.expect("part", "Once upon a time", "<em>")
	first.expect("say", "cassidy has answered")
	if after := r.stream("rob", "/live"+at+"?after=1"); true {
		after.expect("part", `id="m-2"`)
	}
	r.submit("rob", at, "text=third&_key=3")
	r.until(id+"--3", history.Done)
	r.stream("rob", "/live"+at+"?after=1").expect("resync")
}

// TestStop stops a turn in the middle of its reply, with a form of a browser without script: neither what was typed nor what
// was said is lost.
func TestStop(t *testing.T) {
	t.Parallel()
	s := &speaker{make(chan string)}
	r := newRig(t, func(o *Options) { withAgent(s, o, 0) }).start()
	at := r.chat("rob", "text=slowly")
	id := strings.TrimPrefix(at, "/chat/")
	live := r.stream("rob", "/live"+at)
	s.pieces <- "Once *upon* "
	live.expect("text", "Once *upon*")
	r.shows("rob", at, http.StatusOK, "Once *upon*", "data-stream", "Stop")
	_, html := r.browse("rob", http.MethodPost, at, "stop=1&text=a+draft", http.StatusOK)
	expect(t, "after the stop", html, "a draft</textarea>")
	r.until(id, history.Cancelled)
	live.expect("part", "Cancelled", "Once upon", "<em>", "!data-stream")
	r.shows("rob", at, http.StatusOK, "Cancelled", "Once upon", "<em>", "!data-stream", "!a draft")
	r.submit("rob", at, "stop=1")
	r.submit("rob", at, "text=hello&_key=2")
	r.until(id+"--2", history.Done)
	r.shows("rob", at, http.StatusOK, "Once upon", "You said: hello")
}

// TestArriving checks which text of a reply is shown while it arrives.
func TestArriving(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"Once upon a time":                           "Once upon a time",
		"I look.\n{\"tool_decision\": {}}\nand more": "I look.\n",
		"I look.\n<TOOL_DECISION>\nx":                "I look.\n",
		"a < b\n< c\nTASK\n":                         "a < b\n< c\nTASK\n",
		"TASK COMPLETE: done":                        "",
		"  {":                                        "",
		"one\n\n- two {x}\n```json\n{}\n```":         "one\n\n- two {x}\n",
	} {
		for size := 1; size < 12; size++ {
			a, got := arriving{}, ""
			for i := 0; i < len(said); i += size {
				got += a.add(said[i:min(i+size, len(said))])
			}
			if got != want || a.shown.String() != got {
				t.Errorf("of %q in pieces of %d, %q is shown, want %q", said, size, got, want)
			}
		}
	}
}

func TestAgentPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { withAgent(&speaker{}, o, 0) })
	r.shows("vera", "/agents", http.StatusOK, "bakery", "other", "reviewer", "Reviews invoices.", "for other agents", `href="/agents/reviewer?project=other"`)
	r.shows("vera", "/agents?q=invoices", http.StatusOK, "reviewer", "!helper")
	r.shows("vera", "/agents/reviewer", http.StatusOK, ".cassidy/agents/reviewer.md", "!Chat with")
	r.shows("rob", "/agents/reviewer?project=bakery", http.StatusOK, `href="/chat?agent=reviewer&amp;project=bakery"`)
	r.shows("rob", "/agents/reviewer?project=other", http.StatusOK, "There is no agent to chat with.")
	r.shows("rob", "/agents/helper", http.StatusOK, "Only other agents may call this one.")
	r.shows("rob", "/agents/none", http.StatusNotFound, "There is no agent")
}

// TestNoModel checks what is said while no model is set up, and that an agent with a model of its own can be talked to.
func TestNoModel(t *testing.T) {
	t.Parallel()
	setUp := &atomic.Bool{}
	r := newRig(t, func(o *Options) {
		withAgent(&speaker{}, o, 0)
		o.Projects = o.Projects[:1]
		o.Projects[0].NoModel = func(context.Context) string {
			if setUp.Load() {
				return ""
			}
			return "cassidy setup"
		}
	}).start()
	for path, texts := range map[string][]string{
		"/chat":            {"!the default agent", "!reviewer", `agent=poet`, "<textarea"},
		"/agents/poet":     {"Chat with"},
		"/agents/reviewer": {"No model is set up. On the server, type cassidy setup.", "!Chat with"},
		"/runs":            {"No model is set up. On the server, type cassidy setup.", "!Begin a chat"},
	} {
		r.shows("rob", path, http.StatusOK, texts...)
	}
	setUp.Store(true)
	r.shows("rob", "/runs", http.StatusOK, "Begin a chat")
	at := r.chat("rob", "text=hello")
	r.until(strings.TrimPrefix(at, "/chat/"), history.Done)
	r.shows("rob", at, http.StatusOK, "!No model", "<textarea")
	setUp.Store(false)
	r.shows("rob", at, http.StatusOK, "No model is set up.", "You said: hello", "!<textarea")
}
