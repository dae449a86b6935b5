package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A cast is a project with agent files.
type cast struct {
	t            *testing.T
	dir, journal string
}

// newCast writes files of the project, by their paths.
func newCast(t *testing.T, files map[string]string) *cast {
	c := &cast{t: t, dir: t.TempDir(), journal: t.TempDir()}
	for name, text := range files {
		c.write(name, text)
	}
	return c
}

func (c *cast) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// open opens the host and the agent in a process of their own.
func (c *cast) open(m model.Model, o agent.Options) (*cassidy.Host, *agent.Agent) {
	c.t.Helper()
	h, err := testhost.Open(c.t, testhost.On{Sandbox: cassidy.Inline, Journal: c.journal}, c.dir, &cassidy.Options{TrustSource: true, Approver: host.ApproveAll()})
	if err != nil {
		c.t.Fatal(err)
	}
	o.Model = m
	if err := agent.Register(h, func() (*agent.Options, error) { own := o; return &own, nil }); err != nil {
		c.t.Fatal(err)
	}
	a, err := agent.New(h, &o)
	if err != nil {
		c.t.Fatal(err)
	}
	return h, a
}

// file is an agent file whose instructions begin with its mark.
func file(mark string, fields ...string) string {
	return "---\ndescription: Helps with " + mark + "\n" + strings.Join(append(fields, "---", "You are "+mark+".", ""), "\n")
}

// delegate is a reply function: the user's agent calls a named agent, which says what part returns,
// and answers with what came of it.
func delegate(name string, part func(asked string, said int) string) func(string, int) string {
	return func(asked string, said int) string {
		switch {
		case strings.Contains(asked, "the part"):
			return part(asked, said)
		case said == 0:
			return call("agent", "task", "the part", "agent", name)
		}
		return "TASK COMPLETE: done"
	}
}

// heard returns the last message that the user's agent got.
func heard(m *meteredModel) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.asked[len(m.asked)-1].Messages
	return last[len(last)-1].Text
}

// TestNamedAgent checks that an agent that is started by its name has what its file says.
func TestNamedAgent(t *testing.T) {
	t.Parallel()
	c := newCast(t, map[string]string{
		".cassidy/agents/judge.md":   file("JUDGE", "model: other", "effort: low", "tools: [read_file, list_files, agent]", "disallowedTools: list_files", "policy: strict", "output_schema: {type: object, required: [score]}"),
		".cassidy/agents/user.md":    file("USER", "mode: primary"),
		".cassidy/agents/secret.md":  file("SECRET", "hidden: true"),
		".cassidy/agents/disable.md": file("DISABLED", "disable: true"),
	})
	strict := agent.Policy{Name: "strict"}
	strict.Script.Source = "load(\"lib/loop.star\", \"finish\", \"limits\", \"work\")\n\ndef policy(task, agent):\n" +
		"    n, schema = limits(agent, 4)\n    return finish(agent, schema, work(agent, \"STRICT \" + agent.prompt(task, iterations = n), n))\n"
	strict.Script.Path, strict.Script.Libs = "policies/strict.star", agent.PolicyLibs()
	other := &meteredModel{reply: func(string, int) string { return `TASK COMPLETE: {"score": 7}` }}
	m := &meteredModel{reply: delegate("judge", nil)}
	_, a := c.open(m, agent.Options{
		Models: func(_ context.Context, name string) (model.Model, error) {
			if name != "other" {
				t.Errorf("the model %s was opened", name)
			}
			return other, nil
		},
		Policies: func(name string) (agent.Policy, error) {
			if name == "strict" {
				return strict, nil
			}
			return agent.Builtin(name)
		},
		Tools: []string{"agent", "read_file", "list_files", "write_file"},
	})
	r, err := a.Run(t.Context(), "do it")
	if err != nil || r.Text != "done" {
		t.Fatalf("the turn = %q, %v", r.Text, err)
	}
	if got := heard(m); !strings.Contains(got, `{"score": 7}`) {
		t.Errorf("the caller heard %q, want the value", got)
	}
	first := m.asked[0].Messages[0].Text
	if !strings.Contains(first, "- judge: Helps with JUDGE") || strings.Contains(first, "USER") || strings.Contains(first, "SECRET") || strings.Contains(first, "DISABLED") {
		t.Errorf("the model was told of the agents:\n%s", first)
	}
	asked := other.asked[0]
	text := asked.Messages[0].Text
	if asked.Effort != "low" || !strings.HasPrefix(text, "STRICT ") || !strings.Contains(text, "You are JUDGE.") {
		t.Errorf("the agent was asked with effort %q:\n%s", asked.Effort, text)
	}
	for name, want := range map[string]bool{"### read_file": true, "### list_files": false, "### write_file": false, "### agent": false} {
		if strings.Contains(text, name) != want {
			t.Errorf("the agent has %s: %v, want %v", name, !want, want)
		}
	}
}

