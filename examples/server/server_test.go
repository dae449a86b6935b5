package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/stdlib"
)

// asServer in the environment makes the test binary the server.
const asServer = "CASSIDY_TEST_SERVER"

// TestMain makes the test its own worker, and the server that tests kill.
func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	testworker.Main(m, stdlib.Pure()...)
}

const (
	acme, other = "token-of-acme-0123", "token-of-other-4567"
	operator    = "token-of-operator-89"
)

// testConfig is that of a server on any port.
func testConfig(data string) config {
	return config{
		Addr: "127.0.0.1:0", Data: data, Tenants: map[string]string{"acme": acme, "other": other}, Operator: operator,
		Workers: cassidy.Workers{Program: testworker.Exec()},
	}
}

// The tools of each tenant.
var testTools = map[string]string{
	"echo.star": "def echo(text: str) -> str:\n    \"Return the text.\"\n    return text\n\ntool(echo)\n",
	"nap.star":  "def nap(seconds: float) -> str:\n    \"Sleep.\"\n    time.sleep(seconds)\n    return \"slept\"\n\ntool(nap)\n",
	// It changes a file, which is asked about.
	"bump.star": "def bump() -> int:\n    \"Count.\"\n    n = int(fs.read(\"count\")) + 1\n    fs.write(\"count\", str(n))\n    return n\n\ntool(bump, needs = [\"fs.read\", \"fs.write\"])\n",
	// It has many events, and a question between them.
	"steps.star": "def steps(n: int) -> int:\n    \"Call others.\"\n    for i in range(n):\n        tools.echo(text = str(i))\n    human.confirm(\"continue?\")\n    for i in range(n):\n        tools.echo(text = str(i))\n    return n\n\ntool(steps, needs = [\"tool\", \"human\"])\n",
}

// testData makes the folder of a server with tenants and their tools.
func testData(t testing.TB) string {
	t.Helper()
	data := t.TempDir()
	for tenant := range testConfig(data).Tenants {
		dir := filepath.Join(data, "tenants", tenant)
		putFile(t, filepath.Join(dir, "files", "count"), "0")
		for name, text := range testTools {
			putFile(t, filepath.Join(dir, ".cassidy", "tools", name), text)
		}
	}
	return data
}

func putFile(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A client makes requests of one tenant.
type client struct {
	t                  testing.TB
	url, tenant, token string
}

// serve opens a server in this process, closed with the test.
func serve(t testing.TB, c config) (*server, client) {
	t.Helper()
	s, err := newServer(c)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.handler())
	var due sync.WaitGroup // ends before the folder of the test is removed
	for _, h := range s.hosts {
		due.Go(func() { h.ResumeDue(t.Context(), time.Second) })
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.close(ctx) // says that it cancelled what a test left
		web.Close()
		due.Wait()
	})
	return s, client{t, web.URL, "acme", acme}
}

// request makes a request; key is its Idempotency-Key, or "".
func (c client) request(ctx context.Context, method, path, key, body string) (*http.Response, error) {
	if path != "/metrics" {
		path = "/tenants/" + c.tenant + path
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return http.DefaultClient.Do(r)
}

// do makes a request, expects a status, and reads the answer.
func (c client) do(method, path, key, body string, status int) (answer string) {
	c.t.Helper()
	r, err := c.request(context.Background(), method, path, key, body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != status {
		c.t.Fatalf("%s %s: status %d, %v, want %d: %s", method, path, r.StatusCode, err, status, text)
	}
	return string(text)
}

// waits makes a call that is parked, and returns the ID of its question.
func (c client) waits(tool, key, body string) (question string) {
	c.t.Helper()
	var w struct {
		Run       string
		Questions []cassidy.Question
	}
	c.decode(c.do("POST", "/tools/"+tool, key, body, http.StatusAccepted), &w)
	if w.Run != key || len(w.Questions) != 1 {
		c.t.Fatalf("the answer is %+v, want one question of %s", w, key)
	}
	return w.Questions[0].ID
}

func (c client) decode(text string, into any) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		c.t.Fatalf("%v: %s", err, text)
	}
}

