package oauth

import (
	"bytes"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
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
	g := &guard{server: server}
	g.own = g.transport(server.Hostname())
	return &http.Client{
		Transport: g, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A guard sends requests that the server may cause.
type guard struct {
	server *url.URL
	own    *http.Transport // of requests to the server

	mu     sync.Mutex
	issuer string // the name of the authorization server as it was, if a slash was removed from it
}

// issued returns the name of an issuer in the answer to a sign-in as the metadata has it now. It must be the
// name that the metadata had, to the character (RFC 9207, section 2.4).
func (g *guard) issued(name string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if name == g.issuer {
		return strings.TrimSuffix(name, "/")
	}
	if name+"/" == g.issuer {
		return g.issuer // is refused, since it is not the name
	}
	return name
}

// transport returns what connects to one host. A connection is checked for its host, so each host
// has a transport of its own.
func (g *guard) transport(host string) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		return g.allows(host, address)
	}}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
	}
}

// RoundTrip sends a request.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	switch {
	case req.URL.User != nil:
		return nil, value.Errorf(value.Denied, "request not sent to %s: the URL contains a user name", value.Clean(req.URL.Host, 100))
	case !allowedScheme(g.server, req.URL):
		return nil, value.Errorf(value.Denied, "request not sent to %s: the URL must use HTTPS", value.Clean(req.URL.Host, 100))
	}
	own := sameOrigin(req.URL, g.server)
	t := g.own
	if !own {
		t = g.transport(req.URL.Hostname())
		t.DisableKeepAlives = true
	}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); req.Method == http.MethodGet && kind == "application/json" {
		return g.withoutSlashes(resp)
	}
	if !own {
		resp.Body = &limited{io.LimitReader(resp.Body, maxBody), resp.Body}
	}
	return resp, nil
}

// withoutSlashes removes the final slash of the names of authorization servers from metadata, as all MCP
// servers of Google have it: it is removed before an address is made of the name (RFC 8414, section 3.1),
// and the other uses of the name are compared with it.
func (g *guard) withoutSlashes(resp *http.Response) (*http.Response, error) {
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
				g.mu.Lock()
				g.issuer = ""
				if strings.HasSuffix(issuer, "/") {
					g.issuer = issuer
				}
				g.mu.Unlock()
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

// allows checks an address, which a host name resolves to, right before a connection is made.
func (g *guard) allows(host, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return value.Errorf(value.Denied, "request not sent: the address of %s is unknown", value.Clean(host, 100))
	}
	addr, own := at.Addr().Unmap(), g.server.Hostname()
	what := web.NotPublic(addr)
	switch {
	case what == "":
		return nil
	case addr.IsLoopback() && isLoopback(own) && isLoopback(host):
		return nil
	case addr.IsPrivate() && strings.EqualFold(host, own): // a server in the user's own network
		return nil
	}
	if strings.EqualFold(host, own) {
		return value.Errorf(value.Denied, "request not sent: the address of %s belongs to %s", own, what)
	}
	return value.Errorf(value.Denied, "request not sent: the server at %s leads to %s, which belongs to %s", own, value.Clean(host, 100), what)
}

// allowedScheme reports whether a URL is encrypted, or stays on the machine of the server.
func allowedScheme(server, u *url.URL) bool {
	return u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()) && isLoopback(server.Hostname()))
}

// isLoopback reports whether a host is this machine by its words alone.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// sameOrigin reports whether two URLs are of one server.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
