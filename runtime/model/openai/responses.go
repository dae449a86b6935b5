package openai

import (
	"context"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/internal/wire"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// askResponses asks with the Responses API. Nothing is stored on the server: each request has
// the complete conversation.
func (m *client) askResponses(ctx context.Context, r *model.Request) (*model.Reply, *wire.Failure) {
	body, f := m.responsesBody(r)
	if f != nil {
		return nil, f
	}
	q := &wire.Query{Path: "/responses", Header: wire.KeyHeader(m.o.Auth, m.o.Key), Body: body, Stream: r.Text != nil}
	return m.w.Reply(ctx, r, q, func(res *wire.Response) (*model.Reply, *wire.Failure) {
		o := &output{Draft: wire.Draft{W: m.w, OnText: r.Text}, m: m, said: -1}
		if !res.Is("text/event-stream") {
			return o.read(ctx, r, res)
		}
		reply, f := res.Assemble(true, o)
		if f != nil && f.Cut && m.inBackground() && o.id != "" {
			return o.poll(ctx, r, value.NewDict("id", o.id, "status", "in_progress"))
		}
		return reply, f
	})
}

// inBackground reports whether the provider continues a response without a connection, see
// https://platform.openai.com/docs/guides/background. Options.Extra asks for it.
func (m *client) inBackground() bool { return m.o.Extra.Bool("background") }

// minOutput is the smallest max_output_tokens that the API accepts.
const minOutput = 16

func (m *client) responsesBody(r *model.Request) (*value.Dict, *wire.Failure) {
	tools, f := m.w.Definitions(r.Tools, tool.OpenAI)
	if f != nil {
		return nil, f
	}
	messages := r.Messages
	if m.o.Plain {
		messages, tools = wire.Worded(messages), nil
	}
	input, f := m.input(messages)
	if f != nil {
		return nil, f
	}
	body := value.NewDict("model", m.o.Model)
	if system := m.system(r); system != "" {
		body.Put("instructions", system)
	}
	body.Put("input", input)
	if tools != nil {
		body.Put("tools", flattened(tools))
		if c := choice(r, func(name string) *value.Dict { return value.NewDict("type", "function", "name", name) }); c != nil {
			body.Put("tool_choice", c)
		}
	}
	m.addResponsesOptions(body, r)
	return wire.Merged(body, m.o.Extra), nil
}

func (m *client) addResponsesOptions(body *value.Dict, r *model.Request) {
	body.Put("store", m.inBackground()) // which needs it
	if !m.noEncrypted.Load() {          // without it, reasoning cannot be sent back
		body.Put("include", value.List{"reasoning.encrypted_content"})
	}
	reasoning := value.NewDict()
	if r.Effort != "" {
		reasoning.Put("effort", r.Effort)
	}
	if !m.noSummary.Load() {
		reasoning.Put("summary", "auto")
	}
	if reasoning.Len() > 0 {
		body.Put("reasoning", reasoning)
	}
	if format := m.format(r); format != nil {
		d := value.NewDict("type", "json_schema")
		for k, v := range format.All() {
			d.Put(k.(string), v)
		}
		body.Put("text", value.NewDict("format", d))
	}
	if r.MaxTokens > 0 {
		body.Put("max_output_tokens", int64(max(r.MaxTokens, minOutput)))
	}
	if r.Temperature != nil {
		body.Put("temperature", *r.Temperature)
	}
	if r.Conversation != "" {
		body.Put("prompt_cache_key", cacheKey(r.Conversation))
	}
	if r.Text == nil {
		return
	}
	body.Put("stream", true)
	if m.at("api.openai.com") { // random characters in each event, which hide the length of words
		body.Put("stream_options", value.NewDict("include_obfuscation", false))
	}
}

// flattened returns the definitions of chat completions as those of Responses. There, tools are
// strict by default.
func flattened(tools value.List) value.List {
	var list value.List
	for _, t := range tools {
		d, _ := t.(*value.Dict)
		flat := value.NewDict("type", "function")
		for k, v := range wire.Child(d, "function").All() {
			flat.Put(k.(string), v)
		}
		flat.Put("strict", isStrict(wire.Child(flat, "parameters")))
		list = append(list, flat)
	}
	return list
}

// input returns a conversation as input items.
func (m *client) input(messages []model.Message) (value.List, *wire.Failure) {
	var list value.List
	for i := range messages {
		message := &messages[i]
		content, f := m.content(message)
		if f != nil {
			return nil, f
		}
		switch message.Role {
		case model.ToolRole:
			list = append(list, value.NewDict("type", "function_call_output", "call_id", message.CallID, "output", content))
		case model.Assistant:
			list = append(list, m.outputOf(message)...)
		default:
			list = append(list, value.NewDict("role", string(message.Role), "content", content))
		}
	}
	return list, nil
}

// content returns the text of a message, or parts if it has media.
func (m *client) content(message *model.Message) (value.Value, *wire.Failure) {
	if len(message.Media) == 0 {
		return message.Text, nil
	}
	parts, f := m.inputParts(message.Text, message.Media)
	return parts, f
}

// outputOf returns an assistant's message as items: those of the reply, if it is unchanged.
func (m *client) outputOf(message *model.Message) value.List {
	if items := m.keptItems(message); items != nil {
		return items
	}
	var list value.List
	if strings.TrimSpace(message.Text) != "" {
		list = append(list, value.NewDict("role", "assistant", "content", message.Text))
	}
	for i := range message.Calls {
		c := &message.Calls[i]
		list = append(list, value.NewDict("type", "function_call", "call_id", c.ID, "name", c.Tool, "arguments", wire.ArgsText(c)))
	}
	return list
}

// keptItems returns the items of a reply of this model, or nil if the message is not that reply
// any more: reasoning must be followed by the item that followed it, so all items are sent or none.
func (m *client) keptItems(message *model.Message) value.List {
	v, _ := value.ParseJSON(message.Opaque)
	d, _ := v.(*value.Dict)
	if d == nil || d.Text("model") != m.o.Model {
		return nil
	}
	items := wire.Children(d, "output")
	calls := callsIn(items)
	same := slices.EqualFunc(calls, message.Calls, func(a, b model.Call) bool {
		return a.ID == b.ID && a.Tool == b.Tool && wire.ArgsText(&a) == wire.ArgsText(&b)
	})
	if !same || textIn(items) != message.Text {
		return nil
	}
	return value.List(value.Map(items, func(item *value.Dict) value.Value {
		if item.Text("type") != "function_call" {
			return item
		}
		c := callsIn([]*value.Dict{item})[0]
		if given, _ := value.ParseJSON([]byte(item.Text("arguments"))); c.Args == nil || value.TypeOf(given) != value.TypeOf(c.Args) {
			item = item.Clone(0) // the API refuses arguments that are cut or empty
			item.Put("arguments", wire.ArgsText(&c))
		}
		return item
	}))
}

// keptOutput returns the data to send back with a reply, or nil. Reasoning at the end, which
// nothing follows, is left out. Reasoning without its content cannot be sent back, nor then what
// followed it.
func (m *client) keptOutput(items []*value.Dict) []byte {
	for len(items) > 0 && items[len(items)-1].Text("type") == "reasoning" {
		items = items[:len(items)-1]
	}
	for _, item := range items {
		if item.Text("type") == "reasoning" && item.Text("encrypted_content") == "" && len(item.Elements("content")) == 0 {
			return nil
		}
	}
	if len(items) == 0 {
		return nil
	}
	list := value.List(value.Map(items, func(item *value.Dict) value.Value { return item }))
	data, err := value.AppendJSON(nil, value.NewDict("model", m.o.Model, "output", list))
	if err != nil { // too large: the conversation continues without it
		return nil
	}
	return data
}
