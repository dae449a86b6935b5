package web

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// forbidden are addresses that no request may reach, one of each network and
// both ends of some.
var forbidden = []string{
	"127.0.0.1", "127.255.255.255", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1",
	"169.254.169.254", "169.254.170.2", "100.64.0.1", "100.100.100.200", "100.127.255.255", "192.0.0.1", "192.0.0.170", "192.0.2.1", "192.88.99.1",
	"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "168.63.129.16",
	"::1", "::", "::7f00:1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
	"2002:7f00:1::", "2002:a9fe:a9fe::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1",
	"3fff::1", "fc00::1", "fd00:ec2::254", "fe80::1", "febf::1", "fec0::1", "ff02::1", "100::1", "5f00::1", "1::1", "4000::1", "e000::1",
	"8.8.4.4", // the test's machine has it
}

// public are addresses just outside those networks.
var public = []string{
	"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1", "169.253.255.255", "169.255.0.0",
	"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255",
	"203.0.114.0", "223.255.255.255", "::ffff:1.1.1.1", "2001:200::1", "2001:4860:4860::8888", "2003::1", "2600::1", "2606:4700::1111", "3ffe::1",
}

func urlOf(address string) string {
	if strings.Contains(address, ":") {
		return "http://[" + address + "]/"
	}
	return "http://" + address + "/"
}

func TestH01PrivateAddresses(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	d.never("80")
	for _, address := range forbidden {
		d.Fails(value.Denied, "access denied: ", "http.get", "url", urlOf(address))
	}
	for _, host := range []string{"localhost", "LOCALHOST", "localhost.", "a.b.localhost", "ｌｏｃａｌｈｏｓｔ", "127.0.0.1.", "[0:0:0:0:0:ffff:7f00:1]", "[::FFFF:7F00:1]", "[::127.0.0.1]"} {
		d.Fails(value.Denied, "access denied: ", "http.get", "url", "http://"+host)
	}
	for _, host := range []string{"[fe80::1%25eth0]", "[::1%25lo]", "[::ffff:127.0.0.1%251]"} {
		d.Fails(value.Denied, "invalid IPv6 address", "http.get", "url", "http://"+host)
	}
	for _, host := range []string{"[127.0.0.1]", "[1]", "[::1", "::1", "[::1]a", "[]"} {
		d.Fails(value.Invalid, "invalid URL", "http.get", "url", "http://"+host)
	}
	for _, row := range []string{"http.head", "http.post", "http.put", "http.patch", "http.delete"} {
		d.Fails(value.Denied, "access denied: ", row, "url", "http://169.254.169.254/latest/meta-data/")
	}
	d.Fails(value.Denied, "cassidy config set --add http.private 127.0.0.1/32", "http.get", "url", "http://127.0.0.1:80/")
	if len(d.asked)+len(d.dialed) > 0 {
		t.Errorf("looked up %v, dialed %v, want neither", d.asked, d.dialed)
	}
	d.serve("80", sends("x"))
	for _, address := range public {
		d.dialed = nil
		d.Must("http.get", "url", urlOf(address))
		want := netip.AddrPortFrom(netip.MustParseAddr(address).Unmap(), 80).String()
		if !slices.Equal(d.dialed, []string{want}) {
			t.Errorf("http.get(%s) dialed %v, want %s", urlOf(address), d.dialed, want)
		}
	}
}

// TestH01Exceptions checks that the user's config opens what it names and no
// more.
func TestH01Exceptions(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, &Options{Private: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("8.8.4.4/32")}})
	d.serve("80", sends("x"))
	d.names["inside.example"], d.names["both.example"] = []string{"10.1.2.3"}, []string{"10.2.0.1 10.1.2.3 10.0.0.1"}
	for _, host := range []string{"10.1.2.3", "[::ffff:10.1.0.1]", "[::1]", "8.8.4.4", "inside.example", "both.example", "localhost"} {
		d.Must("http.get", "url", "http://"+host)
	}
	for _, host := range []string{"10.2.0.1", "127.0.0.1", "[::2]", "10.0.0.1"} {
		d.Fails(value.Denied, "access denied: ", "http.get", "url", "http://"+host)
	}
	if slices.ContainsFunc(d.dialed, func(a string) bool {
		return !strings.HasPrefix(a, "10.1.") && a != "[::1]:80" && a != "8.8.4.4:80"
	}) {
		t.Errorf("dialed %v", d.dialed)
	}
}

