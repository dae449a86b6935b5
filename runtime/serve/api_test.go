package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestRunOfATeam begins a workflow, answers its question as somebody else, and undoes and repeats what it did.
func TestRunOfATeam(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	id := r.begin("rob", "sure", "{}")
	q := r.question(id)
	if q.Text("text") != "go on?" || q.Int("rev") != 0 || len(q.Text("seen")) != 32 {
		t.Errorf("the question is %v", q)
	}
	path := "/v1/runs/" + id + "/questions/" + q.Text("id") + "/answer"
	if got := errorText(r.post("rob", path, `{"yes": true}`, http.StatusForbidden)); !strings.Contains(got, "needs the role approve") {
		t.Errorf("an answer of rob gave %q", got)
	}
	given := r.post("ann", path, `{"yes": true, "why": "fine", "seen": "`+q.Text("seen")+`", "rev": 0}`, http.StatusOK)
	if given.Text("by") != "ann" || given.Text("question_id") != q.Text("id") || !given.Bool("answer") {
		t.Errorf("the answer is %v", given)
	}
	r.until(id, history.Done)
	shown := r.get("vera", "/v1/runs/"+id, http.StatusOK)
	steps, _ := shown.Get("steps")
	if shown.Text("result") != "done" || shown.Text("by") != "rob" || len(steps.(value.List)) < 7 {
		t.Errorf("the run is %v", shown)
	}
	used := r.post("ann", path, `{"yes": false}`, http.StatusConflict)
	if got := errorText(used); !strings.Contains(got, "ann has answered the question: yes (fine)") || used.Dict("question") == nil {
		t.Errorf("a late answer gave %q, %v", got, used)
	}
	if got := r.audit.texts("begin", "answer"); len(got) != 2 || got[0] != "rob begin  refused=false" || got[1] != "ann answer yes refused=false" {
		t.Errorf("the audit has %q", got)
	}
}

// TestToolCalls checks the results of calls that end, fail, ask, and are not waited for.
func TestToolCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Projects = o.Projects[:1] }).start()
	done := r.post("rob", "/v1/tools/echo/call", `{"args": {"text": "hi"}}`, http.StatusOK)
	if done.Text("value") == "" && done.Text("result") == "" || !done.Bool("success") || done.Text("run") == "" {
		t.Errorf("the result is %v", done)
	}
	failed := r.post("rob", "/v1/tools/fails/call", ``, http.StatusOK)
	if failed.Bool("success") || !strings.Contains(failed.Text("error"), "no luck") {
		t.Errorf("the result is %v", failed)
	}
	parked := r.post("rob", "/v1/tools/bump/call", ``, http.StatusAccepted)
	questions, _ := parked.Get("questions")
	if len(questions.(value.List)) != 1 {
		t.Fatalf("the call that asks gave %v", parked)
	}
	q := questions.(value.List)[0].(*value.Dict)
	if !strings.Contains(q.Dict("review").Text("title")+value.FormatJSON(q, ""), "count") {
		t.Errorf("the question does not show the change: %v", q)
	}
	id := parked.Text("id")
	r.post("ann", "/v1/runs/"+id+"/questions/"+q.Text("id")+"/answer", `{"yes": true}`, http.StatusOK)
	r.until(id, history.Done)
	if text, _ := os.ReadFile(filepath.Join(r.dirs["bakery"], "count")); string(text) != "1" {
		t.Errorf("the file is %q", text)
	}
	if d := r.post("ann", "/v1/tools/bump/call", ``, http.StatusOK); d.Int("value")+d.Int("result") != 2 { // who may approve does so by calling
		t.Errorf("a call of ann gave %v", d)
	}
	later := r.send(ask{token: "rob", method: "POST", path: "/v1/tools/echo/call?wait=0", body: `{"args": {"text": "later"}}`})
	if later.StatusCode != http.StatusAccepted && later.StatusCode != http.StatusOK { // it has ended already
		t.Errorf("a call that is not waited for gave %s", later.Status)
	}
	for body, want := range map[string]string{`{"args": {"txt": 1}}`: "text", `{"args": [1]}`: "should not be array", `{"text": "x"}`: "unknown field", `[]`: "JSON object", `{`: "read the body"} {
		if got := errorText(r.post("rob", "/v1/tools/echo/call", body, http.StatusBadRequest)); !strings.Contains(got, want) {
			t.Errorf("%s gave %q, want %q", body, got, want)
		}
	}
	r.post("rob", "/v1/tools/none/call", ``, http.StatusNotFound)
	undo := r.post("ann", "/v1/runs/"+id+"/undo", ``, http.StatusCreated)
	if undo.Text("kind") != "undo" || undo.Text("by") != "ann" {
		t.Errorf("the undo is %v", undo)
	}
}

