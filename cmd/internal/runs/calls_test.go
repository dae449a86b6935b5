package runs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// callFiles are tools and workflows that call them.
func callFiles() map[string]string {
	const body = `def main(names: list[str] = ["ann", "bo"]) -> dict:
    """Greet everybody."""
    loud = [tools.shout(text = n) for n in names]
    counts = tools.call_all([("count", {"text": n}) for n in names + [""]])
    bad = attempt(tools.count, text = "")
    return {"loud": loud, "counts": [c["value"] for c in counts], "bad": bad["error"]}

`
	return map[string]string{
		"tools/shout.star": shoutTool, "tools/count.star": countTool, "tools/keep.star": keepTool,
		"workflows/greet.star": body,
		"workflows/sly.star":   body + "workflow(main, needs = [\"tool:shout\"])\n",
		"workflows/none.star":  body + "workflow(main)\n",
		"workflows/self.star":  "def main():\n    return fs.read(\"a\")\n",
		"workflows/save.star":  "def main():\n    return tools.keep(text = \"x\")\n",
		"workflows/try.star":   "def main():\n    return attempt(tools.keep, text = \"x\")[\"error_type\"]\n",
	}
}

// TestWorkflowCalls has a workflow call tools: any, or those that it declares.
func TestWorkflowCalls(t *testing.T) {
	p := newProject(t, callFiles())
	const want = "{\n  \"loud\": [\"ANN\", \"BO\"],\n  \"counts\": [3, 2, null],\n  \"bad\": \"count: nothing to count\"\n}\n"
	p.Want([]string{"run", "greet"}, 0, want, "cassidy: shout text=ann\ncassidy:   ✓ ANN\ncassidy: shout text=bo\ncassidy:   ✓ BO\ncassidy: count ")
	p.Want([]string{"run", "greet"}, 0, want, "cassidy: count text=\ncassidy:   ✗ nothing to count\n")
	p.Want([]string{"run", "sly"}, 3, "", "does not declare that it needs tool:count")
	p.Want([]string{"run", "none"}, 3, "", "does not declare that it needs tool:shout")
	p.Want([]string{"run", "self"}, 3, "", "may not use fs.read:a")

	stdout, _, code := p.Run("--json", "run", "greet", "names=ann", "--run-id", "r1")
	var calls []string
	for line := range strings.Lines(stdout) {
		var e struct {
			Type, Call, Tool string
			Success          bool
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.Type == "tool_call_end" {
			calls = append(calls, e.Tool)
			if !strings.HasPrefix(e.Call, "r1/") {
				t.Errorf("the call %s is not one of the run's", e.Call)
			}
		}
	}
	if code != 0 || strings.Join(calls, " ") != "shout count count count" {
		t.Errorf("it ended with %d after the calls %q", code, calls)
	}
}

// TestWorkflowApprovals has a workflow call a tool that writes.
func TestWorkflowApprovals(t *testing.T) {
	p := newProject(t, callFiles())
	kept := filepath.Join(p.Dir, "kept.txt")
	p.Want([]string{"run", "save", "--deny"}, 3, "", "the user refuses everything that asks for approval")
	p.Want([]string{"run", "try", "--deny"}, 0, "permission_error\n", "")
	if _, err := os.Stat(kept); err == nil {
		t.Error("what was refused was written")
	}
	p.Want([]string{"run", "save", "--yes"}, 0, "", "cassidy: keep text=x\ncassidy:   ✓")
	if text, err := os.ReadFile(kept); err != nil || string(text) != "x" {
		t.Errorf("it wrote %q, %v, want x", text, err)
	}
}

// TestWorkflowParks checks that a workflow waits where nobody can be asked.
func TestWorkflowParks(t *testing.T) {
	p := newProject(t, callFiles())
	p.Want([]string{"run", "save", "--run-id", "r1"}, 6, "", "cassidy runs answer r1")
	stdout, _, code := p.Run("--json", "run", "save", "--run-id", "r2")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if last := lines[len(lines)-1]; code != 6 || !strings.Contains(last, `"type":"run_end","run":"r2","workflow":"save","reason":"parked"`) {
		t.Errorf("it ended with %d and %s, want 6 and that it is parked", code, last)
	}
	p.Want([]string{"run", "try"}, 6, "", "cassidy runs answer")
}
