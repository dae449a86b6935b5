package project_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestLoadSkillUntrusted checks that a model gets no text of a skill that nobody has
// reviewed, and that an untrusted skill does not hide one of the user's.
func TestLoadSkillUntrusted(t *testing.T) {
	t.Parallel()
	b := trusting(t)
	b.write(".cassidy/skills/theirs.md", "---\nname: Their Skill\ndescription: OBEY\n---\nOBEY one")
	b.write(".cassidy/skills/mine.md", "---\ndescription: OBEY\n---\nOBEY two")
	b.write(".cassidy/skills/other.md", "---\nname: called\ndescription: OBEY\n---\nOBEY three")
	b.write(".cassidy/skills/broken.md", "---\ndescription: d\nOBEY four: [\n---\n")
	home := func(name, text string) { b.writeAt(filepath.Join(b.home, "skills", name+".md"), text, b.long()) }
	home("mine", "---\ndescription: d\nrequires: [theirs, broken]\n---\n\nmy own\n")
	home("own", "---\nname: called\ndescription: d\n---\nmy other")

	for _, name := range []string{"theirs", "Their Skill", "other", "broken"} {
		_, err := skill.Load(b.root, &b.opts.Scope, name)
		want := value.Denied
		if name == "broken" {
			want = value.Invalid
		}
		e := value.ErrorOf(err, value.Failed)
		if err == nil || e.Kind != want || strings.Contains(e.Error()+e.Hint, "OBEY") || !strings.Contains(e.Hint, "cassidy") {
			t.Errorf("LoadSkill(%q) = %v (hint: %s), want that it is refused", name, err, e.Hint)
		}
	}
	for name, want := range map[string]string{"mine": "my own", "called": "my other"} {
		got, err := skill.Load(b.root, &b.opts.Scope, name)
		if err != nil || got.Text != want || got.Location != tool.Personal || strings.Contains(fmt.Sprint(got.Notes), "OBEY") {
			t.Errorf("LoadSkill(%q) = %q, %q, %v, want the user's own", name, got.Text, got.Notes, err)
		}
		if name == "mine" && (len(got.Notes) != 2 || !strings.Contains(got.Notes[0], "untrusted: nobody has reviewed it yet") || !strings.Contains(got.Notes[1], "the file is invalid")) {
			t.Errorf("LoadSkill(%q) notes %q, want one for each that is left out", name, got.Notes)
		}
	}
	if _, broken := skill.List(b.root, &b.opts.Scope); !strings.Contains(fmt.Sprint(broken), "a personal skill already has the name 'mine', and the project's file is not reviewed") {
		t.Errorf("broken = %v, want the skill that is left out for the user's own", broken)
	}

	b.trust(".cassidy/skills/theirs.md")
	got, err := skill.Load(b.root, &b.opts.Scope, "mine")
	if err != nil || fmt.Sprint(got.Parts) != "[theirs mine]" || !strings.Contains(got.Text, "OBEY one") {
		t.Errorf("after trust LoadSkill = %q, %v", got.Parts, err)
	}
	b.write(".cassidy/skills/theirs.md", "---\ndescription: d\n---\nOBEY otherwise")
	if got, err = skill.Load(b.root, &b.opts.Scope, "mine"); err != nil || strings.Contains(got.Text, "OBEY") {
		t.Errorf("after a change LoadSkill = %q, %v", got.Text, err)
	}
	if _, err = skill.Load(b.root, &b.opts.Scope, "theirs"); value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), "the file has changed since it was trusted") {
		t.Errorf("after a change LoadSkill = %v, want that it is refused", err)
	}
}
