package runs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// countsLines is a program as models write them.
const countsLines = `# Count the lines of some files.
paths = ["a.txt", "b.txt"]  # the files to count in
limit = 100
lines = {}
note = """two
lines"""
for path in paths:
    text_of = read_file(path, limit = limit)  # by position
    lines[path] = len(text_of.splitlines())
missing = attempt(read_file, "none.txt")
{"lines": lines, "missing": not missing["ok"], "note": note}
`

// A promoteHome is a home with a project beside it.
type promoteHome struct {
	*testHome
	project string
}

func newPromoteHome(t *testing.T) *promoteHome {
	t.Helper()
	h := &promoteHome{newHome(t), t.TempDir()}
	h.check(os.MkdirAll(filepath.Join(h.project, ".cassidy", "tools"), 0o700))
	h.write("a.txt", "one\ntwo\n")
	h.write("b.txt", "three\n")
	return h
}

func (h *promoteHome) write(name, text string) {
	h.Helper()
	h.check(os.WriteFile(filepath.Join(h.project, name), []byte(text), 0o600))
}

func (h *promoteHome) in(args ...string) (stdout, stderr string, code int) {
	h.Helper()
	return apptest.Run(h, h.project, map[string]string{"CASSIDY_HOME": h.home}, commands(), args...)
}

// tool reads the file that was made, or returns "".
func (h *promoteHome) tool(name string) string {
	data, _ := os.ReadFile(filepath.Join(h.project, ".cassidy", "tools", name+".star"))
	return string(data)
}

// ran records at a place that a model's program was run, and what it called.
func (h *promoteHome) ran(l *history.Log, at, code string, result value.Value, calls ...string) {
	h.Helper()
	for i, name := range calls {
		inner := h.place(at).Child(i + 1).String()
		h.did(l, inner, "tools.call", value.NewDict("name", name, "args", value.NewDict("filepath", "a.txt")), "text", nil)
	}
	decision := value.NewDict("decision", value.NewDict("kind", "call", "action", "execute_code", "input", value.NewDict("code", code)))
	h.did(l, at, "agent.call", decision, value.NewDict("success", true, "result", result), nil)
}

// TestPromoteOfSeveralCalls checks that a program is found if the model made other calls in the
// same reply.
func TestPromoteOfSeveralCalls(t *testing.T) {
	h := newPromoteHome(t)
	l := h.begin("r")
	h.did(l, "3.2.1", "tools.call", value.NewDict("name", "read_file", "args", value.NewDict("filepath", "a.txt")), "text", nil)
	h.did(l, "3", "agent.calls", value.NewDict("decisions", value.List{
		value.NewDict("action", "read_file", "input", value.NewDict("filepath", "a.txt")),
		value.NewDict("action", "execute_code", "input", value.NewDict("code", countsLines)),
	}), value.NewDict("outcomes", value.List{value.NewDict("success", true, "result", "x"), value.NewDict("success", true, "result", 3)}), nil)
	h.check(l.End(context.Background(), "final", tool.Outcome{}, nil))
	printed, stderr, code := h.in("runs", "promote", "r", "--name", "count-lines", "--print")
	if code != 0 || !strings.Contains(printed, "tool:read_file") {
		t.Errorf("exit %d, %s:\n%s", code, stderr, printed)
	}
	if _, stderr, code := h.in("runs", "promote", "r", "--name", "count-lines", "--print", "--step", "3.1"); code == 0 || !strings.Contains(stderr, "3.2") {
		t.Errorf("a step without a program: exit %d, %s, want a hint to 3.2", code, stderr)
	}
}

