package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
)

// recordings are real exchanges, recorded by the tests of pydantic-ai (MIT). They are not part
// of the repository.
const recordings = "../../../../shared/data/model-recordings"

type object = map[string]any

// An exchange is a request and its response, of either API.
type exchange struct {
	name        string
	api         string // "chat" or "responses"
	base        string // the base URL
	body        object
	status      int
	contentType string
	response    []byte
	polls       [][]byte // the later states of a response in the background
}

// exchanges reads all recorded exchanges with chat completions and Responses, of all hosts.
func exchanges(t *testing.T) []exchange {
	t.Helper()
	if _, err := os.Stat(recordings); err != nil {
		t.Skipf("SKIPPED: the recordings are absent: %v", err)
	}
	var list []exchange
	err := filepath.WalkDir(recordings, func(name string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".yaml" {
			return err
		}
		list = append(list, fileExchanges(t, name)...)
		return nil
	})
	if err != nil || len(list) < 100 {
		t.Fatalf("%d exchanges, %v", len(list), err)
	}
	return list
}

func fileExchanges(t *testing.T, name string) []exchange {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Interactions []struct {
			Request struct {
				Method     string
				URI        string
				Body       any
				ParsedBody object `yaml:"parsed_body"`
			}
			Response struct {
				Status     struct{ Code int }
				Headers    object
				ParsedBody any `yaml:"parsed_body"`
				Body       struct{ String string }
			}
		}
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil // recorded in a binary form of another kind
	}
	var list []exchange
	for _, i := range file.Interactions {
		uri, _, _ := strings.Cut(i.Request.URI, "?")
		e := exchange{name: filepath.Base(name), body: i.Request.ParsedBody, status: i.Response.Status.Code, response: []byte(i.Response.Body.String)}
		for api, path := range map[string]string{"chat": "/chat/completions", "responses": "/responses"} {
			if base, ok := strings.CutSuffix(uri, path); ok {
				e.api, e.base = api, base
			}
		}
		if last := len(list) - 1; last >= 0 && i.Request.Method == "GET" && strings.HasPrefix(uri, list[last].base+"/responses/resp_") {
			list[last].polls = append(list[last].polls, asJSON(t, i.Response.ParsedBody))
		}
		if e.api == "" {
			continue
		}
		if body, ok := i.Request.Body.(object); ok {
			e.body = body
		}
		e.body = plainJSON(t, e.body).(object)
		if i.Response.ParsedBody != nil {
			e.response = asJSON(t, i.Response.ParsedBody)
		}
		for header, v := range i.Response.Headers {
			if values, ok := v.([]any); ok && strings.EqualFold(header, "content-type") {
				e.contentType, _ = values[0].(string)
			}
		}
		list = append(list, e)
	}
	return list
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// plainJSON makes a value one that JSON has.
func plainJSON(t *testing.T, v any) any {
	t.Helper()
	var plain any
	if err := json.Unmarshal(asJSON(t, v), &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

// A player answers each request with one response, and keeps the last request.
type player struct {
	status      int
	contentType string
	response    []byte
	polls       [][]byte // the answers to GET requests
	sent        []byte
}

func (p *player) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == "GET" && len(p.polls) > 0 {
		answer := p.polls[0]
		p.polls = p.polls[1:]
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer)), Request: r}, nil
	}
	var err error
	if p.sent, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: p.status, Header: http.Header{"Content-Type": {p.contentType}}, Body: io.NopCloser(bytes.NewReader(p.response)), Request: r}, nil
}

