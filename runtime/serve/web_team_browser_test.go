package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy/internal/browsertest"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/chromedp/chromedp"
)

// TestTeamInBrowser begins a run over the API, watches its page, approves what it would change, sees it finish, and undoes it.
func TestTeamInBrowser(t *testing.T) {
	r := newRig(t, nil).start()
	b := r.openTab()
	b.signIn("ann")
	b.Do(chromedp.Navigate(r.url + "/runs"))
	b.sees("Nothing has run here yet")
	b.shot("first")
	run := r.post("rob", "/v1/tools/bump/call", `{"project": "bakery"}`, http.StatusAccepted).Text("id")
	b.choose("1 new run")
	b.sees("bump wants to change 1 file")
	b.shot("runs")
	b.Do(chromedp.Navigate(r.url + "/runs/" + run))
	b.sees("May bump change this file?")
	b.sees("Live")
	b.shot("question")
	file := filepath.Join(r.dirs["bakery"], "count")
	if err := os.WriteFile(file, []byte("5"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.choose("Approve: change 1 file")
	b.sees("Not approved: count has changed since you looked.")
	b.shot("conflict")
	b.choose("Approve: change 1 file")
	b.sees("You approved this")
	b.shot("approved")
	r.until(run, history.Done)
	b.Do(chromedp.Navigate(r.url + "/runs/" + run))
	b.choose("Undo…")
	b.sees("Undo: restore 1 file")
	b.shot("undo")
	b.choose("Undo: restore 1 file")
	b.sees("Undoes")
	b.sees("Done")
	b.shot("undone")
	if text, _ := os.ReadFile(file); string(text) != "5" {
		t.Errorf("the file is %q after the undo", text)
	}
	b.quiet()
}

// TestLiveRunInBrowser watches a run until it has ended, on a page that is not loaded again.
func TestLiveRunInBrowser(t *testing.T) {
	r := newRig(t, nil).start()
	b := r.openTab()
	b.signIn("vera")
	run := r.begin("rob", "sure", `{}`)
	q := r.question(run)
	r.until(run, history.Parked)
	b.Do(chromedp.Navigate(r.url + "/runs/" + run))
	b.sees("You can view this question.")
	browsertest.Eval[bool](b.Tab, "window.stayed = true")
	r.post("ann", "/v1/runs/"+run+"/questions/"+q.Text("id")+"/answer", `{"yes": true}`, http.StatusOK)
	b.sees("ann: yes")
	b.sees("Result")
	b.sees("Done")
	if n := browsertest.Eval[int](b.Tab, "document.querySelectorAll('[data-tree] li[id]').length"); n != 7 {
		t.Errorf("the tree has %d steps, want 7", n)
	}
	if !browsertest.Eval[bool](b.Tab, "window.stayed === true") {
		t.Error("the page was loaded again")
	}
	b.shot("live")
	b.quiet()
}

// TestWithoutScript approves a change in a browser without scripts.
func TestWithoutScript(t *testing.T) {
	r := newRig(t, nil).start()
	b := r.openTab()
	b.signIn("ann")
	run, path, _ := r.questionOf()
	b.WithoutScript()
	b.Do(chromedp.Navigate(r.url+path), chromedp.Click(`button[name=answer][value=yes]`), chromedp.WaitVisible("#answered"))
	r.until(run, history.Done)
	b.Do(chromedp.Navigate(r.url+"/runs"), chromedp.Click("#runs a, .runs a"), chromedp.WaitVisible("#run-head"))
	b.quiet()
}