func TestH02AddressesInDisguise(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	d.never("80")
	for _, host := range []string{
		"①②⑦.0.0.1", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "１２７.０.０.１", "𝟏𝟐𝟕.𝟎.𝟎.𝟏", "%E2%91%A0%E2%91%A1%E2%91%A6.0.0.1", "169。254。169。254", "127.0.0.1。", "⑩.⓪.⓪.①",
	} {
		d.Fails(value.Denied, "access denied: ", "http.get", "url", "http://"+host)
	}
	for _, host := range []string{
		"127.1", "127.0.1", "2130706433", "0x7f.1", "0x7f000001", "0X7F.0.0.1", "0177.0.0.1", "017700000001", "127.0.0.01", "127.0.0.1.1", "1.2.3.256",
		"0", "0x", "1.0x", "example.1", "example.0x1f", "127.1.", "２１３０７０６４３３", "⑫⑦.1", "0x7f。1", "00000127.0.0.1", "4294967297", "3232235521",
	} {
		d.Fails(value.Denied, "ambiguous form of an IPv4 address", "http.get", "url", "http://"+host)
	}
	for _, host := range []string{
		"127.0.0.1%00", "127.0.0.1%0a", "a..b", ".a", "a.b..", "a_b。.c", "\u00ad", "a\u2100b", "a%2fb", "a\\b", "a,b", "a+b", "a~b", "xn--", "xn--a", "xn--\u00e9",
		"ex\u202eample.com", "\u200d.com", strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 130) + "com", "%ff", "a b", "a\tb", "<a>", "a'b", "*.example.com", "a%25b",
	} {
		_, err := d.Call("http.get", "url", "http://"+host+"/")
		if kind := value.KindOf(err); err == nil || kind != value.Invalid && kind != value.Denied {
			t.Errorf("http.get(%q) = %v, want it refused", host, err)
		}
	}
	if len(d.asked)+len(d.dialed) > 0 {
		t.Errorf("looked up %v, dialed %v, want neither", d.asked, d.dialed)
	}
}

func TestH03NamesThatLeadInside(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	d.never("80")
	for i, address := range forbidden {
		name := fmt.Sprintf("n%d.example", i)
		d.names[name] = []string{address}
		_, err := d.Call("http.get", "url", "http://"+name+"/")
		rowtest.Wrong(t, err, value.Denied, name+" resolves to", name+" = "+address)
		if e := value.ErrorOf(err, value.Internal); strings.Contains(e.Message()+e.Hint, address) && len(address) > 4 {
			t.Errorf("the error %q shows the address %s", e.Message()+e.Hint, address)
		}
	}
	d.names["zone.example"] = []string{"fe80::1%eth0"}
	d.Fails(value.Denied, "resolves to", "http.get", "url", "http://zone.example/")
	if len(d.dialed) > 0 {
		t.Errorf("dialed %v, want nothing", d.dialed)
	}
	if want := len(forbidden) + 1; len(d.asked) != want {
		t.Errorf("%d lookups, want one for each of %d requests", len(d.asked), want)
	}
}

