package agent_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testutil"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/hooks"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// hooked returns a setting of an agent with hooks.
func hooked(source string, replies ...any) setting {
	return setting{
		files: twoFiles, approve: host.ApproveAll(), replies: replies,
		options: agent.Options{Hooks: []hooks.File{{Path: "hooks.star", Source: source}}},
	}
}

// TestHooksOfCalls checks what the model gets of hooks, in each format.
func TestHooksOfCalls(t *testing.T) {
	t.Parallel()
	source := `
def before_tool(call):
    path = call["args"].get("filepath", "")
    if path == "secret.txt":
        return {"deny": "secret.txt is private"}
    if call["tool"] == "write_file" and not path.startswith("out/"):
        return {"edit": {"filepath": "out/" + path}}

def after_tool(call, result):
    if call["tool"] == "read_file":
        return {"note": "it was read"}
`
	for _, native := range []bool{false, true} {
		writes := value.NewDict("filepath", "x.txt", "content", "x")
		replies := play{call("read_file", "filepath", "secret.txt"), call("write_file", "filepath", "x.txt", "content", "x"), readsA(), "TASK COMPLETE: done"}
		if native {
			replies = play{calls("", "read_file", value.NewDict("filepath", "secret.txt")), calls("", "write_file", writes), calls("", "read_file", value.NewDict("filepath", "a.txt")), "done"}
		}
		set := hooked(source, replies...)
		set.native = native
		s := newStage(t, set)
		r, err := s.turn(context.Background(), "do it")
		if err != nil || r.Text != "done" || len(r.Calls) != 3 || r.Calls[0].Success || !r.Calls[1].Success {
			t.Errorf("the turn gave %+v, %v", r, err)
		}
		if s.file("out/x.txt") != "x" || s.file("x.txt") != "none" {
			t.Errorf("it wrote %q and %q, want only the first", s.file("out/x.txt"), s.file("x.txt"))
		}
		for _, want := range []string{
			"the call of read_file was refused by the hook before_tool: secret.txt is private",
			"Note: A hook of the user changed the arguments. The call was made as write_file(filepath=\"out/x.txt\"",
			"Note: it was read",
			"hook run hook=\"before_tool\" action=\"edited\" path=\"hooks.star\" target=\"write_file\"",
		} {
			if !strings.Contains(s.log.String(), want) {
				t.Errorf("native %v: there is no %q in\n%s", native, want, s.log.String())
			}
		}
	}
}

// TestHooksOfParallelCalls checks that each call of a reply has its own notes and refusals, also in a
// recorded run.
func TestHooksOfParallelCalls(t *testing.T) {
	t.Parallel()
	set := hooked(`
def before_tool(call):
    path = call["args"]["filepath"]
    return {"deny": "not " + path} if path == "none.txt" else {"note": "note on " + path}
`, calls("", "read_file", value.NewDict("filepath", "a.txt"), "read_file", value.NewDict("filepath", "none.txt"), "read_file", value.NewDict("filepath", "b.txt")), "done")
	set.native, set.store = true, true
	set.files = map[string]string{"a.txt": "A", "b.txt": "B"}
	s := newStage(t, set)
	r, err := s.turn(context.Background(), "do it")
	if err != nil || len(r.Calls) != 3 || !r.Calls[0].Success || r.Calls[1].Success || !r.Calls[2].Success {
		t.Fatalf("the turn gave %+v, %v", r, err)
	}
	for i, want := range []string{"Note: note on a.txt", "by the hook before_tool: not none.txt", "Note: note on b.txt"} {
		text := s.session.Messages()[2+i].Text
		if !strings.Contains(text, want) || strings.Count(text, "Note: ")+strings.Count(text, "by the hook before_tool: ") != 1 {
			t.Errorf("the result of call %d is %q, want %q and no other note", i, text, want)
		}
	}
}

