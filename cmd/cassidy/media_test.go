package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/command"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// claudeMessage is a reply of Anthropic's server as a stream of events.
func claudeMessage(w io.Writer, stop, block string, deltas ...string) {
	event := func(kind, fields string) {
		fmt.Fprintf(w, "event: %s\ndata: {\"type\": %q%s}\n\n", kind, kind, fields)
	}
	event("message_start", `, "message": {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": [], "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}}`)
	event("content_block_start", `, "index": 0, "content_block": `+block)
	for _, delta := range deltas {
		event("content_block_delta", `, "index": 0, "delta": `+delta)
	}
	event("content_block_stop", `, "index": 0`)
	event("message_delta", `, "delta": {"stop_reason": "`+stop+`"}, "usage": {"output_tokens": 1}`)
	event("message_stop", "")
}

// TestMediaForAnthropic checks that the image that a tool of the project returns is a block of its
// result in the next request, and that a picture from the user is a block of the first message.
func TestMediaForAnthropic(t *testing.T) {
	t.Parallel()
	png := []byte("\x89PNG\r\n\x1a\n\x00\xffdata")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"chart.png": string(png),
		".cassidy/tools/chart.star": `"""A chart."""

def chart() -> media:
    """Return a chart."""
    return media.from_bytes(fs.read_bytes("chart.png"))

tool(chart, needs = ["fs.read"])
`} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	type block struct {
		Type    string
		Text    string
		Source  map[string]string
		Content []block
	}
	var requests [][]struct {
		Role    string
		Content []block
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // the sizes of the model
			http.NotFound(w, r)
			return
		}
		var body struct {
			Messages []struct {
				Role    string
				Content []block
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		requests = append(requests, body.Messages)
		w.Header().Set("Content-Type", "text/event-stream")
		if len(requests) == 1 {
			claudeMessage(w, "tool_use", `{"type": "tool_use", "id": "toolu_1", "name": "chart", "input": {}}`, `{"type": "input_json_delta", "partial_json": "{}"}`)
			return
		}
		claudeMessage(w, "end_turn", `{"type": "text", "text": ""}`, `{"type": "text_delta", "text": "TASK COMPLETE: it rises"}`)
	}))
	defer server.Close()
	env := map[string]string{"CASSIDY_HOME": t.TempDir(), "CASSIDY_WORKER": testworker.Exec(), "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.URL}
	var out, errs bytes.Buffer
	code := command.Main(t.Context(), []string{"--dir", dir, "--trust-once", "task", "What does it show?", "--model", "anthropic:claude-sonnet-5-5", "--tools", "chart", "--attach", filepath.Join(dir, "chart.png")}, &app.World{
		In: strings.NewReader(""), Out: &out, Err: &errs, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	if code != 0 || out.String() != "it rises\n" || len(requests) != 2 {
		t.Fatalf("exit code %d after %d requests, %q, %q", code, len(requests), out.String(), errs.String())
	}
	image := block{Type: "image", Source: map[string]string{"type": "base64", "media_type": "image/png", "data": base64.StdEncoding.EncodeToString(png)}}
	result := requests[1][2].Content[0]
	if diff := cmp.Diff([]block{{Type: "text", Text: "RESULT (chart):\n[image/png, 14 bytes]"}, image}, result.Content); result.Type != "tool_result" || diff != "" {
		t.Errorf("the result is a %s (-want +got):\n%s", result.Type, diff)
	}
	images := 0
	for _, b := range requests[0][0].Content {
		if cmp.Equal(b, image) {
			images++
		}
	}
	if images != 1 {
		t.Errorf("the first message has %d images: %+v", images, requests[0][0])
	}
	if shown := out.String() + errs.String(); !strings.Contains(shown, "[image/png, 14 bytes]") || strings.Contains(shown, "iVBOR") {
		t.Errorf("the command shows\n%s", shown)
	}
}