// TestH03Rebinding checks that a name which leads elsewhere at each lookup gets
// nowhere by it: what is dialled is what was checked.
func TestH03Rebinding(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	d.serve("80", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/again" {
			http.Redirect(w, r, "/", http.StatusFound)
		}
	})
	d.names["flip.example"] = []string{"93.184.215.14", "127.0.0.1"}
	d.Must("http.get", "url", "http://flip.example/")
	if want := []string{"93.184.215.14:80"}; !slices.Equal(d.dialed, want) || len(d.asked) != 1 {
		t.Errorf("dialed %v after %d lookups, want %v after one", d.dialed, len(d.asked), want)
	}
	d.Fails(value.Denied, "resolves to this machine", "http.get", "url", "http://flip.example/")
	d.names["turn.example"] = []string{"93.184.215.14", "169.254.169.254"}
	d.Fails(value.Denied, "resolves to the link-local network", "http.get", "url", "http://turn.example/again") // between a request and its redirect
	d.dialed = nil
	d.names["mixed.example"] = []string{"10.0.0.1 93.184.215.14 ::1"}
	d.Must("http.get", "url", "http://mixed.example/")
	if want := []string{"93.184.215.14:80"}; !slices.Equal(d.dialed, want) {
		t.Errorf("dialed %v, want %v", d.dialed, want)
	}

	// A dialer that would go elsewhere is stopped when it says where.
	u, err := parseURL("http://flip.example/")
	rowtest.NoError(t, err)
	dialer := hostDialer{net: d.net, url: u}
	for _, tt := range []struct{ network, address string }{
		{"tcp4", "127.0.0.1:80"}, {"tcp6", "[::1]:80"}, {"tcp4", "93.184.215.14:22"}, {"udp4", "93.184.215.14:80"}, {"unix", "/var/run/docker.sock"}, {"tcp4", "example.com:80"}, {"tcp4", ""},
		{"tcp6", "[fe80::1%lo]:80"}, {"tcp6", "[::ffff:10.0.0.1]:80"},
	} {
		if err := dialer.control(tt.network, tt.address); value.KindOf(err) != value.Denied {
			t.Errorf("control(%s, %q) = %v, want a denial", tt.network, tt.address, err)
		}
	}
	rowtest.NoError(t, dialer.control("tcp4", "93.184.215.14:80"))
}

// TestOwnAddresses checks that what cannot be known is not assumed.
func TestOwnAddresses(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	d.never("80")
	d.net.own = func() ([]netip.Addr, error) { return nil, errors.New("not permitted") }
	d.Fails(value.Unavailable, "addresses of this machine", "http.get", "url", "http://example.com/")
}

func TestH04Redirects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, to string
		kind     value.Kind
		says     string
	}{
		{"private address", "http://127.0.0.1/", value.Denied, "access denied: "},
		{"private name", "http://inside.example/", value.Denied, "resolves to a private network"},
		{"metadata", "//169.254.169.254/latest/meta-data/", value.Denied, "access denied: "},
		{"disguise", "http://2130706433/", value.Denied, "ambiguous form of an IPv4 address"},
		{"another host", "http://other.example/", value.Denied, "http.get:other.example is not granted"},
		{"another port", "http://example.com:8080/", value.Denied, "http.get:example.com:8080 is not granted"},
		{"a subdomain", "http://a.example.com/", value.Denied, "not granted"},
		{"a host that looks the same", "http://example.com.evil.example/", value.Denied, "not granted"},
		{"a user that looks like the host", "http://example.com@evil.example/", value.Denied, "user name or password"},
		{"a file", "file:///etc/passwd", value.Denied, "only http: and https:"},
		{"a file without a host", "file:/etc/passwd", value.Denied, "only http: and https:"},
		{"gopher", "gopher://example.com/_x", value.Denied, "only http: and https:"},
		{"javascript", "javascript:alert(1)", value.Denied, "only http: and https:"},
		{"data", "data:text/plain,x", value.Denied, "only http: and https:"},
		{"no host", "http:///x", value.Invalid, "incomplete URL"},
		{"invalid URL", "http://[", value.Failed, "invalid URL"},
		{"a control character", "http://example.com/\x7f", value.Unavailable, "malformed"},
		{"too long", "/" + strings.Repeat("x", 9000), value.Limit, "longer than 8 KB"},
		{"a loop", "/", value.Limit, "more than 3 redirects"},
	} {
		d := newTestNet(t, nil)
		d.names["inside.example"] = []string{"10.0.0.1"}
		d.Grant("http.get:example.com", "http.get:inside.example", "http.get:127.0.0.1", "http.get:169.254.169.254")
		d.serve("80", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Location"] = []string{tt.to}
			w.WriteHeader(http.StatusFound)
		})
		_, err := d.Call("http.get", "url", "http://example.com/")
		rowtest.Wrong(t, err, tt.kind, tt.says, tt.name)
		if n := len(d.dialed); n > 1 && tt.name != "a loop" || n > 4 {
			t.Errorf("%s: dialed %v", tt.name, d.dialed)
		}
	}
}

