package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// A look is how a terminal is.
type look struct {
	name  string
	cells int
	env   string // variables, with spaces between them
}

func looks() []look {
	return []look{
		{"40", 40, "NO_COLOR=1"}, {"80", 80, "NO_COLOR=1"}, {"100", 100, "NO_COLOR=1"}, {"200", 200, "NO_COLOR=1"},
		{"color", 80, ""}, {"ascii", 80, "NO_COLOR=1 LANG=C"}, {"plain", 80, "CASSIDY_PLAIN=1 NO_COLOR=1"},
	}
}

// TestScreens compares what commands draw on terminals with the files in testdata/screens. No line but that of code is
// wider than the terminal.
func TestScreens(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	if err := os.CopyFS(dir, os.DirFS("../../examples/quickstart")); err != nil {
		t.Fatal(err)
	}
	putChatFile(t, dir, ".cassidy/workflows/deploy.star", "def main():\n    \"\"\"Deploy.\"\"\"\n    tools.read_file(filepath = \"data/README.md\")\n    return human.ask(\"What is the name of this release?\\n(default: spring)\")\n")
	putChatFile(t, dir, ".cassidy/workflows/broken.star", "def main():\n    \"\"\"Fail.\"\"\"\n    return tools.read_file(filepath = \"missing.md\")\n")
	putChatFile(t, dir, ".cassidy/agents/tester.md", "---\ndescription: Run the tests, and find out why one fails.\nmodel: ollama:small\n---\nYou test.\n")
	putChatFile(t, dir, ".cassidy/skills/releases/SKILL.md", "---\nname: releases\ndescription: How to write release notes, from the list of changes to the announcement that readers get.\n---\n\nWrite them.\n")
	putChatFile(t, dir, ".cassidy/mcp.json", `{"mcpServers": {"issues": {"command": "npx", "args": ["-y", "@example/mcp-server-issues@1.2.0", "--project", "an-example-with-a-long-name"]}}}`)
	putChatFile(t, dir, "answer.star", "def reply(messages, n):\n    return \"TASK COMPLETE: \" + "+strconv.Quote(answer)+"\n")
	putChatFile(t, dir, "many.star", "def main():\n    \"\"\"Count.\"\"\"\n    for i in range(22):\n        tools.word_count(filepath = \"data/README.md\")\n    return [{\"file\": \"README.md\", \"words\": 248}]\n")
	putChatFile(t, dir, "check/bad.star", faulty)
	putChatFile(t, dir, "check/other.star", "def other(n: int = 4):\n    return n\n\ntool(other, needs = [\"fs.read\"])\n")
	putChatFile(t, dir, ".cassidy/tools/nap.star", "def nap(n: int = 4):\n    \"\"\"Wait.\"\"\"\n    time.sleep(n)\n    return n\n\ntool(nap)\n")
	putChatFile(t, dir, ".cassidy/tools/nap_test.star", "def test_parts(t):\n    t.eq(t.call(\"nap\", n = 2), 2)\n\ndef test_more(t):\n    t.eq(t.call(\"nap\", n = 3), 3)\n\ndef test_values(t):\n    t.eq({\"a\": 1, \"b\": 2}, {\"a\": 1, \"b\": 3})\n")
	putChatFile(t, dir, "eval.yaml", "models: [\"script:answer.star\"]\nformats: [pure_json, markdown]\ntasks:\n- {name: tea, task: Say what is left, checks: [answer: green tea]}\n- {name: coffee, task: Find the coffee, checks: [answer: espresso]}\n")
	putChatFile(t, dir, "task.star", taskModel)
	putChatFile(t, dir, "chat.star", chatModel)
	putChatFile(t, dir, ".cassidy/tools/rename.star", renameTool)
	putChatFile(t, dir, ".cassidy/tools/slow.star", slowTool)
	written := time.Date(2026, 11, 28, 20, 0, 0, 0, time.UTC) // the record of a file has its time
	if err := os.Chtimes(filepath.Join(dir, "data/README.md"), written, written); err != nil {
		t.Fatal(err)
	}
	home, quiet := "", look{"", 200, "NO_COLOR=1"}
	run := func(l look, args ...string) string { return onTerminal(t, dir, home, l, args) }
	for try := range 100 { // a run in which something took a second looks otherwise, as on a busy machine
		home = filepath.Join(dir, "home"+strconv.Itoa(try))
		run(quiet, "trust", "--author", "--yes")
		run(quiet, "run", "deploy", "--run-id", "parked1", "--json")
		run(quiet, "run", "broken", "--run-id", "failed1", "--json")
		run(quiet, "task", "Say hello", "--run-id", "done1", "--model", "script:answer.star", "--json")
		run(quiet, "run", "many.star", "--run-id", "many1", "--json")
		slow := false
		for _, id := range []string{"parked1", "failed1", "done1", "many1"} {
			slow = slow || regexp.MustCompile(`\b0(\.0)?s\b`).MatchString(run(quiet, "runs", "show", id, "--all"))
		}
		if !slow {
			break
		}
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"result", []string{"tool", "run", "log_summary"}},
		{"tasks", []string{"tool", "run", "open_tasks"}},
		{"describe", []string{"tool", "run", "describe_data", "filepath=data/co2.csv", "rows=2"}},
		{"bars", []string{"tool", "run", "query_data", "filepath=data/co2.csv", "query=SELECT CAST(year / 10 * 10 AS int) AS decade, avg(co2_ppm) AS ppm, count(*) AS n FROM data GROUP BY 1"}},
		{"tool_list", []string{"tool", "list"}},
		{"tool_help", []string{"tool", "help", "query_data"}},
		{"tool_overhead", []string{"tool", "overhead", "@data"}},
		{"config_list", []string{"config", "list"}},
		{"skill_list", []string{"skill", "list"}},
		{"mcp_list", []string{"mcp", "list"}},
		{"runs_list", []string{"runs", "list"}},
		{"agents", []string{"agents"}},
		{"workflows", []string{"run"}},
		{"help", []string{"--help"}},
		{"help_lock", []string{"lock", "--help"}},
		{"runs_parked", []string{"runs", "show", "parked1"}},
		{"runs_failed", []string{"runs", "show", "failed1"}},
		{"runs_done", []string{"runs", "show", "done1"}},
		{"runs_many", []string{"runs", "show", "many1"}},
		{"runs_all", []string{"runs", "show", "parked1", "--all"}},
		{"runs_step", []string{"runs", "show", "failed1", "1"}},
		{"check", []string{"check", "check"}},
		{"test", []string{"test", "nap_test", "word_count"}},
		{"eval", []string{"eval", "eval.yaml"}},
		{"answer", []string{"--quiet", "task", "Say hello", "--model", "script:answer.star"}}, // which adds runs to the list
		{"task", []string{"task", "Rename greet", "--model", "script:task.star", "--tools", "rename,read_file"}},
		{"chat", []string{"chat", "go", "--model", "script:chat.star", "--tools", "slow,todo"}},
	} {
		for _, l := range looks() {
			t.Run(c.name+"/"+l.name, func(t *testing.T) {
				checkScreen(t, c.name, l, run(l, c.args...))
			})
		}
	}
}

