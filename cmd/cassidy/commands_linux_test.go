package main

import (
	"github.com/cassidy-run/cassidy/cmd/internal/command"

	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ptytest"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// notRun are the commands that TestCommandsOnTerminals does not run, and why.
var notRun = map[string]string{
	"demo":        "it starts cassidy, and kills it",
	"setup":       "it asks for a key",
	"lsp":         "it speaks a protocol",
	"mcp serve":   "it speaks a protocol",
	"mcp install": "it writes the settings of other programs",
	"mcp add":     "it starts the server",
	"mcp login":   "it opens a browser",
	"mcp review":  "it starts the server",
	"serve":       "it serves until it is interrupted",
	"worker":      "it works until it is interrupted",
	"__complete":  "shells read what it prints",
}

// runLines are the command lines of the other commands, in the project of [outsideProject], whose folder is DIR.
func runLines() map[string][]string {
	return map[string][]string{
		"init": {"init"}, "task": {"task Hello --model script:answer.star"}, "chat": {"chat Hello --model script:answer.star"},
		"run":       {"run", "run deploy --run-id asks", "run broken --run-id failed", "run deploy --help", "run nothing"},
		"tool list": {"tool list", "tool list talk"}, "tool groups": {"tool groups"}, "tool info": {"tool info talk"}, "tool help": {"tool help talk"},
		"tool schema": {"tool schema talk"}, "tool run": {"tool run talk", "tool run fall", "tool run talk more=1", "tool run nothing"}, "tool example": {"tool example talk"},
		"tool new": {"tool new made"}, "tool import": {"tool import DIR/api.json --list", "tool import DIR/api.json --all --yes", "tool import DIR/api.json --operation nothing"}, "tool validate": {"tool validate"}, "tool overhead": {"tool overhead"}, "tool refresh": {"tool refresh"},
		"check": {"check"}, "fmt": {"fmt --check"}, "test": {"test"}, "repl": {"repl"},
		"skill list": {"skill list"}, "skill show": {"skill show helper"}, "skill new": {"skill new made"},
		"agents": {"agents"}, "agents list": {"agents list"}, "agents show": {"agents show worker"}, "agents new": {"agents new made"},
		"trust": {"trust --list", "trust", "trust --yes"}, "lock": {"lock", "lock --check"},
		"mcp import": {"mcp import servers.json"}, "mcp list": {"mcp list"}, "mcp logout": {"mcp logout served"}, "mcp remove": {"mcp remove served"},
		"runs list": {"runs list"}, "runs show": {"runs show parked", "runs show failed1", "runs show failed1 --step 1", "runs show nothing"},
		"runs answer": {"runs answer parked --text yes"}, "runs resume": {"runs resume parked"}, "runs retry": {"runs retry failed1"},
		"runs replay": {"runs replay parked"}, "runs undo": {"runs undo parked"}, "runs verify": {"runs verify"}, "runs export": {"runs export parked"},
		"runs promote": {"runs promote parked"}, "runs cancel": {"runs cancel asks"}, "runs prune": {"runs prune"},
		"decision parse": {"decision parse reply.txt", "decision parse --explain reply.txt"},
		"eval":           {"eval e.yaml --out DIR/new.json"}, "eval diff": {"eval diff DIR/new.json DIR/new.json"}, "format-test": {"format-test --model script:answer.star"}, "models": {"models"},
		"config list": {"config list"}, "config get": {"config get limits"}, "config set": {"config set limits.cpu 2"}, "config unset": {"config unset limits.cpu"}, "config path": {"config path"},
		"secret set": {"secret set TOKEN"}, "secret list": {"secret list"}, "secret rm": {"secret rm TOKEN"},
		"serve user list": {"serve user list"}, "serve user add": {"serve user add ann --role boss"}, "serve user remove": {"serve user remove ann"},
		"completion": {"completion bash"}, "man": {"man"}, "doctor": {"doctor"}, "version": {"version"},
	}
}

// asItIs are the commands that print what people save or paste, or an answer, and what is not checked in it.
var asItIs = map[string]string{
	"completion": "wide", "man": "wide", "runs export": "wide", "tool schema": "wide outside", "config path": "wide", "decision parse": "wide outside",
	"task": "outside", "chat": "outside", "run": "outside", "tool run": "outside", "tool example": "outside", "skill show": "outside wide", "runs replay": "outside",
}

// ofOutside is a text from outside: no text of ours has a Q. It is long, and has several lines.
const ofOutside = "QQ QQQ QQQQQQQQ QQQ QQQQQQ QQQQ QQ QQQQQQQQQQQQQ QQ QQQ QQQQQQ QQQQQQQQQQQQQQQQ QQQQQQ QQQ QQQQQQQQQQQQQQQ QQQ QQQQQ QQQQQQQQQQQ\n" +
	"QQQQ/QQQQQQQQQQQQQQQQQQQQQQQQQQQ/QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ/QQQQQQQQQQQ\n\u202eQQ \x1b[2JQQQ"

// outsideProject writes a project whose texts are those of outside.
func outsideProject(t *testing.T, dir string) {
	text := strings.NewReplacer("TEXT", strings.NewReplacer("\n", `\n`, "\u202e", `\u202e`, "\x1b", `\u001b`).Replace(ofOutside), "LINES", ofOutside)
	for name, source := range map[string]string{
		"tools/talk.star":                    "def talk(text: str = \"TEXT\"):\n    \"TEXT\\n\\nArgs:\\n    text: TEXT\\n\\nReturns:\\n    TEXT\"\n    progress(\"TEXT\")\n    print(\"TEXT\")\n    return {\"text\": text, \"rows\": [{\"a\": 1, \"b\": text}, {\"a\": 2, \"b\": \"Q\"}]}\n\ntool(talk, title = \"TEXT\", group = \"QQQ\", tags = [\"TEXT\"], examples = [{\"description\": \"TEXT\", \"args\": {\"text\": \"TEXT\"}}])\n",
		"tools/fall.star":                    "def fall():\n    \"TEXT\"\n    fail(\"TEXT\")\n\ntool(fall, needs = [\"shell:git\", \"http.post:build.example.com\"])\n",
		"tools/faulty.star":                  "def faulty():\n    \"TEXT\"\n    unused = 1\n    return fs.raed(\"TEXT\")\n\ntool(faulty)\n",
		"tools/" + "Q\nQ\x1b[2J\u202eQ.star": "def x():\n    pass\n", "skills/" + "Q\nQ\x1b[2J\u202eQ.md": "TEXT",
		"tests/talk_test.star":  "def test_talk():\n    print(\"TEXT\")\n    assert.eq(\"TEXT\", \"x\")\n\ndef test_good():\n    pass\n",
		"workflows/deploy.star": "def main():\n    \"\"\"TEXT\"\"\"\n    tools.talk()\n    return human.ask(\"TEXT\", default = \"TEXT\")\n",
		"workflows/broken.star": "def main():\n    \"\"\"TEXT\"\"\"\n    return tools.call(\"fall\")\n",
		"skills/helper.md":      "---\nname: helper\ntitle: \"TEXT\"\ndescription: \"TEXT\"\n---\nLINES\n",
		"agents/worker.md":      "---\nname: worker\ndescription: \"TEXT\"\n---\nLINES\n",
		"mcp.json":              `{"mcpServers": {"served": {"command": "false", "args": ["` + "TEXT" + `"]}}}`,
		"../servers.json":       `{"mcpServers": {"foreign": {"command": "false", "args": ["TEXT"]}}}`,
		"../CASSIDY.md":         "LINES\n",
		"../reply.txt":          "{\"action\": \"talk\", \"input\": {\"text\": \"TEXT\"}, \"reasoning\": \"TEXT\"}\n",
		"../answer.star":        "def reply(messages, n):\n    return \"TASK COMPLETE: TEXT\"\n",
		"../api.json":           `{"openapi": "3.0.0", "info": {"title": "TEXT"}, "servers": [{"url": "https://a.example.com"}], "paths": {"/TEXT": {"get": {"operationId": "imported", "summary": "TEXT", "responses": {}}, "trace": {"description": "TEXT", "responses": {}}}}}`,
		"../e.yaml":             "name: shop\nmodels: [\"script:answer.star\"]\nformats: [pure_json]\ntasks:\n  - name: read\n    task: Read it\n    tools: [list_files]\n    checks:\n      - answer: x\n",
	} {
		putChatFile(t, dir, filepath.Join(".cassidy", name), text.Replace(source))
	}
}

// A terminalLook is how a terminal is, and what is checked on it.
type terminalLook struct {
	cells int
	env   map[string]string
}

// run returns what a command prints on the terminal, with its errors or without.
func (l terminalLook) run(t *testing.T, dir string, args []string, errors bool) string {
	t.Helper()
	env := map[string]string{"TERM": "xterm", "LANG": "en_US.UTF-8", "CASSIDY_HOME": filepath.Join(dir, "home"), "HOME": filepath.Join(dir, "home"), "CASSIDY_WORKER": testworker.Exec()}
	for name, v := range l.env {
		env[name] = v
	}
	person, program := openTerminal(t, 24, l.cells)
	faults := io.Discard
	if errors {
		faults = program
	}
	return whatIsShown(person, program, func() {
		app.Run(t.Context(), append([]string{"--dir", dir}, args...), &app.World{
			In: strings.NewReader(""), Out: program, Err: faults, Sandbox: cassidy.Inline,
			Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		}, command.Commands()...)
	})
}

// openTerminal returns both ends of a terminal of a size.
func openTerminal(t *testing.T, rows, cells int) (person, program *os.File) {
	t.Helper()
	person, program = ptytest.Open(t)
	if err := unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(cells)}); err != nil {
		t.Fatal(err)
	}
	return person, program
}

