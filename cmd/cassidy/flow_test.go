package main

import (
	"github.com/cassidy-run/cassidy/cmd/internal/command"

	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
)

// newFlowProject makes a project of these files, by their names below .cassidy.
func newFlowProject(t *testing.T, files map[string]string) *flowProject {
	t.Helper()
	return &flowProject{apptest.NewProject(t, command.Commands(), files)}
}

// A flowProject is a project with tools and workflows that its user trusts.
type flowProject struct{ *apptest.Project }

// TestShowCallsTogether shows a run whose workflow made two calls together.
func TestShowCallsTogether(t *testing.T) {
	t.Parallel()
	p := newFlowProject(t, map[string]string{
		"tools/count.star":    "def count(text: str) -> int:\n    \"Count letters.\"\n    return len(text)\n\ntool(count)\n",
		"workflows/both.star": "def main() -> int:\n    return len(tools.call_all([(\"count\", {\"text\": t}) for t in [\"a\", \"b\"]]))\n",
	})
	p.Want([]string{"run", "both", "--run-id", "r1"}, 0, "2\n", "")
	p.Want([]string{"runs", "show", "r1"}, 0, "kind     run\n", "")
	p.Want([]string{"runs", "show", "r1"}, 0, "2 calls: count, count", "")
}

// TestTrustOnceIsReportedOnce retries a run, for which the command opens several hosts.
func TestTrustOnceIsReportedOnce(t *testing.T) {
	t.Parallel()
	p := newFlowProject(t, map[string]string{"workflows/w.star": "def main():\n    fail(\"no\")\n"})
	p.Run("run", "w", "--run-id", "r")
	p.Write(".cassidy/tools/new.star", "def new():\n    \"New.\"\n\ntool(new)\n")
	if _, stderr, _ := p.Run("--trust-once", "runs", "retry", "r"); strings.Count(stderr, "trusted for this command: ") != 1 {
		t.Errorf("--trust-once reports\n%s\nwant one file, once", stderr)
	}
}

// TestUndoOfReadOnlySteps checks that an undo lists what has acted outside the project, and not
// commands that only read.
func TestUndoOfReadOnlySteps(t *testing.T) {
	t.Parallel()
	p := newFlowProject(t, map[string]string{
		"tools/look.star":    "def look():\n    \"Look.\"\n    return shell.run([\"ls\"])[\"exit_code\"]\n\ntool(look, needs = [\"shell:ls\"])\n",
		"tools/act.star":     "def act():\n    \"Act.\"\n    return shell.run([\"sh\", \"-c\", \"true\"])[\"exit_code\"]\n\ntool(act, needs = [\"shell:sh\"])\n",
		"workflows/all.star": "def main(name: str):\n    return tools.call(name)\n",
	})
	for name, want := range map[string]int{"look": 0, "act": 7} {
		p.Want([]string{"run", "all", "name=" + name, "--run-id", name, "--yes"}, 0, "0\n", "")
		stdout, stderr, code := p.Run("runs", "undo", name, "--yes")
		if code != want || strings.Contains(stdout, "cannot be undone: step") != (want == 7) {
			t.Errorf("the undo of %s ends with %d\n%s%s\nwant %d", name, code, stdout, stderr, want)
		}
	}
}
