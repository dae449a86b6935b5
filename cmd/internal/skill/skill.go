// Package skill has the commands that list, show and write skills.
package skill

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A command is one run of a command of cassidy skill.
type command struct{ *app.App }

// Command returns cassidy skill.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "skill", Usage: "list, show and write skills, which are instructions for models",
		Subcommands: []*cli.Command{listSkillsCommand(c), showSkillCommand(c), newSkillCommand(c)},
	}
}

func listSkillsCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the skills, and the errors in their files",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "location", Usage: "list only skills from `WHERE`: all, project or personal", Value: "all"},
		},
		Action: c.WithHost(c.listSkills),
	}
}

func (c *command) listSkills(ctx *cli.Context, _ *host.Host) error {
	location := ctx.String("location")
	if err := app.CheckWord("location", location, "all", "project", "personal"); err != nil {
		return err
	}
	root, err := c.Root()
	if err != nil {
		return err
	}
	skills, broken := skill.List(root, c.Scope())
	skills = slices.DeleteFunc(skills, func(s skill.Skill) bool { return location != "all" && location != string(s.Location) })
	if c.JSON {
		list := ui.Map(skills, func(s skill.Skill) value.Value { return skillDict(&s) })
		return c.PrintJSON(value.NewDict("skills", value.List(list), "errors", describe.ErrorList(broken)))
	}
	c.printSkills(skills)
	c.ReportAll(broken)
	c.skillFooter(skills)
	return nil
}

// stateOf returns the state of a skill.
func stateOf(s *skill.Skill) toolset.State {
	if !s.Trusted {
		return toolset.Untrusted
	}
	return toolset.Ready
}

// skillDict returns a skill as --json prints it.
func skillDict(s *skill.Skill) *value.Dict {
	d := value.NewDict(
		"name", s.Key,
		"called", s.Name,
		"title", s.Title,
		"description", s.Description,
		"auto_invoke", s.Auto,
		"requires", ui.Texts(s.Requires),
		"license", s.License,
		"compatibility", s.Compatibility,
		"allowed_tools", s.AllowedTools,
		"location", string(s.Location),
		"path", s.Path,
		"state", string(stateOf(s)),
		"warnings", ui.Texts(s.Warnings),
	)
	if !s.Trusted {
		d.Put("reason", s.Reason)
	}
	return d
}

// printSkills prints skills by location, in their order.
func (c *command) printSkills(skills []skill.Skill) {
	count := map[tool.Location]int{}
	for i := range skills {
		count[skills[i].Location]++
	}
	width := draw.NameWidth(ui.Map(skills, func(s skill.Skill) string { return s.Key }))
	p := draw.Page{Screen: c.ScreenOf(c.Out)}
	var group tool.Location
	for i := range skills {
		s := &skills[i]
		if s.Location != group {
			if group != "" {
				p.Line("")
			}
			group = s.Location
			p.Group(string(group), count[group])
		}
		mark := draw.None
		if !s.Trusted {
			mark = draw.Asks
		}
		p.List("  ", width, []draw.Entry{{Mark: mark, Name: ui.VisibleLine(s.Key), Text: ui.VisibleLine(s.Description), Remarks: ui.Map(c.skillMarks(s), ui.VisibleLine)}})
	}
	c.Print(p.String())
}

// skillMarks describes how a skill is used, and its problems.
func (c *command) skillMarks(s *skill.Skill) []string {
	how := "manual"
	if s.Auto {
		how = "auto"
	}
	marks := []string{how, string(s.Location)}
	if tool.Key(s.Name) != tool.Key(s.Key) && len(s.Warnings) == 0 { // which say so
		marks = append(marks, "called "+s.Name)
	}
	if s.Compatibility != "" {
		marks = append(marks, s.Compatibility)
	}
	if len(s.Requires) > 0 {
		marks = append(marks, "requires: "+strings.Join(s.Requires, ", "))
	}
	if !s.Trusted {
		marks = append(marks, string(toolset.Untrusted)+": "+c.Reason(s.Reason))
	}
	return append(marks, s.Warnings...)
}

// skillFooter prints what to type next.
func (c *command) skillFooter(skills []skill.Skill) {
	untrusted := 0
	for i := range skills {
		if !skills[i].Trusted {
			untrusted++
		}
	}
	switch {
	case len(skills) == 0:
		c.Note("No skills found; to create one: cassidy skill new NAME")
	case untrusted > 0:
		c.ReportUntrusted(untrusted, "skill")
	case ui.IsTerminal(c.Err):
		c.Note("to show the text that a model gets: cassidy skill show NAME")
	}
}

func showSkillCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show the text that a model gets for a skill, including the texts of required skills", ArgsUsage: "NAME",
		Action: c.WithHost(c.showSkill),
	}
}

func (c *command) showSkill(ctx *cli.Context, _ *host.Host) error {
	root, err := c.Root()
	if err != nil {
		return err
	}
	s, err := skill.Load(root, c.Scope(), ctx.Args().First())
	if err != nil {
		return err
	}
	for _, note := range s.Notes {
		c.Note("%s", note)
	}
	if c.JSON {
		d := skillDict(&s.Skill)
		d.Put("parts", ui.Texts(s.Parts))
		d.Put("files", ui.Texts(s.Files))
		d.Put("notes", ui.Texts(s.Notes))
		d.Put("text", s.Text)
		return c.PrintJSON(d)
	}
	c.Print(s.Text + "\n")
	return nil
}
