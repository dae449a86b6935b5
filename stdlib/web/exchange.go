package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
	"github.com/cassidy-run/cassidy/stdlib/secret"
)

// What one effect may cost. The host counts the requests of a call.
const (
	maxBody      = 8 << 20  // bytes of an answer, unpacked; as much as a file that can be read
	maxHead      = 64 << 10 // bytes of its header; servers send 1 KB
	maxFields    = 200      // and the lines of it
	maxRedirects = 3        // enough for http to https to www to the page
	maxTimeout   = 60       // seconds that a script may ask for; what a call may take is less by default
)

// An exchange is one effect under way: a request, and the redirects that
// follow.
type exchange struct {
	net   *Network
	grant tool.Grant

	// What is asked next; a redirect changes it.
	method string
	url    *hostURL
	fields []field
	auth   []string // user and password, or nothing
	body   []byte

	delivery delivery
	unsent   bool // it failed before anything was sent
}

// A field is a header as the script gave it, with placeholders.
type field struct{ name, value string }

// A response is the last answer of a server.
type response struct {
	status int
	url    *hostURL
	header http.Header
	body   []byte
}

// run asks, and follows redirects if it should.
func (x *exchange) run(ctx context.Context, ask *request) (*response, error) {
	inQuery, err := x.addParams(ask.params)
	if err != nil {
		return nil, err
	}
	for redirects := 0; ; redirects++ {
		resp, err := x.send(ctx, inQuery)
		if err != nil {
			x.unsent = x.delivery.unsent(err)
			return nil, x.failed(ctx, err)
		}
		to := resp.Header.Get("Location")
		if !ask.follow || to == "" || !isRedirect(resp.StatusCode) {
			body, err := x.net.read(ctx, resp, x.method, x.url.Hostname())
			if err != nil {
				return nil, x.failed(ctx, err)
			}
			return &response{resp.StatusCode, x.url, resp.Header, body}, nil
		}
		x.net.discard(ctx, resp)
		if redirects == maxRedirects {
			return nil, limitError("%s: more than %d redirects", x.url.name, maxRedirects)
		}
		if err := x.redirect(resp.StatusCode, to); err != nil {
			return nil, err
		}
		inQuery = nil // what stood in the query is gone with it
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// send makes one request, whose query holds the placeholders of some secrets.
func (x *exchange) send(ctx context.Context, inQuery []string) (*http.Response, error) {
	if x.grant.Request != nil {
		if err := x.grant.Request(); err != nil {
			return nil, err
		}
	}
	header, permit, err := x.header()
	if err != nil {
		return nil, err
	}
	permit.names, permit.query = append(permit.names, inQuery...), len(inQuery) > 0
	if len(permit.names) > 0 && x.url.Scheme == "http" && len(*x.net.private.Load()) == 0 {
		return nil, secretOverHTTP(x.url)
	}
	u := x.url.URL
	req := (&http.Request{
		Method: x.method, URL: &u, Host: u.Host, Header: header, Body: http.NoBody, ContentLength: int64(len(x.body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(context.WithValue(ctx, permissionKey{}, permit))
	if body := x.body; len(body) > 0 {
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	resp, err := x.net.roundTrip(ctx, req)
	if err != nil {
		return nil, err
	}
	fields, size := 0, 0
	for name, values := range resp.Header {
		fields += len(values)
		for _, v := range values {
			size += len(name) + len(v)
		}
	}
	if fields > maxFields || size > maxHead {
		x.net.discard(ctx, resp)
		if fields > maxFields {
			return nil, limitError("response of %s: more than %d headers", x.url.name, maxFields)
		}
		return nil, limitError("response of %s: the headers are longer than %d KB in total", x.url.name, maxHead>>10)
	}
	return resp, nil
}

// header gives the header of the next request, with the placeholders of secrets,
// and which of them were granted for its host.
func (x *exchange) header() (http.Header, *permission, error) {
	h := http.Header{"User-Agent": {"cassidy"}, "Accept": {"*/*"}, "Accept-Encoding": {"gzip"}}
	permit := &permission{host: x.url.Host}
	for _, f := range x.fields {
		names, err := x.granted(f.value)
		if err != nil {
			return nil, nil, err
		}
		h[f.name] = []string{f.value}
		permit.names = append(permit.names, names...)
	}
	if len(x.auth) == 0 {
		return h, permit, nil
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(x.auth[0]+":"+x.auth[1]))
	h["Authorization"] = []string{basic}
	for _, part := range x.auth {
		names, err := x.granted(part)
		if err != nil {
			return nil, nil, err
		}
		if len(names) > 0 {
			permit.basic, permit.auth = basic, x.auth
		}
		permit.names = append(permit.names, names...)
	}
	return h, permit, nil
}

// granted returns the names of the secrets whose placeholders are in a text. The
// tool must be granted to send each of them to the host that is asked.
func (x *exchange) granted(text string) ([]string, error) {
	if !strings.Contains(text, secret.Mark) {
		return nil, nil
	}
	if strings.Contains(secret.Replace(text, func(string) string { return "" }), secret.Mark) {
		return nil, value.Errorf(value.Denied, "invalid placeholder of a secret: the text begins with %s", secret.Mark).
			WithHint(`in a script, pass the result of secret("NAME") unchanged`)
	}
	names := secret.Names(text)
	for _, name := range names {
		if err := checkGrant(x.grant, secretFor(name, x.url)); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// addParams puts the query together, and returns the names of the secrets whose
// placeholders are in it.
func (x *exchange) addParams(params *value.Dict) (names []string, err error) {
	for _, v := range params.All() {
		text, _ := v.(string)
		if !isPlaceholder(text) {
			continue
		}
		found, err := x.granted(text)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	query, err := row.Query(params)
	if err != nil {
		return nil, err
	}
	if strings.Count(query, secret.MarkInQuery) > len(names) {
		return nil, noSecret("in a part of a value of params")
	}
	if x.url.RawQuery != "" && query != "" {
		query = "&" + query
	}
	if x.url.RawQuery += query; len(x.url.String()) > row.MaxURL {
		return nil, limitError("the URL is longer than %d KB", row.MaxURL>>10)
	}
	return names, nil
}

// isPlaceholder reports whether a text is the placeholder of a secret and nothing else.
func isPlaceholder(text string) bool {
	names := secret.Names(text)
	return len(names) == 1 && text == secret.Placeholder(names[0])
}

// redirect turns the exchange to where an answer points, if the call may ask
// there too.
func (x *exchange) redirect(status int, location string) error {
	resolved, err := x.url.Parse(location)
	if err != nil {
		return value.Errorf(value.Failed, "%s: the redirect has an invalid URL", x.url.name)
	}
	next, err := parseURL(resolved.String())
	if err != nil {
		return x.redirectError(err)
	}
	if x.url.Scheme == "https" && next.Scheme != "https" {
		return x.redirectError(value.Errorf(value.Denied, "the target is http:, without encryption"))
	}
	method := x.method
	if status == http.StatusSeeOther && method != http.MethodHead || status <= http.StatusFound && method == http.MethodPost {
		method = http.MethodGet
	}
	if err := checkGrant(x.grant, capabilityOf(method, next)); err != nil {
		e := x.redirectError(err)
		return e.WithHint("%s", strings.TrimPrefix(e.Hint+"; in a script, allow_redirects = False returns the redirect", "; "))
	}
	if next.Host != x.url.Host {
		if text := next.String(); x.net.secrets.Scrub(text) != text {
			return x.redirectError(value.Errorf(value.Denied, "the URL for %s contains a secret", next.name))
		}
		x.auth = nil
		x.fields = slices.DeleteFunc(slices.Clone(x.fields), func(f field) bool {
			return !slices.Contains(harmlessFields, f.name) || strings.Contains(f.value, secret.Mark)
		})
	}
	if method != x.method {
		x.body = nil
		x.fields = slices.DeleteFunc(slices.Clone(x.fields), func(f field) bool {
			return strings.HasPrefix(f.name, "Content-") || f.name == keyField
		})
	}
	x.method, x.url = method, next
	return nil
}

// harmlessFields are the headers that another host may see after a redirect:
// what shows nothing about who asks. A key may hide in any other.
var harmlessFields = []string{"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "If-Modified-Since", "If-None-Match", "Range", "User-Agent"}

func (x *exchange) redirectError(err error) *value.Error {
	e := *value.ErrorOf(err, value.Denied)
	e.Op, e.Err = "", errors.New(x.url.name+" redirects: "+e.Message())
	return &e
}

// checkGrant asks whether the call may use a capability.
func checkGrant(g tool.Grant, c tool.Capability) error {
	if g.Check == nil {
		return value.Errorf(value.Denied, "%s is not granted", c)
	}
	return g.Check(c)
}

// capabilityOf is what a request takes.
func capabilityOf(method string, u *hostURL) tool.Capability {
	return tool.Capability{Name: "http." + strings.ToLower(method), Target: u.Host}
}

// secretFor is what a request takes that sends a secret.
func secretFor(name string, u *hostURL) tool.Capability {
	return tool.Capability{Name: "secret", Target: name + "@" + u.Host}
}

// failed words what went wrong with a connection. What the context ended is
// left to who knows why it ended. The error of a request that was not sent has no
// text of its server: nothing was read from it.
func (x *exchange) failed(ctx context.Context, err error) error {
	var ours *value.Error
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var local *net.OpError
	host := x.url.Host // with its port, unless that is the scheme's own
	switch {
	case errors.As(err, &ours) && x.net.wrapped != nil:
		return row.ProvidedError(ours)
	case errors.As(err, &ours):
		return ours
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &cert):
		return value.Errorf(value.Unavailable, "request to %s: untrusted certificate: %s", host, certificateText(cert.Err))
	case errors.As(err, &record):
		return value.Errorf(value.Unavailable, "request to %s: the server does not support https at this port", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return value.Errorf(value.Unavailable, "request to %s: connection refused", host)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return value.Errorf(value.Unavailable, "response of %s: the connection was closed early", host)
	case strings.Contains(err.Error(), "headers exceeded"):
		return limitError("response of %s: the headers are longer than %d KB in total", host, maxHead>>10)
	case x.unsent && x.url.Scheme == "https" && !errors.As(err, &local):
		return value.Errorf(value.Unavailable, "request to %s: the TLS handshake failed", host)
	}
	return value.Errorf(value.Unavailable, "no response from %s: %s", host, errorText(err))
}

// certificateText says why a certificate is untrusted. The error itself quotes names in the certificate, which
// the server has chosen: the error of an unsent request is not marked as untrusted text.
func certificateText(err error) string {
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return "it is for other hosts"
	case errors.As(err, &authority):
		return "it is signed by an unknown authority"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it has expired or is not yet valid"
	}
	return "it is invalid"
}

// errorText gives the text of an error, in which a server may have put its own.
func errorText(err error) string {
	const most = 300
	text := value.Clean(err.Error(), math.MaxInt)
	if short := row.Head(text, most); short != text {
		return short + "…"
	}
	return text
}

func limitError(format string, args ...any) *value.Error {
	return value.Errorf(value.Limit, format, args...).WithLimit(value.LimitHTTP)
}

// timeoutError is the error of an exchange that was not over in time.
func timeoutError(after time.Duration) *value.Error {
	return value.Errorf(value.Timeout, "request timeout: no complete response within %v", after).WithLimit(value.LimitHTTP)
}
