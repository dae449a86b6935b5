package serve

import (
	"bufio"
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/browsertest"
	"github.com/cassidy-run/cassidy/runtime/history"
)

// A watcher reads a stream of a page.
type watcher struct {
	t      *testing.T
	events chan [3]string // name, ID, data
}

// watch opens a stream of a page.
func (r *rig) watch(t *testing.T, token, path string) *watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(q)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v, %v", path, response, err)
	}
	w := &watcher{t, make(chan [3]string, 100)}
	go func() {
		defer response.Body.Close()
		defer close(w.events)
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		var e [3]string
		for lines.Scan() {
			switch key, text, _ := strings.Cut(lines.Text(), ": "); key {
			case "event":
				e[0] = text
			case "id":
				e[1] = text
			case "data":
				e[2] += text + "\n"
			case "":
				w.events <- e
				e = [3]string{}
			}
		}
	}()
	return w
}

// until waits for an event with a text, and returns its ID.
func (w *watcher) until(name, text string) string {
	w.t.Helper()
	return w.all([2]string{name, text})[0]
}

// all waits for events with texts, in any order, and returns their IDs.
func (w *watcher) all(wants ...[2]string) []string {
	w.t.Helper()
	late := time.After(browsertest.LastResort)
	ids, missing := make([]string, len(wants)), len(wants)
	seen := make([]bool, len(wants))
	for missing > 0 {
		select {
		case e, open := <-w.events:
			if !open {
				w.t.Fatalf("the stream ended before %q", wants)
			}
			for i, want := range wants {
				has := e[0] == want[0] && strings.Contains(e[2], want[1]) || want[0] == "part or resync" && (e[0] == "resync" || strings.Contains(e[2], want[1]))
				if !seen[i] && has {
					ids[i], seen[i] = e[1], true
					missing--
				}
			}
		case <-late:
			w.t.Fatalf("of the events %q, %d did not come", wants, missing)
		}
	}
	return ids
}

// liveURL returns the address of the stream of a page.
func liveURL(t *testing.T, html string) string {
	t.Helper()
	m := regexp.MustCompile(`data-live="([^"]+)"`).FindStringSubmatch(html)
	if m == nil {
		t.Fatal("the page has no stream")
	}
	return strings.ReplaceAll(m[1], "&amp;", "&")
}

// TestLiveLists checks the streams of the lists of runs and questions.
func TestLiveLists(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	url := liveURL(t, r.shows("vera", "/runs", http.StatusOK))
	runs := r.watch(t, "vera", url)
	questions := r.watch(t, "vera", liveURL(t, r.shows("vera", "/questions", http.StatusOK)))
	failing := r.watch(t, "vera", liveURL(t, r.shows("vera", "/runs?state=failed", http.StatusOK)))
	run := r.begin("rob", "sure", `{}`)
	id := runs.all([2]string{"part", `id="r-` + run}, [2]string{"part", "waits for an answer"}, [2]string{"count", "1"})[0]
	questions.until("part or resync", "go on?") // it may be asked before the stream first looks
	q := r.question(run).Text("id")
	r.post("ann", "/v1/runs/"+run+"/questions/"+q+"/answer", `{"yes": false}`, http.StatusOK)
	questions.until("part", "answered")
	runs.until("say", "has failed")
	failing.until("part", "stopped")
	again := r.watch(t, "vera", strings.Split(url, "?")[0]+"?after="+id)
	again.until("part", "stopped")
	r.watch(t, "vera", "/live/runs?after=other-7").until("resync", "")
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	runs.until("draining", "")
}

// TestLiveRun checks the stream of a run: what changes after its page was made, and after a gap.
func TestLiveRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	run := r.begin("rob", "sure", `{}`)
	q := r.question(run).Text("id")
	r.until(run, history.Parked)
	url := liveURL(t, r.shows("ann", "/runs/"+run, http.StatusOK))
	w := r.watch(t, "ann", url)
	w.until("count", "1")
	r.post("ann", "/v1/runs/"+run+"/questions/"+q+"/answer", `{"yes": true}`, http.StatusOK)
	w.until("part", `id="s-7"`)
	w.until("part", `id="run-acts"`)
	late := r.watch(t, "ann", url) // it has the page as it was before the answer
	late.until("part", `id="s-7"`)
	late.until("part", "Result")
	r.watch(t, "ann", "/live/run/"+run+"?at=nothing").until("resync", "")
}
