package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/mark"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

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
			written, err := config.AddRules(file, root, rules)
			after, _ := os.ReadFile(file)
			if tt.after == "" {
				if err == nil || string(after) != tt.before {
					t.Errorf("error = %v, and the file is %q, want an error and no change", err, after)
				}
				return
			}
			lines := strings.NewReplacer("FIRST", first, "SECOND", second)
			m, markErr := mark.Of(root)
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
	if _, err := config.AddRules(link, dir, rules); err != nil {
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
			if _, err := config.AddRules(filepath.Join(home, "config.yaml"), root, rules); err != nil {
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
