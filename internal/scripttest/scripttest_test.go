package scripttest_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/scripttest"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/stdlib"
)

func TestMain(m *testing.M) { testworker.Main(m, stdlib.Pure()...) }

// newProject writes a project, with files by their names in .cassidy.
func newProject(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, ".cassidy", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func newRuntime(t *testing.T) *cassidy.Runtime {
	t.Helper()
	r, err := cassidy.New(&cassidy.RuntimeOptions{Workers: cassidy.Workers{Program: testworker.Exec()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// runAll runs the tests of a project, and returns "ok" or the error of each by its name.
func runAll(t *testing.T, o *scripttest.Options) map[string]string {
	t.Helper()
	if o.Runtime == nil {
		o.Runtime = newRuntime(t)
	}
	s, err := scripttest.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}()
	got := map[string]string{}
	s.Run(context.Background(), func(r scripttest.Result) {
		switch {
		case r.Skipped:
			got[r.Name] = "skipped"
		case r.Err == nil:
			got[r.Name] = "ok"
		default:
			got[r.Name] = r.Err.Pos.String() + ": " + r.Err.Message() + "\nhint: " + r.Err.Hint + "\n" + strings.Join(r.Output, "\n")
		}
	})
	return got
}

// effects is a tool that makes one effect of each module.
const effects = `
"""Effects."""

def effects(what: str, arg: any = None) -> any:
    """Make an effect.

    Args:
      what: The effect.
      arg: Its argument.
    """
    if what == "read":
        return fs.read(arg)
    if what == "write":
        return fs.write(arg, "new")
    if what == "get":
        r = http.get(arg, headers = {"Authorization": "Bearer " + secret("TOKEN")})
        return [r["status"], r["json"] or r["text"]]
    if what == "post":
        return http.post("https://api.example.com/items", json = arg)["json"]
    if what == "plain":
        return http.get(arg)["text"]
    if what == "run":
        return shell.run(arg)
    if what == "now":
        time.sleep(90)
        return time.now()
    if what == "random":
        return [random.integer(1, 1000000), random.integer(1, 1000000)]
    if what == "env":
        return env.get(arg)
    if what == "ask":
        return [human.ask("Which?"), human.confirm("Sure?")]
    if what == "model":
        return model.ask("Say hello")
    if what == "other":
        return tools.other(n = arg)
    if what == "forbidden":
        return fs.read(".git/config")
    if what == "fail":
        fail("no such luck")
    if what == "loop":
        for _ in range(1000000000):
            pass
    if what == "print":
        for i in range(100000):
            print("line", i)
    return None

tool(effects, needs = [
    "fs.read", "fs.write:out", "http:api.example.com", "secret:TOKEN@api.example.com", "shell:git",
    "env:LANG", "human", "model", "tool:other",
])
`

var project = map[string]string{
	"tools/effects.star":   effects,
	"tools/other.md":       "---\nname: other\ndescription: Double a number.\nparameters:\n  n: {type: integer, description: the number, required: true}\nexamples:\n  - {description: two, args: {n: 2}, expect: 4}\n  - {description: three, args: {n: 3}, expect: 7}\n---\n```lua\nfunction other(args)\n  return args.n * 2\nend\n```\n",
	"workflows/twice.star": "def main(n: int):\n    \"\"\"Twice.\"\"\"\n    if human.confirm(\"Go on?\"):\n        return tools.other(n = tools.other(n = n))\n    return None\n",
}

// TestFakes runs a test for each fake, with what it returns and what it says if the fake is missing.
func TestFakes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body, want string
	}{
		"fs":            {`t.fs({"a.txt": "text"}); t.eq(t.call("effects", what = "read", arg = "a.txt"), "text")`, "ok"},
		"fs write":      {`t.fs(); t.call("effects", what = "write", arg = "out"); t.eq(t.read("out"), "new"); t.eq(t.files(), ["out"])`, "ok"},
		"fs none":       {`t.call("effects", what = "read", arg = "a.txt")`, `t.fs({"a.txt": "…"})`},
		"fs outside":    {`t.fs({"../a.txt": "text"})`, `invalid path "../a.txt"`},
		"http":          {`t.secret({"TOKEN": "secret-value"}); t.http({"GET https://api.example.com/a": {"json": {"n": 1}, "status": 201}}); t.eq(t.call("effects", what = "get", arg = "https://api.example.com/a?x=1"), [201, {"n": 1}])`, "ok"},
		"http text":     {`t.http({"https://api.example.com/*": "hello"}); t.eq(t.call("effects", what = "plain", arg = "https://api.example.com/a"), "hello")`, "ok"},
		"http function": {`t.http({"POST https://api.example.com/items": lambda r: {"json": [r["json"], r["method"]]}}); t.eq(t.call("effects", what = "post", arg = {"a": 1}), [{"a": 1}, "POST"])`, "ok"},
		"http list":     {`t.http({"https://api.example.com/": ["a", "b"]}); t.eq([t.call("effects", what = "plain", arg = "https://api.example.com/") for _ in range(2)], ["a", "b"]); t.call("effects", what = "plain", arg = "https://api.example.com/")`, "has 2 results, but is used again"},
		"http error":    {`t.http({"https://api.example.com/": {"error": "connection refused"}}); t.fails("effects", what = "plain", arg = "https://api.example.com/", match = "connection refused")`, "ok"},
		"http wrong":    {`t.http({"https://api.example.com/": 3}); t.call("effects", what = "plain", arg = "https://api.example.com/")`, "should be a text, bytes or a dict"},
		"http none":     {`t.call("effects", what = "plain", arg = "https://api.example.com/a")`, `t.http({"GET https://api.example.com/a": {"json": {}}})`},
		"http secret":   {`t.secret({"TOKEN": "secret-value"}); t.http({"*": lambda r: r["headers"]["authorization"]}); t.eq(t.call("effects", what = "get", arg = "https://api.example.com/")[1], "Bearer {{secret:TOKEN}}")`, "ok"},
		"secret none":   {`t.call("effects", what = "get", arg = "https://api.example.com/")`, `t.secret({"TOKEN": "a value for tests"})`},
		"shell":         {`t.shell({"git status": {"exit_code": 1, "stderr": "not a repository"}}); r = t.call("effects", what = "run", arg = ["git", "status"]); t.eq(r, {"exit_code": 1, "stdout": "", "stderr": "not a repository", "truncated": False})`, "ok"},
		"shell program": {`t.shell({"git": lambda c: c["command"]}); t.eq(t.call("effects", what = "run", arg = ["git", "log", "-n", "5"])["stdout"], "git log -n 5")`, "ok"},
		"shell none":    {`t.call("effects", what = "run", arg = ["git", "log"])`, `t.shell({"git log": "…"})`},
		"clock":         {`t.clock("2026-01-01T00:00:00Z"); t.eq(t.call("effects", what = "now"), "2026-01-01T00:01:30.000000000Z")`, "ok"},
		"clock none":    {`t.call("effects", what = "now")`, `t.clock("2026-01-01T00:00:00Z")`},
		"clock wrong":   {`t.clock("yesterday")`, `invalid time "yesterday"`},
		"random":        {`t.random(7); a = t.call("effects", what = "random"); t.eq(t.call("effects", what = "random"), a); t.random(8); b = t.call("effects", what = "random"); t.eq(a == b, False)`, "ok"},
		"random none":   {`t.call("effects", what = "random")`, `t.random(1)`},
		"env":           {`t.env({"LANG": "de"}); t.eq(t.call("effects", what = "env", arg = "LANG"), "de"); t.env({"LANG": None}); t.eq(t.call("effects", what = "env", arg = "LANG"), None)`, "ok"},
		"env none":      {`t.call("effects", what = "env", arg = "LANG")`, `t.env({"LANG": "…"})`},
		"answer":        {`t.answer("this"); t.answer(True); t.eq(t.call("effects", what = "ask"), ["this", True])`, "ok"},
		"answer none":   {`t.answer(["this"]); t.call("effects", what = "ask")`, `t.answer(True)`},
		"model":         {`t.model(["hello", lambda messages: messages[-1]["content"]]); t.eq(t.call("effects", what = "model"), "hello"); t.eq(t.call("effects", what = "model"), "Say hello")`, "ok"},
		"model none":    {`t.call("effects", what = "model")`, `t.model(["…"])`},
		"effect":        {`t.effect({"time.now": "noon", "time.sleep": None}); t.eq(t.call("effects", what = "now"), "noon")`, "ok"},
		"nested":        {`t.eq(t.call("effects", what = "other", arg = 4), 8); t.eq(t.effects(), [{"func": "tools.call", "args": {"name": "other", "args": {"n": 4}}, "tool": "effects"}])`, "ok"},
		"workflow":      {`t.answer(True); t.eq(t.run("twice", n = 3), 12)`, "ok"},
		"effects":       {`t.http({"*": "x"}); t.call("effects", what = "plain", arg = "https://api.example.com/"); t.eq(t.effects("http"), [{"func": "http.get", "args": {"url": "https://api.example.com/"}, "tool": "effects"}])`, "ok"},

		"eq":             {`t.eq({"a": [1, 2], "b": "x"}, {"a": [1, 3], "b": "x"})`, "(-want +got)"},
		"eq kinds":       {`t.eq((1, 2), [1, 2.0])`, "ok"},
		"fails":          {`e = t.fails("effects", what = "fail", match = "such l.ck"); t.eq(e["error_type"], "user_error")`, "ok"},
		"fails not":      {`t.fails("other", n = 2)`, "other should fail but returned 4"},
		"fails match":    {`t.fails("effects", what = "fail", match = "^x")`, `does not match "^x"`},
		"fails function": {`t.fails(lambda: fail("own"), match = "own")`, "ok"},
		"fails unfaked":  {`t.fails("effects", what = "env", arg = "LANG")`, `t.env({"LANG": "…"})`},
		"denied":         {`t.fs({"a": ""}); t.denied("effects", what = "write", arg = "elsewhere", match = "fs.write"); t.denied("effects", what = "run", arg = ["ls"]); t.denied("effects", what = "plain", arg = "https://evil.example.com/")`, "ok"},
		"denied not":     {`t.denied("effects", what = "fail")`, "should be refused but failed otherwise"},
		"call fails":     {`t.call("effects", what = "fail")`, "effects failed: user_error: no such luck (at .cassidy/tools/effects.star:"},
		"call unknown":   {`t.call("nothing")`, "Unknown tool: nothing"},
		"table":          {`t.table([{"n": 1, "want": 2}, {"name": "bad", "n": 2, "want": 5}, {"n": 3, "want": 6}], lambda c: t.eq(t.call("other", n = c["n"]), c["want"]))`, "1 of 3 cases failed:\nbad: "},
		"name":           {`t.call("effects", name = "x")`, "name"},

		"fake fails":   {`t.http({"*": lambda r: fail("broken fake")}); t.call("effects", what = "plain", arg = "https://api.example.com/")`, "broken fake"},
		"fake changes": {`t.http({"*": lambda r: t.http({})}); t.call("effects", what = "plain", arg = "https://api.example.com/")`, "a fake cannot change fakes"},
		"fake calls":   {`t.http({"*": lambda r: t.call("other", n = 1)}); t.call("effects", what = "plain", arg = "https://api.example.com/")`, "a fake cannot call tools"},
		"fake mutated": {`d = {"*": "a"}; t.http(d); d["*"] = "b"; t.eq(t.call("effects", what = "plain", arg = "https://api.example.com/"), "a")`, "ok"},
		"sealed":       {`fs.read("a")`, "fs.read"},
		"loop":         {"for _ in range(1000000000):\n        pass", "steps"},
		"tool loops":   {`t.call("effects", what = "loop")`, "steps"},
		"tool prints":  {`t.fails("effects", what = "print"); print("done")`, "ok"},
		"prints":       {"for _ in range(100000):\n        print(1)", "effects"},
		"calls":        {"for _ in range(100000):\n        t.files()", "effects"},
		"forged":       {`t.eq(t.fails({"$function": 99}), 1)`, "the host asks for a function that the script does not have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"tools/effects_test.star": "def test_one(t):\n    " + strings.ReplaceAll(tt.body, "; ", "\n    ") + "\n"}
			for name, text := range project {
				files[name] = text
			}
			got := runAll(t, &scripttest.Options{Dir: newProject(t, files), Filter: regexp.MustCompile("test_one$"), Timeout: 20 * time.Second})["test_one"]
			if tt.want == "ok" && got != "ok" || tt.want != "ok" && !strings.Contains(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
			if got != "ok" && !strings.HasPrefix(got, ".cassidy/tools/effects_test.star:") {
				t.Errorf("the error has no position in the test: %s", got)
			}
		})
	}
}
