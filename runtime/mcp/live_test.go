package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/mcp"
	"github.com/cassidy-run/cassidy/runtime/mcp/attached"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A weather is an attached server of 2025-11-25 of the SDK, whose tool asks for a form during each call.
type weather struct {
	mu    sync.Mutex
	calls int
	got   []string // the responses to its forms
}

// attach adds the tools of the server to a host.
func (w *weather) attach(t *testing.T, h *cassidy.Host) {
	t.Helper()
	o := attached.Options{Name: "weather", Launch: func(ctx context.Context, p *tool.Process) (int, error) {
		s := sdk.NewServer(&sdk.Implementation{Name: "weather", Version: "1"}, &sdk.ServerOptions{SupportedProtocolVersions: []string{"2025-11-25"}})
		s.AddTool(&sdk.Tool{Name: "forecast", InputSchema: json.RawMessage(`{"type":"object"}`)}, w.forecast)
		err := s.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(p.Stdin), Writer: notClosed{p.Stdout}})
		return 0, err
	}}
	tools, err := attached.Fetch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s := attached.New(o, tools)
	if broken := s.Register(h); len(broken) > 0 {
		t.Fatal(broken)
	}
	t.Cleanup(func() { _ = s.Close() })
}

type notClosed struct{ io.Writer }

func (notClosed) Close() error { return nil }

func (w *weather) forecast(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	w.mu.Lock()
	w.calls++
	w.mu.Unlock()
	form, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Mode: "form", Message: "For which city?", RequestedSchema: json.RawMessage(
		`{"type":"object","required":["city"],"properties":{"city":{"type":"string","title":"City"}}}`)})
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.got = append(w.got, "no answer")
		return nil, err
	}
	w.got = append(w.got, fmt.Sprint(form.Action, " ", form.Content["city"]))
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint("sun in ", form.Content["city"])}}}, nil
}

func (w *weather) asked() (calls int, got []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls, w.got
}

// answered waits until the server has got the answer to a form, or its refusal, and returns all of them.
func (w *weather) answered(t *testing.T) []string {
	t.Helper()
	for t.Context().Err() == nil {
		if _, got := w.asked(); len(got) > 0 {
			return got
		}
		runtime.Gosched()
	}
	t.Fatal("the server got no answer")
	return nil
}

// attachedBench serves a host with the tools of a weather, without an approval of its calls.
func attachedBench(t *testing.T, w *weather, o *mcp.Options, rules ...tool.Rule) *bench {
	t.Helper()
	return attachedFrom(t, w, journal.Memory(), o, rules...)
}

