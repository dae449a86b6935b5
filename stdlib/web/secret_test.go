package web

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
	"github.com/cassidy-run/cassidy/stdlib/secret"
)

// token is a value with characters that every encoding writes differently.
const token = `t0k<en>&"/+=?ä-value`

func secretsOf(pairs ...string) *secret.Box {
	return secret.NewBox(func(_ context.Context, name string) (string, error) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], nil
			}
		}
		return "", value.ErrNotFound
	})
}

// aToken is a token that a header can hold.
const aToken = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

// TestSecretIsSent checks where a secret goes, and what the script sees of it.
func TestSecretIsSent(t *testing.T) {
	t.Parallel()
	var got *http.Request
	d := newTLSNet(t, &Options{Secrets: secretsOf("TOKEN", aToken, "Q", token, "USER", "ada:lovelace")}, func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"auth": r.Header.Get("Authorization"), "query": r.URL.Query().Get("key"), "url": r.RequestURI})
	})
	d.Grant("http.get:example.com", "secret:TOKEN@example.com", "secret:Q@*.com", "secret:USER@example.com")
	const u = "https://example.com/"

	a := d.answer("http.get", "url", u, "headers", value.NewDict("Authorization", "Bearer {{secret:TOKEN}}", "X-Two", "{{secret:TOKEN}}.{{secret:TOKEN}}"))
	if got.Header.Get("Authorization") != "Bearer "+aToken || got.Header.Get("X-Two") != aToken+"."+aToken {
		t.Errorf("the server got %v", got.Header)
	}
	headers := a.Dict("headers")
	val, _ := row.Arg(a, "json").(*value.Dict)
	if headers.Text("x-echo") != "Bearer {{secret:TOKEN}}" || val.Text("auth") != "Bearer {{secret:TOKEN}}" {
		t.Errorf("the script got %s", a)
	}
	hidden(t, "a header", a, aToken)

	a = d.answer("http.get", "url", u+"?a=1", "params", value.NewDict("key", "{{secret:Q}}", "n", int64(1)))
	if q := got.URL.Query(); q.Get("key") != token || q.Get("a") != "1" || q.Get("n") != "1" {
		t.Errorf("the server got %s", got.URL)
	}
	if want := u + "?a=1&key={{secret:Q}}&n=1"; a.Text("url") != want {
		t.Errorf("the script got the URL %s, want %s", a.Text("url"), want)
	}
	hidden(t, "a query", a, token)

	a = d.answer("http.get", "url", u, "auth", value.List{"me", "{{secret:TOKEN}}"})
	if user, password, _ := got.BasicAuth(); user != "me" || password != aToken {
		t.Errorf("the server got %q and %q", user, password)
	}
	hidden(t, "a password", a, aToken)
	hidden(t, "a password", a, base64.StdEncoding.EncodeToString([]byte("me:"+aToken)))
	d.answer("http.get", "url", u, "auth", value.List{"{{secret:TOKEN}}", ""})
	if user, password, _ := got.BasicAuth(); user != aToken || password != "" {
		t.Errorf("the server got %q and %q", user, password)
	}
}

// TestRequestTakesItsSecrets checks that a request takes the secrets that it sends, for its host, so that one
// question is about all of it.
func TestRequestTakesItsSecrets(t *testing.T) {
	t.Parallel()
	d := newTLSNet(t, &Options{}, func(http.ResponseWriter, *http.Request) {})
	for _, tt := range []struct {
		name string
		args []value.Value
		want []string // beside http.get
	}{
		{"http.get", nil, nil},
		{"http.get", []value.Value{"headers", value.NewDict("Authorization", "Bearer {{secret:B}}", "X-Key", "{{secret:A}}{{secret:B}}", "X-No", nil)}, []string{"secret:A@example.com:8443", "secret:B@example.com:8443"}},
		{"http.get", []value.Value{"params", value.NewDict("key", "{{secret:A}}", "n", int64(1))}, []string{"secret:A@example.com:8443"}},
		{"http.get", []value.Value{"params", value.NewDict("key", "it is {{secret:A}}")}, nil}, // which is refused
		{"http.get", []value.Value{"auth", value.List{"me", "{{secret:A}}"}}, []string{"secret:A@example.com:8443"}},
		{"http.get", []value.Value{"headers", value.NewDict("X", "{{secret:}} {{secret:A} {secret:A}}")}, nil},
		{"http.request", []value.Value{"method", "GET", "headers", value.NewDict("X", "{{secret:A}}")}, []string{"secret:A@example.com:8443"}},
		{"http.post", []value.Value{"json", "{{secret:A}}"}, nil}, // which is sent as it is
	} {
		f := d.Func(tt.name)
		bound, err := f.Bind(nil, value.NewDict(append([]value.Value{"url", "https://example.com:8443/"}, tt.args...)...))
		rowtest.NoError(t, err)
		takes, err := f.Target(bound)
		rowtest.NoError(t, err)
		if got := value.Map(takes[1:], tool.Capability.String); !slices.Equal(got, tt.want) || !strings.HasPrefix(takes[0].String(), "http.") {
			t.Errorf("%s %v takes %v, want %v", tt.name, tt.args, takes, tt.want)
		}
	}
}

