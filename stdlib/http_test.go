package stdlib

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

// A webDesk is a desk with a network in which every name leads to one server of
// the test.
type webDesk struct {
	*desk
	mu     sync.Mutex
	names  map[string][]string // addresses that a name leads to, one lookup after the other; "*" is any
	asked  []string            // the names that were looked up
	dialed []string            // the addresses that were connected to, after control allowed them
	one    bool                // all requests are of one call
	to     map[string]string   // where a port of the outside leads: "80" → 127.0.0.1:41234
}

// newWeb opens a desk whose network is the test's own. Control is asked as the
// system's dialer asks it, and then the connection goes to a server of the test.
func newWeb(t testing.TB, o *Options) *webDesk {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	d := &webDesk{desk: deskAt(t, o), names: map[string][]string{"*": {"93.184.215.14"}}, to: map[string]string{}}
	d.w.http.lookup = d.lookup
	d.w.http.connect = d.connect
	d.w.http.own = func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("8.8.4.4")}, nil }
	d.grant("http", "secret")
	return d
}

func (d *webDesk) lookup(_ context.Context, name string) ([]netip.Addr, error) {
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

func (d *webDesk) connect(ctx context.Context, network, address string, control func(network, address string) error) (net.Conn, error) {
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
func (d *webDesk) serve(port string, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	d.t.(testing.TB).Cleanup(s.Close)
	d.to[port] = s.Listener.Addr().String()
	return s
}

// never is a server that must not be reached.
func (d *webDesk) never(port string) {
	d.serve(port, func(_ http.ResponseWriter, r *http.Request) {
		d.t.Errorf("%s %s%s reached the server", r.Method, r.Host, r.URL)
	})
}

func (d *webDesk) call(name string, args ...value.Value) (value.Value, error) {
	d.t.Helper()
	d.next()
	return d.desk.call(name, args...)
}

func (d *webDesk) must(name string, args ...value.Value) value.Value {
	d.t.Helper()
	d.next()
	return d.desk.must(name, args...)
}

func (d *webDesk) fails(kind value.Kind, says, name string, args ...value.Value) {
	d.t.Helper()
	d.next()
	d.desk.fails(kind, says, name, args...)
}

// next begins the next call, which has a stage of its own.
func (d *webDesk) next() {
	if !d.one {
		d.stage = &tool.Stage{}
	}
}

// answer calls a row and returns the dict that it gives.
func (d *webDesk) answer(row string, args ...value.Value) *value.Dict {
	d.t.Helper()
	return d.must(row, args...).(*value.Dict)
}

func sends(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s) }
}

func TestHTTPAnswer(t *testing.T) {
	d := newWeb(t, nil)
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
		d := newWeb(t, nil)
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
		{"gzip", "not packed at all", "not packed as it says"},
		{"gzip", packed("hello, hello, hello")[:25], "broke off"},
		{"gzip, gzip", packed(packed("x")), "was not asked for: gzip, gzip"},
		{"br", "x", "was not asked for: br"},
	} {
		d := newWeb(t, nil)
		d.serve("80", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", tt.encoding)
			io.WriteString(w, tt.body)
		})
		if _, err := d.call("http.get", "url", "http://example.com/"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %q: %v, want %q", tt.encoding, tt.body, err, tt.want)
		}
	}
}

