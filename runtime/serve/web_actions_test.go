package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
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

// TestReplayPage replays runs: exactly, with a difference, with one whose record was changed, and those that have no script.
func TestReplayPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { withAgent(&speaker{}, o, 0) }).start()
	replay := func(id string, texts ...string) {
		t.Helper()
		html := r.shows("rob", "/runs/"+id+"/replay", http.StatusOK, "The recorded scripts run again")
		response, _ := r.browse("rob", http.MethodPost, "/runs/"+id+"/replay", hidden(html).Encode(), http.StatusSeeOther)
		r.shows("rob", response.Header.Get("Location"), http.StatusOK, append(texts, "A replay does nothing, and is not recorded.", "Back to the run")...)
	}
	done := r.begin("rob", "greet", `{"name": "Zoë"}`)
	r.until(done, history.Done)
	r.shows("rob", "/runs/"+done, http.StatusOK, `action="/runs/`+done+`/replay"`)
	r.shows("vera", "/runs/"+done, http.StatusOK, "!/replay")
	r.browse("vera", http.MethodPost, "/runs/"+done+"/replay", "", http.StatusForbidden)
	replay(done, "The replay is exact:", "answered from the record.")

	chat := strings.TrimPrefix(r.chat("rob", "text=please+call+echo"), "/chat/")
	r.until(chat, history.Done)
	replay(chat, "The replay is exact:")

	asks := r.begin("rob", "sure", `{}`)
	r.question(asks)
	r.until(asks, history.Parked)
	replay(asks, "The replay is exact up to the last recorded step:")

	call := r.post("rob", "/v1/tools/echo/call", `{"args": {"text": "x"}, "project": "bakery"}`, http.StatusOK).Text("run")
	r.shows("rob", "/runs/"+call, http.StatusOK, "!/replay")
	r.shows("rob", "/runs/"+call+"/replay", http.StatusOK, "This run has no script that can run again")
	r.browse("rob", http.MethodPost, "/runs/"+call+"/replay", "", http.StatusBadRequest)

	differs := host.Replayed{Ended: true, Err: value.Errorf(value.Conflict, "step 1 differs"), Replayed: history.Replayed{
		Steps: 1, Differences: []history.Difference{{StepPath: tool.StepPath{1}, Call: "tools.echo", Was: "Zoë", Is: "Ann"}},
	}}
	r.replays.put(feedKey{r.projects[0], done}, &replayed{Replayed: describe.ReplayOf(&history.Run{State: history.Done}, &differs, false)})
	r.shows("vera", "/runs/"+done+"/replay", http.StatusOK, "The replay differs from the record, and ended there. 1 step answered", "differs", "recorded: Zoë; now: Ann", `href="/runs/`+done+`?step=1"`)
	r.replays.put(feedKey{r.projects[0], done}, &replayed{err: value.Errorf(value.Failed, "the record was changed")})
	r.shows("vera", "/runs/"+done+"/replay", http.StatusOK, "The run could not be replayed. The record was changed.")
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
