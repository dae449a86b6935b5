package wire

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cassidy-run/cassidy/runtime/model"
)

// responseOf is a response with a body.
func responseOf(t testing.TB, body io.Reader) *Response {
	t.Helper()
	w, err := New("test", "http://host", "sk-0123456789-0123456789", "", model.HTTP{MaxReply: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	return &Response{w: w, ctx: t.Context(), inner: t.Context(), body: body}
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
