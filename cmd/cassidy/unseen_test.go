package main

import (
	"github.com/cassidy-run/cassidy/cmd/internal/command"

	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestNothingUnseenIsDropped runs commands where every text has a character that nobody can see. No command
// prints it as it is, or drops it: two texts that differ only in it would look equal.
func TestNothingUnseenIsDropped(t *testing.T) {
	t.Parallel()
	for _, c := range []rune{'\x1b', '\a', '\u202e', '\u200b', '\u00ad', '\U000e0041'} {
		t.Run(fmt.Sprintf("%U", c), func(t *testing.T) {
			t.Parallel()
			unseen(t, c)
		})
	}
}

func unseen(t *testing.T, c rune) {
	const left, right = "Aa", "Zz"
	raw := left + string(c) + right
	source := fmt.Sprintf(`%s\U%08x%s`, left, c, right) // in a string of Starlark and YAML
	escape := fmt.Sprintf(`%s\u%04x%s`, left, c, right) // as JSON has it
	if high := c - 0x10000; high >= 0 {
		escape = fmt.Sprintf(`%s\u%04x\u%04x%s`, left, 0xd800+high>>10, 0xdc00+high&0x3ff, right)
	}
	forms := []string{fmt.Sprintf("%s⟨U+%04X⟩%s", left, c, right), escape, strings.Trim(strconv.Quote(raw), `"`)}
	p := &apptest.Project{TB: t, Dir: t.TempDir(), Home: t.TempDir(), Commands: command.Commands()}
	text := strings.NewReplacer("TEXT", source)
	p.Write(".cassidy/tools/talk.star", text.Replace(`
def talk(text: str = "TEXT", more: str = ""):
    "TEXT\\n\\nArgs:\\n    text: TEXT\\n    more: TEXT\\n\\nReturns:\\n    TEXT"
    progress("TEXT")
    print("TEXT")
    fs.write("put.txt", "TEXT" + text + more)
    return "TEXT"

tool(talk, title = "TEXT", group = "TEXT", needs = ["fs.write"], tags = ["TEXT"], examples = [{"description": "TEXT", "args": {"text": "TEXT"}, "expect": "TEXT"}])
`))
	p.Write(".cassidy/tools/old.star", text.Replace("def old():\n    \"TEXT\"\n    return 1\n\ntool(old, deprecated = {\"since\": \"1\", \"replacement\": \"talk\", \"message\": \"TEXT\"})\n"))
	p.Write(".cassidy/tools/fall.star", text.Replace("def fall():\n    \"Fall.\"\n    fail(\"TEXT\")\n\ntool(fall)\n"))
	p.Write(".cassidy/tools/asks.star", text.Replace("def asks():\n    \"Ask.\"\n    return human.ask(\"TEXT\", default = \"TEXT\")\n\ntool(asks, needs = [\"human\"])\n"))
	p.Write(".cassidy/tools/faulty.star", text.Replace("def faulty():\n    \"TEXT\"\n    return {}[\"TEXT\"]\n\ntool(faulty, needs = [\"TEXT\"])\n"))
	p.Write(".cassidy/tests/talk_test.star", text.Replace("def test_talk():\n    print(\"TEXT\")\n    assert.eq(\"TEXT\", \"x\")\n"))
	p.Write(".cassidy/workflows/ask.star", text.Replace("def main():\n    \"\"\"TEXT\"\"\"\n    tools.talk()\n    return human.confirm(\"TEXT\")\n"))
	p.Write(".cassidy/skills/s.md", text.Replace("---\nname: s\ntitle: \"TEXT\"\ndescription: \"TEXT\"\n---\n")+raw+"\n")
	p.Write(".cassidy/agents/a.md", text.Replace("---\nname: a\ndescription: \"TEXT\"\n---\n")+raw+"\n")
	p.Write(".cassidy/mcp.json", `{"mcpServers": {"s": {"command": "prog", "args": ["`+escape+`"]}}}`)
	p.Write("CASSIDY.md", raw+"\n")
	p.Write("x.txt", raw+"\n")
	check := func(shows bool, args ...string) {
		t.Helper()
		stdout, stderr, _ := p.Run(args...)
		if args[0] == "tool" && args[1] == "run" {
			stdout = "" // a program reads the result
		}
		all, seen := stdout+"\n"+stderr, false
		for _, form := range forms {
			seen = seen || strings.Contains(all, form) || strings.Contains(all, strings.ReplaceAll(form, `\`, `\\`))
		}
		name := fmt.Sprint(args)
		switch {
		case strings.Contains(all, left+right):
			t.Errorf("%s drops the character:\n%s", name, around(all, left+right))
		case strings.ContainsRune(all, c):
			t.Errorf("%s prints the character:\n%q", name, around(all, string(c)))
		case shows && !seen:
			t.Errorf("%s does not show the text:\n%s", name, all)
		}
	}
	for _, json := range [][]string{nil, {"--json"}} {
		with := func(args ...string) []string { return append(json[:len(json):len(json)], args...) }
		id := fmt.Sprintf("r%d", len(json))
		check(false, with("trust", "--list")...)
		check(false, with("trust", "--yes")...)
		for _, args := range [][]string{
			{"tool", "list"}, {"tool", "help", "talk"}, {"tool", "info", "talk"}, {"tool", "schema", "talk"}, {"tool", "info", "old"}, {"tool", "help", "old"},
			{"tool", "validate"}, {"tool", "run", "fall"}, {"tool", "run", "asks"}, {"tool", "run", "talk", "text=" + raw, "--yes"},
			{"tool", "run", raw}, {"tool", "run", "talk", raw + "=1"}, {"tool", "run", "talk", "--" + raw}, {"tool", "info", raw}, {"check"}, {"test"},
			{"skill", "list"}, {"skill", "show", "s"}, {"skill", "show", raw}, {"agents", "list"}, {"agents", "show", "a"}, {"mcp", "list"}, {"run"}, {"run", raw},
			{"run", "ask", "--yes", "--run-id", id}, {"runs", "list"}, {"runs", "show", id}, {"runs", "show", id, "--verbose"}, {"runs", "answer", id, raw}, {"runs", "show", raw},
		} {
			check(true, with(args...)...)
		}
		for _, args := range [][]string{{"doctor"}, {"runs", "answer", id, "no", "--why", raw}, {"runs", "resume", id}, {"tool", "run", "read_file", "filepath=" + raw}, {"trust", raw}} {
			check(false, with(args...)...)
		}
	}
}

// around returns the part of a text around another one.
func around(text, part string) string {
	at := strings.Index(text, part)
	from, to := max(0, at-100), min(len(text), at+100)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	return value.Cut(text[from:], to-from)
}
