package openai_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func noSleep(context.Context, time.Duration) error { return nil }

// dictOf converts JSON to a dict, with nil for an empty object.
func dictOf(t *testing.T, o object) *value.Dict {
	t.Helper()
	if len(o) == 0 {
		return nil
	}
	v, err := value.ParseJSON(asJSON(t, o))
	if err != nil {
		t.Fatal(err)
	}
	return v.(*value.Dict)
}

// hosted reports whether a request uses what the provider executes itself.
func hosted(e *exchange) bool {
	return e.body["search_settings"] != nil || strings.HasPrefix(str(e.body["model"]), "compound") ||
		slices.ContainsFunc(objects(e.body["tools"]), func(d object) bool { return d["type"] != nil && d["type"] != "function" })
}

// expressed are the fields that a model.Request has, and those that are always the same. The
// others are passed as Options.Extra, except previous_response_id, which needs a stored
// conversation.
var expressed = []string{"model", "messages", "input", "instructions", "tools", "tool_choice", "max_completion_tokens", "max_tokens", "max_output_tokens",
	"reasoning_effort", "temperature", "stream", "stream_options", "prompt_cache_key", "store", "previous_response_id"}

// render makes a model.Request of a recorded request, and the further fields.
func render(t *testing.T, e *exchange) (*model.Request, object) {
	t.Helper()
	r := &model.Request{Conversation: str(e.body["prompt_cache_key"]), Effort: str(e.body["reasoning_effort"]),
		MaxTokens: max(num(e.body["max_completion_tokens"]), num(e.body["max_tokens"]), num(e.body["max_output_tokens"]))}
	if e.api == "responses" {
		r.Effort = str(at(e.body, "reasoning", "effort"))
	}
	if e.body["stream"] == true {
		r.Text = func(string) {}
	}
	if temperature, ok := e.body["temperature"].(float64); ok {
		r.Temperature = &temperature
	}
	for _, d := range objects(e.body["tools"]) {
		if f, ok := d["function"].(object); ok {
			d = f
		}
		if d["name"] != nil {
			r.Tools = append(r.Tools, tool.Tool{Name: str(d["name"]), Description: str(d["description"]), Schema: asJSON(t, d["parameters"])})
		}
	}
	switch choice := e.body["tool_choice"].(type) {
	case string:
		r.ToolChoice = choice
	case object:
		r.ToolChoice = cmp.Or(str(choice["name"]), str(at(choice, "function", "name")))
	}
	for _, schema := range []any{at(e.body, "response_format", "json_schema", "schema"), at(e.body, "text", "format", "schema")} {
		if o, ok := schema.(object); ok {
			r.Schema = dictOf(t, o)
		}
	}
	if e.api == "chat" {
		renderMessages(t, e, r)
	} else {
		renderInput(t, e, r)
	}
	extra := object{}
	for name, v := range normalFields(e.body) {
		if !slices.Contains(expressed, name) && !(name == "response_format" && r.Schema != nil) {
			extra[name] = v
		}
	}
	for name, inner := range map[string][]string{"text": {"format"}, "reasoning": {"effort", "summary"}} {
		if o, ok := extra[name].(object); ok && e.api == "responses" {
			extra[name] = without(o, inner...)
		}
	}
	if include := asList(extra["include"]); len(include) > 0 {
		extra["include"] = slices.DeleteFunc(slices.Clone(include), func(v any) bool { return v == "reasoning.encrypted_content" })
	}
	return r, normalFields(extra)
}

func renderMessages(t *testing.T, e *exchange, r *model.Request) {
	t.Helper()
	names := map[string]string{}
	for i, m := range objects(e.body["messages"]) {
		text, media := contentOf(m["content"])
		switch m["role"] {
		case "system":
			if i == len(r.Messages) || r.System != "" && len(r.Messages) == 0 {
				r.System = strings.TrimPrefix(r.System+"\n\n"+text, "\n\n")
			} // else it is lost, and the comparison notices
		case "tool":
			id := str(m["tool_call_id"])
			r.Messages = append(r.Messages, model.Message{Role: model.ToolRole, CallID: id, Tool: names[id], Text: text})
		case "assistant":
			a := assistantOf(m)
			if m["reasoning"] != nil || m["reasoning_content"] != nil || m["reasoning_details"] != nil || reflect.TypeOf(m["content"]) == reflect.TypeOf([]any{}) {
				a = asReplied(t, e, object{"choices": []any{object{"message": m, "finish_reason": "stop"}}}, a)
			}
			for _, c := range a.Calls {
				names[c.ID] = c.Tool
			}
			r.Messages = append(r.Messages, a)
		default:
			r.Messages = append(r.Messages, model.Message{Role: model.User, Text: text, Media: media})
		}
	}
}

