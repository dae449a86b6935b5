package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestRoles makes each request as each role, and as nobody: what is allowed depends on the table of routes alone.
func TestRoles(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) {
		o.Rate = 1000
		o.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, UserOf(r.Context()).Name) })
	})
	id := r.begin("ada", "sure", "{}")
	routes := r.routes()
	if len(routes) < 20 {
		t.Fatalf("there are %d routes", len(routes))
	}
	for _, rt := range routes {
		method, path, both := strings.Cut(rt.pattern, " ")
		if !both {
			method, path = "POST", rt.pattern
		}
		path = strings.NewReplacer("{id}", id, "{qid}", "none", "/workflows/{name}", "/workflows/greet", "{name}", "echo").Replace(path)
		if rt.stream { // of what does not exist
			path = strings.Replace(path, id, "none", 1)
		}
		for token, role := range map[string]Role{"": 0, "forged": 0, "vera": View, "rob": Run, "ann": Approve, "ada": Admin, "owner-token": Admin} {
			status := r.send(ask{token: token, method: method, path: path}).StatusCode
			signedOut, forbidden := status == http.StatusUnauthorized || status == http.StatusTooManyRequests, status == http.StatusForbidden
			own := strings.Contains(path, "/runs/"+id+"/") && (method == "POST" || rt.role == Run) && role == Run                           // it is the run of ada
			own = own || role == View && method == "POST" && (strings.HasPrefix(path, "/tools/") || strings.HasPrefix(path, "/workflows/")) // who sees a form may fill it in
			switch public := rt.role == 0; {
			case path == "/login":
				if status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
					t.Errorf("%s as %q gave %d", rt.pattern, token, status)
				}
			case signedOut != (role == 0 && !public), forbidden != (!public && role > 0 && role < rt.role || own):
				t.Errorf("%s as %q gave %d", rt.pattern, token, status)
			}
		}
	}
	if n := len(r.audit.texts("POST /v1/runs")); n != 1 {
		t.Errorf("the audit has %d refusals, want that of vera", n)
	}
}

// A browser makes requests with the cookie of a server.
func (r *rig) browser(cookie *http.Cookie, method, path, form string) *http.Response {
	r.t.Helper()
	a := ask{method: method, path: path, body: form, header: [][2]string{{"Accept", "text/html"}, {"Sec-Fetch-Site", "same-origin"}}}
	if method == "POST" {
		a.header = append(a.header, [2]string{"Content-Type", "application/x-www-form-urlencoded"})
	}
	if cookie != nil {
		a.header = append(a.header, [2]string{"Cookie", cookie.Name + "=" + cookie.Value})
	}
	return r.send(a)
}

