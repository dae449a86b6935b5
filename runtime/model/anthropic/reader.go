package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A turn is what the model has written: one response of the API, or several if it has paused.
type turn struct {
	blocks     value.List
	text       string
	calls      []model.Call
	reasoning  []string
	references []string
	usage      model.Usage // of all responses together
	paused     bool        // the API wants the turn back, and continues it
}

// continued returns a request that continues a turn.
func (t *turn) continued(body *value.Dict) *value.Dict {
	if len(t.blocks) == 0 {
		return body
	}
	var blocks value.List
	for _, b := range t.blocks {
		if d := b.(*value.Dict); d.Text("type") != "text" || strings.TrimSpace(d.Text("text")) != "" {
			blocks = append(blocks, d)
		}
	}
	messages, _ := body.Get("messages")
	more := body.Clone(0)
	more.Put("messages", append(slices.Clip(messages.(value.List)), value.NewDict("role", "assistant", "content", blocks)))
	return more
}

// heard returns a request whose caller gets the earlier text again before a retry: for the caller
// the reply begins again.
func (t *turn) heard(r *model.Request) *model.Request {
	if t.text == "" || r.Notice == nil || r.Text == nil {
		return r
	}
	heard := *r
	heard.Notice = func(n model.Notice) {
		r.Notice(n)
		if n.Retry != nil {
			r.Text(t.text)
		}
	}
	return &heard
}

// A reader reads a response, which continues a turn. It is a [wire.Streamer].
type reader struct {
	wire.Draft
	turn
	drafts   []*blockDraft
	counts   [4]int // of tokens: plain input, written to the cache, read from it, output
	finished bool
}

// A blockDraft is a content block that is being streamed.
type blockDraft struct {
	index     int64
	block     *value.Dict // the initial block
	text      strings.Builder
	thinking  strings.Builder
	signature strings.Builder
	input     strings.Builder
	citations value.List
}

// read reads a response, streamed or not.
func (s *reader) read(res *wire.Response) (*model.Reply, *wire.Failure) {
	if res.Is("text/event-stream") {
		return res.Assemble(true, s)
	}
	body, f := res.Object()
	if f != nil {
		return nil, f
	}
	if f := failureIn(s.W, body); f != nil {
		return nil, f
	}
	if content, _ := body.Get("content"); value.TypeOf(content) != "array" {
		return nil, s.W.BadResponse("the content is missing")
	}
	for i, b := range wire.Children(body, "content") {
		if f := s.start(int64(i), b); f != nil {
			return nil, f
		}
	}
	s.count(wire.Child(body, "usage"))
	if f := s.stop(body); f != nil {
		return nil, f
	}
	reply, _ := s.Reply()
	return reply, nil
}

// Take implements [wire.Streamer].
func (s *reader) Take(event *value.Dict) (bool, *wire.Failure) {
	switch event.Text("type") {
	case "error":
		return false, failureIn(s.W, event)
	case "message_start":
		s.count(wire.Child(wire.Child(event, "message"), "usage"))
	case "content_block_start":
		return false, s.start(event.Int("index"), wire.Child(event, "content_block"))
	case "content_block_delta":
		return false, s.delta(event)
	case "message_delta":
		s.count(wire.Child(event, "usage"))
		return false, s.stop(wire.Child(event, "delta"))
	case "message_stop":
		s.finished = true
		return true, nil
	} // ping, and additions of later versions
	return false, nil
}

func (s *reader) start(index int64, block *value.Dict) *wire.Failure {
	b := &blockDraft{index: index, block: block}
	if block == nil {
		return s.W.BadResponse("content_block is missing")
	}
	s.drafts = append(s.drafts, b)
	if f := s.Grow(wire.PartSize + len(block.Text("thinking")) + len(block.Text("data")) + len(block.Text("id"))); f != nil {
		return f
	}
	if block.Text("type") != "text" {
		return nil
	}
	b.text.WriteString(s.W.Said(block.Text("text"))) // empty in a stream
	return s.Say(block.Text("text"))
}

func (s *reader) delta(event *value.Dict) *wire.Failure {
	b := s.at(event.Int("index"))
	if b == nil {
		return s.W.BadResponse("content_block_delta without content_block_start")
	}
	d := wire.Child(event, "delta")
	switch d.Text("type") {
	case "text_delta":
		b.text.WriteString(s.W.Said(d.Text("text")))
		return s.Say(d.Text("text"))
	case "input_json_delta":
		b.input.WriteString(d.Text("partial_json"))
		return s.Grow(len(d.Text("partial_json")))
	case "thinking_delta":
		b.thinking.WriteString(d.Text("thinking"))
		return s.Grow(len(d.Text("thinking")))
	case "signature_delta":
		b.signature.WriteString(d.Text("signature"))
		return s.Grow(len(d.Text("signature")))
	case "citations_delta":
		c := wire.Child(d, "citation")
		b.citations = append(b.citations, c)
		return s.Grow(wire.PartSize + len(c.Text("cited_text")))
	}
	return nil
}

