package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// loopback is what lets tests reach their own servers.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}

// A testNet is a network in which every name leads to one server of the test, and what
// makes requests in it.
type testNet struct {
	*rowtest.Caller
	net    *Network
	mu     sync.Mutex
	names  map[string][]string // addresses that a name leads to, one lookup after the other; "*" is any
	asked  []string            // the names that were looked up
	dialed []string            // the addresses that were connected to, after control allowed them
	to     map[string]string   // where a port of the outside leads: "80" → 127.0.0.1:41234
}

// newTestNet makes a network of the test's own. Control is asked as the system's dialer
// asks it, and then the connection goes to a server of the test.
func newTestNet(t testing.TB, o *Options) *testNet {
	t.Helper()
	n, err := New(o)
	rowtest.NoError(t, err)
	d := &testNet{net: n, names: map[string][]string{"*": {"93.184.215.14"}}, to: map[string]string{}}
	n.lookup, n.connect = d.lookup, d.connect
	n.own = func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("8.8.4.4")}, nil }
	d.Caller = &rowtest.Caller{T: t, Modules: []tool.Module{n.Module(), n.secrets.Module()}}
	d.Grant("http", "secret")
	return d
}

func (d *testNet) lookup(_ context.Context, name string) ([]netip.Addr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = strings.TrimSuffix(name, ".")
	d.asked = append(d.asked, name)
	list, ok := d.names[name]
	if !ok {
		list = d.names["*"]
	}
	if len(list) == 0 {
		return nil, &net.DNSError{Name: name, IsNotFound: true}
	}
	if len(list) > 1 {
		d.names[name] = list[1:]
	}
	var addrs []netip.Addr
	for text := range strings.FieldsSeq(list[0]) {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

func (d *testNet) connect(ctx context.Context, network, address string, control func(network, address string) error) (net.Conn, error) {
	if err := control(network, address); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	_, port, _ := net.SplitHostPort(address)
	d.mu.Lock()
	d.dialed = append(d.dialed, address)
	to, ok := d.to[port]
	d.mu.Unlock()
	if !ok {
		return nil, errors.New("the test has no server there")
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", to)
}

// serve has a port of the outside lead to a handler.
func (d *testNet) serve(port string, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	d.T.(testing.TB).Cleanup(s.Close)
	d.to[port] = s.Listener.Addr().String()
	return s
}

// never is a server that must not be reached.
func (d *testNet) never(port string) {
	d.serve(port, func(_ http.ResponseWriter, r *http.Request) {
		d.T.Errorf("%s %s%s reached the server", r.Method, r.Host, r.URL)
	})
}

// answer calls a row and returns the dict that it gives.
func (d *testNet) answer(row string, args ...value.Value) *value.Dict {
	d.T.Helper()
	return d.Must(row, args...).(*value.Dict)
}

func sends(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s) }
}

func TestHTTPAnswer(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	var asked []string
	d.serve("80", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, fmt.Sprintf("%s %s%s %s %s", r.Method, r.Host, r.URL, r.Header.Get("Content-Type"), body))
		if r.Header.Get("User-Agent") != "cassidy" || r.Header.Get("Accept-Encoding") != "gzip" || r.Header.Get("Referer") != "" {
			t.Errorf("the header is %v", r.Header)
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Add("X-Two", "a")
		w.Header().Add("X-Two", "b")
		w.Header()["Date"] = nil
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
		io.WriteString(w, `{"b": 1, "a": [true, null]}`)
	})
	got := d.answer("http.get", "url", "http://Example.com/a b?q=1 2", "params", value.NewDict("n", int64(3), "list", value.List{"ä", "&"}))
	want := value.NewDict(
		"status", 200, "ok", true, "url", "http://example.com/a%20b?q=1%202&n=3&list=%C3%A4&list=%26",
		"headers", value.NewDict("content-length", "27", "content-type", "application/json; charset=utf-8", "x-two", "a, b"),
		"text", `{"b": 1, "a": [true, null]}`, "bytes", nil,
		"json", value.NewDict("b", 1, "a", value.List{true, nil}))
	if diff := cmp.Diff(value.FormatJSON(want, " "), value.FormatJSON(got, " ")); diff != "" {
		t.Errorf("http.get (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		row    string
		args   []value.Value
		status int64
		want   string
	}{
		{"http.get", []value.Value{"url", "http://example.com/missing"}, 404, "GET example.com/missing  "},
		{"http.head", []value.Value{"url", "http://example.com"}, 200, "HEAD example.com/  "},
		{"http.post", []value.Value{"url", "http://example.com/", "json", value.NewDict("a", value.List{int64(1)})}, 200, `POST example.com/ application/json {"a":[1]}`},
		{"http.post", []value.Value{"url", "http://example.com/", "form", value.NewDict("a", "1 &", "b", int64(2))}, 200, "POST example.com/ application/x-www-form-urlencoded a=1+%26&b=2"},
		{"http.put", []value.Value{"url", "http://example.com/", "body", []byte{0xff}, "headers", value.NewDict("content-type", "x/y")}, 200, "PUT example.com/ x/y \xff"},
		{"http.patch", []value.Value{"url", "http://example.com/", "json", false}, 200, "PATCH example.com/ application/json false"},
		{"http.delete", []value.Value{"url", "http://example.com/"}, 200, "DELETE example.com/  "},
		{"http.request", []value.Value{"method", "put", "url", "http://example.com/", "body", ""}, 200, "PUT example.com/  "},
	} {
		asked = nil
		got := d.answer(tt.row, tt.args...)
		if len(asked) != 1 || asked[0] != tt.want {
			t.Errorf("%s(%v) asked %q, want %q", tt.row, tt.args, asked, tt.want)
		}
		if got.Int("status") != tt.status || got.Bool("ok") != (tt.status < 400) {
			t.Errorf("%s(%v) = %s, want status %d", tt.row, tt.args, got, tt.status)
		}
	}
	if slices.ContainsFunc(d.dialed, func(a string) bool { return a != "93.184.215.14:80" }) {
		t.Errorf("dialed %v", d.dialed)
	}
}

func TestHTTPBodies(t *testing.T) {
	t.Parallel()
	packed := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, s)
		z.Close()
		return b.String()
	}
	for _, tt := range []struct {
		name, kind, encoding, body string
		text, bytes, json          value.Value
	}{
		{"nothing", "", "", "", "", nil, nil},
		{"text", "text/plain", "", "grüß", "grüß", nil, nil},
		{"latin-1 by its charset", "text/plain; charset=ISO-8859-1", "", "gr\xfc\xdf \x80", "grüß €", nil, nil},
		{"an old page that does not say", "text/html", "", "gr\xfc\xdf", "grüß", nil, nil},
		{"an image", "image/png", "", "\x89PNG\x00", nil, []byte("\x89PNG\x00"), nil},
		{"zeros", "text/plain", "", "a\x00b", nil, []byte("a\x00b"), nil},
		{"json by its type", "application/problem+json", "", `"x"`, `"x"`, nil, "x"},
		{"json by its look", "text/plain", "", "\ufeff [1]", "\ufeff [1]", nil, value.List{int64(1)}},
		{"broken json", "application/json", "", "{", "{", nil, nil},
		{"deep json", "application/json", "", strings.Repeat("[", 1000), strings.Repeat("[", 1000), nil, nil},
		{"packed", "text/plain", "gzip", packed("hello"), "hello", nil, nil},
		{"packed nothing", "text/plain", "gzip", "", "", nil, nil},
		{"not a type", ";;;", "", "x", "x", nil, nil},
	} {
		d := newTestNet(t, nil)
		d.serve("80", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{tt.kind}
			if tt.encoding != "" {
				w.Header().Set("Content-Encoding", tt.encoding)
			}
			io.WriteString(w, tt.body)
		})
		a := d.answer("http.get", "url", "http://example.com/")
		got := value.List{row.Arg(a, "text"), row.Arg(a, "bytes"), row.Arg(a, "json")}
		if want := (value.List{tt.text, tt.bytes, tt.json}); !value.Equal(got, want) {
			t.Errorf("%s: %s, want %s", tt.name, value.FormatJSON(got, ""), value.FormatJSON(want, ""))
		}
	}
	for _, tt := range []struct{ encoding, body, want string }{
		{"gzip", "not packed at all", "invalid compressed data"},
		{"gzip", packed("hello, hello, hello")[:25], "the connection was closed early"},
		{"gzip, gzip", packed(packed("x")), "unsupported content encoding gzip, gzip"},
		{"br", "x", "unsupported content encoding br"},
	} {
		d := newTestNet(t, nil)
		d.serve("80", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", tt.encoding)
			io.WriteString(w, tt.body)
		})
		if _, err := d.Call("http.get", "url", "http://example.com/"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %q: %v, want %q", tt.encoding, tt.body, err, tt.want)
		}
	}
}

