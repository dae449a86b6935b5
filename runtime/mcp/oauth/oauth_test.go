package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A fake is an MCP server with its authorization server, at one address.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	metadata func(d map[string]any)      // changes the metadata of the authorization server
	resource func(d map[string]any)      // changes that of the resource
	redirect func(u url.Values)          // changes what the browser brings back
	answer   func(d map[string]any)      // changes the answer of the token endpoint
	handle   map[string]http.HandlerFunc // replaces answers
	forms    []url.Values                // of the token endpoint
	queries  []url.Values                // of the authorization endpoint
	tokens   int
	valid    string // the token that the server accepts
	scope    string // that it asks for
}

func newFake(t *testing.T) *fake {
	f := &fake{scope: "read", handle: map[string]http.HandlerFunc{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.handle[r.URL.Path]; h != nil {
		h(w, r)
		return
	}
	reply := func(status int, d map[string]any, change func(map[string]any)) {
		if change != nil {
			change(d)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(d)
	}
	switch r.URL.Path {
	case "/mcp":
		if f.valid != "" && r.Header.Get("Authorization") == "Bearer "+f.valid {
			return
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer resource_metadata=%q, scope=%q", f.URL+"/.well-known/oauth-protected-resource/mcp", f.scope))
		w.WriteHeader(http.StatusUnauthorized)
	case "/.well-known/oauth-protected-resource/mcp":
		reply(200, map[string]any{"resource": f.URL + "/mcp", "authorization_servers": []string{f.URL}}, f.resource)
	case "/.well-known/oauth-authorization-server":
		reply(200, map[string]any{
			"issuer": f.URL, "authorization_endpoint": f.URL + "/authorize", "token_endpoint": f.URL + "/token",
			"registration_endpoint": f.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
			"authorization_response_iss_parameter_supported": true, "response_types_supported": []string{"code"},
		}, f.metadata)
	case "/register":
		reply(201, map[string]any{"client_id": "client-1", "token_endpoint_auth_method": "none", "redirect_uris": []string{}}, nil)
	case "/token":
		_ = r.ParseForm()
		f.forms = append(f.forms, r.PostForm)
		f.tokens++
		f.valid = fmt.Sprintf("secret-token-%d", f.tokens)
		reply(200, map[string]any{"access_token": f.valid, "token_type": "Bearer", "refresh_token": fmt.Sprintf("secret-refresh-%d", f.tokens), "expires_in": 3600}, f.answer)
	default:
		http.NotFound(w, r)
	}
}

// browser signs in: it does what the page of the authorization server would do.
func (f *fake) browser(_ context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	q := u.Query()
	f.mu.Lock()
	f.queries = append(f.queries, q)
	f.mu.Unlock()
	back := url.Values{"code": {"code-1"}, "state": {q.Get("state")}, "iss": {f.URL}}
	if f.redirect != nil {
		f.redirect(back)
	}
	go func() {
		resp, err := http.Get(q.Get("redirect_uri") + "?" + back.Encode())
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	return nil
}

func (f *fake) options(t *testing.T) Options {
	return Options{Name: "fake", Server: f.URL + "/mcp", Dir: filepath.Join(t.TempDir(), "auth"), Show: f.browser}
}

var _ auth.OAuthHandler = (*Handler)(nil)

func newHandler(t *testing.T, o Options) *Handler {
	t.Helper()
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// token returns the token of the next request, or the error.
func token(t *testing.T, h *Handler) string {
	t.Helper()
	s, err := h.TokenSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		return "none"
	}
	got, err := s.Token()
	if err != nil {
		return "error: " + err.Error()
	}
	return got.AccessToken
}

func TestLogin(t *testing.T) {
	f := newFake(t)
	f.scope = "read write"
	o := f.options(t)
	h := newHandler(t, o)
	if got := token(t, h); got != "none" {
		t.Errorf("before the sign-in, the token is %s", got)
	}
	if err := h.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := token(t, newHandler(t, Options{Name: "fake", Server: o.Server, Dir: o.Dir})); got != "secret-token-1" {
		t.Errorf("the token is %s", got)
	}
	q := f.queries[0]
	if q.Get("code_challenge_method") != "S256" || len(q.Get("state")) < 20 || q.Get("resource") != o.Server || sorted(q.Get("scope")) != "read write" ||
		!strings.HasPrefix(q.Get("redirect_uri"), "http://127.0.0.1:") {
		t.Errorf("the authorization request is %v", q)
	}
	if form := f.forms[0]; form.Get("resource") != o.Server || form.Get("code_verifier") == "" || form.Get("code") != "code-1" {
		t.Errorf("the token request is %v", form)
	}
	checkPrivate(t, o.Dir)
	if !SignedIn(o.Dir, o.Server) || SignedIn(o.Dir, "https://other.example/mcp") {
		t.Error("SignedIn is true for another server only")
	}

	// Another server in the same folder has no token, and logging out deletes it.
	if got := token(t, newHandler(t, Options{Name: "other", Server: "https://other.example/mcp", Dir: o.Dir})); got != "none" {
		t.Errorf("another server gets the token %s", got)
	}
	for _, want := range []bool{true, false} {
		if had, err := Logout(o.Dir, o.Server); had != want || err != nil {
			t.Errorf("Logout = %v, %v, want %v", had, err, want)
		}
	}
	if got := token(t, h); got != "none" {
		t.Errorf("after logging out, the token is %s", got)
	}
}

// checkPrivate checks that only the user can read the stored tokens.
func checkPrivate(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || strings.HasSuffix(e.Name(), ".json") && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has the mode %v, %v", info.Mode(), err)
	}
}

// TestRefresh lets a token expire. Handlers of several processes refresh it once.
func TestRefresh(t *testing.T) {
	f := newFake(t)
	o := f.options(t)
	if err := newHandler(t, o).Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.Show = nil
	o.Now = func() time.Time { return time.Now().Add(3590 * time.Second) }
	var all sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		h := newHandler(t, o)
		all.Go(func() {
			if s, _ := h.TokenSource(t.Context()); s != nil {
				if tok, err := s.Token(); err == nil {
					got[i] = tok.AccessToken
				}
			}
		})
	}
	all.Wait()
	for _, text := range got {
		if text != "secret-token-2" {
			t.Errorf("the tokens are %q, want the second one", got)
			break
		}
	}
	form := f.forms[1]
	if len(f.forms) != 2 || form.Get("grant_type") != "refresh_token" || form.Get("refresh_token") != "secret-refresh-1" || form.Get("resource") != o.Server || form.Get("client_id") != "client-1" {
		t.Errorf("the requests are %v", f.forms)
	}

	// The refresh token is no longer valid.
	o.Now = func() time.Time { return time.Now().Add(24 * time.Hour) }
	f.handle["/token"] = func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error": "invalid_grant", "error_description": "secret-refresh-2"}`, http.StatusBadRequest)
	}
	if got := token(t, newHandler(t, o)); !strings.Contains(got, "you have to sign in") || strings.Contains(got, "secret") {
		t.Errorf("the token is %s, want that the user has to sign in", got)
	}
}

// TestAuthorize is called for a response with status 401, as a transport does.
func TestAuthorize(t *testing.T) {
	f := newFake(t)
	o := f.options(t)
	request := func(h *Handler) error {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, o.Server, nil)
		if s, _ := h.TokenSource(t.Context()); s != nil {
			tok, err := s.Token()
			if err != nil {
				return err
			}
			tok.SetAuthHeader(req)
		}
		resp, err := h.Client().Do(req)
		if err != nil {
			return err
		}
		if resp.StatusCode == http.StatusOK {
			return resp.Body.Close()
		}
		return h.Authorize(t.Context(), req, resp)
	}
	silent := o
	silent.Show = nil
	err := request(newHandler(t, silent))
	if e := value.ErrorOf(err, value.Failed); e.Kind != value.Denied || !strings.Contains(e.Hint, "cassidy mcp login fake") {
		t.Errorf("without a person: %v, want what to type", err)
	}
	if err := request(newHandler(t, o)); err != nil {
		t.Errorf("with a person: %v", err)
	}
	f.mu.Lock()
	f.valid = "another" // the server has forgotten the token
	f.mu.Unlock()
	if err := request(newHandler(t, silent)); err != nil || token(t, newHandler(t, silent)) != "secret-token-2" {
		t.Errorf("a token that is no longer valid is not refreshed: %v, %s", err, token(t, newHandler(t, silent)))
	}
	f.handle["/mcp"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="admin"`)
		w.WriteHeader(http.StatusForbidden)
	}
	if err := request(newHandler(t, silent)); err == nil || !strings.Contains(err.Error(), "more rights are needed (admin)") {
		t.Errorf("more rights: %v", err)
	}
	if err := newHandler(t, o).Login(t.Context()); err != nil || sorted(f.queries[1].Get("scope")) != "admin read" {
		t.Errorf("the next sign-in asks for %v, %v, want the right admin too", f.queries[1:], err)
	}

	req, _ := http.NewRequest(http.MethodPost, "https://evil.example/mcp", nil)
	err = newHandler(t, o).Authorize(t.Context(), req, &http.Response{StatusCode: 401, Body: http.NoBody})
	if value.KindOf(err) != value.Denied {
		t.Errorf("Authorize for another origin: %v, want that it is denied", err)
	}
}

// TestHostile has servers that want the tokens, or requests to other addresses.
func TestHostile(t *testing.T) {
	var reached bool
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer inside.Close()
	for _, c := range []struct {
		name  string
		spoil func(f *fake)
		want  string
	}{
		{"a token endpoint in a private network", func(f *fake) {
			f.metadata = func(d map[string]any) { d["token_endpoint"] = "https://10.0.0.1/token" }
		}, "token_endpoint"},
		{"an unencrypted token endpoint", func(f *fake) {
			f.metadata = func(d map[string]any) { d["token_endpoint"] = "http://as.example/token" }
		}, "token_endpoint"},
		{"a script as the page to sign in", func(f *fake) {
			f.metadata = func(d map[string]any) { d["authorization_endpoint"] = "javascript:alert(1)" }
		}, "authorization_endpoint"},
		{"another issuer in the metadata", func(f *fake) {
			f.metadata = func(d map[string]any) { d["issuer"] = "https://honest.example" }
		}, "does not match"},
		{"another issuer in the answer", func(f *fake) { f.redirect = func(q url.Values) { q.Set("iss", "https://honest.example") } }, "does not match expected issuer"},
		{"no issuer in the answer", func(f *fake) { f.redirect = func(q url.Values) { q.Del("iss") } }, "iss parameter"},
		{"no PKCE", func(f *fake) { f.metadata = func(d map[string]any) { delete(d, "code_challenge_methods_supported") } }, "PKCE"},
		{"huge metadata", func(f *fake) {
			f.metadata = func(d map[string]any) { d["x"] = strings.Repeat("x", 3<<20) }
		}, "the sign-in at fake failed"},
		{"a redirect of the metadata", func(f *fake) {
			f.handle["/.well-known/oauth-authorization-server"] = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, inside.URL, http.StatusFound)
			}
		}, "the sign-in at fake failed"},
		{"a redirect of the token request", func(f *fake) {
			f.handle["/token"] = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
			}
		}, "refused"},
		{"a redirect of the server", func(f *fake) {
			f.handle["/mcp"] = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
			}
		}, "expected HTTP status 401 but got 307"},
		{"another type of token", func(f *fake) { f.answer = func(d map[string]any) { d["token_type"] = "mac" } }, "not a bearer token"},
		{"no token", func(f *fake) { f.answer = func(d map[string]any) { delete(d, "access_token") } }, "access_token"},
		{"an error of the token endpoint with secrets", func(f *fake) {
			f.handle["/token"] = func(w http.ResponseWriter, r *http.Request) {
				_ = r.ParseForm()
				http.Error(w, `{"error":"bad","error_description":"secret-`+r.PostForm.Get("code")+`"}`, 400)
			}
		}, "refused"},
		{"the user declines", func(f *fake) {
			f.redirect = func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") }
		}, "access_denied"},
		{"no sign-in", func(f *fake) { f.handle["/mcp"] = func(http.ResponseWriter, *http.Request) {} }, "needs no sign-in"},
	} {
		f := newFake(t)
		c.spoil(f)
		o := f.options(t)
		o.Patience = 20 * time.Second
		h := newHandler(t, o)
		err := h.Login(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret-") {
			t.Errorf("%s: Login = %v, want an error with %q", c.name, err, c.want)
		}
		if got := token(t, h); got != "none" {
			t.Errorf("%s: the token %s is stored", c.name, got)
		}
	}
	if reached {
		t.Error("a redirect was followed")
	}
}

// TestCallback sends what any page could send to the address of the callback.
func TestCallback(t *testing.T) {
	f := newFake(t)
	o := f.options(t)
	o.Show = func(ctx context.Context, address string) error {
		u, _ := url.Parse(address)
		at := u.Query().Get("redirect_uri")
		state := u.Query().Get("state")
		for _, forged := range []string{"?code=evil&state=guess", "?code=evil", "?error=x&state=", "/other?code=evil&state=" + state} {
			resp, err := http.Get(at + forged)
			if err != nil || resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: %v, %v, want status 400", forged, resp, err)
			}
		}
		req, _ := http.NewRequest(http.MethodGet, at+"?code=evil&state="+state, nil)
		req.Host = "evil.example" // a name that leads to this machine
		if resp, err := http.DefaultClient.Do(req); err != nil || resp.StatusCode != http.StatusBadRequest {
			t.Errorf("another host: %v, %v, want status 400", resp, err)
		}
		return f.browser(ctx, address)
	}
	if err := newHandler(t, o).Login(t.Context()); err != nil || f.forms[0].Get("code") != "code-1" {
		t.Errorf("Login = %v with the code %v", err, f.forms)
	}
}

func TestNobodySignsIn(t *testing.T) {
	f := newFake(t)
	o := f.options(t)
	o.Show = func(context.Context, string) error { return nil }
	o.Patience = time.Millisecond
	if err := newHandler(t, o).Login(t.Context()); value.KindOf(err) != value.Timeout {
		t.Errorf("Login = %v, want a timeout", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Patience = time.Hour
	o.Show = func(context.Context, string) error { cancel(); return nil }
	if err := newHandler(t, o).Login(ctx); value.KindOf(err) != value.Canceled {
		t.Errorf("Login = %v, want that it was canceled", err)
	}
}

func TestNew(t *testing.T) {
	for _, c := range []struct {
		server string
		ok     bool
	}{
		{"https://a.example/mcp", true}, {"http://127.0.0.1:80/", true}, {"http://localhost/", true}, {"http://[::1]/", true},
		{"http://a.example/", false}, {"https://u:p@a.example/", false}, {"https:///", false}, {"file:///x", false}, {"http://localhost.example/", false}, {"%", false},
	} {
		if _, err := New(Options{Server: c.server, Dir: t.TempDir()}); (err == nil) != c.ok {
			t.Errorf("New(%q) = %v, want ok: %v", c.server, err, c.ok)
		}
	}
}

// TestClientReaches asks the client itself for addresses that a server may name.
func TestClientReaches(t *testing.T) {
	h := newHandler(t, Options{Name: "a", Server: "https://a.example/mcp", Dir: t.TempDir()})
	for _, address := range []string{"https://10.0.0.1/", "https://169.254.169.254/latest", "https://127.0.0.1:9/", "http://as.example/", "https://[::1]:9/", "https://u:p@as.example/", "file:///etc/passwd"} {
		resp, err := h.Client().Get(address)
		if err == nil || value.KindOf(err) != value.Denied {
			t.Errorf("Get(%s) = %v, %v, want that it is denied", address, resp, err)
		}
	}
}

// TestDamaged has a record that cannot be read: the user signs in again.
func TestDamaged(t *testing.T) {
	f := newFake(t)
	o := f.options(t)
	h := newHandler(t, o)
	if err := h.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{", "[]", `{"server": "https://other.example", "token": "x"}`, `{"server": 1}`} {
		if err := os.WriteFile(h.store.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := token(t, h); got != "none" {
			t.Errorf("with the record %s, the token is %s", text, got)
		}
	}
	if got := fmt.Sprintf("%v %+v", &record{Server: "s", Token: "secret"}, record{Token: "secret"}); strings.Contains(got, "secret") {
		t.Errorf("a formatted record has the token: %s", got)
	}
}

// sorted returns rights in the order of their names: the order in a request means nothing.
func sorted(scope string) string {
	list := strings.Fields(scope)
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestFinalSlash signs in where names of the authorization server end with a slash. The name in the answer must be
// that of the metadata, to the character.
func TestFinalSlash(t *testing.T) {
	for places := range 8 {
		f := newFake(t)
		slash := func(place int) string { return f.URL + strings.Repeat("/", places>>place&1) }
		f.resource = func(d map[string]any) { d["authorization_servers"] = []string{slash(0)} }
		f.metadata = func(d map[string]any) { d["issuer"] = slash(1) }
		f.redirect = func(q url.Values) { q.Set("iss", slash(2)) }
		h := newHandler(t, f.options(t))
		err := h.Login(t.Context())
		if same := places>>1&1 == places>>2&1; (err == nil) != same || same != (token(t, h) == "secret-token-1") {
			t.Errorf("places %b: %v", places, err)
		}
	}
}
