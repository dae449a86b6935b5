package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A route is what is served at a pattern, and to whom.
type route struct {
	pattern string // of [http.ServeMux], with the method
	role    Role   // the least role; 0: everybody, also who has not signed in
	serve   func(r *request) error
	body    int64 // how many bytes a request may have; 0 means maxBody
	page    bool  // it is for people: who is not signed in is sent to the sign-in
	stream  bool  // its requests are limited by how many are open, not by how many are made
}

// routes returns everything that is served. What is not here is not found.
func (s *Server) routes() []route {
	return slices.Concat(s.apiRoutes(), s.plainRoutes(), s.webRoutes())
}

// plainRoutes are those beside the API.
func (s *Server) plainRoutes() []route {
	list := []route{
		{pattern: "POST /login", serve: (*request).login},
		{pattern: "POST /logout", serve: (*request).logout},
		{pattern: "GET /healthz", serve: (*request).health},
		{pattern: "GET /metrics", role: View, serve: (*request).metrics},
		{pattern: "GET /openapi.json", role: View, serve: (*request).openAPI},
	}
	if s.opts.MCP != nil {
		list = append(list, route{pattern: "/mcp", role: Run, body: 8 << 20, serve: func(r *request) error {
			s.opts.MCP.ServeHTTP(r.w, r.Request)
			return nil
		}})
	}
	return list
}

// A request is a request with its user.
type request struct {
	*http.Request
	w     *response
	s     *Server
	route *route
	user  *User  // nil for a route without a role
	id    string // for the log and for the client

	role    Role       // of the user
	banner  *page.Note // that nothing can be recorded now; then the user has the role View
	repeats bool       // what it begins was begun before, with the same Idempotency-Key
}

// A response knows whether it has begun.
type response struct {
	http.ResponseWriter
	status int
}

func (w *response) WriteHeader(status int) {
	w.status = cmp.Or(w.status, status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// handler returns the handler of all routes.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, rt := range s.routes() {
		mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) {
			s.handle(w, r, &rt, func(q *request) error { return q.admitted() })
		})
	}
	none := &route{pattern: "unknown"}
	known := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, pattern := mux.Handler(r); pattern == "" {
			s.handle(w, r, none, func(q *request) error { return notServed(h, q) })
			return
		}
		mux.ServeHTTP(w, r)
	})
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.handle(w, r, &route{pattern: "cross-site"}, func(q *request) error {
			q.decided(Decision{Action: r.Method + " from another site", Refused: true})
			return value.Errorf(value.Denied, "the request comes from another site")
		})
	}))
	return cross.Handler(known)
}

// contentPolicy lets a page load only what this server has.
const contentPolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// handle serves a request by a function, whose error it answers.
func (s *Server) handle(w http.ResponseWriter, r *http.Request, rt *route, serve func(*request) error) {
	q := &request{w: &response{ResponseWriter: w}, s: s, route: rt, id: strings.ToLower(rand.Text()[:12])}
	h := w.Header()
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", q.id)
	q.Request = r.WithContext(r.Context()) // a copy: the server looks at its own to see how much was not read
	q.Body = http.MaxBytesReader(w, r.Body, cmp.Or(rt.body, maxBody))
	defer func() {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // for what is left of the body
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			s.opts.Logger.Error("a request panicked", "pattern", rt.pattern, "request", q.id)
			if q.w.status != 0 {
				panic(http.ErrAbortHandler) // the client must not take it for complete
			}
			q.fail(value.Errorf(value.Internal, "the request panicked"))
		}
		s.counts.add("cassidy_requests_total{route="+strconv.Quote(rt.pattern)+",class=\""+strconv.Itoa(q.w.status/100)+"xx\"}", 1)
	}()
	err := s.checkHost(r)
	if err == nil {
		err = serve(q)
	}
	if err != nil {
		q.fail(err)
	}
}

// admitted serves a request if its user may make it.
func (r *request) admitted() error {
	if r.ContentLength > cmp.Or(r.route.body, maxBody) {
		return &http.MaxBytesError{Limit: cmp.Or(r.route.body, maxBody)}
	}
	if r.route.role == 0 {
		return r.route.serve(r)
	}
	u, err := r.s.identify(r.Request)
	if err != nil {
		return err
	}
	if u == nil {
		return r.notSignedIn()
	}
	r.user = u
	r.Request = r.WithContext(context.WithValue(r.Context(), userKey{}, u))
	if !r.route.stream {
		if wait := r.s.rate.take(u.Name, r.s.now()); wait > 0 {
			return tooMany(wait, "too many requests of the user '%s'", u.Name)
		}
	}
	if u.Role < r.route.role {
		return r.refused("", "", value.Errorf(value.Denied, "the user '%s' with the role %s may not do this: it needs the role %s", u.Name, u.Role, r.route.role))
	}
	if r.role = u.Role; r.route.page && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		r.view()
	}
	return r.route.serve(r)
}

// notSignedIn answers a request of nobody. A token that is not valid counts as a failed attempt.
func (r *request) notSignedIn() error {
	if r.Header.Get("Authorization") != "" {
		from, now := remote(r.Request), r.s.now()
		if wait := r.s.sign.failed.take(from, now); wait > 0 {
			return tooMany(wait, "too many failed attempts to sign in")
		}
		r.decided(Decision{Action: "sign-in", Refused: true})
	}
	if r.route.page && r.wantsPage() {
		return r.seeOther("/login?next=" + queryText(r.URL.RequestURI()))
	}
	return unauthenticated("sign in")
}

// refused records that the user may not do something, and returns why.
func (r *request) refused(project, run string, err error) error {
	r.decided(Decision{Action: r.route.pattern, Project: project, Run: run, Refused: true})
	return err
}

// wantsPage reports whether the client is a browser that shows a page.
func (r *request) wantsPage() bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// isForm reports whether the body is that of a form of a page.
func (r *request) isForm() bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return (kind == "application/x-www-form-urlencoded" || kind == "multipart/form-data") && r.wantsPage()
}

// seeOther has a browser get another page.
func (r *request) seeOther(path string) error {
	http.Redirect(r.w, r.Request, path, http.StatusSeeOther)
	return nil
}

// notServed answers as a handler of the mux does that knows no such path, or no such method of it.
func notServed(h http.Handler, r *request) error {
	said := &silent{header: http.Header{}}
	h.ServeHTTP(said, r.Request)
	if allow := said.header.Get("Allow"); allow != "" {
		r.w.Header().Set("Allow", allow)
		return &refusal{status: http.StatusMethodNotAllowed, kind: "invalid", message: r.Method + " is not supported here", hint: "use " + allow}
	}
	return value.Errorf(value.NotFound, "nothing is served at %s", value.Clean(r.URL.Path, 200)).WithHint("the API is described at /openapi.json")
}

// A silent response is not sent.
type silent struct{ header http.Header }

func (s *silent) Header() http.Header       { return s.header }
func (*silent) Write(p []byte) (int, error) { return len(p), nil }
func (*silent) WriteHeader(int)             {}

// tooMany returns the error of who has to wait.
func tooMany(wait time.Duration, format string, args ...any) error {
	e := value.Errorf(value.Limit, format, args...).WithLimit(value.LimitRate)
	e.After = wait
	return e.WithHint("try again later")
}
