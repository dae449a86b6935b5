package serve

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// browse makes a request as a browser does, expects a status, and returns the answer and its text.
func (r *rig) browse(token, method, path, form string, status int) (*http.Response, string) {
	r.t.Helper()
	a := ask{token: token, method: method, path: path, body: form, header: [][2]string{{"Accept", "text/html,application/xhtml+xml"}}}
	if method == http.MethodPost {
		a.header = append(a.header, [2]string{"Content-Type", "application/x-www-form-urlencoded"})
	}
	response := r.send(a)
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		r.t.Fatalf("%s %s: status %d, %v, want %d: %s", method, path, response.StatusCode, err, status, text)
	}
	return response, string(text)
}

// shows gets a page, and expects texts in it.
func (r *rig) shows(token, path string, status int, texts ...string) string {
	r.t.Helper()
	_, html := r.browse(token, http.MethodGet, path, "", status)
	expect(r.t, path, html, texts...)
	return html
}

// tags are what plain leaves out.
var tags = regexp.MustCompile(`<[^>]*>`)

// plain is the text of HTML, with a space for white space.
func plain(html string) string {
	return strings.Join(strings.Fields(tags.ReplaceAllString(html, "")), " ")
}

// expect checks that HTML has texts, with or without its tags; one after ! must be missing.
func expect(t testing.TB, what, html string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		want, not := strings.CutPrefix(text, "!")
		if has := strings.Contains(html, want) || strings.Contains(plain(html), want); has == not {
			t.Errorf("%s: has %q is %v in:\n%s", what, want, has, plain(html))
		}
	}
}

// TestFrame checks what all pages have, and the pages of those who may not see them.
func TestFrame(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	html := r.shows("ada", "/more", http.StatusOK, "More", "ada", "admin", `href="/audit"`, "All projects", "Times in UTC")
	r.shows("vera", "/more", http.StatusOK, `!href="/audit"`)
	r.shows("una", "/more", http.StatusOK, "!bakery")
	style := regexp.MustCompile(`/assets/style\.[0-9a-f]+\.css`).FindString(html)
	response, _ := r.browse("", http.MethodGet, style, "", http.StatusOK)
	if got := response.Header.Get("Cache-Control"); !strings.Contains(got, "immutable") || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/css") {
		t.Errorf("%s is cached as %q", style, got)
	}
	r.browse("", http.MethodGet, "/assets/none.css", "", http.StatusNotFound)
	if response, _ := r.browse("", http.MethodGet, "/more?a=b", "", http.StatusSeeOther); response.Header.Get("Location") != "/login?next=%2Fmore%3Fa%3Db" {
		t.Errorf("who is not signed in is sent to %s", response.Header.Get("Location"))
	}
	if response, _ := r.browse("ada", http.MethodGet, "/", "", http.StatusSeeOther); response.Header.Get("Location") != "/runs" {
		t.Errorf("/ leads to %s", response.Header.Get("Location"))
	}
	r.shows("ada", "/nowhere", http.StatusNotFound, "There is nothing here", "Nothing is served at /nowhere.", "ada")
	r.shows("", "/nowhere", http.StatusNotFound, "There is nothing here", "!rail")
}
