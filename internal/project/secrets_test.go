package project_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/protect"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
)

// TestFilesOfSecretsAreNotRead checks that nothing that models get is read from a file that holds a secret, whatever its name,
// although the project is trusted: notes, rules, memory, manifests, skills, agent files, hooks and policies.
func TestFilesOfSecretsAreNotRead(t *testing.T) {
	t.Parallel()
	const secret = "---\nname: s3cret\ndescription: s3cret\n---\nmodule s3cret\n# s3cret\n"
	links := map[string]func(from, to string) error{
		"a hard link": os.Link,
		"a link": func(from, to string) error {
			rel, err := filepath.Rel(filepath.Dir(to), from)
			if err != nil {
				return err
			}
			return os.Symlink(rel, to)
		},
	}
	for kind, link := range links {
		for _, name := range []string{
			"CASSIDY.md", "CASSIDY.local.md", ".cassidy/CASSIDY.md", ".cassidy/rules/a.md", ".cassidy/rules/sub/a.md", ".cassidy/memory.md", "go.mod",
			".cassidy/skills/a.md", ".cassidy/agents/a.md", ".claude/agents/a.md", ".cassidy/hooks.star", ".cassidy/policies/a.star",
			"HOME/CASSIDY.md", "HOME/rules/a.md", "HOME/skills/a.md", "HOME/agents/a.md", "HOME/policies/a.star",
		} {
			for _, declared := range []bool{true, false} {
				dir := t.TempDir()
				root, home, file := filepath.Join(dir, "root"), filepath.Join(dir, "home"), filepath.Join(dir, "root", "key.txt")
				at := filepath.Join(root, name)
				if rest, ok := strings.CutPrefix(name, "HOME/"); ok {
					at = filepath.Join(home, rest)
				}
				for _, parent := range []string{root, home, filepath.Dir(at)} {
					if err := os.MkdirAll(parent, 0o755); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := link(file, at); err != nil {
					t.Skipf("SKIPPED: no links here: %v", err)
				}
				o := mine(home)
				o.Refuse = protect.Refuse(func() []string {
					if declared {
						return []string{file}
					}
					return nil
				})
				if text := everything(t, root, o); strings.Contains(text, "s3cret") == declared {
					t.Errorf("%s as %s, declared: %v: the texts are %s", kind, name, declared, text)
				}
			}
		}
	}
}

// everything returns what models can get of the files of a project.
func everything(t *testing.T, root string, o *trust.Scope) string {
	t.Helper()
	var b strings.Builder
	text, err := project.Context(t.Context(), root, o, "comprehensive")
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString(text)
	skills, broken := skill.List(root, o)
	for _, s := range skills {
		loaded, err := skill.Load(root, o, s.Key)
		fmt.Fprintln(&b, s.Description, loaded.Text, err)
	}
	agents, errs := project.Agents(root, o)
	for _, a := range agents {
		fmt.Fprintln(&b, a.Description)
	}
	policies, failed := project.Policies(root, o)
	for i := range policies {
		s, err := policies[i].Script(nil)
		fmt.Fprintln(&b, s.Source, err)
	}
	hooks, err := project.Hooks(root, o)
	for _, h := range hooks {
		fmt.Fprintln(&b, h.Source)
	}
	fmt.Fprintln(&b, err, broken, errs, failed)
	return b.String()
}
