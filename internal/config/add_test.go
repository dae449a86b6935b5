package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/identity"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// add adds rules to a config, and returns the lines that it has written.
func add(file, root string, rules []tool.Rule) (written string, err error) {
	_, missing := os.Stat(filepath.Join(root, ".cassidy"))
	hadID := missing == nil
	c, err := config.AddRules(file, root, rules)
	if err != nil {
		return "", err
	}
	if left, err := os.ReadDir(filepath.Join(root, ".cassidy")); err == nil && len(left) > 0 && !hadID {
		return "", errors.New("the project was changed before the rule was written")
	}
	err = c.Write()
	return c.Lines, err
}

// TestAddRules checks that a rule is added to a config as people write it, that it holds in
// one project, and that the rest of the file is unchanged.
func TestAddRules(t *testing.T) {
	rules := []tool.Rule{
		{Verdict: tool.Allow, Tool: "put_note", Capability: tool.Capability{Name: "fs.write", Target: "a[*]\"b.txt"}},
		{Verdict: tool.Allow, Capability: tool.Capability{Name: "tool", Target: "deploy"}},
	}
	const first, second = `{tool: put_note, capability: "fs.write:a[*]\"b.txt", project: "ROOT", id: "FOLDER"}`, `{capability: "tool:deploy", project: "ROOT", id: "FOLDER"}`
	for _, tt := range []struct{ name, before, after string }{
		{"no file", "-", "allow:\n  - FIRST\n  - SECOND\n"},
		{"an empty file", "", "allow:\n  - FIRST\n  - SECOND\n"},
		{"no list", "# mine\nsandbox: strict", "# mine\nsandbox: strict\nallow:\n  - FIRST\n  - SECOND\n"},
		{"a list", "ask: [env]\nallow: # what I allow\n\n    # files\n    - fs.read\n    - shell:git\ndeny: [env]\n", "ask: [env]\nallow: # what I allow\n    - FIRST\n    - SECOND\n\n    # files\n    - fs.read\n    - shell:git\ndeny: [env]\n"},
		{"a list without an indent", "allow:\n- fs.read\nmodel: openai:x\n", "allow:\n- FIRST\n- SECOND\n- fs.read\nmodel: openai:x\n"},
		{"a list of comments", "allow:\n#  - fs.read\ndeny: [env]\n", "allow:\n  - FIRST\n  - SECOND\n#  - fs.read\ndeny: [env]\n"},
		{"a list in brackets", "allow: [fs.read, {tool: x, capability: env}]\n", "allow: [FIRST, SECOND, fs.read, {tool: x, capability: env}]\n"},
		{"an empty list in brackets", "allow: [ ]\nask: [env]\n", "allow: [FIRST, SECOND ]\nask: [env]\n"},
		{"brackets over lines", "allow: [\n  fs.read,\n]\n", "allow: [FIRST, SECOND, \n  fs.read,\n]\n"},
		{"line ends of Windows", "# mine\r\nallow:\r\n- fs.read\r\nmodel: openai:x", "# mine\r\nallow:\r\n- FIRST\r\n- SECOND\r\n- fs.read\r\nmodel: openai:x"},
		{"a byte order mark", "\ufeffallow: [fs.read]\n", "\ufeffallow: [FIRST, SECOND, fs.read]\n"},
		{"a form that is not understood", "{allow: [fs.read]}\n", ""},
		{"another one", "'allow': [fs.read]\n", ""},
		{"a broken file", "alow: [fs.read]\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home, root := t.TempDir(), t.TempDir()
			file := filepath.Join(home, "config.yaml")
			if tt.before != "-" {
				if err := os.WriteFile(file, []byte(tt.before), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			written, err := add(file, root, rules)
			after, _ := os.ReadFile(file)
			if tt.after == "" {
				if err == nil || string(after) != tt.before {
					t.Errorf("error = %v, and the file is %q, want an error and no change", err, after)
				}
				return
			}
			lines := strings.NewReplacer("FIRST", first, "SECOND", second)
			m, markErr := identity.Of(root)
			if markErr != nil {
				t.Fatal(markErr)
			}
			here := strings.NewReplacer("ROOT", root, "FOLDER", m.Text())
			want := here.Replace(lines.Replace(tt.after))
			if diff := cmp.Diff(want, string(after)); err != nil || diff != "" {
				t.Fatalf("AddRules: %v (-want +got):\n%s", err, diff)
			}
			if want := here.Replace(lines.Replace("  - FIRST\n  - SECOND\n")); written != want {
				t.Errorf("written = %q, want %q", written, want)
			}
			now, err := config.Read(root, &config.Options{Home: home})
			if err != nil {
				t.Fatal(err)
			}
			other, err := config.Read(t.TempDir(), &config.Options{Home: home})
			if err != nil || len(now.Rules) != len(other.Rules)+2 {
				t.Errorf("in another project: %v, %d rules of %d, want two less", err, len(other.Rules), len(now.Rules))
			}
			if left, _ := filepath.Glob(filepath.Join(home, ".config-*")); len(left) > 0 {
				t.Errorf("files are left behind: %v", left)
			}
			if _, err := add(file, root, rules); err != nil {
				t.Fatal(err)
			}
			if again, _ := os.ReadFile(file); string(again) != string(after) {
				t.Errorf("added twice:\n%s", again)
			}
			for i := range rules {
				c, err := config.RemoveRules(file, root, rules[i:i+1])
				if err == nil {
					err = c.Write()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			want = tt.before
			if !strings.Contains(want, "allow:") {
				if want = strings.TrimPrefix(want, "-"); want != "" {
					want += "\n"
				}
			}
			want = strings.Replace(want, "allow: [ ]\n", "", 1) // the line of the only rule is deleted
			if left, _ := os.ReadFile(file); string(left) != want {
				t.Errorf("after the removal: %q, want %q", left, want)
			}
		})
	}
}

// TestAddRulesLink checks that a config that is a link stays one, with its mode.
func TestAddRulesLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "dotfiles.yaml"), filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte("model: openai:x\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	rules := []tool.Rule{{Verdict: tool.Allow, Tool: "t", Capability: tool.Capability{Name: "env", Target: "HOME"}}}
	if _, err := add(link, dir, rules); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is replaced: %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), `capability: "env:HOME", project: `) {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// TestRulesOfAFolder checks that rules which were added in a project do not hold in other
// folders at its path.
func TestRulesOfAFolder(t *testing.T) {
	rules := []tool.Rule{{Verdict: tool.Allow, Capability: tool.Capability{Name: "tool", Target: "deploy"}}}
	for _, tt := range []struct {
		name   string
		change func(root, aside string) error
		holds  bool
	}{
		{"the same folder", func(root, aside string) error { return nil }, true},
		{"moved and moved back", func(root, aside string) error {
			return errors.Join(os.Rename(root, aside), os.Rename(aside, root))
		}, true},
		{"another folder", func(root, aside string) error {
			return errors.Join(os.Rename(root, aside), os.Mkdir(root, 0o777))
		}, false},
		{"a copy", func(root, aside string) error {
			return errors.Join(os.Rename(root, aside), os.CopyFS(root, os.DirFS(aside)))
		}, false},
		{"another folder that took the ID", func(root, aside string) error {
			return errors.Join(os.Rename(root, aside), os.Mkdir(root, 0o777), os.Rename(filepath.Join(aside, ".cassidy"), filepath.Join(root, ".cassidy")))
		}, false},
		{"without the ID", func(root, aside string) error { return os.RemoveAll(filepath.Join(root, ".cassidy")) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home, root := t.TempDir(), filepath.Join(t.TempDir(), "project")
			if err := os.Mkdir(root, 0o777); err != nil {
				t.Fatal(err)
			}
			if _, err := add(filepath.Join(home, "config.yaml"), root, rules); err != nil {
				t.Fatal(err)
			}
			if err := tt.change(root, root+"-aside"); err != nil {
				t.Fatal(err)
			}
			c, err := config.Read(root, &config.Options{Home: home})
			if err != nil || (len(c.Rules) == 1) != tt.holds || (len(c.Warnings) == 0) != tt.holds {
				t.Errorf("rules %v, warnings %q, %v; want that the rule holds: %v", c.Rules, c.Warnings, err, tt.holds)
			}
		})
	}
}

// TestConcurrentRules checks that rules which are added at the same time are all in the config.
func TestConcurrentRules(t *testing.T) {
	const n = 20
	home, root := t.TempDir(), t.TempDir()
	file := filepath.Join(home, "config.yaml")
	if err := os.WriteFile(file, []byte("# mine\nallow:\n  # files\n  - fs.read\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rule := func(i int) tool.Rule {
		return tool.Rule{Verdict: tool.Allow, Tool: "t", Capability: tool.Capability{Name: "env", Target: "V" + string(rune('A'+i))}}
	}
	var changes []*config.Change
	for i := range n {
		c, err := config.AddRules(file, root, []tool.Rule{rule(i)})
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, c)
	}
	var all sync.WaitGroup
	for _, c := range changes {
		all.Go(func() {
			if err := c.Write(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	list, err := config.ListRules(root, &config.Options{Home: home})
	if err != nil || len(list) != n+1 {
		t.Fatalf("%d rules, %v, want %d", len(list), err, n+1)
	}
	text, _ := os.ReadFile(file)
	if !strings.HasPrefix(string(text), "# mine\nallow:\n") || !strings.HasSuffix(string(text), "  # files\n  - fs.read\n") {
		t.Errorf("the file is:\n%s", text)
	}
	lines := strings.Split(string(text), "\n")
	for _, r := range list {
		if !strings.Contains(lines[r.Line-1], r.Capability.String()) || r.Here != (r.Tool == "t") {
			t.Errorf("%s is in line %d, for one project %v: %s", r.String(), r.Line, r.Here, lines[r.Line-1])
		}
	}
}

// TestReadOnlyConfig checks that a config that its user must not write is not replaced.
func TestReadOnlyConfig(t *testing.T) {
	home, root := t.TempDir(), t.TempDir()
	file := filepath.Join(home, "config.yaml")
	if err := os.WriteFile(file, []byte("model: openai:x\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	_, err := add(file, root, []tool.Rule{{Verdict: tool.Allow, Tool: "t", Capability: tool.Capability{Name: "env", Target: "HOME"}}})
	text, _ := os.ReadFile(file)
	if e := value.ErrorOf(err, value.Failed); err == nil || string(text) != "model: openai:x\n" ||
		!strings.Contains(e.Hint, `add to the list 'allow': {tool: t, capability: "env:HOME", project: `) {
		t.Errorf("error = %v, hint %q, and the file is %q", err, e.Hint, text)
	}
}

// TestParseRule checks which texts are rules that allow something.
// TestSetField changes a field of files as editors write them: the other lines stay as they are.
func TestSetField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, before, after string }{
		{"no file", "-", "limits:\n  cpu: 5\n"},
		{"comments", "# a\nlimits: # b\n  cpu: 3 # c\n", "# a\nlimits: # b\n  cpu: 5 # c\n"},
		{"line ends of Windows", "# a\r\nlimits:\r\n  cpu: 3 # c\r\nmodel: openai:x\r\n", "# a\r\nlimits:\r\n  cpu: 5 # c\r\nmodel: openai:x\r\n"},
		{"a new field after them", "model: openai:x\r\n", "model: openai:x\r\nlimits:\r\n  cpu: 5\r\n"},
		{"mixed line ends", "# a\r\nlimits:\n  cpu: 3\n", "# a\r\nlimits:\n  cpu: 5\n"},
		{"a byte order mark", "\ufefflimits:\n  cpu: 3\n", "\ufefflimits:\n  cpu: 5\n"},
		{"both", "\ufefflimits:\r\n  cpu: 3\r\n", "\ufefflimits:\r\n  cpu: 5\r\n"},
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if tt.before != "-" {
			if err := os.WriteFile(file, []byte(tt.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := config.SetField(file, []string{"limits", "cpu"}, int64(5))
		if err == nil {
			err = c.Write()
		}
		if after, _ := os.ReadFile(file); err != nil || string(after) != tt.after {
			t.Errorf("%s: the file is %q, want %q (%v)", tt.name, after, tt.after, err)
		}
		if err := os.Chmod(file, 0o400); err != nil {
			t.Fatal(err)
		}
		if _, err := config.SetField(file, []string{"limits", "cpu"}, int64(6)); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: read-only: error = %v, want one of permission", tt.name, err)
		}
		if c, err := config.SetField(file, []string{"limits", "cpu"}, int64(5)); err != nil || c.Write() != nil {
			t.Errorf("%s: read-only, and nothing changes: %v", tt.name, err)
		}
	}
}

func TestParseRule(t *testing.T) {
	for text, want := range map[string]string{
		`{tool: put-note, capability: "fs.write:a[*]\"b.txt"}`: `{tool: put-note, capability: "fs.write:a[*]\"b.txt"}`,
		`shell:git`:                                                `{capability: "shell:git"}`,
		`{capability: "tool:deploy"}`:                              `{capability: "tool:deploy"}`,
		`{tool: "@g", capability: shell}`:                          `{tool: "@g", capability: "shell"}`,
		`{tool: t}`:                                                "",
		`{tool: t, capability: "fs.write:../x"}`:                   "",
		`{tool: t, capability: "http.get:API.example.com"}`:        "",
		`{tool: t, capability: "http.get:x", project: "/", id: 1}`: "",
		"{tool: t, capability: \"fs.write:a\\nb\"}":                "",
		`[a, b]`: "",
		``:       "",
		`{`:      "",
	} {
		r, err := config.ParseRule(text)
		if (err == nil) != (want != "") || err == nil && (r.String() != want || r.Verdict != tool.Allow) {
			t.Errorf("ParseRule(%s) = %s, %v, want %s", text, r.String(), err, want)
		}
	}
}

// TestRemoveRules checks that each rule is removed once, with its lines alone. In the table, " + " is
// between rules.
func TestRemoveRules(t *testing.T) {
	for _, tt := range []struct{ name, before, rule, after string }{
		{"one of several", "allow:\n  # a\n  - fs.read\n  # b\n  - shell:git # why\n  - env\n", "shell:git", "allow:\n  # a\n  - fs.read\n  # b\n  - env\n"},
		{"several lines", "allow:\n  - tool: t\n    capability: env\n  - env\n", "{tool: t, capability: env}", "allow:\n  - env\n"},
		{"the last of several lines", "allow:\n  - env\n  - tool: t\n    capability: env\nask: [shell]\n", "{tool: t, capability: env}", "allow:\n  - env\nask: [shell]\n"},
		{"of another tool", "allow:\n  - {tool: t, capability: env}\n", "{tool: u, capability: env}", ""},
		{"for every tool", "allow:\n  - {tool: t, capability: env}\n", "env", ""},
		{"one that asks", "ask:\n  - env\n", "env", ""},
		{"another project", "allow:\n  - {capability: env, project: /nowhere}\n", "env", ""},
		{"another project too", "allow:\n  - {capability: env, project: /nowhere}\n  - env\n", "env", "allow:\n  - {capability: env, project: /nowhere}\n"},
		{"twice", "allow:\n  - env\n  - env\n", "env", "allow:\n  - env\n"},
		{"in brackets", "allow: [env, shell]\n", "env", "allow: [shell]\n"},
		{"the last in brackets", "allow: [env, shell] # why\n", "shell", "allow: [env] # why\n"},
		{"between others in brackets", "allow: [env, {tool: t, capability: \"fs.read:[a,b]/{c,d}\"}, shell]\n", "{tool: t, capability: \"fs.read:[a,b]/{c,d}\"}", "allow: [env, shell]\n"},
		{"beside a text with commas", "allow: [\"fs.read:{a,shell,b}\", shell]\nask: [shell]\n", "shell", "allow: [\"fs.read:{a,shell,b}\"]\nask: [shell]\n"},
		{"brackets over several lines", "allow: [env,\n  shell, # why\n  skill.create]\n", "shell", "allow: [env,\n  skill.create]\n"},
		{"twice in brackets", "allow: [env, env]\n", "env", "allow: [env]\n"},
		{"a list in another one", "{allow: [env, shell], ask: [env]}\n", "shell", "{allow: [env], ask: [env]}\n"},
		{"two", "allow:\n  # a\n  - fs.read\n  # b\n  - shell:git # why\n  - env\n", "env + fs.read", "allow:\n  # a\n  # b\n  - shell:git # why\n"},
		{"two in brackets", "allow: [env, fs.read, shell]\n", "env + shell", "allow: [fs.read]\n"},
		{"both that are twice", "allow:\n  - env\n  - env\n  - shell\n", "env + env", "allow:\n  - shell\n"},
		{"one of two is not there", "allow:\n  - env\n", "env + shell", ""},
		{"the last one", "model: openai:x\nallow:\n  - env\nask: [shell]\n", "env", "model: openai:x\nask: [shell]\n"},
		{"the last one, with a comment", "allow:\n  # mine\n  - env\n", "env", "allow:\n  # mine\n"},
		{"alone in brackets", "model: openai:x\nallow: [env]\n", "env", "model: openai:x\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(tt.before), 0o600); err != nil {
				t.Fatal(err)
			}
			var rules []tool.Rule
			for _, text := range strings.Split(tt.rule, " + ") {
				rule, err := config.ParseRule(text)
				if err != nil {
					t.Fatal(err)
				}
				rules = append(rules, rule)
			}
			c, err := config.RemoveRules(file, t.TempDir(), rules)
			if err == nil {
				err = c.Write()
			}
			text, _ := os.ReadFile(file)
			if want := cmp.Diff(tt.after, string(text)); tt.after != "" && (err != nil || want != "") || tt.after == "" && (err == nil || string(text) != tt.before) {
				t.Errorf("RemoveRules: %v, and the file is %q, want %q", err, text, tt.after)
			}
		})
	}
}
