package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A flowProject is a project with tools and workflows that its user trusts.
type flowProject struct {
	t         *testing.T
	dir, home string
}

const (
	shoutTool = "def shout(text: str) -> str:\n    \"Say it loud.\"\n    return text.upper()\n\ntool(shout)\n"
	countTool = "def count(text: str) -> int:\n    \"Count letters.\"\n    if text == \"\":\n        fail(\"nothing to count\")\n    return len(text)\n\ntool(count)\n"
	keepTool  = "def keep(text: str):\n    \"Keep it.\"\n    fs.write(\"kept.txt\", text)\n\ntool(keep, needs = [\"fs.write:*.txt\"])\n"
)

// newFlowProject makes a project of these files, by their names below .cassidy.
func newFlowProject(t *testing.T, files map[string]string) *flowProject {
	t.Helper()
	p := &flowProject{t: t, dir: t.TempDir(), home: t.TempDir()}
	for name, text := range files {
		p.write(".cassidy/"+name, text)
	}
	if _, stderr, code := p.run("trust", "--yes"); code != 0 {
		t.Fatalf("cassidy trust --yes: %d\n%s", code, stderr)
	}
	return p
}

func (p *flowProject) write(name, text string) {
	p.t.Helper()
	file := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *flowProject) run(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	return run(p.t, p.dir, map[string]string{"CASSIDY_HOME": p.home}, args...)
}

// want runs the command, and says what should be in its two outputs.
func (p *flowProject) want(args []string, wantCode int, wantOut, wantErr string) {
	p.t.Helper()
	stdout, stderr, code := p.run(args...)
	if code != wantCode || !strings.Contains(stdout, wantOut) || !strings.Contains(stderr, wantErr) {
		p.t.Errorf("cassidy %s ended with %d\n%s%s\nwant %d, %q and %q", strings.Join(args, " "), code, stdout, stderr, wantCode, wantOut, wantErr)
	}
}

// pureFiles are workflows that call nothing.
func pureFiles() map[string]string {
	return map[string]string{
		"workflows/add.star": "def main(a: int, b: int = 1) -> int:\n    \"Add two numbers.\"\n    return a + b\n",
		"workflows/text.star": "load(\"lib/words.star\", \"greeting\")\n\ndef main(name: str = \"you\"):\n    print(\"greeting\", name)\n" +
			"    return greeting + \", \" + name\n",
		"workflows/lib/words.star": "greeting = \"hello\"\n",
		"workflows/list.star":      "def main(items: list[str]) -> list[str]:\n    return sorted(items)\n",
		"workflows/none.star":      "def main():\n    pass\n",
		"workflows/lie.star":       "def main() -> int:\n    return \"no\"\n",
		"workflows/fails.star":     "def main():\n    fail(\"it is Monday\")\n",
		"workflows/where.star":     "def main(working_dir: str):\n    return working_dir\n",
		"workflows/nomain.star":    "def run():\n    pass\n",
	}
}

