package model

import (
	"cmp"
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// OllamaOptions configure the connection to a model of an Ollama server. Model is
// required.
type OllamaOptions struct {
	Model   string
	BaseURL string // default http://127.0.0.1:11434; may be only a host
	Key     string // sent as a bearer token, for servers that require one
	// Context is how many tokens of a conversation the server uses, its num_ctx. The
	// server's default is small, and it silently drops what exceeds it.
	Context int
	// Plain says that the model does not support tools: calls are part of its text.
	Plain   bool
	KeyHint string // hint for a wrong key; default "check the key"
	HTTP    HTTP
}

type ollama struct {
	o OllamaOptions
	w *wire
}

// NewOllama returns a model of Ollama's chat API. It fails if the model is missing, or
// the key or the address is invalid.
func NewOllama(opts *OllamaOptions) (Model, error) {
	o := OllamaOptions{}
	if opts != nil {
		o = *opts
	}
	if o.Model == "" {
		return nil, noModel("ollama", "ollama:qwen3")
	}
	w, err := newWire("ollama:"+o.Model, cmp.Or(ollamaBase(o.BaseURL), "http://127.0.0.1:11434"), o.Key, o.KeyHint, o.HTTP)
	if err != nil {
		return nil, err
	}
	w.lostHint = "fetch the model: ollama pull " + o.Model
	return &api{w, !o.Plain, (&ollama{o, w}).ask}, nil
}

// ollamaBase converts the value of OLLAMA_HOST to an address: it may be a host, a port,
// or the address that the server listens on.
func ollamaBase(host string) string {
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

func (m *ollama) ask(ctx context.Context, r *Request) (*Reply, *failure) {
	body, f := m.body(r)
	if f != nil {
		return nil, f
	}
	res, f := m.w.send(ctx, &query{path: "/api/chat", header: bearer(m.o.Key), body: body, stream: r.Text != nil})
	if f != nil {
		return nil, f
	}
	defer res.close()
	s := &ollamaStream{draft: draft{w: m.w, onText: r.Text}}
	var reply *Reply
	if r.Text != nil {
		reply, f = res.assemble(false, s)
	} else {
		reply, f = s.whole(res)
	}
	if f != nil {
		return nil, f
	}
	return m.w.finish(r, reply)
}

func (m *ollama) body(r *Request) (*value.Dict, *failure) {
	if f := m.w.check(r); f != nil {
		return nil, f
	}
	tools, f := m.w.definitions(r.Tools, tool.OpenAI) // Ollama uses the same format
	if f != nil {
		return nil, f
	}
	messages := r.Messages
	if m.o.Plain {
		messages, tools = worded(messages), nil
	}
	body := value.NewDict("model", m.o.Model, "messages", ollamaMessages(r.System, messages))
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

func ollamaMessages(system string, messages []Message) value.List {
	var list value.List
	if system != "" {
		list = append(list, value.NewDict("role", "system", "content", system))
	}
	for i := range messages {
		m := &messages[i]
		d := value.NewDict("role", string(m.Role), "content", m.Text)
		switch m.Role {
		case ToolRole:
			d.Put("tool_name", m.Tool)
		case Assistant:
			if thinking := ollamaThinking(m.Opaque); thinking != "" {
				d.Put("thinking", thinking)
			}
			if len(m.Calls) > 0 {
				d.Put("tool_calls", ollamaCalls(m.Calls))
			}
		}
		list = append(list, d)
	}
	return list
}

// ollamaCalls writes calls for Ollama: without IDs, so results are matched by their
// order.
func ollamaCalls(calls []Call) value.List {
	var list value.List
	for i := range calls {
		c := &calls[i]
		list = append(list, value.NewDict("function", value.NewDict("name", c.Tool, "arguments", c.argsObject())))
	}
	return list
}

// ollamaThinking returns the reasoning of a message, which models that reason between
// calls want back.
func ollamaThinking(opaque []byte) string {
	if len(opaque) == 0 {
		return ""
	}
	v, _ := value.ParseJSON(opaque)
	d, _ := v.(*value.Dict)
	return d.Text("thinking")
}

// An ollamaStream assembles the objects of an answer. An answer that is not streamed is
// one object.
type ollamaStream struct {
	draft
	made     []Call
	thinking strings.Builder
	finished bool
}

// whole reads an answer that is not streamed.
func (s *ollamaStream) whole(res *response) (*Reply, *failure) {
	body, f := res.object()
	if f != nil {
		return nil, f
	}
	if _, f := s.take(body); f != nil {
		return nil, f
	}
	if child(body, "message") == nil {
		return nil, s.w.fail(value.Errorf(value.Unavailable, "invalid response: the message is missing").WithHint("check the base URL %s", s.w.base))
	}
	reply, _ := s.reply()
	return reply, nil
}

func (s *ollamaStream) take(piece *value.Dict) (bool, *failure) {
	if f := s.w.failIn(piece); f != nil {
		return false, f
	}
	message := child(piece, "message")
	if f := s.say(message.Text("content")); f != nil {
		return false, f
	}
	s.thinking.WriteString(message.Text("thinking"))
	if f := s.grow(len(message.Text("thinking"))); f != nil {
		return false, f
	}
	for _, call := range children(message, "tool_calls") {
		function := child(call, "function")
		args, _ := function.Get("arguments")
		c := newCall(call.Text("id"), function.Text("name"), args)
		s.made = append(s.made, c)
		if f := s.grow(partSize + len(c.argsText()) + len(c.Tool)); f != nil {
			return false, f
		}
	}
	if !piece.Bool("done") {
		return false, nil
	}
	s.finished = true
	s.usage = Usage{InputTokens: int(piece.Int("prompt_eval_count")), OutputTokens: int(piece.Int("eval_count"))}
	if piece.Text("done_reason") == "length" {
		s.stop = StopLength
	}
	return true, nil
}

// reply implements [streamer].
func (s *ollamaStream) reply() (*Reply, bool) {
	reply := s.draft.reply()
	reply.Calls = s.made
	if s.thinking.Len() > 0 {
		reply.Opaque = []byte(value.NewDict("thinking", s.thinking.String()).String())
	}
	return reply, s.finished
}
