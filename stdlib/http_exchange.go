package stdlib

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/encoding"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// What one effect may cost. The bounds of a whole call are in http_turn.go.
const (
	httpMaxBody      = 8 << 20  // bytes of an answer, unpacked; as much as a file that can be read
	httpMaxHead      = 64 << 10 // bytes of its header; servers send 1 KB
	httpMaxFields    = 200      // and the lines of it
	httpMaxRedirects = 3        // enough for http to https to www to the page
	httpMaxTimeout   = 60       // seconds that a script may ask for; what a call may take is less by default
)

// An httpNet is the network as scripts may use it. What it does by itself are
// fields, for tests that have no network.
type httpNet struct {
	private []netip.Prefix // what may be reached beside the public internet
	roots   *x509.CertPool // nil means the system's
	lookup  func(ctx context.Context, name string) ([]netip.Addr, error)
	own     func() ([]netip.Addr, error)
	connect func(ctx context.Context, network, address string, control func(network, address string) error) (net.Conn, error)
	turns   httpTurns
	base    *httpBase
	wrapped http.RoundTripper // the program's, around base; may be nil
}

func newHTTPNet(o *Options, secrets *secretBox) (*httpNet, error) {
	n := &httpNet{private: slices.Clone(o.Private), roots: o.Roots, lookup: httpLookup, own: httpOwn, connect: httpConnect}
	n.base = &httpBase{n, secrets}
	if o.HTTP == nil {
		return n, nil
	}
	if n.wrapped = o.HTTP(n.base); n.wrapped == nil {
		return nil, value.Errorf(value.Invalid, "Options.HTTP returned nil").WithHint("return a transport, or base itself")
	}
	return n, nil
}

// An httpExchange is one effect under way: a request, and the redirects that
// follow.
type httpExchange struct {
	net     *httpNet
	secrets *secretBox
	grant   tool.Grant

	// What is asked next; a redirect changes it.
	method string
	url    *httpURL
	fields []httpField
	auth   []string // user and password, or nothing
	body   []byte
}

// An httpField is a header as the script gave it, with placeholders.
type httpField struct{ name, value string }

// An httpAnswer is what a server said in the end.
type httpAnswer struct {
	status int
	url    *httpURL
	header http.Header
	body   []byte
}

// run asks, and follows redirects if it should.
func (x *httpExchange) run(ctx context.Context, ask *httpAsk) (*httpAnswer, error) {
	inQuery, err := x.addParams(ask.params)
	if err != nil {
		return nil, err
	}
	for redirects := 0; ; redirects++ {
		resp, err := x.send(ctx, inQuery)
		if err != nil {
			return nil, x.failed(ctx, err)
		}
		to := resp.Header.Get("Location")
		if !ask.follow || to == "" || !httpRedirects(resp.StatusCode) {
			body, err := x.net.read(ctx, resp, x.method, x.url.Hostname())
			if err != nil {
				return nil, x.failed(ctx, err)
			}
			return &httpAnswer{resp.StatusCode, x.url, resp.Header, body}, nil
		}
		x.net.discard(ctx, resp)
		if redirects == httpMaxRedirects {
			return nil, httpLimit("%s redirects more than %d times", x.url.name, httpMaxRedirects)
		}
		if err := x.redirect(resp.StatusCode, to); err != nil {
			return nil, err
		}
		inQuery = nil // what stood in the query is gone with it
	}
}

func httpRedirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// send makes one request, whose query holds the placeholders of some secrets.
func (x *httpExchange) send(ctx context.Context, inQuery []string) (*http.Response, error) {
	if err := x.net.turns.spend(x.grant.Stage); err != nil {
		return nil, err
	}
	header, permit, err := x.header()
	if err != nil {
		return nil, err
	}
	permit.names, permit.query = append(permit.names, inQuery...), len(inQuery) > 0
	if len(permit.names) > 0 && x.url.Scheme == "http" && len(x.net.private) == 0 {
		return nil, value.Errorf(value.Denied, "a secret is sent only over https, and the URL is http:")
	}
	u := x.url.URL
	req := (&http.Request{
		Method: x.method, URL: &u, Host: u.Host, Header: header, Body: http.NoBody, ContentLength: int64(len(x.body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(context.WithValue(ctx, httpPermitKey{}, permit))
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
	if fields > httpMaxFields || size > httpMaxHead {
		x.net.discard(ctx, resp)
		if fields > httpMaxFields {
			return nil, httpLimit("%s answered with more than %d headers", x.url.name, httpMaxFields)
		}
		return nil, httpLimit("%s answered with a header of more than %d KB", x.url.name, httpMaxHead>>10)
	}
	return resp, nil
}

// header gives the header of the next request, with the placeholders of secrets,
// and which of them were granted for its host.
func (x *httpExchange) header() (http.Header, *httpPermit, error) {
	h := http.Header{"User-Agent": {"cassidy"}, "Accept": {"*/*"}, "Accept-Encoding": {"gzip"}}
	permit := &httpPermit{host: x.url.Host}
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
func (x *httpExchange) granted(text string) ([]string, error) {
	if !strings.Contains(text, secretMark) {
		return nil, nil
	}
	if strings.Contains(secretPlaceholder().ReplaceAllLiteralString(text, ""), secretMark) {
		return nil, value.Errorf(value.Denied, "what begins with %s is not a secret's placeholder", secretMark).
			WithHint(`put there what secret("NAME") gives`)
	}
	names := secretNames(text)
	for _, name := range names {
		if err := httpAllowed(x.grant, tool.Capability{Name: "secret", Target: name + "@" + x.url.Host}); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// addParams puts the query together, and returns the names of the secrets whose
// placeholders are in it.
func (x *httpExchange) addParams(params *value.Dict) (names []string, err error) {
	for _, v := range params.All() {
		text, _ := v.(string)
		if placeholder := secretPlaceholder().FindString(text); placeholder == "" || placeholder != text {
			continue
		}
		found, err := x.granted(text)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	query, err := encoding.EncodeQuery(params)
	if err != nil {
		return nil, err
	}
	if strings.Count(query, secretMarkEncoded) > len(names) {
		return nil, httpNoSecret("within a value of params: only as the whole of it")
	}
	if x.url.RawQuery != "" && query != "" {
		query = "&" + query
	}
	if x.url.RawQuery += query; len(x.url.String()) > row.MaxURL {
		return nil, httpLimit("the URL is longer than %d KB", row.MaxURL>>10)
	}
	return names, nil
}

// redirect turns the exchange to where an answer points, if the call may ask
// there too.
func (x *httpExchange) redirect(status int, location string) error {
	resolved, err := x.url.Parse(location)
	if err != nil {
		return value.Errorf(value.Failed, "%s redirects to what is not a URL", x.url.name)
	}
	next, err := httpParse(resolved.String())
	if err != nil {
		return x.redirectError(err)
	}
	if x.url.Scheme == "https" && next.Scheme != "https" {
		return x.redirectError(value.Errorf(value.Denied, "from https to http, where others can read along"))
	}
	method := x.method
	if status == http.StatusSeeOther && method != http.MethodHead || status <= http.StatusFound && method == http.MethodPost {
		method = http.MethodGet
	}
	if err := httpAllowed(x.grant, httpCapability(method, next)); err != nil {
		return x.redirectError(err)
	}
	if next.Host != x.url.Host {
		if text := next.String(); x.secrets.scrub(text) != text {
			return x.redirectError(value.Errorf(value.Denied, "to %s with a secret in the URL", next.name))
		}
		x.auth = nil
		x.fields = slices.DeleteFunc(slices.Clone(x.fields), func(f httpField) bool {
			return !slices.Contains(httpHarmless, f.name) || strings.Contains(f.value, secretMark)
		})
	}
	if method != x.method {
		x.body = nil
		x.fields = slices.DeleteFunc(slices.Clone(x.fields), func(f httpField) bool {
			return strings.HasPrefix(f.name, "Content-") || f.name == httpKeyField
		})
	}
	x.method, x.url = method, next
	return nil
}

// httpHarmless are the headers that another host may see after a redirect:
// what tells nothing about who asks. A key may hide in any other.
var httpHarmless = []string{"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "If-Modified-Since", "If-None-Match", "Range", "User-Agent"}

func (x *httpExchange) redirectError(err error) error {
	e := *value.ErrorOf(err, value.Denied)
	e.Op, e.Err = "", errors.New(x.url.name+" redirects: "+e.Message())
	return &e
}

// httpAllowed asks whether the call may use a capability.
func httpAllowed(g tool.Grant, c tool.Capability) error {
	if g.Check == nil {
		return value.Errorf(value.Denied, "%s is not granted", c)
	}
	return g.Check(c)
}

// httpCapability is what a request takes.
func httpCapability(method string, u *httpURL) tool.Capability {
	return tool.Capability{Name: "http." + strings.ToLower(method), Target: u.Host}
}

// failed words what went wrong with a connection. What the context ended is
// left to who knows why it ended.
func (x *httpExchange) failed(ctx context.Context, err error) error {
	var ours *value.Error
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	host := x.url.name
	switch {
	case errors.As(err, &ours) && x.net.wrapped != nil:
		return row.ProvidedError(ours)
	case errors.As(err, &ours):
		return ours
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &cert):
		return value.Errorf(value.Unavailable, "the certificate of %s is not one to trust: %s", host, httpWords(cert.Err))
	case errors.As(err, &record):
		return value.Errorf(value.Unavailable, "%s does not speak https there", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return value.Errorf(value.Unavailable, "%s refuses the connection", host)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return value.Errorf(value.Unavailable, "%s broke off its answer", host)
	case strings.Contains(err.Error(), "headers exceeded"):
		return httpLimit("%s answered with a header of more than %d KB", host, httpMaxHead>>10)
	}
	return value.Errorf(value.Unavailable, "no answer from %s: %s", host, httpWords(err))
}

// httpWords gives the text of an error, in which a server may have put its own.
func httpWords(err error) string {
	const most = 300
	text := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(err.Error(), "\ufffd"))
	if short := row.Head(text, most); short != text {
		return short + "…"
	}
	return text
}

func httpLimit(format string, args ...any) *value.Error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit = value.LimitHTTP
	return e
}

// httpTimeout is the error of an exchange that was not over in time.
func httpTimeout(after time.Duration) *value.Error {
	e := value.Errorf(value.Timeout, "there was no whole answer within %v", after)
	e.Limit = value.LimitHTTP
	return e
}
