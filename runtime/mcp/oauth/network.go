package oauth

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/web"
)

// Client returns the client of requests to the server and to its authorization server. The
// server names the latter, so it can make the client reach addresses of its choice. The client
//
//   - follows no redirects;
//   - sends a request unencrypted only to this machine, and only if the server is on it too;
//   - reaches this machine only if the server is named as this machine, private networks only at
//     the host of the server, and no other address that is not of a public server, such as the
//     metadata of a cloud;
//   - reads 1 MB of a response of the authorization server. For the server itself there is no
//     limit of size or time, because it answers with streams.
func (h *Handler) Client() *http.Client {
	c := *h.client
	c.Timeout = 0
	return &c
}

// requestTimeout bounds a request of a sign-in.
const requestTimeout = 30 * time.Second

// guardedClient returns the client for a server.
func guardedClient(server *url.URL) *http.Client {
	return &http.Client{
		Transport: &transport{guard: web.NewGuard(server), server: server}, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A transport sends requests through a guard, and bounds and mends the responses.
type transport struct {
	guard  *web.Guard
	server *url.URL

	mu     sync.Mutex
	issuer string // the name of the authorization server as it was, if a slash was removed from it
}

// issued returns the name of an issuer in the answer to a sign-in as the metadata has it now. It must be the
// name that the metadata had, to the character (RFC 9207, section 2.4).
func (t *transport) issued(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if name == t.issuer {
		return strings.TrimSuffix(name, "/")
	}
	if name+"/" == t.issuer {
		return t.issuer // is refused, since it is not the name
	}
	return name
}

// RoundTrip sends a request.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.guard.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); req.Method == http.MethodGet && kind == "application/json" {
		return t.withoutSlashes(resp)
	}
	if !web.SameOrigin(req.URL, t.server) {
		resp.Body = &limited{io.LimitReader(resp.Body, maxBody), resp.Body}
	}
	return resp, nil
}

// withoutSlashes removes the final slash of the names of authorization servers from metadata, as all MCP
// servers of Google have it: it is removed before an address is made of the name (RFC 8414, section 3.1),
// and the other uses of the name are compared with it.
func (t *transport) withoutSlashes(resp *http.Response) (*http.Response, error) {
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, err
	}
	if v, err := value.ReadJSON(text, 16, 10_000); err == nil {
		if d, ok := v.(*value.Dict); ok {
			trim := func(v value.Value) value.Value {
				if name, ok := v.(string); ok {
					return strings.TrimSuffix(name, "/")
				}
				return v
			}
			if servers, ok := d.Get("authorization_servers"); ok {
				if list, ok := servers.(value.List); ok {
					d.Put("authorization_servers", value.List(value.Map(list, trim)))
				}
			}
			if issuer := d.Text("issuer"); issuer != "" {
				t.mu.Lock()
				t.issuer = ""
				if strings.HasSuffix(issuer, "/") {
					t.issuer = issuer
				}
				t.mu.Unlock()
				d.Put("issuer", strings.TrimSuffix(issuer, "/"))
			}
			text = []byte(value.FormatJSON(d, ""))
		}
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return resp, nil
}

type limited struct {
	io.Reader
	io.Closer
}
