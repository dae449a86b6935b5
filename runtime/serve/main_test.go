package serve

import (
	"bytes"
	"context"
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

	"github.com/cassidy-run/cassidy/internal/browsertest"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

func TestMain(m *testing.M) {
	startUpstream()
	browsertest.Main(m)
}

// The tools of each project.
var testTools = map[string]string{
	"echo":  "def echo(text: str) -> str:\n    \"Return the text.\"\n    return text\n\ntool(echo)\n",
	"fails": "def fails():\n    \"Fail.\"\n    fail('no luck')\n\ntool(fails)\n",
	"bump":  "def bump() -> int:\n    \"Count.\"\n    n = int(fs.read('count')) + 1\n    fs.write('count', str(n))\n    return n\n\ntool(bump, needs = ['fs.read', 'fs.write'])\n",
	"ask":   "def ask() -> str:\n    \"Ask.\"\n    return human.ask('which?')\n\ntool(ask, needs = ['human'])\n",
	"nap":   "def nap():\n    \"Sleep.\"\n    time.sleep(3600)\n    return 'slept'\n\ntool(nap)\n",
}

// The workflows of each project.
var testFlows = map[string]string{
	"greet": "def main(name: str):\n    return 'hello ' + tools.echo(text = name)\n",
	"sure":  "def main(n: int = 3):\n    for i in range(n):\n        tools.echo(text = str(i))\n    if not human.confirm('go on?'):\n        fail('stopped')\n    for i in range(n):\n        tools.echo(text = str(i))\n    return 'done'\n",
	"bad":   "def main():\n    fail('no luck')\n",
}

// The agents of each project.
var testAgents = []tool.Agent{
	{Name: "reviewer", Description: "Reviews invoices.", Path: ".cassidy/agents/reviewer.md", Prompt: "You review invoices.", Tools: []string{"echo", "ask"}},
	{Name: "poet", Description: "Writes verses.", Model: "test:poet"},
	{Name: "helper", Description: "Helps others.", Mode: tool.AgentModeSubagent},
}

// A rig is a server over projects of its own.
type rig struct {
	*Server
	t     testing.TB
	url   string
	web   *httptest.Server
	dirs  map[string]string // of the projects
	audit audit
}

// audit keeps decisions.
type audit struct {
	sync.Mutex
	list []Decision
}

func (a *audit) add(d Decision) error {
	a.Lock()
	defer a.Unlock()
	a.list = append(a.list, d)
	return nil
}

// texts returns the decisions of some actions on a line each.
func (a *audit) texts(actions ...string) (list []string) {
	a.Lock()
	defer a.Unlock()
	for _, d := range a.list {
		if slices.Contains(actions, d.Action) {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s%s refused=%v", d.User, d.Action, d.Answer, d.Of, d.Refused)))
		}
	}
	return list
}

// openProject opens a project with a store of its own, or in a store.
func openProject(t testing.TB, name string, j *history.Journal) (*Project, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "count"), []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	world, err := stdlib.Open(&stdlib.Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	if j == nil {
		j = history.Open(journal.Memory(), nil)
		t.Cleanup(func() { _ = j.Close() })
	}
	flows := map[string]host.Workflow{}
	box := sandbox.NewInline(slices.Concat(stdlib.Pure(), world.Modules(), host.Modules(), agent.Modules())...)
	h, err := host.New(&host.Options{
		Sandbox: box, Modules: world.Modules(), WorkDir: dir, Project: dir, Close: world.Close,
		Journal: func() (*history.Journal, error) { return j, nil },
		Agents:  func(toolset.Source) []tool.Agent { return testAgents },
		Workflow: func(_ context.Context, _ toolset.Source, name string) (host.Workflow, error) {
			if w, ok := flows[name]; ok {
				return w, nil
			}
			return host.Workflow{}, value.Errorf(value.NotFound, "Unknown workflow: %s", name)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Shutdown(ended) // says that it interrupted what a test left
	})
	for name, source := range testTools {
		s := tool.Script{Path: name + ".star", Source: source}
		d, err := h.Describe(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.RegisterScript(toolset.Info{Tool: d.Tool, Standing: toolset.Standing{Location: tool.Project}}, func() (tool.Script, error) { return s, nil }); err != nil {
			t.Fatal(err)
		}
	}
	var list []host.Workflow
	for name, source := range testFlows {
		s := tool.Script{Name: name, Path: name + ".star", Source: source + "\nworkflow(main)\n"}
		d, err := h.Describe(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		d.Name = name
		flows[name] = host.Workflow{Tool: d.Tool, Script: s}
		list = append(list, flows[name])
	}
	return &Project{Name: name, Host: h, Workflows: func(context.Context) ([]host.Workflow, error) { return list, nil }}, dir
}

// testUsers have their names as tokens.
func testUsers() (list []User, err error) {
	for _, u := range []User{{Name: "vera", Role: View}, {Name: "rob", Role: Run}, {Name: "ann", Role: Approve}, {Name: "ada", Role: Admin}, {Name: "una", Role: Admin, Projects: []string{"other"}}} {
		u.Hash = HashToken(u.Name)
		list = append(list, u)
	}
	return list, nil
}

// newRig opens a server with the projects bakery and other, without its loop.
func newRig(t testing.TB, change func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, dirs: map[string]string{}}
	o := &Options{Users: testUsers, Audit: r.audit.add, Token: "owner-token"}
	for _, name := range []string{"bakery", "other"} {
		p, dir := openProject(t, name, nil)
		o.Projects, r.dirs[name] = append(o.Projects, p), dir
	}
	if change != nil {
		change(o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.Server, r.web = s, httptest.NewServer(s.Handler())
	r.url = r.web.URL
	t.Cleanup(func() {
		r.web.CloseClientConnections()
		r.web.Close()
	})
	return r
}

// start runs the loop of the server until the test ends.
func (r *rig) start() *rig {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Run(ctx)
	}()
	r.t.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}

// An ask is a request of a test.
type ask struct {
	token, method, path, body string
	header                    [][2]string
}

// send makes a request.
func (r *rig) send(a ask) *http.Response {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), a.method, r.url+a.path, strings.NewReader(a.body))
	if err != nil {
		r.t.Fatal(err)
	}
	throughProxy(q, &a)
	if a.token != "" {
		q.Header.Set("Authorization", "Bearer "+a.token)
	}
	if a.body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for _, h := range a.header {
		if q.Header.Set(h[0], h[1]); h[0] == "Host" {
			q.Host = h[1]
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(q)
	if err != nil {
		r.t.Fatalf("%s %s: %v", a.method, a.path, err)
	}
	r.t.Cleanup(func() { _ = response.Body.Close() })
	checkViolations(r.t, &a, response)
	return response
}

// do makes a request, expects a status, and returns the object of the answer.
func (r *rig) do(a ask, status int) *value.Dict {
	r.t.Helper()
	response := r.send(a)
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		r.t.Fatalf("%s %s: status %d, %v, want %d: %s", a.method, a.path, response.StatusCode, err, status, text)
	}
	d := &value.Dict{}
	if len(bytes.TrimSpace(text)) > 0 {
		v, err := value.ParseJSON(text)
		got, ok := v.(*value.Dict)
		if err != nil || !ok {
			r.t.Fatalf("%s %s: %v: %s", a.method, a.path, err, text)
		}
		d = got
	}
	checkDescribed(r.t, a.method, a.path, status, d)
	return d
}

func (r *rig) get(token, path string, status int) *value.Dict {
	r.t.Helper()
	return r.do(ask{token: token, method: "GET", path: path}, status)
}

func (r *rig) post(token, path, body string, status int) *value.Dict {
	r.t.Helper()
	return r.do(ask{token: token, method: "POST", path: path, body: body}, status)
}

// begin begins a workflow in the bakery, and returns the ID of its run.
func (r *rig) begin(token, workflow, args string) string {
	r.t.Helper()
	return r.post(token, "/v1/runs", `{"workflow": "`+workflow+`", "args": `+args+`, "project": "bakery"}`, http.StatusCreated).Text("id")
}

// until waits for a run of the bakery to be in a state, and returns it.
func (r *rig) until(id string, state history.State) *history.Run {
	r.t.Helper()
	for {
		for run, err := range r.projects[0].Host.Runs(r.t.Context(), history.Filter{Prefix: id}) {
			if err != nil {
				r.t.Fatal(err)
			}
			if run.ID == id && run.State == state && run.Reason != history.Queued {
				return &run
			}
			if run.ID == id && run.State.Ended() {
				r.t.Fatalf("the run %s has ended as %s (%v), want %s", id, run.State, run.Err, state)
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// question waits for the first open question of a run.
func (r *rig) question(id string) *value.Dict {
	r.t.Helper()
	for {
		if list, _ := r.get("vera", "/v1/runs/"+id+"/questions", http.StatusOK).Get("questions"); len(list.(value.List)) > 0 {
			return list.(value.List)[0].(*value.Dict)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// errorText returns the kind and the message of an error.
func errorText(d *value.Dict) string {
	e := d.Dict("error")
	return e.Text("kind") + ": " + e.Text("message")
}