// TestHooksBelow checks that hooks watch what sub-agents and the tools of a project call.
func TestHooksBelow(t *testing.T) {
	t.Parallel()
	set := hooked("def before_tool(call):\n    if call['tool'] == 'read_file': return {'deny': call['caller'] + ' may not'}\n",
		call("agent", "task", "read a.txt"), readsA(), "TASK COMPLETE: sub", call("outer"), "TASK COMPLETE: done")
	set.files = map[string]string{"a.txt": "one", ".cassidy/tools/outer.star": "def outer():\n    \"\"\"Read.\"\"\"\n    return attempt(tools.read_file, filepath = \"a.txt\")[\"error\"]\n\ntool(outer, needs = [\"tool\", \"fs.read\"])\n"}
	set.before = func(s *stage, o *agent.Options) {
		withAgents(s, o)
		o.Tools = append(o.Tools, "outer")
	}
	s := newStage(t, set)
	r, err := s.turn(context.Background(), "do it")
	if err != nil || r.Text != "done" {
		t.Fatalf("the turn gave %+v, %v\n%s", r, err, s.log.String())
	}
	for _, want := range []string{"before_tool: model may not", "before_tool: script may not"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("there is no %q in\n%s", want, s.log.String())
		}
	}
	if n := strings.Count(s.log.String(), "action=\"denied\""); n != 2 {
		t.Errorf("there were %d refusals, want 2", n)
	}
}

// TestHooksApproveNothing checks that the changed call is what is approved.
func TestHooksApproveNothing(t *testing.T) {
	t.Parallel()
	var asked string
	set := hooked(`def before_tool(call): return {"edit": {"filepath": "other.txt"}}`, call("write_file", "filepath", "x.txt", "content", "x"), "TASK COMPLETE: done")
	set.approve = host.ApproverFunc(func(_ context.Context, q tool.Question) (tool.Answer, error) {
		asked = value.FormatJSON(q.Args, "")
		return tool.Answer{}, nil
	})
	s := newStage(t, set)
	if _, err := s.turn(context.Background(), "do it"); err != nil || !strings.Contains(asked, `"filepath":"other.txt"`) {
		t.Errorf("the approval was about %s, %v", asked, err)
	}
	if s.file("other.txt") != "none" || s.file("x.txt") != "none" {
		t.Error("a call that nobody approved was made")
	}
}

// TestHooksOfRequests checks before_ask: its notes stay in the conversation, and a refusal ends the
// turn before the request.
func TestHooksOfRequests(t *testing.T) {
	t.Parallel()
	s := newStage(t, hooked(`def before_ask(request): return {"note": "message %d" % len(request["messages"])}`, readsA(), "TASK COMPLETE: done"))
	if r, err := s.turn(context.Background(), "do it"); err != nil || r.Text != "done" {
		t.Fatalf("the turn gave %+v, %v", r, err)
	}
	all := s.session.Messages()
	if !strings.HasSuffix(all[0].Text, "\n\nNote: message 1") || !strings.HasSuffix(all[2].Text, "\n\nNote: message 3") {
		t.Errorf("the conversation is %v", all)
	}
	s = newStage(t, hooked(`def before_ask(request): return {"deny": "no more"}`, "TASK COMPLETE: done"))
	if r, err := s.turn(context.Background(), "do it"); value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), "no more") || r.Success() {
		t.Errorf("the turn gave %+v, %v, want an error of kind Denied", r, err)
	}
	if strings.Contains(s.log.String(), "model_reply") {
		t.Error("the model was asked")
	}
}

