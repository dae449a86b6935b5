package openai

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An output assembles a reply of the Responses API, of its events or of one response.
type output struct {
	wire.Draft
	m     *client
	id    string // of the response
	items []numbered
	said  int64           // the output_index of the item that was said last, or -1
	text  strings.Builder // what of that item was said
	done  bool
}

// A numbered item of the output has its output_index.
type numbered struct {
	index int64
	item  *value.Dict
}

// same reports whether two items are one. A call is identified by its ID: some servers send
// output_index 0 for each item, or none. Without an ID, the index and the content
// count.
func (n numbered) same(other numbered) bool {
	a, b := n.item, other.item
	if a.Text("type") != "function_call" || b.Text("type") != "function_call" {
		return a.Text("type") == b.Text("type") && (n.index == other.index || a.Text("id") != "" && a.Text("id") == b.Text("id"))
	}
	at, id := n.index == other.index, a.Text("call_id")
	content := a.Text("name") == b.Text("name") && a.Text("arguments") == b.Text("arguments")
	return id == b.Text("call_id") && (id != "" && (at || content) || at && content)
}

// read reads a response that is not streamed.
func (o *output) read(ctx context.Context, r *model.Request, res *wire.Response) (*model.Reply, *wire.Failure) {
	body, f := res.Object()
	if f != nil {
		return nil, f
	}
	if !body.Has("output") && !body.Has("error") {
		return nil, o.W.BadResponse("the output is missing")
	}
	return o.poll(ctx, r, body)
}

// pollWait is the time between two requests for a response in the background. The vendor's
// examples use it.
const pollWait = 2 * time.Second

// poll asks for a response until it is complete, and reads it. A response that is not in the
// background is complete.
func (o *output) poll(ctx context.Context, r *model.Request, response *value.Dict) (*model.Reply, *wire.Failure) {
	for o.m.inBackground() && slices.Contains([]string{"queued", "in_progress"}, response.Text("status")) && isID(response.Text("id")) {
		if err := o.W.Sleep(ctx, pollWait); err != nil {
			return nil, o.W.Ended(ctx, err)
		}
		if r.Notice != nil {
			r.Notice(model.Notice{})
		}
		var f *wire.Failure
		response, f = o.W.Ask(ctx, &wire.Query{Method: "GET", Path: "/responses/" + response.Text("id"), Header: wire.KeyHeader(o.m.o.Auth, o.m.o.Key)})
		if f != nil {
			return nil, f
		}
	}
	if f := o.end(response); f != nil {
		return nil, f
	}
	reply, _ := o.Reply()
	return reply, nil
}

