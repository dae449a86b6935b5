package mcp_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/mcp"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An endpoint is the address of a server, for requests of 2026-07-28 as they are on the wire.
type endpoint struct {
	*testing.T
	url  string
	caps string // the client's, as JSON
}

// send sends a request and returns its result or its error.
func (e endpoint) send(method, name, params string) (result, failure map[string]any) {
	e.Helper()
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":` + e.caps + `}`
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `,` + meta + `}}`
	r, err := http.NewRequestWithContext(e.Context(), http.MethodPost, e.url, strings.NewReader(body))
	if err != nil {
		e.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name} {
		r.Header.Set(k, v)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		e.Fatal(err)
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	if err != nil {
		e.Fatal(err)
	}
	if at := bytes.LastIndex(data, []byte("data: {")); at >= 0 { // the last event of a stream
		data = data[at+len("data: "):]
	}
	var message struct {
		Result, Error map[string]any
	}
	if err := json.Unmarshal(data, &message); err != nil {
		e.Fatalf("%s: %s", reply.Status, data)
	}
	return message.Result, message.Error
}

const withTasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// get asks for a task until it has one of the states.
func (e endpoint) get(id string, states ...string) map[string]any {
	e.Helper()
	for {
		task, failure := e.send("tasks/get", id, `"taskId":"`+id+`"`)
		if failure != nil {
			e.Fatalf("tasks/get: %v", failure)
		}
		for _, state := range states {
			if task["status"] == state {
				return task
			}
		}
		if e.Context().Err() != nil {
			e.Fatalf("the task stays %v", task["status"])
		}
	}
}

func (b *bench) listen(t *testing.T, o *mcp.HTTPOptions) string {
	s := httptest.NewServer(b.server.Handler(o))
	t.Cleanup(s.Close)
	return s.URL
}

func TestTasks(t *testing.T) {
	b := serve(t, nil)
	e := endpoint{t, b.listen(t, nil), withTasks}
	task, _ := e.send("tools/call", "slow", `"name":"slow","arguments":{"seconds":0.05}`)
	id, _ := task["taskId"].(string)
	if task["resultType"] != "task" || id == "" {
		t.Fatalf("a call that takes long gave %v", task)
	}
	done := e.get(id, "completed")
	if text, _ := json.Marshal(done["result"]); !strings.Contains(string(text), `[{"text":"done","type":"text"},{"text":"a guess","type":"text"}]`) {
		t.Errorf("the result of the task is %s", text)
	}

	other, err := mcp.New(b.host, nil) // after a restart
	if err != nil {
		t.Fatal(err)
	}
	again := endpoint{t, (&bench{b.host, other}).listen(t, nil), withTasks}
	again.get(id, "completed")

	long, _ := e.send("tools/call", "slow", `"name":"slow","arguments":{"seconds":3600}`)
	id, _ = long["taskId"].(string)
	if _, failure := e.send("tasks/cancel", id, `"taskId":"`+id+`"`); failure != nil {
		t.Fatal(failure)
	}
	e.get(id, "cancelled")

	plain := endpoint{t, e.url, `{}`}
	if r, _ := plain.send("tools/call", "slow", `"name":"slow","arguments":{"seconds":0.01}`); r["resultType"] != "complete" || len(r["content"].([]any)) != 2 {
		t.Errorf("a client without tasks got %v", r)
	}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		if _, failure := plain.send(method, id, `"taskId":"`+id+`"`); failure["code"] != -32021.0 {
			t.Errorf("%s of a client without tasks gave %v", method, failure)
		}
		if _, failure := e.send(method, "mcp-no", `"taskId":"mcp-no"`); failure["code"] != -32602.0 {
			t.Errorf("%s of an unknown task gave %v", method, failure)
		}
	}
}

// TestWaitingBecomesTask has a client that shows no forms, but has tasks.
func TestWaitingBecomesTask(t *testing.T) {
	b := serve(t, nil)
	e := endpoint{t, b.listen(t, nil), withTasks}
	var id string
	for range 25 { // a call that waits as soon as it is a task is still answered with the task
		task, failure := e.send("tools/call", "ask_name", `"name":"ask_name"`)
		if id, _ = task["taskId"].(string); task["resultType"] != "task" || id == "" {
			t.Fatalf("a call that waits gave %v, %v", task, failure)
		}
	}
	open := e.get(id, "input_required")
	inputs, _ := open["inputRequests"].(map[string]any)
	for key := range inputs {
		if _, failure := e.send("tasks/update", id, `"taskId":"`+id+`","inputResponses":{"`+key+`":{"action":"accept","content":{"answer":"Ada"}},"other":{"what":1}}`); failure != nil {
			t.Fatal(failure)
		}
	}
	done := e.get(id, "completed")
	if text, _ := json.Marshal(done["result"]); !strings.Contains(string(text), "Hello, Ada!") {
		t.Errorf("the result of the task is %s", text)
	}
}

