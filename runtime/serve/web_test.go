package serve

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
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

// TestRunsPage checks the list of runs: empty, with runs, filtered, and its pages.
func TestRunsPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	r.shows("rob", "/runs", http.StatusOK, "Nothing has run here yet", "Begin with one of these.", `id="runs"`, `data-live="/live/runs?at=`)
	r.shows("vera", "/runs", http.StatusOK, "!Begin with one of these.")
	done := r.begin("rob", "greet", `{"name": "Zoë"}`)
	r.until(done, history.Done)
	failed := r.begin("ada", "bad", `{}`)
	for r.get("vera", "/v1/runs/"+failed, http.StatusOK).Text("state") != "failed" {
	}
	asks := r.begin("rob", "sure", `{}`)
	r.question(asks)
	r.until(asks, history.Parked)
	html := r.shows("vera", "/runs", http.StatusOK, "1 question waits for an answer.", "sure: “go on?”", "greet", `name=Zoë`, "hello Zoë", "no luck", "rob", "Today,", "Failed", `data-count>1<`, "3 of 3")
	if strings.Index(html, `id="r-`+asks) > strings.Index(html, `id="r-`+done) {
		t.Error("the newest run is not the first")
	}
	r.shows("vera", "/runs?state=failed", http.StatusOK, `id="r-`+failed, "!"+`id="r-`+done, "1 of 1", `name="state" value="failed"`)
	r.shows("vera", "/runs?q=LUCK", http.StatusOK, `id="r-`+failed, "!"+`id="r-`+done, `value="LUCK"`)
	r.shows("vera", "/runs?q=lindnes&state=done", http.StatusOK, "No run matches", "lindnes", "!"+`id="r-`)
	r.shows("vera", "/runs?kind=tool", http.StatusOK, "!"+`id="r-`)
	r.shows("vera", "/runs?since=today&kind=workflow", http.StatusOK, `id="r-`+done, "3 shown")
	r.shows("una", "/runs", http.StatusOK, "Nothing has run here yet", "!"+done)
	older := r.shows("vera", "/runs?before="+asks, http.StatusOK, "Newest runs", "!"+`id="r-`+asks, `id="r-`+done)
	expect(t, "older runs", older, "!data-live")
	response, _ := r.browse("vera", http.MethodGet, "/runs?project=other", "", http.StatusOK)
	if got := response.Header.Get("Set-Cookie"); !strings.Contains(got, "project=other") {
		t.Errorf("the choice of a project is kept as %q", got)
	}
	r.browse("vera", http.MethodGet, "/runs?before=nothing!", "", http.StatusBadRequest)
}

// TestRunPage checks the page of a run in its states.
func TestRunPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	done := r.begin("rob", "greet", `{"name": "Zoë"}`)
	r.until(done, history.Done)
	html := r.shows("vera", "/runs/"+done, http.StatusOK, "greet", "name=Zoë", "Done", "rob", "Result", "hello Zoë", `id="s-1"`, "echo", "Record as JSON", "!Undo…", "!Cancel")
	if n := strings.Count(html, ">Result<"); n != 1 {
		t.Errorf("the pane has %d headings Result, want one", n)
	}
	r.shows("vera", "/runs/"+done+"?step=1", http.StatusOK, "step 1", "Zoë", `aria-current="true"`, "Key", `/live/run/`)
	r.shows("vera", "/runs/"+done+"?step=77", http.StatusNotFound, "There is no step 77 in this run")
	r.shows("vera", "/runs/"+done[:len(done)-1], http.StatusNotFound, "There is no run", done)
	failed := r.begin("ada", "bad", `{}`)
	for r.get("vera", "/v1/runs/"+failed, http.StatusOK).Text("state") != "failed" {
	}
	r.shows("vera", "/runs/"+failed, http.StatusOK, "Failed", "no luck", "!Retry")
	asks := r.begin("rob", "sure", `{}`)
	r.question(asks)
	r.until(asks, history.Parked)
	r.shows("vera", "/runs/"+asks, http.StatusOK, "Waiting", "go on?", "You can view this question. ann, ada or owner can answer it.", "!To the answer", "!Cancel the run…")
	r.shows("ann", "/runs/"+asks, http.StatusOK, "To the answer", `name="answer" value="yes"`, `name="seen"`, "Cancel the run…")
	call := r.post("rob", "/v1/tools/bump/call", `{"project": "bakery"}`, http.StatusAccepted).Text("id")
	r.shows("ada", "/runs/"+call, http.StatusOK, "May bump change this file?", "count", "Approve: change 1 file", "Refuse", "do not ask again for bump in this run")
	r.shows("una", "/runs/"+call, http.StatusNotFound)
}

// TestPruned checks the page of a run that is no longer kept.
func TestPruned(t *testing.T) {
	t.Parallel()
	const month = 30 * 24 * time.Hour
	r := newRig(t, func(o *Options) {
		o.Kept = func() (history.Keep, error) { return history.Keep{For: month}, nil }
		o.Clock = func() time.Time { return time.Now().Add(month + time.Hour) }
	}).start()
	id := r.begin("rob", "greet", `{"name": "x"}`)
	r.until(id, history.Done)
	r.shows("vera", "/runs/"+id, http.StatusOK, "Done")
	j, err := r.projects[0].op.Journal()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := j.Prune(t.Context(), history.Keep{For: time.Nanosecond}); n != 1 || err != nil {
		t.Fatalf("%d runs were pruned, %v", n, err)
	}
	for _, path := range []string{"/runs/" + id, "/runs/" + id + "/undo", "/questions/" + id + ":1:1"} {
		r.shows("rob", path, http.StatusNotFound, "was pruned after 30 days", "What this one changed stays", "All runs", "!The audit of it")
	}
	r.shows("ada", "/runs/"+id, http.StatusNotFound, `href="/audit?q=`+id)
	r.shows("ada", "/audit?q="+id, http.StatusOK, "began a run", "rob")
	r.shows("rob", "/runs/april", http.StatusNotFound, "There is no run “april”", "It may have been pruned: runs are kept for 30 days.")
}