// TestHooksOfAnswers checks on_stop: the agent continues with the reason, ends after three
// refusals, and no policy can evade it.
func TestHooksOfAnswers(t *testing.T) {
	t.Parallel()
	const source = `def on_stop(run): return None if "tested" in run["answer"] else {"deny": "test it first"}`
	for _, replies := range []play{
		{"TASK COMPLETE: done", readsA(), "TASK COMPLETE: tested"},
		{call("task_complete", "summary", "done"), "TASK COMPLETE: tested"},
	} {
		set := hooked(source, replies...)
		set.options.Tools = []string{"read_file", "task_complete"}
		s := newStage(t, set)
		r, err := s.turn(context.Background(), "do it")
		if err != nil || r.Reason != agent.ReasonFinal || r.Text != "tested" || !strings.Contains(s.log.String(), "A hook of the user refused your answer: test it first") {
			t.Errorf("the turn gave %+v, %v\n%s", r, err, s.log.String())
		}
	}
	s := newStage(t, hooked(source, "TASK COMPLETE: a", "TASK COMPLETE: b", "TASK COMPLETE: c", "TASK COMPLETE: tested"))
	if r, err := s.turn(context.Background(), "do it"); err != nil || r.Reason != agent.ReasonDenied || r.Text != "c" || r.Iterations != 3 {
		t.Errorf("after three refusals the turn gave %+v, %v", r, err)
	}
	set := hooked(source, call("task_complete", "summary", "a"), call("task_complete", "summary", "b"), call("task_complete", "summary", "c"))
	set.options.Tools = []string{"task_complete"}
	s = newStage(t, set)
	if r, err := s.turn(context.Background(), "do it"); err != nil || r.Reason != agent.ReasonDenied || r.Text != "c" {
		t.Errorf("after three refusals the turn gave %+v, %v", r, err)
	}
	for _, result := range []string{`agent.finish("final", "x")`, `"x"`} {
		set := hooked(source)
		set.options.Policies = func(string) (agent.Policy, error) {
			return agent.Policy{Name: "own", Script: tool.Script{Name: "own", Path: "own.star", Source: "def policy(task, agent):\n    return " + result + "\n"}, Location: tool.Project}, nil
		}
		s := newStage(t, set)
		if r, err := s.turn(context.Background(), "do it"); err == nil || r.Success() {
			t.Errorf("a policy that returns %s gave %+v, want an error", result, r)
		}
	}
	set = hooked("def on_stop(run): fail('no')", "TASK COMPLETE: done")
	s = newStage(t, set)
	if r, err := s.turn(context.Background(), "do it"); value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), "the hook on_stop in hooks.star:1") {
		t.Errorf("a hook that fails gave %+v, %v", r, err)
	}
}

// TestHooksInGo checks that the options of a program do the same.
func TestHooksInGo(t *testing.T) {
	t.Parallel()
	var stops []hooks.Stop
	s := newStage(t, setting{files: twoFiles, approve: host.ApproveAll(), replies: play{"TASK COMPLETE: a", "TASK COMPLETE: b", "short"}, options: agent.Options{
		OnStop: func(_ context.Context, s hooks.Stop) (string, error) {
			if stops = append(stops, s); s.Answer == "a" {
				return "b is better", nil
			}
			return "", nil
		},
		OnCompact: func(_ context.Context, summary string) (string, error) {
			if summary == "" {
				return "", errors.New("empty")
			}
			return strings.ToUpper(summary), nil
		},
	}})
	if r, err := s.turn(context.Background(), "do it"); err != nil || r.Text != "b" || len(stops) != 2 || stops[1].Iterations != 2 || stops[0].Task != "do it" {
		t.Errorf("the turn gave %+v, %v after %v", r, err, stops)
	}
	if _, _, err := s.session.Compact(context.Background()); err != nil || !strings.Contains(s.session.Messages()[0].Text, "SHORT") {
		t.Errorf("compacting gave %v and %v", err, s.session.Messages())
	}
}