func assistantOf(m object) model.Message {
	text, _ := contentOf(m["content"])
	a := model.Message{Role: model.Assistant, Text: text}
	for _, c := range objects(m["tool_calls"]) {
		a.Calls = append(a.Calls, callOf(str(c["id"]), str(at(c, "function", "name")), str(at(c, "function", "arguments"))))
	}
	return a
}

func callOf(id, name, args string) model.Call {
	c := model.Call{ID: id, Tool: name, Raw: args}
	if v, err := value.ParseJSON([]byte(args)); err == nil {
		c.Args, _ = v.(*value.Dict)
	}
	return c
}

// asReplied returns a message as it is in a conversation after the model has replied with it.
func asReplied(t *testing.T, e *exchange, response object, otherwise model.Message) model.Message {
	t.Helper()
	p := &player{status: 200, contentType: "application/json", response: asJSON(t, response)}
	reply, err := e.open(t, p, nil).Ask(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Text: "x"}}})
	if err != nil {
		return otherwise
	}
	return reply.Message()
}

func renderInput(t *testing.T, e *exchange, r *model.Request) {
	t.Helper()
	r.System = str(e.body["instructions"])
	if text, ok := e.body["input"].(string); ok {
		r.Messages = append(r.Messages, model.Message{Role: model.User, Text: text})
	}
	names := map[string]string{}
	var group []object // the items of one reply
	flush := func() {
		if len(group) > 0 {
			r.Messages = append(r.Messages, repliedItems(t, e, group, names))
		}
		group = nil
	}
	for i, item := range objects(e.body["input"]) {
		switch {
		case item["type"] == "function_call_output":
			flush()
			id := str(item["call_id"])
			text, media := contentOf(item["output"])
			r.Messages = append(r.Messages, model.Message{Role: model.ToolRole, CallID: id, Tool: names[id], Text: text, Media: media})
		case item["role"] == "user" || item["role"] == "system" && i > 0:
			flush()
			text, media := contentOf(item["content"])
			r.Messages = append(r.Messages, model.Message{Role: model.User, Text: text, Media: media})
		case item["role"] == "system":
			text, _ := contentOf(item["content"])
			r.System = strings.TrimPrefix(r.System+"\n\n"+text, "\n\n")
		default:
			group = append(group, item)
		}
	}
	flush()
}

// repliedItems returns the message of a reply with some items. A text in the short form is the
// text of an item.
func repliedItems(t *testing.T, e *exchange, group []object, names map[string]string) model.Message {
	t.Helper()
	var items []any
	otherwise := model.Message{Role: model.Assistant}
	for _, item := range group {
		if item["content"] == "" {
			continue
		}
		if text, ok := item["content"].(string); ok {
			item = object{"type": "message", "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": text, "annotations": []any{}}}}
		}
		text, _ := contentOf(item["content"])
		if item["type"] == "message" {
			otherwise.Text += text
		}
		if item["type"] == "function_call" {
			c := callOf(str(item["call_id"]), str(item["name"]), str(item["arguments"]))
			names[c.ID] = c.Tool
			otherwise.Calls = append(otherwise.Calls, c)
		}
		items = append(items, item)
	}
	return asReplied(t, e, object{"status": "completed", "output": items}, otherwise)
}

