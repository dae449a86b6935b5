package model_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/model/gemini"
	"github.com/cassidy-run/cassidy/runtime/model/ollama"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An answering is a transport that answers each request with one body.
type answering struct {
	kind string
	body []byte
	sent []byte // the body of the last request
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	if a.sent, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {a.kind}}, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r}, nil
}

// FuzzStreams reads any bytes as each vendor's stream. The result is an error, or a reply whose
// text is that of the pieces, and which can be sent back.
func FuzzStreams(f *testing.F) {
	f.Add([]byte(`{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}` + "\n\n[DONE]"))
	f.Add([]byte(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f"}}` + "\n" +
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}` + "\n" + `{"type":"message_stop"}`))
	f.Add([]byte(`{"message":{"content":"a","thinking":"b","tool_calls":[{"function":{"name":"f","arguments":"\"{}\""}}]},"done":true}`))
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{"text":"a","thought":true},{"text":"b"},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}]}`))
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}` + "\n" + `{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"f(x)"}]}`))
	f.Add([]byte(`{"type":"response.output_text.delta","output_index":0,"delta":"a"}` + "\n" +
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":"{}"}}` + "\n" +
		`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ab"}]}]}}`))
	f.Add([]byte(`{"choices":[{"delta":{"content":"<think>a</thi","reasoning_details":[{"type":"reasoning.text","text":"b","index":0}]}}]}` + "\n" +
		`{"choices":[{"delta":{"content":"nk>\n\nc"},"finish_reason":"stop"}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		events := append([]byte("data: "), bytes.ReplaceAll(in, []byte("\n"), []byte("\n\ndata: "))...)
		events = append(events, "\n\n"...)
		for _, vendor := range []struct {
			kind string
			body []byte
			open func(h model.HTTP) (model.Model, error)
		}{
			{"text/event-stream", events, func(h model.HTTP) (model.Model, error) {
				return openai.New(&openai.Options{Model: "m", HTTP: h})
			}},
			{"text/event-stream", events, func(h model.HTTP) (model.Model, error) {
				return openai.New(&openai.Options{Model: "m", API: "chat", HTTP: h})
			}},
			{"text/event-stream", events, func(h model.HTTP) (model.Model, error) {
				return anthropic.New(&anthropic.Options{Model: "m", HTTP: h})
			}},
			{"text/event-stream", events, func(h model.HTTP) (model.Model, error) {
				return gemini.New(&gemini.Options{Model: "gemini-3-pro", HTTP: h})
			}},
			{"application/x-ndjson", in, func(h model.HTTP) (model.Model, error) {
				return ollama.New(&ollama.Options{Model: "m", HTTP: h})
			}},
		} {
			transport := &answering{kind: vendor.kind, body: vendor.body}
			m, err := vendor.open(model.HTTP{Client: &http.Client{Transport: transport}, MaxReply: 1 << 16, Sleep: noSleep})
			if err != nil {
				t.Fatal(err)
			}
			var told strings.Builder
			asked := model.Request{Messages: []model.Message{{Role: model.User, Text: "u"}}, Text: func(p string) { told.WriteString(p) }}
			reply, err := m.Ask(t.Context(), &asked)
			if err != nil {
				if err.Error() == "" {
					t.Fatalf("%s: an error without a text", m.Name())
				}
				continue
			}
			if reply.Text != told.String() {
				t.Fatalf("%s: the text is %q, told was %q", m.Name(), reply.Text, told.String())
			}
			next := append(asked.Messages, reply.Message())
			for _, c := range reply.Calls {
				next = append(next, model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Tool, Text: "r"})
			}
			transport.sent = nil
			_, err = m.Ask(t.Context(), &model.Request{Messages: append(next, model.Message{Role: model.User, Text: "u"})})
			if transport.sent == nil && value.KindOf(err) != value.Limit {
				t.Fatalf("%s: the reply cannot be sent back: %v", m.Name(), err)
			}
		}
	})
}

func noSleep(context.Context, time.Duration) error { return nil }