// TestTaskToRepair has tasks that fail because of their environment. Nobody but a person can continue them, so
// they are completed with an error, and asking for them does not run them again.
func TestTaskToRepair(t *testing.T) {
	b := serve(t, nil)
	e := endpoint{t, b.listen(t, nil), withTasks}
	var made atomic.Int64
	isTask := make(chan struct{})
	_ = b.host.Register(cassidy.Tool{Name: "fetch_rates", Description: "Fetch the rates.", Hints: tool.Hints{Other: map[string]bool{mcp.TaskHint: true}}}, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
		made.Add(1)
		host.Emit(ctx, tool.Progress{Message: "connecting"})
		<-isTask
		return nil, value.Errorf(value.Unavailable, "the server of the bank is down")
	})
	task, _ := e.send("tools/call", "fetch_rates", `"name":"fetch_rates","arguments":{}`)
	close(isTask)
	id, _ := task["taskId"].(string)
	e.get(id, "completed")
	result, _ := e.get(id, "completed")["result"].(map[string]any)
	if text, _ := json.Marshal(result); result["isError"] != true || !bytes.Contains(text, []byte("the bank is down")) {
		t.Errorf("the task gave %s", text)
	}
	if n := made.Load(); n != 1 {
		t.Errorf("the tool was called %d times", n)
	}
}

// TestStuckTask has a task whose run nobody can continue.
func TestStuckTask(t *testing.T) {
	store := journal.Memory()
	b := serveFrom(t, store, nil)
	e := endpoint{t, b.listen(t, nil), withTasks}
	task, _ := e.send("tools/call", "ask_name", `"name":"ask_name"`)
	id, _ := task["taskId"].(string)
	e.get(id, "input_required")
	row, err := store.Find(t.Context(), "", id)
	if err == nil {
		set := &journal.Standing{State: journal.Stuck, Stuck: "step 1 differs from the record"}
		err = store.Commit(t.Context(), []*journal.Write{{Num: row.Num, Set: set}})
	}
	if err != nil {
		t.Fatal(err)
	}
	failed, _ := e.get(id, "failed")["error"].(map[string]any)
	if failed["message"] != "step 1 differs from the record" {
		t.Errorf("the error of the task is %v", failed)
	}
}