// hidden checks that a value is in no part of what a script gets.
func hidden(t *testing.T, what string, v value.Value, val string) {
	t.Helper()
	if text := value.FormatJSON(v, ""); strings.Contains(text, val) || strings.Contains(text, url.QueryEscape(val)) {
		t.Errorf("%s: the value is in %s", what, text)
	}
}

// TestSecretIsScrubbed checks the forms in which a server may give a value back.
func TestSecretIsScrubbed(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal(token)
	rowtest.NoError(t, err)
	plain := []byte(token)
	lowerHex := regexp.MustCompile("%[0-9A-F]{2}").ReplaceAllStringFunc(url.QueryEscape(token), strings.ToLower)
	for _, form := range []string{
		token, url.QueryEscape(token), url.PathEscape(token), strings.ToLower(url.QueryEscape("<>")) + token, string(quoted), value.FormatJSON(token, ""),
		strings.ReplaceAll(strings.Trim(value.FormatJSON(token, ""), `"`), "/", `\/`), hex.EncodeToString(plain), fmt.Sprintf("%X", plain),
		base64.StdEncoding.EncodeToString(plain), base64.URLEncoding.EncodeToString(plain), base64.RawStdEncoding.EncodeToString(plain), base64.RawURLEncoding.EncodeToString(plain),
		"t0k&lt;en&gt;&amp;&#34;/+=?ä-value", lowerHex, row.Escape(token, ""),
		"x" + token + "y" + token, strings.Repeat(token, 3), "\xff" + token,
	} {
		d := newTLSNet(t, &Options{Secrets: secretsOf("T", token)}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Echo", strings.Map(func(r rune) rune {
				if r < ' ' {
					return -1
				}
				return r
			}, form))
			io.WriteString(w, "it is "+form+".")
		})
		d.Must("secret", "name", "T")
		a := d.answer("http.get", "url", "https://example.com/")
		body := a.Text("text")
		if raw, ok := row.Arg(a, "bytes").([]byte); ok {
			body = string(raw)
		}
		headers := a.Dict("headers")
		for _, got := range []string{body, headers.Text("x-echo")} {
			if strings.Contains(got, form) || !strings.Contains(got, "{{secret:T}}") {
				t.Errorf("%q came back as %q", form, got)
			}
		}
	}
}

// TestSecretErrors checks that no error holds a value.
func TestSecretErrors(t *testing.T) {
	t.Parallel()
	fails := func(d *testNet, says, url string, args ...value.Value) {
		t.Helper()
		_, err := d.Call("http.get", append([]value.Value{"url", url, "headers", value.NewDict("X", "{{secret:T}}")}, args...)...)
		e := value.ErrorOf(err, value.Internal)
		if e == nil || !strings.Contains(e.Message(), says) {
			t.Fatalf("http.get = %v, want %q", err, says)
		}
		if text := e.Error() + e.Hint; strings.Contains(text, aToken) {
			t.Errorf("the error %q holds the value", text)
		}
	}
	options := func() *Options { return &Options{Secrets: secretsOf("T", aToken), Private: loopback} }
	echo := func(format string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			defer conn.Close()
			fmt.Fprintf(conn, format, r.Header.Get("X"))
		}
	}
	fails(newTLSNet(t, options(), echo("HTTP/1.1 200 OK\r\n%s\r\n\r\n")), "malformed", "https://example.com/")
	fails(newTLSNet(t, options(), echo("%s")), "malformed", "https://example.com/")
	fails(newTLSNet(t, options(), echo("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\n\r\n")), "unsupported content encoding", "https://example.com/")
	fails(newTLSNet(t, options(), echo("HTTP/1.1 302 Found\r\nLocation: %s://x\r\n\r\n")), "the redirect has an invalid URL", "https://example.com/")
	fails(newTLSNet(t, options(), echo("HTTP/1.1 302 Found\r\nLocation: https://127.1/%s\r\n\r\n")), "redirects", "https://example.com/")
	fails(newTLSNet(t, options(), echo("HTTP/1.1 302 Found\r\nLocation: https://%s\r\n\r\n")), "redirects", "https://example.com/")
	d := newTLSNet(t, options(), sends("x"))
	fails(d, "the secret NONE has no value", "https://example.com/", "params", value.NewDict("a", "{{secret:T}}", "b", "{{secret:NONE}}"))
}

