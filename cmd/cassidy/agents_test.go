package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	crewFlow = "\"\"\"Have three agents work at the same time.\"\"\"\n\ndef main():\n" +
		"    return [r[\"value\"] or r[\"error\"] for r in tools.call_all([(\"agent\", {\"task\": t}) for t in [\"red\", \"green\", \"blue\"]])]\n"
	crewModel = "def reply(messages, turn):\n" +
		"    task = messages[0][\"content\"].split(\"# User Question\\n\\n\")[1].split(\"\\n\")[0]\n" +
		"    if turn == 0:\n" +
		"        return '{\"tool_decision\": {\"action\": \"put\", \"input\": {\"filepath\": \"%s.txt\", \"content\": \"by %s\"}}}' % (task, task)\n" +
		"    return \"TASK COMPLETE: %s is done\" % task\n"
	// Its calls are approved before they run, with other arguments if need be.
	crewTool = "def put(filepath: str, content: str) -> str:\n    \"Write a file.\"\n    fs.write(filepath, content)\n    return \"ok\"\n\n" +
		"tool(put, needs = [\"fs.write\", \"env\"])\n"
)

// TestAgentsOfAWorkflow has a workflow call three agents at the same time, and
// answers their questions with one command each, out of order, one of them after
// the run has been resumed, one corrected and one with other arguments.
func TestAgentsOfAWorkflow(t *testing.T) {
	t.Parallel()
	p := newFlowProject(t, map[string]string{"workflows/crew.star": crewFlow, "tools/put.star": crewTool})
	p.Write("m.star", crewModel)
	steps := []struct {
		args string
		code int
		want string // in one of the outputs
	}{
		{"run crew --model script:m.star --run-id crew", 6, "the run crew waits for 3 answers"},
		{"runs answer crew yes", 2, "STEP is missing: there are 3 open questions, at the steps 1.1.1.6, 1.2.1.6, 1.3.1.6"},
		{"runs answer crew 1.3.1.6 yes", 0, "answered yes"},
		{"runs resume crew", 6, "the run crew waits for 2 answers"},
		{"runs answer crew 1.1.1.6 no --why early", 0, "answered no"},
		{"runs answer crew 1.1.1.6 yes", 0, "answered yes"},
		{`runs answer crew 1.2.1.6 yes --args {"filepath":"green.txt","content":"edited"}`, 0, "answered yes"},
		{"--gone runs resume crew", 2, "m.star: cannot open"},
		{"runs resume crew", 0, `["red is done", "green is done", "blue is done"]`},
		{"runs replay crew", 0, "The replay is exact"},
	}
	for _, s := range steps {
		args, gone := strings.CutPrefix(s.args, "--gone ") // without the model
		if gone {
			p.rename("m.star", "gone.star")
		}
		stdout, stderr, code := p.Run(strings.Fields(args)...)
		if gone {
			p.rename("gone.star", "m.star")
		}
		if code != s.code || !strings.Contains(stdout+stderr, s.want) {
			t.Fatalf("cassidy %s: exit code %d, want %d with %q\n%s%s", s.args, code, s.code, s.want, stdout, stderr)
		}
	}
	for name, want := range map[string]string{"red.txt": "by red", "green.txt": "edited", "blue.txt": "by blue"} {
		if got, err := os.ReadFile(filepath.Join(p.Dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", name, got, err, want)
		}
	}
	if show, _, _ := p.Run("runs", "show", "crew"); strings.Count(show, "model, reply") != 6 {
		t.Errorf("the model was not asked twice by each agent, and once for each turn:\n%s", show)
	}
}

func (p *flowProject) rename(from, to string) {
	p.TB.Helper()
	if err := os.Rename(filepath.Join(p.Dir, from), filepath.Join(p.Dir, to)); err != nil {
		p.TB.Fatal(err)
	}
}
