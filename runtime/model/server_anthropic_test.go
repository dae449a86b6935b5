package model_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A claude plays Anthropic's server with its rules: it answers 400 to what the API refuses, keeps
// a cache of prompts, and binds thinking to the conversation that it was written for.
type claude struct {
	t      *testing.T
	server *httptest.Server
	// reply returns the content of the n-th reply, from 0, and its stop reason. A thinking block
	// gets its signature from the server.
	reply func(n int, body *value.Dict) (value.List, string)
	// gateway is a server that does not know the beta of preserved thinking.
	gateway bool
	version string       // that is wanted; default 2026-10-21
	fails   []claudeFail // the next responses
	cut     int          // the event before which the next stream breaks off; 0: none
	cuts    int          // streams that broke off
	details *value.Dict
	refuses func(body *value.Dict) string // why a request is refused besides, or ""; may be nil

	mu      sync.Mutex
	n       int
	cache   map[string]bool
	log     []*value.Dict // the bodies of all requests
	refused []string      // the problems of requests with status 400
	dropped int           // thinking blocks
	tokens  []claudeUsage
}

// A claudeFail is a response with an error.
type claudeFail struct {
	status int
	after  string // Retry-After, or ""
}

// A claudeUsage is what one request has used, in tokens.
type claudeUsage struct{ plain, written, read, output int }

func newClaude(t *testing.T, reply func(n int, body *value.Dict) (value.List, string)) *claude {
	c := &claude{t: t, reply: reply, cache: map[string]bool{}}
	c.server = httptest.NewServer(c)
	t.Cleanup(c.server.Close)
	return c
}

// open returns a model of the server.
func (c *claude) open(name string, change ...func(*anthropic.Options)) model.Model {
	c.t.Helper()
	o := anthropic.Options{Model: name, BaseURL: c.server.URL, Key: testKey, HTTP: model.HTTP{Client: closing(), Sleep: noSleep}}
	for _, f := range change {
		f(&o)
	}
	m, err := anthropic.New(&o)
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

func (c *claude) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	data, _ := io.ReadAll(r.Body)
	v, err := value.ParseJSON(data)
	body, _ := v.(*value.Dict)
	if err != nil || body == nil || r.URL.Path != "/v1/messages" {
		http.NotFound(w, r)
		return
	}
	c.log = append(c.log, body)
	if len(c.fails) > 0 {
		next := c.fails[0]
		c.fails = c.fails[1:]
		if next.after != "" {
			w.Header().Set("Retry-After", next.after)
		}
		w.WriteHeader(next.status)
		io.WriteString(w, `{"type":"error","error":{"type":"api_error","message":"it went wrong"}}`)
		return
	}
	problems := anthropicProblems(cmp.Or(c.version, "2026-10-21"), request{r.Method, r.URL.Path, r.Header, body})
	if c.gateway && inner(inner(body, "thinking"), "block_binding") != nil {
		problems = append(problems, "thinking.block_binding: Extra inputs are not permitted")
	}
	if len(problems) == 0 {
		problems = c.bind(body)
	}
	if c.refuses != nil {
		if why := c.refuses(body); why != "" {
			problems = append(problems, why)
		}
	}
	if len(problems) > 0 {
		c.refused = append(c.refused, problems...)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(400)
		io.WriteString(w, js("type", "error", "error", value.NewDict("type", "invalid_request_error", "message", problems[0])))
		return
	}
	c.answer(w, body)
}