func TestRunWorkflows(t *testing.T) {
	p := newFlowProject(t, pureFiles())
	p.write("own.star", "def main(n: int):\n    return {\"n\": n}\n")
	p.write("input.json", `{"a": 20, "b": 22}`)
	for _, tt := range []struct {
		args        string
		code        int
		out, stderr string
	}{
		{"run add a=1", 0, "2\n", ""},
		{"run add a=1 b=41", 0, "42\n", ""},
		{"run add a:=2 b=3", 0, "5\n", ""},
		{"run add --input {\"a\":4}", 0, "5\n", ""},
		{"run add --input @" + filepath.Join(p.dir, "input.json"), 0, "42\n", ""},
		{"run text name=Ann", 0, "hello, Ann\n", "cassidy: greeting Ann\n"},
		{"run text --quiet", 0, "hello, you\n", ""},
		{"run list items=b,a", 0, "[\"a\", \"b\"]\n", ""},
		{"run none", 0, "", ""},
		{"run own.star n=7", 0, "{\"n\": 7}\n", ""},
		{"run .cassidy/workflows/add.star a=1", 0, "2\n", ""},
		{"run where", 0, p.dir + "\n", ""},
		{"run add", 2, "", "Missing required parameter: a"},
		{"run add a=one", 2, "", "Parameter 'a' should be integer but got string"},
		{"run add a=1 c=2", 2, "", "Unknown parameter: c"},
		{"run add 1", 2, "", "hint: cassidy run add a=… [b=…]"},
		{"run add a=1 --input {}", 2, "", "both give arguments"},
		{"run ad a=1", 2, "", "there is no workflow \"ad\"; did you mean \"add\"?\ncassidy: hint: the workflows are add,"},
		{"run none.star", 2, "", "there is no file none.star\ncassidy: hint: cassidy run lists"},
		{"run nomain", 2, "", ".cassidy/workflows/nomain.star: the file has no function main\ncassidy: hint: it begins with: def main(…)"},
		{"run lie", 1, "", "the result of 'workflow lie' is not what it declares"},
		{"run fails", 1, "", ".cassidy/workflows/fails.star:2:9: it is Monday"},
		{"run none --yes --deny", 2, "", "--yes and --deny say opposite things"},
		{"run none --run-id a/b", 2, "", "cannot name a run"},
		{"run none --run-id first", 0, "", ""},
		{"run none --run-id first", 1, "", "run 'first' already exists"},
		{"runs show first", 0, "kind     run\n", ""},
	} {
		p.want(strings.Fields(tt.args), tt.code, tt.out, tt.stderr)
	}
	if stdout, _, _ := p.run("run", "none"); stdout != "" {
		t.Errorf("a workflow that returns nothing printed %q", stdout)
	}
}

func TestListWorkflows(t *testing.T) {
	p := newFlowProject(t, map[string]string{
		"workflows/add.star":  pureFiles()["workflows/add.star"],
		"workflows/tell.star": "def main():\n    \"Tell it.\"\nworkflow(main, needs = [\"tool:shout\"])\n",
	})
	p.write(".cassidy/workflows/new.star", "def main():\n    \"New.\"\n")
	p.write(".cassidy/workflows/bad.star", "x = 1\n")
	p.want([]string{"run"}, 0, "add a=… [b=…]  Add two numbers.\nnew            [untrusted: nobody has reviewed it yet; run cassidy trust]\ntell           Tell it.\n",
		"bad.star: the file has no function main")
	stdout, _, code := p.run("--json", "run")
	var list struct {
		Workflows []struct {
			Name, State, Location string
			Declared              bool
			Needs                 []string
		}
		Errors []struct{ File string }
	}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != 0 || len(list.Workflows) != 3 || len(list.Errors) != 1 {
		t.Fatalf("%v in %s", err, stdout)
	}
	if w := list.Workflows[2]; w.Name != "tell" || !w.Declared || w.State != "ready" || w.Location != "project" || len(w.Needs) != 1 || list.Workflows[0].Declared {
		t.Errorf("the workflows are %+v", list.Workflows)
	}
	empty := &flowProject{t: t, dir: t.TempDir(), home: t.TempDir()}
	empty.want([]string{"run"}, 0, "No workflows found\n", ".cassidy/workflows/NAME.star")
	empty.want([]string{"run", "x"}, 2, "", "there is no workflow \"x\"\ncassidy: hint: a workflow is a file")
}

