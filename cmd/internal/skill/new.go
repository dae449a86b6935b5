package skill

import (
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/scaffold"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

func newSkillCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "new", Usage: "write a new skill from a template", ArgsUsage: "NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "description", Usage: "state the purpose of the skill and when to use it, in one `SENTENCE`"},
			&cli.StringFlag{Name: "template", Usage: "start from `TEMPLATE`: " + strings.Join(scripts.SkillTemplates(), ", "), Value: "basic"},
			&cli.StringFlag{Name: "location", Usage: "create the skill in `WHERE`: project, or personal for all your projects", Value: "project"},
			&cli.StringFlag{Name: "requires", Usage: "load other skills together with this skill: `SKILLS` is a comma-separated list of names"},
			&cli.BoolFlag{Name: "manual", Usage: "prevent models from selecting the skill by themselves; --template workflow implies --manual"},
			&cli.BoolFlag{Name: "open", Usage: "open the file in $VISUAL or $EDITOR"},
		},
		Action: c.WithHost(c.newSkill),
	}
}

func (c *command) newSkill(ctx *cli.Context, h *host.Host) error {
	n, err := skillFrom(ctx)
	if err != nil {
		return err
	}
	root, err := c.skillRoot(&n)
	if err != nil {
		return err
	}
	s, err := skill.Create(root, c.Scope(), n)
	if err != nil {
		return err
	}
	file := s.Path
	if s.Location == tool.Project {
		file = filepath.Join(root, filepath.FromSlash(s.Path))
		if err := c.RecordOwn(ctx.Context, h, root, s.Path); err != nil {
			c.Report(value.ErrorOf(err, value.Failed)) // the file exists, and can be reviewed later
		}
	}
	if c.JSON {
		err = c.PrintJSON(value.NewDict("name", s.Key, "path", file, "warnings", ui.Texts(s.Warnings)))
	} else {
		c.reportNew(&s)
	}
	if err == nil && ctx.Bool("open") {
		err = c.Edit(file)
	}
	return err
}

// skillFrom returns the skill that the arguments and flags describe.
func skillFrom(ctx *cli.Context) (skill.Draft, error) {
	name, template, location := ctx.Args().First(), ctx.String("template"), ctx.String("location")
	if err := app.CheckWord("template", template, scripts.SkillTemplates()...); err != nil {
		return skill.Draft{}, err
	}
	if err := app.CheckWord("location", location, "project", "personal"); err != nil {
		return skill.Draft{}, err
	}
	title, content, _ := scripts.SkillTemplate(template, name)
	description := ctx.String("description")
	if !ctx.IsSet("description") {
		description = title + ": what the skill is for and when to use it"
	}
	return skill.Draft{
		Name: name, Title: title, Description: description, Content: content,
		Auto:     !ctx.Bool("manual") && template != "workflow",
		Requires: strings.FieldsFunc(ctx.String("requires"), func(r rune) bool { return r == ',' || r == ' ' }),
		Location: tool.Location(location),
	}, nil
}

// skillRoot checks a new skill, and returns the project that it belongs to. It makes the
// working folder a project if there is none.
func (c *command) skillRoot(n *skill.Draft) (string, error) {
	root, err := c.Root()
	if err != nil {
		return "", err
	}
	switch {
	case n.Location == tool.Project && c.Home() == filepath.Join(root, folder.Name):
		n.Location = tool.Personal // this .cassidy folder is the user's own
	case n.Location == tool.Personal && c.Home() == "":
		return "", value.Errorf(value.Invalid, "create a personal skill: no home folder is set").WithHint("set CASSIDY_HOME to a folder")
	}
	if err := c.CheckHome(); err != nil {
		return "", err
	}
	if err := n.Check(root, c.Scope()); err != nil {
		return "", err
	}
	if existing, _ := c.ProjectRoot(); existing == "" && n.Location == tool.Project {
		_, err = scaffold.Project(c.App, root)
	}
	return root, err
}

func (c *command) reportNew(s *skill.Skill) {
	c.Did("created %s", s.Path)
	c.Note("next: edit the file, then  cassidy skill show %s", s.Key)
	c.Note("      to use the skill:    cassidy task --skill %s", s.Key)
	if s.Auto {
		c.Note("      models may also select the skill by its description")
	}
	for _, w := range s.Warnings {
		c.Note("%s", w)
	}
}
