package serve

import (
	"net/http"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// userRoutes are those of the pages about the users themselves: the sign-in, their settings, and what they decided.
func (s *Server) userRoutes() []route {
	return []route{
		{pattern: "GET /login", page: true, serve: (*request).loginPage},
		{pattern: "GET /settings", role: View, page: true, serve: (*request).settingsPage},
		{pattern: "POST /settings", role: View, page: true, serve: (*request).saveSettings},
		{pattern: "GET /audit", role: Admin, page: true, serve: (*request).auditPage},
	}
}

// loginPage shows the field for a token, or the button that redeems a code. It signs nobody in.
func (r *request) loginPage() error {
	if !r.wantsPage() {
		return unauthenticated("sign in with a POST of a token or a code")
	}
	q := r.URL.Query()
	if u, err := r.s.identify(r.Request); err == nil && u != nil && q.Get("code") == "" {
		return r.seeOther(localPath(q.Get("next")))
	}
	return r.showLogin(http.StatusOK, &page.Login{Next: q.Get("next"), Code: q.Get("code")})
}

// showLogin answers with the page on which somebody signs in.
func (r *request) showLogin(status int, v *page.Login) error {
	r.user = nil // the page has no navigation
	f, err := r.frame("Sign in", "")
	if err != nil {
		return err
	}
	if v.Host = r.Host; v.Next != "" {
		v.Next = localPath(v.Next)
		v.Goal = goal(v.Next)
	}
	v.Off = r.s.opts.Users == nil && r.s.opts.Token == ""
	return r.pageAs(status, "login", f, v)
}

// goals are the beginnings of addresses, in words.
var goals = []struct{ path, words string }{
	{"/runs/", "the run "}, {"/questions/", "the question "}, {"/tools/", "the tool "}, {"/workflows/", "the workflow "}, {"/agents/", "the agent "}, {"/chat/", "the chat "},
	{"/runs", "Runs"}, {"/questions", "Questions"}, {"/tools", "Tools"}, {"/workflows", "Workflows"}, {"/agents", "Agents"}, {"/chat", "Chat"}, {"/audit", "Audit"}, {"/settings", "Settings"},
}

// goal says in words where a path leads. It comes from a link, which anybody may have written.
func goal(next string) string {
	path, _, _ := strings.Cut(next, "?")
	for _, g := range goals {
		if rest, ok := strings.CutPrefix(path, g.path); ok {
			return g.words + value.Cut(rest, 80)
		}
	}
	return ""
}

func (r *request) settingsPage() error {
	return r.showSettings(http.StatusOK, &page.Settings{Fixed: r.cookie(zoneChoice), Saved: r.URL.Query().Has("saved")})
}

func (r *request) showSettings(status int, v *page.Settings) error {
	f, err := r.frame("Settings", page.SectionSettings)
	if err != nil {
		return err
	}
	v.Frame, v.Version = f, r.s.opts.Version
	return r.pageAs(status, "settings", f, v)
}

// saveSettings keeps what the user has chosen, in the browser.
func (r *request) saveSettings() error {
	if err := r.readForm(); err != nil {
		return err
	}
	zone := strings.TrimSpace(r.PostForm.Get("zone"))
	if _, ok := zoneNamed(zone); !ok && zone != "" {
		return r.showSettings(http.StatusBadRequest, &page.Settings{Fixed: value.Cut(zone, 80), Error: "There is no time zone “" + value.Cut(zone, 80) + "”."})
	}
	r.prefer(zoneChoice, zone)
	theme := page.Theme(r.PostForm.Get("theme"))
	if theme != page.ThemeLight && theme != page.ThemeDark {
		theme = page.ThemeSystem
	}
	r.prefer(themeCookie, string(theme))
	keys := "off"
	if r.PostForm.Get("keys") == "on" {
		keys = ""
	}
	r.prefer(keysCookie, keys)
	return r.seeOther("/settings?saved")
}

// zoneNamed returns a time zone by its name.
func zoneNamed(name string) (*time.Location, bool) {
	if name == "" || name == "Local" || len(name) > 64 {
		return time.UTC, false
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC, false
	}
	return zone, true
}