// checkScreen compares what was drawn with a file in testdata/screens. No line but that of code is wider than the terminal.
func checkScreen(t *testing.T, name string, l look, got string) {
	t.Helper()
	for line := range strings.Lines(got) {
		if line = strings.TrimRight(line, "\n"); draw.Cells(line) >= l.cells && !code.MatchString(line) {
			t.Errorf("a line of %d cells: %q", draw.Cells(line), line)
		}
	}
	file := filepath.Join("testdata/screens", name+"-"+l.name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); go test ./cmd/cassidy -run '%s' -update takes it over:\n%s", file, t.Name(), diff)
	}
}

// TestColors compares all screens with a rule: nothing that must be read is green, red or magenta, which many terminals
// show with little contrast. These colours are for symbols, beside words that say the same.
func TestColors(t *testing.T) {
	t.Parallel()
	colored := regexp.MustCompile(`\x1b\[3\d[^m]*m([^\x1b]*)`)
	files, err := filepath.Glob("testdata/screens/*-color.txt")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	signs := 0
	for _, file := range files {
		screen, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range colored.FindAllStringSubmatch(string(screen), -1) {
			if signs++; strings.ContainsFunc(m[1], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				t.Errorf("%s: %q", file, m[0])
			}
		}
	}
	if signs < 50 {
		t.Errorf("only %d signs are coloured", signs)
	}
}