func TestHTTPWrongUse(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	d.never("80")
	const u = "http://example.com/"
	for _, tt := range []struct {
		kind value.Kind
		says string
		row  string
		args []value.Value
	}{
		{value.Invalid, "incomplete URL", "http.get", []value.Value{"url", "example.com/x"}},
		{value.Invalid, "incomplete URL", "http.get", []value.Value{"url", ""}},
		{value.Invalid, "incomplete URL", "http.get", []value.Value{"url", "//example.com/"}},
		{value.Invalid, "incomplete URL", "http.get", []value.Value{"url", "http:example.com"}},
		{value.Invalid, "incomplete URL", "http.get", []value.Value{"url", "https:///x"}},
		{value.Invalid, "invalid URL", "http.get", []value.Value{"url", "http://exa mple.com/"}},
		{value.Invalid, "invalid URL", "http.get", []value.Value{"url", " http://example.com/"}},
		{value.Invalid, "invalid URL", "http.get", []value.Value{"url", "http://example.com/\n"}},
		{value.Invalid, "from 1 to 65535", "http.get", []value.Value{"url", "http://example.com:0/"}},
		{value.Invalid, "from 1 to 65535", "http.get", []value.Value{"url", "http://example.com:65616/"}},
		{value.Limit, "longer than 8 KB", "http.get", []value.Value{"url", u + strings.Repeat("x", 9000)}},
		{value.Limit, "longer than 8 KB", "http.get", []value.Value{"url", u, "params", value.NewDict("x", strings.Repeat("ä", 3000))}},
		{value.Invalid, "unsupported method", "http.request", []value.Value{"url", u, "method", "TRACE"}},
		{value.Invalid, "unsupported method", "http.request", []value.Value{"url", u, "method", "GET /x HTTP/1.1\r\nHost: evil\r\n"}},
		{value.Invalid, "cannot have a body", "http.request", []value.Value{"url", u, "method", "get", "body", "x"}},
		{value.Invalid, "are mutually exclusive", "http.post", []value.Value{"url", u, "json", int64(1), "body", "x"}},
		{value.Invalid, "should be string or bytes", "http.post", []value.Value{"url", u, "body", int64(1)}},
		{value.Invalid, "user name and the password", "http.get", []value.Value{"url", u, "auth", value.List{"me"}}},
		{value.Invalid, "colon", "http.get", []value.Value{"url", u, "auth", value.List{"me:you", "x"}}},
		{value.Invalid, "'auth' and the header", "http.get", []value.Value{"url", u, "auth", value.List{"me", "x"}, "headers", value.NewDict("authorization", "x")}},
		{value.Invalid, "'timeout' should be", "http.get", []value.Value{"url", u, "timeout", int64(0)}},
		{value.Invalid, "'timeout' should be", "http.get", []value.Value{"url", u, "timeout", int64(-1)}},
		{value.Invalid, "'timeout' should be", "http.get", []value.Value{"url", u, "timeout", int64(61)}},
		{value.Invalid, "duplicate header", "http.get", []value.Value{"url", u, "headers", value.NewDict("a", "1", "A", "2")}},
		{value.Invalid, "should be a string", "http.get", []value.Value{"url", u, "headers", value.NewDict("a", value.List{})}},
		{value.Invalid, "list of them", "http.get", []value.Value{"url", u, "params", value.NewDict("a", value.NewDict())}},
		{value.Limit, "longer than 8 MB", "http.post", []value.Value{"url", u, "body", make([]byte, maxBody+1)}},
	} {
		d.Fails(tt.kind, tt.says, tt.row, tt.args...)
	}
	if len(d.asked) > 0 {
		t.Errorf("names were looked up: %v", d.asked)
	}
}

