package scripttest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/scripttest"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/history/fixture"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
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

// newRuntime returns a runtime that starts no workers, except in make soak.
func newRuntime(t *testing.T) *cassidy.Runtime {
	t.Helper()
	mode := cassidy.Inline
	if testutil.Soak() {
		mode = cassidy.Process
	}
	return newRuntimeOf(t, mode)
}

func newRuntimeOf(t *testing.T, mode cassidy.Mode) *cassidy.Runtime {
	t.Helper()
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: mode, Workers: cassidy.Workers{Program: testworker.Exec()}})
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
    if what == "gone":
        return [attempt(tools.gone)["error"], tools.call_all([("gone", {})])]
    if what == "forbidden":
        return fs.read(".git/config")
    if what == "fail":
        fail("no such luck")
    if what == "many":
        for _ in range(arg):
            http.get("https://api.example.com/")
    if what == "loop":
        for _ in range(1000000000):
            pass
    if what == "print":
        for i in range(1000000000):
            print("line", i)
    return None

tool(effects, needs = [
    "fs.read", "fs.write:out", "http:api.example.com", "secret:TOKEN@api.example.com", "shell:git",
    "env:LANG", "human", "model", "tool:other", "tool:gone",
], limits = {"requests": 30})
`

var project = map[string]string{
	"tools/effects.star":   effects,
	"tools/other.md":       "---\nname: other\ndescription: Double a number.\nparameters:\n  n: {type: integer, description: the number, required: true}\nexamples:\n  - {description: two, args: {n: 2}, expect: 4}\n  - {description: three, args: {n: 3}, expect: 7}\n---\n```lua\nfunction other(args)\n  return args.n * 2\nend\n```\n",
	"tools/gone.star":      "def gone(:\n",
	"workflows/later.star": "def main(:\n",
	"workflows/twice.star": "def main(n: int):\n    \"\"\"Twice.\"\"\"\n    if human.confirm(\"Go on?\"):\n        return tools.other(n = tools.other(n = n))\n    return None\n",
}

// TestFakes runs a test for each fake, with what it returns and what it says if the fake is missing.
func TestFakes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
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
		"http wrong":    {`t.http({"https://api.example.com/": 3}); t.call("effects", what = "plain", arg = "https://api.example.com/")`, "should be a string, bytes or a dict but got int"},
		"http none":     {`t.call("effects", what = "plain", arg = "https://api.example.com/a")`, `t.http({"GET https://api.example.com/a": {"json": {}}})`},
		"http secret":   {`t.secret({"TOKEN": "secret-value"}); t.http({"*": lambda r: r["headers"]["authorization"]}); t.eq(t.call("effects", what = "get", arg = "https://api.example.com/")[1], "Bearer {{secret:TOKEN}}")`, "ok"},
		"secret none":   {`t.call("effects", what = "get", arg = "https://api.example.com/")`, `t.secret({"TOKEN": "a value for tests"})`},
		"shell":         {`t.shell({"git status": {"exit_code": 1, "stderr": "not a repository"}}); r = t.call("effects", what = "run", arg = ["git", "status"]); t.eq(r, {"exit_code": 1, "stdout": "", "stderr": "not a repository", "truncated": False})`, "ok"},
		"shell program": {`t.shell({"git": lambda c: c["command"]}); t.eq(t.call("effects", what = "run", arg = ["git", "log", "-n", "5"])["stdout"], "git log -n 5")`, "ok"},
		"shell lines":   {`t.shell({"git *": "text"}); t.eq(t.call("effects", what = "run", arg = ["git", "log", "--format", "a\nb"])["stdout"], "text")`, "ok"},
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
		"other faked":   {`t.effect({"tools.call": 5}); t.eq(t.call("effects", what = "other", arg = 4), 5)`, "ok"},
		"workflow":      {`t.answer(True); t.eq(t.run("twice", n = 3), 12)`, "ok"},
		"effects":       {`t.http({"*": "x"}); t.call("effects", what = "plain", arg = "https://api.example.com/"); t.eq(t.effects("http"), [{"func": "http.get", "args": {"url": "https://api.example.com/"}, "tool": "effects"}])`, "ok"},

		"eq":             {`t.eq({"a": [1, 2], "b": "x"}, {"a": [1, 3], "b": "x"})`, "(-want +got)"},
		"eq kinds":       {`t.eq((1, 2), [1, 2.0])`, "ok"},
		"fails":          {`e = t.fails("effects", what = "fail", match = "such l.ck"); t.eq(e["error_type"], "user_error")`, "ok"},
		"fails not":      {`t.fails("other", n = 2)`, "other should fail but returned 4"},
		"fails match":    {`t.fails("effects", what = "fail", match = "^x")`, `does not match "^x"`},
		"fails type":     {`t.fails("effects", what = "fail", error_type = "user_error", hint = "^$")`, "ok"},
		"fails type not": {`t.fails("effects", what = "fail", error_type = "command_failed")`, "the error of effects should have the type command_failed: user_error: no such luck"},
		"fails hint not": {`t.fails("effects", what = "fail", hint = "try")`, "the hint of effects does not match \"try\": \"\""},
		"fails nested":   {`t.fails(lambda: t.call("other"), error_type = "validation_error", hint = "Example: other")`, "ok"},
		"fails own type": {`t.fails(lambda: fail("own", type = "system_error", hint = "wait"), error_type = "system_error", hint = "^wait$")`, "ok"},
		"fails function": {`t.fails(lambda: fail("own"), match = "own")`, "ok"},
		"fails unfaked":  {`t.fails("effects", what = "env", arg = "LANG")`, `t.env({"LANG": "…"})`},
		"denied":         {`t.fs({"a": ""}); t.denied("effects", what = "write", arg = "elsewhere", match = "fs.write"); t.denied("effects", what = "run", arg = ["ls"]); t.denied("effects", what = "plain", arg = "https://evil.example.com/")`, "ok"},
		"denied not":     {`t.denied("effects", what = "fail")`, "should be denied but failed with another error"},
		"denied unknown": {`t.denied("nothing")`, "Unknown tool: nothing"},
		"fails unknown":  {`t.fails("nothing", match = "Unknown")`, "Unknown tool: nothing"},
		"fails caught":   {`t.fails(lambda: t.call("nothing"))`, "Unknown tool: nothing"},
		"call fails":     {`t.call("effects", what = "fail")`, "effects failed: user_error: no such luck (at .cassidy/tools/effects.star:"},
		"call unknown":   {`t.call("nothing")`, "Unknown tool: nothing"},
		"table":          {`t.table([{"n": 1, "want": 2}, {"name": "bad", "n": 2, "want": 5}, {"n": 3, "want": 6}], lambda c: t.eq(t.call("other", n = c["n"]), c["want"]))`, "1 of 3 cases failed:\nbad: "},
		"table long":     {`t.table(list(range(30)), lambda c: fail("bad"))`, "30 of 30 cases failed:\ncase 1, 0: bad\ncase 2, 1: bad\n"},
		"table cut":      {`t.table(list(range(30)), lambda c: fail("bad"))`, "case 20, 19: bad\n(10 more)"},
		"name":           {`t.call("effects", name = "x")`, "name"},

		"fake fails":    {`t.http({"*": lambda r: fail("broken fake")}); t.call("effects", what = "plain", arg = "https://api.example.com/")`, "broken fake"},
		"fake changes":  {`t.http({"*": lambda r: t.http({})}); t.call("effects", what = "plain", arg = "https://api.example.com/")`, "a fake cannot change fakes"},
		"fake calls":    {`t.http({"*": lambda r: t.call("other", n = 1)}); t.call("effects", what = "plain", arg = "https://api.example.com/")`, "a fake cannot call tools"},
		"fake mutated":  {`d = {"*": "a"}; t.http(d); d["*"] = "b"; t.eq(t.call("effects", what = "plain", arg = "https://api.example.com/"), "a")`, "ok"},
		"sealed":        {`fs.read("a")`, "fs.read"},
		"loop":          {"for _ in range(1000000000):\n        pass", "steps\nhint: do less in one test"},
		"fake loops":    {"t.http({\"*\": lambda r: [x for x in range(1 << 40)]}); t.call(\"effects\", what = \"plain\", arg = \"https://api.example.com/\")", "hint: do less in one test"},
		"tool loops":    {`t.call("effects", what = "loop")`, `or declare limits = {"steps": …}`},
		"requests":      {`t.http({"*": "x"}); t.call("effects", what = "many", arg = 30); t.eq(len(t.effects("http")), 30)`, "ok"},
		"more requests": {`t.http({"*": "x"}); t.call("effects", what = "many", arg = 31)`, "at most 30 requests, including redirects (at .cassidy/tools/effects.star:45:21)\nhint: make fewer requests in one call, or declare limits = {\"requests\": 150}"},
		"too many":      {`t.http({"*": "x"}); t.fails("effects", what = "many", arg = 31, error_type = "limit_error", match = "30 requests"); t.eq(len(t.effects("http")), 31)`, "ok"},
		"tool prints":   {`t.fails("effects", what = "print"); print("done")`, "ok"},
		"prints":        {"for _ in range(1000):\n        print(1)", "ok"},
		"request":       {`f = lambda: fail("called"); t.fails(f); t.model([f]); t.effect({"model.ask": {"$call": 0, "args": []}}); t.eq(t.call("effects", what = "model"), {"$call": 0, "args": []})`, "ok"},
		"calls":         {"for _ in range(100000):\n        t.files()", "requested more than"},
		"results":       {`t.http({"https://api.example.com/": ["a"]}); [t.call("effects", what = "plain", arg = "https://api.example.com/") for _ in range(2)]`, "has 1 result, but is used again"},
		"no request":    {`t.http({"POST /reports": "a"})`, "the fake \"POST /reports\" matches no request: its key is not a method and a URL\nhint: write a key such as \"POST https://api.example.com/reports\""},
		"similar URL":   {`t.http({"GET https://api.example.com/itemz": "a"}); t.call("effects", what = "plain", arg = "https://api.example.com/items")`, "has no fake; a similar fake is \"GET https://api.example.com/itemz\" (at .cassidy/tools/effects.star:"},
		"other method":  {`t.http({"POST https://api.example.com/*": "a"}); t.call("effects", what = "plain", arg = "https://api.example.com/items?key=%7B%7B")`, "http.get(\"https://api.example.com/items?…\") has no fake; a similar fake is \"POST https://api.example.com/*\" (at .cassidy/tools/effects.star:21:24)\nhint: add to the test: t.http({\"GET https://api.example.com/items\": {\"json\": {}}})"},
		"similar name":  {`t.env({"LANGUAGE": "de"}); t.call("effects", what = "env", arg = "LANG")`, "has no fake; a similar fake is \"LANGUAGE\""},
		"http field":    {`t.http({"https://*": lambda r: {"statsu": 404}}); t.call("effects", what = "plain", arg = "https://api.example.com/items")`, "has the unknown field \"statsu\"; did you mean \"status\"? (at .cassidy/tools/effects.star:21:24)\nhint: the fields are: status, headers, body, json, error"},
		"shell field":   {`t.shell({"git": lambda c: {"code": 1}}); t.call("effects", what = "run", arg = ["git", "status"])`, "has the unknown field \"code\"; did you mean \"exit_code\"? (at .cassidy/tools/effects.star:23:25)\nhint: the fields are: exit_code, stdout, stderr"},
		"unused http":   {`t.http({"https://*": ["a", {"jsn": 5}]})`, "effects_test.star:2:11: the fake \"https://*\" has the unknown field \"jsn\"; did you mean \"json\"?"},
		"unused status": {`t.http({"https://*": {"status": "200"}})`, "invalid status \"200\""},
		"unused value":  {`t.http({"https://*": None})`, "should be a string, bytes or a dict but got null"},
		"unused error":  {`t.http({"https://*": {"error": 5}})`, "the error of the fake \"https://*\" should be a string"},
		"unused shell":  {`t.shell({"git": {"code": 1}})`, "effects_test.star:2:12: the fake of the command \"git\" has the unknown field \"code\""},
		"unused exit":   {`t.shell({"git": {"exit_code": "1"}})`, "should be integer but got string"},
		"unused secret": {`t.secret({"TOKEN": "x"})`, "effects_test.star:2:13: the secret TOKEN is too short: it must have at least 8 bytes"},
		"unused number": {`t.secret({"TOKEN": 12345678})`, "the secret TOKEN should be a string or None but got integer"},
		"unused env":    {`t.env({"LANG": 1})`, "the environment variable LANG should be a string or None but got integer"},
		"run unknown":   {`t.fails(lambda: t.run("twicee", n = 1))`, "twicee"},
		"run denied":    {`t.fails(lambda: t.run("later"))`, "(at .cassidy/workflows/later.star:1:10)"},
		"call denied":   {`t.fails(lambda: t.call("later"))`, "Unknown tool: later is a workflow"},
		"call gone":     {`t.call("effects", what = "gone")`, "(at .cassidy/tools/gone.star:1:10)"},
		"fails gone":    {`t.fails(lambda: t.call("effects", what = "gone"))`, "(at .cassidy/tools/gone.star:1:10)"},
		"table unfaked": {`t.table(list(range(3)), lambda c: t.call("effects", what = "env", arg = "LANG"))`, "env.get(\"LANG\") has no fake"},
		"no variable":   {`t.env({"LANG": None}); t.secret({"TOKEN": None}); t.eq(t.call("effects", what = "env", arg = "LANG"), None); t.http({"https://*": "a"}); t.fails("effects", what = "get", arg = "https://api.example.com/", match = "has no value")`, "ok"},
		"lambda":        {`t.call("effects", what = "write", arg = [lambda: 1])`, "argument 'arg' of effects contains a function, but tools and workflows accept only data"},
		"other names":   {`t.equal(1, 2)`, "t has no function equal; write t.eq"},
		"forged":        {`t.eq(t.fails({"$function": 99}), 1)`, "the host requested an unknown function of the script"},
	}
	if testutil.Soak() { // only workers have this limit
		tests["prints"] = struct{ body, want string }{"for _ in range(1000000000):\n        print(1)", "CPU"}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"tools/effects_test.star": "def test_one(t):\n    " + strings.ReplaceAll(tt.body, "; ", "\n    ") + "\n"}
			for name, text := range project {
				files[name] = text
			}
			o := &scripttest.Options{Dir: newProject(t, files), Filter: regexp.MustCompile("test_one$"), Timeout: 2 * time.Minute}
			got := runAll(t, o)["test_one"]
			if tt.want == "ok" && got != "ok" || tt.want != "ok" && !strings.Contains(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
			if got != "ok" && !strings.HasPrefix(got, ".cassidy/tools/effects_test.star:") {
				t.Errorf("the error has no position in the test: %s", got)
			}
		})
	}
}

// newTests is a project with one tool, and with files of tests by their names.
func newTests(t *testing.T, files map[string]string) string {
	t.Helper()
	all := map[string]string{
		"tools/double.star": "def double(n: int) -> int:\n    \"\"\"Double.\n\n    Args:\n      n: The number.\n    \"\"\"\n    if n == 9:\n        return len(fs.read(\"n.txt\"))\n    return 2 * n\n\ntool(double, needs = [\"fs.read\"], examples = [\n    example(\"two\", args = {\"n\": 2}, expect = 4),\n    example(\"wrong\", args = {\"n\": 3}, expect = 7),\n    example(\"file\", args = {\"n\": 9}, expect = 3),\n    example(\"no result\", args = {\"n\": 1}),\n])\n",
	}
	for name, text := range files {
		all[name] = text
	}
	return newProject(t, all)
}

// wantResults compares the results of tests with the expected ones: "ok", or a part of the error.
func wantResults(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, w := range want {
		if g, ran := got[name]; !ran || w == "ok" && g != "ok" || !strings.Contains(g, w) {
			t.Errorf("%s: got %q, want %q", name, g, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got the results %q, want %d", got, len(want))
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	wantResults(t, runAll(t, &scripttest.Options{Dir: newTests(t, nil)}), map[string]string{
		"example 1": "ok",
		"example 2": "-want +got",
		"example 3": `write a function setup(t) in double_test.star, which is called before each test and example, with: t.fs({"n.txt": "…"})`,
	})
	got := runAll(t, &scripttest.Options{Dir: newTests(t, map[string]string{"tools/double_test.star": "def setup(t):\n    t.clock(\"2026-01-01T00:00:00Z\")\n"})})["example 3"]
	if want := ".cassidy/tools/double.star:8:27: fs.read has no fake\nhint: add to the function setup(t) in .cassidy/tools/double_test.star: t.fs("; !strings.HasPrefix(got, want) {
		t.Errorf("example 3 with a setup that lacks a fake: got %s, want %s", got, want)
	}
	// A fake that setup defines can be a function of the test file.
	setup := "def setup(t):\n    t.fs({\"n.txt\": \"abc\"})\n    t.effect({\"fs.read\": lambda args: args[\"path\"][:3]})\n"
	wantResults(t, runAll(t, &scripttest.Options{Dir: newTests(t, map[string]string{"tools/double_test.star": setup})}), map[string]string{
		"example 1": "ok", "example 2": "the result differs", "example 3": "ok",
	})
}

func TestInvalidFiles(t *testing.T) {
	t.Parallel()
	got := runAll(t, &scripttest.Options{Filter: regexp.MustCompile("_test|bad|lib"), Dir: newTests(t, map[string]string{
		"tools/names_test.star":  "def test_first(t):\n    nope()\n\ndef test_second(t):\n    pass\n",
		"tools/syntax_test.star": "def test_open(t):\n    x = (1\n",
		"tools/top_test.star":    "x = 1 // 0\ndef test_top(t):\n    pass\n",
		"tools/empty_test.star":  "x = 1\n",
		"tools/params_test.star": "def test_params():\n    pass\n",
		"tools/bad.star":         "def bad(:\n",
		"tools/ok_test.star":     "load(\"lib/x.star\", \"x\")\ndef test_ok(t):\n    t.eq(x, 1)\n\ndef test_broken(t):\n    t.fails(\"bad\", n = 1)\n",
		"tools/lib/x.star":       "x = 1\n",
	})})
	wantResults(t, got, map[string]string{
		"test_first": ".cassidy/tools/names_test.star:2:5: undefined: nope", "test_second": "skipped",
		"test_open": ".cassidy/tools/syntax_test.star:2:9", "test_top": ".cassidy/tools/top_test.star:1", "test_params": "test_params",
		"file": "", "test_ok": "ok", "test_broken": ".cassidy/tools/ok_test.star:6:12: got ':', want ')' (at .cassidy/tools/bad.star:1:9)",
	})
}

// TestLargeFile checks that a test file has the limit of other scripts.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	got := runAll(t, &scripttest.Options{Filter: regexp.MustCompile("large_test"), Dir: newTests(t, map[string]string{
		"tools/large_test.star": "def test_a(t):\n    pass\n" + strings.Repeat("#\n", engine.MaxSource/2),
	})})
	wantResults(t, got, map[string]string{"file": "the file is longer than 256 KB"})
}

func TestGolden(t *testing.T) {
	t.Parallel()
	dir := newTests(t, map[string]string{"tools/double_test.star": "def test_text(t):\n    t.golden(\"text\", \"a\\nb\\n\")\n\ndef test_value(t):\n    t.golden(\"value\", {\"n\": t.call(\"double\", n = 2)})\n\ndef test_name(t):\n    t.golden(\"../x\", 1)\n"})
	o := &scripttest.Options{Dir: dir, Runtime: newRuntime(t), Filter: regexp.MustCompile("test_(text|value|name)")}
	missing := "does not exist\nhint: to write it, type: cassidy test --update"
	wantResults(t, runAll(t, o), map[string]string{"test_text": missing, "test_value": missing, "test_name": "invalid name"})
	o.Update = true
	wantResults(t, runAll(t, o), map[string]string{"test_text": "ok", "test_value": "ok", "test_name": "invalid name"})
	o.Update = false
	wantResults(t, runAll(t, o), map[string]string{"test_text": "ok", "test_value": "ok", "test_name": "invalid name"})
	file := filepath.Join(dir, ".cassidy", "tests", "double_test", "value.golden")
	if err := os.WriteFile(file, []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wantResults(t, runAll(t, o), map[string]string{"test_text": "ok", "test_value": "(-want +got)", "test_name": "invalid name"})
}

// TestLinks checks that test data is neither read nor written through a link out of the project.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := newTests(t, map[string]string{
		"tools/double_test.star": "def test_golden(t):\n    t.golden(\"out\", \"new\")\n\ndef test_replay(t):\n    t.replay(\"out.json\")\n\ndef test_folder(t):\n    t.fs(folder = \"out\")\n",
		"tests/double_test/a":    "",
	})
	outside := t.TempDir()
	for link, to := range map[string]string{"double_test/out.golden": "file", "out.json": "file", "out": "."} {
		if err := os.Symlink(filepath.Join(outside, to), filepath.Join(dir, ".cassidy", "tests", link)); err != nil {
			t.Skip(err)
		}
	}
	file := filepath.Join(outside, "file")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, update := range []bool{false, true} {
		wantResults(t, runAll(t, &scripttest.Options{Dir: dir, Update: update, Filter: regexp.MustCompile("test_")}), map[string]string{
			"test_golden": "the path leads out of the folder", "test_replay": "out.json: the path leads out", "test_folder": "out: the path leads out",
		})
	}
	if data, err := os.ReadFile(file); string(data) != "old" {
		t.Errorf("the file outside is %q, %v", data, err)
	}
}

// TestParallelLimit checks that the number of slots does not grow with a number that somebody writes.
func TestParallelLimit(t *testing.T) {
	t.Parallel()
	wantResults(t, runAll(t, &scripttest.Options{Dir: newTests(t, nil), Parallel: 1 << 40, Filter: regexp.MustCompile("example 1")}), map[string]string{"example 1": "ok"})
}

func TestCopies(t *testing.T) {
	t.Parallel()
	dir := newTests(t, map[string]string{
		"tests/words/a.txt": "abc", "tests/words/sub/b.txt": "b", "../data/x.txt": "x", "../data/.hidden/y.txt": "y",
		"tools/double_test.star": "def test_copy(t):\n    t.fs({\"n.txt\": \"1\"}, folder = \"words\", copy = [\"data\"])\n    t.eq(t.files(), [\"a.txt\", \"data/x.txt\", \"n.txt\", \"sub/b.txt\"])\n\ndef test_out(t):\n    t.fs(copy = [\"../secret\"])\n\ndef test_link(t):\n    t.fs(copy = [\"link\"])\n",
	})
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	wantResults(t, runAll(t, &scripttest.Options{Dir: dir, Filter: regexp.MustCompile("test_")}), map[string]string{
		"test_copy": "ok", "test_out": `invalid path "../secret"`, "test_link": "copy link: ",
	})
}

// TestUntrusted checks that neither the tests nor the tools of an untrusted project run.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	dir := newTests(t, map[string]string{"tools/double_test.star": "def test_a(t):\n    pass\n"})
	got := runAll(t, &scripttest.Options{Dir: dir, Scope: &trust.Scope{Trust: trust.New(t.TempDir())}})
	wantResults(t, got, map[string]string{"file": "untrusted"})
}

func TestPaths(t *testing.T) {
	t.Parallel()
	dir := newTests(t, map[string]string{"tools/double_test.star": "def test_a(t):\n    pass\n", "tools/other_test.star": "def test_b(t):\n    pass\n"})
	r := newRuntime(t)
	for _, tt := range []struct {
		paths []string
		want  string
	}{
		{nil, "test_a test_b example 1 example 2 example 3"},
		{[]string{"double"}, "test_a example 1 example 2 example 3"},
		{[]string{filepath.Join(dir, ".cassidy/tools/double_test.star")}, "test_a"},
		{[]string{filepath.Join(dir, ".cassidy/tools/double.star")}, "test_a example 1 example 2 example 3"},
		{[]string{dir, "other"}, "test_a test_b example 1 example 2 example 3"},
	} {
		s, err := scripttest.Open(t.Context(), &scripttest.Options{Runtime: r, Dir: dir, Paths: tt.paths})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, test := range s.Tests() {
			names = append(names, test.Name)
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("paths %q: tests %q, want %q", tt.paths, got, tt.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := scripttest.Open(t.Context(), &scripttest.Options{Runtime: r, Dir: dir, Paths: []string{"nothing"}}); value.KindOf(err) != value.NotFound {
		t.Errorf("Open with an unknown path: %v", err)
	}
	if _, err := scripttest.Open(t.Context(), &scripttest.Options{Runtime: r, Dir: t.TempDir()}); value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), "no project, and no tools") {
		t.Errorf("Open of an empty folder: %v", err)
	}
	if _, err := scripttest.Open(t.Context(), &scripttest.Options{Runtime: r, Dir: dir, Filter: regexp.MustCompile("test_c")}); value.KindOf(err) != value.NotFound {
		t.Errorf("Open with a filter that matches nothing: %v", err)
	}
}

// TestTimeout checks that a test that waits forever ends, and that others run on.
func TestTimeout(t *testing.T) {
	t.Parallel()
	dir := newTests(t, map[string]string{
		"tools/wait.star":      "def wait() -> str:\n    \"\"\"Wait.\"\"\"\n    return http.get(\"https://example.com/\")[\"text\"]\n\ntool(wait, needs = [\"http.get\"], timeout = 60)\n",
		"tools/wait_test.star": "def test_wait(t):\n    t.http({\"*\": lambda r: [x for x in range(1 << 40)]})\n    t.call(\"wait\")\n\ndef test_next(t):\n    t.http({\"*\": \"next\"})\n    t.eq(t.call(\"wait\"), \"next\")\n",
	})
	got := runAll(t, &scripttest.Options{Dir: dir, Parallel: 1, Filter: regexp.MustCompile("wait_test")})
	if got["test_wait"] == "ok" || got["test_next"] != "ok" {
		t.Errorf("got %q", got)
	}
}

// TestParallelFakes checks that calls which run at the same time use a function as a fake one after
// another.
func TestParallelFakes(t *testing.T) {
	t.Parallel()
	dir := newTests(t, map[string]string{
		"tools/one.star":       "def one(n: int) -> str:\n    \"\"\"One.\"\"\"\n    return http.get(\"https://example.com/%d\" % n)[\"text\"]\n\ntool(one, needs = [\"http.get\"])\n",
		"tools/many.star":      "def many() -> list:\n    \"\"\"Many.\"\"\"\n    return [r[\"value\"] for r in tools.call_all([(\"one\", {\"n\": n}) for n in range(20)])]\n\ntool(many, needs = [\"tool:one\", \"http.get\"])\n",
		"tools/many_test.star": "def test_many(t):\n    seen = []\n    def page(r):\n        seen.append(r[\"url\"])\n        return r[\"url\"][-2:]\n    t.http({\"*\": page})\n    t.eq(t.call(\"many\")[-1], \"19\")\n    t.eq(len(seen), 20)\n",
	})
	wantResults(t, runAll(t, &scripttest.Options{Dir: dir, Filter: regexp.MustCompile("many_test")}), map[string]string{"test_many": "ok"})
}

// TestReplay records a fixture from a call that is faked here, and replays it.
func TestReplay(t *testing.T) {
	t.Parallel()
	dir := newTests(t, map[string]string{"tools/double_test.star": "def test_replay(t):\n    t.replay(\"nine.json\")\n    t.eq(t.call(\"double\", n = 9), 5)\n    t.eq(len(t.effects(\"fs.read\")), 1)\n"})
	o := &scripttest.Options{Dir: dir, Runtime: newRuntime(t), Filter: regexp.MustCompile("test_replay")}
	wantResults(t, runAll(t, o), map[string]string{"test_replay": "the fixture nine.json does not exist"})
	args := value.NewDict("path", "other.txt")
	o.Record = func(_ context.Context, r scripttest.Recording) (*fixture.Fixture, error) {
		if r.Name != "double" || r.Workflow || r.Args.Int("n") != 9 {
			t.Errorf("the recording is %+v", r)
		}
		return &fixture.Fixture{ID: "r", Kind: "tool", Steps: []fixture.Step{{StepPath: tool.StepPath{1, 1}, Func: "fs.read", Args: args, End: &fixture.End{Value: "12345"}}}, End: fixture.End{Value: int64(5)}}, nil
	}
	if got := runAll(t, o)["test_replay"]; !strings.Contains(got, "fs.read has no fake") {
		t.Errorf("an effect with other arguments is not in the fixture, but got %q", got)
	}
	file := filepath.Join(dir, ".cassidy", "tests", "nine.json")
	wantPrivate(t, file)
	if err := os.Chmod(file, 0o755); err != nil { // as an older version has written it
		t.Fatal(err)
	}
	args = value.NewDict("path", "n.txt", "offset", int64(1), "limit", nil, "encoding", "utf-8")
	wantResults(t, runAll(t, o), map[string]string{"test_replay": "ok"})
	wantPrivate(t, file)
	o.Record = nil
	wantResults(t, runAll(t, o), map[string]string{"test_replay": "ok"})
}

// wantPrivate checks that only the user can read a file.
func wantPrivate(t *testing.T, file string) {
	t.Helper()
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", filepath.Base(file), info, err)
	}
}

// markdown returns a tool in Markdown with one parameter. Its code begins in line 11.
func markdown(name, code string) string {
	return "---\nname: " + name + "\ndescription: Divide.\nparameters:\n  n: {type: integer, description: The number., required: true}\nreturns: number\n---\n\nDivide a number.\n" + code
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	dir := newProject(t, map[string]string{
		"tools/half.star":      "load(\"lib/x.star\", \"x\")\n\ndef half(n: int) -> int:\n    \"\"\"Half.\"\"\"\n    if n % 2:\n        fail(\"odd: %d\" % x(n))\n    if n > 100:\n        return x(n) // 2\n    return n // 2\n\ntool(half)\n",
		"tools/lib/x.star":     "def x(n):\n    return n\n\ndef unused(n):\n    return n\n",
		"tools/half_test.star": "def test_even(t):\n    t.eq(t.call(\"half\", n = 4), 2)\n\ndef test_odd(t):\n    t.fails(\"half\", n = 3)\n",
		"tools/never.lua":      "return tool{description = \"N.\", handler = function(args)\n  return 1\nend}\n",
		"tools/twice.lua": "local function big(n)\n  return n > 100\nend\n\nreturn tool{\n  description = \"Twice.\",\n  params = { n = param(\"integer\", \"The number.\") },\n" +
			"  handler = function(args)\n    if big(args.n) then\n      return -1\n    end\n    return 2 * args.n\n  end,\n}\n",
		"tools/twice_test.star":   "def test_twice(t):\n    t.eq(t.call(\"twice\", n = 4), 8)\n",
		"tools/quarter.md":        markdown("quarter", "```starlark\ndef quarter(n):\n    if n > 100:\n        return 0\n    return n // 4\n```\n"),
		"tools/quarter_test.star": "def test_quarter(t):\n    t.eq(t.call(\"quarter\", n = 4), 1)\n",
		"tools/third.md":          markdown("third", "```lua\nfunction third(args)\n  if args.n > 100 then\n    return 0\n  end\n  return args.n / 3\nend\n```\n"),
		"tools/third_test.star":   "def test_third(t):\n    t.eq(t.call(\"third\", n = 300), 0)\n    t.fails(\"third\", n = \"x\")\n",
	})
	s, err := scripttest.Open(t.Context(), &scripttest.Options{Runtime: newRuntime(t), Dir: dir, Cover: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Run(t.Context(), func(r scripttest.Result) {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Name, r.Err)
		}
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	got := map[string]string{}
	for _, c := range s.Coverage() {
		got[c.File] = fmt.Sprintf("%.0f%% of %d, missing %v", c.Percent(), c.Lines, c.Missing)
	}
	want := map[string]string{
		".cassidy/tools/half.star":  "80% of 5, missing [8]",
		".cassidy/tools/lib/x.star": "50% of 2, missing [5]",
		".cassidy/tools/never.lua":  "0% of 1, missing [2]",
		".cassidy/tools/twice.lua":  "75% of 4, missing [10]",
		".cassidy/tools/quarter.md": "67% of 3, missing [13]",
		".cassidy/tools/third.md":   "67% of 3, missing [15]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the coverage (-want +got)\n%s", diff)
	}
}
