package openai_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A reading is what a response says, read straight from its JSON.
type reading struct {
	text, reasoning string
	calls           []string // name and arguments, as sorted JSON
	sources         []string
	stop            model.Stop
	in, out         int
	cached, written int
	err             string // a part of the error that it must be
}

func (r *reading) empty() bool {
	return strings.TrimSpace(r.text) == "" && len(r.calls) == 0 && r.stop == model.StopEnd
}

// readingOf is the reading of our reply.
func readingOf(r *model.Reply) reading {
	got := reading{text: r.Text, reasoning: r.Reasoning, sources: r.References, stop: r.Stop,
		in: r.Usage.InputTokens, out: r.Usage.OutputTokens, cached: r.Usage.CachedTokens, written: r.Usage.CacheWriteTokens}
	for _, c := range r.Calls {
		args := c.Raw
		if c.Args != nil {
			args = value.FormatJSON(c.Args, "")
		}
		got.calls = append(got.calls, callText(c.ID, c.Tool, args))
	}
	return got
}

func callText(id, name, args string) string {
	var v any
	if err := json.Unmarshal([]byte(cmp.Or(strings.TrimSpace(args), "{}")), &v); err != nil {
		return id + " " + name + " " + args
	}
	if v == nil {
		v = object{} // no arguments
	}
	sorted, _ := json.Marshal(v)
	return id + " " + name + " " + string(sorted)
}

func objects(v any) []object {
	var list []object
	items, _ := v.([]any)
	for _, item := range items {
		if o, ok := item.(object); ok {
			list = append(list, o)
		}
	}
	return list
}

func str(v any) string { s, _ := v.(string); return s }

func num(v any) int { f, _ := v.(float64); return int(f) }

func at(v any, path ...string) any {
	for _, name := range path {
		o, _ := v.(object)
		v = o[name]
	}
	return v
}

// events returns the data of a stream of server-sent events.
func events(t *testing.T, body []byte) []object {
	t.Helper()
	var list []object
	for _, block := range strings.Split(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n\n") {
		for _, line := range strings.Split(block, "\n") {
			data, ok := strings.CutPrefix(line, "data:")
			if data = strings.TrimSpace(data); !ok || data == "[DONE]" {
				continue
			}
			var o object
			if err := json.Unmarshal([]byte(data), &o); err != nil {
				t.Fatalf("%v in %s", err, data)
			}
			list = append(list, o)
		}
	}
	return list
}

func (e *exchange) streams() bool { return strings.HasPrefix(e.contentType, "text/event-stream") }

func (e *exchange) object(t *testing.T) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(e.response, &o); err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	return o
}

// readExchange reads a recorded response.
func readExchange(t *testing.T, e *exchange) reading {
	t.Helper()
	if e.status != 200 {
		failed := at(e.object(t), "error")
		if text := str(at(failed, "failed_generation")); text != "" {
			return reading{text: text, stop: model.StopEnd}
		}
		return reading{err: fmt.Sprintf("HTTP %d: %.100s", e.status, str(at(failed, "message")))}
	}
	if !e.streams() && !json.Valid(e.response) {
		return reading{err: "expected JSON but got"}
	}
	if e.api == "responses" {
		return readItems(rawItems(t, e), rawResponse(t, e))
	}
	return readMessage(t, e)
}

