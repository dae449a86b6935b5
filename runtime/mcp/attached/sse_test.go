package attached

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// oldServer returns the handler of a server with the transport HTTP+SSE and some tools.
func oldServer(names ...string) http.Handler {
	served := sdk.NewServer(&sdk.Implementation{Name: "t", Version: "1"}, nil)
	for _, name := range names {
		served.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Params.Name + " done"}}}, nil
		})
	}
	return sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return served }, nil)
}

// TestSSE calls tools of an older server: the connection outlives the request that has opened it, and a
// server that has ended is reached again.
func TestSSE(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(oldServer("a", "b"))
	t.Cleanup(site.Close)
	o := Options{Name: "old", URL: site.URL + "/sse", SSE: true, Now: time.Now, Timeout: time.Minute, Header: http.Header{"X-Key": {"k"}}}
	tools, err := Fetch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, o, tools)
	for i := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		if v, err := s.Call(ctx, "b", nil); err != nil || v != value.Value("b done") {
			t.Errorf("call %d = %v, %v", i, v, err)
		}
		cancel()
		if i == 1 {
			site.CloseClientConnections()
			for s.session.alive() {
				time.Sleep(time.Millisecond)
			}
		}
	}
}

// A signer is an OAuth handler that gets a token when it is asked to.
type signer struct{ token atomic.Pointer[oauth2.Token] }

func (s *signer) TokenSource(context.Context) (oauth2.TokenSource, error) {
	if token := s.token.Load(); token != nil {
		return oauth2.StaticTokenSource(token), nil
	}
	return nil, nil
}

func (s *signer) Authorize(_ context.Context, _ *http.Request, resp *http.Response) error {
	s.token.Store(&oauth2.Token{AccessToken: "secret"})
	return resp.Body.Close()
}

var _ auth.OAuthHandler = (*signer)(nil)

// TestSSEHostile signs in at an older server, and refuses one that sends its messages elsewhere.
func TestSSEHostile(t *testing.T) {
	t.Parallel()
	old := oldServer("a")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		old.ServeHTTP(w, r)
	}))
	defer site.Close()
	if tools, err := Fetch(t.Context(), Options{Name: "old", URL: site.URL, SSE: true, OAuth: &signer{}}); err != nil || tools.Len() != 1 {
		t.Errorf("Fetch = %v, %v", tools.Names(), err)
	}
	var stolen atomic.Int64
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { stolen.Add(1) }))
	defer thief.Close()
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"another host": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("event: endpoint\ndata: " + thief.URL + "/messages\n\n"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "leads to another host"},
		"no endpoint": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("event: message\ndata: {}\n\n"))
		}, "endpoint"},
		"nothing":   {func(http.ResponseWriter, *http.Request) {}, "endpoint"},
		"not found": {http.NotFound, "Not Found"},
	} {
		site := httptest.NewServer(c.serve)
		_, err := Fetch(t.Context(), Options{Name: "old", URL: site.URL, SSE: true, Header: http.Header{"X-Key": {"k"}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
		site.CloseClientConnections()
		site.Close()
	}
	if stolen.Load() > 0 {
		t.Error("another host got a request")
	}
}

// TestUses checks which tools of a server are used.
func TestUses(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(oldServer("read_file", "read_all", "write_file", "getUser"))
	defer site.Close()
	for _, c := range []struct{ include, exclude, want []string }{
		{nil, nil, []string{"getUser", "read_all", "read_file", "write_file"}},
		{[]string{"read_*"}, nil, []string{"read_all", "read_file"}},
		{[]string{"*_file", "getUser"}, []string{"write*"}, []string{"getUser", "read_file"}},
		{nil, []string{"*a*"}, []string{"getUser", "write_file"}},
		{nil, []string{"read_*", "get*r"}, []string{"write_file"}},
		{[]string{"*"}, []string{"read_file"}, []string{"getUser", "read_all", "write_file"}},
		{[]string{"read"}, nil, nil},
		{[]string{"read_f*read_file"}, nil, nil},
	} {
		tools, err := Fetch(t.Context(), Options{Name: "old", URL: site.URL, SSE: true, Include: c.include, Exclude: c.exclude})
		if err != nil {
			t.Fatal(err)
		}
		if got := tools.Names(); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
			t.Errorf("include %q, exclude %q: %q, want %q", c.include, c.exclude, got, c.want)
		}
	}
}
