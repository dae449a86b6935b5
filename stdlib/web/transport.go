package web

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
	"github.com/cassidy-run/cassidy/stdlib/secret"
)

// A baseTransport is the transport below [Options.HTTP]. It checks each address as
// it connects, and only it puts the values of secrets into a request, in a copy:
// what is above it, as a transport that logs, sees placeholders.
type baseTransport struct {
	net *Network
}

// A permission names the secrets that a request may carry, and where. It is in the
// context of the request and does not change.
type permission struct {
	host  string   // as capabilities name it: the program's transport may change the URL
	names []string // the secrets that were granted for host
	query bool     // the query may hold them
	basic string   // the header Authorization that stands for auth, or ""
	auth  []string // user and password, with placeholders
}

type permissionKey struct{}

// A delivery is how far the requests of an effect have come.
type delivery struct {
	// made is set when a connection was made, with its TLS handshake if it has one: a part of
	// a request may have been sent.
	made atomic.Bool
}

type deliveryKey struct{}

// unsent reports whether nothing was sent by an effect that err has ended: the base has made
// no connection, and a program's transport returns its error.
func (d *delivery) unsent(err error) bool {
	var base *ofBase
	return !d.made.Load() && errors.As(err, &base)
}

// An ofBase is the error of a request that the base has made for an effect.
type ofBase struct{ error }

func (e *ofBase) Unwrap() error { return e.error }

// RoundTrip implements [http.RoundTripper]. Each request gets a connection of its
// own. No proxy of the environment is asked, and nothing is kept for the next:
// neither connections nor cookies nor sessions.
func (b *baseTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
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
		DisableCompression:     true, // what is unpacked is counted, see readBody
		MaxResponseHeaderBytes: maxHead,
	}
	way, _ := req.Context().Value(deliveryKey{}).(*delivery)
	if way != nil { // a request of the program's transport has none
		out = out.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { way.made.Store(true) }}))
	}
	resp, err := transport.RoundTrip(out)
	if err != nil && way != nil {
		return nil, &ofBase{err}
	}
	if err != nil {
		return nil, err
	}
	resp.Request = req // without the values of secrets
	resp.Body = &boundedBody{resp.Body, maxBody}
	return resp, nil
}

// opened returns a copy of the request with the values of secrets where it has
// placeholders, and what connects to its host.
func (b *baseTransport) opened(req *http.Request) (*http.Request, *hostDialer, error) {
	if req.URL == nil {
		return nil, nil, value.Errorf(value.Invalid, "invalid request: no URL")
	}
	to, err := parseURL(req.URL.String())
	if err != nil {
		return nil, nil, err
	}
	ctx := req.Context()
	permit, _ := ctx.Value(permissionKey{}).(*permission)
	if permit == nil {
		permit = &permission{}
	}
	out := req.WithContext(ctx)
	held := false
	open := func(text string) (value string, err error) {
		value, names, err := permit.open(ctx, b.net.secrets, to.Host, text)
		held = held || len(names) > 0
		return value, err
	}
	if out.Header, err = permit.header(b.net.secrets, req.Header, open); err != nil {
		return nil, nil, err
	}
	if permit.query && strings.Contains(req.URL.RawQuery, secret.MarkInQuery) {
		u := *req.URL
		u.RawQuery = secret.ReplaceInQuery(u.RawQuery, func(name string) string {
			value, failed := open(secret.Placeholder(name))
			if err == nil {
				err = failed
			}
			return url.QueryEscape(value)
		})
		if err == nil && len(u.String()) > row.MaxURL {
			err = limitError("the URL is longer than %d KB", row.MaxURL>>10)
		}
		if err != nil {
			return nil, nil, err
		}
		out.URL = &u
	}
	return out, &hostDialer{net: b.net, url: to, trusted: held && to.Scheme == "http"}, nil
}