// whatIsShown returns what a terminal shows of a command, and closes it.
func whatIsShown(person, program *os.File, command func()) string {
	shown := make(chan string)
	go func() {
		all, _ := io.ReadAll(person) // ends with an error when the terminal is closed
		shown <- string(all)
	}()
	command()
	_ = program.Close()
	defer func() { _ = person.Close() }()
	return strings.ReplaceAll(<-shown, "\r\n", "\n")
}

// escapes finds the sequences that steer a terminal, but for that which erases a line.
var escapes = regexp.MustCompile("\x1b(\\[[0-9;?]*[A-Za-z])?")

// faults returns what is wrong with what a command prints, with an example of each.
func (l terminalLook) faults(shown string) map[string]string {
	found := map[string]string{}
	_, noColor := l.env["NO_COLOR"]
	for line := range strings.SplitSeq(strings.TrimSuffix(shown, "\n"), "\n") {
		add := func(kind string) {
			if found[kind] == "" {
				found[kind] = line
			}
		}
		for _, s := range escapes.FindAllString(line, -1) {
			if (noColor || l.env["TERM"] == "dumb") && s != "\x1b[K" || s[len(s)-1] == 'J' || len(s) == 1 {
				add("escape")
			}
		}
		line = escapes.ReplaceAllString(line[strings.LastIndex(line, "\r")+1:], "")
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			add("hidden")
		}
		if draw.Cells(line) >= l.cells && !strings.HasPrefix(line, "    ") && l.cells > 20 {
			add("wide")
		}
		if len(line) > 0 && strings.Contains(line[:min(2, len(line))], "Q") {
			add("outside")
		}
		if l.env["LANG"] == "C" && strings.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
			add("ascii")
		}
	}
	return found
}

