package scripts

import (
	"slices"
	"strings"
)

// SkillTemplates returns the names of the templates for new skills.
func SkillTemplates() []string { return []string{"basic", "analysis", "workflow"} }

// SkillTemplate returns the title and the instructions of a new skill with a name, in
// Markdown and without front matter. It reports false if there is no such template.
func SkillTemplate(template, name string) (heading, text string, ok bool) {
	if !slices.Contains(SkillTemplates(), template) {
		return "", "", false
	}
	data, err := files.ReadFile("templates/skill_" + template + ".md")
	if err != nil {
		panic("scripts: " + err.Error()) // the table above and the folder differ
	}
	heading = title(strings.ReplaceAll(name, "-", "_"))
	return heading, strings.NewReplacer("my-skill", name, "My Skill", heading).Replace(string(data)), true
}
