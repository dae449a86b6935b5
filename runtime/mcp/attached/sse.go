package attached

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// An sseTransport is the transport HTTP+SSE of servers from before 2025: one stream has all messages of the
// server, and its first event names the address for those to it.
type sseTransport struct {
	sdk.SSEClientTransport
	ctx context.Context // of the session
}

// Connect implements [sdk.Transport]. The stream outlives ctx, which bounds only the start.
func (t *sseTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	stream, end := context.WithCancel(t.ctx)
	stop := context.AfterFunc(ctx, end)
	conn, err := t.SSEClientTransport.Connect(stream)
	if !stop() && err == nil {
		err = ctx.Err()
		_ = conn.Close()
	}
	if err != nil {
		end()
		return nil, err
	}
	return conn, nil
}

// A signedTransport signs requests, and keeps them on the host of the server: the address for messages comes
// from it.
type signedTransport struct {
	base  http.RoundTripper
	at    string            // the URL of the server
	oauth auth.OAuthHandler // or nil

	refused atomic.Pointer[value.Error] // the last refusal: the SDK may report only that the session ended by it
}

func (t *signedTransport) why() error {
	if e := t.refused.Load(); e != nil {
		return e
	}
	return nil
}

// RoundTrip implements [http.RoundTripper].
func (t *signedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	scheme, rest, _ := strings.Cut(t.at, "://")
	if host, _, _ := strings.Cut(strings.NewReplacer("?", "/", "#", "/").Replace(rest), "/"); r.URL.Scheme != scheme || r.URL.Host != host {
		e := value.Errorf(value.Denied, "the server leads to another host: %s", value.Clean(r.URL.Host, maxShownName))
		t.refused.Store(e)
		return nil, e
	}
	if t.oauth == nil {
		return t.base.RoundTrip(r)
	}
	resp, err := t.signed(r)
	if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return resp, err
	}
	if err := t.oauth.Authorize(r.Context(), r, resp); err != nil { // it closes the body
		return nil, err
	}
	again := r.Clone(r.Context())
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return t.signed(again)
}

// signed sends a request with the token, if there is one.
func (t *signedTransport) signed(r *http.Request) (*http.Response, error) {
	source, err := t.oauth.TokenSource(r.Context())
	if err != nil || source == nil {
		return t.base.RoundTrip(r)
	}
	token, err := source.Token()
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	token.SetAuthHeader(r)
	return t.base.RoundTrip(r)
}