// TestNamedAgentRefused checks what a model hears of an agent that cannot be started. Its turn goes
// on.
func TestNamedAgentRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, field, want string
	}{
		{"jugde", "", `unknown agent "jugde"; did you mean "judge"?`},
		{"user", "", `unknown agent "user"`},
		{"judge", "model: sonnet", "start the agent 'judge': the model sonnet cannot be opened"},
		{"judge", "effort: huge", `unknown effort "huge"`},
		{"judge", "policy: nobody", `unknown policy "nobody"`},
		{"judge", "limits: {cost: 1}", "in the file of the agent 'judge', remove limits.cost"},
	} {
		c := newCast(t, map[string]string{".cassidy/agents/judge.md": file("JUDGE", tt.field), ".cassidy/agents/user.md": file("USER", "mode: primary")})
		m := &meteredModel{reply: delegate(tt.name, func(string, int) string { return "TASK COMPLETE: no" })}
		_, a := c.open(m, agent.Options{})
		if r, err := a.Run(t.Context(), "do it"); err != nil || r.Text != "done" {
			t.Errorf("%s: the turn = %q, %v", tt.want, r.Text, err)
		}
		if got := heard(m); !strings.Contains(got, tt.want) {
			t.Errorf("the caller heard %q, want %q", got, tt.want)
		}
	}
}

// TestNamedAgentRights checks that the rules of an agent file hold for its calls, and that it gets
// no tool that its caller does not have.
func TestNamedAgentRights(t *testing.T) {
	t.Parallel()
	write := call("write_file", "filepath", "a.txt", "content", "x")
	for _, tt := range []struct {
		fields, tools string
		want          string // in what the agent hears
		written       bool
	}{
		{"", "write_file", "Result", true},
		{"permissions: {deny: [fs.write]}", "write_file", "refused by a rule: deny fs.write (.cassidy/agents/worker.md)", false},
		{"permissions: {deny: ['fs.write:a.*']}", "write_file", "refused by a rule", false},
		{"permissionMode: plan", "write_file", "refused by a rule", false},
		{"permission: {edit: deny}", "write_file", "refused by a rule", false},
		{"permissionMode: bypassPermissions", "read_file", "Tool 'write_file' not available", false},
		{"tools: [write_file]", "read_file", "Tool 'write_file' not available", false},
		{"tools: Read", "write_file", "Tool 'write_file' not available", false},
	} {
		c := newCast(t, map[string]string{".cassidy/agents/worker.md": file("WORKER", tt.fields)})
		said := ""
		m := &meteredModel{}
		m.reply = delegate("worker", func(_ string, n int) string {
			if n == 0 {
				return write
			}
			said = heard(m)
			return "TASK COMPLETE: part"
		})
		_, a := c.open(m, agent.Options{Tools: []string{"agent", tt.tools}})
		if r, err := a.Run(t.Context(), "do it"); err != nil || r.Text != "done" {
			t.Errorf("%s: the turn = %q, %v", tt.fields, r.Text, err)
		}
		_, err := os.Stat(filepath.Join(c.dir, "a.txt"))
		if !strings.Contains(strings.ToLower(said), strings.ToLower(tt.want)) || (err == nil) != tt.written {
			t.Errorf("%s: the agent heard %q, written %v; want %q, %v", tt.fields, said, err == nil, tt.want, tt.written)
		}
	}
}

