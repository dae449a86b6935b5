package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// A Guard is the transport of requests to a server that the user has named, and of those that the server causes, such as
// redirects. It is safe for concurrent use. A Guard
//
//   - sends a request unencrypted only to this machine, and only if the server is on it too;
//   - reaches this machine only if the server is named as this machine, private networks only at the host of the server, and
//     no other address that is not of a public server, such as the metadata of a cloud.
type Guard struct {
	server *url.URL
	own    *http.Transport // of requests to the server
}

// NewGuard returns the guard for a server.
func NewGuard(server *url.URL) *Guard {
	g := &Guard{server: server}
	g.own = g.transport(server.Hostname())
	return g
}

// transport returns what connects to one host. A connection is checked for its host, so each host
// has a transport of its own.
func (g *Guard) transport(host string) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		return g.allows(host, address)
	}}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
	}
}

// RoundTrip sends a request. It follows no redirect.
func (g *Guard) RoundTrip(req *http.Request) (*http.Response, error) {
	switch {
	case req.URL.User != nil:
		return nil, value.Errorf(value.Denied, "request not sent to %s: the URL contains a user name", value.Clean(req.URL.Host, 100))
	case !AllowedScheme(g.server, req.URL):
		return nil, value.Errorf(value.Denied, "request not sent to %s: the URL must use HTTPS", value.Clean(req.URL.Host, 100))
	}
	t := g.own
	if !SameOrigin(req.URL, g.server) {
		t = g.transport(req.URL.Hostname())
		t.DisableKeepAlives = true
	}
	return t.RoundTrip(req)
}

// allows checks an address, which a host name resolves to, right before a connection is made.
func (g *Guard) allows(host, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return value.Errorf(value.Denied, "request not sent: the address of %s is unknown", value.Clean(host, 100))
	}
	addr, own := at.Addr().Unmap(), g.server.Hostname()
	what := NotPublic(addr)
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

// AllowedScheme reports whether a URL is encrypted, or stays on the machine of the server.
func AllowedScheme(server, u *url.URL) bool {
	return u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()) && isLoopback(server.Hostname()))
}

// AllowedServer reports whether a user may name a server: by https:, or by http: on this machine, and without a password.
func AllowedServer(u *url.URL) bool { return u.User == nil && AllowedScheme(u, u) }

// isLoopback reports whether a host is this machine by its words alone.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// SameOrigin reports whether two URLs are of one server.
func SameOrigin(a, b *url.URL) bool {
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

// Fetch reads a file of at most limit bytes at an address that the user has named, and follows a few redirects.
func Fetch(ctx context.Context, address string, limit int) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || !AllowedServer(u) {
		return nil, value.Errorf(value.Invalid, "the URL %s should begin with https: (http: is allowed only for this machine)", row.Short(address))
	}
	ctx, cancel := context.WithTimeout(ctx, maxTimeout*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "invalid URL %s", row.Short(address))
	}
	g := NewGuard(u)
	defer g.own.CloseIdleConnections()
	client := &http.Client{Transport: g, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return value.Errorf(value.Failed, "more than %d redirects", maxRedirects)
		}
		return nil
	}}
	text, err := read(client, req, limit)
	var ours *value.Error
	switch {
	case err == nil && len(text) <= limit:
		return text, nil
	case err == nil:
		return nil, value.Errorf(value.Limit, "fetch %s: the file is longer than %d MB", row.Short(address), limit>>20)
	case errors.As(err, &ours):
		e := *ours
		e.Err = errors.New("fetch " + row.Short(address) + ": " + ours.Message())
		return nil, &e
	case errors.Is(err, context.DeadlineExceeded):
		return nil, value.Errorf(value.Timeout, "fetch %s: no complete response within %d s", row.Short(address), maxTimeout)
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return nil, value.Errorf(value.Unavailable, "fetch %s: %s", row.Short(address), errorText(err))
}

// read sends a request, and reads one byte more than the limit of a longer response.
func read(client *http.Client, req *http.Request, limit int) ([]byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, value.Errorf(value.Unavailable, "the server answered with status %d", resp.StatusCode)
	}
	return io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
}