// TestSecretGrants checks that a placeholder is worth nothing without a grant
// for the very host that is asked, and that it is sent nowhere as it is.
func TestSecretGrants(t *testing.T) {
	t.Parallel()
	d := newTLSNet(t, &Options{Secrets: secretsOf("TOKEN", aToken, "OTHER", "other-value")}, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s%s reached the server with %v", r.Host, r.URL, r.Header)
	})
	d.to["8443"] = d.to["443"]
	d.Grant("http", "secret:TOKEN@example.com", "secret:TOKEN@*.trusted.example", "secret:TOKEN@example.com:8443")
	for _, tt := range []struct{ url, name, says string }{
		{"https://example.com/", "OTHER", "secret:OTHER@example.com is not granted"},
		{"https://example.com/", "token", "secret:token@example.com is not granted"},
		{"https://evil.example/", "TOKEN", "secret:TOKEN@evil.example is not granted"},
		{"https://www.example.com/", "TOKEN", "secret:TOKEN@www.example.com is not granted"},
		{"https://example.com.evil.example/", "TOKEN", "is not granted"},
		{"https://trusted.example/", "TOKEN", "is not granted"},
		{"https://nottrusted.example/", "TOKEN", "is not granted"},
		{"https://example.com:9443/", "TOKEN", "secret:TOKEN@example.com:9443 is not granted"},
		{"https://a.trusted.example:8443/", "TOKEN", "is not granted"},
		{"http://example.com/", "TOKEN", "the URL should begin with https:"},
	} {
		placeholder := "{{secret:" + tt.name + "}}"
		d.Fails(value.Denied, tt.says, "http.get", "url", tt.url, "headers", value.NewDict("Authorization", "Bearer "+placeholder))
		d.Fails(value.Denied, tt.says, "http.get", "url", tt.url, "params", value.NewDict("key", placeholder))
		d.Fails(value.Denied, tt.says, "http.post", "url", tt.url, "auth", value.List{"me", placeholder})
		d.Fails(value.Denied, tt.says, "http.post", "url", tt.url, "auth", value.List{placeholder, "x"})
	}
	d.Grant("http")
	d.Fails(value.Denied, "is not granted", "http.get", "url", "https://example.com/", "headers", value.NewDict("X", "{{secret:TOKEN}}"))
	d.Grant("http", "secret")
	const u = "https://example.com/"
	for _, args := range [][]value.Value{
		{"url", u + "{{secret:TOKEN}}"},
		{"url", u + "?key={{secret:TOKEN}}"},
		{"url", u + "?key=%7b%7bsecret%3aTOKEN%7d%7d"},
		{"url", u, "body", "token={{secret:TOKEN}}"},
		{"url", u, "body", []byte("{{secret:TOKEN}}")},
		{"url", u, "json", value.NewDict("comment", value.List{"{{secret:TOKEN}}"})},
		{"url", u, "json", value.NewDict("{{secret:TOKEN}}", int64(1))},
		{"url", u, "form", value.NewDict("key", "{{secret:TOKEN}}")},
		{"url", u, "params", value.NewDict("q", "what is {{secret:TOKEN}}?")},
		{"url", u, "params", value.NewDict("q", value.List{"{{secret:TOKEN}}"})},
		{"url", u, "params", value.NewDict("{{secret:TOKEN}}", "x")},
	} {
		d.Fails(value.Denied, "the placeholder of a secret is not allowed", "http.post", args...)
	}
	d.Fails(value.Denied, "invalid placeholder of a secret", "http.get", "url", u, "headers", value.NewDict("X", "{{secret:}}"))
	d.Fails(value.Denied, "invalid placeholder of a secret", "http.get", "url", u, "headers", value.NewDict("X", "{{secret:TOKEN"))
	d.Fails(value.Unavailable, "has no value", "http.get", "url", u, "headers", value.NewDict("X", "{{secret:NONE}}"))
	if _, err := d.Call("http.get", "url", u, "headers", value.NewDict("X", "{{secret:NONE}}")); value.ErrorOf(err, value.Internal).Limit != "secret:NONE" {
		t.Errorf("a missing secret: %v", err)
	}
	d.Fails(value.Denied, "invalid header name", "http.get", "url", u, "headers", value.NewDict("{{secret:TOKEN}}", "X"))

	broken := newTLSNet(t, &Options{Secrets: secretsOf("TOKEN", "one\r\nHost: evil")}, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%v was sent", r.Header) })
	broken.Fails(value.Failed, "the value of the secret contains invalid characters", "http.get", "url", u, "headers", value.NewDict("X", "{{secret:TOKEN}}"))
}

