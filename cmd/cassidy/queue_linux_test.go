package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

// A team is a project whose queue several processes share.
type team struct {
	t         *testing.T
	program   string
	dir, home string
}

// newTeam makes a project with the workflow count, which adds its number to a file in three steps.
func newTeam(t *testing.T) *team {
	t.Helper()
	m := &team{t, testutil.Build(t, "cmd/cassidy"), t.TempDir(), t.TempDir()}
	for name, text := range map[string]string{
		"tools/add.star":       "def add(file: str, line: str):\n    \"Add a line to a file.\"\n    fs.append(file, line + \"\\n\")\n\ntool(add, needs = [\"fs.write\"])\n",
		"workflows/count.star": "def main(n: int) -> int:\n    \"Count.\"\n    for step in range(3):\n        tools.add(file = \"n%d\" % n, line = str(step))\n        time.sleep(0.02)\n    return n\n",
		"workflows/ask.star":   "def main(name: str) -> str:\n    \"Greet somebody.\"\n    return \"hi \" + name if human.confirm(\"Greet %s?\" % name) else \"no\"\n",
	} {
		m.write(name, text)
	}
	if err := os.WriteFile(filepath.Join(m.home, "config.yaml"), []byte("allow: [fs.write]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.do("trust", "--yes")
	return m
}

// write writes a file in the folder .cassidy.
func (m *team) write(name, text string) {
	m.t.Helper()
	file := filepath.Join(m.dir, ".cassidy", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *team) command(args ...string) *exec.Cmd {
	c := exec.Command(m.program, args...)
	c.Dir, c.Env = m.dir, append(os.Environ(), "CASSIDY_HOME="+m.home)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// do runs a command, which must succeed, and returns what it prints.
func (m *team) do(args ...string) string {
	m.t.Helper()
	c := m.command(args...)
	out, err := c.Output()
	if err != nil {
		message := ""
		if e, ok := err.(*exec.ExitError); ok {
			message = string(e.Stderr)
		}
		m.t.Fatalf("cassidy %s: %v\n%s", strings.Join(args, " "), err, message)
	}
	return string(out)
}

// start starts a command that runs until it is killed.
func (m *team) start(args ...string) *exec.Cmd {
	m.t.Helper()
	c := m.command(args...)
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
	return c
}

// A site is a server that was started.
type site struct {
	t          *testing.T
	url, token string
	process    *exec.Cmd
}

// serve starts a server, and returns when it listens.
func (m *team) serve(args ...string) *site {
	m.t.Helper()
	c := m.command(append([]string{"serve", "--listen", "127.0.0.1:0", "--json"}, args...)...)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	var first struct{ Type, URL, Token string }
	if err == nil {
		err = json.Unmarshal([]byte(line), &first)
	}
	if err != nil || first.Type != "listening" {
		m.t.Fatalf("the server began with %q: %v", line, err)
	}
	return &site{m.t, first.URL, first.Token, c}
}

// send makes a request, whose answer must have the status, and returns the answer.
func (s *site) send(method, path, body string, status int) map[string]any {
	s.t.Helper()
	text, got := s.text(method, path, body, status), map[string]any{}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		s.t.Fatalf("%s %s gave %s: %v", method, path, text, err)
	}
	return got
}

// text is send for an answer of any form.
func (s *site) text(method, path, body string, status int) string {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		s.t.Fatalf("%s %s gave %d %s: %v", method, path, answer.StatusCode, text, err)
	}
	return string(text)
}

// waitFor waits until ready returns true.
func waitFor(t *testing.T, what string, ready func() bool) {
	t.Helper()
	const last = 3 * time.Minute
	for end := time.Now().Add(last); !ready(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come in %v", what, last)
		}
	}
}

// until waits until every run is in a state.
func (m *team) until(state string, runs int) {
	m.t.Helper()
	waitFor(m.t, fmt.Sprintf("%d runs in the state %s", runs, state), func() bool {
		var list struct{ Runs []struct{ State string } }
		if err := json.Unmarshal([]byte(m.do("runs", "list", "--json", "--limit", "0", "--state", state)), &list); err != nil {
			m.t.Fatal(err)
		}
		return len(list.Runs) == runs
	})
}

// TestWorker checks that a worker executes what is begun with --detach, continues what is answered, and ends by
// SIGTERM.
func TestWorker(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	count, ask := strings.TrimSpace(m.do("run", "count", "n=1", "--detach")), strings.TrimSpace(m.do("run", "ask", "name=Ann", "--detach"))
	if shown := m.do("runs", "list"); !strings.Contains(shown, "queued") {
		t.Errorf("the runs are listed as\n%s", shown)
	}
	worker := m.start("worker", "--jobs", "2")
	m.until("done", 1)
	if got, err := os.ReadFile(filepath.Join(m.dir, "n1")); err != nil || string(got) != "0\n1\n2\n" {
		t.Errorf("%s wrote %q: %v", count, got, err)
	}
	waitFor(t, "the question", func() bool { return strings.Contains(m.do("runs", "list"), "Greet Ann?") })
	m.do("runs", "answer", ask, "yes")
	m.until("done", 2)
	if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := worker.Wait(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
}

// TestQueueKilled has two workers and a server share a queue while they are killed at random: every step is done once.
// make soak runs 200 runs.
func TestQueueKilled(t *testing.T) {
	t.Parallel()
	runs, kills := 12, 4
	if testutil.Soak() {
		runs, kills = 200, 60
	}
	every := runs / kills
	m := newTeam(t)
	s := m.serve()
	roles := [3]*exec.Cmd{s.process, m.start("worker"), m.start("worker")}
	for n := range runs {
		if n%2 == 0 {
			m.do("run", "count", fmt.Sprint("n=", n), "--detach")
		} else {
			s.send("POST", "/v1/runs", fmt.Sprintf(`{"workflow": "count", "args": {"n": %d}}`, n), http.StatusCreated)
		}
		if n%every == 1 {
			i := rand.IntN(len(roles))
			_, _ = roles[i].Process.Kill(), roles[i].Wait()
			if i == 0 {
				s = m.serve()
				roles[0] = s.process
			} else {
				roles[i] = m.start("worker")
			}
		}
	}
	m.until("done", runs)
	for n := range runs {
		got, err := os.ReadFile(filepath.Join(m.dir, fmt.Sprint("n", n)))
		if err != nil || string(got) != "0\n1\n2\n" {
			t.Errorf("run %d wrote %q: %v", n, got, err)
		}
	}
}

// TestServeKilled checks that a run continues after its server was killed, and that the same request under the same key
// is not carried out twice.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	s := m.serve()
	id, _ := s.send("POST", "/v1/runs", `{"workflow": "ask", "args": {"name": "Ann"}}`, http.StatusCreated)["id"].(string)
	question := func() string {
		list, _ := s.send("GET", "/v1/runs/"+id+"/questions", "", http.StatusOK)["questions"].([]any)
		if len(list) == 0 {
			return ""
		}
		q, _ := list[0].(map[string]any)
		text, _ := q["id"].(string)
		return text
	}
	waitFor(t, "the question", func() bool { return question() != "" })
	_, _ = s.process.Process.Kill(), s.process.Wait()
	s = m.serve()
	s.send("POST", "/v1/runs/"+id+"/questions/"+question()+"/answer", `{"yes": true}`, http.StatusOK)
	waitFor(t, "the result", func() bool {
		run := s.send("GET", "/v1/runs/"+id, "", http.StatusOK)
		return strings.Contains(fmt.Sprint(run), "hi Ann")
	})
}

// TestServeSecrets checks that the form of a tool names the secret that it lacks, and no more once that is there.
func TestServeSecrets(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	m.write("tools/send.star", "def send():\n    \"Send.\"\n    return http.get(\"https://example.com\", headers = {\"Token\": secret(\"SENDER\")})\n\ntool(send, needs = [\"http.get:example.com\", \"secret:SENDER@example.com\"])\n")
	m.do("trust", "--yes")
	s := m.serve()
	const missing = "cassidy secret set SENDER"
	if page := s.text("GET", "/tools/send", "", http.StatusOK); !strings.Contains(page, missing) {
		t.Error("the page does not say how to set the secret")
	}
	file := filepath.Join(t.TempDir(), "sender")
	if err := os.WriteFile(file, []byte("a long secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.do("config", "set", "secrets.SENDER", "{file: "+file+"}")
	if page := s.text("GET", "/tools/send", "", http.StatusOK); strings.Contains(page, missing) {
		t.Error("the page asks for a secret that is set")
	}
}