// bare returns JSON without marks of the cache.
func bare(v value.Value) []byte {
	data, _ := value.AppendJSON(nil, v)
	return bytes.ReplaceAll(data, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
}

// bind checks the signatures of thinking, and drops what is bound to another conversation if the
// request says so.
func (c *claude) bind(body *value.Dict) (problems []string) {
	if !among(body.Text("model"), bindsThinking) {
		return nil
	}
	drop := inner(inner(body, "thinking"), "block_binding").Text("prefix_mismatch_behavior") == "drop_block"
	seen := c.beginning(body)
	for i, m := range listOf(body, "messages") {
		turn := ""
		for j, b := range listOf(m, "content") {
			if b.Text("type") == "thinking" {
				if b.Text("signature") != sign(seen, turn, b.Text("thinking")) {
					c.dropped++
					if !drop {
						problems = append(problems, "messages."+strconv.Itoa(i)+".content."+strconv.Itoa(j)+": Invalid `signature` in `thinking` block. The block is bound to a different conversation. "+
							`Remove the block, or set thinking.block_binding.prefix_mismatch_behavior to "drop_block".`)
					}
				}
				turn += b.Text("signature")
			}
		}
		seen += string(bare(m))
	}
	return problems
}

// beginning returns what is before the messages.
func (c *claude) beginning(body *value.Dict) string {
	system, _ := body.Get("system")
	tools, _ := body.Get("tools")
	return string(bare(value.List{body.Text("model"), system, tools}))
}

func sign(prefix, turn, thinking string) string {
	sum := sha256.Sum256([]byte(prefix + "\x00" + turn + "\x00" + thinking))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// meter plays the cache: it reads the longest prefix that was written at one of the 20 blocks
// before a mark, and writes what is before the marks.
func (c *claude) meter(body *value.Dict) claudeUsage {
	const lookback, least = 20, 1024
	choice, _ := body.Get("tool_choice")
	var u claudeUsage
	var blocks []*value.Dict
	var before []int  // the tokens up to each block
	var keys []string // of the prefix with each block
	sum, total := sha256.New(), 0
	add := func(kind string, b *value.Dict) {
		data := bare(b)
		io.WriteString(sum, kind)
		sum.Write(data)
		total += len(data)/4 + 1
		blocks, before, keys = append(blocks, b), append(before, total), append(keys, string(sum.Sum(nil)))
	}
	io.WriteString(sum, body.Text("model"))
	for _, b := range listOf(body, "tools") {
		add("tool", b)
	}
	for _, b := range listOf(body, "system") {
		add("system", b)
	}
	thinking, _ := body.Get("thinking")
	sum.Write(bare(value.List{choice, thinking}))
	for _, m := range listOf(body, "messages") {
		for _, b := range listOf(m, "content") {
			add(m.Text("role"), b)
		}
	}
	last := 0
	for i, b := range blocks {
		if !b.Has("cache_control") || before[i] < least {
			continue
		}
		for j := i; j >= 0 && j > i-lookback; j-- {
			if c.cache[keys[j]] {
				u.read = max(u.read, before[j])
				break
			}
		}
		last = before[i]
	}
	for i, b := range blocks {
		if b.Has("cache_control") && before[i] >= least {
			c.cache[keys[i]] = true
		}
	}
	u.written = max(0, last-u.read)
	u.plain = total - u.read - u.written
	return u
}

// answer writes the next reply.
func (c *claude) answer(w http.ResponseWriter, body *value.Dict) {
	content, stop := c.reply(c.n, body)
	seen, turn := c.beginning(body), ""
	messages := listOf(body, "messages")
	if last := messages[len(messages)-1]; last.Text("role") == "assistant" { // a paused turn, which this one continues
		messages = messages[:len(messages)-1]
		for _, b := range listOf(last, "content") {
			turn += b.Text("signature")
		}
	}
	for _, m := range messages {
		seen += string(bare(m))
	}
	for _, one := range content {
		if b := one.(*value.Dict); b.Text("type") == "thinking" {
			b.Put("signature", sign(seen, turn, b.Text("thinking")))
			turn += b.Text("signature")
		}
	}
	u := c.meter(body)
	u.output = len(value.FormatJSON(content, ""))/4 + 1
	usage := value.NewDict("input_tokens", u.plain, "cache_creation_input_tokens", u.written, "cache_read_input_tokens", u.read, "output_tokens", u.output)
	message := value.NewDict("id", "msg_"+strconv.Itoa(c.n), "type", "message", "role", "assistant", "model", body.Text("model"), "content", content,
		"stop_reason", stop, "stop_sequence", nil, "stop_details", nil, "usage", usage)
	if c.details != nil {
		message.Put("stop_details", c.details)
	}
	if !body.Bool("stream") {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, message.String())
	} else if !c.stream(w, message) {
		panic(http.ErrAbortHandler)
	}
	c.n++
	c.tokens = append(c.tokens, u)
}

// stream writes a message as events, and reports false where it breaks off.
func (c *claude) stream(w http.ResponseWriter, message *value.Dict) bool {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	events := claudeEvents(message)
	for i, e := range events {
		if c.cut > 0 && i+1 == c.cut {
			c.cut, c.cuts = 0, c.cuts+1
			http.NewResponseController(w).Flush()
			return false
		}
		io.WriteString(w, "event: "+e.Text("type")+"\ndata: "+e.String()+"\n\n")
	}
	return true
}

// claudeEvents returns the events of a message: each text and each input in two pieces.
func claudeEvents(message *value.Dict) (list []*value.Dict) {
	event := func(kind string, pairs ...any) {
		list = append(list, value.NewDict(append([]any{"type", kind}, pairs...)...))
	}
	head := message.Clone(0)
	head.Put("content", value.List{})
	head.Put("stop_reason", nil)
	event("message_start", "message", head)
	event("ping")
	for i, b := range listOf(message, "content") {
		begin, delta := b.Clone(0), func(pairs ...any) { event("content_block_delta", "index", i, "delta", value.NewDict(pairs...)) }
		pieces := func(kind, name, text string) {
			half := strings.Index(text[len(text)/2:], " ") + len(text)/2 + 1
			delta("type", kind, name, text[:half])
			delta("type", kind, name, text[half:])
		}
		switch kind := b.Text("type"); kind {
		case "text":
			begin.Put("text", "")
			if b.Has("citations") {
				begin.Put("citations", value.List{})
			}
			event("content_block_start", "index", i, "content_block", begin)
			for _, one := range listOf(b, "citations") {
				delta("type", "citations_delta", "citation", one)
			}
			pieces("text_delta", "text", b.Text("text"))
		case "thinking":
			begin.Put("thinking", "")
			begin.Put("signature", "")
			event("content_block_start", "index", i, "content_block", begin)
			pieces("thinking_delta", "thinking", b.Text("thinking"))
			delta("type", "signature_delta", "signature", b.Text("signature"))
		case "tool_use", "server_tool_use":
			begin.Put("input", value.NewDict())
			event("content_block_start", "index", i, "content_block", begin)
			delta("type", "input_json_delta", "partial_json", "")
			pieces("input_json_delta", "partial_json", inner(b, "input").String())
		default:
			event("content_block_start", "index", i, "content_block", begin)
		}
		event("content_block_stop", "index", i)
	}
	stop, _ := message.Get("stop_reason")
	details, _ := message.Get("stop_details")
	usage, _ := message.Get("usage")
	event("message_delta", "delta", value.NewDict("stop_reason", stop, "stop_details", details), "usage", usage)
	event("message_stop")
	return list
}

// cost returns what all requests together cost.
func (c *claude) cost(p *model.Price) (cached, plain float64) {
	for _, u := range c.tokens {
		all := u.plain + u.written + u.read
		cached += p.Cost(model.Usage{InputTokens: all, CacheWriteTokens: u.written, CachedTokens: u.read, OutputTokens: u.output})
		plain += p.Cost(model.Usage{InputTokens: all, OutputTokens: u.output})
	}
	return cached, plain
}

// The content blocks of replies.
func textBlock(text string) *value.Dict { return value.NewDict("type", "text", "text", text) }
func thoughtBlock(text string) *value.Dict {
	return value.NewDict("type", "thinking", "thinking", text, "signature", "")
}
func callBlock(id, tool string, pairs ...any) *value.Dict {
	return value.NewDict("type", "tool_use", "id", id, "name", tool, "input", value.NewDict(pairs...), "caller", value.NewDict("type", "direct"))
}
