package approve

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestRule checks that a rule is shown in words and as a diff, and written only after the person has
// agreed.
func TestRule(t *testing.T) {
	rules := []tool.Rule{{Verdict: tool.Allow, Tool: "put_note", Capability: tool.Capability{Name: "fs.write", Target: "notes/a.txt"}}}
	const before = "# mine\nallow:\n  - fs.read # all\n"
	for _, tt := range []struct {
		name    string
		says    []string
		change  func(q *approval)
		mode    os.FileMode
		want    tool.Answer
		written bool
		shows   []string
	}{
		{"written", []string{"r\n", "w\n"}, nil, 0o600, tool.Answer{Yes: true}, true, []string{
			"? this would be added to your config, for this project only:\n  put_note may write, change and remove the files notes/a.txt without a question\n",
			"  │ 1 1   # mine\n", "  │ 2 2   allow:\n", "  │   3 +   - {tool: put_note, capability: \"fs.write:notes/a.txt\", project: ", "  │ 3 4     - fs.read # all\n",
			"\nw write it and approve · N no › ",
			"✓ written; to be asked again:\n  cassidy trust --remove-rule '{tool: put_note, capability: \"fs.write:notes/a.txt\"}'\n",
		}},
		{"only looked at", []string{"rule\n", "\n", "n\n"}, nil, 0o600, tool.Answer{}, false, nil},
		{"a y is not enough", []string{"r\n", "y\n", "y\n"}, nil, 0o600, tool.Answer{Yes: true}, false, nil},
		{"a read-only file", []string{"r\n", "w\n", "n\n"}, nil, 0o400, tool.Answer{}, false, []string{"permission denied\n", "to the list 'allow':\n       {tool: put_note"}},
		{"no rule", []string{"r\n", "n\n"}, func(q *approval) { q.Rules, q.NoRule = nil, "the model has read\nuntrusted text" }, 0o600, tool.Answer{}, false,
			[]string{"  no rule answers this question: the model has read↵untrusted text\n"}},
		{"each effect", []string{"r\n", "b\n"}, func(q *approval) { q.Rules, q.Each = nil, true }, 0o600, tool.Answer{Yes: true, Each: true}, false, []string{"b begin · N not now › "}},
		{"not each effect", []string{"r\n", "\n", "n\n"}, func(q *approval) { q.Rules, q.Each = nil, true }, 0o600, tool.Answer{}, false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file, root := filepath.Join(t.TempDir(), "config.yaml"), t.TempDir()
			if err := os.WriteFile(file, []byte(before), tt.mode); err != nil {
				t.Fatal(err)
			}
			p := newPerson(tt.says...)
			a := askerOf(p, nil)
			a.AddRules = func(got []tool.Rule) (*config.Change, error) { return config.AddRules(file, root, got) }
			q := questionOf(writer(), "filepath", "a.txt")
			q.Rules, q.rules = rules, rules
			if tt.change != nil {
				tt.change(&q)
			}
			got, err := a.approve(t.Context(), q)
			text, _ := os.ReadFile(file)
			if err != nil || !gocmp.Equal(got, tt.want) || p.prompts() != len(tt.says) || (string(text) != before) != tt.written {
				t.Errorf("answer = %+v, %v after %d prompts, want %+v and %d, and the file is:\n%s\n%s", got, err, p.prompts(), tt.want, len(tt.says), text, p.shown.String())
			}
			for _, want := range tt.shows {
				if !strings.Contains(p.shown.String(), want) {
					t.Errorf("shown = %s\nwant %q in it", p.shown.String(), want)
				}
			}
			if !tt.written {
				return
			}
			if c, err := config.Read(root, &config.Options{File: file}); err != nil || len(c.Rules) != 2 || c.Rules[0].Tool != "put_note" {
				t.Errorf("the config is %+v, %v", c.Rules, err)
			}
			if got, err := a.approve(t.Context(), q); err != nil || !got.Yes || p.prompts() != len(tt.says) {
				t.Errorf("a question that waited: %+v, %v after %d prompts, want a yes without one", got, err, p.prompts())
			}
			removed, err := config.RemoveRules(file, root, rules)
			if err == nil {
				err = removed.Write()
			}
			if text, _ := os.ReadFile(file); err != nil || string(text) != before {
				t.Errorf("after the removal: %v, %q", err, text)
			}
			p.says, p.gone, p.typed = []string{"n\n"}, false, make(chan string, 1)
			a.Term = &ui.Terminal{In: bufio.NewReader(p), Out: p}
			if got, err := a.approve(t.Context(), q); err != nil || got.Yes {
				t.Errorf("after the removal: %+v, %v, want that somebody is asked", got, err)
			}
		})
	}
}

// TestRuleWords checks the descriptions of rules.
func TestRuleWords(t *testing.T) {
	for _, tt := range []struct {
		verdict    tool.Verdict
		tool, text string
		want       string
	}{
		{tool.Allow, "t", "fs.write:a", "t may write, change and remove the files a without a question"},
		{tool.Allow, "", "tool:deploy", "calls of deploy begin without a question; what they do can still ask"},
		{tool.Allow, "t", "tool:@files", "t may call the tools of the group files without a question; what they do can still ask"},
		{tool.Allow, "@g", "env:HOME", "each tool of the group g may read the environment variable HOME without a question"},
		{tool.Allow, "t", "fs.write:.", "t may change files of the project by commands without a question"},
		{tool.Deny, "", "shell", "no tool may run every command"},
		{tool.Ask, "t", "fs.read:secret", "t asks each time before it may read the files secret"},
	} {
		c, err := tool.ParseCapability(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := RuleWords(&tool.Rule{Verdict: tt.verdict, Tool: tt.tool, Capability: c}); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.tool, tt.text, got, tt.want)
		}
	}
}