// rawMessage returns the message of a response of chat completions: that of the JSON, or the
// pieces of a stream put together.
func rawMessage(t *testing.T, e *exchange) object {
	t.Helper()
	if e.status != 200 {
		return nil
	}
	if !e.streams() {
		m, _ := at(objects(e.object(t)["choices"])[0], "message").(object)
		return m
	}
	whole := object{}
	var calls []any
	for _, chunk := range events(t, e.response) {
		for _, choice := range objects(chunk["choices"]) {
			delta, _ := choice["delta"].(object)
			for _, name := range []string{"content", "reasoning", "reasoning_content"} {
				if piece := str(delta[name]); piece != "" {
					whole[name] = str(whole[name]) + piece
				}
			}
			for _, name := range []string{"reasoning_details", "annotations"} {
				for _, piece := range objects(delta[name]) {
					whole[name] = joinDetail(whole[name], piece)
				}
			}
			for _, piece := range objects(delta["tool_calls"]) {
				for len(calls) <= num(piece["index"]) {
					calls = append(calls, object{"id": "", "function": object{"name": "", "arguments": ""}})
				}
				call := calls[num(piece["index"])].(object)
				call["id"] = cmp.Or(str(piece["id"]), str(call["id"]))
				f := call["function"].(object)
				f["name"] = str(f["name"]) + str(at(piece, "function", "name"))
				f["arguments"] = str(f["arguments"]) + str(at(piece, "function", "arguments"))
			}
		}
	}
	if calls != nil {
		whole["tool_calls"] = calls
	}
	return whole
}

// joinDetail adds a piece of reasoning_details: texts of the same index are one.
func joinDetail(list any, piece object) []any {
	details, _ := list.([]any)
	if len(details) > 0 {
		last := details[len(details)-1].(object)
		if (piece["type"] == "reasoning.text" || piece["type"] == "reasoning.summary") && last["type"] == piece["type"] && last["index"] == piece["index"] {
			for name, v := range piece {
				if name == "text" || name == "summary" {
					last[name] = str(last[name]) + str(v)
				} else if v != nil {
					last[name] = v
				}
			}
			return details
		}
	}
	return append(details, piece)
}

func readMessage(t *testing.T, e *exchange) reading {
	t.Helper()
	m := rawMessage(t, e)
	r := reading{text: str(m["content"]), stop: model.StopEnd}
	for _, part := range objects(m["content"]) {
		r.text += str(part["text"])
		r.reasoning += textsBelow(part["thinking"])
	}
	var details string
	for _, d := range objects(m["reasoning_details"]) {
		details += str(d["text"]) + str(d["summary"])
	}
	r.reasoning = cmp.Or(str(m["reasoning_content"]), str(m["reasoning"]), r.reasoning, details)
	if rest, ok := strings.CutPrefix(strings.TrimSpace(r.text), "<think>"); ok {
		thought, answer, _ := strings.Cut(rest, "</think>")
		r.reasoning, r.text = thought, strings.TrimLeft(answer, "\n ")
	}
	r.reasoning = strings.TrimSpace(r.reasoning)
	for i, c := range objects(m["tool_calls"]) {
		args, ok := at(c, "function", "arguments").(string)
		if !ok {
			data, _ := json.Marshal(at(c, "function", "arguments"))
			args = string(data)
		}
		id := cmp.Or(str(c["id"]), fmt.Sprintf("call_%d", i+1))
		r.calls = append(r.calls, callText(id, str(at(c, "function", "name")), args))
	}
	r.sources = sourcesOf(objects(m["annotations"]))
	pieces := []object{{}}
	if e.streams() {
		pieces = events(t, e.response)
	} else {
		pieces[0] = e.object(t)
	}
	reason := ""
	for _, piece := range pieces {
		for _, choice := range objects(piece["choices"]) {
			reason = cmp.Or(str(choice["finish_reason"]), reason)
		}
		usage := cmp.Or(usageIn(piece["usage"]), usageIn(at(piece, "x_groq", "usage")))
		if usage != [4]int{} {
			r.in, r.out, r.cached, r.written = usage[0], usage[1], usage[2], usage[3]
		}
		if failed := at(piece, "error", "failed_generation"); failed != nil { // Groq
			var call object
			if err := json.Unmarshal([]byte(str(failed)), &call); err != nil {
				t.Fatal(err)
			}
			args, _ := json.Marshal(call["arguments"])
			r.calls = append(r.calls, callText("call_1", str(call["name"]), string(args)))
		}
	}
	switch {
	case reason == "length":
		r.stop = model.StopLength
	case reason == "content_filter" || str(m["refusal"]) != "":
		r.stop = model.StopRefuse
	case len(r.calls) > 0:
		r.stop = model.StopCalls
	}
	return r
}