// contentOf reads the content of a message: its text, and the media that are in it as data or by
// their address. An address does not show the type, so that is one of the kind of the part.
func contentOf(content any) (string, []model.Media) {
	text, ok := content.(string)
	if ok {
		return text, nil
	}
	var texts []string
	var media []model.Media
	for _, part := range objects(content) {
		if part["text"] != nil {
			texts = append(texts, str(part["text"]))
		}
		if d := at(part, "input_audio", "data"); d != nil {
			data, _ := base64.StdEncoding.DecodeString(str(d))
			media = append(media, model.Media{Type: "audio/" + strings.Replace(str(at(part, "input_audio", "format")), "mp3", "mpeg", 1), Data: data})
		}
		url := cmp.Or(str(at(part, "image_url", "url")), str(part["image_url"]), str(at(part, "file", "file_data")), str(part["file_data"]), str(part["file_url"]), str(at(part, "video_url", "url")))
		if strings.HasPrefix(url, "https://") {
			kinds := map[string]string{"image_url": "image/jpeg", "input_image": "image/jpeg", "file": "application/pdf", "input_file": "application/pdf", "video_url": "video/mp4"}
			media = append(media, model.Media{Type: kinds[str(part["type"])], URL: url})
		}
		if kind, encoded, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,"); ok {
			data, _ := base64.StdEncoding.DecodeString(encoded)
			media = append(media, model.Media{Type: kind, Name: cmp.Or(str(at(part, "file", "filename")), str(part["filename"])), Data: data})
		}
	}
	return strings.Join(texts, "\n\n"), media
}

// normalFields returns the fields of a request that say something: not null, empty, or what the
// API takes for granted.
func normalFields(body object) object {
	usual := object{"n": 1.0, "top_p": 1.0, "tool_choice": "auto", "stream": false, "store": false, "parallel_tool_calls": true, "truncation": "disabled"}
	fields := object{}
	for name, v := range body {
		if v == nil || reflect.DeepEqual(v, usual[name]) || reflect.DeepEqual(v, []any{}) || reflect.DeepEqual(v, object{}) {
			continue
		}
		fields[name] = v
	}
	return fields
}

// normal returns a request in a form in which requests that mean the same are equal. like is
// the recorded request if body is ours.
//
// The order of text and media in a message does not matter, nor how a schema is called. We ask
// for strict tools where their schemas fulfil what OpenAI demands, and only there; and for summaries and encrypted reasoning in any case.
func normal(e *exchange, body, like object) object {
	n := normalFields(body)
	delete(n, "stream_options")
	delete(n, "store") // ours, for a response in the background
	if limit := n["max_tokens"]; limit != nil {
		n["max_completion_tokens"] = limit
	}
	delete(n, "max_tokens")
	n["tools"] = normalTools(body, like)
	if choice, ok := n["tool_choice"].(object); ok {
		n["tool_choice"] = cmp.Or(str(choice["name"]), str(at(choice, "function", "name")))
	}
	var include []string
	for _, v := range asList(n["include"]) {
		if v != "reasoning.encrypted_content" {
			include = append(include, str(v))
		}
	}
	n["include"] = include
	if reasoning, ok := n["reasoning"].(object); ok {
		n["reasoning"] = without(reasoning, "summary")
	}
	if format, ok := at(n, "response_format", "json_schema").(object); ok {
		n["response_format"] = without(format, "name", "description", "strict")
	}
	if text, ok := n["text"].(object); ok {
		format, _ := text["format"].(object)
		text = without(text)
		text["format"] = without(format, "name", "description", "strict")
		if format["type"] == "text" || format == nil {
			delete(text, "format")
		}
		n["text"] = text
	}
	if e.api == "chat" {
		n["messages"] = normalMessages(body)
	} else {
		n["input"] = normalInput(body)
		delete(n, "instructions")
	}
	for name, v := range n {
		if reflect.ValueOf(v).Kind() != reflect.Bool && reflect.ValueOf(v).IsZero() || reflect.DeepEqual(v, object{}) {
			delete(n, name)
		}
	}
	return n
}

func asList(v any) []any { list, _ := v.([]any); return list }

func without(o object, names ...string) object {
	rest := object{}
	for name, v := range o {
		if !slices.Contains(names, name) && v != nil {
			rest[name] = v
		}
	}
	return rest
}

func normalTools(body, like object) []any {
	var list []any
	for i, d := range objects(body["tools"]) {
		if f, ok := d["function"].(object); ok {
			d = f
		}
		d = without(d, "type")
		if d["description"] == "" {
			delete(d, "description")
		}
		if d["strict"] == false || !closed(d["parameters"]) {
			delete(d, "strict")
		}
		if known := objects(like["tools"]); i < len(known) && at(known[i], "strict") != true && at(known[i], "function", "strict") != true {
			delete(d, "strict")
		}
		list = append(list, d)
	}
	return list
}

