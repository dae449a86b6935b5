package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/eval"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// tries makes results of one format: each a number of iterations, negative for
// one that failed, and how many of its two calls were as they were asked for.
func tries(f decision.Format, asAsked int, iterations ...int) []eval.Result {
	var list []eval.Result
	for _, n := range iterations {
		list = append(list, eval.Result{Format: f, Task: "simple", Success: n > 0, Iterations: max(n, -n), CallsRead: 2, AsAsked: asAsked})
	}
	return list
}

func TestPreferredFormat(t *testing.T) {
	cases := []struct {
		name string
		a, b []eval.Result // the first and the second format
		want decision.Format
	}{
		{"nothing was tried", nil, nil, ""},
		{"nothing succeeded", tries("a", 2, -1, -2), tries("b", 2, -1), ""},
		{"one succeeds more often", tries("a", 2, 2, -2), tries("b", 0, 3, 3), "b"},
		{"more in number, less in rate", tries("a", 2, 2, 2, -2), tries("b", 2, 2), "b"},
		{"one is kept to", tries("a", 0, 2), tries("b", 2, 3), "b"},
		{"one is quicker", tries("a", 2, 3, 3), tries("b", 2, 2, 3), "b"},
		{"both alike", tries("a", 2, 2), tries("b", 2, 2), "a"},
	}
	for _, c := range cases {
		if got := eval.Preferred(eval.Scores(append(c.a, c.b...))); got != c.want {
			t.Errorf("%s: preferred %q, want %q", c.name, got, c.want)
		}
	}
}

func TestScores(t *testing.T) {
	s := eval.Scores(append(tries("a", 1, 2, 3, -1), eval.Result{Format: "a", Task: "complex", Success: true, Iterations: 4}))
	if len(s) != 1 || s[0].Trials != 4 || s[0].Successes != 3 || s[0].Iterations != 3 || s[0].Rate() != 0.75 || s[0].Calls != 6 || s[0].AsAsked != 3 {
		t.Fatalf("scores = %+v", s)
	}
	want := []eval.TaskScore{{Task: "simple", Trials: 3, Successes: 2, Iterations: 2.5}, {Task: "complex", Trials: 1, Successes: 1, Iterations: 4}}
	if len(s[0].Tasks) != 2 || s[0].Tasks[0] != want[0] || s[0].Tasks[1] != want[1] {
		t.Errorf("tasks = %+v, want %+v", s[0].Tasks, want)
	}
}

// call is a decision in JSON.
func call(name string, args ...value.Value) string {
	return value.FormatJSON(value.NewDict("tool_decision",
		value.NewDict("action", name, "input", value.NewDict(args...), "reasoning", "it is needed", "status", "continue")), "")
}

// replies is a model that gives each reply once: a text or an error.
func replies(list ...any) model.Model {
	var mu sync.Mutex
	return script.New("replies", false, func(context.Context, value.List, int) (value.Value, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(list) == 0 {
			return nil, value.Errorf(value.Failed, "the model has no more replies")
		}
		next := list[0]
		list = list[1:]
		if err, ok := next.(error); ok {
			return nil, err
		}
		return next, nil
	})
}

// answering is a model that answers each conversation with a function of its first message.
func answering(name string, answer func(first string, turn int) string) model.Model {
	return script.New(name, false, func(_ context.Context, messages value.List, turn int) (value.Value, error) {
		return answer(messages[0].(*value.Dict).Text("content"), turn), nil
	})
}

