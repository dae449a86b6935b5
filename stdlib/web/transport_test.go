package web

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// A trip is a transport made of a function.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// around returns Options.HTTP with a transport that gets the base, too.
func around(f func(base http.RoundTripper, r *http.Request) (*http.Response, error)) func(http.RoundTripper) http.RoundTripper {
	return func(base http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) { return f(base, r) })
	}
}

// fake returns Options.HTTP with a transport that answers itself.
func fake(f trip) func(http.RoundTripper) http.RoundTripper {
	return func(http.RoundTripper) http.RoundTripper { return f }
}

// bodyOf is a body that reads as a function does.
type bodyOf func([]byte) (int, error)

func (f bodyOf) Read(p []byte) (int, error) { return f(p) }
func (f bodyOf) Close() error               { return nil }

// TestHTTPTransportSeesPlaceholders checks that each hop goes through the program's
// transport, which sees no value of a secret, and that the server gets them.
func TestHTTPTransportSeesPlaceholders(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	var got []*http.Request
	o := &Options{Secrets: secretsOf("TOKEN", aToken, "Q", token), HTTP: around(func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
		sent := strings.Clone(r.URL.String())
		r = r.Clone(r.Context())
		r.Header.Set("X-Trace", "1")
		resp, err := base.RoundTrip(r)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, sent)
		for _, q := range []*http.Request{r, resp.Request} {
			for _, values := range q.Header {
				seen = append(seen, values...)
				plain, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(values[0], "Basic "))
				seen = append(seen, string(plain))
			}
		}
		return resp, err
	})}
	d := newTLSNet(t, o, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r)
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
			return
		}
		io.WriteString(w, r.Header.Get("X-Key"))
	})
	d.Grant("http.get:example.com", "secret:TOKEN@example.com", "secret:Q@example.com")
	a := d.answer("http.get", "url", "https://example.com/", "headers", value.NewDict("X-Key", "k {{secret:TOKEN}}"),
		"params", value.NewDict("q", "{{secret:Q}}"), "auth", value.List{"me", "{{secret:TOKEN}}"})
	if len(got) != 2 || got[0].URL.Query().Get("q") != token || got[1].URL.RawQuery != "" || a.Text("text") != "k {{secret:TOKEN}}" {
		t.Errorf("the server got %d requests, and the script %s", len(got), a)
	}
	for _, r := range got {
		if _, password, _ := r.BasicAuth(); password != aToken || r.Header.Get("X-Key") != "k "+aToken || r.Header.Get("X-Trace") != "1" {
			t.Errorf("the server got %v", r.Header)
		}
	}
	all := strings.Join(seen, "\n")
	for _, value := range []string{aToken, token, url.QueryEscape(token)} {
		if strings.Contains(all, value) {
			t.Errorf("the transport sees a value in\n%s", all)
		}
	}
	if !strings.Contains(all, "https://example.com/?q=%7B%7Bsecret%3AQ%7D%7D") || !strings.Contains(all, "me:{{secret:TOKEN}}") || !strings.Contains(all, "https://example.com/next") {
		t.Errorf("the transport sees\n%s", all)
	}
}

// TestHTTPTransportAnswers checks the answers and failures of a transport of the
// program, which get the bounds of any other.
func TestHTTPTransportAnswers(t *testing.T) {
	t.Parallel()
	ok := func(body io.Reader) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(body)}, nil
	}
	many, long := http.Header{}, http.Header{"X": {strings.Repeat("x", maxHead)}}
	for i := range maxFields + 1 {
		many.Add("X-"+string(rune('a'+i%26)), "1")
	}
	hang := make(chan struct{})
	defer close(hang)
	for name, tt := range map[string]struct {
		answer trip
		kind   value.Kind
		says   string
	}{
		"nothing":       {func(*http.Request) (*http.Response, error) { return nil, nil }, value.Internal, "neither a response nor an error"},
		"no status":     {func(*http.Request) (*http.Response, error) { return &http.Response{}, nil }, value.Internal, "with the invalid status 0"},
		"panic":         {func(*http.Request) (*http.Response, error) { panic("oh") }, value.Internal, "panicked: oh"},
		"error":         {func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") }, value.Unavailable, "no route"},
		"its own kind":  {func(*http.Request) (*http.Response, error) { return nil, value.Errorf(value.Busy, "later") }, value.Busy, "later"},
		"parked":        {func(*http.Request) (*http.Response, error) { return nil, value.Errorf(value.Parked, "later") }, value.Unavailable, "later"},
		"both":          {func(*http.Request) (*http.Response, error) { r, _ := ok(http.NoBody); return r, errors.New("no") }, value.Unavailable, "no response from example.com: no"},
		"too long":      {func(*http.Request) (*http.Response, error) { return ok(zeroReader{}) }, value.Limit, "longer than 8 MB"},
		"too many":      {func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200, Header: many}, nil }, value.Limit, "more than 200 headers"},
		"a long header": {func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200, Header: long}, nil }, value.Limit, "the headers are longer than 64 KB in total"},
		"no progress": {func(*http.Request) (*http.Response, error) {
			return ok(bodyOf(func([]byte) (int, error) { return 0, nil }))
		}, value.Unavailable, "no response"},
		"bad reader": {func(*http.Request) (*http.Response, error) {
			return ok(bodyOf(func([]byte) (int, error) { return 1 << 40, nil }))
		}, value.Internal, "panicked"},
		"hangs": {func(*http.Request) (*http.Response, error) { <-hang; return nil, nil }, value.Timeout, "no complete response within 50ms"},
		"body hangs": {func(*http.Request) (*http.Response, error) {
			return ok(bodyOf(func([]byte) (int, error) { <-hang; return 0, io.EOF }))
		}, value.Timeout, "no complete response within 50ms"},
		"redirects away": {func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"http://other.com/"}}}, nil
		}, value.Denied, "http.get:other.com is not granted"},
		"redirects for ever": {func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"/"}}}, nil
		}, value.Limit, "more than 3 redirects"},
	} {
		d := newTestNet(t, &Options{HTTP: fake(tt.answer)})
		d.Grant("http:example.com")
		timeout := 10.0
		if tt.kind == value.Timeout {
			timeout = 0.05
		}
		rowtest.Within(t, name, func() { d.Fails(tt.kind, tt.says, "http.get", "url", "http://example.com/", "timeout", timeout) })
		if len(d.dialed)+len(d.asked) > 0 {
			t.Errorf("%s: dialed %v", name, d.dialed)
		}
	}
	d := newTestNet(t, &Options{HTTP: fake(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 201, Header: http.Header{"X-Url": {r.Method + " " + r.URL.String()}}}, nil
	})})
	a := d.answer("http.get", "url", "http://example.com/a")
	headers := a.Dict("headers")
	if status := row.Arg(a, "status"); status != int64(201) || a.Text("text") != "" || headers.Text("x-url") != "GET http://example.com/a" {
		t.Errorf("the answer of a fake is %s", a)
	}
	if _, err := New(&Options{HTTP: func(http.RoundTripper) http.RoundTripper { return nil }}); value.KindOf(err) != value.Invalid {
		t.Errorf("New where HTTP returns nil: %v, want an error of kind Invalid", err)
	}
}