func TestHTTPUnreachable(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	d.names["nowhere.example"] = nil
	d.Fails(value.Unavailable, "host not found: nowhere.example", "http.get", "url", "http://nowhere.example/")
	d.Fails(value.Unavailable, "no server there", "http.get", "url", "http://example.com:81/")
	d.serve("80", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
	})
	d.Fails(value.Unavailable, "the connection was closed early", "http.get", "url", "http://example.com/")
	d.serve("80", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		io.WriteString(conn, "\x1b[2JSSH-2.0\r\n\r\n")
		conn.Close()
	})
	_, err := d.Call("http.get", "url", "http://example.com/")
	rowtest.Wrong(t, err, value.Unavailable, "malformed", "no HTTP")
	if strings.Contains(err.Error(), "\x1b") {
		t.Errorf("the error %q holds a control character", err)
	}
	d.serve("443", sends("x"))
	d.Fails(value.Unavailable, "does not support https", "http.get", "url", "https://example.com/")

	own := newTestNet(t, &Options{Private: loopback})
	own.net.connect = connectTo
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	rowtest.NoError(t, err)
	closed := listener.Addr().String()
	rowtest.NoError(t, listener.Close())
	own.Fails(value.Unavailable, "connection refused", "http.get", "url", "http://"+closed)
	own.net.ReplacePrivate(nil)
	own.Fails(value.Denied, "127.0.0.1 belongs to this machine", "http.get", "url", "http://"+closed)
}