// faulty is a script with faults.
const faulty = `def bad(path: str):
    """Read a file.

    Args:
        path: the file
    """
    unused = 1
    text = fs.raed(path)
    more = fs.raed(path)
    return text + moer

tool(bad, needs = ["fs.read"])
`
const (
	renameTool = "def rename(filepath: str) -> str:\n    \"\"\"Rename greet.\"\"\"\n" +
		"    return \"Renamed in \" + filepath + \"\\n\\n--- a/f\\n+++ b/f\\n@@ -1,2 +1,2 @@\\n-a\\n-b\\n+c\\n+d\\n\"\n\ntool(rename)\n"
	slowTool = "def slow(n: int) -> dict[str, any]:\n    \"\"\"Work.\"\"\"\n    for i in range(n):\n        progress(\"reading part %d\" % (i + 1), done = i + 1, total = n)\n" +
		"    return {\"parts\": n, \"ok\": True}\n\ntool(slow)\n"
	modelCall = `def call(action, input, why):
    return json.encode({"tool_decision": {"action": action, "input": input, "reasoning": why, "status": "continue"}})

def turn(messages):
    return len([m for m in messages if m["role"] == "assistant"])
`
	// taskModel calls tools in parallel, with the same reason, and one that fails.
	taskModel = modelCall + `
WHY = "I rename **greet** in both files.\n\nSteps:\n1. change the code, which is all that calls it\n2. change the README"

def reply(messages, n):
    if turn(messages) == 0:
        return call("rename", {"filepath": "src/greetings/greet.py"}, WHY) + "\n" + call("rename", {"filepath": "README.md"}, WHY)
    if turn(messages) == 1:
        return call("read_file", {"filepath": "CHANGES.md"}, "")
    return "TASK COMPLETE: Both files are **changed**."
`
	// chatModel writes a list, calls a tool and answers.
	chatModel = modelCall + `
def todo(a, b, c):
    return call("todo", {"items": [{"text": "Read the code", "status": a}, {"text": "Change it", "status": b}, {"text": "Run the tests", "status": c}]}, "I make a plan.")

def reply(messages, n):
    if turn(messages) == 0:
        return "I make a plan.\n\n" + todo("doing", "pending", "pending")
    if turn(messages) == 1:
        return call("slow", {"n": 4}, "")
    if turn(messages) == 2:
        return todo("done", "doing", "pending")
    return "TASK COMPLETE: It is **done**, see ` + "`it.txt`" + `:\n\n| file | lines |\n|---|--:|\n| src/greet.py | 2 |\n\n    code with a line that is longer than a narrow terminal\n"
`
)

// took are the times of calls and of runs, which differ from test to test, and IDs of runs.
var (
	took  = regexp.MustCompile(`(?m)(?:,| ) (?:\x1b\[2m)? *(?:\d+m)?[\d.]+s(?:\x1b\[0m)?$| · [\d.]+s|, [\d.]+s`)
	runID = regexp.MustCompile(`20\d{6}-\d{6}-[0-9a-f]{6}`)
)

// answer is the answer of a model in Markdown.
const answer = "# The stock\n\nThe shop has **three items** that run out, and `order.txt` has the order for the supplier:\n\n" +
	"| item | left | days |\n|---|--:|--:|\n| green tea | 12 | 3 |\n| filters, paper, unbleached, size 4 | 200 | 6 |\n\n" +
	"1. Send the order, see [the supplier](https://tea.example/order).\n2. Wait for an answer, and write it down below the others.\n\n" +
	"> 日本茶 is not in stock.\n\n```diff\n- 1 × green tea\n+ 20 × green tea, and a long line that stays as it is, since it may be copied\n```\n"

// code is the beginning of a line of code, which is never broken.
var code = regexp.MustCompile(`^(  \S*[│|]\S* )?    `)