// closed reports whether each object of a schema requires all its properties, and allows no
// others.
func closed(schema any) bool {
	for _, inner := range asList(schema) {
		if !closed(inner) {
			return false
		}
	}
	o, _ := schema.(object)
	properties, isObject := o["properties"].(object)
	if (isObject || o["type"] == "object") && (o["additionalProperties"] != false || len(asList(o["required"])) != len(properties)) {
		return false
	}
	for _, inner := range o {
		if !closed(inner) {
			return false
		}
	}
	return true
}

func normalMessages(body object) []any {
	var list []any
	system := ""
	for i, m := range objects(body["messages"]) {
		if m["role"] == "system" && len(list) == 0 {
			text, _ := contentOf(m["content"])
			system = strings.TrimPrefix(system+"\n\n"+text, "\n\n")
			continue
		}
		if i == 0 || len(list) == 0 {
			list = append(list, object{"system": system})
		}
		text, media := contentOf(m["content"])
		n := object{"role": m["role"], "text": text, "media": mediaText(media), "other parts": otherParts(m["content"]), "calls": []string{}, "call": m["tool_call_id"]}
		for _, name := range []string{"reasoning", "reasoning_content", "reasoning_details"} {
			n[name] = m[name]
		}
		var calls []string
		for _, c := range objects(m["tool_calls"]) {
			calls = append(calls, callText(str(c["id"]), str(at(c, "function", "name")), str(at(c, "function", "arguments"))))
		}
		n["calls"] = calls
		list = append(list, n)
	}
	return list
}

func normalInput(body object) []any {
	system := str(body["instructions"])
	var list []any
	if text, ok := body["input"].(string); ok {
		list = append(list, object{"role": "user", "text": text})
	}
	for i, item := range objects(body["input"]) {
		text, media := contentOf(item["content"])
		switch {
		case item["role"] == "system" && i == 0:
			system = strings.TrimPrefix(system+"\n\n"+text, "\n\n")
		case item["role"] == "assistant" && item["content"] == "": // says nothing
		case item["role"] != nil:
			n := object{"role": item["role"], "text": text}
			if m, other := mediaText(media), otherParts(item["content"]); m != "" || other != "" {
				n["media"], n["other parts"] = m, other
			}
			list = append(list, n)
		case item["type"] == "function_call":
			list = append(list, callText(str(item["call_id"]), str(item["name"]), str(item["arguments"])))
		default:
			rest := without(item, "status")
			if blank(rest["content"]) {
				delete(rest, "content")
			}
			list = append(list, rest)
		}
	}
	return append([]any{object{"system": system}}, list...)
}

// mediaText lists media, without their names.
func mediaText(media []model.Media) string {
	var list []string
	for _, m := range media {
		list = append(list, fmt.Sprintf("%s %d bytes %s%s", m.Type, len(m.Data), callText("", "", string(m.Data)), m.URL))
	}
	sort.Strings(list)
	return strings.Join(list, "\n")
}

// otherParts lists what the parts of a content have besides their text and data.
func otherParts(content any) string {
	var list []string
	for _, part := range objects(content) {
		text, media := contentOf([]any{part})
		rest := without(part, "type", "text", "annotations", "logprobs", "thinking")
		if len(media) == 1 {
			rest = without(rest, "image_url", "file", "file_data", "filename", "input_audio", "file_url", "video_url")
			if rest["detail"] == "auto" {
				delete(rest, "detail")
			}
			if detail := str(at(part, "image_url", "detail")); detail != "" && detail != "auto" {
				rest["detail"] = detail
			}
		}
		if len(rest) > 0 || text == "" && len(media) == 0 {
			data, _ := json.Marshal(rest)
			list = append(list, fmt.Sprintf("%v %.80s%s", part["type"], data, textsBelow(part["thinking"])))
		}
	}
	return strings.Join(list, "\n")
}

// differs returns where two requests differ, or "".
func differs(want, got object) string {
	names := map[string]bool{}
	for name := range want {
		names[name] = true
	}
	for name := range got {
		names[name] = true
	}
	var list []string
	for name := range names {
		w, _ := json.Marshal(want[name])
		g, _ := json.Marshal(got[name])
		if string(w) == string(g) {
			continue
		}
		i := 0
		for i < len(w) && i < len(g) && w[i] == g[i] {
			i++
		}
		from := max(0, i-20)
		list = append(list, fmt.Sprintf("%s: recorded …%.70s, sent …%.70s", name, w[min(from, len(w)):], g[min(from, len(g)):]))
	}
	sort.Strings(list)
	return strings.Join(list, "; ")
}