// TestUntrustedWorkflows checks that a project's workflow is not run before its
// user has reviewed it, by whatever path, and that a person's own file is.
func TestUntrustedWorkflows(t *testing.T) {
	p := newFlowProject(t, pureFiles())
	p.write(".cassidy/workflows/new.star", "def main():\n    return 1\n\nworkflow(main)\n")
	for _, word := range []string{"new", ".cassidy/workflows/new.star", filepath.Join(p.dir, ".cassidy/tools/../workflows/new.star")} {
		p.want([]string{"run", word}, 3, "", "the workflow 'new' is untrusted: nobody has reviewed it yet; run cassidy trust\ncassidy: hint: ")
	}
	p.want([]string{"tool", "run", "new"}, 3, "", "the tool 'new' is untrusted")
	p.want([]string{"run", "new", "--trust-once"}, 0, "1\n", "trusted for this command only: .cassidy/workflows/new.star")
	p.write(".cassidy/workflows/lib/words.star", "greeting = \"boo\"\n")
	p.want([]string{"run", "text"}, 3, "", "lib/words.star, which it loads, is not trusted: it has changed since it was trusted")
	p.want([]string{"run", "add", "a=1"}, 0, "2\n", "")
	p.want([]string{"trust", "--yes"}, 0, ".cassidy/workflows/new.star", "trusted 2 files")
	p.want([]string{"run", "new"}, 0, "1\n", "")
	p.want([]string{"run", "text"}, 0, "boo, you\n", "")
	p.want([]string{"trust", "--revoke", ".cassidy/workflows/new.star"}, 0, "", "")
	p.want([]string{"run", "new"}, 3, "", "its trust was taken back")
}

// TestRunWorkflowAsJSON checks the line with which a run ends.
func TestRunWorkflowAsJSON(t *testing.T) {
	p := newFlowProject(t, pureFiles())
	for _, tt := range []struct {
		args string
		code int
		want map[string]any
	}{
		{"add a=1 --run-id r1", 0, map[string]any{"type": "run_end", "run": "r1", "workflow": "add", "reason": "final", "result": 2.0, "success": true}},
		{"fails --run-id r2", 1, map[string]any{"type": "run_end", "run": "r2", "workflow": "fails", "reason": "error", "result": nil, "success": false,
			"error": "it is Monday", "error_type": "user_error", "suggestion": ""}},
	} {
		stdout, _, code := p.run(append([]string{"--json", "run"}, strings.Fields(tt.args)...)...)
		lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
		got := map[string]any{}
		for _, line := range lines {
			clear(got)
			if err := json.Unmarshal([]byte(line), &got); err != nil || got["type"] == nil {
				t.Fatalf("%s printed %q: %v", tt.args, line, err)
			}
		}
		if _, ok := got["usage"].(map[string]any); !ok {
			t.Errorf("%s: there is no usage in %v", tt.args, got)
		}
		delete(got, "usage")
		if diff := cmp.Diff(tt.want, got); diff != "" || code != tt.code {
			t.Errorf("%s ended with %d, want %d (-want +got)\n%s", tt.args, code, tt.code, diff)
		}
	}
	p.want([]string{"--json", "run", "nobody"}, 2, `"success":false,"error":"there is no workflow`, "")
}

// TestWorkflowAsTool calls a workflow as a tool: with tools that it declares,
// several at a time, and with one that it does not.
func TestWorkflowAsTool(t *testing.T) {
	const body = `def main(names: list[str]) -> dict:
    """Greet everybody."""
    loud = [tools.shout(text = n) for n in names]
    counts = tools.call_all([("count", {"text": n}) for n in names + [""]])
    bad = attempt(tools.count, text = "")
    return {"loud": loud, "counts": [c["value"] for c in counts], "bad": bad["error"]}

`
	p := newFlowProject(t, map[string]string{
		"tools/shout.star": shoutTool, "tools/count.star": countTool,
		"workflows/greet.star": body + "workflow(main, needs = [\"tool:shout\", \"tool:count\"])\n",
		"workflows/sly.star":   body + "workflow(main, needs = [\"tool:shout\"])\n",
		"workflows/plain.star": body,
	})
	const want = "{\n  \"loud\": [\"ANN\", \"BO\"],\n  \"counts\": [3, 2, null],\n  \"bad\": \"count: nothing to count\"\n}\n"
	p.want([]string{"tool", "run", "greet", "names=ann,bo"}, 0, want, "")
	p.want([]string{"tool", "run", "sly", "names=ann,bo"}, 3, "", "the tool 'sly' does not declare that it needs tool:count")
	p.want([]string{"tool", "run", "plain", "names=ann"}, 2, "", "Tool not found")
	p.want([]string{"tool", "list", "--location", "project"}, 0, "workflow (2)\n  greet", "")
	p.want([]string{"tool", "list", "--location", "project", "--json"}, 0, `"workflow":true`, "")
}
