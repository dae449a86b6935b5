package attached

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestHTTP checks servers of the SDK over HTTP, with and without sessions, and with streams or
// single answers: headers, exact results, and that changed tools are noticed.
func TestHTTP(t *testing.T) {
	t.Parallel()
	for _, o := range []sdk.StreamableHTTPOptions{{}, {Stateless: true}, {JSONResponse: true}, {Stateless: true, JSONResponse: true}} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			served := sdk.NewServer(&sdk.Implementation{Name: "t", Version: "1"}, nil)
			answer := func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: json.RawMessage(`{"b":12345678901234567890,"a":1}`)}, nil
			}
			served.AddTool(&sdk.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object"}`)}, answer)
			var keys atomic.Int64
			handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return served }, &o)
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Key") != "k" {
					http.Error(w, "no key", http.StatusForbidden)
					return
				}
				keys.Add(1)
				handler.ServeHTTP(w, r)
			}))
			defer site.Close()
			now := time.Now()
			opts := Options{Name: "site", URL: site.URL, Header: http.Header{"x-key": {"k"}}, Now: func() time.Time { return now }}
			tools := fetched(t, opts)
			s := newServer(t, opts, tools)
			v, err := s.Call(t.Context(), "a", nil)
			if err != nil || jsonOf(v) != `{"b":12345678901234567890,"a":1}` || keys.Load() == 0 {
				t.Fatalf("Call = %v, %v", v, err)
			}
			served.AddTool(&sdk.Tool{Name: "b", InputSchema: json.RawMessage(`{"type":"object"}`)}, answer)
			now = now.Add(2 * time.Minute)
			if _, err := s.Call(t.Context(), "a", nil); value.KindOf(err) != value.Denied {
				t.Errorf("after a change: %v", err)
			}
			opts.Header = nil
			if _, err := Fetch(t.Context(), opts); value.KindOf(err) != value.Unavailable {
				t.Errorf("without the header: %v", err)
			}
		})
	}
}

// TestHostileHTTP checks that a server over HTTP cannot hold up its host or use up its memory.
func TestHostileHTTP(t *testing.T) {
	t.Parallel()
	endless := func(kind, begin, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, begin)
			for {
				if _, err := io.WriteString(w, text); err != nil {
					return
				}
			}
		}
	}
	for _, test := range []struct {
		name  string
		serve http.HandlerFunc
	}{
		{"an endless message", endless("application/json", `{"a":"`, strings.Repeat("x", 1<<20))},
		{"an endless line of a stream", endless("text/event-stream", "data: {", strings.Repeat("x", 1<<20))},
		{"endless events", endless("text/event-stream", "", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\""+strings.Repeat("x", testutil.Times(16<<10, 0))+"\"}}\n\n")},
		{"endless comments", endless("text/event-stream", "", ": x\n")},
		{"an endless page", endless("text/html", "<html>", strings.Repeat("x", 1<<20))},
		{"a deep message", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, strings.Repeat("[", 1<<20))
		}},
		{"an error page", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, strings.Repeat("x", 1<<20), 500) }},
		{"nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }},
		{"a redirect to itself", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		}},
		{"a cut connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			if raceBuild && strings.HasPrefix(test.name, "endless") {
				t.Skip("it reads too much for the race detector")
			}
			site := httptest.NewServer(test.serve)
			defer site.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			_, err := Fetch(ctx, Options{Name: "site", URL: site.URL})
			var own *value.Error
			if err == nil || !errors.As(err, &own) || ctx.Err() != nil || len(err.Error()) > 2*value.MaxErrorText {
				t.Errorf("Fetch = %v (%v)", err, ctx.Err())
			}
		})
	}
}

// TestEndlessStream checks that a server cannot send without end through the stream that answers no
// request, and that calls work beside it.
func TestEndlessStream(t *testing.T) {
	t.Parallel()
	if raceBuild {
		t.Skip("it reads too much for the race detector")
	}
	served := sdk.NewServer(&sdk.Implementation{Name: "t", Version: "1"}, nil)
	served.AddTool(&sdk.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return served }, nil)
	cut := make(chan struct{}, 100)
	var calm atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Method") == "server/discover" {
			http.Error(w, "an older server", http.StatusBadRequest)
			return
		}
		if r.Method != http.MethodGet {
			handler.ServeHTTP(w, r)
			return
		}
		if calm.Load() {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			if _, err := io.WriteString(w, ": "+strings.Repeat("x", 1<<20)+"\n"); err != nil {
				cut <- struct{}{}
				return
			}
		}
	}))
	defer site.Close()
	opts := Options{Name: "site", URL: site.URL}
	s := newServer(t, opts, fetched(t, opts))
	if v, err := s.Call(t.Context(), "a", nil); err != nil || v != "done" {
		t.Errorf("Call = %v, %v", v, err)
	}
	<-cut
	failed := s.session
	<-failed.ended // the session is not used again
	calm.Store(true)
	if v, err := s.Call(t.Context(), "a", nil); err != nil || v != "done" || s.session == failed {
		t.Errorf("Call after the end of the session = %v, %v", v, err)
	}
}

// TestUnaskedBound checks that requests, which a server can cause by forms and pings, do not reset the
// bound of the stream that answers no request.
func TestUnaskedBound(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": x\n")
	}))
	defer site.Close()
	var changed atomic.Bool
	var unasked atomic.Int64
	client := http.Client{Transport: &boundedTransport{base: http.DefaultTransport, changed: &changed, unasked: &unasked}}
	read := func(method string) error {
		r, err := http.NewRequestWithContext(t.Context(), method, site.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
		return err
	}
	if err := read(http.MethodGet); err != nil || unasked.Load() == 0 {
		t.Errorf("the first stream = %v, %d bytes", err, unasked.Load())
	}
	unasked.Store(maxUnasked)
	if err := read(http.MethodPost); err != nil {
		t.Errorf("a request = %v", err)
	}
	if err := read(http.MethodGet); value.KindOf(err) != value.Limit {
		t.Errorf("the stream after a request = %v", err)
	}
}