// TestHTTPUnsent checks which failures are marked as ones of requests that never left.
func TestHTTPUnsent(t *testing.T) {
	t.Parallel()
	plain := func(t *testing.T) *testNet { return newTestNet(t, nil) }
	wrapped := func(trip func(http.RoundTripper, *http.Request) (*http.Response, error)) func(*testing.T) *testNet {
		return func(t *testing.T) *testNet { return newTestNet(t, &Options{HTTP: around(trip)}) }
	}
	breaks := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
	}
	for _, c := range []struct {
		name   string
		net    func(*testing.T) *testNet
		serve  func(*testNet)
		url    string
		unsent bool
	}{
		{"refused", plain, func(*testNet) {}, "http://example.com/", true},
		{"an unknown host", plain, func(d *testNet) { d.names["*"] = nil }, "http://example.com/", true},
		{"no TLS", plain, func(d *testNet) { d.serve("443", sends("x")) }, "https://example.com/", true},
		{"an untrusted certificate", plain, func(d *testNet) { d.to["443"] = newTLSNet(t, nil, sends("x")).to["443"] }, "https://example.com/", true},
		{"nobody accepts in time", plain, func(d *testNet) {
			ended := make(chan struct{})
			t.Cleanup(func() { close(ended) })
			d.net.connect = func(context.Context, string, string, func(string, string) error) (net.Conn, error) {
				<-ended
				return nil, net.ErrClosed
			}
		}, "http://example.com/", true},
		{"closed after the request", plain, func(d *testNet) { d.serve("80", breaks) }, "http://example.com/", false},
		{"no answer in time", plain, func(d *testNet) {
			d.serve("80", func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			})
		}, "http://example.com/", false},
		{"redirected to nobody", plain, func(d *testNet) {
			d.serve("80", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://example.com:81/", http.StatusTemporaryRedirect)
			})
		}, "http://example.com/", false},
		{"through a transport", wrapped(func(base http.RoundTripper, r *http.Request) (*http.Response, error) { return base.RoundTrip(r) }),
			func(*testNet) {}, "http://example.com/", true},
		{"a failure of the transport", wrapped(func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
			_, _ = base.RoundTrip(r)
			return nil, value.Errorf(value.Unavailable, "the relay broke")
		}), func(*testNet) {}, "http://example.com/", false},
		{"a transport that tries twice", wrapped(func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
			_, _ = base.RoundTrip(r)
			again := r.Clone(r.Context())
			again.URL.Host = "example.com:81"
			return base.RoundTrip(again)
		}), func(d *testNet) { d.serve("80", breaks) }, "http://example.com/", false},
		{"a transport with a request of its own", wrapped(func(base http.RoundTripper, r *http.Request) (*http.Response, error) {
			own, _ := http.NewRequest("POST", r.URL.String(), strings.NewReader("x"))
			return base.RoundTrip(own)
		}), func(d *testNet) { d.serve("80", breaks) }, "http://example.com/", false},
	} {
		d := c.net(t)
		c.serve(d)
		_, err := d.Call("http.post", "url", c.url, "body", "x", "timeout", 0.2)
		e := value.ErrorOf(err, value.Internal)
		if e == nil || e.Kind != value.Unavailable && e.Kind != value.Timeout || (e.Limit == value.LimitUnsent) != c.unsent {
			t.Errorf("%s: %v with the limit %q, want unsent: %v", c.name, err, e.Limit, c.unsent)
		}
	}
}

