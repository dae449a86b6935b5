package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestDescribeWorkflow reads what files declare with workflow(…), in
// flow.star.
func TestDescribeWorkflow(t *testing.T) {
	tests := []struct {
		name, source string
		want         string // of the tool, or of the error
	}{
		{"nothing more", "def main(): pass\nworkflow(main)", "flow in workflow: Run the workflow 'flow'. []"},
		{"a docstring and needs", "def main(n: int) -> str:\n    \"Flow on.\"\nworkflow(main, needs = ['tool:a', 'model'])", "flow in workflow: Flow on. [tool:a model] n"},
		{"a group and a description", "def main(): pass\nworkflow(main, group = 'release', description = 'Release.')", "flow in release: Release. []"},
		{"by name", "def main(): pass\nworkflow(handler = main)", "flow in workflow: Run the workflow 'flow'. []"},
		{"no main", "x = 1\nworkflow(main)", "flow.star: the file has no function main (begin the function with: def main(…))"},
		{"another function", "def go(): pass\nworkflow(go)", "flow.star:2:1: the function of a workflow should be main but got go (begin the function with: def main(…))"},
		{"no function", "def main(): pass\nworkflow(needs = [])", "flow.star:2:9: workflow() has no handler (write workflow(main, …))"},
		{"an unknown field", "def main(): pass\nworkflow(main, need = [])", "flow.star:2:16: workflow() has no field 'need'; did you mean \"needs\"?"},
		{"by place", "def main(): pass\nworkflow(main, [])", "flow.star:2:16: workflow() takes one positional argument, the handler; pass everything else by name"},
		{"twice", "def main(): pass\nworkflow(main)\nworkflow(main)", "flow.star:3:1: second declaration in the file: workflow(…) (declare one tool or one workflow per file)"},
		{"and a tool", "def main(): pass\ntool(main)\nworkflow(main)", "flow.star:3:1: second declaration in the file: workflow(…) (declare one tool or one workflow per file)"},
		{"a word of its own", "def main(): pass\ndef workflow(f): pass\nworkflow(main)", "flow.star:3:1: the file defines workflow, which is reserved for declarations"},
		{"the hint of another", "def f():\n    \"F.\"\ntool(f, hints = {'workflow': True})", "the hint 'workflow' is reserved for cassidy"},
		{"another name", "def main(): pass\nworkflow(main, name = 'x')", "the file name \"flow\" differs from the tool name \"x\""},
	}
	e := engine.New(nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := e.Describe(tool.Script{Path: "flow.star", Source: tt.source + "\n"})
			if err != nil {
				got := err.Error()
				if hint := value.ErrorOf(err, value.Internal).Hint; hint != "" {
					got += " (" + hint + ")"
				}
				if !strings.Contains(got, tt.want) {
					t.Errorf("error = %s, want %s", got, tt.want)
				}
				return
			}
			got := []string{d.Name + " in " + d.Group + ": " + d.Description + " ["}
			for i, c := range d.Needs {
				if i > 0 {
					got[0] += " "
				}
				got[0] += c.String()
			}
			got[0] += "]"
			for _, p := range d.Params {
				got = append(got, p.Name)
			}
			if text := strings.Join(got, " "); text != tt.want || !d.Hints.Other["workflow"] {
				t.Errorf("it is %s with the hints %v, want %s and the hint workflow", text, d.Hints.Other, tt.want)
			}
		})
	}
}

// TestRunWorkflow runs main: as the handler of a file that declares it, and by its name
// in a file without a declaration.
func TestRunWorkflow(t *testing.T) {
	e := engine.New(nil)
	const main = "def main(n: int = 1) -> int:\n    return n + 1\n\ndef other():\n    pass\n"
	for source, entry := range map[string]string{main + "workflow(main)\n": "", main: "main"} {
		out, err := e.Run(context.Background(), tool.Script{Path: "flow.star", Source: source}, tool.Call{Entry: entry, Args: value.NewDict("n", int64(41))}, nil)
		if err != nil || out.Value != int64(42) {
			t.Errorf("the function %q gave %v, %v, want 42", entry, out.Value, err)
		}
	}
}