// TestH04FromHTTPS checks that no redirect leads from https to http, and that
// the other way is open.
func TestH04FromHTTPS(t *testing.T) {
	t.Parallel()
	d := newTLSNet(t, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			http.Redirect(w, r, "http://example.com/", http.StatusMovedPermanently)
		}
		io.WriteString(w, "safe")
	})
	d.serve("80", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			t.Errorf("%s%s reached the server", r.Host, r.URL)
		}
		http.Redirect(w, r, "https://example.com/", http.StatusMovedPermanently)
	})
	d.Fails(value.Denied, "redirects: the target is http:", "http.get", "url", "https://example.com/down")
	a := d.answer("http.get", "url", "http://example.com/up")
	if a.Text("text") != "safe" || a.Text("url") != "https://example.com/" {
		t.Errorf("http.get = %s, want what is at https://example.com/", a)
	}
}

// TestH04Methods checks what becomes of method and body, and that each hop is
// asked for with the method that it takes.
func TestH04Methods(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		row    string
		status int
		want   string
	}{
		{"http.post", 301, "GET  "}, {"http.post", 302, "GET  "}, {"http.post", 303, "GET  "}, {"http.post", 307, "POST text/x b"}, {"http.post", 308, "POST text/x b"},
		{"http.put", 302, "PUT text/x b"}, {"http.put", 303, "GET  "}, {"http.delete", 307, "DELETE text/x b"},
	} {
		d := newTestNet(t, nil)
		got := ""
		d.serve("80", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "http://other.example/to", tt.status)
				return
			}
			body, _ := io.ReadAll(r.Body)
			got = fmt.Sprintf("%s %s %s", r.Method, r.Header.Get("Content-Type"), body)
		})
		args := []value.Value{"url", "http://example.com/", "body", "b", "headers", value.NewDict("Content-Type", "text/x")}
		d.Must(tt.row, args...)
		if got != tt.want {
			t.Errorf("%s after %d: %q, want %q", tt.row, tt.status, got, tt.want)
		}
		d.Grant("http:example.com", "http.head:other.example")
		d.Fails(value.Denied, "redirects: http."+strings.ToLower(strings.Fields(tt.want)[0])+":other.example is not granted", tt.row, args...)
		if _, err := d.Call(tt.row, args...); value.ErrorOf(err, value.Internal).Hint != "in a script, allow_redirects = False returns the redirect" {
			t.Errorf("%s after %d: %v", tt.row, tt.status, err)
		}
	}
	d := newTestNet(t, nil)
	d.serve("80", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1/", http.StatusFound)
	})
	a := d.answer("http.get", "url", "http://example.com/", "allow_redirects", false)
	headers := a.Dict("headers")
	if a.Int("status") != 302 || headers.Text("location") != "http://127.0.0.1/" {
		t.Errorf("without following: %s, want the redirect itself", a)
	}
}

