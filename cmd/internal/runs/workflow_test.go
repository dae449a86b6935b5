package runs

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
)

const (
	shoutTool = "def shout(text: str) -> str:\n    \"Say it loud.\"\n    return text.upper()\n\ntool(shout)\n"
	countTool = "def count(text: str) -> int:\n    \"Count letters.\"\n    if text == \"\":\n        fail(\"nothing to count\")\n    return len(text)\n\ntool(count)\n"
	keepTool  = "def keep(text: str):\n    \"Keep it.\"\n    fs.write(\"kept.txt\", text)\n\ntool(keep, needs = [\"fs.write:*.txt\"])\n"
)

// newProject makes a project of these files, by their names below .cassidy, which its
// user trusts.
func newProject(t *testing.T, files map[string]string) *apptest.Project {
	t.Helper()
	return apptest.NewProject(t, commands(), files)
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
	p := newProject(t, pureFiles())
	p.Write("own.star", "def main(n: int):\n    return {\"n\": n}\n")
	p.Write("input.json", `{"a": 20, "b": 22}`)
	for _, tt := range []struct {
		args        string
		code        int
		out, stderr string
	}{
		{"run add a=1", 0, "2\n", ""},
		{"run add a=1 b=41", 0, "42\n", ""},
		{"run add a:=2 b=3", 0, "5\n", ""},
		{"run add --input {\"a\":4}", 0, "5\n", ""},
		{"run add --input @" + filepath.Join(p.Dir, "input.json"), 0, "42\n", ""},
		{"run text name=Ann", 0, "hello, Ann\n", "cassidy: greeting Ann\n"},
		{"run text --quiet", 0, "hello, you\n", ""},
		{"run list items=b,a", 0, "[\"a\", \"b\"]\n", ""},
		{"run none", 0, "", ""},
		{"run own.star n=7", 0, "{\"n\": 7}\n", ""},
		{"run .cassidy/workflows/add.star a=1", 0, "2\n", ""},
		{"run where", 0, p.Dir + "\n", ""},
		{"run add", 2, "", "Missing required parameter: a"},
		{"run add a=one", 2, "", "Parameter 'a' should be integer but got string"},
		{"run add a=1 c=2", 2, "", "Unknown parameter: c"},
		{"run add 1", 2, "", "hint: cassidy run add a=… [b=…]"},
		{"run add a=1 --input {}", 2, "", "are mutually exclusive"},
		{"run ad a=1", 2, "", "there is no workflow \"ad\"; did you mean \"add\"?\ncassidy: hint: use one of the workflows: add,"},
		{"run none.star", 2, "", "file none.star does not exist\ncassidy: hint: list the workflows: cassidy run"},
		{"run nomain", 2, "", ".cassidy/workflows/nomain.star: the file has no function main\ncassidy: hint: begin the function with: def main(…)"},
		{"run lie", 1, "", "the result of 'workflow lie' does not have its declared type"},
		{"run fails", 1, "", ".cassidy/workflows/fails.star:2:9: it is Monday"},
		{"run none --yes --deny", 2, "", "--yes and --deny are mutually exclusive"},
		{"run none --run-id a/b", 2, "", "invalid run ID"},
		{"run none --run-id " + strings.Repeat("a", 70), 2, "", "invalid run ID: 70 characters, but the maximum is 64"},
		{"run none --run-id first", 0, "", ""},
		{"run none --run-id first", 1, "", "run 'first' already exists"},
	} {
		p.Want(strings.Fields(tt.args), tt.code, tt.out, tt.stderr)
	}
	if stdout, _, _ := p.Run("run", "none"); stdout != "" {
		t.Errorf("a workflow that returns nothing printed %q", stdout)
	}
}

func TestListWorkflows(t *testing.T) {
	p := newProject(t, map[string]string{
		"workflows/add.star":  pureFiles()["workflows/add.star"],
		"workflows/tell.star": "def main():\n    \"Tell it.\"\nworkflow(main, needs = [\"tool:shout\"])\n",
	})
	p.Write(".cassidy/workflows/new.star", "def main():\n    \"New.\"\n")
	p.Write(".cassidy/workflows/bad.star", "x = 1\n")
	p.Want([]string{"run"}, 0, "add a=… [b=…]  Add two numbers.\nnew            [untrusted: nobody has reviewed it yet; run cassidy trust]\ntell           Tell it.\n",
		"bad.star: the file has no function main")
	stdout, _, code := p.Run("--json", "run")
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
	empty := &apptest.Project{TB: t, Dir: t.TempDir(), Home: t.TempDir(), Commands: commands()}
	empty.Want([]string{"run"}, 0, "No workflows found\n", ".cassidy/workflows/NAME.star")
	empty.Want([]string{"run", "x"}, 2, "", "there is no workflow \"x\"\ncassidy: hint: create")
}

