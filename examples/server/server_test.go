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

// testUsers are the users of two tenants. Their passwords are those of passwordOf.
var testUsers = map[string]account{
	"vera": {Tenant: "acme", Role: "view"}, "cal": {Tenant: "acme", Role: "run"}, "ann": {Tenant: "acme", Role: "approve"},
	"oz": {Tenant: "other", Role: "admin"}, "ida": {Tenant: "other", Role: "run"},
}

func passwordOf(user string) string { return "the-password-of-" + user }

// testConfig is that of a server on any port.
func testConfig(data string) config {
	c := config{Addr: "127.0.0.1:0", Data: data, Users: map[string]account{}, Rate: 100_000, Workers: cassidy.Workers{Program: testworker.Exec()}}
	for name, a := range testUsers {
		a.Password = passwordOf(name)
		c.Users[name] = a
	}
	return c
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
	for _, tenant := range []string{"acme", "other"} {
		dir := filepath.Join(data, "tenants", tenant)
		putFile(t, filepath.Join(dir, "files", "count"), "0")
		for name, text := range testTools {
			putFile(t, filepath.Join(dir, ".cassidy", "tools", name), text)
		}
		putFile(t, filepath.Join(dir, ".cassidy", "workflows", "greet.star"), "def main(name: str) -> str:\n    \"Greet somebody.\"\n    return tools.echo(text = 'hello ' + name)\n\nworkflow(main)\n")
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

// A client makes requests of a user.
type client struct {
	t         testing.TB
	url, user string
}

// as returns a client of another user.
func (c client) as(user string) client { return client{c.t, c.url, user} }

// open opens a server in this process, closed with the test.
func open(t testing.TB, c config) (*server, client) {
	t.Helper()
	s, err := newServer(c)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.handler())
	var running sync.WaitGroup // ends before the folder of the test is removed
	for _, tenant := range s.tenants {
		running.Go(func() { _ = tenant.Run(t.Context()) })
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.close(ctx) // says that it cancelled what a test left
		web.Close()
		running.Wait()
	})
	return s, client{t, web.URL, "cal"}
}