// ends waits until there is a run in a state, and returns its result.
func (c client) ends(run, state string) (result any) {
	c.t.Helper()
	var r struct {
		State  string
		Result any
	}
	until(c.t, func() string {
		answer, err := c.request(context.Background(), "GET", "/runs/"+run, "", "")
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(&r); err != nil {
			return err.Error()
		}
		if r.State != state {
			return fmt.Sprintf("the run is %+v, want %s", r, state)
		}
		return ""
	})
	return r.Result
}

// until waits for a condition; what is wrong is "" when it holds.
func until(t testing.TB, wrong func() string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text := wrong()
		if text == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatal(text)
		}
	}
}

// An event is one of a stream; ID is "" where it has none.
type event struct {
	ID   string
	Data cassidy.Event
}

// stream reads the events of a run after one, and calls each until it returns false or
// the stream ends. It returns the status.
func (c client) stream(run, after string, each func(event) bool) int {
	c.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, "GET", c.url+"/tenants/"+c.tenant+"/runs/"+run+"/events", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Last-Event-ID", after)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Error(err)
		return 0
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	var e event
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			e.ID = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e.Data); err != nil {
				c.t.Errorf("%v: %s", err, value)
			}
			if !each(e) {
				return answer.StatusCode
			}
			e = event{}
		}
	}
	if err := ctx.Err(); err != nil {
		c.t.Errorf("the stream of %s: %v", run, err)
	}
	return answer.StatusCode
}

// TestCalls makes a call that works and those that do not.
func TestCalls(t *testing.T) {
	t.Parallel()
	_, c := serve(t, testConfig(testData(t)))
	if got := c.do("POST", "/tools/echo", "", `{"text": "hi"}`, http.StatusOK); !strings.Contains(got, `"result":"hi"`) {
		t.Errorf("the answer is %s", got)
	}
	if got := c.do("GET", "/tools", "", "", http.StatusOK); !strings.Contains(got, `"name":"echo"`) || !strings.Contains(got, `"text":{"type":"string"`) {
		t.Errorf("the tools are %s", got)
	}
	for _, test := range []struct {
		method, path, key, body string
		status                  int
		want                    string
	}{
		{"POST", "/tools/none", "", `{}`, http.StatusNotFound, "none"},
		{"POST", "/tools/echo", "", `{"text": 1, "more": 2}`, http.StatusBadRequest, "more"},
		{"POST", "/tools/echo", "", `{"text"`, http.StatusBadRequest, "read the body"},
		{"POST", "/tools/echo", "", `["hi"]`, http.StatusBadRequest, "expected an object"},
		{"POST", "/tools/echo", "", strings.Repeat(" ", maxBody+1), http.StatusBadRequest, "too large"},
		{"POST", "/tools/echo", "../../etc", `{"text": "x"}`, http.StatusBadRequest, "ID"},
		{"POST", "/tools/bump", "", ``, http.StatusForbidden, "approv"},
		{"POST", "/tools/nap", "", `{"seconds": -1}`, http.StatusUnprocessableEntity, "sleep"},
		{"GET", "/tools/echo", "", ``, http.StatusMethodNotAllowed, ""},
		{"GET", "/runs/none", "", ``, http.StatusNotFound, "none"},
		{"GET", "/runs/none/events", "", ``, http.StatusNotFound, "none"},
		{"POST", "/runs/none/cancel", "", ``, http.StatusNotFound, "none"},
		{"POST", "/sessions/s", "", `{"text": "hi"}`, http.StatusBadRequest, "Options.Model is missing"},
		{"POST", "/questions/none:1:1", "", `{"yes": true}`, http.StatusNotFound, "none"},
		{"POST", "/questions/none:1:1", "", `{"yes": "so"}`, http.StatusBadRequest, "yes"},
	} {
		if got := c.do(test.method, test.path, test.key, test.body, test.status); !strings.Contains(got, test.want) {
			t.Errorf("%s %s %s: %s, want %q", test.method, test.path, test.body, got, test.want)
		}
	}
	for _, token := range []string{"", "no", "Bearer", acme[:len(acme)-1], operator, "acme"} {
		client{t, c.url, "acme", token}.do("GET", "/tools", "", "", http.StatusUnauthorized)
	}
}