func TestHTTPTrust(t *testing.T) {
	t.Parallel()
	d := newTLSNet(t, nil, sends("hello"))
	untrusted := newTestNet(t, nil)
	untrusted.to["443"] = d.to["443"]
	untrusted.Fails(value.Unavailable, "request to example.com: untrusted certificate: it is signed by an unknown authority", "http.get", "url", "https://example.com/")
	if got := d.answer("http.get", "url", "https://example.com./").Text("text"); got != "hello" {
		t.Errorf("http.get = %q, want hello", got)
	}
	d.Fails(value.Unavailable, "request to other.org: untrusted certificate: it is for other hosts", "http.get", "url", "https://other.org/")
}

// TestHTTPGrants checks that each method and host is granted by itself.
func TestHTTPGrants(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	d.serve("80", sends("x"))
	d.serve("8080", sends("x"))
	for _, tt := range []struct {
		grant, row, method, url string
		ok                      bool
	}{
		{"http.get:example.com", "http.get", "", "http://example.com/", true},
		{"http.get:example.com", "http.get", "", "http://EXAMPLE.com:80/", true},
		{"http.get:example.com", "http.get", "", "http://example.com:8080/", false},
		{"http.get:example.com:8080", "http.get", "", "http://example.com:08080/", true},
		{"http.get:example.com", "http.get", "", "http://www.example.com/", false},
		{"http.get:*.example.com", "http.get", "", "http://www.example.com/", true},
		{"http.get:*.example.com", "http.get", "", "http://example.com/", false},
		{"http.get:*.example.com", "http.get", "", "http://evilexample.com/", false},
		{"http.get:example.com", "http.head", "", "http://example.com/", false},
		{"http.get:example.com", "http.post", "", "http://example.com/", false},
		{"http.get:example.com", "http.request", "POST", "http://example.com/", false},
		{"http.get:example.com", "http.request", "delete", "http://example.com/", false},
		{"http.get:example.com", "http.request", "get", "http://example.com/", true},
		{"http:example.com", "http.request", "delete", "http://example.com/", true},
		{"http.post:example.com", "http.get", "", "http://example.com/", false},
		{"http.get:[2606:4700::1111]", "http.get", "", "http://[2606:4700:0:0::1111]/", true},
		{"http.get:xn--mnchen-3ya.de", "http.get", "", "http://MÜNCHEN.de/", true},
	} {
		d.Grant(tt.grant)
		args := []value.Value{"url", tt.url}
		if tt.method != "" {
			args = append(args, "method", tt.method)
		}
		_, err := d.Call(tt.row, args...)
		if tt.ok {
			rowtest.NoError(t, err)
		} else {
			rowtest.Wrong(t, err, value.Denied, "not granted", tt.grant+" "+tt.row+" "+tt.url)
		}
	}
}

