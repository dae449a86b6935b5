// Package ollama asks models of an Ollama server.
//
// Source: https://docs.ollama.com/api/chat
package ollama

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Options configure the connection to a model of an Ollama server. Model is
// required.
type Options struct {
	Model   string
	BaseURL string // default http://127.0.0.1:11434; may be only a host
	Key     string // sent as a bearer token, for servers that require one
	// Context is how many tokens of a conversation the server uses, its num_ctx. The default
	// is the length that the model has been made for, at most 65,536. A longer conversation
	// is an error: nothing is dropped.
	Context int
	// Plain says that the model does not support tools: calls are part of its text.
	Plain   bool
	KeyHint string // hint for a wrong key; default "check the key"
	HTTP    model.HTTP
	// Extra are further fields of each request, as the API documents them, such as keep_alive.
	// They replace the fields of this package; objects are merged, lists joined, and nil removes
	// a field. See [model.CheckExtra] for those that it cannot have. It must not change after New.
	Extra *value.Dict
}

type client struct {
	o        Options
	w        *wire.Wire
	card     atomic.Pointer[card]
	noLevels atomic.Bool  // the server rejects levels of reasoning: it has only on and off
	fits     atomic.Int64 // the context that fits into memory, after a larger one did not; else 0
}

// New returns a model of Ollama's chat API. It fails if the model is missing, or
// the key or the address is invalid.
func New(opts *Options) (model.Model, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Model == "" {
		return nil, wire.NoModel("ollama", "qwen3")
	}
	m, err := connect(o)
	if err != nil {
		return nil, err
	}
	return wire.NewModel(m.w, !o.Plain, m.ask, m.info), nil
}

// connect returns a client for the server, whose model may be missing.
func connect(o Options) (*client, error) {
	if err := model.CheckExtra(o.Extra); err != nil {
		return nil, err
	}
	w, err := wire.New("ollama:"+o.Model, cmp.Or(baseOf(o.BaseURL), "http://127.0.0.1:11434"), o.Key, o.KeyHint, o.HTTP)
	if err != nil {
		return nil, err
	}
	w.LostHint = "fetch the model: ollama pull " + o.Model
	return &client{o: o, w: w}, nil
}

// baseOf converts the value of OLLAMA_HOST to an address: it may be a host, a port,
// or the address that the server listens on.
func baseOf(host string) string {
	if host == "" || strings.Contains(host, "://") {
		return host
	}
	name, path, _ := strings.Cut(host, "/")
	if !strings.Contains(name[strings.LastIndexByte(name, ']')+1:], ":") {
		name += ":11434"
	}
	if rest, all := strings.CutPrefix(name, "0.0.0.0:"); all || strings.HasPrefix(name, ":") {
		name = "127.0.0.1:" + strings.TrimPrefix(rest, ":")
	}
	return "http://" + name + "/" + path
}

func (m *client) ask(ctx context.Context, r *model.Request) (*model.Reply, *wire.Failure) {
	if f := m.w.Check(r); f != nil {
		return nil, f
	}
	var c *card
	if m.o.Context == 0 || r.Effort != "" || hasMedia(r.Messages) {
		var f *wire.Failure
		if c, f = m.show(ctx); f != nil {
			return nil, f
		}
	}
	for {
		window, leveled := m.context(c), !m.noLevels.Load()
		reply, f := m.send(ctx, r, c)
		switch {
		case f == nil:
			return reply, nil
		case noMemory(f):
			if !m.shrink(c, window) {
				f.Err.Hint = fmt.Sprintf("use a smaller model, or write a smaller context into your config.yaml: models: {\"ollama:%s\": {context: %d}}; in Go, set Options.Context", m.o.Model, window/2)
				return nil, f
			}
		case f.Status != 400 || !strings.Contains(f.Err.Error(), "think") || r.Effort == "" || !leveled:
			return nil, explain(f)
		default:
			m.noLevels.Store(true)
		}
		if r.Notice != nil {
			r.Notice(model.Notice{Retry: f.Err})
		}
	}
}

