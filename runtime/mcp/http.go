package mcp

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The bounds of clients over HTTP.
const (
	maxBody     = 16 << 20 // bytes: the largest media as text, with room for the rest
	idleSession = 30 * time.Minute
	maxSessions = 1000        // at the same time; each takes some 30 KB
	bodyTime    = time.Minute // to send a body
)

// HTTPOptions configure a handler.
type HTTPOptions struct {
	// Token is what clients send in the header Authorization: Bearer TOKEN. "" lets every
	// client in.
	Token string
	// Hosts are the names, without ports, that requests may have in their headers Host and
	// Origin, besides localhost and the loopback addresses. This keeps pages of other sites
	// in a browser from calling the tools.
	Hosts []string
}

// Handler returns the handler of the server's address, for all versions of the protocol.
func (s *Server) Handler(o *HTTPOptions) http.Handler {
	if o == nil {
		o = &HTTPOptions{}
	}
	serve := func(*http.Request) *sdk.Server { return s.sdk }
	// The SDK's protection knows no Hosts; allows is stricter.
	sessions := sdk.NewStreamableHTTPHandler(serve, &sdk.StreamableHTTPOptions{SessionTimeout: idleSession, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true})
	single := sdk.NewStreamableHTTPHandler(serve, &sdk.StreamableHTTPOptions{Stateless: true, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true, PropagateRequestCancellation: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch origin := r.Header.Get("Origin"); {
		case !o.allows(r.Host), origin != "" && !o.allows(hostOf(origin)):
			refuse(w, "the header Host or Origin does not name this server: to allow a host name, start the server with --allow-host NAME", http.StatusForbidden)
		case !o.knows(r):
			w.Header().Set("WWW-Authenticate", `Bearer realm="cassidy"`)
			refuse(w, "send the token of the server: Authorization: Bearer TOKEN", http.StatusUnauthorized)
		case r.Header.Get("Mcp-Protocol-Version") >= stateless:
			s.serveHeld(single, w, r)
		case r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && s.sessions() >= maxSessions:
			refuse(w, "the server has too many sessions: end unused ones with DELETE, or try again later", http.StatusServiceUnavailable)
		default:
			s.serveHeld(sessions, w, r)
		}
	})
}

// sessions returns how many sessions are open.
func (s *Server) sessions() (n int) {
	for range s.sdk.Sessions() {
		n++
	}
	return n
}

// refuse answers a request without reading its body, and closes the connection: the server would wait for
// the body otherwise.
func refuse(w http.ResponseWriter, text string, status int) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // a server without deadlines has its own limits
	w.Header().Set("Connection", "close")
	http.Error(w, text, status)
}

// limitBody bounds how long the body of a request may take. done is called with its size at its end.
func limitBody(w http.ResponseWriter, r *http.Request, done func(size int64)) {
	control := http.NewResponseController(w)
	if r.ContentLength != 0 {
		_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // a reader without deadlines has its own limits
		r.Body = &timedBody{r.Body, control, 0, done}
	}
}

// A timedBody is the body of a request that has a deadline until the body is read.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	size    int64
	done    func(size int64)
}

// Read reads from the body. It removes the deadline at the end: the connection is read further, to notice
// that the client has gone.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.size += int64(n)
	if errors.Is(err, io.EOF) {
		b.done(b.size)
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// hostOf returns the host of an origin, or a text that is no host.
func hostOf(origin string) string {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return origin
	}
	return u.Host
}

// allows reports whether requests may name a host.
func (o *HTTPOptions) allows(hostport string) bool {
	name := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() || strings.EqualFold(name, "localhost") {
		return true
	}
	for _, allowed := range o.Hosts {
		if strings.EqualFold(allowed, name) {
			return true
		}
	}
	return false
}

// knows reports whether a request has the token.
func (o *HTTPOptions) knows(r *http.Request) bool {
	if o.Token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(o.Token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}
