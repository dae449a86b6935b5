package skill_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestSkillFolders lists skills that are folders, of cassidy and of other programs.
func TestSkillFolders(t *testing.T) {
	file := func(description string) string {
		return "---\ndescription: " + description + "\n---\n# Title\n\nBody.\n"
	}
	many := map[string]string{}
	for i := range 1001 {
		many[fmt.Sprintf(".agents/skills/a/%04d", i)] = ""
	}
	many[".agents/skills/a/SKILL.md"], many[".agents/skills/b/SKILL.md"] = file("d"), file("d")
	for _, c := range []struct {
		name       string
		root, user map[string]string
		links      map[string]string // in the root
		want       string            // the skills, and then the errors
	}{
		{
			name: "every folder",
			root: map[string]string{".cassidy/skills/one/SKILL.md": file("no. 1"), ".agents/skills/two/SKILL.md": file("no. 2"), ".claude/skills/three/SKILL.md": file("no. 3")},
			user: map[string]string{".agents/skills/four/SKILL.md": file("no. 4"), ".claude/skills/five/SKILL.md": file("no. 5")},
			want: "project one .cassidy/skills/one/SKILL.md\nproject three .claude/skills/three/SKILL.md\nproject two .agents/skills/two/SKILL.md\n" +
				"personal five USER/.claude/skills/five/SKILL.md\npersonal four USER/.agents/skills/four/SKILL.md\n",
		},
		{
			name: "the first folder counts",
			root: map[string]string{".cassidy/skills/a/SKILL.md": file("no. 1"), ".agents/skills/a/SKILL.md": file("no. 2"), ".claude/skills/a/SKILL.md": file("no. 1")},
			want: "project a .cassidy/skills/a/SKILL.md\n.agents/skills/a/SKILL.md:1: the skill 'a' is not used: .cassidy/skills/a/SKILL.md has the same name, and comes first\n",
		},
		{
			name: "copies", root: map[string]string{".agents/skills/a/SKILL.md": file("no. 1")}, user: map[string]string{".claude/skills/a/SKILL.md": file("no. 1")},
			want: "project a .agents/skills/a/SKILL.md\n",
		},
		{
			name: "the same name in the project and of the user", root: map[string]string{".agents/skills/a/SKILL.md": file("no. 1")}, user: map[string]string{".claude/skills/a/SKILL.md": file("no. 2")},
			want: ".agents/skills/a/SKILL.md:1: the skill 'a' is also in USER/.claude/skills/a/SKILL.md\nUSER/.claude/skills/a/SKILL.md:1: the skill 'a' is also in .agents/skills/a/SKILL.md\n",
		},
		{
			name: "a file and a folder", root: map[string]string{".cassidy/skills/a.md": file("no. 1"), ".cassidy/skills/a/SKILL.md": file("no. 2")},
			want: ".cassidy/skills/a/SKILL.md:1: the skill 'a' is also in .cassidy/skills/a.md\n.cassidy/skills/a.md:1: the skill 'a' is also in .cassidy/skills/a/SKILL.md\n",
		},
		{
			name: "groups, and what is in a skill",
			root: map[string]string{
				".claude/skills/group/sub/a/SKILL.md": file("no. 1"), ".claude/skills/b/SKILL.md": file("no. 2"), ".claude/skills/b/more/c/SKILL.md": file("no. 3"),
				".claude/skills/x/x/x/x/x/SKILL.md": file("too deep"), ".claude/skills/.d/SKILL.md": file("hidden"), ".claude/skills/e.md": file("of no standard"),
				".claude/skills/node_modules/f/SKILL.md": file("installed"),
			},
			want: "project a .claude/skills/group/sub/a/SKILL.md\nproject b .claude/skills/b/SKILL.md\nproject f .claude/skills/node_modules/f/SKILL.md\n" +
				".claude/skills/x/SKILL.md: the folder has no file SKILL.md, so it is no skill\n",
		},
		{
			name: "links", root: map[string]string{".agents/skills/a/SKILL.md": file("no. 1"), ".agents/skills/a/b.txt": "b", ".cassidy/skills/c/SKILL.md": file("no. 2"), "secret": "x"},
			links: map[string]string{".claude/skills/a": "../../.agents/skills/a", ".agents/skills/a/b": "b.txt", ".cassidy/skills/c/d": "../../../secret"},
			want: "project a .agents/skills/a/SKILL.md\n" +
				".cassidy/skills/c/SKILL.md: the skill is not used: d is a link that leads out of its folder, or to another link\n",
		},
		{
			name: "links out of the project", root: map[string]string{".agents/skills/a/SKILL.md": file("no. 1")},
			links: map[string]string{".claude/skills/b": "/etc", ".agents/skills/a/c": "/etc/hostname"},
			want:  ".agents/skills/a/SKILL.md: the skill is not used: c is a link that leads out of its folder, or to another link\n",
		},
		{
			name: "dangling links", root: map[string]string{".agents/skills/a/SKILL.md": file("no. 1"), ".agents/skills/a/refs/x": ""},
			links: map[string]string{".agents/skills/a/refs/list.md": "gone.md"},
			want:  ".agents/skills/a/SKILL.md: the skill is not used: refs/list.md is a link to gone.md, which does not exist\n",
		},
		{
			name: "other names", root: map[string]string{".agents/skills/My Skill/SKILL.md": "---\nname: other\ndescription: d\n---\n"},
			want: "project My Skill .agents/skills/My Skill/SKILL.md the name 'other' differs from that of the folder, by which the skill is loaded; " +
				"other programs accept only names of at most 64 small letters, digits and hyphens\n",
		},
		{name: "too many files", root: many, want: "project b .agents/skills/b/SKILL.md\n.agents/skills/a/SKILL.md: the skill is not used: it has more than 1000 files\n"},
		{
			name: "no description", root: map[string]string{".agents/skills/a/SKILL.md": "---\nname: a\n---\n", ".agents/skills/b/SKILL.md": "text", ".agents/skills/c/x": ""},
			want: ".agents/skills/a/SKILL.md: the skill has no description\n" +
				".agents/skills/b/SKILL.md:1: No valid YAML frontmatter found: the file does not begin with ---\n" +
				".agents/skills/c/SKILL.md: the folder has no file SKILL.md, so it is no skill\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root, user := t.TempDir(), t.TempDir()
			for name, text := range c.root {
				put(t, root, name, text)
			}
			for name, text := range c.user {
				put(t, user, name, text)
			}
			for name, to := range c.links {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
					t.Skipf("SKIPPED: no links can be made here: %v", err)
				}
			}
			skills, broken := skill.List(root, &trust.Scope{UserDir: user, TrustOnce: true})
			got := ""
			for _, s := range skills {
				got += strings.TrimRight(fmt.Sprintf("%s %s %s %s", s.Location, s.Key, s.Path, strings.Join(s.Warnings, "; ")), " ") + "\n"
			}
			for _, e := range broken {
				got += e.Error() + "\n"
			}
			if diff := cmp.Diff(c.want, strings.ReplaceAll(got, filepath.ToSlash(user), "USER")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSkillWithFiles loads a skill with the names of its files, and then the files.
func TestSkillWithFiles(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"skills/a/SKILL.md":          {Data: []byte("---\ndescription: d\n---\n\n# A\n\nRead references/x.md.\n")},
		"skills/a/references/x.md":   {Data: []byte("The reference.\n")},
		"skills/a/assets/logo.png":   {Data: []byte("\x89PNG\x00")},
		"skills/a/__pycache__/x.pyc": {Data: []byte("x")},
		"skills/a/.git/HEAD":         {Data: []byte("x")},
		"skills/b.md":                {Data: []byte("---\ndescription: d\n---\nB")},
	}
	o := &trust.Scope{Files: files, TrustOnce: true}
	got, err := skill.Load("", o, "a")
	if err != nil {
		t.Fatal(err)
	}
	const want = "# A\n\nRead references/x.md.\n\nThe skill's folder is skills/a. Paths in the skill are relative to it. It has these files:\n\n- __pycache__/x.pyc\n- assets/logo.png\n- references/x.md"
	if diff := cmp.Diff(want, got.Text); diff != "" || got.Title != "A" || len(got.Files) != 3 {
		t.Errorf("the skill %+v (-want +got):\n%s", got, diff)
	}
	if got, err := skill.Load("", o, "a/references/x.md"); err != nil || got.Text != "The reference." || got.Key != "a" {
		t.Errorf("a file of the skill: %q, %v", got.Text, err)
	}
	for name, want := range map[string]string{
		"a/assets/logo.png": "the skill has no file 'assets/logo.png' with text", "a/SKILL.md": "no file 'SKILL.md'", "a/../b.md": "no file '../b.md'",
		"a//references/x.md": "no file '/references/x.md'", "b/x": "no file 'x'", "c/x": "Unknown skill: c",
	} {
		if _, err := skill.Load("", o, name); value.KindOf(err) != value.NotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("Load(%q) = %v, want %q", name, err, want)
		}
	}
}

// TestSkillIsReviewedWithItsFiles changes each part of a reviewed skill: nothing of it is used any more.
func TestSkillIsReviewedWithItsFiles(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(root string) error{
		"the instructions": func(root string) error {
			return os.WriteFile(filepath.Join(root, "SKILL.md"), []byte("---\ndescription: e\n---\n"), 0o644)
		},
		"a script": func(root string) error {
			return os.WriteFile(filepath.Join(root, "scripts/x.py"), []byte("print(2)\n"), 0o644)
		},
		"what is no text": func(root string) error { return os.WriteFile(filepath.Join(root, "logo.png"), []byte("\x00b"), 0o644) },
		"compiled code": func(root string) error {
			err := os.Mkdir(filepath.Join(root, "scripts/__pycache__"), 0o755)
			return errors.Join(err, os.WriteFile(filepath.Join(root, "scripts/__pycache__/x.cpython-311.pyc"), []byte("\x00"), 0o644))
		},
		"another file": func(root string) error { return os.WriteFile(filepath.Join(root, "more"), nil, 0o644) },
		"no file":      func(root string) error { return os.Remove(filepath.Join(root, "logo.png")) },
		"another name": func(root string) error {
			return os.Rename(filepath.Join(root, "logo.png"), filepath.Join(root, "logo2.png"))
		},
		"text in the name": func(root string) error {
			return os.Rename(filepath.Join(root, "scripts/x.py"), filepath.Join(root, "scripts/x.py\" (9 bytes)"))
		},
	} {
		root, state := t.TempDir(), t.TempDir()
		dir := filepath.Join(root, ".agents", "skills", "a")
		put(t, dir, "SKILL.md", "---\ndescription: d\n---\nBody")
		put(t, dir, "scripts/x.py", "print(1)\n")
		put(t, dir, "logo.png", "\x00a")
		o := &trust.Scope{Trust: trust.New(state)}
		if _, err := skill.Load(root, o, "a"); value.KindOf(err) != value.Denied {
			t.Fatalf("%s: before the review: %v", name, err)
		}
		text, err := skill.ReviewedText(os.DirFS(root), ".agents/skills/a/SKILL.md")
		if err != nil || !strings.Contains(text, "print(1)") || !strings.Contains(text, "not text, SHA-256 ") {
			t.Fatalf("%s: the review shows %q, %v", name, text, err)
		}
		hash := tool.HashBytes([]byte(text))
		if err := o.Trust.Record(root, []trust.File{{Path: ".agents/skills/a/SKILL.md", Kind: trust.KindSkill, Text: text, TextHash: hash, Hash: hash}}, false); err != nil {
			t.Fatal(err)
		}
		if _, err := skill.Load(root, o, "a/scripts/x.py"); err != nil {
			t.Fatalf("%s: reviewed, but %v", name, err)
		}
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		for _, load := range []string{"a", "a/scripts/x.py"} {
			if got, err := skill.Load(root, o, load); value.KindOf(err) != value.Denied {
				t.Errorf("%s has changed since the review, but %s gives %q, %v", name, load, got.Text, err)
			}
		}
	}
}