// options opens models by their names, and hosts over temporary folders.
func options(t *testing.T, models map[string]model.Model) *eval.Options {
	t.Helper()
	return &eval.Options{
		Model: func(_ context.Context, name string, _ bool) (model.Model, error) {
			if m := models[name]; m != nil {
				return m, nil
			}
			return nil, value.Errorf(value.Invalid, "unknown model %q", name)
		},
		Open: func(_ context.Context, c *eval.Case) (*eval.Bench, error) {
			dir := t.TempDir()
			for name, text := range c.Files {
				file := filepath.Join(dir, filepath.FromSlash(name))
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
					return nil, err
				}
			}
			h, err := testhost.Open(t, testhost.On{Sandbox: cassidy.Inline}, dir, &cassidy.Options{Approver: cassidy.ApproveAll()})
			if err != nil {
				return nil, err
			}
			command := func(_ context.Context, line string) (eval.Ran, error) {
				return eval.Ran{ExitCode: len(line), Stdout: "ran " + line}, nil
			}
			return &eval.Bench{Host: h, Files: os.DirFS(dir), Command: command, Close: h.Close}, nil
		},
	}
}

// run runs a suite with a model, and returns its results.
func run(t *testing.T, s *eval.Suite, m model.Model) []eval.Result {
	t.Helper()
	s.Models = []string{"m"}
	r, err := s.Run(t.Context(), options(t, map[string]model.Model{"m": m}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Results
}

// TestFormatTest checks that success and failure of a try depend on what the model did.
func TestFormatTest(t *testing.T) {
	const done = "TASK COMPLETE: done"
	right, wrong := call("read_file", "filepath", "./my script.R"), call("read_file", "filepath", "my_script.R")
	cases := []struct {
		name    string
		replies []any
		success bool
		why     string
	}{
		{"it does it", []any{right, done}, true, ""},
		{"after a mistake", []any{wrong, right, done}, true, ""},
		{"it reads another file", []any{wrong, done}, false, `the result of read_file with the arguments {"filepath":"my_script.R"} does not contain "tangerine-41": `},
		{"there is no such file", []any{call("read_file", "filepath", "script.R"), done}, false, "read_file failed: read_file(filepath=\"script.R\"): File not found: script.R"},
		{"it guesses", []any{done}, false, "read_file was not called"},
		{"it takes another tool", []any{call("search_files", "pattern", "tangerine"), done}, false, "read_file was not called"},
		{"it does not end", []any{right, call("list_files"), call("list_files", "path", ".")}, false, "the run ended with the reason max_iterations"},
		{"it fails", []any{value.Errorf(value.Limit, "too much was asked")}, false, "too much was asked"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := eval.FormatTest("m", []decision.Format{decision.PureJSON}, 1, 3)
			s.Tasks = s.Tasks[1:2]
			r := run(t, s, replies(c.replies...))[0]
			if r.Success != c.success || !strings.HasPrefix(r.Why, c.why) || (r.Why == "") != (c.why == "") || r.AsAsked != r.CallsRead || r.Format != decision.PureJSON || r.Task != "moderate" {
				t.Errorf("result = %+v, want success %v, why %q", r, c.success, c.why)
			}
			if calls := len(slices.DeleteFunc(c.replies, func(v any) bool { text, ok := v.(string); return !ok || text == done })); r.CallsRead != calls {
				t.Errorf("%d calls were counted, want %d", r.CallsRead, calls)
			}
		})
	}
	if got := eval.Formats(script.New("x", true, nil)); len(got) != 4 || got[0] != decision.Native {
		t.Errorf("formats of a model with calls of its own = %q", got)
	}
}

// TestUnreachable checks that a model that is unreachable is asked once, and others are asked.
func TestUnreachable(t *testing.T) {
	asked := 0
	away := script.New("away", false, func(context.Context, value.List, int) (value.Value, error) {
		asked++
		return nil, value.Errorf(value.Unavailable, "no network")
	})
	s := eval.FormatTest("away", nil, 2, 3)
	s.Models = []string{"away", "here"}
	s.Tasks = s.Tasks[:1]
	here := answering("here", func(_ string, turn int) string { return []string{call("list_files"), "TASK COMPLETE: done"}[turn] })
	r, err := s.Run(t.Context(), options(t, map[string]model.Model{"away": away, "here": here}))
	if err != nil || asked != 1 || !r.Complete || r.Passed != 2 || r.Success() {
		t.Fatalf("the model was asked %d times; report = %+v, %v", asked, r, err)
	}
	for _, result := range r.Results {
		if want := result.Model == "here"; result.Success != want || !want && (result.Why != "no network" || result.ErrorType != value.Unavailable.Type()) {
			t.Errorf("result = %+v", result)
		}
	}
}

// suite reads a suite, which must be valid.
func suite(t *testing.T, text string) *eval.Suite {
	t.Helper()
	s, err := eval.Parse("evals.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestChecks checks each kind of check, as it passes and as it fails.
func TestChecks(t *testing.T) {
	const head = "tasks:\n- name: a\n  task: Write it\n  files: {old.txt: old}\n  checks:\n  - "
	writes := []any{call("write_file", "filepath", "new.txt", "content", "new text\n"), "TASK COMPLETE: The answer is 42."}
	cases := []struct{ check, why string }{
		{"answer: 42", ""},
		{"answer: {equals: The answer is 42.}", ""},
		{"answer: {equals: 42}", `the answer is "The answer is 42.", not "42"`},
		{"answer: [answer, 43]", `the answer does not contain "43": "The answer is 42."`},
		{"answer: {lacks: 42}", `the answer contains "42"`},
		{`answer: {matches: '\d{2}\.$'}`, ""},
		{`answer: {matches: '^\d+$'}`, `the answer does not match "^\\d+$": "The answer is 42."`},
		{"file: new.txt", ""},
		{"file: {path: new.txt, equals: new text}", ""},
		{"file: {path: new.txt, contains: old}", `the file new.txt does not contain "old": "new text"`},
		{"file: none.txt", "the file none.txt does not exist"},
		{"file: {path: none.txt, exists: false}", ""},
		{"file: {path: old.txt, exists: false}", "the file old.txt exists"},
		{"call: write_file", ""},
		{"call: {tool: write-file, arguments: {filepath: new.txt}}", ""},
		{"call: {tool: write_file, arguments: {filepath: old.txt}}", `write_file was called with other arguments: {"filepath":"new.txt","content":"new text\n"}`},
		{"call: read_file", "read_file was not called"},
		{"not_called: read_file", ""},
		{"not_called: write_file", `write_file was called with the arguments {"filepath":"new.txt","content":"new text\n"}`},
		{"command: {run: abc, exit_code: 3, contains: ran abc}", ""},
		{"command: abc", `the command "abc" ended with the exit code 3, not 0: "ran abc"`},
		{"command: {run: abc, exit_code: 3, equals: x}", `the output of "abc" is "ran abc", not "x"`},
	}
	for _, c := range cases {
		r := run(t, suite(t, head+c.check), replies(slices.Clone(writes)...))[0]
		if r.Why != c.why || r.Success != (c.why == "") {
			t.Errorf("%s: success %v, why %q, want %q", c.check, r.Success, r.Why, c.why)
		}
	}
}

// TestNotRun checks that commands and judges are not asked about a case that has failed already.
func TestNotRun(t *testing.T) {
	s := suite(t, "judge: m\ntasks:\n- {name: a, task: Do it, checks: [{command: abc}, {judge: Is it good}, {answer: other}]}")
	r := run(t, s, replies("TASK COMPLETE: done"))[0]
	if r.Success || !r.Checks[0].NotRun || !r.Checks[1].NotRun || r.Checks[2].NotRun || !strings.Contains(r.Why, "does not contain") {
		t.Errorf("checks = %+v, why %q", r.Checks, r.Why)
	}
}

// TestCodeAndAgents checks that models of an eval can write programs, and start agents.
func TestCodeAndAgents(t *testing.T) {
	s := suite(t, "formats: [code]\ntasks:\n- {name: a, task: Do it, files: {a.txt: one}, checks: [call: {tool: execute_code, contains: [x, one]}, answer: done]}")
	if r := run(t, s, replies("```starlark\n\"x\" + read_file(\"a.txt\")\n```", "TASK COMPLETE: done"))[0]; !r.Success {
		t.Errorf("a program: %s, %+v", r.Why, r.Calls)
	}
	s = suite(t, "tasks:\n- {name: a, task: Do it, checks: [call: {tool: agent, contains: part}]}")
	if r := run(t, s, replies(call("agent", "task", "a part"), "TASK COMPLETE: the part", "TASK COMPLETE: done"))[0]; !r.Success {
		t.Errorf("an agent: %s, %+v", r.Why, r.Calls)
	}
}

func TestJudge(t *testing.T) {
	s := suite(t, "judge: judge\ntasks:\n- {name: a, task: Do it, checks: [{judge: Is it polite}]}")
	cases := []struct {
		replies []any
		why     string
	}{
		{[]any{`{"passed": true, "reason": "it says please"}`}, ""},
		{[]any{`{"passed": false, "reason": "it is rude"}`}, "the judge answered no: it is rude"},
		{[]any{"Well.", `{"passed": true, "reason": "x"}`}, ""},
		{[]any{value.Errorf(value.Limit, "too much")}, "the judge failed: too much"},
	}
	for _, c := range cases {
		asked := replies(c.replies...)
		r, err := s.Run(t.Context(), options(t, map[string]model.Model{"": replies("TASK COMPLETE: please"), "judge": asked}))
		if err != nil || r.Results[0].Why != c.why || r.Results[0].Success != (c.why == "") {
			t.Errorf("result = %+v, %v, want %q", r, err, c.why)
		}
	}
	s.Judge = ""
	if _, err := s.Run(t.Context(), options(t, map[string]model.Model{"": replies()})); value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), "no judge is set") {
		t.Errorf("without a judge: %v", err)
	}
}

// TestInterrupted checks that a report is valid if the run ends early, and that its cases are those
// that have ended.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := answering("m", func(first string, _ int) string {
		if strings.Contains(first, "second") {
			cancel()
		}
		return "TASK COMPLETE: done"
	})
	s := suite(t, "models: [m]\ntasks:\n- {name: a, task: first}\n- {name: b, task: second}\n- {name: c, task: third}")
	r, err := s.Run(ctx, options(t, map[string]model.Model{"m": m}))
	if value.KindOf(err) != value.Canceled || r == nil || r.Complete || r.Success() || r.Cases != 3 || len(r.Results) != 1 || r.Results[0].Task != "a" {
		t.Fatalf("report = %+v, %v", r, err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := eval.ReadReport(text)
	if err != nil || again.Complete || len(again.Results) != 1 {
		t.Errorf("ReadReport = %+v, %v", again, err)
	}
}

// TestParallel checks that cases run in parallel, and that their results are in order.
func TestParallel(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2) // each case waits for the other one
	m := answering("m", func(first string, _ int) string {
		both.Done()
		both.Wait()
		return "TASK COMPLETE: done"
	})
	s := suite(t, "models: [m]\ntasks:\n- {name: a, task: first}\n- {name: b, task: second}")
	o := options(t, map[string]model.Model{"m": m})
	o.Parallel = 2
	r, err := s.Run(t.Context(), o)
	if err != nil || !r.Success() || r.Results[0].Task != "a" || r.Results[1].Task != "b" {
		t.Errorf("report = %+v, %v", r, err)
	}
}

