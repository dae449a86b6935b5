package main

import (
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

func newSkillCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:      "new",
		Usage:     "write a new skill from a template",
		ArgsUsage: "NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "description", Usage: "what it is for and when to use it, in one `SENTENCE`"},
			&cli.StringFlag{Name: "template", Usage: "`TEMPLATE`: " + strings.Join(scripts.SkillTemplates(), ", "), Value: "basic"},
			&cli.StringFlag{Name: "location", Usage: "`WHERE`: project or personal", Value: "project"},
			&cli.StringFlag{Name: "requires", Usage: "the `SKILLS` that it builds on, as in a,b"},
			&cli.BoolFlag{Name: "manual", Usage: "it is used only when it is asked for; so is one of the template workflow"},
			&cli.BoolFlag{Name: "open", Usage: "open the file in $VISUAL or $EDITOR"},
		},
		Action: c.withHost(c.newSkill),
	}
}

func (c *command) newSkill(ctx *cli.Context, h *host.Host) error {
	args, err := exactly(ctx, "NAME")
	if err != nil {
		return err
	}
	n, err := skillFrom(ctx, args[0])
	if err != nil {
		return err
	}
	root, err := c.skillRoot(&n)
	if err != nil {
		return err
	}
	s, err := skill.Create(root, c.scope(), n)
	if err != nil {
		return err
	}
	file := s.Path
	if s.Location == tool.Project {
		file = filepath.Join(root, filepath.FromSlash(s.Path))
		if err := c.recordOwn(ctx.Context, h, root, s.Path); err != nil {
			c.Report(value.ErrorOf(err, value.Failed)) // the file is there: it can be reviewed like any other
		}
	}
	if c.JSON {
		err = c.PrintJSON(value.NewDict("name", s.Key, "path", file, "warnings", textList(s.Warnings)))
	} else {
		c.tellNewSkill(&s)
	}
	if err == nil && ctx.Bool("open") {
		err = c.edit(file)
	}
	return err
}

// skillFrom makes a new skill of what the flags say.
func skillFrom(ctx *cli.Context, name string) (skill.Draft, error) {
	template, location := ctx.String("template"), ctx.String("location")
	title, content, ok := scripts.SkillTemplate(template, name)
	if !ok {
		return skill.Draft{}, value.Errorf(value.Invalid, "there is no template %q%s", template, value.DidYouMean(template, scripts.SkillTemplates())).
			WithHint("templates are %s", strings.Join(scripts.SkillTemplates(), ", "))
	}
	if err := checkSkillLocation(location, "project", "personal"); err != nil {
		return skill.Draft{}, err
	}
	description := ctx.String("description")
	if !ctx.IsSet("description") {
		description = title + ": what it is for and when to use it"
	}
	return skill.Draft{
		Name: name, Title: title, Description: description, Content: content,
		Auto:     !ctx.Bool("manual") && template != "workflow",
		Requires: strings.FieldsFunc(ctx.String("requires"), func(r rune) bool { return r == ',' || r == ' ' }),
		Location: tool.Location(location),
	}, nil
}

// skillRoot returns the project that a new skill goes to, and makes it one if
// there is none, once nothing else speaks against the skill.
func (c *command) skillRoot(n *skill.Draft) (string, error) {
	root, err := c.root()
	if err != nil {
		return "", err
	}
	switch {
	case n.Location == tool.Project && c.home() == filepath.Join(root, folder.Name):
		n.Location = tool.Personal // here a project's folder is the user's own
	case n.Location == tool.Personal && c.home() == "":
		return "", value.Errorf(value.Invalid, "there is no place for personal skills").WithHint("set CASSIDY_HOME to a folder")
	}
	if err := n.Check(root, c.scope()); err != nil {
		return "", err
	}
	if _, ok := project.Find(root, c.home(), ""); !ok && n.Location == tool.Project {
		err = c.makeProject(root)
	}
	return root, err
}

func (c *command) tellNewSkill(s *skill.Skill) {
	c.Note("created %s", s.Path)
	c.Note("next: edit it, then  cassidy skill show %s", s.Key)
	if s.Auto {
		c.Note("      use it by its name in a task; a model may also choose it by its description")
	} else {
		c.Note("      use it by its name in a task")
	}
	for _, w := range s.Warnings {
		c.Note("%s", w)
	}
}
