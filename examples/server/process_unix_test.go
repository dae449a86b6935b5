//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A process is the server in a process of its own.
type process struct {
	client
	*exec.Cmd
	exited chan error
}

// start starts the server, with a model at an address, or without one if that is "". It
// is killed with the test.
func start(t testing.TB, data, modelURL string) *process {
	t.Helper()
	file, c := filepath.Join(t.TempDir(), "config.json"), testConfig(data)
	m := map[string]any{"addr": c.Addr, "data": data, "users": c.Users, "rate": c.Rate, "workers": c.Workers}
	if modelURL != "" {
		m["model"] = map[string]any{"model": "stand-in", "baseURL": modelURL}
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, file, string(text))
	p := &process{Cmd: exec.Command(os.Args[0], file), exited: make(chan error, 1)}
	p.Env = append(os.Environ(), asServer+"=1")
	p.Stderr = t.Output()
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { p.exited <- p.Wait() }()
	t.Cleanup(p.kill)
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("the server printed %q, %v", line, err)
	}
	p.client = client{t, "http://" + addr, "cal"}
	return p
}

// kill ends the process as a crash does.
func (p *process) kill() {
	_ = p.Process.Kill()
	p.exited <- <-p.exited // for later waiters
}

// TestQuestionsSurvive kills the server while a call waits for an approval, and once
// more while it is executed: the question is answered in the next process, and the
// effect of the call happens once.
func TestQuestionsSurvive(t *testing.T) {
	t.Parallel()
	data := testData(t)
	p := start(t, data, "")
	w := p.waits("bump", "first", "{}")
	nap := p.begins("nap", "", `{"seconds": 2}`)
	p.ends(nap, "running") // it is under way when its process dies
	p.kill()

	p = start(t, data, "")
	if got := p.ends(nap, "done"); got != "slept" {
		t.Errorf("what the dead process had begun gave %v", got)
	}
	if got := p.do("GET", "/v1/runs/"+w.ID+"/questions", "", "", http.StatusOK); !strings.Contains(got, `"id":"`+w.Questions[0].ID+`"`) {
		t.Fatalf("after the crash these wait: %s, want %+v", got, w)
	}
	p.as("ann").do("POST", w.answer(), "", `{"yes": true}`, http.StatusOK)
	if got := p.ends(w.ID, "done"); got != 1.0 {
		t.Errorf("the result is %v, want 1", got)
	}
	p.kill()

	p = start(t, data, "")
	if got := p.do("POST", "/v1/tools/bump/call", "first", `{"args": {}}`, http.StatusOK); !strings.Contains(got, `"result":1`) {
		t.Errorf("the same call gave %s, want its result", got)
	}
	if text, err := os.ReadFile(filepath.Join(data, "tenants", "acme", "files", "count")); string(text) != "1" {
		t.Errorf("the count is %s, %v, want 1", text, err)
	}
}

// TestEventsSurvive reads the events of a run over a crash: each has the number that it
// had before, and there is no gap and no duplicate.
func TestEventsSurvive(t *testing.T) {
	t.Parallel()
	data := testData(t)
	p := start(t, data, "")
	w := p.waits("steps", "s", `{"n": 5}`)
	var got []string
	read := func(most int) func(event) bool {
		return func(e event) bool {
			if e.ID != "" {
				got = append(got, e.ID)
			}
			return len(got) != most
		}
	}
	p.stream(w.ID, "", read(8))
	p.kill()

	p = start(t, data, "")
	p.stream(w.ID, got[len(got)-1], read(10))
	p.as("ann").do("POST", w.answer(), "", `{"yes": true}`, http.StatusOK)
	p.stream(w.ID, got[len(got)-1], read(-1))
	all := got
	got = nil
	p.stream(w.ID, "", read(-1))
	if !slices.Equal(all, got) || len(got) < 24 {
		t.Errorf("over a crash the events are %v, want %v", all, got)
	}
}

// TestShutdown ends the server by SIGTERM while a call runs, a client reads events and a
// run waits: the call is completed, the stream ends, nothing new is accepted, and the run
// still waits in the next process.
func TestShutdown(t *testing.T) {
	t.Parallel()
	data := testData(t)
	p := start(t, data, "")
	w := p.waits("bump", "first", "{}")
	streamed := make(chan int, 1)
	reads := make(chan struct{}, 100)
	go func() { streamed <- p.stream(w.ID, "", func(event) bool { reads <- struct{}{}; return true }) }()
	<-reads
	nap := p.begins("nap", "nap", `{"seconds": 2}`)
	p.ends(nap, "running")
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, func() string {
		r, err := p.request(context.Background(), "POST", "/v1/tools/echo/call", "", `{"args": {"text": "hi"}}`)
		if err == nil {
			r.Body.Close()
			if r.StatusCode != http.StatusServiceUnavailable {
				return "it still accepts requests"
			}
		}
		return ""
	})
	if status := <-streamed; status != http.StatusOK {
		t.Errorf("the stream ended with %d", status)
	}
	select {
	case err := <-p.exited:
		if p.exited <- err; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the server does not end")
	}

	p = start(t, data, "")
	if got := p.do("GET", "/v1/runs/"+nap, "", "", http.StatusOK); !strings.Contains(got, "slept") {
		t.Errorf("the call in progress gave %s", got)
	}
	p.ends(w.ID, "parked")
}

// TestTwoServers answers a question of one server in another one with the same data:
// the call is completed once, and both have its result.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	data := testData(t)
	one, two := start(t, data, ""), start(t, data, "")
	w := one.waits("bump", "first", "{}")
	two.as("ann").do("POST", w.answer(), "", `{"yes": true}`, http.StatusOK)
	for _, p := range []*process{one, two} {
		if got := p.ends(w.ID, "done"); got != 1.0 {
			t.Errorf("the result is %v, want 1", got)
		}
	}
	if text, err := os.ReadFile(filepath.Join(data, "tenants", "acme", "files", "count")); string(text) != "1" {
		t.Errorf("the count is %s, %v, want 1", text, err)
	}
}

// TestSessionsSurvive kills the server while a turn waits for an approval: the question is
// answered in the next process, which has the model as before, and the conversation
// continues there.
func TestSessionsSurvive(t *testing.T) {
	t.Parallel()
	data, api := testData(t), modelServer(t)
	p := start(t, data, api)
	if got := p.says("s", "hi"); got != "read 1 messages" {
		t.Errorf("the first answer is %q", got)
	}
	var waits struct {
		Run       string
		Questions []struct{ ID string }
	}
	p.decode(p.do("POST", "/sessions/s", "", `{"text": "count"}`, http.StatusAccepted), &waits)
	if len(waits.Questions) != 1 {
		t.Fatalf("the turn waits for %+v, want one question", waits)
	}
	p.kill()

	p = start(t, data, api)
	if got := p.do("POST", "/sessions/s", "", `{"text": "and?"}`, http.StatusConflict); !strings.Contains(got, waits.Run) {
		t.Errorf("a message to a turn that waits gave %s", got)
	}
	p.as("ann").do("POST", "/v1/runs/"+waits.Run+"/questions/"+waits.Questions[0].ID+"/answer", "", `{"yes": true}`, http.StatusOK)
	result, _ := p.ends(waits.Run, "done").(map[string]any)
	if got := fmt.Sprint(result["answer"]); !strings.HasPrefix(got, "counted: ") || !strings.Contains(got, "1") {
		t.Errorf("the resumed turn gave %v", result)
	}
	if got := p.says("s", "hi"); got != "read 7 messages" {
		t.Errorf("after the restart the answer is %q", got)
	}
}