func TestH05TheHostThatIsMeant(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	d.never("80")
	d.Grant("http:allowed.example", "http:*.allowed.example")
	for _, tt := range []struct{ url, says string }{
		{"http://allowed.example@evil.example/", "user name or password"},
		{"http://allowed.example:80@evil.example/", "user name or password"},
		{"http://@evil.example/", "user name or password"},
		{"http://:@allowed.example/", "user name or password"},
		{"http://allowed.example%40evil.example/", ""},
		{"http://allowed.example\\@evil.example/", ""},
		{"http://evil.example\\.allowed.example/", ""},
		{"http://evil.example%2f.allowed.example/", ""},
		{"http://evil.example%00.allowed.example/", ""},
		{"http://allowed.example.evil.example/", "http.get:allowed.example.evil.example"},
		{"http://evilallowed.example/", "http.get:evilallowed.example"},
		{"http://evil.example#allowed.example", "http.get:evil.example"},
		{"http://evil.example#@allowed.example/", "http.get:evil.example"},
		{"http://evil.example?@allowed.example/", "http.get:evil.example"},
		{"http://evil.example/@allowed.example/", "http.get:evil.example"},
		{"http://evil.example;allowed.example/", ""},
		{"http://EVIL.example./", "http.get:evil.example"},
		{"http://allowed.example:8080/", "http.get:allowed.example:8080"},
		{"https://allowed.example:80/", "http.get:allowed.example:80"},
		{"http://allowed.example:443/", "http.get:allowed.example:443"},
		{"http://allowеd.example/", "http.get:xn--allowd-7of.example"}, // a Cyrillic е
		{"http://allowed.example\u2044.evil.example/", "not granted"},  // a slash to the eye: xn--…
		{"http://.allowed.example/", ""},
		{"http://allowed.example../", ""},
		{"http:///allowed.example/", ""},
		{"http:allowed.example", ""},
		{"ftp://allowed.example/", "only http: and https:"},
		{"file://allowed.example/etc/passwd", "only http: and https:"},
		{"unix://allowed.example/", "only http: and https:"},
		{"ws://allowed.example/", "only http: and https:"},
	} {
		_, err := d.Call("http.get", "url", tt.url)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("http.get(%s) = %v, want it refused with %q", tt.url, err, tt.says)
		}
	}
	if len(d.asked)+len(d.dialed) > 0 {
		t.Errorf("looked up %v, dialed %v, want neither", d.asked, d.dialed)
	}
	var hosts []string
	d.serve("80", func(_ http.ResponseWriter, r *http.Request) { hosts = append(hosts, r.Host) })
	for _, url := range []string{
		"http://ALLOWED.example/", "http://allowed.example./", "http://allowed.example:80/", "HTTP://allowed.example:/", "http://ａllowed。example/", "http://a.ALLOWED.example./#x@evil",
	} {
		d.Must("http.get", "url", url)
	}
	want := append(slices.Repeat([]string{"allowed.example"}, 5), "a.allowed.example")
	if !slices.Equal(hosts, want) || !slices.Equal(d.asked, want) {
		t.Errorf("the servers are %v after looking up %v, want %v", hosts, d.asked, want)
	}
}

func TestH06Headers(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, nil)
	d.never("80")
	for _, name := range []string{
		"Host", "host", "HOST", "Connection", "Keep-Alive", "Proxy-Authorization", "proxy-connection", "Proxy-Anything", "Content-Length", "content_length",
		"Transfer-Encoding", "TRANSFER_ENCODING", "Cookie", "cookie2", "TE", "Trailer", "Upgrade", "HTTP2-Settings", "Expect", "Sec-WebSocket-Key",
		"X-HTTP-Method-Override", "x_http_method", "X-Method-Override", "X-Forwarded-For", "Forwarded",
		"", " ", "a b", "a:b", "a\r\nb", "a\nHost", "a\x00", "Host:", "Host ", " Host", "ä", "a\u2028", "(a)", "{{secret:X}}",
	} {
		for _, row := range []string{"http.get", "http.post"} {
			d.Fails(value.Denied, "header", row, "url", "http://example.com/", "headers", value.NewDict(name, "x"))
		}
	}
	for _, val := range []string{"a\r\nHost: evil", "a\nb", "a\rb", "a\x00b", "\x7f", "\x1b[2J", "a\vb", "a\u0085b", "a\u2028b", "嘊嘍Set-Cookie: a", "ä"} {
		d.Fails(value.Denied, "the header X contains", "http.get", "url", "http://example.com/", "headers", value.NewDict("x", val))
	}
	d.Fails(value.Limit, "longer than 8 KB", "http.get", "url", "http://example.com/", "headers", value.NewDict("x", strings.Repeat("a", 9000)))
	many := &value.Dict{}
	for i := range 101 {
		many.Put(fmt.Sprint("x", i), "1")
	}
	d.Fails(value.Limit, "the request has more than 100 headers", "http.get", "url", "http://example.com/", "headers", many)
	d.Fails(value.Invalid, "must not contain a colon", "http.get", "url", "http://example.com/", "auth", value.List{"a:b", "c"})

	var got http.Header
	d.serve("80", func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	d.Must("http.get", "url", "http://example.com/", "headers", value.NewDict(
		"accept", "a/b", "user-agent", "me", "x-number", int64(3), "x-none", nil, "x-tab", " a\tb ", "x-empty", ""), "auth", value.List{"me", "a:\r\nb"})
	for name, want := range map[string]string{"Accept": "a/b", "User-Agent": "me", "X-Number": "3", "X-Tab": "a\tb", "Authorization": "Basic bWU6YToNCmI="} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
	if _, ok := got["X-None"]; ok || len(got["Accept"]) != 1 {
		t.Errorf("the header is %v", got)
	}
	// What a query holds stays in the query.
	line := ""
	d.serve("80", func(_ http.ResponseWriter, r *http.Request) { line = r.RequestURI })
	d.Must("http.get", "url", "http://example.com/a?x= HTTP/1.1é&y[]=1", "params", value.NewDict("z", "\r\nHost: evil"))
	if want := "/a?x=%20HTTP/1.1%C3%A9&y[]=1&z=%0D%0AHost%3A+evil"; line != want {
		t.Errorf("the request is %q, want %q", line, want)
	}
}