// TestUntrustedWorkflows checks that a project's workflow is not run before its
// user has reviewed it, by whatever path, and that a person's own file is.
func TestUntrustedWorkflows(t *testing.T) {
	p := newProject(t, pureFiles())
	p.Write(".cassidy/workflows/new.star", "def main():\n    return 1\n\nworkflow(main)\n")
	for _, word := range []string{"new", ".cassidy/workflows/new.star", filepath.Join(p.Dir, ".cassidy/tools/../workflows/new.star")} {
		p.Want([]string{"run", word}, 3, "", "the workflow 'new' is untrusted: nobody has reviewed it yet; run cassidy trust\ncassidy: hint: ")
	}
	p.Want([]string{"tool", "run", "new"}, 3, "", "the tool 'new' is untrusted")
	p.Want([]string{"run", "new", "--trust-once"}, 0, "1\n", "trusted for this command: 1 file (cassidy trust shows it)")
	p.Write(".cassidy/workflows/lib/words.star", "greeting = \"boo\"\n")
	p.Want([]string{"run", "text"}, 3, "", "the loaded file lib/words.star is not trusted: the file has changed since it was trusted")
	p.Want([]string{"run", "add", "a=1"}, 0, "2\n", "")
	p.Want([]string{"trust", "--yes"}, 0, ".cassidy/workflows/new.star", "trusted 2 files")
	p.Want([]string{"run", "new"}, 0, "1\n", "")
	p.Want([]string{"run", "text"}, 0, "boo, you\n", "")
	p.Want([]string{"trust", "--revoke", ".cassidy/workflows/new.star"}, 0, "", "")
	p.Want([]string{"run", "new"}, 3, "", "trust was revoked")
}

// TestRunWorkflowAsJSON checks the line with which a run ends.
func TestRunWorkflowAsJSON(t *testing.T) {
	p := newProject(t, pureFiles())
	for _, tt := range []struct {
		args string
		code int
		want map[string]any
	}{
		{"add a=1 --run-id r1", 0, map[string]any{"type": "run_end", "run": "r1", "workflow": "add", "reason": "final", "result": 2.0, "success": true}},
		{"fails --run-id r2", 1, map[string]any{"type": "run_end", "run": "r2", "workflow": "fails", "reason": "error", "result": nil, "success": false,
			"error": "it is Monday", "error_type": "user_error", "suggestion": ""}},
	} {
		stdout, _, code := p.Run(append([]string{"--json", "run"}, strings.Fields(tt.args)...)...)
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
		if at, _ := got["time"].(string); at == "" || got["seq"] != float64(len(lines)) {
			t.Errorf("%s: the time %q and the number %v of the last of %d events", tt.args, at, got["seq"], len(lines))
		}
		for _, name := range []string{"usage", "time", "seq"} {
			delete(got, name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || code != tt.code {
			t.Errorf("%s ended with %d, want %d (-want +got)\n%s", tt.args, code, tt.code, diff)
		}
	}
	p.Want([]string{"--json", "run", "nobody"}, 2, `"success":false,"error":"there is no workflow`, "")
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
	p := newProject(t, map[string]string{
		"tools/shout.star": shoutTool, "tools/count.star": countTool,
		"workflows/greet.star": body + "workflow(main, needs = [\"tool:shout\", \"tool:count\"])\n",
		"workflows/sly.star":   body + "workflow(main, needs = [\"tool:shout\"])\n",
		"workflows/plain.star": body,
	})
	const want = "{\n  \"loud\": [\"ANN\", \"BO\"],\n  \"counts\": [3, 2, null],\n  \"bad\": \"count: nothing to count\"\n}\n"
	p.Want([]string{"tool", "run", "greet", "names=ann,bo"}, 0, want, "")
	p.Want([]string{"tool", "run", "sly", "names=ann,bo"}, 3, "", "the tool 'sly' does not declare that it needs tool:count")
	p.Want([]string{"tool", "run", "plain", "names=ann"}, 2, "", "Tool not found")
	p.Want([]string{"tool", "list", "--location", "project"}, 0, "workflow (2)\n  greet", "")
	p.Want([]string{"tool", "list", "--location", "project", "--json"}, 0, `"workflow":true`, "")
}