// usageIn reads a usage of chat completions: the tokens of input and output, and what of the
// input was cached, and was written to the cache.
func usageIn(u any) [4]int {
	return [4]int{num(at(u, "prompt_tokens")), num(at(u, "completion_tokens")),
		max(num(at(u, "prompt_tokens_details", "cached_tokens")), num(at(u, "num_cached_tokens")), num(at(u, "prompt_cache_hit_tokens"))),
		num(at(u, "prompt_tokens_details", "cache_write_tokens"))}
}

// textsBelow joins every "text" in a value, in order.
func textsBelow(v any) string {
	var all string
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			all += textsBelow(item)
		}
	case object:
		all = str(v["text"]) + textsBelow(v["thinking"])
	}
	return all
}

func sourcesOf(annotations []object) []string {
	var list []string
	known := map[string]bool{}
	for _, a := range annotations {
		if inner, ok := a["url_citation"].(object); ok {
			a = inner
		}
		line := cmp.Or(str(a["url"]), str(a["filename"]))
		if title := strings.Join(strings.Fields(str(a["title"])), " "); title != "" && title != line {
			line = title + ": " + line
		}
		if !known[line] {
			list = append(list, line)
		}
		known[line] = true
	}
	return list
}

// polled returns the last state of a response in the background, or nil.
func (e *exchange) polled(t *testing.T) object {
	t.Helper()
	if len(e.polls) == 0 {
		return nil
	}
	var o object
	if err := json.Unmarshal(e.polls[len(e.polls)-1], &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// rawResponse returns the response object: that of the JSON, or of the last event.
func rawResponse(t *testing.T, e *exchange) object {
	t.Helper()
	if o := e.polled(t); o != nil {
		return o
	}
	if !e.streams() {
		return e.object(t)
	}
	all := events(t, e.response)
	r, _ := all[len(all)-1]["response"].(object)
	return r
}

// rawItems returns the items of an output: of the JSON, or of the events response.output_item.done.
func rawItems(t *testing.T, e *exchange) []object {
	t.Helper()
	if e.status != 200 {
		return nil
	}
	if o := e.polled(t); o != nil {
		return objects(o["output"])
	}
	if !e.streams() {
		return objects(e.object(t)["output"])
	}
	var items []object
	for _, event := range events(t, e.response) {
		if event["type"] == "response.output_item.done" {
			items = append(items, event["item"].(object))
		}
	}
	return items
}

func readItems(items []object, response object) reading {
	r := reading{stop: model.StopEnd, in: num(at(response, "usage", "input_tokens")), out: num(at(response, "usage", "output_tokens")),
		cached:  num(at(response, "usage", "input_tokens_details", "cached_tokens")),
		written: num(at(response, "usage", "input_tokens_details", "cache_write_tokens"))}
	var texts, thoughts []string
	var annotations []object
	for _, item := range items {
		switch item["type"] {
		case "message":
			text := ""
			for _, part := range objects(item["content"]) {
				text += str(part["text"]) + str(part["refusal"])
				annotations = append(annotations, objects(part["annotations"])...)
				if part["type"] == "refusal" {
					r.stop = model.StopRefuse
				}
			}
			if text != "" {
				texts = append(texts, text)
			}
		case "reasoning":
			parts := objects(item["summary"])
			if len(parts) == 0 {
				parts = objects(item["content"])
			}
			for _, part := range parts {
				thoughts = append(thoughts, str(part["text"]))
			}
		case "function_call":
			r.calls = append(r.calls, callText(str(item["call_id"]), str(item["name"]), str(item["arguments"])))
		}
	}
	r.text, r.reasoning, r.sources = strings.Join(texts, "\n\n"), strings.TrimSpace(strings.Join(thoughts, "\n\n")), sourcesOf(annotations)
	if len(r.calls) > 0 && r.stop == model.StopEnd {
		r.stop = model.StopCalls
	}
	switch at(response, "incomplete_details", "reason") {
	case "max_output_tokens":
		r.stop = model.StopLength
	case "content_filter":
		r.stop = model.StopRefuse
	}
	return r
}