// TestHooksOfCompactions checks on_compact in a session.
func TestHooksOfCompactions(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`def on_compact(summary): return {"note": "keep this"}`:        "short\n\nNote: keep this",
		`def on_compact(summary): return {"edit": {"summary": "new"}}`: "new",
	} {
		s := newStage(t, hooked(source, "TASK COMPLETE: a", "short"))
		if _, err := s.turn(context.Background(), "do it"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.session.Compact(context.Background()); err != nil || !strings.Contains(s.session.Messages()[0].Text, want) {
			t.Errorf("compacting gave %v and %v, want %q", err, s.session.Messages(), want)
		}
	}
	s := newStage(t, hooked(`def on_compact(summary): return {"deny": "too short"}`, "TASK COMPLETE: a", "short"))
	if _, err := s.turn(context.Background(), "do it"); err != nil {
		t.Fatal(err)
	}
	before := len(s.session.Messages())
	if _, _, err := s.session.Compact(context.Background()); err == nil || !strings.Contains(err.Error(), "too short") || len(s.session.Messages()) != before {
		t.Errorf("compacting gave %v", err)
	}
}

// TestBrokenHooks checks that an agent is not made with a file that is not of hooks.
func TestBrokenHooks(t *testing.T) {
	t.Parallel()
	s := newStage(t, setting{})
	o := agent.Options{Model: s.model(false, nil), Hooks: []hooks.File{{Path: "h.star", Source: "x = 1"}}}
	if _, err := agent.New(s.Host, &o); value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), "h.star") {
		t.Errorf("New gave %v", err)
	}
	o.Hooks[0].Source = "def on_stop(run): return nothing"
	a, err := agent.New(s.Host, &o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "h.star:1") {
		t.Errorf("Check gave %v", err)
	}
}

// TestHooksSurviveTheirProcess ends the process of a task after each effect, and resumes it in one
// whose hooks refuse everything: the task has the hooks with which it began.
func TestHooksSurviveTheirProcess(t *testing.T) {
	t.Parallel()
	all := func(o *cassidy.Options) { o.Approver = host.ApproveAll() }
	desk := func() *desk {
		d := newDesk(t)
		d.hooks = []hooks.File{{Path: "hooks.star", Source: `
def before_tool(call):
    path = call["args"].get("filepath", "")
    if call["tool"] == "write_file" and path.endswith(".txt") and "/" not in path:
        return {"edit": {"filepath": "out/" + path}}
    return {"note": "called " + call["tool"]}

def after_tool(call, result):
    return {"note": "it is %s" % result["success"]}

def before_ask(request):
    return {"note": "request with %d messages" % len(request["messages"])}

def on_stop(run):
    if run["depth"] == 0 and run["answer"] == "done":
        return {"deny": "say more"}
`}}
		d.replies = map[string][]string{
			"Do it": {
				program(`write_file(filepath = "a.txt", content = "one")`, `return read_file(filepath = "out/a.txt")`),
				`{"tool_decision": {"action": "agent", "input": {"task": "Do a part"}}}`, "TASK COMPLETE: done", "TASK COMPLETE: done, really",
			},
			"Do a part": {`{"tool_decision": {"action": "write_file", "input": {"filepath": "c.txt", "content": "three"}}}`, "TASK COMPLETE: part"},
		}
		return d
	}
	whole := desk()
	want, steps, err := whole.work("Do it", false, 0, all)
	if err != nil || want.Text != "done, really" || whole.file("out/a.txt") != "one" || whole.file("out/c.txt") != "three" || whole.file("c.txt") != "" {
		t.Fatalf("the task gave %+v, %v", want, err)
	}
	for _, dies := range testutil.Sample(countFrom(1, steps), 4) {
		d := desk()
		if _, _, err := d.work("Do it", false, dies, all); err == nil {
			continue // all that it had to do was done
		}
		d.hooks = []hooks.File{{Path: "hooks.star", Source: "def before_tool(call): return {'deny': 'changed'}\ndef before_ask(request): return {'deny': 'changed'}"}}
		got, _, err := d.work("Do it", true, 0, all)
		if err != nil || got.Text != want.Text || d.file("out/a.txt") != "one" || d.file("out/c.txt") != "three" {
			t.Errorf("killed at step %d: it gave %+v, %v", dies, got, err)
			continue
		}
		if d.asked != "" && d.asked != whole.asked {
			t.Errorf("killed at step %d: the model was asked\n%s\nwant\n%s", dies, d.asked, whole.asked)
		}
	}
}