// ages are the times of runs, which differ from test to test. The sequences of colours are none.
var ages = regexp.MustCompile(`[^\[\d]\d+[smh]\b {0,3}`)

// sameAge replaces a match of ages by one of the same length.
func sameAge(age string) string {
	first := age[:strings.IndexAny(age, "0123456789")]
	return first + "0s" + strings.Repeat(" ", len(age)-len(first)-2)
}

// ageAtEnd is an age of which nothing is at the right.
var ageAtEnd = regexp.MustCompile(`(?m)(: 0s) +$`)

// brokenEnd is the last line of a task.
var brokenEnd = regexp.MustCompile(` requests(?: ·)?(?:[ \r\n]+[\d.]+s)?(?: ·)?[ \r\n]+run[ \r\n]+\d`)

// sameEnd breaks a match of brokenEnd at the same place, if it is broken: where depends on the time that the task took.
func sameEnd(end string) string {
	if !strings.Contains(end, "\n") {
		return end
	}
	return " requests\n  run " + end[len(end)-1:]
}

// durations are how long something took.
var durations = regexp.MustCompile(`( *)((?:\x1b\[2m)?)(<?\d+)( ?ms\b)`)

// sameDuration replaces a match of durations by one of the same length, if it is at the right of something.
func sameDuration(text string) string {
	m := durations.FindStringSubmatch(text)
	if m[1] != "" {
		m[1] += strings.Repeat(" ", len(m[3])-1)
	}
	return m[1] + m[2] + "0" + m[4]
}

// onTerminal returns what a command prints on a terminal. It gets no input. Most run in this process, since a process takes
// longer than they do.
func onTerminal(t *testing.T, dir, home string, l look, args []string) string {
	t.Helper()
	on := terminalLook{l.cells, map[string]string{"CASSIDY_HOME": home, "HOME": home, "PATH": os.Getenv("PATH"), "NO_COLOR": ""}}
	for _, v := range strings.Fields(l.env) {
		name, text, _ := strings.Cut(v, "=")
		on.env[name] = text
	}
	talks := (args[0] == "task" || args[0] == "chat") && !slices.Contains(args, "--json")
	var text string
	if args[0] != "check" {
		text = on.run(t, dir, args, talks)
	} else { // it names files from the working folder
		person, cmd, program := terminalCommand(t, dir, home, l, args)
		cmd.Stdout, cmd.Dir = program, dir
		text = whatIsShown(person, program, func() { _ = cmd.Run() }) // it ends with an exit code
	}
	if talks {
		text = brokenEnd.ReplaceAllStringFunc(runID.ReplaceAllString(took.ReplaceAllString(leftOf(text), ""), "20260101-120000-abcdef"), sameEnd)
	}
	text = durations.ReplaceAllStringFunc(ages.ReplaceAllStringFunc(text, sameAge), sameDuration)
	for pattern, same := range map[string]string{
		`\d+\.\d( ?)s\b`: "0.0${1}s", `started \d\d:\d\d`: "started 20:19", `\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}`: "2026-11-28 20:18:37.000", `\b[A-Z0-9]{26}/`: strings.Repeat("K", 26) + "/", `~\d,\d{3}`: "~4,000",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, same)
	}
	return ageAtEnd.ReplaceAllString(text, "$1")
}

// terminalCommand returns a command of a new terminal, and both ends of that.
func terminalCommand(t *testing.T, dir, home string, l look, args []string) (person *os.File, cmd *exec.Cmd, program *os.File) {
	t.Helper()
	person, program = openTerminal(t, 60, l.cells)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(exe, append([]string{"--dir", dir}, args...)...)
	cmd.Env = append(os.Environ(), asCassidy+"=1", "TERM=xterm", "LC_ALL=", "LC_CTYPE=", "LANG=en_US.UTF-8", "NO_COLOR=", "CLICOLOR_FORCE=", "PAGER=", "CASSIDY_HOME="+home, "HOME="+home, "CASSIDY_WORKER="+testworker.Exec())
	cmd.Env = append(cmd.Env, strings.Fields(l.env)...)
	return person, cmd, program
}
