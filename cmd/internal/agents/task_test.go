package agents

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/stdlib"
)

// TestMain has this binary be a worker of itself, see [testworker.Main].
func TestMain(m *testing.M) { testworker.Main(m, stdlib.Pure()...) }

// An assistant is a server as CassidyAI documents it: threads that are made,
// spoken to and read. What it does wrong on the way is in trouble.
type assistant struct {
	t       *testing.T
	key     string
	mu      sync.Mutex
	threads int
	sent    []string // what was said to it
	thread  []map[string]any
	answers []string
	trouble []int // the status of each request for a message; 0 is an answer
	reads   int
	sources []any // of each answer
}

func (a *assistant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Header.Get("x-api-key") != a.key {
		http.Error(w, `{"message":"no such key"}`, http.StatusUnauthorized)
		return
	}
	body := map[string]string{}
	if r.Method == http.MethodPost {
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&body); err != nil {
			a.t.Errorf("%s: the body is no object of texts: %v", r.URL.Path, err)
		}
	}
	switch r.Method + " " + r.URL.Path {
	case "POST /assistants/thread/create":
		if body["assistant_id"] != "helper" || len(body) != 1 {
			a.t.Errorf("a thread was wanted with %v", body)
		}
		a.threads++
		a.answer(w, map[string]any{"thread_id": "thread-1"})
	case "POST /assistants/message/create":
		a.message(w, body)
	case "GET /assistants/thread/get":
		a.reads++
		a.answer(w, map[string]any{"thread_id": r.URL.Query().Get("thread_id"), "messages": a.thread})
	default:
		a.t.Errorf("there is no %s %s", r.Method, r.URL)
	}
}

func (a *assistant) message(w http.ResponseWriter, body map[string]string) {
	if body["thread_id"] != "thread-1" || len(body) != 2 {
		a.t.Errorf("a message came with %v", body)
	}
	status := 0
	if len(a.trouble) > 0 {
		status, a.trouble = a.trouble[0], a.trouble[1:]
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After-Ms", "1")
		http.Error(w, "<html><title>busy</title></html>", status)
		return
	}
	a.sent = append(a.sent, body["message"])
	answer := a.answers[0]
	a.answers = a.answers[1:]
	a.thread = append(a.thread, map[string]any{"role": "user", "content": body["message"]}, map[string]any{"role": "assistant", "content": answer, "references": a.sources})
	if status != 0 { // the proxy gave up; the assistant did not
		http.Error(w, "<html><title>524: A timeout occurred</title></html>", status)
		return
	}
	a.answer(w, map[string]any{"content": answer, "references": a.sources})
}

func (a *assistant) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		a.t.Error(err)
	}
}

