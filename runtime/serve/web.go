package serve

import (
	"bytes"
	"net/http"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The cookies of what a browser prefers. None of them says who somebody is.
const (
	zoneCookie    = "zone"    // the name of the browser's time zone
	zoneChoice    = "tz"      // the name of the one that the reader has chosen
	themeCookie   = "theme"   // light or dark
	keysCookie    = "keys"    // off
	projectCookie = "project" // whose pages are shown
)

// webRoutes are those of the pages.
func (s *Server) webRoutes() []route {
	return slices.Concat(s.frameRoutes(), s.runPageRoutes(), s.runRoutes(), s.actionRoutes(), s.valueRoutes(), s.questionRoutes(),
		s.toolRoutes(), s.userRoutes(), s.chatRoutes(), s.agentRoutes())
}

// frameRoutes are those of what all pages need.
func (s *Server) frameRoutes() []route {
	return []route{
		{pattern: "GET /assets/{name}", page: true, serve: (*request).asset},
		{pattern: "GET /{$}", page: true, serve: func(r *request) error { return r.seeOther("/runs") }},
		{pattern: "GET /more", role: View, page: true, serve: (*request).more},
	}
}

// asset answers with a file that pages need.
func (r *request) asset() error {
	a := r.s.pages.Asset(r.PathValue("name"))
	if a == nil {
		return value.Errorf(value.NotFound, "there is no such file")
	}
	h := r.w.Header()
	h.Set("Content-Type", a.Type)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(r.w, r.Request, "", time.Time{}, bytes.NewReader(a.Data))
	return nil
}

// more shows the entries that have no place at the bottom of a phone.
func (r *request) more() error {
	f, err := r.frame("More", page.SectionMore)
	if err != nil {
		return err
	}
	return r.page("more", f, page.More{Frame: f})
}

// frame returns what a page of the user has around its view.
func (r *request) frame(title string, section page.Section) (*page.Frame, error) {
	f := &page.Frame{
		Title: title, Section: section, Zone: r.zone(), Theme: r.theme(), NoKeys: r.cookie(keysCookie) == "off",
		Draining: r.s.isDraining(),
	}
	if r.user == nil {
		f.Bare = true
		return f, nil
	}
	list := r.projects()
	f.User, f.Role, f.Banner = r.user.Name, page.Role(max(r.role, r.user.Role).String()), r.banner
	f.Projects = value.Map(list, func(p *project) string { return p.Name })
	if f.Project = r.chosen(); f.Project == "" && len(list) == 1 {
		f.Project = f.Projects[0]
	}
	for _, p := range list {
		n, err := p.inbox.count(r.Context(), p)
		if err != nil {
			return f, err
		}
		f.Questions += n
	}
	return f, nil
}

// chosen returns the name of the project whose pages the user looks at, or "" for all.
func (r *request) chosen() string {
	name := r.cookie(projectCookie)
	if r.URL.Query().Has("project") {
		name = r.URL.Query().Get("project")
	}
	if !slices.ContainsFunc(r.projects(), func(p *project) bool { return p.Name == name }) {
		return ""
	}
	return name
}

// shown returns the projects whose pages the user looks at.
func (r *request) shown() []*project {
	list, name := r.projects(), r.chosen()
	if name == "" {
		return list
	}
	return slices.DeleteFunc(list, func(p *project) bool { return p.Name != name })
}

// prefer keeps a preference of the browser. "" forgets it.
func (r *request) prefer(name, text string) {
	c := cookie(r.Request, text, 365*24*60*60)
	if c.Name, c.HttpOnly = name, name != zoneCookie; text == "" {
		c.MaxAge = -1
	}
	http.SetCookie(r.w, c)
}

// cookie returns the text of a cookie, or "".
func (r *request) cookie(name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// zone returns the reader's time zone: the one that they have chosen, or that of their browser. It is UTC until the browser
// has said another.
func (r *request) zone() *time.Location {
	for _, name := range []string{zoneChoice, zoneCookie} {
		if zone, ok := zoneNamed(r.cookie(name)); ok {
			return zone
		}
	}
	return time.UTC
}

func (r *request) theme() page.Theme {
	if t := page.Theme(r.cookie(themeCookie)); t == page.ThemeLight || t == page.ThemeDark {
		return t
	}
	return page.ThemeSystem
}

// page answers with a page.
func (r *request) page(name string, f *page.Frame, view any) error {
	return r.pageAs(http.StatusOK, name, f, view)
}

// pageAs answers with a page and a status. Nothing is sent if the page cannot be made.
func (r *request) pageAs(status int, name string, f *page.Frame, view any) error {
	var b bytes.Buffer
	if err := r.s.pages.Render(&b, name, f, view); err != nil {
		return value.Errorf(value.Internal, "%w", err)
	}
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.w.WriteHeader(status)
	_, _ = r.w.Write(b.Bytes()) // it fails when the client has left
	return nil
}

// A pageProblem is an error that has a page of its own.
type pageProblem struct {
	*page.Problem
	err error
}

func (e *pageProblem) Error() string { return e.err.Error() }
func (e *pageProblem) Unwrap() error { return e.err }

// problem answers with the page of an error, and reports whether it could.
func (r *request) problem(e *refusal, own *pageProblem) bool {
	if !r.wantsPage() || !r.route.page && r.route.pattern != "unknown" && r.route.pattern != "cross-site" {
		return false
	}
	if r.user == nil && r.route.pattern == "unknown" {
		r.user, _ = r.s.identify(r.Request) // nobody gets the page without navigation
	}
	p := page.NewProblem(e.status, problemText(e))
	if own != nil {
		p = own.Problem
	}
	if e.status >= http.StatusInternalServerError {
		p.Request = r.id
	}
	f, err := r.frame(p.Heading, "")
	if err != nil { // the page is about another error
		f.Questions = 0
	}
	return r.pageAs(e.status, "problem", f, p) == nil
}

// problemText is an error in sentences.
func problemText(e *refusal) string {
	text := sentence(e.message)
	if e.hint != "" {
		text += " " + sentence(e.hint)
	}
	return text
}

// sentence writes a message of an error as a sentence.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if c := text[0]; c >= 'a' && c <= 'z' {
		text = string(c-'a'+'A') + text[1:]
	}
	if c := text[len(text)-1]; c != '.' && c != '?' && c != '!' {
		text += "."
	}
	return text
}