// TestHTTPTransportCannotWiden checks that a request goes nowhere that it may not
// where the program's transport changes it, and takes no secret elsewhere.
func TestHTTPTransportCannotWiden(t *testing.T) {
	t.Parallel()
	to := ""
	d := newTLSNet(t, &Options{Secrets: secretsOf("TOKEN", aToken, "OTHER", "other-value"), HTTP: around(func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		if name, ok := strings.CutPrefix(to, "secret "); ok {
			r.Header.Set("X-Other", "{{secret:"+name+"}}")
			return base.RoundTrip(r)
		}
		u, err := url.Parse(to)
		rowtest.NoError(t, err)
		r.URL, r.Host = u, u.Host
		return base.RoundTrip(r)
	})}, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s%s reached the server with %v", r.Host, r.URL, r.Header)
	})
	d.Grant("http:example.com", "secret:TOKEN@*.example", "secret:TOKEN@example.com")
	for _, tt := range []struct {
		to, says string
		kind     value.Kind
	}{
		{"http://127.0.0.1/", "this machine", value.Denied},
		{"http://169.254.169.254/latest", "the link-local network", value.Denied},
		{"http://127.1/", "invalid address 127.1: ambiguous form of an IPv4 address", value.Denied},
		{"ftp://example.com/", "unsupported URL scheme", value.Denied},
		{"https://me:you@example.com/", "user name or password", value.Denied},
		{"", "incomplete URL", value.Invalid},
	} {
		to = tt.to
		d.Fails(tt.kind, tt.says, "http.get", "url", "https://example.com/")
	}
	secret := []value.Value{"url", "https://example.com/", "headers", value.NewDict("X", "{{secret:TOKEN}}")}
	to = "https://other.example/"
	d.Fails(value.Denied, "the secret TOKEN is not granted for the host other.example", "http.get", secret...)
	to = "secret OTHER"
	d.Fails(value.Denied, "the secret OTHER is not granted for the host example.com", "http.get", secret...)
	d.Grant("http:example.com")
	to = "https://example.com/"
	d.Fails(value.Denied, "secret:TOKEN@example.com is not granted", "http.get", secret...)
}

// TestHTTPTransportRetries checks that a transport can ask base several times, with
// the body, and with a context of its own, that has no right to secrets.
func TestHTTPTransportRetries(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, &Options{Secrets: secretsOf("TOKEN", aToken), Private: loopback, HTTP: around(func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
		own, err := http.NewRequest("GET", "http://localhost/own", nil)
		rowtest.NoError(t, err)
		resp, err := base.RoundTrip(own)
		if err != nil {
			return nil, err
		}
		resp.Body.Close()
		own.Header.Set("X", "{{secret:TOKEN}}")
		if _, err = base.RoundTrip(own); value.KindOf(err) != value.Denied {
			t.Errorf("a secret in a request of the transport: %v, want a denial", err)
		}
		for {
			again := r.Clone(r.Context())
			again.Body, err = r.GetBody()
			rowtest.NoError(t, err)
			if resp, err = base.RoundTrip(again); err != nil || resp.StatusCode < 500 {
				return resp, err
			}
			resp.Body.Close()
		}
	})})
	var got []string
	d.serve("80", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.URL.Path+" "+string(body)+" "+r.Header.Get("X"))
		if len(got) < 4 {
			w.WriteHeader(503)
		}
	})
	d.answer("http.post", "url", "http://localhost/", "body", "hello", "headers", value.NewDict("X", "{{secret:TOKEN}}"))
	if want := []string{"/own  ", "/ hello " + aToken, "/ hello " + aToken, "/ hello " + aToken}; !slices.Equal(got, want) {
		t.Errorf("the server got %q, want %q", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Run(ctx, "http.get", "url", "http://localhost/")
	rowtest.Wrong(t, err, value.Canceled, "the call was cancelled", "a call that has ended")
}