// isID reports whether an ID can be a part of a path.
func isID(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// Take implements [wire.Streamer].
func (o *output) Take(event *value.Dict) (bool, *wire.Failure) {
	kind := event.Text("type")
	index := event.IntOr("output_index", 0)
	switch kind {
	case "response.created":
		o.id = wire.Child(event, "response").Text("id")
		return false, nil
	case "response.output_text.delta":
		return false, o.say(index, event.Text("delta"))
	case "response.refusal.delta":
		o.Stop = model.StopRefuse
		return false, o.say(index, event.Text("delta"))
	case "response.output_item.done":
		return false, o.add(index, wire.Child(event, "item"))
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return true, o.end(wire.Child(event, "response"))
	case "error":
		return false, o.failure(cmp.Or(wire.Child(event, "error"), event))
	}
	if f := o.W.FailIn(event); f != nil {
		return false, f
	}
	return false, o.Grow(len(event.Text("delta"))) // of reasoning or arguments, which the item has too
}

// say adds a piece of the text of an item. The texts of two items are two paragraphs.
func (o *output) say(index int64, piece string) *wire.Failure {
	if piece == "" {
		return nil
	}
	if o.said >= 0 && o.said != index {
		if f := o.Say("\n\n"); f != nil {
			return f
		}
	}
	if o.said != index {
		o.text.Reset()
	}
	o.said = index
	o.text.WriteString(piece)
	return o.Say(piece)
}

// add adds a complete item, and says what of its text was not said before.
func (o *output) add(index int64, item *value.Dict) *wire.Failure {
	if item == nil || slices.ContainsFunc(o.items, numbered{index, item}.same) {
		return nil
	}
	o.items = append(o.items, numbered{index, item})
	if refusalIn(item) {
		o.Stop = model.StopRefuse
	}
	text := textOfItem(item)
	if o.said == index {
		text, _ = strings.CutPrefix(text, o.text.String())
		if len(text) == len(textOfItem(item)) {
			text = "" // it is not what was said: the pieces count
		}
	}
	if f := o.say(index, text); f != nil {
		return f
	}
	return o.Grow(wire.PartSize + len(item.Text("arguments")) + len(item.Text("encrypted_content")))
}

// end reads the complete response: why it ended, its usage, and the items that have not come.
func (o *output) end(response *value.Dict) *wire.Failure {
	e := wire.Child(response, "error")
	if e == nil && response.Text("status") == "failed" {
		e = &value.Dict{}
	}
	if v, ok := response.Get("error"); ok && v != nil && e == nil {
		return o.W.FailIn(response) // a server that sends a text
	}
	if e != nil {
		return o.failure(e)
	}
	for i, item := range wire.Children(response, "output") {
		if f := o.add(int64(i), item); f != nil {
			return f
		}
	}
	o.done = true
	o.Usage = responsesUsage(response)
	switch reason := wire.Child(response, "incomplete_details").Text("reason"); {
	case reason == "content_filter":
		o.Stop = model.StopRefuse
	case reason == "max_output_tokens":
		o.Stop = cmp.Or(o.Stop, model.StopLength)
	}
	return nil
}

// passing are words in the codes of errors that pass. Others are about the request, such as
// "invalid_prompt", "image_too_large" and "bio_policy".
var passing = []string{"server_error", "overloaded", "timeout", "unavailable", "internal", "slow_down"}

// failure returns the failure of a response or of an error event. Both come with the status 200.
func (o *output) failure(e *value.Dict) *wire.Failure {
	code := cmp.Or(e.Text("code"), e.Text("type"))
	status := int(e.IntOr("code", e.IntOr("status_code", 0)))
	switch {
	case status >= 400 && status <= 599:
	case strings.Contains(code, "rate_limit") || strings.Contains(code, "quota"):
		status = 429
	case code == "" || code == "error" || slices.ContainsFunc(passing, func(word string) bool { return strings.Contains(code, word) }):
		status = 500
	default:
		status = 400
	}
	said := wire.ErrorText(e)
	if code != "" && code != "error" {
		said += " (" + code + ")"
	}
	f := o.W.FailStatus(status, o.W.Short(said))
	f.Body = e
	return f
}

// Reply implements [wire.Streamer].
func (o *output) Reply() (*model.Reply, bool) {
	slices.SortStableFunc(o.items, func(a, b numbered) int { return cmp.Compare(a.index, b.index) })
	items := value.Map(o.items, func(n numbered) *value.Dict { return n.item })
	reply := o.Draft.Reply()
	reply.Calls = callsIn(items)
	reply.Reasoning = o.W.Said(reasoningIn(items))
	for _, item := range items {
		for _, part := range wire.Children(item, "content") {
			reply.References = citations(reply.References, wire.Children(part, "annotations"))
		}
	}
	if reply.Text == textIn(items) { // else the key was removed, or pieces differ from the items
		reply.Opaque = o.m.keptOutput(items)
	}
	return reply, o.done
}

// callsIn returns the calls in the items of an output.
func callsIn(items []*value.Dict) []model.Call {
	var calls []model.Call
	for _, item := range items {
		if item.Text("type") == "function_call" {
			args, _ := item.Get("arguments")
			calls = append(calls, wire.NewCall(item.Text("call_id"), item.Text("name"), args))
		}
	}
	return calls
}

// textIn returns the text of the items of an output.
func textIn(items []*value.Dict) string {
	var texts []string
	for _, item := range items {
		if text := textOfItem(item); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// textOfItem returns the text of a message, or "" for other items.
func textOfItem(item *value.Dict) string {
	if item.Text("type") != "message" {
		return ""
	}
	var text string
	for _, part := range wire.Children(item, "content") {
		text += part.Text("text") + part.Text("refusal")
	}
	return text
}

func refusalIn(item *value.Dict) bool {
	return slices.ContainsFunc(wire.Children(item, "content"), func(part *value.Dict) bool { return part.Text("type") == "refusal" })
}

// reasoningIn returns the summaries of the reasoning, or the reasoning itself if a server sends
// it.
func reasoningIn(items []*value.Dict) string {
	var texts []string
	for _, item := range items {
		if item.Text("type") != "reasoning" {
			continue
		}
		parts := wire.Children(item, "summary")
		if len(parts) == 0 {
			parts = wire.Children(item, "content")
		}
		for _, part := range parts {
			texts = append(texts, part.Text("text"))
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n\n"))
}

func responsesUsage(response *value.Dict) model.Usage {
	u := wire.Child(response, "usage")
	details := wire.Child(u, "input_tokens_details")
	return model.Usage{
		InputTokens:      int(u.Int("input_tokens")),
		OutputTokens:     int(u.Int("output_tokens")),
		CachedTokens:     int(details.Int("cached_tokens")),
		CacheWriteTokens: int(details.Int("cache_write_tokens")),
	}
}