// TestForbidOwn checks that nobody answers the questions of what they began, on any path.
func TestForbidOwn(t *testing.T) {
	t.Parallel()
	var forbid, broken atomic.Bool
	r := newRig(t, func(o *Options) {
		o.Reload = func() ([]string, bool, error) {
			if broken.Load() {
				return nil, false, value.Errorf(value.Invalid, "the config cannot be read")
			}
			return nil, forbid.Load(), nil
		}
	}).start()
	answer := func(id string) string {
		return "/v1/runs/" + id + "/questions/" + r.question(id).Text("id") + "/answer"
	}
	own := r.begin("ann", "sure", "{}")
	r.post("ann", answer(own), `{"yes": false}`, http.StatusOK)
	forbid.Store(true)
	id := r.begin("ann", "sure", "{}")
	r.post("ann", answer(id), `{"yes": true}`, http.StatusForbidden)
	broken.Store(true) // then it is as it was
	if got := errorText(r.post("ann", answer(id), `{"yes": true}`, http.StatusForbidden)); !strings.Contains(got, "begun by 'ann'") {
		t.Errorf("an answer to the own run gave %q", got)
	}
	r.post("ada", answer(id), `{"yes": false}`, http.StatusOK)
	for r.get("vera", "/v1/runs/"+id, http.StatusOK).Text("state") != "failed" {
	}
	// A retry is a run of who began it.
	again := r.post("ann", "/v1/runs/"+id+"/retry", `{"from": "1"}`, http.StatusCreated)
	if again.Text("by") != "ann" || again.Text("forked_from") != id {
		t.Errorf("the retry is %v", again)
	}
	r.post("ann", answer(again.Text("id")), `{"yes": true}`, http.StatusForbidden)
	// A call does not approve itself.
	call := r.post("ann", "/v1/tools/bump/call", `{"project": "bakery"}`, http.StatusAccepted)
	r.post("ann", answer(call.Text("id")), `{"yes": true}`, http.StatusForbidden)
	r.post("ada", answer(call.Text("id")), `{"yes": true}`, http.StatusOK)
	r.until(call.Text("id"), history.Done)
	if got := r.audit.texts("POST /v1/runs/{id}/questions/{qid}/answer"); len(got) != 4 {
		t.Errorf("the audit has %q, want four refusals", got)
	}
}

// TestAnswersAtTheSameTime checks that one of two people answers, and that the other one is told.
func TestAnswersAtTheSameTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil) // no loop: the run does not use an answer
	id := r.begin("rob", "sure", "{}")
	if _, err := r.projects[0].Host.Resume(t.Context(), id); value.KindOf(err) != value.Parked {
		t.Fatal(err)
	}
	path := "/v1/runs/" + id + "/questions/" + r.question(id).Text("id") + "/answer"
	statuses := make(chan int)
	for _, a := range []ask{{token: "ann", body: `{"yes": true}`}, {token: "ada", body: `{"yes": false, "why": "no"}`}} {
		go func() { statuses <- r.send(ask{token: a.token, method: "POST", path: path, body: a.body}).StatusCode }()
	}
	if a, b := <-statuses, <-statuses; a+b != http.StatusOK+http.StatusConflict {
		t.Errorf("the answers gave %d and %d", a, b)
	}
	q := r.question(id)
	winner := q.Text("by")
	body := map[string]string{"ann": `{"yes": true}`, "ada": `{"yes": false, "why": "no"}`}[winner]
	r.post(winner, path, body, http.StatusOK) // sent again
	late := r.post("ann", path, `{"yes": true, "why": "look"}`, http.StatusConflict)
	if got := errorText(late); !strings.Contains(got, winner+" has answered") || late.Dict("question").Int("rev") != 1 {
		t.Errorf("a late answer gave %q, %v", got, late)
	}
	r.post("ann", path, `{"yes": true, "why": "look", "rev": 1}`, http.StatusOK)
	if q := r.question(id); q.Int("rev") != 2 || q.Text("why") != "look" {
		t.Errorf("the question is %v", q)
	}
	r.post("ann", path, `{"yes": true, "rev": 2, "seen": "00"}`, http.StatusConflict)
	for body, want := range map[string]string{`{"why": ""}`: "answer is missing", `{"yes": null}`: "answer is missing", `{"value": null}`: "answer is missing", `{"done": false}`: "answer is missing", `{"yes": 1}`: "should not be", `{"value": "x"}`: "expects yes or no", `{"yes": true, "rules": []}`: "unknown field"} {
		if got := errorText(r.post("ann", path, strings.Replace(body, "{", `{"rev": 2, `, 1), http.StatusBadRequest)); !strings.Contains(got, want) {
			t.Errorf("%s gave %q, want %q", body, got, want)
		}
	}
}

