package stdlib

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// An httpBase is the transport below [Options].HTTP. It checks each address as
// it connects, and only it puts the values of secrets into a request, in a copy:
// what is above it, as a transport that logs, sees placeholders.
type httpBase struct {
	net     *httpNet
	secrets *secretBox
}

// An httpPermit says which secrets a request may carry, and where. It is in the
// context of the request and does not change.
type httpPermit struct {
	host  string   // as capabilities name it: the program's transport may change the URL
	names []string // the secrets that were granted for host
	query bool     // the query may hold them
	basic string   // the header Authorization that stands for auth, or ""
	auth  []string // user and password, with placeholders
}

type httpPermitKey struct{}

// RoundTrip implements [http.RoundTripper]. Each request gets a connection of its
// own. No proxy of the environment is asked, and nothing is kept for the next:
// neither connections nor cookies nor sessions.
func (b *httpBase) RoundTrip(req *http.Request) (*http.Response, error) {
	out, dialer, err := b.opened(req)
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	transport := &http.Transport{
		DialContext:            dialer.dial,
		TLSClientConfig:        &tls.Config{RootCAs: b.net.roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 does all that a script can use
		DisableKeepAlives:      true,
		DisableCompression:     true, // what is unpacked is counted, see httpReadBody
		MaxResponseHeaderBytes: httpMaxHead,
	}
	resp, err := transport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	resp.Request = req // without the values of secrets
	resp.Body = &httpBounded{resp.Body, httpMaxBody}
	return resp, nil
}

// opened returns a copy of the request with the values of secrets where it has
// placeholders, and what connects to its host.
func (b *httpBase) opened(req *http.Request) (*http.Request, *httpDialer, error) {
	if req.URL == nil {
		return nil, nil, value.Errorf(value.Invalid, "a request without a URL")
	}
	to, err := httpParse(req.URL.String())
	if err != nil {
		return nil, nil, err
	}
	ctx := req.Context()
	permit, _ := ctx.Value(httpPermitKey{}).(*httpPermit)
	if permit == nil {
		permit = &httpPermit{}
	}
	out := req.WithContext(ctx)
	held := false
	open := func(text string) (value string, err error) {
		value, names, err := permit.open(ctx, b.secrets, to.Host, text)
		held = held || len(names) > 0
		return value, err
	}
	if out.Header, err = permit.header(b.secrets, req.Header, open); err != nil {
		return nil, nil, err
	}
	if permit.query && strings.Contains(req.URL.RawQuery, secretMarkEncoded) {
		u := *req.URL
		u.RawQuery = secretInQuery().ReplaceAllStringFunc(u.RawQuery, func(encoded string) string {
			value, failed := open(secretMark + secretInQuery().FindStringSubmatch(encoded)[1] + "}}")
			if err == nil {
				err = failed
			}
			return url.QueryEscape(value)
		})
		if err == nil && len(u.String()) > row.MaxURL {
			err = httpLimit("the URL is longer than %d KB", row.MaxURL>>10)
		}
		if err != nil {
			return nil, nil, err
		}
		out.URL = &u
	}
	return out, &httpDialer{net: b.net, url: to, trusted: held && to.Scheme == "http"}, nil
}

// secretInQuery is a placeholder as it is encoded in a query.
var secretInQuery = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`%7B%7Bsecret%3A([A-Za-z0-9_][A-Za-z0-9_.-]{0,99})%7D%7D`)
})

// header returns a copy of a header with the values of secrets.
func (p *httpPermit) header(secrets *secretBox, given http.Header, open func(string) (string, error)) (http.Header, error) {
	h := given.Clone()
	for name, values := range h {
		for i, v := range values {
			var err error
			if name == "Authorization" && p.basic != "" && v == p.basic {
				values[i], err = p.authorization(secrets, open)
			} else {
				values[i], err = open(v)
			}
			if err != nil {
				return nil, err
			}
			if values[i] != v && !httpPlain(values[i]) {
				return nil, value.Errorf(value.Failed, "the secret in the header %s holds characters that a header cannot", name)
			}
		}
	}
	return h, nil
}

// authorization returns the header for basic authentication.
func (p *httpPermit) authorization(secrets *secretBox, open func(string) (string, error)) (string, error) {
	user, err := open(p.auth[0])
	if err != nil {
		return "", err
	}
	password, err := open(p.auth[1])
	if err != nil {
		return "", err
	}
	token := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	names := secretNames(p.auth[0] + p.auth[1])
	secrets.hide(names[len(names)-1], token)
	return "Basic " + token, nil
}

// open replaces the placeholders in a text by the values.
func (p *httpPermit) open(ctx context.Context, secrets *secretBox, host, text string) (opened string, names []string, err error) {
	names = secretNames(text)
	if len(names) == 0 {
		return text, nil, nil
	}
	values := map[string]string{}
	for _, name := range names {
		if host != p.host || !slices.Contains(p.names, name) {
			return "", nil, value.Errorf(value.Denied, "the secret %s was not granted for %s", name, host)
		}
		if values[name], err = secrets.open(ctx, name); err != nil {
			return "", nil, err
		}
	}
	return secretPlaceholder().ReplaceAllStringFunc(text, func(placeholder string) string {
		return values[secretPlaceholder().FindStringSubmatch(placeholder)[1]]
	}), names, nil
}

// secretNames returns the names of the secrets whose placeholders are in a text.
func secretNames(text string) (names []string) {
	if !strings.Contains(text, secretMark) {
		return nil
	}
	for _, found := range secretPlaceholder().FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	return names
}

// roundTrip makes a request through the transport of the program, or the base. It
// returns when ctx ends.
func (n *httpNet) roundTrip(ctx context.Context, req *http.Request) (*http.Response, error) {
	if n.wrapped == nil {
		return n.base.RoundTrip(req)
	}
	resp, err := row.Await(ctx, httpOption, func() (*http.Response, error) { return n.wrapped.RoundTrip(req) }, httpClose)
	switch {
	case err != nil:
		if resp != nil {
			n.discard(ctx, resp)
		}
		return nil, err
	case resp == nil:
		return nil, value.Errorf(value.Internal, "%s returned neither a response nor an error", httpOption)
	case resp.StatusCode < 100 || resp.StatusCode > 999:
		n.discard(ctx, resp)
		return nil, value.Errorf(value.Internal, "%s returned a response with the status %d", httpOption, resp.StatusCode)
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	return resp, nil
}

// httpOption names the transport of the program in errors.
const httpOption = "the transport of Options.HTTP"

// read reads the body of an answer, and closes it. It returns when ctx ends.
func (n *httpNet) read(ctx context.Context, resp *http.Response, method, host string) ([]byte, error) {
	read := func() ([]byte, error) {
		defer resp.Body.Close()
		return httpReadBody(resp, method, host)
	}
	if n.wrapped == nil {
		return read()
	}
	return row.Await(ctx, httpOption, read, nil)
}

// discard closes an answer that is not read.
func (n *httpNet) discard(ctx context.Context, resp *http.Response) {
	if n.wrapped == nil {
		httpClose(resp)
		return
	}
	_, _ = row.Await(ctx, httpOption, func() (struct{}, error) { httpClose(resp); return struct{}{}, nil }, nil)
}

func httpClose(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		resp.Body.Close()
	}
}

// An httpBounded is the body of an answer, as much of it as may be read: what
// reads all of it need not count.
type httpBounded struct {
	io.ReadCloser
	left int
}

func (b *httpBounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, httpLimit("the answer is longer than %d MB", httpMaxBody>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	b.left -= n
	return n, err
}