// TestTaskOfOthers reads a task of an earlier server: the conversation has read untrusted text then.
func TestTaskOfOthers(t *testing.T) {
	store := journal.Memory()
	first := serveFrom(t, store, nil)
	before := endpoint{t, first.listen(t, nil), withTasks}
	task, _ := before.send("tools/call", "fetch_risky", `"name":"fetch_risky"`)
	id, _ := task["taskId"].(string)
	before.get(id, "input_required")
	first.answer(t)
	_, err := first.host.Resume(t.Context(), id)
	for value.KindOf(err) == value.Conflict { // the run has asked, and may not be parked yet
		time.Sleep(time.Millisecond)
		_, err = first.host.Resume(t.Context(), id)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := serveFrom(t, store, nil)
	send := cassidy.Tool{Name: "send", Description: "Send a text.", Hints: tool.Hints{OpenWorld: true}}
	if err := b.host.Register(send, func(context.Context, *value.Dict) (value.Value, error) { return "sent", nil }); err != nil {
		t.Fatal(err)
	}
	e := endpoint{t, b.listen(t, nil), withTasks}
	if r, _ := e.send("tools/call", "send", `"name":"send"`); r["resultType"] != "complete" {
		t.Fatalf("before the untrusted text the call gave %v", r)
	}
	e.get(id, "completed")
	if r, _ := e.send("tools/call", "send", `"name":"send"`); r["resultType"] == "complete" {
		t.Errorf("after the untrusted text the call gave %v", r)
	}
}

// TestStates sends back states that the server has not given for the call.
func TestStates(t *testing.T) {
	b := serve(t, nil)
	e := endpoint{t, b.listen(t, nil), `{"elicitation":{}}`}
	asked, _ := e.send("tools/call", "danger", `"name":"danger","arguments":{"what":"a"}`)
	state, _ := asked["requestState"].(string)
	if asked["resultType"] != "input_required" || state == "" {
		t.Fatalf("a risky call gave %v", asked)
	}
	yes := func(state string) string {
		var all []string
		for key := range asked["inputRequests"].(map[string]any) {
			all = append(all, `"`+key+`":{"action":"accept","content":{"approve":"yes"}}`)
		}
		return `"inputResponses":{` + strings.Join(all, ",") + `},"requestState":"` + state + `"`
	}
	for name, params := range map[string]string{
		"another call":  `"name":"danger","arguments":{"what":"b"},` + yes(state),
		"changed":       `"name":"danger","arguments":{"what":"a"},` + yes(state+"x"),
		"made up":       `"name":"danger","arguments":{"what":"a"},` + yes("eyJydW4iOiJ4In0.AAAA"),
		"no answer yet": `"name":"danger","arguments":{"what":"c"},` + strings.Replace(yes(""), `,"requestState":""`, "", 1),
	} {
		r, failure := e.send("tools/call", "danger", params)
		if failure["code"] != -32602.0 && r["resultType"] != "input_required" {
			t.Errorf("%s gave %v, %v", name, r, failure)
		}
	}
	if r, failure := e.send("tools/call", "danger", `"name":"danger","arguments":{"what":"a"},`+yes(state)); r["resultType"] != "complete" || r["isError"] == true {
		t.Errorf("the right state gave %v, %v", r, failure)
	}
}

// TestWhoMaySend sends requests with wrong tokens, hosts and origins.
func TestWhoMaySend(t *testing.T) {
	url := serve(t, nil).listen(t, &mcp.HTTPOptions{Token: "a-long-secret-token", Hosts: []string{"tools.example.com"}})
	for name, c := range map[string]struct {
		host, origin, token string
		status              int
	}{
		"right":                  {"", "", "Bearer a-long-secret-token", 200},
		"another spelling":       {"", "", "bearer a-long-secret-token", 200},
		"no token":               {"", "", "", 401},
		"wrong token":            {"", "", "Bearer a-long-secret-tokem", 401},
		"other scheme":           {"", "", "Basic a-long-secret-token", 401},
		"its page":               {"", "http://localhost:3000", "Bearer a-long-secret-token", 200},
		"page elsewhere":         {"", "https://evil.example", "Bearer a-long-secret-token", 403},
		"page without a host":    {"", "null", "Bearer a-long-secret-token", 403},
		"name of the machine":    {"tools.example.com:8808", "", "Bearer a-long-secret-token", 200},
		"name that was rebound":  {"evil.example", "", "Bearer a-long-secret-token", 403},
		"looks like the machine": {"localhost.evil.example", "", "Bearer a-long-secret-token", 403},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(initialize))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": c.token, "Origin": c.origin} {
			if v != "" {
				r.Header.Set(k, v)
			}
		}
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = reply.Body.Close()
		if reply.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d", name, reply.StatusCode, c.status)
		}
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// TestUnreadBody sends a part of a body without the token: the server does not wait for the rest.
func TestUnreadBody(t *testing.T) {
	url := serve(t, nil).listen(t, &mcp.HTTPOptions{Token: "a-long-secret-token"})
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	reply, err := io.ReadAll(c)
	if err != nil || !bytes.HasPrefix(reply, []byte("HTTP/1.1 401 ")) {
		t.Errorf("the server sent %q and did not close the connection: %v", reply, err)
	}
}

// TestManySessions opens more sessions than the server keeps.
func TestManySessions(t *testing.T) {
	url := serve(t, nil).listen(t, nil)
	var last string
	open := func() int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(initialize))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		_, _ = io.Copy(io.Discard, reply.Body)
		last = cmp.Or(reply.Header.Get("Mcp-Session-Id"), last)
		return reply.StatusCode
	}
	for n := range 1000 {
		if status := open(); status != http.StatusOK {
			t.Fatalf("session %d: status %d", n+1, status)
		}
	}
	if status := open(); status != http.StatusServiceUnavailable {
		t.Errorf("one session too many: status %d", status)
	}
	end, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, nil)
	end.Header.Set("Mcp-Session-Id", last)
	reply, err := http.DefaultClient.Do(end)
	if err != nil {
		t.Fatal(err)
	}
	_ = reply.Body.Close()
	if status := open(); status != http.StatusOK {
		t.Errorf("after the end of a session: status %d", status)
	}
}

// TestOldAndNew connects clients of both eras to one address.
func TestOldAndNew(t *testing.T) {
	url := serve(t, nil).listen(t, nil)
	c, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if text, _ := call(t, c, "greet", map[string]any{"name": "Ada"}); text != "Hello, Ada!" {
		t.Errorf("the client got %q", text)
	}
	r, failure := endpoint{t, url, `{}`}.send("tools/call", "greet", `"name":"greet","arguments":{"name":"Bob"}`)
	if failure != nil || r["resultType"] != "complete" {
		t.Errorf("a request of 2026-07-28 gave %v, %v", r, failure)
	}
}