func TestPromote(t *testing.T) {
	h := newPromoteHome(t)
	l := h.begin("r")
	h.ran(l, "3", countsLines, value.NewDict("result", value.NewDict("lines", &value.Dict{}, "missing", true, "note", ""), "output", "x"), "read_file", "read_file")
	h.check(l.End(context.Background(), "final", tool.Outcome{}, nil))

	printed, stderr, code := h.in("runs", "promote", "r", "--name", "count-lines", "--print")
	want := `"""Count Lines: promoted from run r, step 3.

A model wrote the program that is the body of the handler. Read the program.
Then change the docstring and the defaults: a model reads the docstring to decide when to call the tool.
"""

def count_lines(paths: list[str] = ["a.txt", "b.txt"], limit: int = 100) -> dict:
    """Do r.

    Args:
      paths: the files to count in
      limit: The limit.

    Returns:
      lines, missing, note.
    """
    # Count the lines of some files.
    lines = {}
    note = """two
lines"""
    for path in paths:
        text_of = tools.read_file(filepath = path, limit = limit)  # by position
        lines[path] = len(text_of.splitlines())
    missing = attempt(tools.read_file, filepath = "none.txt")
    return {"lines": lines, "missing": not missing["ok"], "note": note}

tool(
    count_lines,
    title = "Count Lines",
    group = "custom",
    needs = ["tool:read_file", "fs.read"],
    examples = [
        example("As the model ran it", args = {"paths": ["a.txt", "b.txt"], "limit": 100}),
    ],
    tags = ["promoted"],
)
`
	if diff := cmp.Diff(want, printed); diff != "" || code != 0 || stderr != "" {
		t.Fatalf("--print, exit %d, %s (-want +got):\n%s", code, stderr, diff)
	}
	if h.tool("count-lines") != "" {
		t.Fatal("--print wrote a file")
	}

	// Nobody can be asked: the tool is there, and not used.
	stdout, stderr, code := h.in("runs", "promote", "r", "--step", "3", "--name", "count-lines")
	if code != 0 || stdout != "" || h.tool("count-lines") != want || !strings.Contains(stderr, "cassidy trust .cassidy/tools/count-lines.star") {
		t.Fatalf("promote: exit %d, %q, %q\n%s", code, stdout, stderr, h.tool("count-lines"))
	}
	if _, stderr, code := h.in("tool", "run", "count-lines"); code == 0 || !strings.Contains(stderr, "untrusted") {
		t.Errorf("an untrusted tool: exit %d, %s", code, stderr)
	}
	if stdout, stderr, code := h.in("tool", "validate", "count-lines"); code != 0 {
		t.Errorf("validate: exit %d, %s%s", code, stdout, stderr)
	}
	if _, stderr, code := h.in("runs", "promote", "r", "--name", "count_lines"); code != 2 || !strings.Contains(stderr, "already exists") {
		t.Errorf("a second time: exit %d, %s", code, stderr)
	}

	// It is shown before it is trusted, and does what the program did.
	stdout, stderr, code = h.in("runs", "promote", "r", "--name", "counter", "--yes")
	if code != 0 || !strings.Contains(stdout, "def counter(paths") || !strings.Contains(stdout, "  can        call the tool read_file\n") || !strings.Contains(stderr, "trusted 1 file") {
		t.Fatalf("--yes: exit %d\n%s%s", code, stdout, stderr)
	}
	stdout, stderr, code = h.in("--json", "tool", "run", "counter", `paths:=["b.txt"]`)
	if code != 0 || !strings.Contains(stdout, `"lines":{"b.txt":1},"missing":true,"note":"two\nlines"`) {
		t.Errorf("the tool: exit %d, %s%s", code, stdout, stderr)
	}
}

