package prompt

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
)

// A Skill describes a skill to a model that has not loaded it.
type Skill struct {
	Name        string   // under which it is loaded
	Description string   // its purpose, and when to use it
	Requires    []string // names of other skills
}

const (
	skillOpen  = "<USE_SKILL>"
	skillClose = "</USE_SKILL>"
	maxSkill   = 100 // bytes of a skill's name
	maxFile    = 500 // bytes of the name of one of its files
)

// skillSection lists the skills that a model may load by itself.
func (p *Prompt) skillSection() string {
	if len(p.Skills) == 0 {
		return ""
	}
	lines := make([]string, len(p.Skills))
	for i, s := range p.Skills {
		lines[i] = "- **" + prose.OneLine(s.Name) + "**: " + prose.OneLine(s.Description)
		if len(s.Requires) > 0 {
			lines[i] += " (requires: " + prose.OneLine(strings.Join(s.Requires, ", ")) + ")"
		}
	}
	return say("skills", "skills", strings.Join(lines, "\n"))
}

// ReadSkill returns the name of the first skill, or of its file, that a reply asks for with
// <USE_SKILL>name</USE_SKILL> or <USE_SKILL>name/file</USE_SKILL>, at the beginning of a line and outside of code. It returns false
// for a reply that also calls a tool or ends the task, or seems to.
func ReadSkill(reply string) (name string, ok bool) {
	if !strings.Contains(reply, skillOpen) || strings.Contains(reply, "<TOOL_DECISION>") || strings.Contains(reply, `"tool_decision"`) {
		return "", false
	}
	var f codeLines
	for line := range strings.Lines(reply) {
		if f.step(line) {
			continue
		}
		if endsTask(line) {
			return "", false
		}
		if name == "" {
			name = skillTag(line)
		}
	}
	return name, name != ""
}

// skillTag returns the name in a line that begins with the tag of a skill.
func skillTag(line string) string {
	rest, ok := strings.CutPrefix(line, skillOpen)
	if !ok {
		return ""
	}
	name, _, ok := strings.Cut(rest, skillClose)
	name = strings.TrimSpace(name)
	skill, file, isFile := strings.Cut(name, "/")
	if !ok || skill == "" || len(skill) > maxSkill || strings.IndexFunc(skill, noSkillName) >= 0 || isFile && file == "" || len(file) > maxFile {
		return ""
	}
	return name
}

// noSkillName reports whether a character is invalid in the name of a skill.
func noSkillName(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
}

// endsTask reports whether a line begins with TASK COMPLETE.
func endsTask(line string) bool {
	line = strings.TrimLeft(line, " ")
	const mark = "TASK COMPLETE"
	return len(line) >= len(mark) && (strings.EqualFold(line[:len(mark)], mark) || strings.EqualFold(line[:len(mark)], "TASK_COMPLETE"))
}