// TestHTTPRequestsAreCounted checks that each request is counted before it is sent, redirects included, and that none is
// sent beyond the limit.
func TestHTTPRequestsAreCounted(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	var sent atomic.Int32
	d.serve("80", func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/", http.StatusFound)
		}
	})
	counted, limit := 0, value.Errorf(value.Limit, "too many requests")
	d.Request = func() error {
		if counted++; counted > 4 {
			return limit
		}
		return nil
	}
	d.Must("http.get", "url", "http://example.com/moved")
	d.Must("http.get", "url", "http://example.com/")
	d.Fails(value.Limit, "too many requests", "http.get", "url", "http://example.com/moved")
	d.Fails(value.Limit, "too many requests", "http.post", "url", "http://example.com/")
	if sent.Load() != 4 || counted != 6 {
		t.Errorf("%d requests were sent and %d counted, want 4 and 6", sent.Load(), counted)
	}
}

// TestHTTPTurns checks that a tool has at most four requests under way, that
// another tool does not wait for it, and that who waits can give up.
func TestHTTPTurns(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	arrived, release := make(chan string, 10), make(chan struct{})
	d.serve("80", func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.URL.Path
		<-release
	})
	row := d.Func("http.get")
	start := func(ctx context.Context, name, path string) chan error {
		done := make(chan error, 1)
		args, err := row.Bind(nil, value.NewDict("url", "http://example.com/"+path))
		rowtest.NoError(t, err)
		go func() {
			_, err := row.Do(ctx, tool.Effect{Args: args}, tool.Grant{Call: tool.Call{Tool: name}, Check: d.Check})
			done <- err
		}()
		return done
	}
	rowtest.Within(t, "four requests", func() {
		var all []chan error
		for range maxParallel {
			all = append(all, start(t.Context(), "greedy", "first"))
		}
		for range maxParallel {
			<-arrived
		}
		waiting, stop := context.WithCancel(t.Context())
		fifth := start(waiting, "greedy", "fifth")
		all = append(all, start(t.Context(), "modest", "other"))
		if got := <-arrived; got != "/other" {
			t.Errorf("%s arrived, want /other", got)
		}
		stop()
		rowtest.Wrong(t, <-fifth, value.Canceled, "the call was cancelled", "the fifth request")
		close(release)
		for _, done := range all {
			rowtest.NoError(t, <-done)
		}
	})
	if n := len(d.net.queues.byTool); n != 0 {
		t.Errorf("%d queues are left, want 0", n)
	}
}

// TestHTTPEnds checks that no request outlives its context, wherever it hangs.
func TestHTTPEnds(t *testing.T) {
	t.Parallel()
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	slow := func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	for name, set := range map[string]func(d *testNet){
		"lookup": func(d *testNet) {
			d.net.lookup = func(ctx context.Context, _ string) ([]netip.Addr, error) { <-ctx.Done(); return nil, ctx.Err() }
		},
		"connect": func(d *testNet) {
			d.net.connect = func(ctx context.Context, _, _ string, _ func(network, address string) error) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		},
		"header": func(d *testNet) { d.serve("80", hang) },
		"body":   func(d *testNet) { d.serve("80", slow) },
		"tls": func(d *testNet) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			rowtest.NoError(t, err)
			t.Cleanup(func() { listener.Close() })
			d.to["443"] = listener.Addr().String()
		},
	} {
		d := newTestNet(t, nil)
		set(d)
		url := "http://example.com/"
		if name == "tls" {
			url = "https://example.com/"
		}
		rowtest.Within(t, name, func() {
			d.Fails(value.Timeout, "no complete response within 50ms", "http.get", "url", url, "timeout", 0.05)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := d.Run(ctx, "http.get", "url", url)
			rowtest.Wrong(t, err, value.Canceled, "the call was cancelled", name)
			ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err = d.Run(ctx, "http.get", "url", url)
			rowtest.Wrong(t, err, value.Timeout, "the call timed out", name)
		})
	}
}

