package skill_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestSkillFiles(t *testing.T) {
	const file = ".cassidy/skills/a-skill.md"
	base := skill.Skill{Key: "a-skill", Name: "a-skill", Description: "d", Auto: true, Location: tool.Project, Path: file, Status: trust.Status{Trusted: true}}
	one := func(change func(*skill.Skill)) *skill.Skill {
		s := base
		change(&s)
		return &s
	}
	old := []string{"fields with bold names are deprecated: write them as YAML between two --- lines"}
	for _, c := range []struct {
		name, text string
		want       *skill.Skill
		err        string // "line: message"
	}{
		{"the least", "---\ndescription: d\n---\n", &base, ""},
		{"no line break at the end", "---\ndescription: d\n---", &base, ""},
		{"Windows", "\ufeff---\r\ndescription: d\r\n---\r\nBody", &base, ""},
		{
			"everything", "---\nname: A Skill\ntitle: T\ndescription: \"d: e\"\nauto_invoke: false\nrequires: [x, y-z]\nother: [1]\n---\n# H",
			one(func(s *skill.Skill) {
				s.Name, s.Title, s.Description, s.Auto, s.Requires = "A Skill", "T", "d: e", false, []string{"x", "y-z"}
			}), "",
		},
		{"requires as text", "---\ndescription: d\nrequires: x, y\n---\n", one(func(s *skill.Skill) { s.Requires = []string{"x", "y"} }), ""},
		{"nothing required", "---\ndescription: d\nrequires:\nauto_invoke:\nname:\n---\n", &base, ""},
		{"a long description", "---\ndescription: |\n  d\n  e\n---\n", one(func(s *skill.Skill) { s.Description = "d e" }), ""},
		{"control characters", "---\ndescription: \"d\\e[31m\"\n---\n", one(func(s *skill.Skill) { s.Description = `d\u001b[31m` }), ""},
		{
			"the old form", "**Name:** T\n**Description:** d\n**Auto-invoke:** No\n**Requires:** x, y\n\nBody",
			one(func(s *skill.Skill) {
				s.Title, s.Auto, s.Requires, s.Warnings = "T", false, []string{"x", "y"}, old
			}), "",
		},
		{"the old form below a heading", "# H\n\n**Description:** d\n", one(func(s *skill.Skill) { s.Warnings = old }), ""},
		{"no description", "---\nname: x\n---\n", nil, "0: the skill has no description"},
		{"a blank description", "---\ndescription: ' '\n---\n", nil, "0: the skill has no description"},
		{"no front matter", "Just text", nil, "1: No valid YAML frontmatter found: the file does not begin with ---"},
		{"an empty file", "", nil, "1: No valid YAML frontmatter found: the file does not begin with ---"},
		{"no end", "---\ndescription: d\n", nil, "1: No valid YAML frontmatter found: the second --- is missing"},
		{"no fields", "---\n- a\n---\n", nil, "1: No valid YAML frontmatter found: expected lines such as \"description: TEXT\""},
		{"broken YAML", "---\ndescription: d\n  x: [\n---\n", nil, "3: "},
		{"a number", "---\ndescription: 3\n---\n", nil, "0: 'description' should be a string but got integer"},
		{"a word for a truth", "---\ndescription: d\nauto_invoke: \"no\"\n---\n", nil, "0: 'auto_invoke' should be true or false but got string"},
		{"a number required", "---\ndescription: d\nrequires: [1]\n---\n", nil, "0: 'requires' should be a list of skills but contains integer"},
		{"an object required", "---\ndescription: d\nrequires: {a: 1}\n---\n", nil, "0: 'requires' should be a list of skills but got object"},
		{"an alias", "---\nx: &a [1]\nname: *a\ndescription: d\n---\n", nil, "3: "},
		{
			"a description without quotes", "---\nname: x\ndescription: Use it: when # it's *asked*\n---\n",
			one(func(s *skill.Skill) {
				s.Name, s.Description = "x", "Use it: when # it's *asked*"
				s.Warnings = []string{"the description has characters that YAML reserves: put it in quotes"}
			}), "",
		},
		{
			"the standard", "---\nname: a-skill\ndescription: d\nlicense: MIT\ncompatibility: needs git\nallowed-tools: Read Bash(git:*)\nmetadata:\n  author: x\n  cassidy-title: T\n  cassidy-auto-invoke: \"false\"\n  cassidy-requires: x y-z\n---\n",
			one(func(s *skill.Skill) {
				s.Title, s.License, s.Compatibility, s.AllowedTools, s.Auto, s.Requires = "T", "MIT", "needs git", "Read Bash(git:*)", false, []string{"x", "y-z"}
			}), "",
		},
		{"the fields of Claude Code", "---\ndescription: d\ndisable-model-invocation: true\nargument-hint: [x]\nmodel: opus\n---\n", one(func(s *skill.Skill) { s.Auto = false }), ""},
		{"a list of allowed tools", "---\ndescription: d\nallowed-tools: [Read, Grep]\n---\n", one(func(s *skill.Skill) { s.AllowedTools = `["Read","Grep"]` }), ""},
		{"metadata that is no object", "---\ndescription: d\nmetadata: x\n---\n", &base, ""},
		{"no UTF-8", "---\ndescription: \xff\n---\n", nil, "0: the file is not UTF-8 text"},
		{"far too long", "---\ndescription: d\n---\n" + strings.Repeat("x", 256<<10), nil, "0: the file is longer than 256 KB"},
	} {
		root := t.TempDir()
		put(t, root, file, c.text)
		put(t, root, ".cassidy/skills/other.md", "---\ndescription: always there\n---\n")
		skills, broken := skill.List(root, mine(""))
		if n := len(skills); n == 0 || skills[n-1].Key != "other" || skills[n-1].Description != "always there" {
			t.Errorf("%s: the other skill is lost: %v", c.name, skills)
			continue
		}
		var got *skill.Skill
		if len(skills) == 2 {
			got = &skills[0]
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		switch {
		case c.err == "" && len(broken) > 0, c.err != "" && len(broken) != 1:
			t.Errorf("%s: broken is %v, want %q", c.name, broken, c.err)
		case c.err != "":
			e := broken[0]
			if text := fmt.Sprintf("%d: %s", e.Pos.Line, e.Message()); !strings.HasPrefix(text, c.err) || e.Pos.File != file {
				t.Errorf("%s: broken is %s %q, want %q", c.name, e.Pos.File, text, c.err)
			}
		}
	}
}

// TestSkillPlaces checks which files are skills, and in which order they come.
func TestSkillPlaces(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	text := "---\ndescription: d\n---\n"
	put(t, root, ".cassidy/skills/b.md", text)
	put(t, root, ".cassidy/skills/a.md", text)
	put(t, home, "skills/c.md", text)
	for _, not := range []string{"README.md", ".x.md", "x.txt", "folder.md/y.md", "deeper/z.md"} {
		put(t, root, ".cassidy/skills/"+not, text)
	}
	got := ""
	skills, broken := skill.List(root, mine(home))
	for _, s := range skills {
		got += fmt.Sprintf("%s %s; ", s.Location, s.Key)
	}
	if want := "project a; project b; personal c; "; got != want || len(broken) != 2 || !strings.Contains(fmt.Sprint(broken), ".cassidy/skills/deeper/SKILL.md: the folder has no file SKILL.md") {
		t.Errorf("Skills = %q, %v, want %q, and that two folders are no skills", got, broken, want)
	}
	for _, c := range []struct{ root, home string }{{"", ""}, {t.TempDir(), t.TempDir()}, {"", filepath.Join(home, "gone")}} {
		if skills, broken := skill.List(c.root, mine(c.home)); len(skills)+len(broken) > 0 {
			t.Errorf("Skills(%q, %q) = %v, %v, want none", c.root, c.home, skills, broken)
		}
	}
}

// TestSkillTwins checks that no skill silently replaces another.
func TestSkillTwins(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	text := "---\ndescription: d\n---\n"
	put(t, root, ".cassidy/skills/my-skill.md", text)
	put(t, home, "skills/my_skill.md", text+"other")
	put(t, home, "skills/fine.md", text)
	skills, broken := skill.List(root, mine(home))
	if len(skills) != 1 || skills[0].Key != "fine" {
		t.Errorf("Skills = %v, want only the one that has a name of its own", skills)
	}
	if len(broken) != 2 || !strings.Contains(broken[0].Error(), filepath.ToSlash(home)) || broken[0].Hint == "" {
		t.Errorf("broken = %v, want both of the one name", broken)
	}
}

func draftOf(name string, more ...value.Value) *value.Dict {
	d := value.NewDict("name", name, "title", "T", "description", "d", "content", "c")
	for i := 0; i < len(more); i += 2 {
		d.Put(more[i].(string), more[i+1])
	}
	return d
}

// TestSkillCreate checks that a created skill is read back unchanged, with any text.
func TestSkillCreate(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		root, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		odd := rapid.SampledFrom([]string{"", "a", "'", `"`, `\`, "\n---\n", "# ", ": ", "{", "[", "*a", "&a", "!!int 3", "true", "null", "~", "\u2028", "\ufeff", "\x00", "\x1b", "\u0085", "\U0001f600", "\uffff", "- "})
		text := rapid.Custom(func(r *rapid.T) string {
			return "x" + rapid.String().Draw(r, "words") + odd.Draw(r, "odd") + rapid.String().Draw(r, "more")
		})
		title, description, content := text.Draw(r, "title"), odd.Draw(r, "begin")+text.Draw(r, "description"), text.Draw(r, "content")
		auto := rapid.Bool().Draw(r, "auto")
		args := value.NewDict("name", "n", "title", title, "description", description, "content", content, "auto_invoke", auto, "requires", value.List{"other", "null", "1"})
		if _, err := create(t.Context(), root, "", args); err != nil {
			r.Fatalf("skill.create: %v", err)
		}
		skills, broken := skill.List(root, mine(""))
		if len(broken) > 0 || len(skills) != 1 {
			r.Fatalf("Skills = %v, %v, want the one that was created", skills, broken)
		}
		want := skill.Skill{
			Key: "n", Name: "n", Title: shown(title), Description: shown(description), Auto: auto,
			Requires: []string{"other", "null", "1"}, Location: tool.Project, Path: ".cassidy/skills/n/SKILL.md", Status: trust.Status{Trusted: true},
		}
		if len([]rune(want.Description)) > 1024 {
			want.Warnings = skills[0].Warnings
		}
		if diff := cmp.Diff(want, skills[0]); diff != "" {
			r.Fatalf("read back (-want +got):\n%s", diff)
		}
	})
}

// shown is a text as it is shown on one line.
func shown(text string) string {
	return strings.Join(strings.Fields(unprinted(text)), " ")
}

func TestSkillRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		args *value.Dict
		kind value.Kind
		want string
	}{
		{"capitals", draftOf("Make-Release"), value.Invalid, "Skill name must be kebab-case"},
		{"a path", draftOf("../x"), value.Invalid, "Skill name must be kebab-case"},
		{"an absolute path", draftOf("/tmp/x"), value.Invalid, "Skill name must be kebab-case"},
		{"underscores", draftOf("a_b"), value.Invalid, "Skill name must be kebab-case"},
		{"hyphens alone", draftOf("--"), value.Invalid, "Skill name must be kebab-case"},
		{"a hyphen first", draftOf("-rf"), value.Invalid, "Skill name must be kebab-case"},
		{"a line break", draftOf("a\n"), value.Invalid, "Skill name must be kebab-case"},
		{"nothing", draftOf(""), value.Invalid, "Skill name must be kebab-case"},
		{"a long name", draftOf(strings.Repeat("a", 65)), value.Invalid, "Skill name must be kebab-case"},
		{"letters of others", draftOf("größe"), value.Invalid, "Skill name must be kebab-case"},
		{"a required path", draftOf("a", "requires", value.List{"../x"}), value.Invalid, "Skill name must be kebab-case"},
		{"itself", draftOf("a", "requires", value.List{"a"}), value.Invalid, "cannot require itself"},
		{"no title", draftOf("a", "title", " \n"), value.Invalid, "the title of the skill is empty"},
		{"no description", draftOf("a", "description", " \n"), value.Invalid, "the description of the skill is empty"},
		{"no content", draftOf("a", "content", "\n"), value.Invalid, "the content of the skill is empty"},
		{"front matter in the content", draftOf("a", "content", "\n---\nname: b\n---\n"), value.Invalid, "the content contains front matter"},
		{"much content", draftOf("a", "content", strings.Repeat("x", 300<<10)), value.Limit, "the skill is larger than 256 KB"},
		{"a long description", draftOf("a", "description", strings.Repeat("\u200b", 9000)), value.Limit, "title and description are longer than 8 KB"},
		{"another location", draftOf("a", "location", "elsewhere"), value.Invalid, "location"},
		{"nobody's", draftOf("a", "location", "personal"), value.Invalid, "no folder is configured for personal skills"},
		{"a twin", draftOf("there"), value.Failed, "Skill already exists: .cassidy/skills/there.md"},
		{"a broken twin", draftOf("broken"), value.Failed, "Skill already exists: .cassidy/skills/broken.md"},
		{"a twin but for the hyphen", draftOf("a-b"), value.Failed, "Skill already exists: .cassidy/skills/a_b.md"},
	} {
		root := t.TempDir()
		put(t, root, ".cassidy/skills/there.md", "---\ndescription: d\n---\n")
		put(t, root, ".cassidy/skills/a_b.md", "---\ndescription: d\n---\n")
		put(t, root, ".cassidy/skills/broken.md", "broken")
		_, err := create(t.Context(), root, "", c.args)
		if err == nil || value.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		entries, _ := os.ReadDir(filepath.Join(root, ".cassidy", "skills"))
		if len(entries) != 3 {
			t.Errorf("%s: the folder holds %v", c.name, entries)
		}
	}
}

// TestSkillPersonal checks where personal skills are written, and that a project cannot
// have one of the same name.
func TestSkillPersonal(t *testing.T) {
	root, home := t.TempDir(), filepath.Join(t.TempDir(), "new", "home")
	out, err := create(t.Context(), root, home, draftOf("a", "location", "personal"))
	file := filepath.Join(home, "skills", "a", "SKILL.md")
	if err != nil || !strings.HasPrefix(fmt.Sprint(out.Value), "Created skill: "+filepath.ToSlash(file)+"\n\nNext steps:\n") {
		t.Fatalf("skill.create = %v, %v", out.Value, err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	if _, err := create(t.Context(), root, home, draftOf("a")); err == nil || !strings.Contains(err.Error(), "Skill already exists: "+filepath.ToSlash(file)) {
		t.Errorf("skill.create of the same name in the project: %v", err)
	}
	if _, err := create(t.Context(), "", "", draftOf("a")); value.KindOf(err) != value.Invalid {
		t.Errorf("skill.create without any folder: %v, want that it is invalid", err)
	}
}

// TestSkillRace checks that one of many concurrent creations of a skill succeeds.
func TestSkillRace(t *testing.T) {
	root := t.TempDir()
	var wait sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wait.Go(func() {
			_, errs[i] = create(t.Context(), root, "", draftOf("a", "content", strings.Repeat(fmt.Sprint(i), 1000)))
		})
	}
	wait.Wait()
	created := 0
	for _, err := range errs {
		if err == nil {
			created++
		} else if !strings.Contains(err.Error(), "Skill already exists") {
			t.Error(err)
		}
	}
	if created != 1 {
		t.Errorf("%d of %d created the skill, want 1", created, len(errs))
	}
}
