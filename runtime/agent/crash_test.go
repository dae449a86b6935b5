package agent_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testutil"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The test binary is also the process that is killed: its sessions are given in
// this variable, as a number, a folder, a journal and the address of the model.
const crashEnv = "CASSIDY_AGENT_CRASH"

// What the sessions are doing when their process is killed, in turns. Each had
// one turn before.
const (
	streaming   = iota // the model is answering
	parked             // it waits for an approval
	interrupted        // the context of the turn ended while the model was answering
	cancelled          // the turn was cancelled while the model was answering
	idle               // no turn is in progress
	situations
)

func sessionName(i int) string { return fmt.Sprintf("session-%03d", i) }

// second is what the second turn of a session says.
func second(i int) string {
	return sessionName(i) + [...]string{" hang", " write", " hang", " hang", " hello"}[i%situations]
}

// openCrowded opens the host and the agent of the test.
func openCrowded(dir, journal, api string) (*host.Host, *agent.Agent, error) {
	m, err := openai.New(&openai.Options{Model: "fake", BaseURL: api, Key: "k"})
	if err != nil {
		return nil, nil, err
	}
	store, err := sqlite.Open(journal)
	if err != nil {
		return nil, nil, err
	}
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: store})
	if err != nil {
		return nil, nil, err
	}
	h, err := r.Open(cassidy.Dir(dir), &cassidy.Options{Dir: dir, TrustSource: true})
	if err != nil {
		return nil, nil, err
	}
	a, err := agent.New(h, &agent.Options{Model: m, Policy: "chat", Tools: []string{"write_file"}})
	return h, a, err
}

// crash is the process that is killed. It prints what its sessions have come to.
func crash(args string) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test has ended
		os.Exit(1)
	}()
	words := strings.Split(args, "\n")
	n, _ := strconv.Atoi(words[0])
	h, a, err := openCrowded(words[1], words[2], words[3])
	if err != nil {
		fmt.Println("error", err)
		return
	}
	pieces := &firstPieces{seen: map[string]func(){}}
	events := h.Subscribe(context.Background(), host.EventFilter{Buffer: 1 << 16})
	go func() {
		for e := range events {
			if _, ok := e.Data.(tool.Text); ok {
				pieces.note(e.Call)
			}
		}
	}()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := crashSession(h, a, pieces, i); err != nil {
				fmt.Println("error", sessionName(i), err)
			}
		})
	}
	all.Wait()
	select {} // until it is killed
}