func attachedFrom(t *testing.T, w *weather, store journal.Store, o *mcp.Options, rules ...tool.Rule) *bench {
	t.Helper()
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	rules = append(rules, tool.Rule{Verdict: tool.Allow, Capability: tool.Capability{Name: "tool", Target: "weather.forecast"}})
	nested := map[string]string{"report.star": `
def report() -> str:
    """Report the weather."""
    return "report: " + tools.call("weather.forecast")

tool(report, needs = ["tool:weather.forecast", "human"])
`}
	h, err := r.Open(cassidy.Scripts(nested), &cassidy.Options{State: t.TempDir(), TrustSource: true, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	w.attach(t, h)
	s, err := mcp.New(h, o)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{h, s}
}

// recordedForms returns the answered forms in the record of all runs, with who answered.
func (b *bench) recordedForms(t *testing.T) (list []string) {
	t.Helper()
	for run, err := range b.host.Runs(t.Context(), history.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range host.Operate(b.host).Steps(t.Context(), run.ID) {
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range e.Questions {
				if q.Form != nil && q.Answer != nil {
					list = append(list, fmt.Sprint(q.Answer.Value, " by ", q.Answer.By))
				}
			}
		}
	}
	return list
}

// TestLiveForm has clients of both eras of the SDK that answer the form of an attached server of 2025-11-25.
func TestLiveForm(t *testing.T) {
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, test := range []struct {
			tool, action, want, got, recorded string
		}{
			{"weather__forecast", "accept", "sun in Rome", "accept Rome", `{"action":"accept","content":{"city":"Rome"}} by the user of the MCP client`},
			{"report", "accept", "report: sun in Rome", "accept Rome", `{"action":"accept","content":{"city":"Rome"}} by the user of the MCP client`},
			{"weather__forecast", "decline", "sun in <nil>", "decline <nil>", `{"action":"decline","content":{}} by the user of the MCP client`},
			{"weather__forecast", "cancel", "sun in <nil>", "cancel <nil>", `{"action":"cancel","content":{}} by the user of the MCP client`},
		} {
			t.Run(version+" "+test.tool+" "+test.action, func(t *testing.T) {
				w := &weather{}
				b := attachedBench(t, w, nil)
				var asked []string
				c := b.connectAt(t, form(test.action, map[string]any{"city": "Rome"}, &asked), version)
				if got := c.InitializeResult().ProtocolVersion; got != version {
					t.Fatalf("the client speaks %s", got)
				}
				text, r := call(t, c, test.tool, nil)
				if r.IsError || text != test.want {
					t.Errorf("the call gave %q", text)
				}
				if calls, got := w.asked(); calls != 1 || len(got) != 1 || got[0] != test.got {
					t.Errorf("the server was called %d times and got %q", calls, got)
				}
				if len(asked) != 1 || !strings.Contains(asked[0], "The server weather asks: For which city?") {
					t.Errorf("the client was asked %q", asked)
				}
				if recorded := b.recordedForms(t); len(recorded) != 1 || recorded[0] != test.recorded {
					t.Errorf("recorded: %q", recorded)
				}
			})
		}
	}
}

// TestLiveFormUnanswered has clients that cannot show the form, and a rule against it.
func TestLiveFormUnanswered(t *testing.T) {
	deny := tool.Rule{Verdict: tool.Deny, Capability: tool.Capability{Name: "human"}}
	var asked []string
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, test := range []struct {
			name  string
			o     *sdk.ClientOptions
			rules []tool.Rule
			want  string
		}{
			{"no forms", nil, nil, "has not declared that it shows forms"},
			{"denied", form("accept", map[string]any{"city": "Rome"}, &asked), []tool.Rule{deny}, "human is refused by a rule"},
		} {
			w := &weather{}
			text, r := call(t, attachedBench(t, w, nil, test.rules...).connectAt(t, test.o, version), "weather__forecast", nil)
			if !r.IsError || !strings.Contains(text, test.want) || len(asked) > 0 {
				t.Errorf("%s, %s: %q, asked %q", version, test.name, text, asked)
			}
			if _, got := w.asked(); len(got) != 1 || got[0] != "cancel <nil>" {
				t.Errorf("%s, %s: the server got %q", version, test.name, got)
			}
		}
	}
}

const withForms = `{"elicitation":{"form":{}}}`

// respond returns the members of a request that answers all of a reply's input requests.
func respond(t *testing.T, reply map[string]any, response string) string {
	t.Helper()
	var all []string
	inputs, _ := reply["inputRequests"].(map[string]any)
	for key := range inputs {
		all = append(all, `"`+key+`":`+response)
	}
	if len(all) == 0 {
		t.Fatalf("the reply asks for nothing: %v", reply)
	}
	return `"inputResponses":{` + strings.Join(all, ",") + `}`
}

func stateOf(reply map[string]any) string {
	state, _ := reply["requestState"].(string)
	return `,"requestState":"` + state + `"`
}