func TestHTTPWrongUse(t *testing.T) {
	d := newWeb(t, nil)
	d.never("80")
	const u = "http://example.com/"
	for _, tt := range []struct {
		kind value.Kind
		says string
		row  string
		args []value.Value
	}{
		{value.Invalid, "not the whole URL", "http.get", []value.Value{"url", "example.com/x"}},
		{value.Invalid, "not the whole URL", "http.get", []value.Value{"url", ""}},
		{value.Invalid, "not the whole URL", "http.get", []value.Value{"url", "//example.com/"}},
		{value.Invalid, "not the whole URL", "http.get", []value.Value{"url", "http:example.com"}},
		{value.Invalid, "not the whole URL", "http.get", []value.Value{"url", "https:///x"}},
		{value.Invalid, "not a URL", "http.get", []value.Value{"url", "http://exa mple.com/"}},
		{value.Invalid, "not a URL", "http.get", []value.Value{"url", " http://example.com/"}},
		{value.Invalid, "not a URL", "http.get", []value.Value{"url", "http://example.com/\n"}},
		{value.Invalid, "from 1 to 65535", "http.get", []value.Value{"url", "http://example.com:0/"}},
		{value.Invalid, "from 1 to 65535", "http.get", []value.Value{"url", "http://example.com:65616/"}},
		{value.Limit, "longer than 8 KB", "http.get", []value.Value{"url", u + strings.Repeat("x", 9000)}},
		{value.Limit, "longer than 8 KB", "http.get", []value.Value{"url", u, "params", value.NewDict("x", strings.Repeat("ä", 3000))}},
		{value.Invalid, "not a method", "http.request", []value.Value{"url", u, "method", "TRACE"}},
		{value.Invalid, "not a method", "http.request", []value.Value{"url", u, "method", "GET /x HTTP/1.1\r\nHost: evil\r\n"}},
		{value.Invalid, "has no body", "http.request", []value.Value{"url", u, "method", "get", "body", "x"}},
		{value.Invalid, "exclude each other", "http.post", []value.Value{"url", u, "json", int64(1), "body", "x"}},
		{value.Invalid, "should be string or bytes", "http.post", []value.Value{"url", u, "body", int64(1)}},
		{value.Invalid, "user and the password", "http.get", []value.Value{"url", u, "auth", value.List{"me"}}},
		{value.Invalid, "colon", "http.get", []value.Value{"url", u, "auth", value.List{"me:you", "x"}}},
		{value.Invalid, "both auth and", "http.get", []value.Value{"url", u, "auth", value.List{"me", "x"}, "headers", value.NewDict("authorization", "x")}},
		{value.Invalid, "timeout should be", "http.get", []value.Value{"url", u, "timeout", int64(0)}},
		{value.Invalid, "timeout should be", "http.get", []value.Value{"url", u, "timeout", int64(-1)}},
		{value.Invalid, "timeout should be", "http.get", []value.Value{"url", u, "timeout", int64(61)}},
		{value.Invalid, "twice", "http.get", []value.Value{"url", u, "headers", value.NewDict("a", "1", "A", "2")}},
		{value.Invalid, "should be text", "http.get", []value.Value{"url", u, "headers", value.NewDict("a", value.List{})}},
		{value.Invalid, "list of them", "http.get", []value.Value{"url", u, "params", value.NewDict("a", value.NewDict())}},
		{value.Limit, "longer than 8 MB", "http.post", []value.Value{"url", u, "body", make([]byte, httpMaxBody+1)}},
	} {
		d.fails(tt.kind, tt.says, tt.row, tt.args...)
	}
	if len(d.asked) > 0 {
		t.Errorf("names were looked up: %v", d.asked)
	}
}

func TestHTTPUnreachable(t *testing.T) {
	d := newWeb(t, nil)
	d.names["nowhere.example"] = nil
	d.fails(value.Unavailable, "there is no host nowhere.example", "http.get", "url", "http://nowhere.example/")
	d.fails(value.Unavailable, "no server there", "http.get", "url", "http://example.com:81/")
	d.serve("80", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
	})
	d.fails(value.Unavailable, "broke off", "http.get", "url", "http://example.com/")
	d.serve("80", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		io.WriteString(conn, "\x1b[2JSSH-2.0\r\n\r\n")
		conn.Close()
	})
	_, err := d.call("http.get", "url", "http://example.com/")
	rowtest.Wrong(t, err, value.Unavailable, "malformed", "no HTTP")
	if strings.Contains(err.Error(), "\x1b") {
		t.Errorf("the error %q holds a control character", err)
	}
	d.serve("443", sends("x"))
	d.fails(value.Unavailable, "does not speak https", "http.get", "url", "https://example.com/")

	own := newWeb(t, &Options{Private: loopback})
	own.w.http.connect = httpConnect
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	rowtest.NoError(t, err)
	closed := listener.Addr().String()
	rowtest.NoError(t, listener.Close())
	own.fails(value.Unavailable, "refuses the connection", "http.get", "url", "http://"+closed)
}

func TestHTTPTrust(t *testing.T) {
	d := newTLSWeb(t, nil, sends("hello"))
	stranger := newWeb(t, nil)
	stranger.to["443"] = d.to["443"]
	stranger.fails(value.Unavailable, "certificate of example.com", "http.get", "url", "https://example.com/")
	if got := d.answer("http.get", "url", "https://example.com./").Text("text"); got != "hello" {
		t.Errorf("http.get = %q, want hello", got)
	}
	d.fails(value.Unavailable, "certificate of other.org", "http.get", "url", "https://other.org/")
}