// explain adds a hint to what a model cannot do.
func explain(f *wire.Failure) *wire.Failure {
	switch said := f.Err.Error(); {
	case strings.Contains(said, "does not support tools"):
		f.Err.Hint = "use --format pure_json, or another model: ollama show NAME lists what a model supports; in Go, set Options.Plain"
	case strings.Contains(said, "does not support thinking"):
		f.Err.Hint = "omit --effort: the model does not reason; in Go, leave Request.Effort empty"
	}
	return f
}

func (m *client) send(ctx context.Context, r *model.Request, c *card) (*model.Reply, *wire.Failure) {
	body, f := m.body(r, c)
	if f != nil {
		return nil, f
	}
	q := &wire.Query{Path: "/api/chat", Header: wire.Bearer(m.o.Key), Body: body, Stream: r.Text != nil,
		Retry: func(f *wire.Failure) bool { return wire.Stateless(f) && !noMemory(f) }}
	return m.w.Reply(ctx, r, q, func(res *wire.Response) (*model.Reply, *wire.Failure) {
		s := &stream{Draft: wire.Draft{W: m.w, OnText: r.Text}}
		if r.Text != nil {
			return res.Assemble(false, s)
		}
		return s.whole(res)
	})
}

func (m *client) body(r *model.Request, c *card) (*value.Dict, *wire.Failure) {
	tools, f := m.w.Definitions(r.Tools, tool.OpenAI) // Ollama uses the same format
	if f != nil {
		return nil, f
	}
	messages := r.Messages
	if m.o.Plain {
		messages, tools = wire.Worded(messages), nil
	}
	list, f := m.messages(r.System, messages, c)
	if f != nil {
		return nil, f
	}
	body := value.NewDict("model", m.o.Model, "messages", list)
	switch {
	case tools != nil && r.ToolChoice != model.ToolNone: // the API has no choice of tools
		body.Put("tools", tools)
	case r.Schema.Len() > 0:
		body.Put("format", r.Schema)
	case r.Schema != nil:
		body.Put("format", "json")
	}
	body.Put("stream", r.Text != nil) // the default is true
	if think := m.think(r.Effort, c); think != nil {
		body.Put("think", think)
	}
	// By default, the server silently drops the first messages of a long conversation.
	body.Put("truncate", false)
	body.Put("shift", false)
	options := value.NewDict("num_ctx", int64(m.context(c)))
	if r.MaxTokens > 0 {
		options.Put("num_predict", int64(r.MaxTokens))
	}
	if r.Temperature != nil {
		options.Put("temperature", *r.Temperature)
	}
	body.Put("options", options)
	return wire.Merged(body, m.o.Extra), nil
}

// think returns whether and how much the model reasons, or nil for its default and for models
// that do not reason.
func (m *client) think(effort string, c *card) value.Value {
	if effort == "" || c == nil || !c.can("thinking") {
		return nil
	}
	switch effort {
	case "none":
		return false
	case "minimal":
		effort = "low"
	case "xhigh":
		effort = "high"
	}
	if m.noLevels.Load() {
		return true
	}
	return effort
}

func hasMedia(messages []model.Message) bool {
	return slices.ContainsFunc(messages, func(m model.Message) bool { return len(m.Media) > 0 })
}

func (m *client) messages(system string, messages []model.Message, c *card) (value.List, *wire.Failure) {
	var list value.List
	if system != "" {
		list = append(list, value.NewDict("role", "system", "content", system))
	}
	for i := range messages {
		msg := &messages[i]
		d := value.NewDict("role", string(msg.Role), "content", msg.Text)
		images, f := m.images(msg.Media, c)
		if f != nil {
			return nil, f
		}
		if images != nil {
			d.Put("images", images)
		}
		switch msg.Role {
		case model.ToolRole:
			d.Put("tool_name", msg.Tool)
			d.Put("tool_call_id", msg.CallID)
		case model.Assistant:
			if thinking := thinkingOf(msg.Opaque); thinking != "" {
				d.Put("thinking", thinking)
			}
			if len(msg.Calls) > 0 {
				d.Put("tool_calls", callsOf(msg.Calls))
			}
		}
		list = append(list, d)
	}
	return list, nil
}

