package prompt

import (
	"strings"
	"testing"
)

func TestReadSkill(t *testing.T) {
	for _, c := range []struct{ name, reply, want string }{
		{"alone", "<USE_SKILL>release</USE_SKILL>", "release"},
		{"after words", "I need this first.\n\n<USE_SKILL> make-release_2 </USE_SKILL>\n", "make-release_2"},
		{"words after it", "<USE_SKILL>release</USE_SKILL> and go", "release"},
		{"with returns", "ok\r\n<USE_SKILL>release</USE_SKILL>\r\n", "release"},
		{"a file", "<USE_SKILL>release/references/a b.md</USE_SKILL>", "release/references/a b.md"},
		{"the first of two", "<USE_SKILL>a</USE_SKILL>\n<USE_SKILL>b</USE_SKILL>", "a"},
		{"the first that is right", "<USE_SKILL></USE_SKILL>\n<USE_SKILL>b</USE_SKILL>", "b"},
		{"after code", "```\nx\n```\n<USE_SKILL>a</USE_SKILL>", "a"},

		{"nothing", "", ""},
		{"words alone", "I would use the skill release.", ""},
		{"within a line", "You can write <USE_SKILL>release</USE_SKILL>.", ""},
		{"indented", " <USE_SKILL>release</USE_SKILL>", ""},
		{"a quotation", "> <USE_SKILL>release</USE_SKILL>", ""},
		{"in code", "```\n<USE_SKILL>release</USE_SKILL>\n```", ""},
		{"in code left open", "~~~md\n<USE_SKILL>release</USE_SKILL>", ""},
		{"not closed", "<USE_SKILL>release", ""},
		{"over two lines", "<USE_SKILL>\nrelease\n</USE_SKILL>", ""},
		{"no name", "<USE_SKILL> </USE_SKILL>", ""},
		{"a path", "<USE_SKILL>../release</USE_SKILL>", ""},
		{"no file", "<USE_SKILL>release/</USE_SKILL>", ""},
		{"a long file", "<USE_SKILL>a/" + strings.Repeat("a", 501) + "</USE_SKILL>", ""},
		{"two words", "<USE_SKILL>the release</USE_SKILL>", ""},
		{"small letters", "<use_skill>release</use_skill>", ""},
		{"a long name", "<USE_SKILL>" + strings.Repeat("a", 101) + "</USE_SKILL>", ""},
		{"with a call", "<USE_SKILL>release</USE_SKILL>\n{\"tool_decision\": {\"action\": \"x\"}}", ""},
		{"with a call in tags", "<USE_SKILL>release</USE_SKILL>\n<TOOL_DECISION>\nACTION: x\n</TOOL_DECISION>", ""},
		{"with an answer", "<USE_SKILL>release</USE_SKILL>\nTASK COMPLETE: done", ""},
		{"with an answer in other letters", "task_complete: done\n<USE_SKILL>release</USE_SKILL>", ""},
	} {
		if got, ok := ReadSkill(c.reply); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: ReadSkill(%q) = %q, %v, want %q", c.name, c.reply, got, ok, c.want)
		}
	}
}

func FuzzReadSkill(f *testing.F) {
	f.Add("<USE_SKILL>a</USE_SKILL>")
	f.Add("```\n<USE_SKILL>a</USE_SKILL>\n~~~")
	f.Fuzz(func(t *testing.T, reply string) {
		name, ok := ReadSkill(reply)
		if ok != (name != "") || ok && (strings.ContainsAny(name, "\n\r") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") || !strings.Contains(reply, name)) {
			t.Errorf("ReadSkill(%q) = %q, %v", reply, name, ok)
		}
	})
}

// BenchmarkReadSkill reads 200,000 characters of the worst.
func BenchmarkReadSkill(b *testing.B) {
	for _, piece := range []string{"<USE_SKILL>", "`", "```\n", "\n", "<USE_SKILL>a\n"} {
		reply := strings.Repeat(piece, 200_000/len(piece)) + "<USE_SKILL>"
		b.Run(piece, func(b *testing.B) {
			for b.Loop() {
				ReadSkill(reply)
			}
		})
	}
}