// crashSession has the first two turns of a session.
func crashSession(h *host.Host, a *agent.Agent, pieces *firstPieces, i int) error {
	name := sessionName(i)
	s, err := a.Session(context.Background(), name)
	if err != nil {
		return err
	}
	if r, err := s.Send(context.Background(), name+" hello"); err != nil || r.Text != "hello "+name {
		return fmt.Errorf("the first turn gave %q, %w", r.Text, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pieces.on(s.NextRun(), func() {
		switch i % situations {
		case streaming:
			fmt.Println("ready", name)
		case interrupted:
			cancel()
		case cancelled:
			_ = h.Cancel(context.Background(), s.NextRun())
		}
	})
	_, err = s.Send(ctx, second(i))
	var waits *host.ParkedError
	switch {
	case i%situations == idle && err == nil:
	case i%situations == parked && errors.As(err, &waits) && len(waits.Questions) == 1:
	case (i%situations == interrupted || i%situations == cancelled) && value.KindOf(err) == value.Canceled:
	default:
		return fmt.Errorf("the second turn gave %w", err)
	}
	fmt.Println("ready", name)
	return nil
}

// firstPieces calls a function with the first piece of text of a run.
type firstPieces struct {
	mu   sync.Mutex
	seen map[string]func()
}

func (p *firstPieces) on(run string, do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[run] = do
}

func (p *firstPieces) note(run string) {
	p.mu.Lock()
	do := p.seen[run]
	delete(p.seen, run)
	p.mu.Unlock()
	if do != nil {
		go do() // whoever emits an event waits for its subscribers
	}
}

// A countingAPI is a model that counts the requests by their content.
type countingAPI struct {
	mu       sync.Mutex
	requests map[string]int
	last     map[string]string // what each is about: its last message
	answers  bool              // also what hangs
}

type apiMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (c *countingAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var q struct{ Messages []apiMessage }
	if err := json.Unmarshal(body, &q); err != nil || len(q.Messages) == 0 {
		http.Error(w, "not a request", http.StatusBadRequest)
		return
	}
	last := q.Messages[len(q.Messages)-1]
	text := last.Content[strings.LastIndex(last.Content, "session-"):]
	if last.Role == "tool" {
		text = q.Messages[len(q.Messages)-3].Content
		text = text[strings.LastIndex(text, "session-"):]
		text = strings.Fields(text)[0] + " written"
	}
	name, wants, _ := strings.Cut(strings.TrimSpace(text), " ")
	key := fmt.Sprintf("%x", sha256.Sum256(body))
	c.mu.Lock()
	c.requests[key]++
	c.last[key] = name + " " + wants
	hangs := wants == "hang" && !c.answers
	c.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(format string, args ...any) {
		fmt.Fprintf(w, "data: "+format+"\n\n", args...)
		w.(http.Flusher).Flush()
	}
	if wants == "write" {
		args, _ := json.Marshal(fmt.Sprintf(`{"filepath": "%[1]s.txt", "content": "by %[1]s"}`, name))
		chunk(`{"choices":[{"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"write_file","arguments":%s}}]}}]}`, args)
		chunk(`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`)
		chunk("[DONE]")
		return
	}
	chunk(`{"choices":[{"delta":{"role":"assistant","content":%q}}]}`, wants+" ")
	if hangs {
		<-r.Context().Done()
		return
	}
	chunk(`{"choices":[{"delta":{"content":%q}}]}`, name)
	chunk(`{"choices":[{"delta":{},"finish_reason":"stop"}]}`)
	chunk("[DONE]")
}

// TestSessionsSurviveTheirProcess kills a process in which many sessions are at
// work, and continues all of them in another one: each has its full conversation,
// and no request to the model is made again but those that were not answered.
func TestSessionsSurviveTheirProcess(t *testing.T) {
	t.Parallel()
	n := testutil.Times(25, 200)
	api := &countingAPI{requests: map[string]int{}, last: map[string]string{}}
	server := httptest.NewServer(api)
	defer server.Close()
	dir, journal := t.TempDir(), t.TempDir()
	killWhenReady(t, n, strings.Join([]string{strconv.Itoa(n), dir, journal, server.URL}, "\n"))
	api.mu.Lock()
	api.answers = true
	api.mu.Unlock()

	h, a, err := openCrowded(dir, journal, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	questions := 0
	for q, err := range h.Waiting(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Answer(t.Context(), q.ID, tool.Answer{Yes: true}); err != nil {
			t.Error(err)
		}
		questions++
	}
	if questions != n/situations {
		t.Errorf("%d questions are open, want %d", questions, n/situations)
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { continueSession(t, h, a, i) })
	}
	all.Wait()
	for i := parked; i < n; i += situations {
		if data, err := os.ReadFile(filepath.Join(dir, sessionName(i)+".txt")); string(data) != "by "+sessionName(i) {
			t.Errorf("%s has written %q, %v", sessionName(i), data, err)
		}
	}
	for key, made := range api.requests {
		name, wants, _ := strings.Cut(api.last[key], " ")
		i, _ := strconv.Atoi(strings.TrimPrefix(name, "session-"))
		most := 1
		if wants == "hang" && i%situations != cancelled {
			most = 2
		}
		if made > most {
			t.Errorf("the request %q was made %d times, want %d", api.last[key], made, most)
		}
	}
}

// killWhenReady starts the process of the sessions, and kills it when all of them have come
// to where they are to be killed.
func killWhenReady(t *testing.T, n int, args string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashEnv+"="+args)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	ready := 0
	for lines := bufio.NewScanner(out); ready < n && lines.Scan(); {
		if word, rest, _ := strings.Cut(lines.Text(), " "); word == "ready" {
			ready++
		} else {
			t.Errorf("%s %s", word, rest)
			break
		}
	}
	late.Stop()
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if ready < n {
		t.Fatalf("%d of %d sessions were ready", ready, n)
	}
}

// givenUp reports whether the turn of a session is not resumed but cancelled.
func givenUp(i int) bool { return i%situations == streaming && i%3 == 0 }

// continueSession checks a session after its process was killed.
func continueSession(t *testing.T, h *host.Host, a *agent.Agent, i int) {
	name, ctx := sessionName(i), t.Context()
	s, err := a.Session(ctx, name)
	if err != nil {
		t.Errorf("Session(%s) = %v", name, err)
		return
	}
	want := map[int]string{streaming: "hang " + name, parked: "written " + name, interrupted: "hang " + name}[i%situations]
	if (s.Waiting() != "") != (want != "") {
		t.Errorf("%s: the turn that has not ended is %q", name, s.Waiting())
	}
	switch open := s.Waiting(); {
	case open == "":
	case givenUp(i):
		if err := h.Cancel(ctx, open); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	case i%2 == 0: // by the session
		if r, err := s.Resume(ctx); err != nil || r.Text != want {
			t.Errorf("%s: the resumed turn gave %q, %v, want %q", name, r.Text, err, want)
		}
	default: // by the host
		r, err := h.Resume(ctx, open)
		if d, _ := r.Value.(*value.Dict); err != nil || d.Text("answer") != want {
			t.Errorf("%s: the resumed run gave %v, %v, want %q", name, r.Value, err, want)
		}
	}
	if r, err := s.Send(ctx, name+" bye"); err != nil || r.Text != "bye "+name {
		t.Errorf("%s: the next turn gave %q, %v", name, r.Text, err)
	}
	said := map[int][]string{
		streaming: {" hello", "hello ", " hang", "hang ", " bye", "bye "}, interrupted: {" hello", "hello ", " hang", "hang ", " bye", "bye "},
		parked:    {" hello", "hello ", " write", "", "", "written ", " bye", "bye "},
		cancelled: {" hello", "hello ", " bye", "bye "}, idle: {" hello", "hello ", " hello", "hello ", " bye", "bye "},
	}[i%situations]
	if givenUp(i) {
		said = []string{" hello", "hello ", " bye", "bye "}
	}
	messages := s.Messages()
	if len(messages) != len(said) {
		t.Errorf("%s: the conversation has %d messages, want %d", name, len(messages), len(said))
		return
	}
	for k, text := range said {
		if !strings.Contains(messages[k].Text, strings.TrimSpace(text)) || !strings.Contains(messages[k].Text+messages[k].Tool, name) && text != "" {
			t.Errorf("%s: message %d is %q, want %q", name, k+1, messages[k].Text, text)
		}
	}
}