// images returns the images of a message in base64. Other media is an error, and so are images
// for a model that does not see.
func (m *client) images(media []model.Media, c *card) (value.List, *wire.Failure) {
	var list value.List
	for i := range media {
		one := &media[i]
		fail := func(hint string) *wire.Failure {
			return m.w.Unreadable(one, hint)
		}
		switch {
		case one.URL != "":
			return nil, m.w.NeedsData(one)
		case one.Type != "image/png" && one.Type != "image/jpeg" && one.Type != "image/webp":
			return nil, fail("attach a PNG, JPEG or WebP image")
		case c != nil && len(c.capabilities) > 0 && !c.can("vision"):
			return nil, fail("use a model with the capability vision, such as ollama:qwen3-vl")
		}
		list = append(list, base64.StdEncoding.EncodeToString(one.Data))
	}
	return list, nil
}

// callsOf writes calls for Ollama.
func callsOf(calls []model.Call) value.List {
	var list value.List
	for i := range calls {
		c := &calls[i]
		list = append(list, value.NewDict("id", c.ID, "function", value.NewDict("index", int64(i), "name", c.Tool, "arguments", wire.ArgsObject(c))))
	}
	return list
}

// thinkingOf returns the reasoning of a message, which models that reason between
// calls want back.
func thinkingOf(opaque []byte) string {
	if len(opaque) == 0 {
		return ""
	}
	v, _ := value.ParseJSON(opaque)
	d, _ := v.(*value.Dict)
	return d.Text("thinking")
}

// A stream assembles the objects of an answer. An answer that is not streamed is
// one object.
type stream struct {
	wire.Draft
	made     []model.Call
	thinking strings.Builder
	finished bool
}

// whole reads an answer that is not streamed.
func (s *stream) whole(res *wire.Response) (*model.Reply, *wire.Failure) {
	body, f := res.Object()
	if f != nil {
		return nil, f
	}
	if _, f := s.Take(body); f != nil {
		return nil, f
	}
	if wire.Child(body, "message") == nil {
		return nil, s.W.BadResponse("the message is missing")
	}
	reply, _ := s.Reply()
	return reply, nil
}

func (s *stream) Take(piece *value.Dict) (bool, *wire.Failure) {
	if f := s.W.FailIn(piece); f != nil {
		return false, f
	}
	message := wire.Child(piece, "message")
	if f := s.Say(message.Text("content")); f != nil {
		return false, f
	}
	s.thinking.WriteString(s.W.Said(message.Text("thinking")))
	if f := s.Grow(len(message.Text("thinking"))); f != nil {
		return false, f
	}
	for _, call := range wire.Children(message, "tool_calls") {
		function := wire.Child(call, "function")
		args, _ := function.Get("arguments")
		c := wire.NewCall(call.Text("id"), function.Text("name"), args)
		s.made = append(s.made, c)
		if f := s.Grow(wire.PartSize + len(wire.ArgsText(&c)) + len(c.Tool)); f != nil {
			return false, f
		}
	}
	if !piece.Bool("done") {
		return false, nil
	}
	s.finished = true
	s.Usage = model.Usage{InputTokens: int(piece.Int("prompt_eval_count")), OutputTokens: int(piece.Int("eval_count"))}
	if piece.Text("done_reason") == "length" {
		s.Stop = model.StopLength
	}
	return true, nil
}

// Reply implements [wire.Streamer].
func (s *stream) Reply() (*model.Reply, bool) {
	reply := s.Draft.Reply()
	reply.Calls = s.made
	if s.thinking.Len() > 0 {
		reply.Reasoning = s.thinking.String()
		reply.Opaque = []byte(value.NewDict("thinking", s.thinking.String()).String())
	}
	return reply, s.finished
}