// header returns a copy of a header with the values of secrets.
func (p *permission) header(secrets *secret.Box, given http.Header, open func(string) (string, error)) (http.Header, error) {
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
			if values[i] != v && !isPlain(values[i]) {
				return nil, value.Errorf(value.Failed, "header %s: the value of the secret contains invalid characters", name)
			}
		}
	}
	return h, nil
}

// authorization returns the header for basic authentication.
func (p *permission) authorization(secrets *secret.Box, open func(string) (string, error)) (string, error) {
	user, err := open(p.auth[0])
	if err != nil {
		return "", err
	}
	password, err := open(p.auth[1])
	if err != nil {
		return "", err
	}
	token := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	names := secret.Names(p.auth[0] + p.auth[1])
	secrets.Hide(names[len(names)-1], token)
	return "Basic " + token, nil
}

// open replaces the placeholders in a text by the values.
func (p *permission) open(ctx context.Context, secrets *secret.Box, host, text string) (opened string, names []string, err error) {
	names = secret.Names(text)
	if len(names) == 0 {
		return text, nil, nil
	}
	values := map[string]string{}
	for _, name := range names {
		if host != p.host || !slices.Contains(p.names, name) {
			return "", nil, value.Errorf(value.Denied, "the secret %s is not granted for the host %s", name, host)
		}
		if values[name], err = secrets.Open(ctx, name); err != nil {
			return "", nil, err
		}
	}
	return secret.Replace(text, func(name string) string { return values[name] }), names, nil
}

// roundTrip makes a request through the transport of the program, or the base. It
// returns when ctx ends.
func (n *Network) roundTrip(ctx context.Context, req *http.Request) (*http.Response, error) {
	if n.wrapped == nil {
		return n.base.RoundTrip(req)
	}
	resp, err := row.Await(ctx, transportName, func() (*http.Response, error) { return n.wrapped.RoundTrip(req) }, closeBody)
	switch {
	case err != nil:
		if resp != nil {
			n.discard(ctx, resp)
		}
		return nil, err
	case resp == nil:
		return nil, value.Errorf(value.Internal, "%s returned neither a response nor an error", transportName)
	case resp.StatusCode < 100 || resp.StatusCode > 999:
		n.discard(ctx, resp)
		return nil, value.Errorf(value.Internal, "%s returned a response with the invalid status %d", transportName, resp.StatusCode)
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	return resp, nil
}

// transportName names the transport of the program in errors.
const transportName = "the transport of Options.HTTP"

// read reads the body of an answer, and closes it. It returns when ctx ends. Memory for the body is taken before it is
// read, and waits for what other calls hold.
func (n *Network) read(ctx context.Context, resp *http.Response, method, host string) ([]byte, error) {
	var held membudget.Growing
	hold := func(n int64) error {
		err := held.To(ctx, n)
		if err != nil && !onlyReads(method) {
			return membudget.Acted("the request was sent, but its response was not read", err)
		}
		return err
	}
	length := size(resp, method)
	if n.wrapped != nil && length < 0 {
		length = maxBody // what reads it may outlast the effect, and must not take memory then
	}
	if err := hold(min(length, maxBody)); err != nil {
		n.discard(ctx, resp)
		return nil, err
	}
	if n.wrapped == nil {
		defer resp.Body.Close()
		return readBody(resp, method, host, hold)
	}
	return row.Await(ctx, transportName, func() ([]byte, error) {
		defer resp.Body.Close()
		return readBody(resp, method, host, func(int64) error { return nil })
	}, nil)
}

// discard closes an answer that is not read.
func (n *Network) discard(ctx context.Context, resp *http.Response) {
	if n.wrapped == nil {
		closeBody(resp)
		return
	}
	_, _ = row.Await(ctx, transportName, func() (struct{}, error) { closeBody(resp); return struct{}{}, nil }, nil)
}

func closeBody(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		resp.Body.Close()
	}
}

// A boundedBody is the body of an answer, as much of it as may be read: what
// reads all of it need not count.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, limitError("the response is longer than %d MB", maxBody>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	b.left -= n
	return n, err
}