// TestNamedAgentEnds checks that an agent that does not end by itself is ended by the limits of its
// file, and that the run of its caller continues.
func TestNamedAgentEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fields   string
		want     string // in what the caller hears
		requests int    // of the agent
	}{
		{"maxTurns: 3", "max_iterations", 3},
		{"limits: {requests: 2}", "the agent 'worker' reached its limit of 2 requests to models", 2},
		{"limits: {tokens: 250}", "the agent 'worker' reached its limit of 250 tokens: it used 330", 3},
		{"limits: {cost: 0.035}", "the agent 'worker' reached its limit of $0.0350: it cost $0.0400", 4},
	} {
		c := newCast(t, map[string]string{".cassidy/agents/worker.md": file("WORKER", tt.fields), "a.txt": "x"})
		asked := 0
		m := &meteredModel{price: cents, reply: delegate("worker", func(_ string, n int) string {
			asked++
			return call("list_files", "directory", strings.Repeat("./", n+1))
		})}
		_, a := c.open(m, agent.Options{})
		r, err := a.Run(t.Context(), "do it")
		if err != nil || r.Text != "done" || asked != tt.requests {
			t.Errorf("%s: the turn = %q, %v after %d requests of the agent, want %d", tt.fields, r.Text, err, asked, tt.requests)
		}
		if got := heard(m); !strings.Contains(got, tt.want) {
			t.Errorf("%s: the caller heard %q, want %q", tt.fields, got, tt.want)
		}
	}
}

// A silentModel answers nothing until its context ends.
type silentModel struct{ meteredModel }

