package openai

import (
	"cmp"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A stream assembles a reply of chat completions: of chunks, or of one message.
type stream struct {
	wire.Draft
	m         *client
	speech    speech
	reasoning map[string]*strings.Builder // by the name of the field
	details   value.List                  // reasoning_details
	extra     value.Value                 // extra_content of the message
	thinking  strings.Builder             // of parts of the content, as Mistral sends it
	sources   []string
	finished  bool
}

func (m *client) newStream(r *model.Request) *stream {
	s := &stream{Draft: wire.Draft{W: m.w, OnText: r.Text}, m: m, reasoning: map[string]*strings.Builder{"reasoning_content": {}, "reasoning": {}}}
	s.speech.draft = &s.Draft
	return s
}

// read reads a response that is not streamed.
func (s *stream) read(res *wire.Response) (*model.Reply, *wire.Failure) {
	body, f := res.Object()
	if f != nil {
		return nil, f
	}
	if f := s.W.FailIn(body); f != nil {
		return nil, f
	}
	choice := firstChoice(body)
	message := wire.Child(choice, "message")
	if message == nil {
		return nil, s.W.BadResponse("the message is missing")
	}
	s.Stop, s.Usage = stopOf(choice.Text("finish_reason")), chatUsage(body)
	if f := s.add(message); f != nil {
		return nil, f
	}
	for i, call := range wire.Children(message, "tool_calls") {
		if f := s.addTo(s.Begin(int64(i)), call); f != nil {
			return nil, f
		}
	}
	reply, _ := s.Reply()
	return reply, nil
}

// Take implements [wire.Streamer].
func (s *stream) Take(chunk *value.Dict) (bool, *wire.Failure) {
	if f := s.W.FailIn(chunk); f != nil {
		return false, f
	}
	if u := chatUsage(chunk); u != (model.Usage{}) {
		s.Usage = u
	}
	choice := firstChoice(chunk)
	if stop := stopOf(choice.Text("finish_reason")); stop != "" {
		s.finished = true
		s.Stop = cmp.Or(s.Stop, stop)
	}
	delta := wire.Child(choice, "delta")
	if f := s.add(delta); f != nil {
		return false, f
	}
	for _, call := range wire.Children(delta, "tool_calls") {
		if f := s.addPiece(call); f != nil {
			return false, f
		}
	}
	return false, nil // the usage follows the last choice, and [DONE] is last
}

// add adds a message or a piece of one, without its calls.
func (s *stream) add(message *value.Dict) *wire.Failure {
	if f := s.addReasoning(message); f != nil {
		return f
	}
	if f := s.speech.take(textOf(message)); f != nil {
		return f
	}
	if refusal := message.Text("refusal"); refusal != "" {
		s.Stop = model.StopRefuse
		if f := s.speech.take(refusal); f != nil {
			return f
		}
	}
	s.sources = citations(s.sources, wire.Children(message, "annotations"))
	return nil
}

func (s *stream) addReasoning(message *value.Dict) *wire.Failure {
	size := 0
	for name, text := range s.reasoning {
		text.WriteString(message.Text(name))
		size += len(message.Text(name))
	}
	for _, part := range wire.Children(message, "content") {
		for _, thought := range wire.Children(part, "thinking") {
			s.thinking.WriteString(thought.Text("text"))
			size += len(thought.Text("text"))
		}
	}
	for _, detail := range wire.Children(message, "reasoning_details") {
		s.addDetail(detail)
		size += len(detail.Text("text")) + len(detail.Text("summary")) + len(detail.Text("data")) + wire.PartSize
	}
	if extra, _ := message.Get("extra_content"); extra != nil {
		s.extra = extra
		size += wire.PartSize
	}
	return s.Grow(size)
}

// addDetail adds a part of OpenRouter's reasoning_details. The pieces of a text or a summary
// have the same index; other parts arrive complete.
func (s *stream) addDetail(piece *value.Dict) {
	kind := piece.Text("type")
	if n := len(s.details); n > 0 && (kind == "reasoning.text" || kind == "reasoning.summary") {
		last, _ := s.details[n-1].(*value.Dict)
		if last.Text("type") == kind && last.IntOr("index", -1) == piece.IntOr("index", -1) {
			merged := last.Clone(0)
			for k, v := range piece.All() {
				name, _ := k.(string)
				if text, ok := v.(string); ok && (name == "text" || name == "summary") {
					merged.Put(name, last.Text(name)+text)
				} else if v != nil {
					merged.Put(name, v)
				}
			}
			s.details[n-1] = merged
			return
		}
	}
	s.details = append(s.details, piece)
}

// addPiece adds a piece of a call.
func (s *stream) addPiece(piece *value.Dict) *wire.Failure {
	function := wire.Child(piece, "function")
	c := s.CallOf(piece.IntOr("index", -1), piece.Text("id"), function.Text("name"), argsText(function))
	return s.addTo(c, piece)
}

// addTo adds a piece to its call.
func (s *stream) addTo(c *wire.CallDraft, piece *value.Dict) *wire.Failure {
	function := wire.Child(piece, "function")
	c.ID = cmp.Or(c.ID, piece.Text("id"))
	if name := function.Text("name"); name != "" {
		c.Tool = name
	}
	if extra, _ := piece.Get("extra_content"); extra != nil {
		c.Extra = extra
	}
	text := argsText(function)
	c.Add(text)
	return s.Grow(len(text) + len(c.ID) + len(c.Tool))
}

// argsText returns the arguments of a function as text. Some servers send an object.
func argsText(function *value.Dict) string {
	args, _ := function.Get("arguments")
	text, ok := args.(string)
	if !ok && args != nil {
		text = value.FormatJSON(args, "")
	}
	return text
}

// Reply implements [wire.Streamer]. After a finish reason the reply is complete, even if
// [DONE] is missing.
func (s *stream) Reply() (*model.Reply, bool) {
	s.speech.end(s.Stop == model.StopLength)
	reply := s.Draft.Reply()
	thought := cmp.Or(s.reasoning["reasoning_content"].String(), s.reasoning["reasoning"].String(), s.thinking.String(), detailsText(s.details), s.speech.thought())
	reply.Reasoning = s.W.Said(strings.TrimSpace(thought))
	reply.References = s.sources
	reply.Opaque = s.kept(reply)
	return reply, s.finished
}

// keep adds what the server wants back to d.
func (s *stream) keep(d *value.Dict) {
	for _, name := range keptFields {
		if text := s.reasoning[name]; text != nil && text.Len() > 0 {
			d.Put(name, text.String())
		}
	}
	if len(s.details) > 0 {
		d.Put("reasoning_details", s.details)
	}
	if s.extra != nil {
		d.Put("extra_content", s.extra)
	}
	if s.thinking.Len() > 0 {
		thinking := value.List{value.NewDict("type", "text", "text", s.thinking.String())}
		d.Put("content", append(value.List{value.NewDict("type", "thinking", "thinking", thinking)}, textPart(s.Draft.Reply().Text, "text")...))
	}
}

func detailsText(details value.List) string {
	var text string
	for _, v := range details {
		d, _ := v.(*value.Dict)
		text += cmp.Or(d.Text("text"), d.Text("summary"))
	}
	return text
}

func firstChoice(body *value.Dict) *value.Dict {
	if choices := wire.Children(body, "choices"); len(choices) > 0 {
		return choices[0]
	}
	return nil
}

// textOf returns the text of a message or a delta, which some servers send in
// parts.
func textOf(message *value.Dict) string {
	text := message.Text("content")
	for _, part := range wire.Children(message, "content") {
		text += part.Text("text")
	}
	return text
}

func stopOf(reason string) model.Stop {
	switch reason {
	case "":
		return ""
	case "length":
		return model.StopLength
	case "content_filter":
		return model.StopRefuse
	case "tool_calls", "function_call":
		return model.StopCalls
	}
	return model.StopEnd
}

// chatUsage returns the usage of a response. Groq's is in x_groq in a stream; Mistral and
// DeepSeek have own names for cached tokens.
func chatUsage(body *value.Dict) model.Usage {
	u := wire.Child(body, "usage")
	if u == nil {
		u = wire.Child(wire.Child(body, "x_groq"), "usage")
	}
	details := wire.Child(u, "prompt_tokens_details")
	return model.Usage{
		InputTokens:      int(u.Int("prompt_tokens")),
		OutputTokens:     int(u.Int("completion_tokens")),
		CachedTokens:     int(cmp.Or(details.Int("cached_tokens"), u.Int("num_cached_tokens"), u.Int("prompt_cache_hit_tokens"))),
		CacheWriteTokens: int(details.Int("cache_write_tokens")),
	}
}

// callRefused reports whether Groq has refused a call of the model, since it does not match the
// schema of its tool, or a tool had to be called and was not. failed_generation is what the
// model wrote, https://console.groq.com/docs/tool-use.
func callRefused(f *wire.Failure) bool {
	return f.Status == 400 && f.Body.Text("code") == "tool_use_failed" && f.Body.Text("failed_generation") != ""
}

// generatedCalls returns the calls that Groq has refused, if they name offered tools: the caller
// checks their arguments, and its answer tells the model more than a repetition.
func generatedCalls(f *wire.Failure, tools []tool.Tool) []*value.Dict {
	v, err := value.ParseJSON([]byte(f.Body.Text("failed_generation")))
	if err != nil {
		return nil
	}
	list, ok := v.(value.List)
	if !ok {
		list = value.List{v}
	}
	var calls []*value.Dict
	for _, item := range list {
		d, _ := item.(*value.Dict)
		if !offered(tools, d.Text("name")) {
			return nil
		}
		calls = append(calls, value.NewDict("function", d))
	}
	return calls
}

func offered(tools []tool.Tool, name string) bool {
	for i := range tools {
		if tools[i].Name == name {
			return true
		}
	}
	return false
}

// generated makes a reply of what the model wrote and Groq refused: its calls, or else its text.
func (s *stream) generated(r *model.Request, f *wire.Failure) (*model.Reply, *wire.Failure) {
	calls := generatedCalls(f, r.Tools)
	for _, call := range calls {
		if f := s.addTo(s.Begin(-1), call); f != nil {
			return nil, f
		}
	}
	if calls == nil {
		if f := s.speech.take(f.Body.Text("failed_generation")); f != nil {
			return nil, f
		}
	}
	reply, _ := s.Reply()
	return s.W.Finish(r, reply)
}
