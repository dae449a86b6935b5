package serve

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	addTool  = "def add(a: int) -> int:\n    \"\"\"Add.\n\n    Args:\n      a: a number\n    \"\"\"\n    return a + 1\n\ntool(add, needs = [])\n"
	workflow = "def main():\n    \"\"\"Add, and ask.\"\"\"\n    x = tools.add(a = 1)\n    return human.confirm(\"is it %d?\" % x)\n"
)

// TestAdmit checks that a worker of a deployment executes only what its user has reviewed, as it is now, whatever somebody else
// has begun, and that no approval that was recorded with a run holds.
func TestAdmit(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	files := map[string]string{"tools/add.star": addTool, "workflows/flow.star": workflow}
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, ".cassidy", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		write(name, text)
	}
	a := app.New(&app.World{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Sandbox: cassidy.Inline, Env: func(name string) (string, bool) {
		if name == "CASSIDY_HOME" {
			return home, true
		}
		return "", false
	}})
	a.Dir = dir
	if err := trust.New(a.State()).MarkAuthor(dir); err != nil { // everything in the project is reviewed
		t.Fatal(err)
	}
	p, err := openProjects(a, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.end()
	o, err := p.at(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	recorded := func(id string) host.Recorded {
		t.Helper()
		r, err := o.host.Recorded(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if _, err := o.host.Run(ctx, "flow", nil, host.Durable("flow")); value.KindOf(err) != value.Parked {
		t.Fatal(err)
	}
	if _, err := o.host.BeginCall(ctx, tool.Call{Tool: "add", Args: value.NewDict("a", 1), Caller: tool.ByScript}, host.Durable("call")); err != nil {
		t.Fatal(err)
	}
	admits := func(id string, want bool) {
		t.Helper()
		if err := o.host.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		approved, err := o.admit(ctx, recorded(id))
		if approved || (err == nil) != want || err != nil && value.KindOf(err) != value.Denied {
			t.Errorf("%s: approved %v, %v, want it to be admitted: %v", id, approved, err, want)
		}
	}
	admits("flow", true)
	admits("call", true)
	write("tools/add.star", strings.Replace(addTool, "a + 1", "a + 2", 1))
	admits("flow", false) // it has called the other tool
	write("tools/add.star", addTool)
	admits("flow", true)
	write("workflows/flow.star", workflow+"# changed\n")
	admits("flow", false)
	if err := os.Remove(filepath.Join(dir, ".cassidy/workflows/flow.star")); err != nil {
		t.Fatal(err)
	}
	admits("flow", false)
	write("workflows/flow.star", workflow)
	admits("flow", true)

	forged := recorded("flow")
	forged.Script.Source += "# forged\n"
	if _, err := o.admit(ctx, forged); value.KindOf(err) != value.Denied {
		t.Errorf("a script that nobody has here: %v", err)
	}
	for _, kind := range []string{"task", "chat", "strange"} {
		forged := recorded("call")
		forged.Kind, forged.Script = kind, tool.Script{Name: "task", Path: "policies/task.star", Source: "def policy(task, agent):\n    return 1\n"}
		if _, err := o.admit(ctx, forged); value.KindOf(err) != value.Denied {
			t.Errorf("a policy that nobody has here, as a %s: %v", kind, err)
		}
	}
}
