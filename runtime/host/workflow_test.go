package host_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// workflowFrom describes a workflow.
func workflowFrom(t *testing.T, h *host.Host, name, source string) host.Workflow {
	t.Helper()
	s := tool.Script{Name: name, Path: name + ".star", Source: source}
	w := host.Workflow{Script: s, Declared: strings.Contains(source, "workflow(")}
	if !w.Declared {
		s.Source += "\nworkflow(main)\n"
	}
	d, err := h.Describe(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	w.Tool = d.Tool
	w.Tool.Name = name
	return w
}

// TestResumedWorkflow checks that what is recorded of a run is enough to continue it.
func TestResumedWorkflow(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, tt := range []struct{ name, source, needs, result string }{
		{"free", "def main(n: int) -> int:\n    return n\n", "model human tool", "integer"},
		{"some", "def main(n: int) -> str:\n    return \"x\"\n\nworkflow(main, needs = [\"tool:a\", \"model\", \"fs.read\"])\n", "tool:a model", "string"},
		{"bare", "def main(n: int):\n    pass\n\nworkflow(main)\n", "", ""},
		{"all", "def main(n: int) -> list[dict[str, int]]:\n    return []\n\nworkflow(main, needs = [\"tool\"])\n", "tool", "array<object>"},
	} {
		w := workflowFrom(t, r.Host, tt.name, tt.source)
		begun, err := w.Program(value.NewDict("n", 7), "")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := w.Program(value.NewDict("n", "7"), ""); err != nil || !value.Equal(again.Args, begun.Args) {
			t.Errorf("%s: an integer as a text: %v", tt.name, err)
		}
		form, err := value.Append(nil, begun.Options) // as the record does
		if err != nil {
			t.Fatal(err)
		}
		read, err := value.Decode(form)
		if err != nil {
			t.Fatal(err)
		}
		recorded := &history.Run{ID: "r", Kind: host.WorkflowKind, Title: begun.Title, Args: begun.Args}
		recorded.Options, _ = read.(*value.Dict)
		p, err := host.ResumedWorkflow(recorded)
		if err != nil {
			t.Fatal(err)
		}
		var needs []string
		for _, n := range p.Needs {
			needs = append(needs, n.String())
		}
		result := ""
		if p.Returns != nil {
			result = p.Returns.Name
			if p.Returns.Items != nil {
				result += "<" + p.Returns.Items.Name + ">"
			}
		}
		if strings.Join(needs, " ") != tt.needs || result != tt.result || p.Name != "workflow "+tt.name || p.Title != tt.name+" n=7" || !p.Resume || !p.Parks || p.ID != "r" {
			t.Errorf("%s: it needs %q and returns %q: %+v", tt.name, needs, result, p)
		}
		if (p.Most == nil) != (tt.name == "free") || !slices.Equal(p.Most, begun.Most) || p.Most != nil && len(p.Most) != len(w.Tool.Needs) {
			t.Errorf("%s: its calls may use %v, want %v", tt.name, p.Most, w.Tool.Needs)
		}
		earlier := &value.Dict{}
		for k, v := range recorded.Options.All() {
			if k != "most" {
				earlier.Put(k.(string), v)
			}
		}
		recorded.Options = earlier
		if p, err = host.ResumedWorkflow(recorded); err != nil || p.Most != nil {
			t.Errorf("%s: an earlier record gave %+v, %v, want that nothing limits its calls", tt.name, p, err)
		}
	}
	for _, r := range []history.Run{{ID: "t", Kind: "task", Options: value.NewDict("workflow", "x")}, {ID: "t", Kind: "run"}, {ID: "t", Kind: "run", Options: value.NewDict("workflow", "x", "result", 1)}} {
		if _, err := host.ResumedWorkflow(&r); err == nil {
			t.Errorf("%+v: taken, want it refused", r)
		}
	}
}

// TestRunOfAWorkflow checks that a workflow runs by its name, that a durable one waits
// and is resumed, and what is refused.
func TestRunOfAWorkflow(t *testing.T) { eachStore(t, testRunOfAWorkflow) }

func testRunOfAWorkflow(t *testing.T, on keeper) {
	m := newMachine(t, on)
	m.answer, m.parks = nil, true
	flows := map[string]host.Workflow{}
	m.workflow = func(_ context.Context, _ toolset.Source, name string) (host.Workflow, error) {
		w, ok := flows[name]
		if !ok {
			return w, value.Errorf(value.NotFound, "there is no workflow %q", name)
		}
		return w, nil
	}
	p := m.process(0, false)
	flows["greet"] = workflowFrom(t, p.Host, "greet", "def main(name: str, working_dir: str = \"\") -> str:\n    return \"Hello \" + name if human.confirm(\"greet?\") else \"\"\n")
	flows["wrong"] = workflowFrom(t, p.Host, "wrong", "def main() -> int:\n    return \"no number\"\n")
	flows["sends"] = workflowFrom(t, p.Host, "sends", "def main():\n    return tools.post()\n")
	flows["narrow"] = workflowFrom(t, p.Host, "narrow", "def main():\n    human.confirm(\"so?\")\n    return tools.post()\n\nworkflow(main, needs = [\"human\", \"tool:post\"])\n")
	flows["enough"] = workflowFrom(t, p.Host, "enough", "def main():\n    human.confirm(\"so?\")\n    return tools.post()\n\nworkflow(main, needs = [\"human\", \"tool:post\", \"use:out\"])\n")
	flows["unknown"] = host.Workflow{Tool: tool.Tool{Name: "unknown"}, State: toolset.Untrusted, Reason: "it is new"}
	p.add("post.star", star("post", "", "return out.send('x')", "needs = ['use:out']"), nil)
	ctx := context.Background()
	for name, want := range map[string]value.Kind{"none": value.NotFound, "unknown": value.Denied, "greet": value.Invalid, "wrong": value.Failed} {
		if _, err := p.Run(ctx, name, nil); value.KindOf(err) != want || err == nil {
			t.Errorf("%s gave %v, want an error of kind %v", name, err, want)
		}
	}
	deny := host.Narrow(tool.Rule{Verdict: tool.Deny, Capability: tool.Capability{Name: "tool", Target: "post"}})
	if _, err := p.Run(ctx, "sends", nil, deny); value.KindOf(err) != value.Denied || m.sent["x"] > 0 {
		t.Errorf("a narrowed workflow gave %v", err)
	}
	args := value.NewDict("name", "Ann")
	if _, err := p.Run(ctx, "greet", args, host.Durable("r")); value.KindOf(err) != value.Parked {
		t.Fatalf("the workflow gave %v, want that it waits", err)
	}
	if _, err := p.Run(ctx, "greet", value.NewDict("name", "Bob"), host.Durable("r")); value.KindOf(err) != value.Conflict {
		t.Errorf("other arguments with the same ID gave %v, want a conflict", err)
	}
	answerAll(t, p.Host)
	other := m.process(0, false)
	if got, err := other.Resume(ctx, "r"); err != nil || got.Value != "Hello Ann" {
		t.Errorf("resumed: %v, %v", got.Value, err)
	}
	if got, err := other.Run(ctx, "greet", args, host.Durable("r")); err != nil || got.Value != "Hello Ann" {
		t.Errorf("the same again: %v, %v", got.Value, err)
	}
	if _, err := other.Run(ctx, "greet", args, host.Durable("s")); value.KindOf(err) != value.Parked {
		t.Errorf("another run gave %v", err)
	}
	for _, name := range []string{"narrow", "enough"} {
		if _, err := p.Run(ctx, name, nil, host.Durable(name)); value.KindOf(err) != value.Parked {
			t.Fatalf("%s gave %v, want that it waits", name, err)
		}
		answerAll(t, p.Host)
		next := m.process(0, false)
		next.add("post.star", star("post", "", "return out.send('x')", "needs = ['use:out']"), nil)
		_, err := next.Resume(ctx, name)
		if name == "narrow" {
			if value.KindOf(err) != value.Denied || m.sent["x"] > 0 || !strings.Contains(err.Error(), "the workflow narrow (which called 'post') does not declare that it needs use:out") {
				t.Errorf("%s: resumed: %v, sent %d, want it denied", name, err, m.sent["x"])
			}
			continue
		}
		for value.KindOf(err) == value.Parked { // the call of post asks
			answerAll(t, next.Host)
			_, err = next.Resume(ctx, name)
		}
		if err != nil || m.sent["x"] != 1 {
			t.Errorf("%s: resumed: %v, sent %d, want 1", name, err, m.sent["x"])
		}
	}
	m.revoked = map[string]bool{"greet.star": true}
	if _, err := other.Resume(ctx, "s"); value.KindOf(err) != value.Denied {
		t.Errorf("a workflow that is not trusted any more gave %v", err)
	}
}

// answerAll answers all open questions with yes.
func answerAll(t *testing.T, h *host.Host) {
	t.Helper()
	for q := range h.Waiting(context.Background()) {
		if err := h.Answer(context.Background(), q.ID, tool.Answer{Yes: true}); err != nil {
			t.Error(err)
		}
	}
}