// TestHTTPAgainstTheSystem checks the parts that the other tests replace: the
// system's dialer asks about the address, and the resolver is the system's.
func TestHTTPAgainstTheSystem(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(sends("hello"))
	defer server.Close()
	at := server.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(at)

	open := newTestNet(t, &Options{Private: loopback})
	open.net.connect, open.net.lookup, open.net.own = connectTo, lookupHost, ownAddresses
	for _, host := range []string{at, "localhost:" + port, "[::ffff:127.0.0.1]:" + port, "a.localhost:" + port, "①②⑦.⓪.⓪.①:" + port} {
		if got := open.answer("http.get", "url", "http://"+host).Text("text"); got != "hello" {
			t.Errorf("http.get(%s) = %q, want hello", host, got)
		}
	}
	shut := newTestNet(t, nil)
	number, _ := strconv.ParseUint(port, 10, 16)
	u, err := parseURL("http://example.com:" + port)
	rowtest.NoError(t, err)
	dialer := hostDialer{net: shut.net, url: u}
	asked := ""
	conn, err := connectTo(t.Context(), "tcp4", at, func(network, address string) error {
		asked = network + " " + address
		return dialer.control(network, address)
	})
	if err == nil {
		conn.Close()
	}
	rowtest.Wrong(t, err, value.Denied, "this machine", "dialing "+at)
	if want := fmt.Sprintf("tcp4 127.0.0.1:%d", number); asked != want {
		t.Errorf("control was asked about %q, want %q", asked, want)
	}
	own, err := ownAddresses()
	if err != nil || !slices.Contains(own, netip.MustParseAddr("127.0.0.1")) {
		t.Errorf("this machine's addresses are %v, %v, want 127.0.0.1 among them", own, err)
	}
}

// TestH08ProxyOfTheEnvironment checks that the environment's proxy sees nothing.
func TestH08ProxyOfTheEnvironment(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the proxy got %s %s", r.Method, r.RequestURI) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	t.Setenv("NO_PROXY", "")
	if os.Getenv("HTTP_PROXY") == "" {
		t.Fatal("the environment has no proxy")
	}
	d := newTestNet(t, nil)
	d.serve("80", sends("direct"))
	d.serve("443", sends("direct"))
	if got := d.answer("http.get", "url", "http://example.com/").Text("text"); got != "direct" {
		t.Errorf("http.get = %q, want direct", got)
	}
	d.Fails(value.Unavailable, "does not support https", "http.get", "url", "https://example.com/")
	if want := []string{"93.184.215.14:80", "93.184.215.14:443"}; !slices.Equal(d.dialed, want) {
		t.Errorf("dialed %v, want %v", d.dialed, want)
	}
}

// newTLSNet makes a network with a server on port 443 whose certificate, for
// example.com, it trusts.
func newTLSNet(t testing.TB, o *Options, h http.HandlerFunc) *testNet {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshakes that are to fail
	server.StartTLS()
	t.Cleanup(server.Close)
	if o == nil {
		o = &Options{}
	}
	o.Roots = x509.NewCertPool()
	o.Roots.AddCert(server.Certificate())
	d := newTestNet(t, o)
	d.to["443"] = server.Listener.Addr().String()
	return d
}