func (s *reader) at(index int64) *blockDraft {
	for i := len(s.drafts) - 1; i >= 0; i-- {
		if s.drafts[i].index == index {
			return s.drafts[i]
		}
	}
	return nil
}

// count takes a usage. That at the end of a stream repeats only some numbers.
func (s *reader) count(u *value.Dict) {
	for i, name := range []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"} {
		if n := u.Int(name); n > 0 {
			s.counts[i] = int(n)
		}
	}
}

// stop reads why the response ended.
func (s *reader) stop(d *value.Dict) *wire.Failure {
	s.paused = false
	switch d.Text("stop_reason") {
	case "max_tokens":
		s.Stop = model.StopLength
	case "model_context_window_exceeded":
		return s.W.Fail(wire.LimitError(value.LimitContext, "the context window of the model is full").WithHint("%s", wire.ShorterHint))
	case "pause_turn": // incomplete, if it is not continued
		s.Stop, s.paused = model.StopLength, true
	case "tool_use":
		s.Stop = model.StopCalls
	case "refusal":
		s.Stop = model.StopRefuse
		return s.refused(wire.Child(d, "stop_details"))
	case "":
	default:
		s.Stop = model.StopEnd
	}
	return nil
}

// refused explains a refusal, if the model has not.
func (s *reader) refused(details *value.Dict) *wire.Failure {
	why := details.Text("explanation")
	if category := details.Text("category"); why == "" && category != "" {
		why = "The provider refused to answer (" + category + ")."
	}
	if strings.TrimSpace(s.text+s.Draft.Reply().Text) != "" || why == "" {
		return nil
	}
	b := &blockDraft{index: -1, block: value.NewDict("type", "text", "text", "")}
	b.text.WriteString(s.W.Said(why))
	s.drafts = append(s.drafts, b)
	return s.Say(why)
}

// Reply implements [wire.Streamer].
func (s *reader) Reply() (*model.Reply, bool) {
	reply := s.Draft.Reply()
	t := &s.turn
	t.blocks, t.calls, t.references = slices.Clip(t.blocks), slices.Clip(t.calls), slices.Clip(t.references)
	t.reasoning = slices.Clip(t.reasoning)
	t.text += reply.Text
	for _, b := range s.drafts {
		t.add(b)
	}
	t.usage.InputTokens += s.counts[0] + s.counts[1] + s.counts[2]
	t.usage.CacheWriteTokens += s.counts[1]
	t.usage.CachedTokens += s.counts[2]
	t.usage.OutputTokens += s.counts[3]
	reply.Text, reply.Calls, reply.References, reply.Usage = t.text, t.calls, t.references, t.usage
	reply.Reasoning = s.W.Said(strings.Join(t.reasoning, "\n\n"))
	return reply, s.finished
}

// add adds a complete block.
func (t *turn) add(b *blockDraft) {
	d := b.block.Clone(1)
	switch d.Text("type") {
	case "text":
		d.Put("text", b.text.String())
		if b.citations != nil {
			d.Put("citations", b.citations)
		}
		for _, c := range wire.Children(d, "citations") {
			t.cite(c)
		}
	case "thinking":
		d.Put("thinking", d.Text("thinking")+b.thinking.String())
		d.Put("signature", d.Text("signature")+b.signature.String())
		if text := strings.TrimSpace(d.Text("thinking")); text != "" {
			t.reasoning = append(t.reasoning, text)
		}
	case "tool_use":
		c := b.call()
		d.Put("input", wire.ArgsObject(&c))
		t.calls = append(t.calls, c)
	default:
		if b.input.Len() > 0 { // a call of one of the vendor's own tools
			c := b.call()
			d.Put("input", wire.ArgsObject(&c))
		}
	}
	t.blocks = append(t.blocks, d)
}

// call returns the call of a tool_use block. Its input is streamed in pieces, but some
// gateways send it at the start.
func (b *blockDraft) call() model.Call {
	input, _ := b.block.Get("input")
	if b.input.Len() > 0 {
		input = b.input.String()
	}
	return wire.NewCall(b.block.Text("id"), b.block.Text("name"), input)
}

// cite adds the source of a citation, if it is new: its title, and its address or its pages.
func (t *turn) cite(c *value.Dict) {
	title, where := c.Text("title"), c.Text("url")
	if c.Has("document_index") {
		title = c.Text("document_title")
		if title == "" {
			title = "document " + strconv.FormatInt(c.Int("document_index")+1, 10)
		}
		if first := c.Int("start_page_number"); first > 0 {
			where = "page " + strconv.FormatInt(first, 10)
		}
	}
	if where == "" {
		where = c.Text("source") // of a search result
	}
	source := value.Clean(strings.TrimSpace(title+" "+where), 2000)
	known := func(line string) bool { return strings.HasSuffix(line, "] "+source) }
	if source != "" && len(t.references) < wire.MaxSources && !slices.ContainsFunc(t.references, known) {
		t.references = append(t.references, "["+strconv.Itoa(len(t.references)+1)+"] "+source)
	}
}
