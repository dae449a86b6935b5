package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func skillCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:            "skill",
		Usage:           "list, show and write skills: instructions for kinds of tasks",
		Subcommands:     []*cli.Command{listSkillsCommand(c), showSkillCommand(c), newSkillCommand(c)},
		HideHelpCommand: true,
		Action:          func(ctx *cli.Context) error { return noCommand(ctx, "cassidy skill") },
	}
}

func listSkillsCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "list the skills, and the files that are not right",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "location", Usage: "only those from `WHERE`: all, project or personal", Value: "all"},
		},
		Action: c.withHost(c.listSkills),
	}
}

func (c *command) listSkills(ctx *cli.Context, _ *host.Host) error {
	if _, err := exactly(ctx); err != nil {
		return err
	}
	location := ctx.String("location")
	if err := checkSkillLocation(location, "all", "project", "personal"); err != nil {
		return err
	}
	root, err := c.root()
	if err != nil {
		return err
	}
	all, broken := skill.List(root, c.scope())
	var skills []skill.Skill
	for _, s := range all {
		if location == "all" || location == string(s.Location) {
			skills = append(skills, s)
		}
	}
	if c.JSON {
		list := value.List{}
		for i := range skills {
			list = append(list, skillDict(&skills[i]))
		}
		return c.PrintJSON(value.NewDict("skills", list, "errors", ui.ErrorList(broken)))
	}
	c.printSkills(skills)
	c.ReportAll(broken)
	c.skillFooter(skills)
	return nil
}

func checkSkillLocation(word string, known ...string) error {
	for _, k := range known {
		if word == k {
			return nil
		}
	}
	return value.Errorf(value.Invalid, "there is no location %q%s", word, value.DidYouMean(word, known)).
		WithHint("locations are %s", strings.Join(known, ", "))
}

// skillDict returns what --json tells of a skill.
func skillDict(s *skill.Skill) *value.Dict {
	d := value.NewDict(
		"name", s.Key,
		"called", s.Name,
		"title", s.Title,
		"description", s.Description,
		"auto_invoke", s.Auto,
		"requires", textList(s.Requires),
		"location", string(s.Location),
		"path", s.Path,
		"state", string(s.State),
		"warnings", textList(s.Warnings),
	)
	if s.Reason != "" {
		d.Put("reason", s.Reason)
	}
	return d
}

func textList(texts []string) value.List {
	list := value.List{}
	for _, text := range texts {
		list = append(list, text)
	}
	return list
}

// printSkills prints skills by location, in the order they come in.
func (c *command) printSkills(skills []skill.Skill) {
	count := map[tool.Location]int{}
	width := 0
	for i := range skills {
		count[skills[i].Location]++
		width = max(width, min(len(skills[i].Key), 28))
	}
	p := ui.Page{Paint: c.Paint()}
	var group tool.Location
	for i := range skills {
		s := &skills[i]
		if s.Location != group {
			if group != "" {
				p.Line("")
			}
			group = s.Location
			p.Line("%s", p.Paint(ui.Bold, fmt.Sprintf("%s (%d)", group, count[group])))
		}
		p.Line("  %s  %s", ui.Pad(ui.VisibleLine(s.Key), width), ui.Clip(ui.Printable(s.Description), ui.PageWidth-4-width))
		p.Line("  %s  %s", ui.Pad("", width), p.Paint(ui.Dim, ui.Printable("["+strings.Join(skillMarks(s), " · ")+"]")))
	}
	c.Print(p.String())
}

// skillMarks says how a skill is used, and what speaks against it.
func skillMarks(s *skill.Skill) []string {
	how := "manual"
	if s.Auto {
		how = "auto"
	}
	marks := []string{how, string(s.Location)}
	if tool.Key(s.Name) != tool.Key(s.Key) {
		marks = append(marks, "called "+s.Name)
	}
	if len(s.Requires) > 0 {
		marks = append(marks, "requires: "+strings.Join(s.Requires, ", "))
	}
	if s.State != tool.Ready {
		marks = append(marks, string(s.State)+": "+s.Reason)
	}
	return append(marks, s.Warnings...)
}

// skillFooter says what to type next.
func (c *command) skillFooter(skills []skill.Skill) {
	untrusted := 0
	for i := range skills {
		if skills[i].State == tool.Untrusted {
			untrusted++
		}
	}
	switch {
	case len(skills) == 0:
		c.Note("No skills found; cassidy skill new NAME makes one")
	case untrusted == 1:
		c.Note("1 skill is untrusted: review it with cassidy trust")
	case untrusted > 1:
		c.Note("%d skills are untrusted: review them with cassidy trust", untrusted)
	case ui.IsTerminal(c.Err):
		c.Note("cassidy skill show NAME shows one as a model is given it")
	}
}

func showSkillCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show a skill as a model is given it, with those that it requires",
		ArgsUsage: "NAME",
		Action:    c.withHost(c.showSkill),
	}
}

func (c *command) showSkill(ctx *cli.Context, _ *host.Host) error {
	args, err := exactly(ctx, "NAME")
	if err != nil {
		return err
	}
	root, err := c.root()
	if err != nil {
		return err
	}
	s, err := skill.Load(root, c.scope(), args[0])
	if err != nil {
		return err
	}
	for _, note := range s.Notes {
		c.Note("%s", note)
	}
	if c.JSON {
		d := skillDict(&s.Skill)
		d.Put("parts", textList(s.Parts))
		d.Put("notes", textList(s.Notes))
		d.Put("text", s.Text)
		return c.PrintJSON(d)
	}
	text := s.Text
	if ui.IsTerminal(c.Out) {
		text = ui.Printable(text)
	}
	c.Print(text + "\n")
	return nil
}