// open returns the model of an exchange, with the further fields of its request.
func (e *exchange) open(t *testing.T, p *player, extra object) model.Model {
	t.Helper()
	name, _ := e.body["model"].(string)
	m, err := openai.New(&openai.Options{Model: name, BaseURL: e.base, API: e.api, Extra: dictOf(t, extra),
		HTTP: model.HTTP{Client: &http.Client{Transport: p}, Sleep: noSleep}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRecordedReplies serves each recorded response, and compares the reply with an independent
// reading of it. Then it sends the reply back, with results for its calls, and checks that the
// request keeps what the server wants back.
func TestRecordedReplies(t *testing.T) {
	count, back := map[string]int{}, map[string]int{}
	for _, e := range exchanges(t) {
		p := &player{status: e.status, contentType: e.contentType, response: e.response, polls: e.polls}
		r, extra := render(t, &e)
		m := e.open(t, p, extra)
		if len(r.Messages) == 0 || r.Messages[0].Text == "" && r.Messages[0].Media == nil { // which we refuse
			r.Messages = []model.Message{{Role: model.User, Text: "x"}}
		}
		r.Text = nil
		var told strings.Builder
		if e.body["stream"] == true {
			r.Text = func(piece string) { told.WriteString(piece) }
		}
		want := readExchange(t, &e)
		reply, err := m.Ask(t.Context(), r)
		count[e.api]++
		if want.err != "" {
			if err == nil || !strings.Contains(err.Error(), want.err) {
				t.Errorf("%s: Ask = %+v, %v, want the error %q", e.name, reply, err, want.err)
			}
			continue
		}
		if want.empty() {
			if !errors.Is(err, model.ErrEmpty) {
				t.Errorf("%s: Ask = %+v, %v, want ErrEmpty", e.name, reply, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", e.name, err)
			continue
		}
		if d := cmp.Diff(want, readingOf(reply), cmp.AllowUnexported(reading{})); d != "" {
			t.Errorf("%s, %s (-want +got):\n%s", e.api, e.name, d)
		}
		if r.Text != nil && told.String() != reply.Text {
			t.Errorf("%s: streamed %q, the text is %q", e.name, told.String(), reply.Text)
		}
		back[e.api] += sendBack(t, &e, m, p, r, reply)
	}
	t.Logf("exchanges: %v; with reasoning or other data sent back: %v", count, back)
	if count["chat"] < 92 || count["responses"] < 70 || back["chat"] < 20 || back["responses"] < 60 {
		t.Errorf("exchanges: %v; with data sent back: %v; want at least 92 and 70, and 20 and 60", count, back)
	}
}

// sendBack sends a reply back, and checks it against the raw response. It returns 1 if the
// response had data besides its text and calls.
func sendBack(t *testing.T, e *exchange, m model.Model, p *player, r *model.Request, reply *model.Reply) int {
	t.Helper()
	next := *r
	next.Messages = append(slices.Clone(r.Messages), reply.Message())
	for _, c := range reply.Calls {
		next.Messages = append(next.Messages, model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Tool, Text: "done"})
	}
	next.Messages = append(next.Messages, model.Message{Role: model.User, Text: "Go on."})
	p.sent, p.polls = nil, e.polls
	_, _ = m.Ask(t.Context(), &next) // the reply is the same again
	var sent object
	if err := json.Unmarshal(p.sent, &sent); err != nil {
		t.Errorf("%s: the reply cannot be sent back: %v", e.name, err)
		return 0
	}
	if e.api == "responses" {
		return itemsBack(t, e, sent)
	}
	message := rawMessage(t, e)
	kept := 0
	for _, sentMessage := range lastOf(objects(sent["messages"]), "assistant") {
		for _, name := range []string{"reasoning_content", "reasoning", "reasoning_details", "extra_content"} {
			if blank(message[name]) {
				continue
			}
			kept = 1
			if !reflect.DeepEqual(sentMessage[name], message[name]) {
				t.Errorf("%s: sent back %s = %v, want %v", e.name, name, sentMessage[name], message[name])
			}
		}
		if parts := objects(message["content"]); len(parts) > 0 && parts[0]["type"] == "thinking" {
			kept = 1
			if !reflect.DeepEqual(textsBelow(sentMessage["content"]), textsBelow(message["content"])) {
				t.Errorf("%s: sent back %v, want %v", e.name, sentMessage["content"], message["content"])
			}
		}
		for i, call := range objects(message["tool_calls"]) {
			if got := objects(sentMessage["tool_calls"]); len(got) > i && !reflect.DeepEqual(got[i]["extra_content"], call["extra_content"]) {
				t.Errorf("%s: call %d lost its extra content", e.name, i)
			}
		}
	}
	return kept
}

// lastOf returns the last message of a role.
func lastOf(messages []object, role string) []object {
	for _, m := range slices.Backward(messages) {
		if m["role"] == role {
			return []object{m}
		}
	}
	return nil
}

func blank(v any) bool { return v == nil || v == "" || reflect.DeepEqual(v, []any{}) }

// itemsBack checks that all items of a response are sent back in order, and unchanged.
// Reasoning that has neither text nor an encrypted text cannot be sent back.
func itemsBack(t *testing.T, e *exchange, sent object) int {
	t.Helper()
	items := rawItems(t, e)
	for len(items) > 0 && items[len(items)-1]["type"] == "reasoning" {
		items = items[:len(items)-1]
	}
	lost := slices.ContainsFunc(items, func(item object) bool {
		return item["type"] == "reasoning" && blank(item["encrypted_content"]) && blank(item["content"])
	})
	input := objects(sent["input"])
	if lost {
		if slices.ContainsFunc(input[max(0, len(input)-len(items)):], func(item object) bool { return item["type"] == "reasoning" }) {
			t.Errorf("%s: reasoning without content is sent back", e.name)
		}
		return 0
	}
	for at := range input {
		if at+len(items) <= len(input) && reflect.DeepEqual(input[at:at+len(items)], items) {
			if len(items) > 1 || items[0]["id"] != nil {
				return 1
			}
			return 0
		}
	}
	t.Errorf("%s: the items %v are not sent back in %v", e.name, items, input)
	return 0
}

// TestRecordedRequests renders each recorded request as a model.Request, and compares what is
// sent for it. A request that uses tools of the provider, such as web search, is not counted. The
// others are counted without Options.Extra and with it: a user of the command sets it with extra
// in an entry of providers in config.yaml, which refuses the same fields. So the share that a user
// can express is that of both.
func TestRecordedRequests(t *testing.T) {
	type tally struct{ all, hosted, plain, extra int }
	counts := map[string]*tally{"chat": {}, "responses": {}}
	reasons := map[string]int{}
	for _, e := range exchanges(t) {
		c := counts[e.api]
		c.all++
		if hosted(&e) {
			c.hosted++
			continue
		}
		r, extra := render(t, &e)
		p := &player{status: 200, contentType: "application/json", response: []byte("{}")}
		_, _ = e.open(t, p, extra).Ask(t.Context(), r)
		problem := "our client refuses it"
		if p.sent != nil {
			var got object
			if err := json.Unmarshal(p.sent, &got); err != nil {
				t.Fatal(err)
			}
			problem = differs(normal(&e, e.body, nil), normal(&e, got, e.body))
		}
		switch {
		case problem != "":
			reasons[e.api+" "+problem+": "+e.name]++
		case len(extra) > 0:
			c.extra++
		default:
			c.plain++
		}
	}
	var list []string
	for reason := range reasons {
		list = append(list, reason)
	}
	sort.Strings(list)
	t.Logf("not expressible:\n%s", strings.Join(list, "\n"))
	for api, least := range map[string]float64{"chat": 0.95, "responses": 0.93} {
		c := counts[api]
		share := float64(c.plain+c.extra) / float64(c.all-c.hosted)
		t.Logf("%s: %d requests, %d with tools of the provider; of the other %d expressible are %d (%.1f %%), and %d more with extra: %.1f %%",
			api, c.all, c.hosted, c.all-c.hosted, c.plain, 100*float64(c.plain)/float64(c.all-c.hosted), c.extra, share*100)
		if share < least || c.all < 70 || c.hosted > 6 {
			t.Errorf("%s: %.1f %% of %d requests are expressible, want %.0f %%", api, share*100, c.all, least*100)
		}
	}
}
