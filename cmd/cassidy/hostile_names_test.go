package main

import (
	"github.com/cassidy-run/cassidy/cmd/internal/command"

	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
)

// hostile is a text that would write a line of its own, steer the terminal and hide its end.
const hostile = "x\ncassidy: FAKE\r\x1b[2J\u202e" + "ok                                                  ;evil"

// TestTextFromOutsideIsMarked runs commands where every name and text is hostile: nothing of it
// begins a line, steers the terminal or is collapsed.
func TestTextFromOutsideIsMarked(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("\n", `\n`, "\r", `\r`, "\x1b", `\x1b`, "\u202e", `\u202e`).Replace(hostile)
	dir := t.TempDir()
	p := &apptest.Project{TB: t, Dir: dir, Home: t.TempDir(), Commands: command.Commands()}
	p.Write(".cassidy/tools/talk.star", "def talk(text: str = \"\"):\n    \"Talk.\"\n    progress(\""+text+"\")\n    fs.write(\"put.txt\", \""+text+"\")\n    return \""+text+"\"\n\ntool(talk, title = \""+text+"\", group = \"g\", needs = [\"fs.write\"])\n")

	p.Write(".cassidy/tools/fall.star", "def fall(text: str = \"\"):\n    \"Fall.\"\n    fail(\""+text+"\")\n\ntool(fall)\n")
	p.Write(".cassidy/workflows/flow.star", "def main(text = \"\"):\n    \"\"\"Flow.\"\"\"\n    tools.talk(text = \""+text+"\")\n    tools.call(\"fall\", text = \""+text+"\")\n")
	p.Write(".cassidy/workflows/ask.star", "def main():\n    return human.confirm(\""+text+"\")\n")
	p.Write(".cassidy/tools/"+hostile+".star", "x")
	p.Write(".cassidy/skills/s.md", "---\nname: s\ndescription: \""+text+"\"\n---\nx\n")
	p.Write("CASSIDY.md", hostile)
	seen := 0
	check := func(args ...string) {
		t.Helper()
		stdout, stderr, _ := p.Run(args...)
		if args[0] == "tool" && args[1] == "run" {
			stdout = "" // a program reads the result
		}
		for name, shown := range map[string]string{"stdout": stdout, "stderr": stderr} {
			if i := strings.IndexFunc(shown, func(r rune) bool { return unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) }); i >= 0 {
				t.Errorf("cassidy %q: %s has a control character: %q", args, name, shown)
			}
			if found := regexp.MustCompile(`(?m)^cassidy: FAKE`).FindString(shown); found != "" {
				t.Errorf("cassidy %q: %s has a line that is not ours:\n%s", args, name, shown)
			}
			seen += strings.Count(shown, "↵") + strings.Count(shown, "┃ cassidy: FAKE")
			if strings.Contains(shown, "ok ;evil") && args[0] != "skill" { // a description is one line by itself
				t.Errorf("cassidy %q: %s has collapsed spaces:\n%s", args, name, shown)
			}
		}
	}
	check("trust", "--list")
	check("trust", "--yes")
	for _, args := range [][]string{
		{"doctor"}, {"tool", "list"}, {"tool", "info", "talk"}, {"tool", "validate"}, {"tool", "validate", "talk"}, {"skill", "list"}, {"skill", "show", "s"}, {"run", "--list"}, {"trust", "--list"},
		{"tool", "run", "talk", "text=" + hostile}, {"tool", "run", "fall", "text=" + hostile}, {"tool", "run", "talk", "text=" + hostile, "--yes"},
		{"tool", "info", hostile}, {"tool", "run", hostile}, {"tool", "run", "talk", hostile + "=1"}, {"skill", "show", hostile}, {"run", hostile}, {hostile},
		{"run", "flow", "--yes", "--run-id", "r1"}, {"run", "ask", "--run-id", "r2"}, {"run", "flow", "text=" + hostile, "--yes", "--run-id", "r3"},
		{"runs", "list"}, {"runs", "show", "r1"}, {"runs", "show", "r1", "--verbose"}, {"runs", "show", "r1", "--step", "1"}, {"runs", "show", "r2"}, {"runs", "show", "r3"}, {"runs", "show", hostile},
		{"runs", "answer", "r2", hostile}, {"runs", "resume", "r2", "--verbose"}, {"runs", "replay", "r1"}, {"runs", "undo", "r1"}, {"runs", "retry", "r1"}, {"runs", "cancel", "r2"}, {"runs", "resume", "--due"},
		{"--config", hostile, "tool", "list"}, {"runs", "list", "--project", hostile}, {"trust", hostile},
	} {
		check(args...)
	}
	if seen < 15 {
		t.Errorf("%d marks of line breaks, want more: the texts are not shown", seen)
	}
	p.Dir = filepath.Join(dir, hostile)
	if err := os.Mkdir(p.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"tool", "list"}, {"doctor"}, {"init"}, {"trust"}, {"runs", "list"}} {
		check(args...)
	}
}