// adder is a tool of a project whose parameter has a name.
func adder(param string) string {
	return "def add(" + param + ": str):\n    \"\"\"Add a line.\"\"\"\n    return \"added \" + " + param + "\n\ntool(add)\n"
}

// TestHooksWithTheToolsOfTheRun checks that hooks get the calls of a run for the tools with which it
// began, although their files have changed since.
func TestHooksWithTheToolsOfTheRun(t *testing.T) {
	t.Parallel()
	set := hooked(`def before_tool(call): return {"note": "args " + str(call["args"])} if call["tool"] == "add" else None`,
		call("change"), call("add", "line", "x"), "TASK COMPLETE: done")
	set.files = map[string]string{".cassidy/tools/add.star": adder("line")}
	set.before = func(s *stage, o *agent.Options) {
		o.Tools = []string{"add", "change"}
		if err := s.Register(tool.Tool{Name: "change", Description: "Change the other tool."}, func(ctx context.Context, _ *value.Dict) (value.Value, error) {
			s.write(".cassidy/tools/add.star", adder("text"))
			return nil, s.Refresh(ctx)
		}); err != nil {
			t.Fatal(err)
		}
	}
	s := newStage(t, set)
	r, err := s.turn(context.Background(), "do it")
	if err != nil || len(r.Calls) != 2 || !r.Calls[1].Success || !strings.Contains(s.log.String(), `Note: args {"line": "x"}`) {
		t.Errorf("the turn gave %+v, %v\n%s", r, err, s.log.String())
	}
	if now, err := s.Tool("add"); err != nil || now.Params[0].Name != "text" {
		t.Errorf("the tool did not change: %+v, %v", now, err)
	}
}

// TestHooksWithPinnedTools ends the process of a task after it has called a tool, changes the tool, and
// resumes the task: its hooks get the calls for the tool as the task has first called it.
func TestHooksWithPinnedTools(t *testing.T) {
	t.Parallel()
	all := func(o *cassidy.Options) { o.Approver = host.ApproveAll() }
	pinned := 0
	for dies := 1; pinned == 0; dies++ {
		d := newDesk(t)
		d.tools = []string{"add"}
		d.hooks = []hooks.File{{Path: "hooks.star", Source: `def before_tool(call): return {"note": "args " + str(call["args"])} if call["tool"] == "add" else None`}}
		d.replies = map[string][]string{"Do it": {
			`{"tool_decision": {"action": "add", "input": {"line": "x"}}}`, program(`write_file(filepath = "a.txt", content = "one")`),
			`{"tool_decision": {"action": "add", "input": {"line": "y"}}}`, "TASK COMPLETE: done",
		}}
		tools := filepath.Join(d.dir, ".cassidy", "tools")
		write := func(param string) {
			if err := cmp.Or(os.MkdirAll(tools, 0o700), os.WriteFile(filepath.Join(tools, "add.star"), []byte(adder(param)), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		write("line")
		if _, _, err := d.work("Do it", false, dies, all); err == nil {
			t.Fatalf("no process died after the first call was recorded, in %d runs", dies)
		}
		write("text")
		r, _, err := d.work("Do it", true, 0, all)
		if err != nil || len(r.Calls) != 3 {
			t.Fatalf("killed at step %d: the resumed task gave %+v, %v", dies, r, err)
		}
		if !r.Calls[0].Success {
			continue // the call was made again, with the tool as it is now
		}
		pinned++
		if !r.Calls[2].Success || !strings.Contains(d.asked, `Note: args {\"line\": \"y\"}`) {
			t.Errorf("killed at step %d: the resumed task gave %+v, and its model was asked\n%s", dies, r, d.asked)
		}
	}
}