// TestLimits checks that a limit of a case ends it, and only it.
func TestLimits(t *testing.T) {
	m := script.New("m", false, func(ctx context.Context, messages value.List, turn int) (value.Value, error) {
		switch first := messages[0].(*value.Dict).Text("content"); {
		case strings.Contains(first, "Hesitate"):
			<-ctx.Done()
			return nil, ctx.Err()
		case strings.Contains(first, "Repeat yourself"):
			return call("list_files", "pattern", strings.Repeat("a", turn+1)), nil
		}
		return "TASK COMPLETE: done", nil
	})
	s := suite(t, `
models: [m]
tasks:
- {name: slow, task: Hesitate, limits: {timeout: 20ms}}
- {name: busy, task: Repeat yourself, limits: {requests: 2}}
- {name: long, task: Repeat yourself, limits: {iterations: 3}}
- {name: good, task: end, limits: {iterations: 1}}
`)
	r, err := s.Run(t.Context(), options(t, map[string]model.Model{"m": m}))
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ why, errorType string }{
		{"the case took longer than 20ms", value.Timeout.Type()}, {"2 requests", value.Limit.Type()}, {"max_iterations", ""}, {"", ""},
	}
	for i, w := range want {
		if got := r.Results[i]; !strings.Contains(got.Why, w.why) || got.ErrorType != w.errorType || got.Success != (w.why == "") {
			t.Errorf("%s: why %q, error %q, want %q, %q", got.Task, got.Why, got.ErrorType, w.why, w.errorType)
		}
	}
}

