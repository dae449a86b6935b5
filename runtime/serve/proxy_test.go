package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
)

// The variables of make openapi: the address of a proxy that validates requests and answers, and the one at which it
// expects the server that it passes them to.
const (
	proxyVariable    = "CASSIDY_SERVE_PROXY"
	upstreamVariable = "CASSIDY_SERVE_UPSTREAM"
)

// serverHeader says which server of the tests a request is for.
const serverHeader = "X-Test-Server"

// startUpstream passes what comes from the proxy to the server that it is for.
func startUpstream() {
	addr := os.Getenv(upstreamVariable)
	if addr == "" {
		return
	}
	pass := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(&url.URL{Scheme: "http", Host: p.In.Header.Get(serverHeader)})
		p.Out.Header.Del(serverHeader)
	}}
	go func() { fmt.Fprintln(os.Stderr, http.ListenAndServe(addr, pass)) }()
}

// throughProxy sends a request of a test to the proxy, if there is one and the description has its path. Pages
// are not described. The proxy replaces the host, follows redirects, which forms get, reads streams to their end, and never answers to a body that is
// not JSON.
func throughProxy(q *http.Request, a *ask) {
	proxy := os.Getenv(proxyVariable)
	if proxy == "" || strings.HasSuffix(q.URL.Path, "/events") || patternOf(a.path) == "" || a.body != "" && !json.Valid([]byte(a.body)) {
		return
	}
	for _, h := range a.header {
		if h[0] == "Host" || h[1] == "application/x-www-form-urlencoded" || h[0] == "Accept" && strings.Contains(h[1], "text/html") {
			return
		}
	}
	if a.body != "" && q.Header.Get("Content-Type") == "" {
		q.Header.Set("Content-Type", "application/json") // which the server takes for granted
	}
	q.Header.Set(serverHeader, q.URL.Host)
	q.URL.Host = proxy
	q.Host = ""
}

// A violation is what the proxy found.
type violation struct {
	Location []string
	Code     any
	Message  string
}

// checkViolations checks what the proxy found wrong with an answer, or with a request that was accepted. It does not know
// the sign-in of a program (code 401).
func checkViolations(t testing.TB, a *ask, r *http.Response) {
	t.Helper()
	text := r.Header.Get("Sl-Violations")
	if text == "" {
		return
	}
	var list []violation
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	for _, v := range list {
		if isResponse := slices.Contains(v.Location, "response"); isResponse || r.StatusCode < 300 && v.Code != 401.0 {
			t.Errorf("%s %s: status %d: the proxy found %+v", a.method, a.path, r.StatusCode, v)
		}
	}
}