// TestSecretOverHTTP checks that a secret goes unencrypted only to an address
// that the user's config names, even if it is not the only one of a name.
func TestSecretOverHTTP(t *testing.T) {
	t.Parallel()
	d := newTestNet(t, &Options{Secrets: secretsOf("TOKEN", aToken), Private: loopback})
	got := ""
	d.serve("80", func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("X") + r.URL.RawQuery })
	for _, args := range [][]value.Value{{"headers", value.NewDict("X", "{{secret:TOKEN}}")}, {"params", value.NewDict("X", "{{secret:TOKEN}}")}} {
		got = ""
		d.Must("http.get", append([]value.Value{"url", "http://localhost/"}, args...)...)
		if !strings.HasSuffix(got, aToken) {
			t.Errorf("the server got %q, want it to end in %q", got, aToken)
		}
		d.names["mixed.example"] = []string{"93.184.215.14 127.0.0.1"}
		d.Must("http.get", append([]value.Value{"url", "http://mixed.example/"}, args...)...)
		d.Fails(value.Denied, "the URL should begin with https:", "http.get", append([]value.Value{"url", "http://example.com/"}, args...)...)
	}
	for _, address := range d.dialed {
		if address != "127.0.0.1:80" {
			t.Errorf("dialed %s", address)
		}
	}
}

// TestA9SecretOverHTTPHint checks that the refusal says how to use a server of one's own.
func TestA9SecretOverHTTPHint(t *testing.T) {
	t.Parallel()
	for _, private := range [][]netip.Prefix{nil, {netip.MustParsePrefix("10.1.2.3/32")}} {
		d := newTestNet(t, &Options{Secrets: secretsOf("TOKEN", aToken), Private: private})
		for u, hint := range map[string]string{
			"http://localhost:8080/": "config set --add http.private 127.0.0.1/32", "http://192.168.1.7/": "config set --add http.private 192.168.1.7/32", "http://[::1]/": "config set --add http.private ::1/128",
		} {
			_, err := d.Call("http.get", "url", u, "headers", value.NewDict("X", "{{secret:TOKEN}}"))
			if e := value.ErrorOf(err, value.Internal); e == nil || !strings.Contains(e.Error(), "the URL should begin with https:") || !strings.Contains(e.Hint, hint) {
				t.Errorf("%s: %v, hint %q, want %q", u, err, e.Hint, hint)
			}
		}
	}
}