// TestSignIn checks codes, tokens and sessions: used, forged, replayed, too old and taken back.
func TestSignIn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	users, _ := testUsers()
	r := newRig(t, func(o *Options) {
		o.Clock = func() time.Time { return now }
		o.Users = func() ([]User, error) { return users, nil }
	})
	in := func(form string, want int) *http.Cookie {
		t.Helper()
		response := r.browser(nil, "POST", "/login", form)
		if response.StatusCode != want {
			text, _ := io.ReadAll(response.Body)
			t.Fatalf("POST /login with %s gave %d, want %d: %s", form, response.StatusCode, want, text)
		}
		cookies := response.Cookies()
		if len(cookies) == 0 {
			return nil
		}
		if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || len(c.Value) < 40 {
			t.Errorf("the cookie is %v", c)
		}
		return cookies[0]
	}
	sees := func(c *http.Cookie, want int) {
		t.Helper()
		if got := r.browser(c, "GET", "/v1/runs", "").StatusCode; got != want {
			t.Errorf("a request with the cookie gave %d, want %d", got, want)
		}
	}
	code := r.SignInCode()
	r.browser(nil, "GET", "/login?code="+code, "") // as a scanner of mails does
	owner := in("code="+code, http.StatusSeeOther)
	sees(owner, http.StatusOK)
	in("code="+code, http.StatusUnauthorized)
	old := r.SignInCode()
	now = now.Add(codeTime + time.Second)
	in("code="+old, http.StatusUnauthorized)
	in("token=forged", http.StatusUnauthorized)
	in("token=", http.StatusUnauthorized)
	rob := in("token=rob", http.StatusSeeOther)
	sees(rob, http.StatusOK)
	sees(&http.Cookie{Name: cookieName, Value: HashToken(rob.Value)}, http.StatusUnauthorized)
	r.browser(rob, "POST", "/logout", "")
	sees(rob, http.StatusUnauthorized) // a copy of it
	rob = in("token=rob", http.StatusSeeOther)
	users[1].Hash = HashToken("another token of rob")
	sees(rob, http.StatusUnauthorized)
	sees(owner, http.StatusOK)
	now = now.Add(sessionIdle - time.Second)
	sees(owner, http.StatusOK)
	now = now.Add(sessionIdle - time.Second)
	sees(owner, http.StatusOK) // it was used
	now = now.Add(sessionIdle + time.Second)
	sees(owner, http.StatusUnauthorized)
	for next, want := range map[string]string{"/runs?state=done": "/runs?state=done", "//evil.example": "/", "https://evil.example": "/", `/\evil.example`: "/", "": "/"} {
		response := r.browser(nil, "POST", "/login", "token=ann&next="+url.QueryEscape(next))
		if got := response.Header.Get("Location"); got != want {
			t.Errorf("the sign-in leads from %q to %q, want %q", next, got, want)
		}
	}
	if d := r.post("", "/login", `{"token": "vera"}`, http.StatusOK); d.Text("user") != "vera" || d.Text("role") != "view" {
		t.Errorf("the sign-in of a program gave %v", d)
	}
}

// TestFailedSignIns checks that guesses are limited, and that those with a token are not locked out.
func TestFailedSignIns(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRig(t, func(o *Options) { o.Clock = func() time.Time { return now } })
	var last *http.Response
	for range failures + 2 {
		last = r.send(ask{token: "guess", method: "GET", path: "/v1/runs"})
	}
	if last.StatusCode != http.StatusTooManyRequests || last.Header.Get("Retry-After") == "" {
		t.Errorf("the last guess gave %d", last.StatusCode)
	}
	r.post("", "/login", `{"token": "rob"}`, http.StatusTooManyRequests)
	r.get("rob", "/v1/runs", http.StatusOK)
	now = now.Add(failEvery)
	r.post("", "/login", `{"token": "rob"}`, http.StatusOK)
	if n := len(r.audit.texts("sign-in")); n != failures+1 {
		t.Errorf("the audit has %d attempts, want %d failures and a success", n, failures)
	}
}

// TestReloadHosts checks that a name counts from the next request on.
func TestReloadHosts(t *testing.T) {
	t.Parallel()
	var hosts atomic.Pointer[[]string]
	hosts.Store(&[]string{"old.example"})
	r := newRig(t, func(o *Options) { o.Reload = func() ([]string, bool, error) { return *hosts.Load(), false, nil } })
	for _, c := range []struct {
		hosts    []string
		old, now int
	}{{[]string{"old.example"}, http.StatusOK, http.StatusForbidden}, {[]string{"new.example"}, http.StatusForbidden, http.StatusOK}} {
		hosts.Store(&c.hosts)
		for name, want := range map[string]int{"old.example": c.old, "new.example": c.now} {
			if got := r.send(ask{token: "rob", method: "GET", path: "/v1/runs", header: [][2]string{{"Host", name}}}).StatusCode; got != want {
				t.Errorf("with %q, %s gave %d, want %d", c.hosts, name, got, want)
			}
		}
	}
}