// TestHTTPGrants checks that each method and host is granted by itself.
func TestHTTPGrants(t *testing.T) {
	d := newWeb(t, nil)
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
		d.grant(tt.grant)
		args := []value.Value{"url", tt.url}
		if tt.method != "" {
			args = append(args, "method", tt.method)
		}
		_, err := d.call(tt.row, args...)
		if tt.ok {
			rowtest.NoError(t, err)
		} else {
			rowtest.Wrong(t, err, value.Denied, "not granted", tt.grant+" "+tt.row+" "+tt.url)
		}
	}
}

func TestHTTPRequestsOfOneCall(t *testing.T) {
	d := newWeb(t, nil)
	d.serve("80", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/", http.StatusFound)
		}
	})
	d.one = true
	for range 9 {
		d.must("http.get", "url", "http://example.com/moved") // two each
	}
	d.must("http.get", "url", "http://example.com/")
	d.fails(value.Limit, "more than 20 requests", "http.get", "url", "http://example.com/moved")
	d.fails(value.Limit, "more than 20 requests", "http.get", "url", "http://example.com/")
	d.stage.Committed() // the call goes on
	d.fails(value.Limit, "more than 20 requests", "http.get", "url", "http://example.com/")
	d.stage = &tool.Stage{} // the next call
	d.must("http.get", "url", "http://example.com/")
}

// TestHTTPTurns checks that a tool has at most four requests under way, that
// another tool does not wait for it, and that who waits can give up.
func TestHTTPTurns(t *testing.T) {
	d := newWeb(t, nil)
	arrived, release := make(chan string, 10), make(chan struct{})
	d.serve("80", func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.URL.Path
		<-release
	})
	row := d.row("http.get")
	start := func(ctx context.Context, name, path string) chan error {
		done := make(chan error, 1)
		args, err := row.Bind(nil, value.NewDict("url", "http://example.com/"+path))
		rowtest.NoError(t, err)
		go func() {
			_, err := row.Do(ctx, tool.Effect{Args: args}, tool.Grant{Call: tool.Call{Tool: name}, Check: d.check, Stage: &tool.Stage{}})
			done <- err
		}()
		return done
	}
	rowtest.Within(t, "four requests", func() {
		var all []chan error
		for range httpMaxAtOnce {
			all = append(all, start(t.Context(), "greedy", "first"))
		}
		for range httpMaxAtOnce {
			<-arrived
		}
		waiting, stop := context.WithCancel(t.Context())
		fifth := start(waiting, "greedy", "fifth")
		all = append(all, start(t.Context(), "modest", "other"))
		if got := <-arrived; got != "/other" {
			t.Errorf("%s arrived, want /other", got)
		}
		stop()
		rowtest.Wrong(t, <-fifth, value.Canceled, "canceled", "the fifth request")
		close(release)
		for _, done := range all {
			rowtest.NoError(t, <-done)
		}
	})
	if n := len(d.w.http.turns.queues); n != 0 {
		t.Errorf("%d queues are left, want 0", n)
	}
}

// TestHTTPEnds checks that no request outlives its context, wherever it hangs.
func TestHTTPEnds(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	slow := func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	for name, set := range map[string]func(d *webDesk){
		"lookup": func(d *webDesk) {
			d.w.http.lookup = func(ctx context.Context, _ string) ([]netip.Addr, error) { <-ctx.Done(); return nil, ctx.Err() }
		},
		"connect": func(d *webDesk) {
			d.w.http.connect = func(ctx context.Context, _, _ string, _ func(network, address string) error) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		},
		"header": func(d *webDesk) { d.serve("80", hang) },
		"body":   func(d *webDesk) { d.serve("80", slow) },
		"tls": func(d *webDesk) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			rowtest.NoError(t, err)
			t.Cleanup(func() { listener.Close() })
			d.to["443"] = listener.Addr().String()
		},
	} {
		d := newWeb(t, nil)
		set(d)
		url := "http://example.com/"
		if name == "tls" {
			url = "https://example.com/"
		}
		rowtest.Within(t, name, func() {
			d.fails(value.Timeout, "no whole answer within 50ms", "http.get", "url", url, "timeout", 0.05)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := d.run(ctx, "http.get", "url", url)
			rowtest.Wrong(t, err, value.Canceled, "canceled", name)
			ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err = d.run(ctx, "http.get", "url", url)
			rowtest.Wrong(t, err, value.Timeout, "the time ran out", name)
		})
	}
}