// TestRecordedCalls checks that a call with a key is made once, and that it is refused
// for another call.
func TestRecordedCalls(t *testing.T) {
	t.Parallel()
	data := testData(t)
	_, c := serve(t, testConfig(data))
	id := c.waits("bump", "first", "")
	if again := c.waits("bump", "first", ""); again != id {
		t.Errorf("asked again, the question is %s, want %s", again, id)
	}
	c.do("POST", "/tools/echo", "first", `{"text": "hi"}`, http.StatusConflict)
	var open []cassidy.Question
	c.decode(c.do("GET", "/questions", "", "", http.StatusOK), &open)
	if len(open) != 1 || open[0].ID != id || len(open[0].Changes) != 1 || open[0].Changes[0].Path != "count" {
		t.Errorf("what waits is %+v", open)
	}
	c.do("POST", "/questions/"+id, "", `{"yes": true, "by": "Ann"}`, http.StatusNoContent)
	if got := c.ends("first", "done"); got != 1.0 {
		t.Errorf("the result is %v, want 1", got)
	}
	if got := c.do("POST", "/tools/bump", "first", "", http.StatusOK); !strings.Contains(got, `"result":1`) {
		t.Errorf("the same call gave %s, want its result", got)
	}
	c.do("POST", "/questions/"+id, "", `{"yes": true}`, http.StatusConflict)
	c.do("POST", "/runs/first/cancel", "", "", http.StatusConflict)
	c.waits("bump", "second", "")
	c.do("POST", "/runs/second/cancel", "", "", http.StatusNoContent)
	c.ends("second", "cancelled")
	if text, err := os.ReadFile(filepath.Join(data, "tenants", "acme", "files", "count")); string(text) != "1" {
		t.Errorf("the count is %s, %v, want 1", text, err)
	}
}

// TestTenantsAreApart checks that no tenant sees, answers or ends what another has, and
// that the same key is another run.
func TestTenantsAreApart(t *testing.T) {
	t.Parallel()
	_, c := serve(t, testConfig(testData(t)))
	id := c.waits("bump", "first", "")
	o := client{t, c.url, "other", other}
	for _, r := range [][3]string{
		{"GET", "/runs/first"}, {"GET", "/runs/first/events"}, {"POST", "/runs/first/cancel"},
		{"POST", "/questions/" + id, `{"yes": true}`},
	} {
		o.do(r[0], r[1], "", r[2], http.StatusNotFound)
	}
	if got := o.do("GET", "/questions", "", "", http.StatusOK); got != "[]\n" {
		t.Errorf("the other tenant sees %s", got)
	}
	if got := o.do("POST", "/tools/echo", "first", `{"text": "mine"}`, http.StatusOK); !strings.Contains(got, "mine") {
		t.Errorf("the same key of the other tenant gave %s", got)
	}
	c.ends("first", "parked")
}

