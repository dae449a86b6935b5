package mcp

import (
	"crypto/sha256"
	"crypto/subtle"
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
			http.Error(w, "this host or origin is not served here", http.StatusForbidden)
		case !o.knows(r):
			w.Header().Set("WWW-Authenticate", `Bearer realm="cassidy"`)
			http.Error(w, "send the token of the server: Authorization: Bearer TOKEN", http.StatusUnauthorized)
		case r.Header.Get("Mcp-Protocol-Version") >= stateless:
			single.ServeHTTP(w, r)
		default:
			sessions.ServeHTTP(w, r)
		}
	})
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