// TestHTTPAgainstTheSystem checks the parts that the other tests replace: the
// system's dialer asks about the address, and the resolver is the system's.
func TestHTTPAgainstTheSystem(t *testing.T) {
	server := httptest.NewServer(sends("hello"))
	defer server.Close()
	at := server.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(at)

	open := newWeb(t, &Options{Private: loopback})
	open.w.http.connect, open.w.http.lookup, open.w.http.own = httpConnect, httpLookup, httpOwn
	for _, host := range []string{at, "localhost:" + port, "[::ffff:127.0.0.1]:" + port, "a.localhost:" + port, "①②⑦.⓪.⓪.①:" + port} {
		if got := open.answer("http.get", "url", "http://"+host).Text("text"); got != "hello" {
			t.Errorf("http.get(%s) = %q, want hello", host, got)
		}
	}
	shut := newWeb(t, nil)
	number, _ := strconv.ParseUint(port, 10, 16)
	u, err := httpParse("http://example.com:" + port)
	rowtest.NoError(t, err)
	dialer := httpDialer{net: shut.w.http, url: u}
	asked := ""
	conn, err := httpConnect(t.Context(), "tcp4", at, func(network, address string) error {
		asked = network + " " + address
		return dialer.control(network, address)
	})
	if err == nil {
		conn.Close()
	}
	rowtest.Wrong(t, err, value.Denied, "this machine itself", "dialing "+at)
	if want := fmt.Sprintf("tcp4 127.0.0.1:%d", number); asked != want {
		t.Errorf("control was asked about %q, want %q", asked, want)
	}
	own, err := httpOwn()
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
	d := newWeb(t, nil)
	d.serve("80", sends("direct"))
	d.serve("443", sends("direct"))
	if got := d.answer("http.get", "url", "http://example.com/").Text("text"); got != "direct" {
		t.Errorf("http.get = %q, want direct", got)
	}
	d.fails(value.Unavailable, "does not speak https", "http.get", "url", "https://example.com/")
	if want := []string{"93.184.215.14:80", "93.184.215.14:443"}; !slices.Equal(d.dialed, want) {
		t.Errorf("dialed %v, want %v", d.dialed, want)
	}
}

// newTLSWeb opens a desk with a server on port 443 whose certificate, for
// example.com, it trusts.
func newTLSWeb(t testing.TB, o *Options, h http.HandlerFunc) *webDesk {
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
	d := newWeb(t, o)
	d.to["443"] = server.Listener.Addr().String()
	return d
}

// TestHTTPLeavesNothing checks that requests, however they end, leave no
// goroutine behind, and no count of a call that is over.
func TestHTTPLeavesNothing(t *testing.T) {
	d := newWeb(t, nil)
	stop := make(chan struct{})
	d.serve("80", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang":
			select {
			case <-r.Context().Done():
			case <-stop:
			}
		case "/long":
			io.Copy(w, io.LimitReader(zeroReader{}, httpMaxBody+1))
		case "/moved":
			http.Redirect(w, r, "http://127.0.0.1/", http.StatusFound)
		}
	})
	d.must("http.get", "url", "http://example.com/")
	before := runtime.NumGoroutine()
	for _, path := range []string{"/", "/hang", "/long", "/moved", "/hang", "/"} {
		timeout := 10.0
		if path == "/hang" {
			timeout = 0.05
		}
		_, err := d.call("http.get", "url", "http://example.com"+path, "timeout", timeout)
		if path == "/" {
			rowtest.NoError(t, err)
		}
	}
	close(stop)
	d.next()
	rowtest.Within(t, "the end of what requests started", func() {
		for runtime.NumGoroutine() > before+1 { // one runs this
			runtime.Gosched()
		}
		for turns := &d.w.http.turns; ; runtime.GC() {
			turns.mu.Lock()
			left := len(turns.spent)
			turns.mu.Unlock()
			if left == 0 {
				return
			}
		}
	})
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { return len(p), nil }

// TestHTTPKey checks which requests carry the key of their effect, and where a
// redirect takes it.
func TestHTTPKey(t *testing.T) {
	d := newWeb(t, nil)
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
		f := d.row(tt.row)
		args, err := f.Bind(nil, value.NewDict(append([]value.Value{"url", "http://a.com/"}, tt.args...)...))
		rowtest.NoError(t, err)
		if _, err = f.Do(context.Background(), tool.Effect{Func: tt.row, Args: args}, tool.Grant{Check: d.check, Stage: &tool.Stage{}, Key: tt.key}); err != nil {
			t.Errorf("%s(%v): %v", tt.row, tt.args, err)
		}
		if !slices.Equal(sent, tt.want) {
			t.Errorf("%s(%v) with the key %q sent %q, want %q", tt.row, tt.args, tt.key, sent, tt.want)
		}
	}
}