// TestEvents checks that a client that reads a run in pieces gets each recorded event
// once, and that nothing is left to read of a run that has ended.
func TestEvents(t *testing.T) {
	t.Parallel()
	_, c := serve(t, testConfig(testData(t)))
	id := c.waits("steps", "s", `{"n": 20}`)
	var got []string
	last := ""
	note := func(e event) bool {
		if e.ID != "" {
			got, last = append(got, e.ID), e.ID
		}
		return len(got)%7 != 0 // then the client is disconnected
	}
	for range 3 {
		c.stream("s", last, note)
	}
	done := make(chan int, 1)
	go func() {
		status := http.StatusOK
		for status == http.StatusOK {
			status = c.stream("s", last, note)
		}
		done <- status
	}()
	c.do("POST", "/questions/"+id, "", `{"yes": true}`, http.StatusNoContent)
	if status := <-done; status != http.StatusNoContent {
		t.Errorf("after the last event the status is %d, want 204", status)
	}
	var want []string
	c.stream("s", "", func(e event) bool { want = append(want, e.ID); return true })
	if !slices.Equal(got, want) || len(want) < 80 {
		t.Errorf("read in pieces, the events are %v, want %v", got, want)
	}
	c.do("GET", "/runs/s/events", "", "", http.StatusOK)
	r, err := http.NewRequest("GET", c.url+"/tenants/acme/runs/s/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+acme)
	r.Header.Set("Last-Event-ID", "-1")
	if answer, err := http.DefaultClient.Do(r); err != nil || answer.StatusCode != http.StatusBadRequest {
		t.Errorf("with a wrong ID: %v, %v", answer, err)
	}
}

// TestClientsLeave checks that a call ends with its client, and that a recorded one does
// not.
func TestClientsLeave(t *testing.T) {
	t.Parallel()
	s, c := serve(t, testConfig(testData(t)))
	h := s.hosts["acme"]
	for _, test := range []struct {
		key, seconds string
		success      bool
	}{{"", "25", false}, {"kept", "0.5", true}} {
		live := h.Subscribe(t.Context(), cassidy.EventFilter{})
		ctx, leave := context.WithCancel(context.Background())
		left := make(chan error, 1)
		go func() {
			_, err := c.request(ctx, "POST", "/tools/nap", test.key, `{"seconds": `+test.seconds+`}`)
			left <- err
		}()
		<-live // it has begun
		leave()
		if err := <-left; err == nil {
			t.Error("the request was answered")
		}
		for e := range live {
			if end, ok := e.Data.(cassidy.ToolCallEnd); ok {
				if end.Success != test.success || end.Duration > 20*time.Second {
					t.Errorf("key %q: the call ended with %v, %v after %v", test.key, end.Success, end.Err, end.Duration)
				}
				break
			}
		}
	}
	if got := c.ends("kept", "done"); got != "slept" {
		t.Errorf("the recorded call gave %v", got)
	}
}

// TestInterruptedCalls closes a server whose time is over while calls run: they are
// interrupted, and the recorded one is completed by the next server.
func TestInterruptedCalls(t *testing.T) {
	t.Parallel()
	data := testData(t)
	s, c := serve(t, testConfig(data))
	status := make(chan int, 2)
	for _, key := range []string{"", "kept"} {
		go func() {
			r, err := c.request(context.Background(), "POST", "/tools/nap", key, `{"seconds": 3}`)
			if err != nil {
				status <- 0
				return
			}
			r.Body.Close()
			status <- r.StatusCode
		}()
	}
	c.ends("kept", "running")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.close(ended); err == nil {
		t.Error("that calls had to be interrupted is no error")
	}
	for range 2 {
		if got := <-status; got != http.StatusServiceUnavailable {
			t.Errorf("an interrupted call was answered with %d, want 503", got)
		}
	}
	c.do("POST", "/tools/echo", "", `{"text": "hi"}`, http.StatusServiceUnavailable)

	_, c = serve(t, testConfig(data))
	if got := c.ends("kept", "done"); got != "slept" {
		t.Errorf("the next server gave %v", got)
	}
}

// TestMetrics checks the numbers, and who may read them.
func TestMetrics(t *testing.T) {
	t.Parallel()
	_, c := serve(t, testConfig(testData(t)))
	c.do("POST", "/tools/echo", "", `{"text": "hi"}`, http.StatusOK)
	c.do("POST", "/tools/made-up", "", `{}`, http.StatusNotFound)
	c.waits("steps", "s", `{"n": 2}`)
	client{t, c.url, "acme", acme}.do("GET", "/metrics", "", "", http.StatusUnauthorized)
	got := client{t, c.url, "", operator}.do("GET", "/metrics", "", "", http.StatusOK)
	for _, want := range []string{
		`cassidy_calls_total{tenant="acme",tool="echo",error=""} 3` + "\n", `cassidy_calls_total{tenant="acme",tool="",error="validation_error"} 1` + "\n",
		`cassidy_calls_total{tenant="acme",tool="steps",error="parked"} 1` + "\n", `cassidy_call_seconds_total{tenant="acme",tool="echo",error=""} 0.`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the metrics lack %s:\n%s", want, got)
		}
	}
	if strings.Contains(got, "made-up") {
		t.Error("a client has made up a series")
	}
}

// TestConfig checks what a config must have.
func TestConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.json")
	for _, text := range []string{`{`, `[]`, `{"tenants": {"acme": 1}}`, `{"data": "` + file + `"}`, `{"model": {}}`} {
		putFile(t, file, text)
		if err := run(t.Context(), []string{file}); err == nil {
			t.Errorf("%s is no error", text)
		}
	}
	for _, args := range [][]string{nil, {file + "x"}} {
		if err := run(t.Context(), args); err == nil {
			t.Errorf("%q is no error", args)
		}
	}
	_, c := serve(t, config{Data: t.TempDir(), Tenants: map[string]string{"acme": ""}, Workers: cassidy.Workers{Program: testworker.Exec()}})
	for _, path := range []string{"/tools", "/metrics"} {
		client{t, c.url, "acme", ""}.do("GET", path, "", "", http.StatusUnauthorized)
	}
}