// TestTokens checks the measures of a case: those that the provider reports, or else estimates.
func TestTokens(t *testing.T) {
	s := suite(t, "tasks:\n- {name: a, task: Do it, tools: none}")
	r := run(t, s, replies("TASK COMPLETE: done"))[0]
	if !r.Estimated || r.InputTokens != r.PromptTokens || r.PromptTokens < 100 || r.OutputTokens < 1 || r.CostUSD != nil {
		t.Errorf("a model that reports nothing: %+v", r)
	}
	paid := reporting{replies("TASK COMPLETE: done"), model.Usage{InputTokens: 1_000_000, OutputTokens: 10}}
	r = run(t, s, paid)[0]
	if r.Estimated || r.InputTokens != 1_000_000 || r.OutputTokens != 10 || r.CostUSD == nil || *r.CostUSD != 3 {
		t.Errorf("a model that reports its usage: %+v", r)
	}
}

// A reporting model reports a usage, and has a price.
type reporting struct {
	model.Model
	usage model.Usage
}

func (m reporting) Ask(ctx context.Context, r *model.Request) (*model.Reply, error) {
	reply, err := m.Model.Ask(ctx, r)
	if reply != nil {
		reply.Usage = m.usage
	}
	return reply, err
}

func (m reporting) Info(context.Context) model.Info {
	return model.Info{Price: &model.Price{Input: 3}}
}

