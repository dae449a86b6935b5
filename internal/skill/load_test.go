package skill_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// skillFile is the text of a skill's file with required skills.
func skillFile(body string, requires ...string) string {
	return "---\ndescription: d\nrequires: [" + strings.Join(requires, ", ") + "]\n---\n\n" + body + "\n"
}

// TestLoadSkill checks the order in which required skills are loaded, and the notes on
// those that are not.
func TestLoadSkill(t *testing.T) {
	old := "'old': fields with bold names are deprecated: write them as YAML between two --- lines"
	for _, c := range []struct {
		name  string
		files map[string]string // of the project's skills
		home  map[string]string
		load  string
		want  string // the parts
		notes []string
	}{
		{name: "alone", files: map[string]string{"a": skillFile("A")}, load: "a", want: "a"},
		{name: "another spelling", files: map[string]string{"a-b": skillFile("A")}, load: "a_b", want: "a-b"},
		{name: "by its name", files: map[string]string{"a-b": "---\nname: Some Skill\ndescription: d\n---\nA"}, load: " Some  Skill", want: "a-b"},
		{
			name: "the key before the name", load: "a", want: "a",
			files: map[string]string{"a": skillFile("A"), "b": "---\nname: a\ndescription: d\n---\nB"},
		},
		{
			name: "depth first, each once", load: "top", want: "base left right top",
			files: map[string]string{"top": skillFile("T", "left", "right"), "left": skillFile("L", "base"), "right": skillFile("R", "base", "left"), "base": skillFile("B")},
		},
		{
			name: "from the user's own", load: "top", want: "mine top",
			files: map[string]string{"top": skillFile("T", "mine")}, home: map[string]string{"mine": skillFile("M")},
		},
		{
			name: "a circle", load: "a", want: "c b a",
			files: map[string]string{"a": skillFile("A", "b"), "b": skillFile("B", "c"), "c": skillFile("C", "a", "b", "c")},
			notes: []string{
				"'c': the required skill 'a' is omitted: the skill requires itself, directly or indirectly",
				"'c': the required skill 'b' is omitted: the skill requires itself, directly or indirectly",
				"'c': the required skill 'c' is omitted: the skill requires itself, directly or indirectly",
			},
		},
		{
			name: "missing", load: "a", want: "there a",
			files: map[string]string{"a": skillFile("A", "ther", "there"), "there": skillFile("T")},
			notes: []string{`'a': the required skill 'ther' is omitted: Unknown skill: ther; did you mean "there"?`},
		},
		{
			name: "broken", load: "a", want: "a",
			files: map[string]string{"a": skillFile("A", "b"), "b": "---\nname: b\n---\n"},
			notes: []string{"'a': the required skill 'b' is omitted: the skill has no description"},
		},
		{
			name: "twins", load: "a", want: "a",
			files: map[string]string{"a": skillFile("A", "x-y"), "x-y": skillFile("X")}, home: map[string]string{"x_y": skillFile("Y")},
			notes: []string{"'a': the required skill 'x-y' is omitted: the skill 'x-y' is also in "},
		},
		{
			name: "the old form", load: "a", want: "old a",
			files: map[string]string{"a": skillFile("A", "old"), "old": "**Description:** d\n\nOLD"},
			notes: []string{old},
		},
		{name: "no instructions", files: map[string]string{"a": skillFile("")}, load: "a", want: "a", notes: []string{"'a': the file has no instructions"}},
	} {
		root, home := t.TempDir(), t.TempDir()
		for name, text := range c.files {
			put(t, root, ".cassidy/skills/"+name+".md", text)
		}
		for name, text := range c.home {
			put(t, home, "skills/"+name+".md", text)
		}
		got, err := skill.Load(root, mine(home), c.load)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if parts := strings.Join(got.Parts, " "); parts != c.want || got.Key != got.Parts[len(got.Parts)-1] {
			t.Errorf("%s: %s is loaded with %q, want %q", c.name, got.Key, parts, c.want)
		}
		if len(got.Notes) != len(c.notes) {
			t.Errorf("%s: the notes are %q, want %q", c.name, got.Notes, c.notes)
			continue
		}
		for i, want := range c.notes {
			if !strings.HasPrefix(got.Notes[i], want) {
				t.Errorf("%s: note %d is %q, want %q", c.name, i, got.Notes[i], want)
			}
		}
	}
}