// TestIdempotency checks that a request with a key is carried out once.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	send := func(token, key, path, body string, status int) *value.Dict {
		t.Helper()
		return r.do(ask{token: token, method: "POST", path: path, body: body, header: [][2]string{{"Idempotency-Key", key}}}, status)
	}
	const greet = `{"workflow": "greet", "args": {"name": "x"}, "project": "bakery"}`
	id := send("rob", "k", "/v1/runs", greet, http.StatusCreated).Text("id")
	r.until(id, history.Done)
	for _, same := range []string{greet, `{"project":"bakery","args":{"name":"x"},"workflow":"greet"}`} {
		if again := send("rob", "k", "/v1/runs", same, http.StatusCreated); again.Text("id") != id || again.Text("state") != "done" {
			t.Errorf("the same request gave %v", again)
		}
	}
	for name, other := range map[string][2]string{
		"arguments": {"/v1/runs", strings.Replace(greet, `"x"`, `"y"`, 1)},
		"workflow":  {"/v1/runs", `{"workflow": "sure", "project": "bakery"}`},
		"project":   {"/v1/runs", strings.Replace(greet, "bakery", "other", 1)},
		"a call":    {"/v1/tools/echo/call", `{"args": {"text": "x"}, "project": "bakery"}`},
		"a retry":   {"/v1/runs/" + id + "/retry", `{"from": "1"}`},
	} {
		if got := errorText(send("rob", "k", other[0], other[1], http.StatusConflict)); !strings.HasPrefix(got, "conflict: ") {
			t.Errorf("another %s gave %q", name, got)
		}
	}
	if other := send("ann", "k", "/v1/runs", greet, http.StatusCreated).Text("id"); other == id {
		t.Error("another user with the same key got the same run")
	}
	retry := send("rob", "again", "/v1/runs/"+id+"/retry", `{"from": "1"}`, http.StatusCreated).Text("id")
	if same := send("rob", "again", "/v1/runs/"+id+"/retry", `{"from": "1"}`, http.StatusCreated).Text("id"); same != retry || retry == id {
		t.Errorf("the retries are %s and %s", retry, same)
	}
	send("rob", strings.Repeat("k", 300), "/v1/runs", greet, http.StatusBadRequest)
	call := send("rob", "c", "/v1/tools/echo/call", `{"args": {"text": "x"}, "project": "bakery"}`, http.StatusOK)
	if again := send("rob", "c", "/v1/tools/echo/call", `{"args": {"text": "x"}, "project": "bakery"}`, http.StatusOK); again.Text("run") != call.Text("run") {
		t.Errorf("the call was made again: %v and %v", call, again)
	}
}

// TestActions checks who may cancel and resume runs, and in which states.
func TestActions(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	own, other := r.begin("rob", "sure", "{}"), r.begin("ann", "sure", "{}")
	r.question(own)
	r.question(other)
	for _, action := range []string{"resume", "cancel", "undo", "retry"} {
		if got := errorText(r.post("rob", "/v1/runs/"+other+"/"+action, "", http.StatusForbidden)); !strings.Contains(got, "begun by somebody else") {
			t.Errorf("%s of another's run gave %q", action, got)
		}
	}
	r.post("rob", "/v1/runs/"+own+"/undo", "", http.StatusConflict)
	r.post("rob", "/v1/runs/"+own+"/resume", "", http.StatusAccepted)
	if s := r.send(ask{token: "rob", method: "POST", path: "/v1/runs/" + own + "/cancel"}).StatusCode; s != http.StatusOK && s != http.StatusAccepted { // it may be executed
		t.Errorf("a cancel gave %d", s)
	}
	r.until(own, history.Cancelled)
	r.post("rob", "/v1/runs/"+own+"/cancel", "", http.StatusConflict)
	r.post("rob", "/v1/runs/"+own+"/resume", "", http.StatusConflict)
	r.until(other, history.Parked)
	if d := r.post("ann", "/v1/runs/"+other+"/cancel", "", http.StatusOK); d.Text("state") != "cancelled" {
		t.Errorf("the cancelled run is %v", d)
	}
	r.post("rob", "/v1/runs/none/cancel", "", http.StatusNotFound)
	failed := r.begin("rob", "bad", "{}")
	r.until(failed, history.Failed)
	again := r.post("rob", "/v1/runs/"+failed+"/retry", "", http.StatusCreated)
	r.until(again.Text("id"), history.Failed)
}