// TestHashes checks that the hashes of a case are the same each time, and differ if the prompt, the
// tools or the policy differ.
func TestHashes(t *testing.T) {
	hashes := func(file, policy string) (r eval.Result) {
		o := options(t, map[string]model.Model{"": replies("TASK COMPLETE: done")})
		o.Policies = func(string) (agent.Policy, error) {
			p, err := agent.Builtin("task")
			p.Script.Source += policy
			return p, err
		}
		report, err := suite(t, file).Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return report.Results[0]
	}
	const file = "tasks:\n- {name: a, task: Do it, tools: [read_file]}"
	was := hashes(file, "")
	if was.PromptHash == "" || was.ToolsHash == "" || was.PolicyHash == "" {
		t.Fatalf("hashes = %+v", was)
	}
	cases := []struct {
		name, file, policy    string
		prompt, tools, script bool // whether it differs
	}{
		{"the same", file, "", false, false, false},
		{"another task", strings.Replace(file, "Do it", "Do that", 1), "", true, false, false},
		{"another tool", strings.Replace(file, "read_file", "list_files", 1), "", true, true, false},
		{"another policy", file, "\n# changed\n", false, false, true},
	}
	for _, c := range cases {
		is := hashes(c.file, c.policy)
		if is.PromptHash != was.PromptHash != c.prompt || is.ToolsHash != was.ToolsHash != c.tools || is.PolicyHash != was.PolicyHash != c.script {
			t.Errorf("%s: hashes %s %s %s, were %s %s %s", c.name, is.PromptHash, is.ToolsHash, is.PolicyHash, was.PromptHash, was.ToolsHash, was.PolicyHash)
		}
	}
}