// TestCommandsOnTerminals prints the help of each command, and runs each command, on terminals. No line is wider than the
// terminal, nothing from outside is in the gutter, a terminal with ASCII gets only that, and one without colours no sequences.
func TestCommandsOnTerminals(t *testing.T) {
	t.Parallel()
	lines := runLines()
	var groups, all []string // in the order of the help
	var add func(path string, c *cli.Command)
	byPath := map[string]*cli.Command{}
	add = func(path string, c *cli.Command) {
		path = strings.TrimSpace(path + " " + c.Name)
		byPath[path] = c
		if c.Action == nil {
			groups = append(groups, path)
		} else {
			all = append(all, path)
		}
		for _, sub := range c.Subcommands {
			add(path, sub)
		}
	}
	a := app.New(&app.World{Out: io.Discard, Err: io.Discard, Env: os.LookupEnv})
	for _, command := range command.Commands() {
		add("", command(a))
	}
	for _, path := range all {
		if (lines[path] == nil) == (notRun[path] == "") {
			t.Errorf("the command %s must be in runLines or in notRun", path)
		}
	}
	looks := map[string]terminalLook{
		"3": {cells: 3}, "20": {cells: 20}, "40": {cells: 40}, "80": {cells: 80}, "100": {cells: 100}, "200": {cells: 200},
		"ascii": {80, map[string]string{"LANG": "C", "NO_COLOR": "1"}}, "dumb": {80, map[string]string{"TERM": "dumb"}},
	}
	for _, name := range []string{"20", "80", "100", "200"} { // TestScreens has most of these
		if !testutil.Soak() {
			delete(looks, name)
		}
	}
	t.Run("looks", func(t *testing.T) {
		for name, l := range looks {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				outsideProject(t, dir)
				for _, args := range []string{"trust --author --yes", "run deploy --run-id parked", "run broken --run-id failed1"} {
					l.run(t, dir, strings.Fields(args), true)
				}
				check := func(path, line, shown string) {
					for kind, example := range l.faults(shown) {
						if slices.Contains(strings.Fields(asItIs[path]), kind) && !strings.HasSuffix(line, "--help") {
							continue
						}
						t.Errorf("cassidy %s: %s: %q", line, kind, example)
					}
				}
				for _, path := range slices.Concat([]string{""}, groups, all) {
					line := strings.TrimSpace(path + " --help")
					help := l.run(t, dir, strings.Fields(line), true)
					check(path, line, help)
					if c := byPath[path]; c != nil && l.cells > 20 {
						for _, f := range c.Flags {
							if name := "--" + f.Names()[0]; !strings.Contains(help, name) {
								t.Errorf("cassidy %s: there is no %s", line, name)
							}
						}
					}
				}
				for _, path := range all {
					for _, line := range lines[path] {
						check(path, line, l.run(t, dir, strings.Fields(strings.ReplaceAll(line, "DIR", dir)), true))
					}
				}
			})
		}
	})
}
