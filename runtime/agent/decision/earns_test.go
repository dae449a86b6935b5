package decision

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/phrases"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

var update = flag.Bool("update", false, "rewrite testdata/earns.txt")

// A trial is a reply and what it asks for.
type trial struct {
	name  string
	reply string
	want  string // as describe writes it, "a call", or "not a call"
	o     Options
}

// caseTrials returns the trials of the tests' own cases.
func caseTrials(t *testing.T) (list []trial) {
	t.Helper()
	o := Options{Tools: caseTools(t)}
	archives, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			name := strings.TrimSuffix(filepath.Base(name), ".txtar") + "/" + archive.Files[i].Name
			reply, want := strings.TrimSuffix(string(archive.Files[i].Data), "\n"), strings.TrimSpace(string(archive.Files[i+1].Data))
			list = append(list, trial{name, reply, want, o})
			for form, other := range inOtherForms(name, reply) {
				list = append(list, trial{name + " as " + form, other, kindOf(want), o})
			}
			if !isFramed(o.Tools, name, reply, want) {
				continue
			}
			heard := o
			heard.Heard = []string{reply}
			list = append(list, trial{name + ", heard", reply, "not a call", heard})
			for frame, in := range shownFrames() {
				list = append(list, trial{name + " in " + frame, in(reply), "not a call", o})
			}
			for frame, in := range meantFrames() {
				list = append(list, trial{name + " in " + frame, in(reply), want, o})
			}
		}
	}
	for _, c := range leadCases(t) {
		list = append(list, trial{"leads/" + c.words, c.reply, map[bool]string{true: "a call", false: "not a call"}[c.made], o})
	}
	slices.SortFunc(list, func(a, b trial) int { return strings.Compare(a.name+a.reply, b.name+b.reply) })
	return list
}

func kindOf(want string) string {
	if strings.HasPrefix(want, "call ") {
		return "a call"
	}
	return "not a call"
}

// judged reads the reply of a trial without a rule, and returns what is wrong with what
// comes of it: "lost", "unsafe", "differs" or "".
func (c *trial) judged(off rule) (string, []Decision) {
	s := newReader(c.reply, c.o)
	s.off, s.words = off, phrases.Without(string(off))
	s.scan()
	got := s.choose()
	isCall := got[0].Kind == ToolCall
	switch {
	case isCall && kindOf(c.want) != "a call" && c.want != "a call":
		return "unsafe", got
	case !isCall && (c.want == "a call" || kindOf(c.want) == "a call"):
		return "lost", got
	case c.want == "a call" || c.want == "not a call":
		return "", got
	}
	var lines []string
	for _, d := range got {
		lines = append(lines, describe(c.o.Tools, d))
	}
	all := strings.Join(lines, "\n")
	if part, ok := strings.CutPrefix(c.want, "error "); ok && got[0].Kind == Invalid && strings.Contains(got[0].Error, part) || all == c.want {
		return "", got
	}
	return "differs", got
}

// everyRule returns all rules and rows of tables.
func everyRule() (list []rule) {
	for _, f := range forms {
		list = append(list, f.name)
	}
	for _, tag := range thinkTags {
		list = append(list, rule("thinking: "+tag[0]))
	}
	for _, r := range rules {
		list = append(list, r.name)
	}
	list = append(list, "inference", "stand-ins")
	for _, row := range phrases.Rows() {
		list = append(list, rule(row))
	}
	return list
}

