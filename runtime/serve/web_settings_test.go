package serve

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
)

func TestLoginPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.shows("", "/login", http.StatusOK, "Sign in to 127.0.0.1", "Token", "Stay signed in", `!name="next"`, "!rail")
	r.shows("", "/login?next=%2Fquestions%2Fapril%3A2%3A1%3Fa%3Db", http.StatusOK, "Then you go on to: the question april:2:1", `value="/questions/april:2:1?a=b"`)
	r.shows("", "/login?next=%2F%2Fevil.example", http.StatusOK, "!evil.example")
	code := r.SignInCode()
	html := r.shows("", "/login?code="+code, http.StatusOK, "works once, for 5 minutes", `value="`+code+`"`, `!id="token"`)
	expect(t, "the page with a code", html, "!Stay signed in")
	expect(t, "a wrong token", r.refuses("", "/login", "token=guess&next=%2Fruns", http.StatusUnauthorized), "This token is not known", `value="/runs"`)
	expect(t, "a wrong code", r.refuses("", "/login", "code=guess", http.StatusUnauthorized), "This link was used already", `id="token"`)
	for form, age := range map[string]int{"token=rob": 0, "token=rob&keep=1": int(sessionIdle / time.Second), "code=" + code: int(sessionIdle / time.Second)} {
		response, _ := r.browse("", http.MethodPost, "/login", form, http.StatusSeeOther)
		if c := response.Cookies(); len(c) != 1 || c[0].MaxAge != age {
			t.Errorf("the sign-in with %s gave %v, want an age of %d", form, c, age)
		}
	}
	if response, _ := r.browse("rob", http.MethodGet, "/login?next=%2Ftools", "", http.StatusSeeOther); response.Header.Get("Location") != "/tools" {
		t.Errorf("who is signed in is led to %s", response.Header.Get("Location"))
	}
	off := newRig(t, func(o *Options) {
		o.Token, o.Users = "", nil
		o.Identify = func(*http.Request) (*User, error) { return nil, nil }
	})
	off.shows("", "/login", http.StatusOK, "part of a program that signs people in itself")
}

func TestSettingsPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Version = "v9.8.7" })
	r.shows("rob", "/settings", http.StatusOK, "Signed in as rob, with the role run. cassidy v9.8.7.", "now UTC", "!Saved.")
	expect(t, "a wrong zone", r.refuses("rob", "/settings", "zone=Mars%2FBase&theme=dark", http.StatusBadRequest), "There is no time zone “Mars/Base”.", `value="Mars/Base"`)
	response, _ := r.browse("rob", http.MethodPost, "/settings", "zone=Europe%2FZurich&theme=dark", http.StatusSeeOther)
	var cookies []string
	for _, c := range response.Cookies() {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	header := strings.Join(append(cookies, "zone=Asia/Tokyo"), "; ")
	for path, texts := range map[string][]string{
		"/settings?saved": {"Saved.", `value="Europe/Zurich"`, `data-theme="dark"`, "data-nokeys", "now Europe/Zurich"},
		"/tools":          {"Times in Europe/Zurich", `data-theme="dark"`},
	} {
		a := ask{token: "rob", method: http.MethodGet, path: path, header: [][2]string{{"Accept", "text/html"}, {"Cookie", header}}}
		expect(t, path, textOf(t, r.send(a)), texts...)
	}
}

func TestAuditPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	r.shows("ann", "/audit", http.StatusForbidden, "Not allowed")
	id := r.begin("rob", "sure", `{"n": 1}`)
	q := r.question(id)
	r.post("ann", "/v1/runs/"+id+"/questions/"+q.Text("id")+"/answer", `{"yes": true, "why": "the sums are right"}`, http.StatusOK)
	r.until(id, history.Done)
	r.post("vera", "/v1/runs/"+id+"/cancel", "", http.StatusForbidden)
	r.shows("ada", "/audit", http.StatusOK, "rob", "began a run", `href="/runs/`+id+`"`, "ann", "approved", "the sums are right", `href="/questions/`+q.Text("id")+`"`, "vera", "was refused: POST /v1/runs/{id}/cancel", "was refused: GET /audit", "!Older")
	r.shows("ada", "/audit?q=SUMS", http.StatusOK, "ann", "!vera")
	r.shows("ada", "/audit?q=lindnes", http.StatusOK, "No decision matches “lindnes”")
	r.shows("una", "/audit", http.StatusOK, "!"+id)

	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	many := newRig(t, func(o *Options) {
		o.Decisions = func(context.Context) iter.Seq2[Decision, error] {
			return func(yield func(Decision, error) bool) {
				for i := range 120 {
					d := Decision{Time: at.Add(-time.Duration(i) * time.Minute), User: "bob", Action: "cancel", Run: "run-" + string(rune('a'+i%26)) + "-" + time.Duration(i).String(), Rules: nil}
					back, ok := DecisionOf(d.Dict())
					if !ok || back.Time != d.Time || back.Run != d.Run {
						t.Errorf("%v became %v", d, back)
					}
					if !yield(back, nil) {
						return
					}
				}
			}
		}
	})
	html := many.shows("ada", "/audit", http.StatusOK, "run-a-0s", "-49ns", "!-50ns", "Older", "!Newest")
	_, rest, _ := strings.Cut(html, `href="/audit?before=`)
	older, _, _ := strings.Cut(rest, `"`)
	many.shows("ada", "/audit?before="+strings.ReplaceAll(older, "&amp;", "&"), http.StatusOK, "-50ns", "-99ns", "!-49ns", "!-100ns", "Older", "Newest")
}
