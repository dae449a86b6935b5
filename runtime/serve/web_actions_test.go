package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
)

// TestUndoPage undoes a change from its page.
func TestUndoPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	run, path, fields := r.questionOf()
	r.browse("ann", http.MethodPost, path, withFields(fields, "answer", "yes"), http.StatusSeeOther)
	r.until(run, history.Done)
	r.shows("ann", "/runs/"+run, http.StatusOK, `href="/runs/`+run+`/undo"`)
	r.shows("vera", "/runs/"+run, http.StatusOK, "!/undo")
	html := r.shows("ann", "/runs/"+run+"/undo", http.StatusOK, "Undo bump", "Undo: restore 1 file", "count", "Keep everything")
	response, _ := r.browse("ann", http.MethodPost, "/runs/"+run+"/undo", hidden(html).Encode(), http.StatusSeeOther)
	undo := strings.TrimPrefix(response.Header.Get("Location"), "/runs/")
	r.until(undo, history.Done)
	if text, _ := os.ReadFile(filepath.Join(r.dirs["bakery"], "count")); string(text) != "0" {
		t.Errorf("the file is %q after the undo", text)
	}
	r.shows("ann", "/runs/"+undo, http.StatusOK, "Undoes", run)
}

// TestCancelAndRetryPages cancels a run, and does another one again.
func TestCancelAndRetryPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	asks := r.begin("rob", "sure", `{}`)
	r.question(asks)
	r.until(asks, history.Parked)
	html := r.shows("rob", "/runs/"+asks+"/cancel", http.StatusOK, "Cancel sure?", "What it has done stays done", "Reason")
	r.browse("vera", http.MethodPost, "/runs/"+asks+"/cancel", "", http.StatusForbidden)
	response, _ := r.browse("rob", http.MethodPost, "/runs/"+asks+"/cancel", withFields(hidden(html), "why", "wrong month"), http.StatusSeeOther)
	if got := response.Header.Get("Location"); got != "/runs/"+asks {
		t.Errorf("the cancel leads to %s", got)
	}
	r.shows("rob", "/runs/"+asks, http.StatusOK, "Cancelled")
	r.shows("rob", "/runs/"+asks+"/cancel", http.StatusOK, "The run has ended already.")
	r.browse("rob", http.MethodPost, "/runs/"+asks+"/cancel", "", http.StatusConflict)
	html = r.shows("rob", "/runs/"+asks+"/retry?step=2", http.StatusOK, "from step 2?", "keep their results")
	response, _ = r.browse("rob", http.MethodPost, "/runs/"+asks+"/retry", hidden(html).Encode(), http.StatusSeeOther)
	again := response.Header.Get("Location")
	if again == "/runs/"+asks {
		t.Fatal("the retry is the run itself")
	}
	response, _ = r.browse("rob", http.MethodPost, "/runs/"+asks+"/retry", hidden(html).Encode(), http.StatusSeeOther)
	if got := response.Header.Get("Location"); got != again {
		t.Errorf("the same form gave %s and %s", again, got)
	}
	r.shows("rob", again, http.StatusOK, "Retry of", asks)
	other := r.begin("ada", "sure", `{}`)
	r.shows("rob", "/runs/"+other+"/cancel", http.StatusForbidden, "Not allowed")
	nap := r.post("rob", "/v1/tools/nap/call?wait=0", `{"project": "bakery"}`, http.StatusAccepted).Text("id")
	r.until(nap, history.Parked)
	r.shows("rob", "/runs/"+nap, http.StatusOK, "Until", "Cancel the run…")
	r.browse("rob", http.MethodPost, "/runs/"+nap+"/resume", "", http.StatusSeeOther)
}

// TestValues gets the values of runs as files.
func TestValues(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	run := r.begin("rob", "greet", `{"name": "<b>Zoë</b>"}`)
	r.until(run, history.Done)
	response, text := r.browse("vera", http.MethodGet, "/runs/"+run+"/steps/result/value", "", http.StatusOK)
	if text != "hello <b>Zoë</b>" || response.Header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(response.Header.Get("Content-Disposition"), "attachment") || !strings.HasPrefix(response.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("the result is %q, %v", text, response.Header)
	}
	if _, text := r.browse("vera", http.MethodGet, "/runs/"+run+"/steps/1/value?offset=3", "", http.StatusOK); text != "Zoë</b>" {
		t.Errorf("a part of the value is %q", text)
	}
	r.browse("vera", http.MethodGet, "/runs/"+run+"/steps/1/value?offset=99", "", http.StatusBadRequest)
	r.browse("vera", http.MethodGet, "/runs/"+run+"/steps/1/value?form=csv", "", http.StatusBadRequest)
	r.browse("vera", http.MethodGet, "/runs/"+run+"/steps/8/value", "", http.StatusNotFound)
	r.browse("vera", http.MethodGet, "/runs/"+run+"/media/"+strings.Repeat("0", 64), "", http.StatusNotFound)
}
