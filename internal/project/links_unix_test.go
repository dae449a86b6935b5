//go:build unix

package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestSpecialFiles checks that special files and links out of the project are not read,
// and do not block.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	outside, root, home := t.TempDir(), t.TempDir(), t.TempDir()
	one := "---\ndescription: from outside\n---\n"
	put(t, outside, "secret.md", "from outside")
	put(t, outside, "skills/s.md", one)
	put(t, outside, "HEAD", "ref: refs/heads/from-outside\n")
	put(t, root, ".cassidy/config.yaml", "")
	put(t, root, "inside.md", "from inside")
	put(t, root, "skill.txt", "---\ndescription: skill from inside\n---\n")
	link := func(to, name string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, file); err != nil {
			t.Fatal(err)
		}
	}
	pipe := func(name string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(outside, "secret.md"), "CASSIDY.md")
	link("../"+filepath.Base(outside)+"/secret.md", ".cassidy.md")
	link(outside, ".cassidy/rules/out")
	link(filepath.Join(outside, "secret.md"), ".cassidy/rules/out.md")
	link(filepath.Join(outside, "HEAD"), ".git/HEAD")
	link("/dev/zero", "CASSIDY.local.md")
	link(".", "loop")
	link(outside, "far")
	link("../inside.md", ".cassidy/CASSIDY.md")
	link("../../skill.txt", ".cassidy/skills/linked.md")
	link(filepath.Join(outside, "skills", "s.md"), ".cassidy/skills/out.md")
	link("self.md", ".cassidy/skills/self.md")
	pipe(".cassidy/CASSIDY.local.md")
	pipe(".cassidy/skills/pipe.md")
	pipe("package.json")
	pipe("go.mod")
	pipe("a-pipe")

	text := contextOf(t, root, home, "comprehensive")
	for _, not := range []string{"from outside", "from-outside", "far", "loop", "a-pipe"} {
		if strings.Contains(text, not) {
			t.Errorf("the context says %q:\n%s", not, text)
		}
	}
	for _, want := range []string{"from inside", "skill from inside"} {
		if !strings.Contains(text, want) {
			t.Errorf("the context does not say %q:\n%s", want, text)
		}
	}
	skills, broken := skill.List(root, mine(home))
	if len(skills) != 1 || skills[0].Key != "linked" || len(broken) != 3 {
		t.Errorf("Skills = %v, %v, want the one that is linked inside", skills, broken)
	}
}

// TestSkillFolderOutside checks that a project's folder of skills cannot be outside of
// the project, for reading or writing.
func TestSkillFolderOutside(t *testing.T) {
	t.Parallel()
	outside, root := t.TempDir(), t.TempDir()
	put(t, outside, "s.md", "---\ndescription: from outside\n---\n")
	put(t, root, ".cassidy/config.yaml", "")
	if err := os.Symlink(outside, filepath.Join(root, ".cassidy", "skills")); err != nil {
		t.Fatal(err)
	}
	if skills, broken := skill.List(root, mine("")); len(skills) > 0 || len(broken) != 1 {
		t.Errorf("Skills = %v, %v, want that the folder is refused", skills, broken)
	}
	if _, err := effect(t.Context(), root, "", "skill.create", value.NewDict("name", "new", "title", "T", "description", "d", "content", "c")); err == nil || strings.Contains(err.Error(), root) {
		t.Errorf("skill.create into a folder outside: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "new.md")); err == nil {
		t.Error("a skill was written outside the project")
	}
	// A user's own folder may be a link: people keep theirs under version control.
	home := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(home, "skills")); err != nil {
		t.Fatal(err)
	}
	if skills, broken := skill.List("", mine(home)); len(skills) != 1 || len(broken) > 0 {
		t.Errorf("Skills = %v, %v, want the user's own", skills, broken)
	}
}
