package serve

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
)

// hidden are the hidden fields of the answer's form in a page.
func hidden(html string) url.Values {
	_, form, _ := strings.Cut(html, `<form class="answer"`)
	fields := url.Values{}
	for _, m := range regexp.MustCompile(`type="hidden" name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
		fields.Set(m[1], m[2])
	}
	return fields
}

// questionOf begins a call of bump, and returns its run, the address of its question and the fields of its form.
func (r *rig) questionOf() (run, path string, fields url.Values) {
	r.t.Helper()
	run = r.post("rob", "/v1/tools/bump/call", `{"project": "bakery"}`, http.StatusAccepted).Text("id")
	path = "/questions/" + r.question(run).Text("id")
	r.until(run, history.Parked)
	return run, path, hidden(r.shows("ann", path, http.StatusOK))
}

// with returns fields with others.
func withFields(fields url.Values, pairs ...string) string {
	all := url.Values{}
	for k, v := range fields {
		all[k] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		all.Set(pairs[i], pairs[i+1])
	}
	return all.Encode()
}

// TestApprovalPage approves a change on its page.
func TestApprovalPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	run, path, fields := r.questionOf()
	r.shows("vera", "/questions", http.StatusOK, "May bump change this file?", "You can view this question.", "Open1", "For me0")
	r.shows("ann", "/questions", http.StatusOK, "For me1", "Approve: change 1 file")
	r.shows("ann", "/questions?tab=me", http.StatusOK, "May bump change this file?")
	r.shows("ann", "/questions?tab=answered", http.StatusOK, "No answered questions")
	r.shows("ann", "/questions?tab=expired", http.StatusOK, "No question has expired")
	r.shows("ann", path, http.StatusOK, "May bump change this file?", "count", "Approve: change 1 file", "!?how=rule")
	r.shows("una", path, http.StatusNotFound, "There is no such question")
	r.shows("ann", "/questions/none", http.StatusNotFound, "There is no such question")
	r.browse("rob", http.MethodPost, path, withFields(fields, "answer", "yes"), http.StatusForbidden)
	_, html := r.browse("ann", http.MethodPost, path, "answer=yes&rev=0", http.StatusConflict)
	expect(t, "an answer without what was seen", html, "Not approved", "Approve: change 1 file")
	_, html = r.browse("ann", http.MethodPost, path, withFields(fields), http.StatusBadRequest)
	expect(t, "a form without an answer", html, "The answer is missing.")
	response, _ := r.browse("ann", http.MethodPost, path, withFields(fields, "answer", "yes", "why", "looks good"), http.StatusSeeOther)
	if got := response.Header.Get("Location"); got != path+"#answered" {
		t.Errorf("the answer leads to %s", got)
	}
	r.until(run, history.Done)
	r.shows("ann", path, http.StatusOK, "You approved this", "The run continues.", "looks good", `id="answered"`, "!Refuse")
	r.shows("ada", "/questions?tab=answered", http.StatusOK, "ann approved", "looks good", "used")
	_, html = r.browse("ada", http.MethodPost, path, withFields(fields, "answer", "no"), http.StatusConflict)
	expect(t, "an answer after it was used", html, "ann approved this", "The run has used the answer.")
	if got := r.audit.texts("answer"); len(got) != 1 || got[0] != "ann answer yes refused=false" {
		t.Errorf("the audit has %q", got)
	}
	r.shows("ann", "/questions", http.StatusOK, "No open questions")
}

// TestChangedFilePage checks that nobody approves on a page what is no longer what they saw.
func TestChangedFilePage(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	file := filepath.Join(r.dirs["bakery"], "count")
	run, path, fields := r.questionOf()
	if err := os.WriteFile(file, []byte("5"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, html := r.browse("ann", http.MethodPost, path, withFields(fields, "answer", "yes"), http.StatusConflict)
	expect(t, "the file has changed", html, "Not approved: count has changed since you looked.", "6", "Approve: change 1 file")
	action := regexp.MustCompile(`action="(/questions/[^"]+)"`).FindStringSubmatch(html)
	if action == nil || action[1] == path {
		t.Fatalf("the form leads to %q", action)
	}
	r.browse("ann", http.MethodPost, action[1], withFields(hidden(html), "answer", "yes"), http.StatusSeeOther)
	r.until(run, history.Done)
	if text, _ := os.ReadFile(file); string(text) != "6" {
		t.Errorf("the file is %q, want 6", text)
	}
}

// TestTwoAnswers checks what somebody sees who was slower.
func TestTwoAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil) // its loop does not use the first answer
	loop := r.start
	run := r.begin("rob", "sure", `{}`)
	loop()
	r.question(run)
	r.until(run, history.Parked)
	path := "/questions/" + r.question(run).Text("id")
	fields := hidden(r.shows("ann", path, http.StatusOK, "Yes", "No", "go on?"))
	r.browse("ann", http.MethodPost, path, withFields(fields, "answer", "no", "why", "not yet"), http.StatusSeeOther)
	_, html := r.browse("ada", http.MethodPost, path, withFields(fields, "answer", "yes"), http.StatusConflict)
	expect(t, "somebody else was faster", html, "ann answered this", "not yet")
}

// TestForbidOwnPage checks that nobody answers for a run of their own on a page either.
func TestForbidOwnPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.ForbidOwn = true }).start()
	run := r.begin("ann", "sure", `{}`)
	path := "/questions/" + r.question(run).Text("id")
	fields := hidden(r.shows("ada", path, http.StatusOK, `name="answer"`))
	r.shows("ann", path, http.StatusOK, "You began this run, and here nobody answers for their own.", "ada or owner can answer it.", `!name="answer"`)
	_, html := r.browse("ann", http.MethodPost, path, withFields(fields, "answer", "yes"), http.StatusForbidden)
	expect(t, "an answer to the own run", html, "Not allowed", "begun by")
}

// TestAskPage answers a question in words.
func TestAskPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	run := r.post("rob", "/v1/tools/ask/call", `{"project": "bakery"}`, http.StatusAccepted).Text("id")
	path := "/questions/" + r.question(run).Text("id")
	fields := hidden(r.shows("ann", path, http.StatusOK, "which?", "Your answer"))
	r.browse("ann", http.MethodPost, path, withFields(fields, "answer", "value", "value", "the <b>first</b>"), http.StatusSeeOther)
	if got := r.until(run, history.Done); got.Result != "the <b>first</b>" {
		t.Errorf("the result is %v", got.Result)
	}
	r.shows("ann", path, http.StatusOK, "You answered “the &lt;b&gt;first&lt;/b&gt;”")
}