func TestH09SecretsAndRedirects(t *testing.T) {
	t.Parallel()
	var first, second http.Header
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { second = r.Header }))
	defer other.Close()
	start := func(to string) *testNet {
		first, second = nil, nil
		d := newTLSNet(t, &Options{Secrets: secretsOf("TOKEN", aToken)}, func(w http.ResponseWriter, r *http.Request) {
			if first == nil {
				first = r.Header
				http.Redirect(w, r, to, http.StatusTemporaryRedirect)
				return
			}
			second = r.Header
			io.WriteString(w, "from "+r.Host+r.URL.Path)
		})
		d.to["8443"] = d.to["443"]
		return d
	}
	sent := value.NewDict("Authorization", "Bearer {{secret:TOKEN}}", "X-Key", "{{secret:TOKEN}}", "X-Plain-Key", "abc", "Accept", "text/x {{secret:TOKEN}}",
		"User-Agent", "me", "Range", "bytes=0-9")
	// Each of these is another host; the test's certificate holds for the names.
	for _, to := range []string{"https://a.example.com/", "https://127.0.0.1/", "https://example.com:8443/", "//a.example.com/x"} {
		d := start(to)
		d.net.ReplacePrivate(loopback)
		a := d.answer("http.get", "url", "https://example.com/", "headers", sent)
		if first.Get("Authorization") != "Bearer "+aToken || first.Get("X-Key") != aToken {
			t.Errorf("the first host got %v", first)
		}
		for _, name := range []string{"Authorization", "X-Key", "X-Plain-Key"} {
			if got, ok := second[name]; ok {
				t.Errorf("after a redirect to %s the header %s is %q, want none", to, name, got)
			}
		}
		if got := second.Get("Accept"); got != "*/*" || second.Get("User-Agent") != "me" || second.Get("Range") != "bytes=0-9" {
			t.Errorf("after a redirect to %s the header is %v", to, second)
		}
		hidden(t, to, a, aToken)
	}
	for _, auth := range []value.List{{"me", "{{secret:TOKEN}}"}, {"me", "plain"}} {
		start("https://a.example.com/").Must("http.get", "url", "https://example.com/", "auth", auth)
		if first.Get("Authorization") == "" || second == nil || second.Get("Authorization") != "" {
			t.Errorf("with auth %v the hosts got %v and %v", auth, first, second)
		}
	}
	// On the same host they stay.
	for _, to := range []string{"/x", "https://EXAMPLE.com:443/x", "//example.com./x"} {
		start(to).Must("http.get", "url", "https://example.com/", "headers", sent)
		if second.Get("Authorization") != "Bearer "+aToken || second.Get("X-Plain-Key") != "abc" {
			t.Errorf("after a redirect to %s the header is %v", to, second)
		}
	}
	// A server cannot hand a secret on in the URL, nor take it to http.
	for _, to := range []string{"https://a.example.com/?k=" + aToken, "https://a.example.com/" + base64.URLEncoding.EncodeToString([]byte("me:"+aToken)), "https://" + strings.ToLower(aToken) + ".evil.example/"} {
		d := start(to)
		d.Grant("http:example.com", "http:*.example.com", "secret")
		if _, err := d.Call("http.get", "url", "https://example.com/", "headers", sent); value.KindOf(err) != value.Denied && value.KindOf(err) != value.Invalid || second != nil {
			t.Errorf("a redirect to %s: %v, want a denial", to, err)
		} else if strings.Contains(err.Error(), aToken) {
			t.Errorf("the error %q holds the value", err)
		}
	}
	d := start("http://example.com/")
	d.to["80"] = other.Listener.Addr().String()
	d.Fails(value.Denied, "redirects: the target is http:", "http.get", "url", "https://example.com/", "headers", sent)
	// What was in the query of the first does not follow.
	d = start("https://a.example.com/")
	if a := d.answer("http.get", "url", "https://example.com/", "params", value.NewDict("key", "{{secret:TOKEN}}")); a.Text("url") != "https://a.example.com/" {
		t.Errorf("the URL in the end is %s", a.Text("url"))
	}
}

