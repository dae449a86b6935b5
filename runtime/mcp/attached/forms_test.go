package attached

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A clerk is a server that asks for forms: one of 2026-07-28 by its results, an older one during a call.
type clerk struct {
	old    bool
	form   string          // the params of the form
	forms  int             // how many it asks for in one call; 0 means one
	method string          // of what it asks for; "" is a form
	state  string          // the JSON of the requestState; "" sends none
	hasty  <-chan struct{} // when an older one sends its result, without the answer to its form; nil is after the answer

	mu       sync.Mutex
	requests []string // the parameters of the calls
	answers  []string // to the forms of an older server
}

func (c *clerk) got() (requests, answers []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests, c.answers
}

// serve answers the lines of a client.
func (c *clerk) serve(_ context.Context, in io.Reader, out, _ io.Writer) (int, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	var call json.RawMessage // of the call in which an older server asks
	left := 0
	for lines.Scan() {
		var m struct {
			ID                    json.RawMessage
			Method                string
			Params, Result, Error json.RawMessage
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || len(m.ID) == 0 {
			continue
		}
		send := func(id json.RawMessage, result string) {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		}
		elicit := func() {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":"form%d","method":"elicitation/create","params":%s}`+"\n", left, c.form)
			left--
		}
		switch {
		case m.Method == "server/discover" && !c.old:
			send(m.ID, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}`)
		case m.Method == "initialize" && c.old:
			send(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}`)
		case m.Method == "tools/list":
			send(m.ID, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":`+forecast+`}`)
		case m.Method == "tools/call":
			c.mu.Lock()
			c.requests = append(c.requests, string(m.Params))
			n := len(c.requests)
			c.mu.Unlock()
			switch {
			case c.old:
				call, left = m.ID, max(1, c.forms)
				elicit()
				if c.hasty != nil {
					<-c.hasty
					send(call, `{"content":[{"type":"text","text":"done"}]}`)
				}
			case !strings.Contains(string(m.Params), `"inputResponses"`) || n <= c.forms:
				method, state := "elicitation/create", ""
				if c.method != "" {
					method = c.method
				}
				if c.state != "" {
					state = `,"requestState":` + c.state
				}
				send(m.ID, `{"resultType":"input_required","inputRequests":{"q":{"method":"`+method+`","params":`+c.form+`}}`+state+`}`)
			default:
				send(m.ID, `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`)
			}
		case m.Method == "" && c.hasty != nil: // the answer to the form comes too late
		case m.Method == "" && c.old:
			c.mu.Lock()
			c.answers = append(c.answers, string(m.Result)+string(m.Error))
			c.mu.Unlock()
			if left > 0 {
				elicit()
			} else {
				send(call, `{"content":[{"type":"text","text":"done"}]}`)
			}
		default:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
		}
	}
	return 0, nil
}

const cityForm = `{"message":"Which \u001b[31mcity?\r\nunits: text","requestedSchema":{"type":"object","required":["city"],"properties":{` +
	`"city":{"type":"string","title":"City"},"units":{"type":"string","enum":["metric","imperial"],"default":"metric"},"days":{"type":"integer","default":3}}}}`

const cityText = "The server weather asks: Which \\u001b[31mcity?\n  units: text\n" +
	"city (City): text, required\n" +
	"units: one of metric, imperial, default metric\n" +
	"days: integer, default 3\n" +
	"Your answer is sent to the server weather. Do not enter passwords or keys: a server must not ask for them in a form."

// A desk is a process with the tools of a clerk.
type desk struct {
	*host.Host
	t       *testing.T
	approve func(ctx context.Context, q tool.Question) (tool.Answer, error) // nil: nothing is approved
}

// newDesk opens a process. ask is nil if nobody can be asked, and j if nothing is recorded.
func newDesk(t *testing.T, c *clerk, j *history.Journal, ask func(q tool.Question) (tool.Answer, error), rules ...tool.Rule) *desk {
	t.Helper()
	if ask == nil {
		return newDeskOf(t, c, j, nil, rules...)
	}
	return newDeskOf(t, c, j, asker(func(_ context.Context, q tool.Question) (tool.Answer, error) { return ask(q) }), rules...)
}

func newDeskOf(t *testing.T, c *clerk, j *history.Journal, ask asker, rules ...tool.Rule) *desk {
	t.Helper()
	o, _ := launched(c.serve)
	return newDeskAt(t, o, j, ask, rules...)
}

// newDeskAt opens a process with the tools of a server. A nil asker asks nobody.
func newDeskAt(t *testing.T, o Options, j *history.Journal, ask asker, rules ...tool.Rule) *desk {
	t.Helper()
	d := &desk{t: t}
	opts := &host.Options{Rules: rules, Approver: host.ApproverFunc(func(ctx context.Context, q tool.Question) (tool.Answer, error) {
		if d.approve == nil {
			return tool.Answer{}, value.Errorf(value.Unanswered, "nobody approves")
		}
		return d.approve(ctx, q)
	})}
	if ask != nil {
		opts.Asker = ask
	}
	if j != nil {
		opts.Journal = func() (*history.Journal, error) { return j, nil }
	}
	h, err := host.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, o, fetched(t, o))
	if broken := s.Register(h); len(broken) > 0 {
		t.Fatal(broken)
	}
	t.Cleanup(func() { h.Close() })
	d.Host = h
	return d
}

