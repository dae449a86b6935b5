package oauth

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A callback is the address of this machine to which the browser comes back after a sign-in. Any
// page can send a browser there, so only a request with the random state of the sign-in counts.
type callback struct {
	url    string
	host   string // with the port
	mu     sync.Mutex
	state  string // "" before a sign-in has begun, and after its end
	result chan *auth.AuthorizationResult
	failed chan error
	server *http.Server
}

// listen opens the address. A port of 0 is any free one.
func listen(port int) (*callback, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, value.Errorf(value.Unavailable, "sign in: listen on port %d of this machine: %w", port, err).WithHint("choose another port: cassidy mcp login SERVER --port N")
	}
	b := &callback{
		host: l.Addr().String(), url: "http://" + l.Addr().String() + "/callback",
		result: make(chan *auth.AuthorizationResult, 1), failed: make(chan error, 1),
	}
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { _ = b.server.Serve(l) }() // it ends with close
	return b, nil
}

// expect sets the state that counts.
func (b *callback) expect(state string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = state
}

// wait returns what the browser brings. An error of the authorization server is of kind Denied.
func (b *callback) wait(ctx context.Context) (*auth.AuthorizationResult, error) {
	select {
	case r := <-b.result:
		return r, nil
	case err := <-b.failed:
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (b *callback) close() {
	soon, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if b.server.Shutdown(soon) != nil { // the page was sent, or the browser has gone
		_ = b.server.Close()
	}
}

// ServeHTTP takes the first request with the expected state.
func (b *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	q := r.URL.Query()
	if r.Method != http.MethodGet || r.Host != b.host || r.URL.Path != "/callback" || !b.expected(q.Get("state")) {
		http.Error(w, "This is not the answer to a sign-in.", http.StatusBadRequest)
		return
	}
	if code := q.Get("error"); code != "" || q.Get("code") == "" {
		b.failed <- value.Errorf(value.Denied, "the authorization server refused the sign-in: %s", cmp.Or(value.Clean(code, 80), "it sent neither a code nor an error"))
		_, _ = w.Write([]byte("You are not signed in. You can close this page.\n"))
		return
	}
	b.result <- &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}
	_, _ = w.Write([]byte("You are signed in. You can close this page.\n"))
}

// expected reports whether a state is the expected one, and lets it count once.
func (b *callback) expected(state string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == "" || state != b.state {
		return false
	}
	b.state = ""
	return true
}