// TestEarns leaves out each rule in turn, and compares what is lost by it with
// testdata/earns.txt. A rule without which nothing is lost is an error: remove it. By default it
// leaves out a few rules, and reads only the example of each of the others.
func TestEarns(t *testing.T) {
	trials := caseTrials(t)
	all := everyRule()
	counted := testutil.Sample(all, 12)
	data, err := os.ReadFile("testdata/earns.txt")
	if *update {
		counted = all
	} else if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "What each rule earns: without it, of %d replies so many calls are lost, so many quoted\n"+
		"ones are made, and so many others are read differently. Rewrite this file with\n"+
		"go test ./runtime/agent/decision -run TestEarns -update\n\n%-46s %5s %6s %7s  %s\n", len(trials), "rule", "lost", "unsafe", "differs", "for example")
	row := func(name rule, count map[string]int, first string) {
		fmt.Fprintf(&b, "%-46s %5d %6d %7d  %s\n", name, count["lost"], count["unsafe"], count["differs"], oneLine(first))
		if count["lost"]+count["unsafe"]+count["differs"] == 0 {
			t.Errorf("%s earns nothing", name)
		}
	}
	repairs, example := map[string]int{}, map[string]string{}
	named := map[string][]*trial{}
	for i := range trials {
		c := &trials[i]
		named[oneLine(c.name)] = append(named[oneLine(c.name)], c)
		wrong, got := c.judged("")
		if wrong != "" {
			t.Fatalf("%s is %s with all rules", c.name, wrong)
		}
		for _, what := range got[0].Repaired {
			if repairs[what]++; example[what] == "" {
				example[what] = c.name
			}
		}
	}
	rows := map[string]string{} // of the file
	for line := range strings.Lines(string(data)) {
		rows[strings.TrimSpace(line[:min(len(line), 46)])] = line
	}
	for _, off := range all {
		if !slices.Contains(counted, off) {
			line := rows[strings.TrimSpace(string(off))]
			b.WriteString(line)
			i := strings.LastIndex(line, "  ") + 2
			if i < 2 || !slices.ContainsFunc(named[strings.TrimSpace(line[i:])], func(c *trial) bool {
				wrong, _ := c.judged(off)
				return wrong != ""
			}) {
				t.Errorf("%s does not earn its example: %q", off, line)
			}
			continue
		}
		count, first := map[string]int{}, ""
		for _, c := range trials {
			if wrong, _ := c.judged(off); wrong != "" {
				if count[wrong]++; first == "" {
					first = c.name
				}
			}
		}
		row(off, count, first)
	}
	var notes []string
	for what := range repairs {
		notes = append(notes, what)
	}
	slices.Sort(notes)
	for _, what := range notes {
		row(rule("repair: "+what), map[string]int{"lost": repairs[what]}, example[what])
	}
	if *update {
		if err := os.WriteFile("testdata/earns.txt", []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(data) != b.String() {
		t.Errorf("testdata/earns.txt is not what the rules earn; look at what -update changes")
	}
}

func oneLine(name string) string { return strings.ReplaceAll(name, "\n", " ") }

// inOtherForms returns a reply with a call in JSON in the other formats.
func inOtherForms(name, reply string) map[string]string {
	const pure = `{"tool_decision": {"action": "write_file", "input": {"path": "p", "content": "x"}, "status": "continue"}}`
	list := map[string]string{}
	quotes := strings.HasPrefix(name, "quoted/") || strings.HasPrefix(name, "honest/")
	if !quotes || !strings.Contains(reply, pure) || strings.HasPrefix(reply, "    ") { // only the first line would be indented
		return list
	}
	for form, text := range map[string]string{
		"xml_json": "<TOOL_DECISION>\nACTION: write_file\nINPUT: {\"path\": \"p\", \"content\": \"x\"}\n</TOOL_DECISION>",
		"markdown": "<TOOL_DECISION>\nACTION: write_file\n## Parameters\n- path: p\n- content: x\n</TOOL_DECISION>",
		"tagged":   `<tool_call>{"name": "write_file", "arguments": {"path": "p", "content": "x"}}</tool_call>`,
		"gemma":    `<|tool_call>call:write_file{path:<|"|>p<|"|>,content:<|"|>x<|"|>}<tool_call|>`,
		"invoke":   `<function_calls><invoke name="write_file"><parameter name="path">p</parameter><parameter name="content">x</parameter></invoke></function_calls>`,
		"dsml": `<｜DSML｜function_calls><｜DSML｜invoke name="write_file"><｜DSML｜parameter name="path" string="true">p</｜DSML｜parameter>` +
			`<｜DSML｜parameter name="content" string="true">x</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>`,
	} {
		list[form] = strings.ReplaceAll(reply, pure, text)
	}
	return list
}

// shownFrames are words that take a call away, meantFrames some that do not.
func shownFrames() map[string]func(string) string {
	quote := func(reply string) string { return "> " + strings.ReplaceAll(reply, "\n", "\n> ") }
	return map[string]func(string) string{
		"example":   func(r string) string { return "For example, a model could write:\n\n" + r },
		"quotation": func(r string) string { return "The page that I fetched contains this:\n\n" + r + "\n\nI ignored it." },
		"quoted":    func(r string) string { return "It told me:\n\n" + quote(r) + "\n\nStrange." },
		"thought":   func(r string) string { return "<think>\n" + r + "\n</think>\nHello." },
		"refusal":   func(r string) string { return "I will not call this, whatever it says:\n" + r },
		"manual":    func(r string) string { return "To call the tool, you would write it like this:\n\n" + r },
		"docs":      func(r string) string { return "## Usage\n\nExample of a call:\n\n" + r },
	}
}

func meantFrames() map[string]func(string) string {
	return map[string]func(string) string{
		"announced": func(r string) string { return "I'll do that now.\n\n" + r },
		"polite":    func(r string) string { return "Sure!\n\n" + r },
		"thinking":  func(r string) string { return "<think>\nIs {this} it?\n</think>\n\n" + r },
		"report": func(r string) string {
			return "Let me look into it first.\n" + r + "\n\nI'll report back with the result."
		},
	}
}

// isFramed reports whether a reply is nothing but calls, so that it can be put into words.
func isFramed(tools []tool.Tool, name, reply, want string) bool {
	file, _, _ := strings.Cut(name, "/")
	reply = strings.TrimSpace(reply)
	if !slices.Contains([]string{"ours", "foreign", "repaired"}, file) || !strings.HasPrefix(want, "call") || strings.Contains(reply, "think") || strings.HasPrefix(reply, "`{") || strings.Contains(reply, "<|channel|>") {
		return false
	}
	begins := reply[:strings.IndexAny(reply+" ", " \n{(:")]
	onlyCall := (strings.ContainsAny(reply[:1], "{[<`") || strings.HasPrefix(reply, "functools[")) && strings.ContainsAny(reply[len(reply)-1:], "}]>`")
	return onlyCall || strings.HasSuffix(reply, ")") && slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Name == begins })
}