type asker func(ctx context.Context, q tool.Question) (tool.Answer, error)

func (a asker) Ask(ctx context.Context, q tool.Question) (tool.Answer, error) { return a(ctx, q) }

func (d *desk) call(opts ...host.CallOption) (tool.Result, error) {
	return d.Call(d.t.Context(), tool.Call{Tool: "weather.get-forecast", Args: value.NewDict("city", "x"), Caller: tool.ByPerson}, opts...)
}

// TestForms checks how a form reaches the user and what the server gets, in both eras.
func TestForms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer tool.Answer
		want   string // that the server gets
	}{
		{"fields", tool.Answer{Value: value.NewDict("city", "Rome", "days", 2)}, `{"action":"accept","content":{"city":"Rome","days":2,"units":"metric"}}`},
		{"text", tool.Answer{Value: "city=Rome\nunits=2"}, `{"action":"accept","content":{"city":"Rome","days":3,"units":"imperial"}}`},
		{"no", tool.Answer{}, `{"action":"decline"}`},
		{"cancel", tool.Answer{Value: `{"action":"cancel"}`}, `{"action":"cancel"}`},
	} {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprint(test.name, " old ", old), func(t *testing.T) {
				c := &clerk{old: old, form: cityForm, state: `"a\u0000\u2028</b>\\ 12345678901234567890 \""`}
				var asked []tool.Question
				d := newDesk(t, c, nil, func(q tool.Question) (tool.Answer, error) {
					asked = append(asked, q)
					return test.answer, nil
				})
				r, err := d.call()
				if err != nil || r.Value != "done" {
					t.Fatalf("call = %+v, %v", r, err)
				}
				if len(asked) != 1 || asked[0].Text != cityText || asked[0].Kind != tool.QuestionAsk || asked[0].Form.Dict("properties").Len() != 3 {
					t.Errorf("asked %+v", asked)
				}
				requests, answers := c.got()
				if old {
					if len(requests) != 1 || len(answers) != 1 || answers[0] != test.want {
						t.Errorf("requests %q, answers %q, want %s", requests, answers, test.want)
					}
					return
				}
				if len(requests) != 2 || len(answers) != 0 {
					t.Fatalf("requests %q", requests)
				}
				var second struct {
					InputResponses map[string]json.RawMessage
					RequestState   string
					Arguments      json.RawMessage
				}
				if err := json.Unmarshal([]byte(requests[1]), &second); err != nil {
					t.Fatal(err)
				}
				if second.RequestState != "a\x00\u2028</b>\\ 12345678901234567890 \"" || string(second.InputResponses["q"]) != test.want || string(second.Arguments) != `{"city":"x"}` {
					t.Errorf("the second request is %s, want the answer %s", requests[1], test.want)
				}
				if strings.Contains(requests[0], "inputResponses") || strings.Contains(requests[0], "requestState") {
					t.Errorf("the first request is %s", requests[0])
				}
			})
		}
	}
}