// TestPromoteFinds checks which program is taken, and what is refused.
func TestPromoteFinds(t *testing.T) {
	h := newPromoteHome(t)
	end := func(l *history.Log) {
		h.check(l.End(context.Background(), "final", tool.Outcome{Value: int64(7)}, nil))
	}
	l := h.begin("two")
	h.ran(l, "3", "1 + 2", int64(3))
	h.did(l, "4", "tools.call", value.NewDict("name", "execute-code", "args", value.NewDict("code", `"a" + "b"`)), "ab", nil)
	h.did(l, "5", "agent.call", value.NewDict("decision", value.NewDict("action", "execute_code", "input", value.NewDict("code", "fail()"))),
		value.NewDict("success", false, "error", "no"), nil)
	h.did(l, "6", "fs.read", value.NewDict("path", "a"), "x", nil)
	h.ran(l, "7", `no_such_tool("x")`, "x", "no_such_tool")
	h.ran(l, "8", "undefined_name + 1", int64(1))
	h.did(l, "9.1.1", "tools.call", value.NewDict("name", "write_file", "args", &value.Dict{}), "x", nil)
	h.did(l, "9.1.2", "http.get", value.NewDict("url", "https://Example.com/x"), &value.Dict{}, nil)
	h.did(l, "9.2", "http.get", value.NewDict("url", "http://127.0.0.1:8080/"), &value.Dict{}, nil)
	h.did(l, "9.3", "tools.call_all", value.NewDict("calls", value.List{value.Tuple{"git_status"}, value.Tuple{"read_file", &value.Dict{}}}), value.List{}, nil)
	h.did(l, "9.3.1.1", "shell.run", value.NewDict("argv", value.List{"git", "status"}), &value.Dict{}, nil)
	h.ran(l, "9", "fetch_url('https://example.com/x')\nrun_command('ls')", "x", "fetch_url")
	end(l)
	end(h.begin("none"))
	whole, err := h.j.Begin(context.Background(), history.Run{ID: "whole", Kind: "code", Title: "Add \"\"\"up\\"}, tool.Script{Path: "program.code", Source: "x = 3\nx + 4"})
	h.check(err)
	end(whole)

	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"two --name n", 2, "--step is missing: the run 'two' has 6 programs\ncassidy: hint: select one: --step 3, or --step 4"},
		{"two --step 3 --name n --print", 0, "def n() -> int:\n    \"\"\"Do two.\n\n    Returns:\n      The result of the program.\n    \"\"\"\n    return 1 + 2\n\ntool(\n    n,\n"},
		{"two --step 4 --name n --print", 0, "def n() -> str:"},
		{"two --step 5 --name n", 2, "promote the program of run two, step 5: the program failed"},
		{"two --step 6 --name n", 2, "has no program at step \"6\"\ncassidy: hint: use one of these steps: 3, 4"},
		{"two --step x --name n", 2, "invalid step"},
		{"two --step 7 --name n", 2, "calls the unknown tool 'no_such_tool'"},
		{"two --step 8 --name n", 2, "undefined_name"},
		{"two --step 8 --name n --print", 2, "return undefined_name + 1"},
		{"two --step 9 --name n --print", 0, `needs = [
        "tool:fetch_url",
        "tool:write_file",
        "tool:git_status",
        "tool:read_file",
        "http.get:example.com",
        "http.get:127.0.0.1:8080",
        "fs.read",
        "fs.write",
        "shell:git",
    ],`},
		{"two --step 9 --name n --print", 0, "line 2 of the program: the new tool does not declare run_command"},
		{"none --name n", 2, "the run has no program that a model wrote"},
		{"whole --name n --print", 0, "def n(x: int = 3) -> int:\n    \"\"\"Add '''up\\\\.\n"},
		{"whole --name list --print", 0, "def list_tool(x: int = 3)"},
		{"whole", 2, "--name is missing"},
		{"whole --name No", 2, `Invalid tool name: "No"`},
		{"whole --name read_file", 2, "create the tool 'read_file': a built-in tool has this name"},
		{"wole --name n", 2, `did you mean "whole"?`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			stdout, stderr, code := h.in(append([]string{"runs", "promote"}, strings.Fields(tt.args)...)...)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
				t.Errorf("exit %d\n%s%s\nwant %d and\n%s", code, stdout, stderr, tt.code, tt.want)
			}
			if h.tool("n") != "" {
				t.Error("a file was written")
			}
		})
	}
	stdout, _, code := h.in("--json", "runs", "promote", "whole", "--name", "sum")
	if want := `"needs":[],"trusted":false}`; code != 0 || !strings.HasPrefix(stdout, `{"name":"sum","path":`) || !strings.Contains(stdout, want) {
		t.Errorf("as JSON: exit %d, %s", code, stdout)
	}
}