func (m *silentModel) Ask(ctx context.Context, _ *model.Request) (*model.Reply, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestNamedAgentTime checks the time of an agent whose model is silent.
func TestNamedAgentTime(t *testing.T) {
	t.Parallel()
	c := newCast(t, map[string]string{".cassidy/agents/worker.md": file("WORKER", "limits: {time: 20ms}", "model: silent")})
	m := &meteredModel{reply: delegate("worker", nil)}
	_, a := c.open(m, agent.Options{Models: func(context.Context, string) (model.Model, error) { return &silentModel{}, nil }})
	r, err := a.Run(t.Context(), "do it")
	if err != nil || r.Text != "done" {
		t.Errorf("the turn = %q, %v", r.Text, err)
	}
	if got := heard(m); !strings.Contains(got, "the agent 'worker' did not end within 20ms") {
		t.Errorf("the caller heard %q", got)
	}
}

// TestNamedAgentCalls checks the limit of calls of tools.
func TestNamedAgentCalls(t *testing.T) {
	t.Parallel()
	c := newCast(t, map[string]string{".cassidy/agents/worker.md": file("WORKER", "limits: {tool_calls: 2}"), "a.txt": "x"})
	var results []string
	m := &meteredModel{}
	m.reply = delegate("worker", func(_ string, n int) string {
		if n > 0 {
			results = append(results, heard(m))
		}
		if n == 3 {
			return "TASK COMPLETE: part"
		}
		return call("read_file", "filepath", "a.txt", "start_line", int64(n+1))
	})
	_, a := c.open(m, agent.Options{})
	if r, err := a.Run(t.Context(), "do it"); err != nil || r.Text != "done" {
		t.Fatalf("the turn = %q, %v", r.Text, err)
	}
	const limit = "the agent 'worker' has reached its limit of 2 calls of tools"
	if len(results) != 3 || strings.Contains(results[1], limit) || !strings.Contains(results[2], limit) {
		t.Errorf("the agent heard %q, want that the third call is refused", results)
	}
}

// TestAgentsInACircle checks that agents that call each other end at the depth of the options.
func TestAgentsInACircle(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{1, 3} {
		c := newCast(t, map[string]string{".cassidy/agents/ping.md": file("PING"), ".cassidy/agents/pong.md": file("PONG")})
		started := 0
		m := &meteredModel{reply: func(asked string, said int) string {
			other := "ping"
			if strings.Contains(asked, "You are PING.") {
				other = "pong"
			}
			if said > 0 {
				return "TASK COMPLETE: done"
			}
			started++
			return call("agent", "task", "again", "agent", other)
		}}
		_, a := c.open(m, agent.Options{Depth: depth})
		if r, err := a.Run(t.Context(), "do it"); err != nil || r.Text != "done" {
			t.Errorf("depth %d: the turn = %q, %v", depth, r.Text, err)
		}
		if started != depth+1 {
			t.Errorf("depth %d: %d agents, want %d", depth, started, depth+1)
		}
	}
}

// TestNamedAgentResumed interrupts a run before each request, changes the agent file and its policy,
// and resumes the run in another process: it continues with the agent as it was, and the limits of
// the agent count what it used before.
func TestNamedAgentResumed(t *testing.T) {
	t.Parallel()
	policy := func(mark string) agent.Policy {
		p, err := agent.Builtin("task")
		if err != nil {
			t.Fatal(err)
		}
		p.Name, p.Location = "own", tool.Project
		p.Script.Source = strings.Replace(p.Script.Source, "agent.prompt(task,", `"`+mark+` " + agent.prompt(task,`, 1)
		return p
	}
	for stop := 1; stop <= 5; stop++ {
		c := newCast(t, map[string]string{".cassidy/agents/worker.md": file("WORKER", "policy: own", "limits: {requests: 3}"), "a.txt": "x"})
		var prompts []string
		m := &meteredModel{reply: delegate("worker", func(asked string, n int) string {
			if n == 0 {
				prompts = append(prompts, asked)
			}
			return call("list_files", "directory", strings.Repeat("./", n+1))
		})}
		now := policy("FIRST")
		o := agent.Options{Policies: func(name string) (agent.Policy, error) {
			if name == "own" {
				return now, nil
			}
			return agent.Builtin(name)
		}}
		ctx, cancel := context.WithCancel(t.Context())
		m.stop, m.stopAt = cancel, stop
		h, a := c.open(m, o)
		s, err := a.Session(t.Context(), "work")
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Send(ctx, "do it"); r.Reason != agent.ReasonInterrupted {
			t.Fatalf("stop %d: the turn ended with %s, %v", stop, r.Reason, err)
		}
		h.Close()
		now = policy("SECOND")
		c.write(".cassidy/agents/worker.md", file("ANOTHER", "tools: []"))
		h, _ = c.open(m, o)
		r, err := agent.Resume(t.Context(), h, "work")
		if err != nil || r.Text != "done" || r.Usage.Requests != 5 {
			t.Errorf("stop %d: the resumed turn = %q, %v, %d requests, want 5", stop, r.Text, err, r.Usage.Requests)
		}
		if got := heard(m); !strings.Contains(got, "reached its limit of 3 requests") {
			t.Errorf("stop %d: the caller heard %q", stop, got)
		}
		if len(prompts) == 0 || slices.ContainsFunc(prompts, func(p string) bool {
			return !strings.HasPrefix(p, "FIRST ") || !strings.Contains(p, "You are WORKER.") || !strings.Contains(p, "list_files")
		}) {
			t.Errorf("stop %d: the agent was asked %q", stop, prompts)
		}
	}
}

// TestAs checks that an agent that is itself defined by a file has its instructions, tools, rules
// and limits, also after it was resumed with another file.
func TestAs(t *testing.T) {
	t.Parallel()
	c := newCast(t, nil)
	as := &cassidy.AgentDefinition{
		Name: "own", Description: "d", Prompt: "You are OWN.", Tools: []string{"write_file"}, Effort: "high",
		Rules: []cassidy.Rule{{Verdict: cassidy.Deny, Capability: cassidy.Capability{Name: "fs.write", Target: "a.txt"}}},
	}
	var results []string
	m := &meteredModel{}
	m.reply = func(_ string, said int) string {
		if said > 0 {
			results = append(results, heard(m))
		}
		return []string{call("write_file", "filepath", "b.txt", "content", "x"), call("write_file", "filepath", "a.txt", "content", "x"), "TASK COMPLETE: done"}[said]
	}
	ctx, cancel := context.WithCancel(t.Context())
	m.stop, m.stopAt = cancel, 2
	h, a := c.open(m, agent.Options{As: as})
	s, err := a.Session(t.Context(), "work")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Send(ctx, "do it"); r.Reason != agent.ReasonInterrupted {
		t.Fatalf("the turn ended with %s, %v", r.Reason, err)
	}
	h.Close()
	h, _ = c.open(m, agent.Options{})
	if r, err := agent.Resume(t.Context(), h, "work"); err != nil || r.Text != "done" {
		t.Fatalf("the resumed turn = %q, %v", r.Text, err)
	}
	for _, r := range m.asked {
		if text := r.Messages[0].Text; r.Effort != "high" || !strings.Contains(text, "You are OWN.") || strings.Contains(text, "read_file") {
			t.Errorf("asked with effort %q:\n%s", r.Effort, text)
		}
	}
	if len(results) != 2 || !strings.Contains(results[1], "refused by a rule: deny fs.write:a.txt") {
		t.Errorf("results %q, want that only a.txt is refused", results)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "b.txt")); err != nil {
		t.Error(err)
	}
}