// TestFormParks checks that a run waits for the answer to a form, and continues in another process with
// the answer, without the first request. The same holds for a run that was interrupted while a user of
// its process was asked.
func TestFormParks(t *testing.T) {
	t.Parallel()
	for _, interrupted := range []bool{false, true} {
		t.Run(fmt.Sprint("interrupted ", interrupted), func(t *testing.T) {
			j := history.Open(journal.Memory(), nil)
			c := &clerk{form: cityForm, state: `"s-1"`}
			var first *desk
			var ask func(q tool.Question) (tool.Answer, error)
			if interrupted {
				ask = func(tool.Question) (tool.Answer, error) {
					go first.Close() // as the end of the process
					<-t.Context().Done()
					return tool.Answer{}, t.Context().Err()
				}
			}
			first = newDesk(t, c, j, ask)
			_, err := first.call(host.Durable("r"))
			if value.KindOf(err) != value.Parked && !interrupted || err == nil {
				t.Fatalf("call = %v", err)
			}
			first.Close()

			second := newDesk(t, c, j, nil)
			if interrupted { // nobody is asked in the second process
				if _, err := second.Resume(t.Context(), "r"); value.KindOf(err) != value.Parked {
					t.Fatalf("Resume = %v", err)
				}
			}
			var q *tool.Question
			for open, err := range second.Waiting(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				q = &open
			}
			if q == nil || q.Text != cityText || q.Form.Dict("properties").Len() != 3 {
				t.Fatalf("the question is %+v", q)
			}
			if err := second.Answer(t.Context(), q.ID, tool.Answer{Value: "days=many"}); value.KindOf(err) != value.Invalid {
				t.Errorf("a wrong answer: %v", err)
			}
			if err := second.Answer(t.Context(), q.ID, tool.Answer{Value: "city=Rome"}); err != nil {
				t.Fatal(err)
			}
			second.Close()

			third := newDesk(t, c, j, nil)
			r, err := third.Resume(t.Context(), "r")
			if err != nil || r.Value != "done" {
				t.Fatalf("Resume = %+v, %v", r, err)
			}
			requests, _ := c.got()
			if len(requests) != 2 || !strings.Contains(requests[1], `"requestState":"s-1"`) || !strings.Contains(requests[1], `"city":"Rome","days":3,"units":"metric"`) {
				t.Errorf("requests %q", requests)
			}
		})
	}
}

// TestFormUnanswered checks that the error names the question if nobody can answer it.
func TestFormUnanswered(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		for _, asks := range []bool{false, true} {
			c := &clerk{old: old, form: cityForm}
			var ask func(tool.Question) (tool.Answer, error)
			if asks {
				ask = func(tool.Question) (tool.Answer, error) { return tool.Answer{}, value.Errorf(value.Parked, "not now") }
			}
			r, err := newDesk(t, c, nil, ask).call()
			const command = `where you can answer, in a terminal, type: cassidy tool run weather.get-forecast --input '{"city":"x"}'`
			if value.KindOf(err) != value.Failed || !strings.Contains(err.Error(), "needs an answer from the user") || value.ErrorOf(err, 0).Hint != command {
				t.Errorf("old %v, asks %v: %+v, %v", old, asks, r, err)
			}
			requests, answers := c.got()
			if old && (len(answers) != 1 || answers[0] != `{"action":"cancel"}`) || len(requests) != 1 {
				t.Errorf("old %v, asks %v: requests %q, answers %q", old, asks, requests, answers)
			}
			declares := strings.Contains(requests[0], `"elicitation"`)
			if !old && declares != asks {
				t.Errorf("asks %v: the first request is %s", asks, requests[0])
			}
		}
	}
	_, err := newDesk(t, &clerk{old: true, form: cityForm}, history.Open(journal.Memory(), nil), nil).call(host.Durable("r"))
	if hint := value.ErrorOf(err, 0).Hint; value.KindOf(err) != value.Failed || hint != "where you can answer, in a terminal, type: cassidy runs retry r" {
		t.Errorf("a recorded call: %v, hint %q", err, hint)
	}
	deny := tool.Rule{Verdict: tool.Deny, Capability: tool.Capability{Name: "human"}}
	for _, old := range []bool{false, true} {
		asked := 0
		answer := func(tool.Question) (tool.Answer, error) {
			asked++
			return tool.Answer{Yes: true}, nil
		}
		r, err := newDesk(t, &clerk{old: old, form: cityForm}, nil, answer, deny).call()
		if value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), "ask the user for the server weather: ") || !strings.Contains(err.Error(), "human is refused by a rule") || asked != 0 {
			t.Errorf("with a rule, old %v: %+v, %v, asked %d", old, r, err, asked)
		}
	}
}

// TestFormOutlived checks that a call ends with its result if the server sends that while its form is open.
func TestFormOutlived(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	ask := func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
		close(begun)
		<-ctx.Done()
		return tool.Answer{}, ctx.Err()
	}
	d := newDeskOf(t, &clerk{old: true, form: cityForm, hasty: begun}, nil, asker(ask))
	if r, err := d.call(); err != nil || r.Value != "done" {
		t.Errorf("call = %+v, %v", r, err)
	}
}

