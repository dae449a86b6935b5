// Package ollama asks models of an Ollama server.
//
// Source: https://docs.ollama.com/api/chat
package ollama

import (
	"cmp"
	"context"
	"strings"

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
	// Context is how many tokens of a conversation the server uses, its num_ctx. The
	// server's default is small, and it silently drops what exceeds it.
	Context int
	// Plain says that the model does not support tools: calls are part of its text.
	Plain   bool
	KeyHint string // hint for a wrong key; default "check the key"
	HTTP    model.HTTP
}

type client struct {
	o Options
	w *wire.Wire
}

// New returns a model of Ollama's chat API. It fails if the model is missing, or
// the key or the address is invalid.
func New(opts *Options) (model.Model, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Model == "" {
		return nil, wire.NoModel("ollama", "ollama:qwen3")
	}
	w, err := wire.New("ollama:"+o.Model, cmp.Or(baseOf(o.BaseURL), "http://127.0.0.1:11434"), o.Key, o.KeyHint, o.HTTP)
	if err != nil {
		return nil, err
	}
	w.LostHint = "fetch the model: ollama pull " + o.Model
	return wire.NewModel(w, !o.Plain, (&client{o, w}).ask, func(context.Context) model.Info { return model.Info{} }), nil
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
	body, f := m.body(r)
	if f != nil {
		return nil, f
	}
	return m.w.Reply(ctx, r, &wire.Query{Path: "/api/chat", Header: wire.Bearer(m.o.Key), Body: body, Stream: r.Text != nil}, func(res *wire.Response) (*model.Reply, *wire.Failure) {
		s := &stream{Draft: wire.Draft{W: m.w, OnText: r.Text}}
		if r.Text != nil {
			return res.Assemble(false, s)
		}
		return s.whole(res)
	})
}

func (m *client) body(r *model.Request) (*value.Dict, *wire.Failure) {
	if f := m.w.Check(r); f != nil {
		return nil, f
	}
	tools, f := m.w.Definitions(r.Tools, tool.OpenAI) // Ollama uses the same format
	if f != nil {
		return nil, f
	}
	messages := r.Messages
	if m.o.Plain {
		messages, tools = wire.Worded(messages), nil
	}
	body := value.NewDict("model", m.o.Model, "messages", messagesOf(r.System, messages))
	if tools != nil {
		body.Put("tools", tools)
	}
	body.Put("stream", r.Text != nil) // the default is true
	options := value.NewDict()
	if r.MaxTokens > 0 {
		options.Put("num_predict", int64(r.MaxTokens))
	}
	if m.o.Context > 0 {
		options.Put("num_ctx", int64(m.o.Context))
	}
	if options.Len() > 0 {
		body.Put("options", options)
	}
	return body, nil
}

func messagesOf(system string, messages []model.Message) value.List {
	var list value.List
	if system != "" {
		list = append(list, value.NewDict("role", "system", "content", system))
	}
	for i := range messages {
		m := &messages[i]
		d := value.NewDict("role", string(m.Role), "content", m.Text)
		switch m.Role {
		case model.ToolRole:
			d.Put("tool_name", m.Tool)
		case model.Assistant:
			if thinking := thinkingOf(m.Opaque); thinking != "" {
				d.Put("thinking", thinking)
			}
			if len(m.Calls) > 0 {
				d.Put("tool_calls", callsOf(m.Calls))
			}
		}
		list = append(list, d)
	}
	return list
}

// callsOf writes calls for Ollama: without IDs, so results are matched by their
// order.
func callsOf(calls []model.Call) value.List {
	var list value.List
	for i := range calls {
		c := &calls[i]
		list = append(list, value.NewDict("function", value.NewDict("name", c.Tool, "arguments", wire.ArgsObject(c))))
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
		return nil, s.W.Fail(value.Errorf(value.Unavailable, "invalid response: the message is missing").WithHint("check the base URL %s", s.W.Base))
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
	s.thinking.WriteString(message.Text("thinking"))
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

// Reply implements [streamer].
func (s *stream) Reply() (*model.Reply, bool) {
	reply := s.Draft.Reply()
	reply.Calls = s.made
	if s.thinking.Len() > 0 {
		reply.Opaque = []byte(value.NewDict("thinking", s.thinking.String()).String())
	}
	return reply, s.finished
}