// request makes a request; key is its Idempotency-Key, or "".
func (c client) request(ctx context.Context, method, path, key, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.SetBasicAuth(c.user, passwordOf(c.user))
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

// begins begins a call, and returns the ID of its run.
func (c client) begins(tool, key, args string) (run string) {
	c.t.Helper()
	var r struct{ ID string }
	c.decode(c.do("POST", "/v1/tools/"+tool+"/call?wait=0", key, `{"args": `+args+`}`, http.StatusAccepted), &r)
	return r.ID
}

// A waiting run has a question.
type waiting struct {
	ID        string
	Questions []struct {
		ID   string
		Data struct{ Files []struct{ Path string } }
	}
}

// answer is the path at which the question is answered.
func (w waiting) answer() string {
	return "/v1/runs/" + w.ID + "/questions/" + w.Questions[0].ID + "/answer"
}

// waits makes a call that is parked, and returns its run.
func (c client) waits(tool, key, args string) (w waiting) {
	c.t.Helper()
	c.decode(c.do("POST", "/v1/tools/"+tool+"/call", key, `{"args": `+args+`}`, http.StatusAccepted), &w)
	if w.ID == "" || len(w.Questions) != 1 {
		c.t.Fatalf("the answer is %+v, want one question", w)
	}
	return w
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
		answer, err := c.request(context.Background(), "GET", "/v1/runs/"+run, "", "")
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

// An event is one of a stream; ID is "" where it has none, and Name "" for those of the run.
type event struct {
	ID   string
	Name string
	Data cassidy.Event
}

// stream reads the events of a run after one, and calls each until it returns false or
// the stream ends. It returns the status.
func (c client) stream(run, after string, each func(event) bool) int {
	c.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, "GET", c.url+"/v1/runs/"+run+"/events", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	r.SetBasicAuth(c.user, passwordOf(c.user))
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
		case "event":
			e.Name = value
		case "data":
			if e.Name != "" {
				e = event{}
				continue
			}
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

// TestSignIn checks who is served, and what users of different roles may do.
func TestSignIn(t *testing.T) {
	t.Parallel()
	_, c := open(t, testConfig(testData(t)))
	for _, test := range []struct{ user, password string }{
		{"", ""}, {"cal", ""}, {"cal", passwordOf("ann")}, {"cal", passwordOf("cal") + "x"}, {"eve", passwordOf("eve")}, {"acme", ""},
	} {
		for _, path := range []string{"/v1/tools", "/runs", "/metrics", "/sessions/s"} {
			r, err := http.NewRequest("GET", c.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.SetBasicAuth(test.user, test.password)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != http.StatusUnauthorized || answer.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s as %q: %v, want 401 and a question for the password", path, test, answer.Status)
			}
		}
	}
	if got := c.as("vera").do("GET", "/v1/tools", "", "", http.StatusOK); !strings.Contains(got, `"name":"echo"`) {
		t.Errorf("the tools are %s", got)
	}
	c.as("vera").do("POST", "/v1/tools/echo/call", "", `{"args": {"text": "hi"}}`, http.StatusForbidden)
	c.as("vera").do("POST", "/sessions/s", "", `{"text": "hi"}`, http.StatusForbidden)
	c.do("POST", c.waits("bump", "", "{}").answer(), "", `{"yes": true}`, http.StatusForbidden)
	if got := c.do("POST", "/sessions/s", "", `{"text": "hi"}`, http.StatusBadRequest); !strings.Contains(got, "Options.Model is missing") {
		t.Errorf("without a model, a message gave %s", got)
	}
}

// TestWorkflows lists the workflows of a tenant, over the API and on the page, and begins one.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	_, c := open(t, testConfig(testData(t)))
	if got := c.do("GET", "/v1/workflows", "", "", http.StatusOK); !strings.Contains(got, `"name":"greet"`) || !strings.Contains(got, "Greet somebody.") {
		t.Errorf("the workflows are %s", got)
	}
	if got := c.do("GET", "/workflows", "", "", http.StatusOK); !strings.Contains(got, "Greet somebody.") {
		t.Errorf("the page of workflows is %s", got)
	}
	var run struct{ ID, State string }
	c.decode(c.do("POST", "/v1/runs", "", `{"workflow": "greet", "args": {"name": "Ann"}}`, http.StatusCreated), &run)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		got := c.do("GET", "/v1/runs/"+run.ID, "", "", http.StatusOK)
		if strings.Contains(got, "hello Ann") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the workflow is %s", got)
		}
	}
}