// TestFormOutlivedByApproval checks the same for a call whose form needs an approval, because a rule asks.
func TestFormOutlivedByApproval(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	d := newDeskOf(t, &clerk{old: true, form: cityForm, hasty: begun}, nil, func(context.Context, tool.Question) (tool.Answer, error) {
		t.Error("the user got the form")
		return tool.Answer{}, nil
	}, tool.Rule{Verdict: tool.Ask, Capability: tool.Capability{Name: "human"}})
	d.approve = func(ctx context.Context, q tool.Question) (tool.Answer, error) {
		close(begun)
		<-ctx.Done()
		return tool.Answer{}, ctx.Err()
	}
	if r, err := d.call(); err != nil || r.Value != "done" {
		t.Errorf("call = %+v, %v", r, err)
	}
}

// TestHostileForms checks that forms which cannot be shown are declined, and that no server can ask
// without end.
func TestHostileForms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		clerk *clerk
		want  string // the error, or what the server gets
		asked int
	}{
		{"nested", &clerk{form: `{"message":"m","requestedSchema":{"properties":{"a":{"type":"object","properties":{}}}}}`}, `{"action":"decline"}`, 0},
		{"a link", &clerk{form: `{"mode":"url","message":"m","url":"https://evil.example/","elicitationId":"1"}`}, `{"action":"decline"}`, 0},
		{"a long message", &clerk{form: `{"message":"` + strings.Repeat("m", maxMessage+1) + `"}`}, `{"action":"decline"}`, 0},
		{"a large form", &clerk{form: `{"message":"` + strings.Repeat("m", maxAsked) + `"}`}, "", 0},
		{"no params", &clerk{form: `null`}, `{"action":"accept","content":{}}`, 1},
		{"without end", &clerk{form: `{"message":"m"}`, forms: 1000}, "more than 20", 20},
		{"a model", &clerk{form: `{}`, method: "sampling/createMessage"}, `asks for "sampling/createMessage"`, 0},
		{"a large state", &clerk{form: `{"message":"m"}`, state: `"` + strings.Repeat("s", maxState+1) + `"`}, "requestState", 0},
		{"a state that is no text", &clerk{form: `{"message":"m"}`, state: `{"a":1}`}, "requestState", 0},
	} {
		for _, old := range []bool{false, true} {
			c := &clerk{old: old, form: test.clerk.form, forms: min(test.clerk.forms, 60), method: test.clerk.method, state: test.clerk.state}
			if old && (c.method != "" || c.state != "") {
				continue
			}
			asked := 0
			d := newDesk(t, c, nil, func(tool.Question) (tool.Answer, error) {
				asked++
				return tool.Answer{Yes: true}, nil
			})
			_, err := d.call()
			requests, answers := c.got()
			got := fmt.Sprint(err, requests, answers)
			want := strings.ReplaceAll(test.want, `,"content":{}`, "") // the SDK leaves out an empty content
			if test.name == "a large form" {
				want = map[bool]string{false: "forms of more than 256 KB", true: `{"action":"decline"}`}[old]
			}
			if old && test.clerk.forms > 0 {
				want = `{"action":"cancel"}`
			}
			if asked != test.asked || !strings.Contains(got, want) {
				t.Errorf("%s, old %v: asked %d, want %d; %.500s, want %s", test.name, old, asked, test.asked, got, want)
			}
		}
	}
}

