package model

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// responseOf is a response with a body.
func responseOf(t testing.TB, body io.Reader) *response {
	t.Helper()
	w, err := newWire("test", "http://host", "sk-0123456789-0123456789", "", HTTP{MaxReply: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	return &response{w: w, ctx: t.Context(), inner: t.Context(), body: body, touch: func() {}}
}

type sseEvent struct{ name, data string }

func readEvents(t testing.TB, body io.Reader) (list []sseEvent, err error) {
	err = responseOf(t, body).events(func(name, data string) (bool, error) {
		list = append(list, sseEvent{name, data})
		return true, nil
	})
	return list, err
}

func TestEvents(t *testing.T) {
	tests := []struct {
		in   string
		want []sseEvent
	}{
		{"data: a\n\n", []sseEvent{{"", "a"}}},
		{"\ufeffdata: a\r\n\r\ndata:b\r\rdata:  c\n\n", []sseEvent{{"", "a"}, {"", "b"}, {"", " c"}}},
		{"event: e\nid: 7\ndata: a\ndata\ndata: b\n: comment\nretry: 9\n\n", []sseEvent{{"e", "a\n\nb"}}},
		{"event: lonely\n\ndata: next\n\n", []sseEvent{{"", "next"}}},
		{"data: cut off", nil},
		{"data: cut off\n", nil},
		{"\n\n\n: only comments\n\n", nil},
		{"data: {\"a\": \"b:c\"}\n\n", []sseEvent{{"", `{"a": "b:c"}`}}},
	}
	for _, test := range tests {
		got, err := readEvents(t, strings.NewReader(test.in))
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("events(%q) = %q, %v, want %q", test.in, got, err, test.want)
		}
	}
}

// FuzzEvents checks that it makes no difference in which pieces a stream arrives, and
// compares with a reader that has the complete text.
func FuzzEvents(f *testing.F) {
	f.Add("event: e\r\ndata: a\rdata: b\n\n: c\n\ndata:x\n\n")
	f.Add("\ufeffdata\n\n\r\n\r")
	f.Fuzz(func(t *testing.T, in string) {
		whole, err1 := readEvents(t, strings.NewReader(in))
		pieces, err2 := readEvents(t, iotest.OneByteReader(strings.NewReader(in)))
		if !slices.Equal(whole, pieces) || (err1 == nil) != (err2 == nil) {
			t.Fatalf("whole %q, %v; byte by byte %q, %v", whole, err1, pieces, err2)
		}
		if err1 == nil && !slices.Equal(whole, plainEvents(in)) {
			t.Fatalf("events %q, want %q", whole, plainEvents(in))
		}
	})
}

func plainEvents(in string) (list []sseEvent) {
	in = strings.TrimPrefix(in, "\ufeff")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	blocks := strings.Split(in, "\n")
	var name string
	var data []string
	for i, line := range blocks {
		if i == len(blocks)-1 { // what follows the last line break ends nothing
			break
		}
		switch {
		case line == "" && data != nil:
			list = append(list, sseEvent{name, strings.Join(data, "\n")})
			fallthrough
		case line == "":
			name, data = "", nil
		case line == "data" || strings.HasPrefix(line, "data:"):
			data = append(data, strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(line, "data"), ":"), " "))
		case line == "event" || strings.HasPrefix(line, "event:"):
			name = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(line, "event"), ":"), " ")
		}
	}
	return list
}

// FuzzAssemble reads any bytes as each vendor's stream: the result is an answer whose
// text is that of the pieces, or an error.
func FuzzAssemble(f *testing.F) {
	f.Add([]byte(`{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}` + "\n\n[DONE]"))
	f.Add([]byte(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f"}}` + "\n" +
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}` + "\n" + `{"type":"message_stop"}`))
	f.Add([]byte(`{"message":{"content":"a","thinking":"b","tool_calls":[{"function":{"name":"f","arguments":"\"{}\""}}]},"done":true}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		for i := range 6 {
			body, events := in, i < 3
			if events { // each line as an event's data
				body = append([]byte("data: "), bytes.ReplaceAll(in, []byte("\n"), []byte("\n\ndata: "))...)
				body = append(body, "\n\n"...)
			}
			r := responseOf(t, bytes.NewReader(body))
			var told strings.Builder
			d := draft{w: r.w, onText: func(p string) { told.WriteString(p) }}
			s := []streamer{&openAIStream{draft: d}, &anthropicStream{draft: d}, &ollamaStream{draft: d}}[i%3]
			reply, fail := r.assemble(events, s)
			if fail != nil {
				if fail.err == nil || fail.err.Error() == "" {
					t.Fatal("a failure without an error")
				}
				continue
			}
			if reply.Text != told.String() {
				t.Fatalf("the text is %q, told was %q", reply.Text, told.String())
			}
			m := reply.Message()
			anthropicBlocks(&m)
			if _, err := value.AppendJSON(nil, append(openAICalls(reply.Calls), ollamaCalls(reply.Calls)...)); err != nil && value.KindOf(err) != value.Limit {
				t.Fatalf("the reply cannot be sent back: %v", err)
			}
		}
	})
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "3": 3, "0.5": 0.5, "-1": 0, "NaN": 0, "Inf": 1e6, "soon": 0, "Thu, 01 Jan 1970 00:00:00 GMT": 0} {
		if got := retryAfter(map[string][]string{"Retry-After": {text}}); got.Seconds() != want {
			t.Errorf("retryAfter(%q) = %s, want %g s", text, got, want)
		}
	}
	if got := retryAfter(map[string][]string{"Retry-After": {"9"}, "Retry-After-Ms": {"250"}}); got.Milliseconds() != 250 {
		t.Errorf("retryAfter = %s, want 250ms", got)
	}
}

func TestOllamaBase(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "",
		"http://10.0.0.1":      "http://10.0.0.1",
		"localhost":            "http://localhost:11434/",
		"10.0.0.1:80/ollama":   "http://10.0.0.1:80/ollama",
		"0.0.0.0":              "http://127.0.0.1:11434/",
		"0.0.0.0:8080":         "http://127.0.0.1:8080/",
		":8080":                "http://127.0.0.1:8080/",
		"[::1]":                "http://[::1]:11434/",
		"[::1]:8080":           "http://[::1]:8080/",
		"https://example.com/": "https://example.com/",
	} {
		if got := ollamaBase(in); got != want {
			t.Errorf("ollamaBase(%q) = %q, want %q", in, got, want)
		}
	}
}