// TestForeignRequests checks requests of other sites, for other names, and with tokens of other servers.
func TestForeignRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Hosts = []string{"cassidy.example"} })
	for _, c := range []struct {
		name   string
		method string
		header [2]string
		want   int
	}{
		{"plain", "POST", [2]string{"X", "x"}, http.StatusBadRequest},
		{"same site", "POST", [2]string{"Sec-Fetch-Site", "same-origin"}, http.StatusBadRequest},
		{"cross-site POST", "POST", [2]string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"another origin", "POST", [2]string{"Origin", "https://evil.example"}, http.StatusForbidden},
		{"cross-site GET", "GET", [2]string{"Sec-Fetch-Site", "cross-site"}, http.StatusOK}, // a link in a mail; it decides nothing
		{"rebinding", "GET", [2]string{"Host", "evil.example"}, http.StatusForbidden},
		{"rebinding with a port", "GET", [2]string{"Host", "evil.example:7457"}, http.StatusForbidden},
		{"localhost", "GET", [2]string{"Host", "localhost:7457"}, http.StatusOK},
		{"IPv6", "GET", [2]string{"Host", "[::1]:7457"}, http.StatusOK},
		{"a configured name", "GET", [2]string{"Host", "Cassidy.example"}, http.StatusOK},
		{"basic", "GET", [2]string{"Authorization", "Basic cm9iOnJvYg=="}, http.StatusUnauthorized},
		{"a hash as token", "GET", [2]string{"Authorization", "Bearer " + HashToken("rob")}, http.StatusUnauthorized},
	} {
		if got := r.send(ask{token: "rob", method: c.method, path: "/v1/runs", header: [][2]string{c.header}}).StatusCode; got != c.want {
			t.Errorf("%s gave %d, want %d", c.name, got, c.want)
		}
	}
	other := newRig(t, func(o *Options) { o.Token = "of the other" })
	other.get("owner-token", "/v1/runs", http.StatusUnauthorized)
}

// TestIdentify checks that a program's own sign-in comes first, and that a user sees only their projects.
func TestIdentify(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) {
		o.Identify = func(r *http.Request) (*User, error) {
			switch name := r.Header.Get("X-User"); name {
			case "":
				return nil, nil
			case "locked":
				return nil, value.Errorf(value.Denied, "the account is locked")
			default:
				return &User{Name: name, Role: Admin, Projects: []string{name}}, nil
			}
		}
	})
	id := r.begin("rob", "sure", "{}")
	as := func(name, path string, status int) *value.Dict {
		t.Helper()
		return r.do(ask{method: "GET", path: path, header: [][2]string{{"X-User", name}}}, status)
	}
	as("bakery", "/v1/runs/"+id, http.StatusOK)
	as("locked", "/v1/runs", http.StatusForbidden)
	for _, path := range []string{"/v1/runs/" + id, "/v1/runs/" + id + "/questions", "/v1/runs/" + id + "/events", "/v1/runs?project=bakery", "/v1/tools?project=bakery"} {
		as("other", path, http.StatusNotFound)
	}
	if list, _ := as("other", "/v1/projects", http.StatusOK).Get("projects"); len(list.(value.List)) != 1 {
		t.Errorf("the projects are %v", list)
	}
	if list, _ := as("other", "/v1/runs", http.StatusOK).Get("runs"); len(list.(value.List)) != 0 {
		t.Errorf("the runs are %v", list)
	}
	for _, action := range []string{"cancel", "resume", "undo", "retry", "questions/" + id + ":1:1/answer"} {
		r.do(ask{method: "POST", path: "/v1/runs/" + id + "/" + action, body: map[bool]string{true: `{"yes": true}`}[strings.HasPrefix(action, "questions")], header: [][2]string{{"X-User", "other"}}}, http.StatusNotFound)
	}
	if text, _ := io.ReadAll(r.send(ask{method: "GET", path: "/metrics", header: [][2]string{{"X-User", "other"}}}).Body); strings.Contains(string(text), "bakery") {
		t.Errorf("the metrics name another project:\n%s", text)
	}
}

// TestWithoutAServer checks a handler whose server does not say where a request came in.
func TestWithoutAServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), "GET", "http://anything.example/healthz", nil))
	if w.Code != http.StatusForbidden {
		t.Errorf("a request for any name gave %d", w.Code)
	}
}