// TestOtherSites checks that a page of another site cannot use the password that a browser keeps.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	_, c := open(t, testConfig(testData(t)))
	for _, path := range []string{"/v1/tools/echo/call", "/sessions/s"} {
		r, err := http.NewRequest("POST", c.url+path, strings.NewReader(`{"args": {"text": "hi"}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("cal", passwordOf("cal"))
		r.Header.Set("Origin", "https://evil.example")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s, want 403", path, answer.Status)
		}
	}
}

// TestApprovals checks that one user begins a call, another one approves it, and the same request gets its result.
func TestApprovals(t *testing.T) {
	t.Parallel()
	data := testData(t)
	_, c := open(t, testConfig(data))
	w := c.waits("bump", "first", "{}")
	if again := c.waits("bump", "first", "{}"); again.ID != w.ID || again.Questions[0].ID != w.Questions[0].ID {
		t.Errorf("asked again, the answer is %+v, want %+v", again, w)
	}
	if files := w.Questions[0].Data.Files; len(files) != 1 || files[0].Path != "count" {
		t.Errorf("the question is about %+v, want count", files)
	}
	c.do("POST", "/v1/tools/echo/call", "first", `{"args": {"text": "hi"}}`, http.StatusConflict)
	c.as("ann").do("POST", w.answer(), "", `{"yes": true}`, http.StatusOK)
	if got := c.ends(w.ID, "done"); got != 1.0 {
		t.Errorf("the result is %v, want 1", got)
	}
	if got := c.do("POST", "/v1/tools/bump/call", "first", `{"args": {}}`, http.StatusOK); !strings.Contains(got, `"result":1`) {
		t.Errorf("the same call gave %s, want its result", got)
	}
	if got := c.as("ann").do("POST", "/v1/tools/bump/call", "", `{"args": {}}`, http.StatusOK); !strings.Contains(got, `"result":2`) {
		t.Errorf("a call of who may approve it gave %s, want 2", got)
	}
	if text, err := os.ReadFile(filepath.Join(data, "tenants", "acme", "files", "count")); string(text) != "2" {
		t.Errorf("the count is %s, %v, want 2", text, err)
	}
}

// TestTenantsAreApart checks that no tenant sees, answers or ends what another has, and
// that the same key is another run.
func TestTenantsAreApart(t *testing.T) {
	t.Parallel()
	_, c := open(t, testConfig(testData(t)))
	w, o := c.waits("bump", "first", "{}"), c.as("oz")
	for _, r := range [][3]string{
		{"GET", "/v1/runs/" + w.ID}, {"GET", "/v1/runs/" + w.ID + "/events"}, {"POST", "/v1/runs/" + w.ID + "/cancel"}, {"POST", w.answer(), `{"yes": true}`},
	} {
		o.do(r[0], r[1], "", r[2], http.StatusNotFound)
	}
	if got := o.do("GET", "/v1/runs", "", "", http.StatusOK); !strings.Contains(got, `"runs":[]`) {
		t.Errorf("the other tenant sees %s", got)
	}
	o.do("GET", "/v1/tools?project=acme", "", "", http.StatusNotFound)
	if got := o.do("POST", "/v1/tools/echo/call", "first", `{"args": {"text": "mine"}}`, http.StatusOK); !strings.Contains(got, "mine") {
		t.Errorf("the same key of the other tenant gave %s", got)
	}
	c.ends(w.ID, "parked")
}

// TestClientsLeave checks that a call continues when its client leaves.
func TestClientsLeave(t *testing.T) {
	t.Parallel()
	s, c := open(t, testConfig(testData(t)))
	live := s.tenants["acme"].host.Subscribe(t.Context(), cassidy.EventFilter{})
	ctx, leave := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() {
		_, err := c.request(ctx, "POST", "/v1/tools/nap/call", "kept", `{"args": {"seconds": 0.5}}`)
		left <- err
	}()
	run := (<-live).Run // it has begun
	leave()
	if err := <-left; err == nil {
		t.Error("the request was answered")
	}
	if got := c.ends(run, "done"); got != "slept" {
		t.Errorf("the call gave %v", got)
	}
}

// TestInterruptedCalls closes a server whose time is over while a call runs: it is interrupted, and completed by the
// next server.
func TestInterruptedCalls(t *testing.T) {
	t.Parallel()
	data := testData(t)
	s, c := open(t, testConfig(data))
	run := c.begins("nap", "", `{"seconds": 3}`)
	c.ends(run, "running")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.close(ended); err == nil {
		t.Error("that a call had to be interrupted is no error")
	}
	c.do("POST", "/v1/tools/echo/call", "", `{"args": {"text": "hi"}}`, http.StatusServiceUnavailable)

	_, c = open(t, testConfig(data))
	if got := c.ends(run, "done"); got != "slept" {
		t.Errorf("the next server gave %v", got)
	}
}

// TestConfig checks what a config must have.
func TestConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.json")
	for _, text := range []string{
		`{`, `[]`, `{"users": {"ann": 1}}`, `{"data": "` + file + `"}`, `{"model": {}}`,
		`{"data": "` + t.TempDir() + `", "users": {"ann": {"tenant": "acme", "role": "boss", "password": "x"}}}`,
	} {
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
}
