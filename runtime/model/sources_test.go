package model_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/model/gemini"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
)

// TestManySources streams 20 MB of sources, of which each model keeps the first thousand.
func TestManySources(t *testing.T) {
	t.Parallel()
	address := func(i int) string { return "https://example.com/" + strings.Repeat("x", 1000) + fmt.Sprint(i) }
	list := func(from int, item string) string {
		var all []string
		for i := range 100 {
			all = append(all, fmt.Sprintf(item, address(from+i)))
		}
		return strings.Join(all, ",")
	}
	stream := func(begin string, some func(from int) string, end string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost { // the sizes of the model
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, begin)
			for i := range 200 {
				_, _ = io.WriteString(w, some(100*i))
			}
			_, _ = io.WriteString(w, end)
		}
	}
	line := func(data string) string { return "data: " + data + "\n\n" }
	for name, tt := range map[string]struct {
		serve http.HandlerFunc
		open  func(url string) (model.Model, error)
	}{
		"openai": {stream(line(`{"choices":[{"delta":{"role":"assistant","content":"42"}}]}`), func(from int) string {
			return line(`{"choices":[{"delta":{"annotations":[` + list(from, `{"type":"url_citation","url_citation":{"url":"%s"}}`) + `]}}]}`)
		}, line(`{"choices":[{"delta":{},"finish_reason":"stop"}]}`)+line("[DONE]")), func(url string) (model.Model, error) {
			return openai.New(&openai.Options{Model: "fake", BaseURL: url, Key: "k"})
		}},
		"gemini": {stream("", func(from int) string {
			return line(`{"candidates":[{"content":{"role":"model","parts":[]},"groundingMetadata":{"groundingChunks":[` + list(from, `{"web":{"uri":"%s"}}`) + `]}}]}`)
		}, line(`{"candidates":[{"content":{"role":"model","parts":[{"text":"42"}]},"finishReason":"STOP"}]}`)), func(url string) (model.Model, error) {
			return gemini.New(&gemini.Options{Model: "fake", BaseURL: url, Key: "k"})
		}},
		"anthropic": {stream(`event: message_start`+"\n"+line(`{"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`)+
			`event: content_block_start`+"\n"+line(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)+
			`event: content_block_delta`+"\n"+line(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"42"}}`), func(from int) string {
			if from >= 5000 { // each citation counts as a part, and the reply is not to be too long
				return ""
			}
			var all strings.Builder
			for i := range 100 {
				all.WriteString("event: content_block_delta\n" + line(`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"`+address(from+i)+`","title":"t","cited_text":"x"}}}`))
			}
			return all.String()
		}, `event: content_block_stop`+"\n"+line(`{"type":"content_block_stop","index":0}`)+
			`event: message_delta`+"\n"+line(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`)+`event: message_stop`+"\n"+line(`{"type":"message_stop"}`)), func(url string) (model.Model, error) {
			return anthropic.New(&anthropic.Options{Model: "fake", BaseURL: url, Key: "k"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tt.serve)
			defer server.Close()
			m, err := tt.open(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := m.Ask(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Text: "?"}}, Text: func(string) {}})
			if err != nil || reply.Text != "42" || len(reply.References) != 1000 || !strings.Contains(reply.References[999], "x999") {
				t.Fatalf("Ask = %+.200v, %v, want 1000 sources", reply, err)
			}
		})
	}
}