// TestHTTPLeavesNothing checks that requests, however they end, leave no
// goroutine behind, and no count of a call that is over.
func TestHTTPLeavesNothing(t *testing.T) {
	d := newTestNet(t, nil)
	stop := make(chan struct{})
	d.serve("80", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang":
			select {
			case <-r.Context().Done():
			case <-stop:
			}
		case "/long":
			io.Copy(w, io.LimitReader(zeroReader{}, maxBody+1))
		case "/moved":
			http.Redirect(w, r, "http://127.0.0.1/", http.StatusFound)
		}
	})
	d.Must("http.get", "url", "http://example.com/")
	before := runtime.NumGoroutine()
	for _, path := range []string{"/", "/hang", "/long", "/moved", "/hang", "/"} {
		timeout := 10.0
		if path == "/hang" {
			timeout = 0.05
		}
		_, err := d.Call("http.get", "url", "http://example.com"+path, "timeout", timeout)
		if path == "/" {
			rowtest.NoError(t, err)
		}
	}
	close(stop)
	rowtest.Within(t, "the end of what requests started", func() {
		for runtime.NumGoroutine() > before+1 { // one runs this
			runtime.Gosched()
		}
	})
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { return len(p), nil }

// TestHTTPKey checks which requests carry the key of their effect, and where a
// redirect takes it.
func TestHTTPKey(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	var sent []string
	d.serve("80", func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method+" "+r.Host+" "+strings.Join(r.Header.Values("Idempotency-Key"), ", "))
		if to := r.URL.Query().Get("to"); to != "" {
			code, _ := strconv.Atoi(r.URL.Query().Get("code"))
			w.Header().Set("Location", to)
			w.WriteHeader(code)
		}
	})
	own := value.NewDict("idempotency-key", `"mine"`)
	for _, tt := range []struct {
		row, key string
		args     []value.Value
		want     []string
	}{
		{"http.post", "r1/2.0", nil, []string{`POST a.com "r1/2.0"`}},
		{"http.put", "k", nil, []string{`PUT a.com "k"`}},
		{"http.patch", "k", nil, []string{`PATCH a.com "k"`}},
		{"http.delete", "k", nil, []string{`DELETE a.com "k"`}},
		{"http.request", "k", []value.Value{"method", "post"}, []string{`POST a.com "k"`}},
		{"http.post", `a"b\c`, nil, []string{`POST a.com "a\"b\\c"`}},
		{"http.get", "k", nil, []string{"GET a.com "}},
		{"http.head", "k", nil, []string{"HEAD a.com "}},
		{"http.request", "k", []value.Value{"method", "get"}, []string{"GET a.com "}},
		{"http.post", "", nil, []string{"POST a.com "}},
		{"http.post", "k", []value.Value{"headers", own}, []string{`POST a.com "mine"`}},
		{"http.post", "", []value.Value{"headers", own}, []string{`POST a.com "mine"`}},
		{"http.post", "k", []value.Value{"params", value.NewDict("to", "/b", "code", 307)}, []string{`POST a.com "k"`, `POST a.com "k"`}},
		{"http.post", "k", []value.Value{"params", value.NewDict("to", "/b", "code", 303)}, []string{`POST a.com "k"`, "GET a.com "}},
		{"http.post", "k", []value.Value{"params", value.NewDict("to", "http://b.com", "code", 307)}, []string{`POST a.com "k"`, "POST b.com "}},
	} {
		sent = nil
		f := d.Func(tt.row)
		args, err := f.Bind(nil, value.NewDict(append([]value.Value{"url", "http://a.com/"}, tt.args...)...))
		rowtest.NoError(t, err)
		if _, err = f.Do(context.Background(), tool.Effect{Func: tt.row, Args: args}, tool.Grant{Check: d.Check, Key: tt.key}); err != nil {
			t.Errorf("%s(%v): %v", tt.row, tt.args, err)
		}
		if !slices.Equal(sent, tt.want) {
			t.Errorf("%s(%v) with the key %q sent %q, want %q", tt.row, tt.args, tt.key, sent, tt.want)
		}
	}
}
