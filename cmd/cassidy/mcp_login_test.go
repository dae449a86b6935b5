package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/command"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// A guarded server is an MCP server, with its authorization server at the same address. It accepts
// only the newest token.
type guardedServer struct {
	*httptest.Server
	mu     sync.Mutex
	tokens int
	needs  string // the scope that it asks for
	has    string // the scope of the newest token
}

func newGuardedServer(t *testing.T) *guardedServer {
	server := sdk.NewServer(&sdk.Implementation{Name: "guarded", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "greet", Description: "Greet.", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello"}}}, nil
		})
	g := &guardedServer{needs: "read"}
	mux := http.NewServeMux()
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	mux.Handle("/mcp", g.guard(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)))
	reply := func(format string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, format, g.URL)
		}
	}
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", reply(`{"resource": "%[1]s/mcp", "authorization_servers": ["%[1]s"]}`))
	mux.HandleFunc("/.well-known/oauth-authorization-server", reply(`{"issuer": "%[1]s", "authorization_endpoint": "%[1]s/authorize",
		"token_endpoint": "%[1]s/token", "registration_endpoint": "%[1]s/register", "code_challenge_methods_supported": ["S256"]}`))
	mux.HandleFunc("/register", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"client_id": "c", "token_endpoint_auth_method": "none"}`)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		g.mu.Lock()
		g.has = q.Get("scope")
		g.mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"x"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.tokens++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token": "secret-%d", "refresh_token": "secret-refresh", "token_type": "Bearer", "expires_in": 3600}`, g.tokens)
	})
	return g
}

func (g *guardedServer) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		valid := r.Header.Get("Authorization") == fmt.Sprintf("Bearer secret-%d", g.tokens) && g.tokens > 0
		needs, has := g.needs, g.has
		g.mu.Unlock()
		switch {
		case !valid:
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer scope=%q`, needs))
			w.WriteHeader(http.StatusUnauthorized)
		case !strings.Contains(has, needs):
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, needs))
			w.WriteHeader(http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

var signInAddress = regexp.MustCompile(`http://\S*/authorize\?\S*`)

// A browserWriter opens the address of a sign-in that is written to it.
type browserWriter struct{ text strings.Builder }

func (b *browserWriter) Write(p []byte) (int, error) {
	if address := signInAddress.Find(p); address != nil {
		resp, err := http.Get(string(address))
		if err != nil {
			return 0, err
		}
		_ = resp.Body.Close()
	}
	return b.text.Write(p)
}

// TestMCPLogin uses a server that asks for a sign-in, as its user would.
func TestMCPLogin(t *testing.T) {
	t.Parallel()
	g, dir, home := newGuardedServer(t), t.TempDir(), t.TempDir()
	want := func(wantCode int, wanted string, args ...string) {
		t.Helper()
		told := &browserWriter{}
		w := &app.World{In: strings.NewReader(""), Out: told, Err: told, Env: func(name string) (string, bool) {
			v, ok := map[string]string{"CASSIDY_HOME": home, "HOME": home, "CASSIDY_WORKER": testworker.Exec()}[name]
			return v, ok
		}}
		code := command.Main(t.Context(), append([]string{"--dir", dir}, args...), w)
		if got := told.text.String(); code != wantCode || !strings.Contains(got, wanted) || strings.Contains(got, "secret-") {
			t.Errorf("cassidy %v ended with %d:\n%s\nwant %d and %q", args, code, got, wantCode, wanted)
		}
	}
	want(0, "added to", "mcp", "add", "guarded", g.URL+"/mcp")
	want(3, "hint: run: cassidy mcp login guarded", "mcp", "review", "guarded", "--yes")
	want(0, "signed in at guarded", "mcp", "login", "guarded")
	want(0, "http · project · unreviewed · signed in", "mcp", "list")
	want(0, "accepted 1 tool", "mcp", "review", "guarded", "--yes")
	want(0, "hello", "tool", "run", "guarded.greet", "--yes")

	g.mu.Lock()
	g.tokens += 10 // the server no longer accepts the token
	g.mu.Unlock()
	want(0, "hello", "tool", "run", "guarded.greet", "--yes") // it was refreshed

	g.mu.Lock()
	g.needs = "admin"
	g.mu.Unlock()
	want(3, "more rights are needed (admin)", "tool", "run", "guarded.greet", "--yes")
	want(0, "signed in at guarded", "mcp", "login", "guarded")
	want(0, "hello", "tool", "run", "guarded.greet", "--yes")

	want(0, "deleted the tokens", "mcp", "logout", "guarded")
	want(3, "you have to sign in", "tool", "run", "guarded.greet", "--yes")
}