// TestSecretInEscapedJSON checks that a value is hidden also where JSON writes
// it so that its text does not show it.
func TestSecretInEscapedJSON(t *testing.T) {
	t.Parallel()
	d := newTLSNet(t, &Options{Secrets: secretsOf("TOKEN", aToken)}, func(w http.ResponseWriter, r *http.Request) {
		var escaped strings.Builder
		for _, c := range r.Header.Get("Authorization") {
			fmt.Fprintf(&escaped, `\u%04x`, c)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"%s": ["%s", 1]}`, escaped.String(), escaped.String())
	})
	d.Grant("http.get:example.com", "secret:TOKEN@example.com")
	r := d.Must("http.get", "url", "https://example.com/", "headers", value.NewDict("Authorization", "{{secret:TOKEN}}")).(*value.Dict)
	want := value.NewDict("{{secret:TOKEN}}", value.List{"{{secret:TOKEN}}", int64(1)})
	if got, _ := r.Get("json"); !value.Equal(got, want) {
		t.Errorf("json = %s, want %s", value.FormatJSON(got, ""), value.FormatJSON(want, ""))
	}
	again, err := value.ParseJSON([]byte(r.Text("text")))
	if err != nil || !value.Equal(again, want) {
		t.Errorf("text = %s, %v, want %s", r.Text("text"), err, value.FormatJSON(want, ""))
	}
}

// TestSecretHangs checks that a request does not wait for a function that returns the
// value of a secret when its time is over.
func TestSecretHangs(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	defer close(hang)
	wait := secret.NewBox(func(context.Context, string) (string, error) { <-hang; return aToken, nil })
	d := newTLSNet(t, &Options{Secrets: wait}, sends("x"))
	rowtest.Within(t, "the request", func() {
		d.Fails(value.Timeout, "no complete response within 50ms", "http.get", "url", "https://example.com/", "timeout", 0.05, "headers", value.NewDict("X", "{{secret:T}}"))
	})
}

// TestX3EncodedSecrets checks that a value that comes back encoded is hidden wherever a
// response can hold it.
func TestX3EncodedSecrets(t *testing.T) {
	t.Parallel()
	each := func(format string) string {
		var b strings.Builder
		for _, c := range []byte(aToken) {
			fmt.Fprintf(&b, format, c)
		}
		return b.String()
	}
	wide := strings.TrimSuffix(strings.Join(strings.Split(aToken, ""), "\x00"), "\x00") + "\x00"
	b64 := base64.StdEncoding.EncodeToString([]byte("user:" + aToken))
	for what, form := range map[string]string{
		"percent": each("%%%02x"), "twice": url.QueryEscape(each("%%%02X")), "entities": each("&#%d;"), "hex entities": each("&#x%X"), "units": each(`\u%04x`),
		"spaced hex": each("%02x "), "0x": each("0x%02X,"), "numbers": each("%d,"), "base64": b64, "base64 lines": b64[:20] + "\n " + b64[20:], "quoted": each("=%02X"),
		"UTF-16": wide, "upper case": strings.ToUpper(aToken), "reversed": reversed(aToken), "number": "x" + aToken,
	} {
		inHead := strings.Map(func(r rune) rune {
			if r < ' ' {
				return ' '
			}
			return r
		}, form)
		d := newTLSNet(t, &Options{Secrets: secretsOf("T", aToken)}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Echo", inHead)
			switch r.URL.Path {
			case "/json":
				json.NewEncoder(w).Encode(map[string]any{"a": form, form: []any{1, form}})
			case "/start":
				w.Header().Set("Location", "/end?q="+url.QueryEscape(form))
				w.WriteHeader(http.StatusFound)
			case "/binary":
				io.WriteString(w, "\x00\xff"+form)
			default:
				io.WriteString(w, "it is "+form+".")
			}
		})
		d.Must("secret", "name", "T")
		for _, path := range []string{"/", "/json", "/start", "/binary"} {
			for _, follow := range []bool{true, false} {
				a := d.answer("http.get", "url", "https://example.com"+path, "allow_redirects", follow)
				hidden(t, what, a, form)
				hidden(t, what, a, inHead)
				where := map[string]string{"/": a.Text("text") + string(rowBytes(a)), "/json": value.FormatJSON(row.Arg(a, "json"), ""), "/start": a.Text("url") + a.Dict("headers").Text("location"), "/binary": string(rowBytes(a))}[path]
				if !strings.Contains(where, "{{secret:T}}") || !strings.Contains(a.Dict("headers").Text("x-echo"), "{{secret:T}}") {
					t.Errorf("%s in %s came back as %s", what, path, a)
				}
			}
		}
	}
}

func reversed(text string) string {
	b := []byte(text)
	slices.Reverse(b)
	return string(b)
}

func rowBytes(a *value.Dict) []byte {
	raw, _ := row.Arg(a, "bytes").([]byte)
	return raw
}

// TestX3SecretsThatAreNumbers checks that JSON in which a value is not a string is not
// given to the script.
func TestX3SecretsThatAreNumbers(t *testing.T) {
	t.Parallel()
	const pin = "4024007198964305"
	for _, body := range []string{`{"pin": ` + pin + `}`, `{"data": [52,48,50,52,48,48,55,49,57,56,57,54,52,51,48,53]}`} {
		d := newTLSNet(t, &Options{Secrets: secretsOf("T", pin)}, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
		d.Must("secret", "name", "T")
		a := d.answer("http.get", "url", "https://example.com/")
		if row.Arg(a, "json") != nil || !strings.Contains(a.Text("text"), "{{secret:T}}") {
			t.Errorf("%s came back as %s", body, a)
		}
	}
}