// TestLoadSkillText checks the text for a model.
func TestLoadSkillText(t *testing.T) {
	root := t.TempDir()
	put(t, root, ".cassidy/skills/main.md", "\ufeff---\r\ndescription: d\r\nrequires: [dep]\r\n--- \r\n\r\n  Main\x1b[31m.\r\n---\r\nend\r\n\r\n")
	put(t, root, ".cassidy/skills/dep.md", skillFile("# Dep\n\nBody."))
	put(t, root, ".cassidy/skills/bold.md", "**Name:** Bold\n**Description:** d\n\nText.\n")
	rule := strings.Repeat("=", 70)
	for name, want := range map[string]string{
		"dep":  "# Dep\n\nBody.",
		"bold": "**Name:** Bold\n**Description:** d\n\nText.",
		"main": "## Referenced Skills\n\n'main' builds on these skills:\n\n" +
			rule + "\nDEPENDENCY: dep\n" + rule + "\n\n# Dep\n\nBody.\n\n" +
			rule + "\nMAIN SKILL: main\n" + rule + "\n\n  Main\\u001b[31m.\n---\nend",
	} {
		got, err := skill.Load(root, mine(""), name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Text); diff != "" {
			t.Errorf("the text of %s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLoadSkillRefused(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	put(t, root, ".cassidy/skills/make-release.md", skillFile("A"))
	put(t, root, ".cassidy/skills/one.md", "---\nname: same\ndescription: d\n---\n")
	put(t, root, ".cassidy/skills/two.md", "---\nname: same\ndescription: d\n---\n")
	put(t, root, ".cassidy/skills/broken.md", "---\ndescription: [\n---\n")
	put(t, root, ".cassidy/skills/twin.md", skillFile("A"))
	put(t, home, "skills/twin.md", skillFile("B"))
	for _, c := range []struct {
		name string
		kind value.Kind
		want string
		hint string
	}{
		{"make-relaese", value.NotFound, `Unknown skill: make-relaese; did you mean "make-release"?`, `use one of: "make-release", "one", "two"`},
		{"", value.NotFound, "Unknown skill: ", `use one of: "make-release", "one", "two"`},
		{"../skills/one", value.NotFound, "Unknown skill: ..", "use one of"},
		{"x\x1b[31m\n" + strings.Repeat("y", 999), value.NotFound, "Unknown skill: x\\u001b[31m yyy", "use one of"},
		{"same", value.Invalid, "two skills have the name 'same': one, two", "as in one"},
		{"broken", value.Invalid, ".cassidy/skills/broken.md:", ""},
		{"twin", value.Invalid, "the skill 'twin' is also in ", "rename one"},
	} {
		_, err := skill.Load(root, mine(home), c.name)
		if err == nil || value.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 200+len(home) {
			t.Errorf("LoadSkill(%.20q) = %v, want %q", c.name, err, c.want)
			continue
		}
		if hint := value.ErrorOf(err, value.Failed).Hint; !strings.Contains(hint, c.hint) {
			t.Errorf("LoadSkill(%.20q) hints %q, want %q", c.name, hint, c.hint)
		}
	}
	_, err := skill.Load("", mine(""), "a")
	if value.KindOf(err) != value.NotFound || !strings.Contains(value.ErrorOf(err, value.Failed).Hint, "cassidy skill new") {
		t.Errorf("LoadSkill where there is nothing = %v", err)
	}
}

// TestLoadSkillBounds checks the limits of skills and notes.
func TestLoadSkillBounds(t *testing.T) {
	root := t.TempDir()
	var all, gone []string
	for i := range 100 {
		name := fmt.Sprintf("s%02d", i)
		all = append(all, name)
		gone = append(gone, "gone"+name)
		put(t, root, ".cassidy/skills/"+name+".md", skillFile(name, fmt.Sprintf("s%02d", i+1)))
	}
	for i := range 8 {
		put(t, root, fmt.Sprintf(".cassidy/skills/big%d.md", i), skillFile(strings.Repeat("x", 200_000)))
	}
	put(t, root, ".cassidy/skills/many.md", skillFile("many", all...))
	put(t, root, ".cassidy/skills/large.md", skillFile("large", "big0", "big1", "big2", "big3", "big4", "big5", "s99"))
	put(t, root, ".cassidy/skills/missing.md", skillFile("missing", gone...))
	for _, c := range []struct {
		name  string
		parts int
		note  string
	}{
		{"s00", 64, "the skill requires more than 64 skills"},
		{"many", 64, "'many': the required skill 's99' is omitted: the skill requires more than 64 skills"},
		{"large", 7, "'big5' is omitted: the skill and its required skills are larger than 1024 KB"},
		{"missing", 1, "more problems are omitted"},
	} {
		got, err := skill.Load(root, mine(""), c.name)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Parts) != c.parts || len(got.Text) > 2<<20 || len(got.Notes) > 51 || !strings.Contains(fmt.Sprint(got.Notes), c.note) {
			t.Errorf("%s: %d parts, %d bytes, notes %q; want %d parts and %q", c.name, len(got.Parts), len(got.Text), got.Notes, c.parts, c.note)
		}
	}
}

// TestSkillReadBack checks that a created skill, in either place, is loaded unchanged,
// with any text.
func TestSkillReadBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		root, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		odd := rapid.SampledFrom([]string{
			"", "\n---\n", "---\n", "---", "\r\n---\r\n", "```\n---\n```", "\n...\n", ": ", `"`, "'", `\`, "# ", "## h\n", "\ttab",
			"\x00", "\x1b[31m", "\u2028", "\ufeff", "\U0001f600", "é", "**Description:** other\n", strings.Repeat("=", 70) + "\nMAIN SKILL: x\n",
		})
		content := "x" + odd.Draw(r, "a") + rapid.String().Draw(r, "words") + odd.Draw(r, "b") + rapid.String().Draw(r, "more") + odd.Draw(r, "c")
		if rapid.Bool().Draw(r, "headed") {
			content = "# Its Own\n" + content
		}
		location := rapid.SampledFrom([]tool.Location{tool.Project, tool.Personal}).Draw(r, "location")
		o := mine(filepath.Join(root, "home"))
		made := skill.Draft{Name: "n", Title: "T" + odd.Draw(r, "title"), Description: odd.Draw(r, "description") + "d", Content: content, Location: location}
		created, err := skill.Create(root, o, made)
		if err != nil {
			r.Fatalf("CreateSkill: %v", err)
		}
		got, err := skill.Load(root, o, "n")
		if err != nil {
			r.Fatalf("LoadSkill: %v", err)
		}
		want := unprinted(strings.TrimSpace(strings.ReplaceAll(content, "\r\n", "\n")))
		if !strings.HasPrefix(want, "# ") {
			want = "# " + shown(made.Title) + "\n\n" + want
		}
		if diff := cmp.Diff(strings.TrimRight(want, " \t\n"), got.Text); diff != "" {
			r.Fatalf("read back (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(created, got.Skill); diff != "" || got.Location != location || len(got.Notes) > 0 {
			r.Fatalf("created, and read back with the notes %q (-want +got):\n%s", got.Notes, diff)
		}
	})
}

// unprinted is a text with escapes for control characters.
func unprinted(text string) string { return value.Clean(text, math.MaxInt) }

// TestSkillRequiresTooMany checks that no file is written that could not be read.
func TestSkillRequiresTooMany(t *testing.T) {
	root := t.TempDir()
	n := skill.Draft{Name: "n", Title: "T", Description: "d", Content: "c", Location: tool.Project}
	for range 2000 {
		n.Requires = append(n.Requires, strings.Repeat("a", 64))
	}
	if _, err := skill.Create(root, mine(""), n); value.KindOf(err) != value.Limit {
		t.Errorf("CreateSkill = %v, want that it is too long", err)
	}
	n.Requires, n.Content = nil, "c\xff"
	if err := n.Check(root, mine("")); value.KindOf(err) != value.Invalid {
		t.Errorf("Check = %v, want that it is no text", err)
	}
	if _, err := os.Stat(filepath.Join(root, ".cassidy")); err == nil {
		t.Error("a folder was made for a skill that was refused")
	}
}

func FuzzSkillFile(f *testing.F) {
	f.Add(skillFile("body", "a", "b"))
	f.Add("---\ndescription: \"d\"\nrequires: \"a, b\"\nauto_invoke: false\n---\n---\n")
	f.Add("**Description:** d\n**Requires:** a\n\nBody")
	f.Add("---\ndescription: |\n  d\n---x\n---")
	root := f.TempDir()
	file := filepath.Join(root, ".cassidy", "skills", "s.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := skill.Load(root, mine(""), "s")
		if err != nil {
			return
		}
		if got.Description == "" || strings.ContainsAny(got.Text+got.Description+strings.Join(got.Notes, "")+strings.Join(got.Requires, ""), "\x00\x1b\r") {
			t.Errorf("LoadSkill of %q = %+v", text, got)
		}
	})
}