// TestFormOfSeveralCalls checks that a form of an older server reaches nobody while it has several calls,
// and that each of them says so.
func TestFormOfSeveralCalls(t *testing.T) {
	t.Parallel()
	var calls []string
	var answer string
	o, _ := launched(func(_ context.Context, in io.Reader, out, _ io.Writer) (int, error) {
		lines := json.NewDecoder(in)
		for {
			var m struct {
				ID, Result json.RawMessage
				Method     string
			}
			if lines.Decode(&m) != nil {
				return 0, nil
			}
			switch result := offering(forecast)[m.Method]; {
			case m.Method == "tools/call":
				if calls = append(calls, string(m.ID)); len(calls) == 2 {
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":"form","method":"elicitation/create","params":%s}`+"\n", cityForm)
				}
			case m.Method == "":
				answer = string(m.Result)
				for _, id := range calls {
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n", id)
				}
			case result != nil:
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result("", nil))
			case len(m.ID) > 0:
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
			}
		}
	})
	j := history.Open(journal.Memory(), nil)
	d := newDeskAt(t, o, j, func(context.Context, tool.Question) (tool.Answer, error) {
		t.Error("the user was asked")
		return tool.Answer{}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	events := d.Subscribe(ctx, host.EventFilter{Buffer: 1 << 10})
	var both sync.WaitGroup
	for _, run := range []string{"a", "b"} {
		both.Go(func() {
			if r, err := d.call(host.Durable(run)); err != nil || r.Value != "done" {
				t.Errorf("call %s = %+v, %v", run, r, err)
			}
		})
	}
	both.Wait()
	cancel()
	said := map[string]int{}
	for e := range events {
		if log, ok := e.Data.(tool.Log); ok && strings.Contains(log.Message, "a form of the server weather was cancelled") {
			said[e.Run]++
		}
	}
	if len(said) != 2 || said["a"] != 1 || said["b"] != 1 {
		t.Errorf("the runs say that a form was cancelled: %v", said)
	}
	if answer != `{"action":"cancel"}` {
		t.Errorf("the server got %s", answer)
	}
}

// TestUnsentCallsWait checks that a run waits, and later makes its call without a question, if the server of
// the call cannot be started, or offers other tools than were reviewed.
func TestUnsentCallsWait(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, hint string }{
		{"down", "unavailable", "cassidy runs resume r"},
		{"changed", "tool", "cassidy mcp review"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var broken atomic.Bool
			var calls atomic.Int64
			o, _ := launched(func(ctx context.Context, in io.Reader, out, _ io.Writer) (int, error) {
				name := "get-forecast"
				if broken.Load() && test.name == "down" {
					return 1, nil
				} else if broken.Load() {
					name = "other"
				}
				s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
				s.AddTool(&sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					calls.Add(1)
					return &sdk.CallToolResult{}, nil
				})
				return 0, s.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}})
			})
			j := history.Open(journal.Memory(), nil)
			open := func() *desk { return newDeskAt(t, o, j, nil) }
			first, second := open(), open()
			broken.Store(true)
			_, err := first.call(host.Durable("r"))
			if run, _ := j.Run(t.Context(), "r"); run.State != history.Parked || run.Reason != test.reason || !strings.Contains(value.ErrorOf(err, value.Failed).Hint, test.hint) {
				t.Fatalf("the call gave %#v, and the run is %s (%s), want it parked (%s)", err, run.State, run.Reason, test.reason)
			}
			broken.Store(false)
			if r, err := second.Resume(t.Context(), "r"); err != nil {
				t.Errorf("resumed: %v, %v", r, err)
			}
			if calls.Load() != 1 {
				t.Errorf("the server got %d calls, want 1", calls.Load())
			}
		})
	}
}

// TestARunSurvivesTheStartOfAServer checks that a run whose process ends while the server of a call starts makes
// the call later, without a question: its intent is not recorded before the server is up.
func TestARunSurvivesTheStartOfAServer(t *testing.T) {
	t.Parallel()
	var slow atomic.Bool
	var calls atomic.Int64
	starting, dead := make(chan struct{}), make(chan struct{})
	o, _ := launched(func(ctx context.Context, in io.Reader, out, _ io.Writer) (int, error) {
		if slow.Swap(false) {
			close(starting)
			<-dead
		}
		s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		s.AddTool(&sdk.Tool{Name: "get-forecast", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			calls.Add(1)
			return &sdk.CallToolResult{}, nil
		})
		return 0, s.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}})
	})
	store := journal.Memory()
	j := history.Open(store, nil)
	first := newDeskAt(t, o, j, nil)
	slow.Store(true)
	done := make(chan error)
	go func() {
		_, err := first.call(host.Durable("r"))
		done <- err
	}()
	<-starting
	if err := j.Close(); err != nil { // nothing that the process does now is recorded
		t.Fatal(err)
	}
	close(dead)
	if err := <-done; err == nil || calls.Load() != 0 {
		t.Fatalf("the call gave %v, and the server got %d calls", err, calls.Load())
	}
	asked := func(context.Context, tool.Question) (tool.Answer, error) {
		t.Error("somebody was asked")
		return tool.Answer{}, nil
	}
	second := newDeskAt(t, o, history.Open(store, nil), asked)
	if r, err := second.Resume(t.Context(), "r"); err != nil || calls.Load() != 1 {
		t.Errorf("resumed: %v, %v, and the server got %d calls, want 1", r, err, calls.Load())
	}
}