// TestCases checks which cases a suite has, in which order, and which of them a filter selects.
func TestCases(t *testing.T) {
	native := script.New("native", true, func(context.Context, value.List, int) (value.Value, error) { return "done", nil })
	text := answering("text", func(string, int) string { return "TASK COMPLETE: done" })
	cases := []struct {
		file, filter string
		want         string
	}{
		{"models: [native, text]\ntasks: [{name: a, task: x}]", "", "a/native/native a/text/pure_json"},
		{"models: [text]\nformats: [markdown, native, xml_json]\ntasks: [{name: a, task: x}]", "", "a/text/markdown a/text/xml_json"},
		{"models: [native]\nformats: all\ntasks: [{name: a, task: x}]", "json", "a/native/pure_json a/native/xml_json"},
		{"models: [text]\npolicies: [task, plan]\nrepeat: 2\ntasks: [{name: a, task: x}, {name: b, task: x, policy: chat}]", "",
			"a/text/pure_json a/text/pure_json/plan b/text/pure_json/chat a/text/pure_json a/text/pure_json/plan b/text/pure_json/chat"},
	}
	for _, c := range cases {
		o := options(t, map[string]model.Model{"native": native, "text": text})
		if c.filter != "" {
			o.Filter = []string{c.filter}
		}
		r, err := suite(t, c.file).Run(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if got := strings.Join(value.Map(r.Results, func(r eval.Result) string { return r.Name() }), " "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.file, got, c.want)
		}
	}
	o := options(t, map[string]model.Model{"": text})
	o.Filter = []string{"nothing"}
	if _, err := suite(t, "tasks: [{name: a, task: x}]").Run(t.Context(), o); value.KindOf(err) != value.Invalid {
		t.Errorf("a filter that selects nothing: %v", err)
	}
}

func TestDiff(t *testing.T) {
	result := func(task string, success bool, iterations int, prompt string) eval.Result {
		return eval.Result{Task: task, Model: "m", Format: "f", Policy: "task", Success: success, Iterations: iterations, PromptHash: prompt}
	}
	old := &eval.Report{Complete: true, Results: []eval.Result{
		result("same", true, 2, "p"), result("worse", true, 2, "p"), result("better", false, 2, "p"), result("prompt", true, 2, "p"),
		result("steps", true, 2, "p"), result("gone", true, 2, "p"), result("twice", true, 1, "p"), result("twice", true, 3, "p"),
	}}
	now := &eval.Report{Complete: true, Results: []eval.Result{
		result("same", true, 2, "p"), result("worse", false, 2, "p"), result("better", true, 2, "p"), result("prompt", true, 2, "q"),
		result("steps", true, 3, "p"), result("new", true, 2, "p"), result("twice", true, 2, "p"),
	}}
	want := map[string]func(c eval.Change) bool{
		"same":   func(c eval.Change) bool { return !c.Changed() },
		"worse":  func(c eval.Change) bool { return c.Worse && !c.Better && !c.Measured },
		"better": func(c eval.Change) bool { return c.Better && !c.Worse },
		"prompt": func(c eval.Change) bool { return c.Prompt && !c.Measured && !c.Tools },
		"steps":  func(c eval.Change) bool { return c.Measured && !c.Prompt },
		"gone":   func(c eval.Change) bool { return c.New == nil },
		"new":    func(c eval.Change) bool { return c.Old == nil },
		"twice":  func(c eval.Change) bool { return !c.Changed() && c.Old.Cases == 2 && c.New.Cases == 1 },
	}
	changes := eval.Diff(old, now)
	if len(changes) != len(want) {
		t.Errorf("%d changes, want %d: %+v", len(changes), len(want), changes)
	}
	for _, c := range changes {
		task, _, _ := strings.Cut(c.Name, "/")
		if !want[task](c) {
			t.Errorf("%s: %+v", task, c)
		}
	}
	now.Filter = []string{"a"}
	if slices.ContainsFunc(eval.Diff(old, now), func(c eval.Change) bool { return c.New == nil }) {
		t.Error("a report of some cases lists the other ones as removed")
	}
	now.Filter, now.Complete = nil, false
	if slices.ContainsFunc(eval.Diff(old, now), func(c eval.Change) bool { return c.New == nil }) {
		t.Error("an incomplete report lists the cases that it has not run yet as removed")
	}
}