// TestAsInASession checks that a conversation which another agent continues has the instructions of
// that agent.
func TestAsInASession(t *testing.T) {
	t.Parallel()
	c := newCast(t, nil)
	m := &meteredModel{reply: func(string, int) string { return "hello" }}
	for i, mark := range []string{"ONE", "TWO", "TWO"} {
		h, a := c.open(m, agent.Options{As: &cassidy.AgentDefinition{Name: "own", Description: "d", Prompt: "You are " + mark + "."}, Policy: "chat", Tools: []string{}})
		s, err := a.Session(t.Context(), "talk")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Send(t.Context(), "hi"); err != nil {
			t.Fatal(err)
		}
		if got := heard(m); strings.Contains(got, "You are "+mark+".") != (i < 2) {
			t.Errorf("turn %d: the model got %q", i+1, got)
		}
		h.Close()
	}
}

// TestNamedAgentInAScript checks that a script starts an agent by its name.
func TestNamedAgentInAScript(t *testing.T) {
	t.Parallel()
	c := newCast(t, map[string]string{
		".cassidy/agents/judge.md": file("JUDGE", "output_schema: int"),
		".cassidy/tools/ask.star":  "def ask():\n    \"\"\"Ask.\"\"\"\n    return tools.agent(task = \"the part\", agent = \"judge\") + 1\n\ntool(ask, needs = [\"tool:agent\", \"model\"])\n",
	})
	m := &meteredModel{reply: func(asked string, _ int) string {
		if !strings.Contains(asked, "You are JUDGE.") {
			t.Errorf("asked:\n%s", asked)
		}
		return "TASK COMPLETE: 6"
	}}
	h, _ := c.open(m, agent.Options{})
	r, err := h.Call(t.Context(), cassidy.Call{Tool: "ask", Caller: cassidy.ByPerson})
	if err != nil || !value.Equal(r.Value, int64(7)) {
		t.Errorf("the script returned %T %v, %v, want 7", r.Value, r.Value, err)
	}
}