func TestH07TooMuch(t *testing.T) {
	t.Parallel()
	zeros := make([]byte, 1<<20)
	forever := func(w io.Writer) {
		for {
			if _, err := w.Write(zeros); err != nil {
				return
			}
		}
	}
	for _, tt := range []struct {
		name string
		says string
		h    http.HandlerFunc
	}{
		{"an endless body", "longer than 8 MB", func(w http.ResponseWriter, _ *http.Request) { forever(w) }},
		{"a long body", "longer than 8 MB", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(maxBody+1))
			forever(w)
		}},
		{"a gzip bomb", "200 times larger after decompression", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			forever(gzip.NewWriter(w))
		}},
		{"a gzip of many members", "200 times larger after decompression", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "GZIP")
			for range 40 {
				z := gzip.NewWriter(w)
				z.Write(zeros)
				z.Close()
			}
		}},
		{"a gzip that grows slowly", "longer than 8 MB", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "x-gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.NoCompression)
			forever(z)
		}},
		{"a long header", "the headers are longer than 64 KB in total", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 100_000)) }},
		{"an endless header", "the headers are longer than 64 KB in total", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: ")
			forever(conn)
		}},
		{"endless early hints", "the headers are longer than 64 KB in total", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			defer conn.Close()
			for {
				if _, err := io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"); err != nil {
					return
				}
			}
		}},
		{"many headers", "more than 200 headers", func(w http.ResponseWriter, _ *http.Request) {
			for i := range 300 {
				w.Header().Set(fmt.Sprint("X", i), "1")
			}
		}},
		{"one header many times", "more than 200 headers", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Set-Cookie"] = slices.Repeat([]string{"a=b"}, 300)
		}},
	} {
		d := newTestNet(t, nil)
		d.serve("80", tt.h)
		rowtest.Within(t, tt.name, func() {
			_, err := d.Call("http.get", "url", "http://example.com/", "timeout", int64(15))
			rowtest.Wrong(t, err, value.Limit, tt.says, tt.name)
			if e := value.ErrorOf(err, value.Internal); e.Limit != value.LimitHTTP {
				t.Errorf("%s: limit %q, want http", tt.name, e.Limit)
			}
		})
	}
	d := newTestNet(t, nil)
	d.serve("80", func(w http.ResponseWriter, _ *http.Request) { w.Write(bytesOf('x', maxBody)) })
	if n := len(d.answer("http.get", "url", "http://example.com/", "timeout", int64(15)).Text("text")); n != maxBody {
		t.Errorf("a body of %d bytes came, want %d", n, maxBody)
	}
}

func bytesOf(c byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = c
	}
	return b
}

// TestH07SlowBody checks that a server which sends a byte now and then does not
// hold a call for longer than its time, wherever in an answer it dribbles.
func TestH07SlowBody(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"", "HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"} {
		d := newTestNet(t, nil)
		d.serve("80", func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			defer conn.Close()
			if _, err := io.WriteString(conn, start); err != nil {
				return
			}
			piece := "1"
			if strings.Contains(start, "chunked") {
				piece = "1\r\nx\r\n"
			}
			for {
				if _, err := io.WriteString(conn, piece); err != nil {
					return
				}
				<-time.After(10 * time.Millisecond) // what a slow server does
			}
		})
		rowtest.Within(t, start, func() {
			_, err := d.Call("http.get", "url", "http://example.com/", "timeout", 0.2)
			if kind := value.KindOf(err); kind != value.Timeout && !(start == "" && kind == value.Unavailable) {
				t.Errorf("after %q: %v, want a timeout", start, err)
			}
		})
	}
}
