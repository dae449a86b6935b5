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
}

func newHTTPNet(o *Options) *httpNet {
	return &httpNet{private: slices.Clone(o.Private), roots: o.Roots, lookup: httpLookup, own: httpOwn, connect: httpConnect}
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
	secretive, err := x.addParams(ctx, ask.params)
	if err != nil {
		return nil, err
	}
	for redirects := 0; ; redirects++ {
		resp, err := x.send(ctx, secretive)
		if err != nil {
			return nil, x.failed(ctx, err)
		}
		to := resp.Header.Get("Location")
		if !ask.follow || to == "" || !httpRedirects(resp.StatusCode) {
			defer resp.Body.Close()
			body, err := httpReadBody(resp, x.method)
			if err != nil {
				return nil, x.failed(ctx, err)
			}
			return &httpAnswer{resp.StatusCode, x.url, resp.Header, body}, nil
		}
		resp.Body.Close()
		if redirects == httpMaxRedirects {
			return nil, httpLimit("%s redirects more than %d times", x.url.name, httpMaxRedirects)
		}
		if err := x.redirect(resp.StatusCode, to); err != nil {
			return nil, err
		}
		secretive = false // what stood in the query is gone with it
	}
}

func httpRedirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// send makes one request on a connection of its own. No proxy of the
// environment is asked, and nothing is kept for the next: neither connections
// nor cookies nor sessions.
func (x *httpExchange) send(ctx context.Context, secretive bool) (*http.Response, error) {
	if err := x.net.turns.spend(x.grant.Stage); err != nil {
		return nil, err
	}
	header, held, err := x.header(ctx)
	if err != nil {
		return nil, err
	}
	dialer := &httpDialer{net: x.net, url: x.url, trusted: (held || secretive) && x.url.Scheme == "http"}
	if dialer.trusted && len(x.net.private) == 0 {
		return nil, tool.Errorf(tool.Denied, "a secret is sent only over https, and the URL is http:")
	}
	transport := &http.Transport{
		DialContext:            dialer.dial,
		TLSClientConfig:        &tls.Config{RootCAs: x.net.roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 does all that a script can use
		DisableKeepAlives:      true,
		DisableCompression:     true, // what is unpacked is counted, see httpReadBody
		MaxResponseHeaderBytes: httpMaxHead,
	}
	req := (&http.Request{
		Method: x.method, URL: &x.url.URL, Host: x.url.Host, Header: header,
		Body: http.NoBody, ContentLength: int64(len(x.body)),
	}).WithContext(ctx)
	if len(x.body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(x.body))
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	fields := 0
	for _, values := range resp.Header {
		fields += len(values)
	}
	if fields > httpMaxFields {
		resp.Body.Close()
		return nil, httpLimit("%s answered with more than %d headers", x.url.name, httpMaxFields)
	}
	return resp, nil
}

// header gives the header of the next request, with the values of secrets where
// the script wrote placeholders, and reports whether there were any.
func (x *httpExchange) header(ctx context.Context) (h http.Header, held bool, err error) {
	h = http.Header{"User-Agent": {"cassidy"}, "Accept": {"*/*"}, "Accept-Encoding": {"gzip"}}
	for _, f := range x.fields {
		value, names, err := x.open(ctx, f.value)
		if err != nil {
			return nil, false, err
		}
		if !httpPlain(value) {
			return nil, false, tool.Errorf(tool.Failed, "the secret in the header %s holds characters that a header cannot", f.name)
		}
		h[f.name] = []string{value}
		held = held || len(names) > 0
	}
	if len(x.auth) == 0 {
		return h, held, nil
	}
	user, inUser, err := x.open(ctx, x.auth[0])
	if err != nil {
		return nil, false, err
	}
	password, inPassword, err := x.open(ctx, x.auth[1])
	if err != nil {
		return nil, false, err
	}
	token := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	names := append(inUser, inPassword...)
	if len(names) > 0 {
		x.secrets.hide(names[len(names)-1], token)
	}
	h["Authorization"] = []string{"Basic " + token}
	return h, held || len(names) > 0, nil
}

// open replaces the placeholders in a text by the values, each only after it
// has been asked whether the tool may send that secret to this host.
func (x *httpExchange) open(ctx context.Context, text string) (opened string, names []string, err error) {
	if !strings.Contains(text, secretMark) {
		return text, nil, nil
	}
	if strings.Contains(secretPlaceholder.ReplaceAllLiteralString(text, ""), secretMark) {
		return "", nil, tool.Errorf(tool.Denied, "what begins with %s is not a secret's placeholder", secretMark).
			WithHint(`put there what secret("NAME") gives`)
	}
	opened = secretPlaceholder.ReplaceAllStringFunc(text, func(placeholder string) string {
		name := secretPlaceholder.FindStringSubmatch(placeholder)[1]
		if err == nil {
			err = httpAllowed(x.grant, tool.Capability{Name: "secret", Target: name + "@" + x.url.Host})
		}
		if err != nil {
			return ""
		}
		var value string
		value, err = x.secrets.open(ctx, name)
		names = append(names, name)
		return value
	})
	if err != nil {
		return "", nil, err
	}
	return opened, names, nil
}

// addParams puts the query together, and reports whether a secret is in it.
func (x *httpExchange) addParams(ctx context.Context, params *tool.Dict) (held bool, err error) {
	opened := &tool.Dict{}
	for k, v := range params.All() {
		text, _ := v.(string)
		if name := secretPlaceholder.FindString(text); name != "" && name == text {
			if v, _, err = x.open(ctx, text); err != nil {
				return false, err
			}
			held = true
		}
		if err := opened.Set(k, v); err != nil {
			return false, tool.AsError(err, tool.Invalid)
		}
	}
	query, err := urlQuery(opened)
	if err != nil {
		return false, err
	}
	if strings.Contains(query, secretMarkEncoded) {
		return false, httpNoSecret("within a value of params: only as the whole of it")
	}
	if x.url.RawQuery != "" && query != "" {
		query = "&" + query
	}
	if x.url.RawQuery += query; len(x.url.String()) > httpMaxURL {
		return false, httpLimit("the URL is longer than %d KB", httpMaxURL>>10)
	}
	return held, nil
}

// redirect turns the exchange to where an answer points, if the call may ask
// there too.
func (x *httpExchange) redirect(status int, location string) error {
	resolved, err := x.url.Parse(location)
	if err != nil {
		return tool.Errorf(tool.Failed, "%s redirects to what is not a URL", x.url.name)
	}
	next, err := httpParse(resolved.String())
	if err != nil {
		return x.redirectError(err)
	}
	if x.url.Scheme == "https" && next.Scheme != "https" {
		return x.redirectError(tool.Errorf(tool.Denied, "from https to http, where others can read along"))
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
			return x.redirectError(tool.Errorf(tool.Denied, "to %s with a secret in the URL", next.name))
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
	e := *tool.ErrorOf(err, tool.Denied)
	e.Op, e.Err = "", errors.New(x.url.name+" redirects: "+e.Message())
	return &e
}

// httpAllowed asks whether the call may use a capability.
func httpAllowed(g tool.Grant, c tool.Capability) error {
	if g.Check == nil {
		return tool.Errorf(tool.Denied, "%s is not granted", c)
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
	var ours *tool.Error
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	host := x.url.name
	switch {
	case errors.As(err, &ours):
		return ours
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &cert):
		return tool.Errorf(tool.Unavailable, "the certificate of %s is not one to trust: %s", host, httpWords(cert.Err))
	case errors.As(err, &record):
		return tool.Errorf(tool.Unavailable, "%s does not speak https there", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return tool.Errorf(tool.Unavailable, "%s refuses the connection", host)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return tool.Errorf(tool.Unavailable, "%s broke off its answer", host)
	case strings.Contains(err.Error(), "headers exceeded"):
		return httpLimit("%s answered with a header of more than %d KB", host, httpMaxHead>>10)
	}
	return tool.Errorf(tool.Unavailable, "no answer from %s: %s", host, httpWords(err))
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
	if short := textHead(text, most); short != text {
		return short + "…"
	}
	return text
}

func httpLimit(format string, args ...any) *tool.Error {
	e := tool.Errorf(tool.Limit, format, args...)
	e.Limit = tool.LimitHTTP
	return e
}

// httpTimeout is the error of an exchange that was not over in time.
func httpTimeout(after time.Duration) *tool.Error {
	e := tool.Errorf(tool.Timeout, "there was no whole answer within %v", after)
	e.Limit = tool.LimitHTTP
	return e
}
