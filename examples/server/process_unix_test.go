//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	m := map[string]any{"addr": c.Addr, "data": data, "tenants": c.Tenants, "operator": c.Operator, "workers": c.Workers}
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
	p.client = client{t, "http://" + addr, "acme", acme}
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
	id := p.waits("bump", "first", "")
	began := make(chan struct{})
	go func() { // it is under way when its process dies
		r, err := p.request(context.Background(), "POST", "/tools/nap", "nap", `{"seconds": 2}`)
		if err == nil {
			r.Body.Close()
		}
		close(began)
	}()
	p.ends("nap", "running")
	p.kill()
	<-began

	p = start(t, data, "")
	if got := p.ends("nap", "done"); got != "slept" {
		t.Errorf("what the dead process had begun gave %v", got)
	}
	if got := p.do("GET", "/questions", "", "", http.StatusOK); !strings.Contains(got, `"id":"`+id+`"`) {
		t.Fatalf("after the crash these wait: %s, want %s", got, id)
	}
	p.do("POST", "/questions/"+id, "", `{"yes": true}`, http.StatusNoContent)
	if got := p.ends("first", "done"); got != 1.0 {
		t.Errorf("the result is %v, want 1", got)
	}
	p.kill()

	p = start(t, data, "")
	if got := p.do("POST", "/tools/bump", "first", "", http.StatusOK); !strings.Contains(got, `"result":1`) {
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
	id := p.waits("steps", "s", `{"n": 5}`)
	var got []string
	read := func(most int) func(event) bool {
		return func(e event) bool {
			if e.ID != "" {
				got = append(got, e.ID)
			}
			return len(got) != most
		}
	}
	p.stream("s", "", read(8))
	p.kill()

	p = start(t, data, "")
	p.stream("s", got[len(got)-1], read(10))
	p.do("POST", "/questions/"+id, "", `{"yes": true}`, http.StatusNoContent)
	p.stream("s", got[len(got)-1], read(-1))
	all := got
	got = nil
	p.stream("s", "", read(-1))
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
	id := p.waits("bump", "first", "")
	streamed := make(chan int, 1)
	reads := make(chan struct{}, 100)
	go func() { streamed <- p.stream("first", "", func(event) bool { reads <- struct{}{}; return true }) }()
	<-reads
	type outcome struct {
		text string
		err  error
	}
	slept := make(chan outcome, 1)
	go func() {
		r, err := p.request(context.Background(), "POST", "/tools/nap", "nap", `{"seconds": 2}`)
		if err != nil {
			slept <- outcome{err: err}
			return
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		slept <- outcome{string(text), err}
	}()
	p.ends("nap", "running")
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, func() string {
		r, err := p.request(context.Background(), "POST", "/tools/echo", "", `{"text": "hi"}`)
		if err == nil {
			r.Body.Close()
			if r.StatusCode != http.StatusServiceUnavailable {
				return "it still accepts requests"
			}
		}
		return ""
	})
	if got := <-slept; got.err != nil || !strings.Contains(got.text, "slept") {
		t.Errorf("the call in progress gave %s, %v", got.text, got.err)
	}
	if status := <-streamed; status != http.StatusOK {
		t.Errorf("the stream ended with %d", status)
	}
	select {
	case err := <-p.exited:
		if p.exited <- err; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	case <-time.After(grace):
		t.Fatal("the server does not end")
	}

	p = start(t, data, "")
	if got := p.do("GET", "/questions", "", "", http.StatusOK); !strings.Contains(got, `"id":"`+id+`"`) {
		t.Errorf("after the shutdown these wait: %s, want %s", got, id)
	}
	p.ends("first", "parked")
}

// TestTwoServers answers a question of one server in another one with the same data:
// the call is completed once, and both have its result.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	data := testData(t)
	one, two := start(t, data, ""), start(t, data, "")
	id := one.waits("bump", "first", "")
	two.do("POST", "/questions/"+id, "", `{"yes": true}`, http.StatusNoContent)
	for _, p := range []*process{one, two} {
		if got := p.ends("first", "done"); got != 1.0 {
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
	p.do("POST", "/questions/"+waits.Questions[0].ID, "", `{"yes": true}`, http.StatusNoContent)
	result, _ := p.ends(waits.Run, "done").(map[string]any)
	if got := fmt.Sprint(result["answer"]); !strings.HasPrefix(got, "counted: ") || !strings.Contains(got, "1") {
		t.Errorf("the resumed turn gave %v", result)
	}
	if got := p.says("s", "hi"); got != "read 7 messages" {
		t.Errorf("after the restart the answer is %q", got)
	}
}