// TestLiveRequests has a client of 2026-07-28 that answers in a later request: the call goes on between them.
func TestLiveRequests(t *testing.T) {
	w := &weather{}
	b := attachedBench(t, w, nil)
	e := endpoint{t, b.listen(t, nil), withForms}
	const params = `"name":"weather__forecast","arguments":{}`
	asked, _ := e.send("tools/call", "weather__forecast", params)
	if asked["resultType"] != "input_required" {
		t.Fatalf("the call gave %v", asked)
	}
	const city = `{"action":"accept","content":{"city":"Rome"}}`
	for name, more := range map[string]string{
		"the same call":   "",
		"no answer":       strings.TrimPrefix(stateOf(asked), ",") + `,"inputResponses":{}`,
		"a wrong answer":  respond(t, asked, `{"action":"accept","content":{"town":"Rome"}}`) + stateOf(asked),
		"another's state": respond(t, asked, city) + `,"requestState":"x.y"`,
	} {
		if more != "" {
			more = "," + more
		}
		again, failure := e.send("tools/call", "weather__forecast", params+more)
		if name == "another's state" {
			if failure["code"] != -32602.0 {
				t.Errorf("%s gave %v, %v", name, again, failure)
			}
			continue
		}
		if again["resultType"] != "input_required" || len(respond(t, again, "1")) == 0 {
			t.Errorf("%s gave %v, %v", name, again, failure)
		}
	}
	done, failure := e.send("tools/call", "weather__forecast", params+","+respond(t, asked, city)+stateOf(asked))
	if text, _ := json.Marshal(done); !strings.Contains(string(text), "sun in Rome") {
		t.Errorf("the answer gave %s, %v", text, failure)
	}
	if late, _ := e.send("tools/call", "weather__forecast", params+","+respond(t, asked, city)+stateOf(asked)); fmt.Sprint(late["content"]) != fmt.Sprint(done["content"]) {
		t.Errorf("the same request again gave %v, want %v", late, done)
	}
	if calls, got := w.asked(); calls != 1 || len(got) != 1 || got[0] != "accept Rome" {
		t.Errorf("the server was called %d times and got %q", calls, got)
	}
	if next, _ := e.send("tools/call", "weather__forecast", params); next["resultType"] != "input_required" {
		t.Errorf("a new call gave %v", next)
	}
}

// TestLiveTimeout has a client that asks its user, and does not come back: the call ends, and a late answer
// gets its failure.
func TestLiveTimeout(t *testing.T) {
	w := &weather{}
	b := attachedBench(t, w, &mcp.Options{AnswerTimeout: time.Millisecond})
	e := endpoint{t, b.listen(t, nil), withForms}
	const params = `"name":"weather__forecast","arguments":{}`
	asked, _ := e.send("tools/call", "weather__forecast", params)
	if asked["resultType"] == "input_required" { // otherwise the time was over before the reply
		w.answered(t)
		asked, _ = e.send("tools/call", "weather__forecast", params+","+respond(t, asked, `{"action":"accept","content":{"city":"Rome"}}`)+stateOf(asked))
	}
	if text, _ := json.Marshal(asked); asked["isError"] != true || !strings.Contains(string(text), "no answer came within 1ms") {
		t.Errorf("the late answer gave %s", text)
	}
	if _, got := w.asked(); got[0] != "cancel <nil>" {
		t.Errorf("the server got %q", got)
	}
}

// TestLiveTask has a client that shows no forms, but has tasks: the task waits for input. After a cancellation
// the server gets no answer.
func TestLiveTask(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		w := &weather{}
		b := attachedBench(t, w, nil)
		e := endpoint{t, b.listen(t, nil), withTasks}
		task, _ := e.send("tools/call", "weather__forecast", `"name":"weather__forecast"`)
		id, _ := task["taskId"].(string)
		if task["resultType"] != "task" {
			t.Fatalf("the call gave %v", task)
		}
		open := e.get(id, "input_required")
		if cancelled {
			if _, failure := e.send("tasks/cancel", id, `"taskId":"`+id+`"`); failure != nil {
				t.Fatal(failure)
			}
			e.get(id, "cancelled")
			continue
		}
		if _, failure := e.send("tasks/update", id, `"taskId":"`+id+`",`+respond(t, open, `{"action":"accept","content":{"city":"Rome"}}`)); failure != nil {
			t.Fatal(failure)
		}
		if text, _ := json.Marshal(e.get(id, "completed")["result"]); !strings.Contains(string(text), "sun in Rome") {
			t.Errorf("the result of the task is %s", text)
		}
		if recorded := b.recordedForms(t); len(recorded) != 1 {
			t.Errorf("recorded: %q", recorded)
		}
	}
}