// TestTaskOverCassidyAI has a task done by an assistant of CassidyAI that is
// busy once, and once answers too late for its proxy.
func TestTaskOverCassidyAI(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plan.txt"), []byte("sow in March"), 0o644); err != nil {
		t.Fatal(err)
	}
	const key = "key-0123456789abcdef"
	a := &assistant{
		t: t, key: key,
		trouble: []int{http.StatusServiceUnavailable, 0, 524},
		sources: []any{map[string]string{"name": "Garden book\x1b[2J", "url": "https://example.com/book"}, "a note"},
		answers: []string{
			"I look.\n```json\n{\"tool_decision\": {\"action\": \"read_file\", \"input\": {\"filepath\": \"plan.txt\"}, \"reasoning\": \"it says when\", \"status\": \"continue\"}}\n```",
			"TASK COMPLETE: in March [[1]]",
		},
	}
	server := httptest.NewServer(a)
	defer server.Close()
	env := map[string]string{"CASSIDY_HOME": home, "CASSIDY_API_KEY": key, "CASSIDY_ASSISTANT_ID": "helper", "CASSIDY_BASE_URL": server.URL}
	stdout, stderr, code := apptest.Run(t, dir, env, []func(*app.App) *cli.Command{TaskCommand}, "task", "When do we sow?")
	if stdout != "in March [[1]]\n\n[1] Garden book\\u001b[2J https://example.com/book\n[2] a note\n" || code != 0 {
		t.Errorf("the answer is %q, exit %d (%s), want in March", stdout, code, stderr)
	}
	if !strings.Contains(stderr, "thread thread-1; to continue it: --thread thread-1") {
		t.Errorf("the thread is not shown: %s", stderr)
	}
	if a.threads != 1 || len(a.sent) != 2 || a.reads != 1 {
		t.Errorf("%d threads, %d messages stored, %d looks at the thread, want 1, 2 and 1", a.threads, len(a.sent), a.reads)
	}
	if !strings.Contains(a.sent[0], "# Available Tools") || !strings.Contains(a.sent[0], `"tool_decision"`) || !strings.HasSuffix(a.sent[0], "# User Question\n\nWhen do we sow?") {
		t.Errorf("the first message does not tell what it should:\n%s", a.sent[0])
	}
	if !strings.Contains(a.sent[1], "RESULT (read_file):") || !strings.Contains(a.sent[1], "sow in March") || strings.Contains(a.sent[1], "# Available Tools") {
		t.Errorf("the second message should be the result and a reminder:\n%s", a.sent[1])
	}
	noKey(t, key, home, stdout, stderr)

	env["CASSIDY_API_KEY"] = "another-" + key
	stdout, stderr, code = apptest.Run(t, dir, env, []func(*app.App) *cli.Command{TaskCommand}, "--json", "--verbose", "task", "When do we sow?")
	if code != 5 || !strings.Contains(stderr, "CASSIDY_API_KEY") || !strings.Contains(stderr, "x-api-key") {
		t.Errorf("a wrong key ended with %d: %s, want 5, what to set and how the key was sent", code, stderr)
	}
	noKey(t, key, home, stdout, stderr)

	if testutil.Soak() { // the tries take 20 seconds
		server.Close()
	}
	env["CASSIDY_API_KEY"], a.trouble = key, slices.Repeat([]int{http.StatusServiceUnavailable}, 100)
	_, stderr, code = apptest.Run(t, dir, env, []func(*app.App) *cli.Command{TaskCommand}, "task", "When do we sow?")
	if code != 5 || !strings.Contains(stderr, "hint: ") {
		t.Errorf("without a server it ended with %d: %s, want 5 and what to do", code, stderr)
	}
}

// noKey checks that a key was written nowhere.
func noKey(t *testing.T, key, home string, texts ...string) {
	t.Helper()
	err := filepath.WalkDir(home, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		texts = append(texts, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if strings.Contains(text, key) {
			t.Errorf("the key is in %q", text)
		}
	}
}

// TestThread continues a thread that another program began; other models keep none.
func TestThread(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	a := &assistant{t: t, key: "key-0123456789abcdef", answers: []string{"TASK COMPLETE: as before"}}
	server := httptest.NewServer(a)
	defer server.Close()
	env := map[string]string{"CASSIDY_HOME": home, "CASSIDY_API_KEY": a.key, "CASSIDY_ASSISTANT_ID": "helper", "CASSIDY_BASE_URL": server.URL}
	stdout, stderr, code := apptest.Run(t, dir, env, []func(*app.App) *cli.Command{TaskCommand}, "task", "--thread", "thread-1", "And now?")
	if stdout != "as before\n" || code != 0 || a.threads != 0 || len(a.sent) != 1 || !strings.Contains(a.sent[0], "And now?") {
		t.Errorf("the answer is %q, exit %d (%s), with %d new threads and the messages %q", stdout, code, stderr, a.threads, a.sent)
	}
	if err := os.WriteFile(filepath.Join(dir, "m.star"), []byte("def reply(messages, turn):\n    return \"TASK COMPLETE: x\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := apptest.Run(t, dir, env, []func(*app.App) *cli.Command{TaskCommand}, "task", "--thread", "thread-1", "--model", "script:m.star", "And now?"); code == 0 || !strings.Contains(stderr, "keeps no threads") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
