package scripts_test

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/scripts"
)

// TestSkillTemplates checks that each template is a valid skill with its name.
func TestSkillTemplates(t *testing.T) {
	for _, template := range scripts.SkillTemplates() {
		title, text, ok := scripts.SkillTemplate(template, "make-release2")
		if !ok || title != "Make Release2" || !strings.HasPrefix(text, "# Make Release2\n") {
			t.Fatalf("SkillTemplate(%q) = %q, %v, %q", template, title, ok, text)
		}
		for _, want := range []string{`"` + template + `"`, "cassidy skill show make-release2", "\n## "} {
			if !strings.Contains(text, want) {
				t.Errorf("template %s does not say %q", template, want)
			}
		}
		for _, left := range []string{"my-skill", "My Skill", "\t"} {
			if strings.Contains(text, left) {
				t.Errorf("template %s still says %q", template, left)
			}
		}
		root, o := t.TempDir(), &trust.Scope{TrustOnce: true}
		made := skill.Draft{Name: "make-release2", Title: title, Description: "d", Content: text, Location: tool.Project}
		if _, err := skill.Create(root, o, made); err != nil {
			t.Fatalf("template %s: %v", template, err)
		}
		loaded, err := skill.Load(root, o, "make_release2")
		if err != nil || loaded.Text != strings.TrimSpace(text) || len(loaded.Notes) > 0 {
			t.Errorf("template %s is loaded as %q, with %q, %v", template, loaded.Text, loaded.Notes, err)
		}
	}
}

func TestNoSkillTemplate(t *testing.T) {
	for _, template := range []string{"", "Basic", "../config", "skill_basic", "file"} {
		if _, text, ok := scripts.SkillTemplate(template, "x"); ok || text != "" {
			t.Errorf("SkillTemplate(%q) = %q, %v, want none", template, text, ok)
		}
	}
	for _, name := range []string{"", "-", "--", "../x"} { // no name of a skill, and no reason to stop
		if _, _, ok := scripts.SkillTemplate("basic", name); !ok {
			t.Errorf("SkillTemplate of the name %q fails", name)
		}
	}
}