// TestLiveTaskOfNextServer has a task whose server ends while the form is open. The next server asks whether
// to repeat the request, which may have had effects, and then for the form.
func TestLiveTaskOfNextServer(t *testing.T) {
	w, store := &weather{}, journal.Memory()
	first := attachedFrom(t, w, store, nil)
	before := endpoint{t, first.listen(t, nil), withTasks}
	task, _ := before.send("tools/call", "weather__forecast", `"name":"weather__forecast"`)
	id, _ := task["taskId"].(string)
	before.get(id, "input_required")
	_ = first.host.Close()

	next := endpoint{t, attachedFrom(t, w, store, nil).listen(t, nil), withTasks}
	open := next.get(id, "input_required")
	if text, _ := json.Marshal(open); !strings.Contains(string(text), "may have completed") {
		t.Fatalf("the next server asks %s", text)
	}
	if _, failure := next.send("tasks/update", id, `"taskId":"`+id+`",`+respond(t, open, `{"action":"accept","content":{"yes":"yes"}}`)); failure != nil {
		t.Fatal(failure)
	}
	for open = nil; !strings.Contains(fmt.Sprint(open["inputRequests"]), "For which city?"); open = next.get(id, "input_required", "completed") {
		if open["status"] == "completed" {
			t.Fatalf("the task has ended: %v", open)
		}
	}
	if _, failure := next.send("tasks/update", id, `"taskId":"`+id+`",`+respond(t, open, `{"action":"accept","content":{"city":"Rome"}}`)); failure != nil {
		t.Fatal(failure)
	}
	if text, _ := json.Marshal(next.get(id, "completed")["result"]); !strings.Contains(string(text), "sun in Rome") {
		t.Errorf("the result of the task is %s", text)
	}
}

// TestLiveUnrecorded has a server whose host records nothing: forms reach its clients all the same.
func TestLiveUnrecorded(t *testing.T) {
	w := &weather{}
	h, err := host.New(&host.Options{TrustedSources: []string{"tool:weather.forecast"}, Rules: []tool.Rule{{Verdict: tool.Allow, Capability: tool.Capability{Name: "tool", Target: "weather.forecast"}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	w.attach(t, h)
	s, err := mcp.New(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{h, s}
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		var asked []string
		if text, _ := call(t, b.connectAt(t, form("accept", map[string]any{"city": "Rome"}, &asked), version), "weather__forecast", nil); text != "sun in Rome" {
			t.Errorf("%s: the call gave %q", version, text)
		}
	}
	e := endpoint{t, b.listen(t, nil), withForms}
	asked, _ := e.send("tools/call", "weather__forecast", `"name":"weather__forecast"`)
	answer := `"name":"weather__forecast",` + respond(t, asked, `{"action":"cancel"}`) + stateOf(asked)
	if r, failure := e.send("tools/call", "weather__forecast", answer); r["resultType"] != "complete" {
		t.Errorf("the answer gave %v, %v", r, failure)
	}
	if r, failure := e.send("tools/call", "weather__forecast", answer); !strings.Contains(fmt.Sprint(failure), "has ended") {
		t.Errorf("an answer after the end of the call gave %v, %v", r, failure)
	}
}

// TestLiveCancelled has a client that cancels its request while its user is asked.
func TestLiveCancelled(t *testing.T) {
	w := &weather{}
	b := attachedBench(t, w, nil)
	ctx, cancel := context.WithCancel(t.Context())
	c := b.connectAt(t, &sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}, "2025-11-25")
	if _, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "weather__forecast"}); err == nil {
		t.Error("the cancelled call has a result")
	}
	if got := w.answered(t); got[0] != "cancel <nil>" && got[0] != "no answer" { // its call was cancelled, too
		t.Errorf("the server got %q", got)
	}
}
