package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestAllows(t *testing.T) {
	for _, c := range []struct {
		server, host, address string
		want                  bool
	}{
		{"https://a.example", "as.example", "8.8.8.8:443", true},
		{"https://a.example", "as.example", "127.0.0.1:443", false},
		{"https://a.example", "a.example", "127.0.0.1:443", false}, // a name that leads to this machine
		{"https://a.example", "localhost", "127.0.0.1:443", false},
		{"https://a.example", "as.example", "10.0.0.1:443", false},
		{"https://a.example", "a.example", "10.0.0.1:443", true}, // in the user's own network
		{"https://a.example", "a.example", "169.254.169.254:443", false},
		{"https://169.254.169.254", "169.254.169.254", "169.254.169.254:443", false},
		{"https://a.example", "as.example", "[::ffff:10.0.0.1]:443", false},
		{"https://a.example", "as.example", "[fe80::1]:443", false},
		{"http://localhost:1", "127.0.0.1", "127.0.0.1:2", true},
		{"http://127.0.0.1:1", "as.example", "127.0.0.1:2", false},
		{"http://localhost:1", "as.example", "10.0.0.1:2", false},
		{"https://a.example", "as.example", "nonsense", false},
	} {
		u, _ := url.Parse(c.server)
		if err := (&Guard{server: u}).allows(c.host, c.address); (err == nil) != c.want {
			t.Errorf("for %s, %s at %s: %v, want allowed: %v", c.server, c.host, c.address, err, c.want)
		}
	}
	g := &Guard{server: &url.URL{Scheme: "https", Host: "a.example"}}
	for host, want := range map[string]string{
		"a.example":  "request not sent: the address of a.example belongs to this machine",
		"as.example": "request not sent: the server at a.example leads to as.example, which belongs to this machine",
	} {
		if err := g.allows(host, "127.0.0.1:443"); err == nil || err.Error() != want {
			t.Errorf("%s at this machine: %v, want %s", host, err, want)
		}
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/file", http.StatusFound)
		case "/private":
			http.Redirect(w, r, "https://10.0.0.1/file", http.StatusFound)
		case "/unencrypted":
			http.Redirect(w, r, "http://example.com/file", http.StatusFound)
		case "/again":
			http.Redirect(w, r, "/again", http.StatusFound)
		case "/file":
			_, _ = w.Write([]byte("12345678"))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		address string
		limit   int
		want    string // the text, or a part of the error
		kind    value.Kind
	}{
		{server.URL + "/file", 8, "12345678", 0},
		{server.URL + "/moved", 8, "12345678", 0},
		{server.URL + "/file", 7, "the file is longer than 0 MB", value.Limit},
		{server.URL + "/missing", 8, "the server answered with status 404", value.Unavailable},
		{server.URL + "/private", 8, "which belongs to a private network", value.Denied},
		{server.URL + "/unencrypted", 8, "the URL must use HTTPS", value.Denied},
		{server.URL + "/again", 8, "more than 3 redirects", value.Failed},
		{"http://example.com/file", 8, "should begin with https:", value.Invalid},
		{"https://user:password@example.com/file", 8, "should begin with https:", value.Invalid},
		{"https://169.254.169.254/file", 8, "belongs to the link-local network", value.Denied},
		{"file:///etc/passwd", 8, "should begin with https:", value.Invalid},
	} {
		text, err := Fetch(t.Context(), c.address, c.limit)
		if err == nil && string(text) != c.want || err != nil && (!strings.Contains(err.Error(), c.want) || value.KindOf(err) != c.kind) {
			t.Errorf("Fetch(%s) = %q, %v; want %q", c.address, text, err, c.want)
		}
	}
}
