// Package config has the commands that show and change the user's config.
package config

import (
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A command is one run of a command of cassidy config.
type command struct{ *app.App }

// Command returns cassidy config.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "config", Usage: "show and change your settings: list, get, set, unset, path",
		Description: "A setting is a field of config.yaml, such as model or limits.cpu. Your own config.yaml sets all fields; that of a project can only\n" +
			"restrict what tools may do. A name with a dot is in double quotes: 'models.\"openai:gpt-6.2\".context'.",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the settings that are in force, and where they come from", Action: c.list},
			{Name: "get", Usage: "print a setting", ArgsUsage: "FIELD", Action: c.get},
			{
				Name: "set", Usage: "change a setting in your config.yaml, whose comments stay", ArgsUsage: "FIELD VALUE [VALUE …]",
				Description: "VALUE is written as in YAML: a text, a number, true, or a list as in '[\"10.0.0.0/8\"]'.",
				Flags:       []cli.Flag{&cli.BoolFlag{Name: "add", Usage: "add each VALUE to a list, whose other items stay"}},
				Action:      c.set,
			},
			{Name: "unset", Usage: "remove a setting from your config.yaml", ArgsUsage: "FIELD", Action: c.unset},
			{Name: "path", Usage: "print the paths of the files with settings", Action: c.path},
		},
	}
}

// args returns the arguments, which have these names.
func args(ctx *cli.Context, names ...string) ([]string, error) {
	given := ctx.Args().Slice()
	if len(given) < len(names) {
		return nil, value.Errorf(value.Invalid, "%s is missing", names[len(given)]).
			WithHint("cassidy config %s %s; list the fields: cassidy config list", ctx.Command.Name, strings.Join(names, " "))
	}
	return given, nil
}

// fields returns the settings in force here.
func (c *command) fields() ([]config.Field, error) {
	root, err := c.ProjectRoot()
	if err != nil {
		return nil, err
	}
	return config.Fields(root, c.ConfigOptions())
}

// from says where a setting comes from.
func from(f *config.Field) string {
	switch {
	case f.File == "":
		return "default"
	case f.Project:
		return ui.Sprintf("%s:%d (the project)", f.File, f.Line)
	}
	return ui.Sprintf("%s:%d", f.File, f.Line)
}

// dict returns a setting as --json prints it.
func dict(f *config.Field) *value.Dict {
	d := value.NewDict("field", f.Name(), "value", f.Value, "from", "default")
	if f.File != "" {
		d.Put("from", "user")
		if f.Project {
			d.Put("from", "project")
		}
		d.Put("file", f.File)
		d.Put("line", int64(f.Line))
	}
	return d
}

func (c *command) list(*cli.Context) error {
	fields, err := c.fields()
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("settings", value.List(ui.Map(fields, func(f config.Field) value.Value { return dict(&f) }))))
	}
	if s := c.ScreenOf(c.Out); s.Width > 0 {
		t := &draw.Table{Columns: []draw.Column{{Name: "setting", Whole: true}, {Name: "value"}, {Name: "from", Rank: 1, Dim: true}}, AllRows: true}
		for i := range fields {
			t.Rows = append(t.Rows, []string{ui.VisibleLine(fields[i].Name()), ui.VisibleLine(text(fields[i].Value)), ui.VisibleLine(from(&fields[i]))})
		}
		c.PrintTable(t)
		return nil
	}
	var names, values []string
	for i := range fields {
		names, values = append(names, fields[i].Name()), append(values, ui.CutShown(text(fields[i].Value), 48))
	}
	for i := range fields {
		c.Print(draw.Pad(names[i], widest(names), false) + "  " + draw.Pad(values[i], widest(values), false) + "  " + ui.VisibleLine(from(&fields[i])) + "\n")
	}
	return nil
}

func widest(texts []string) (width int) {
	for _, text := range texts {
		width = max(width, len(text))
	}
	return min(width, 48)
}

// text returns a value as get prints it: a text as it is, everything else as JSON, which is also YAML.
func text(v value.Value) string {
	if text, ok := v.(string); ok {
		return text
	}
	return value.FormatJSON(v, "")
}

func (c *command) get(ctx *cli.Context) error {
	given, err := args(ctx, "FIELD")
	if err != nil {
		return err
	}
	path, err := config.ParsePath(given[0])
	if err == nil {
		err = config.CheckPath(path)
	}
	if err != nil {
		return err
	}
	fields, err := c.fields()
	if err != nil {
		return err
	}
	fields = slices.DeleteFunc(fields, func(f config.Field) bool { return len(f.Path) < len(path) || !slices.Equal(f.Path[:len(path)], path) })
	switch {
	case len(fields) == 0:
		return value.Errorf(value.NotFound, "'%s' is not set", config.PathText(path)).WithHint("cassidy config set %s VALUE", config.PathText(path))
	case c.JSON:
		return c.PrintJSON(value.NewDict("settings", value.List(ui.Map(fields, func(f config.Field) value.Value { return dict(&f) }))))
	case len(fields) == 1 && len(fields[0].Path) == len(path):
		c.PrintText(text(fields[0].Value))
		return nil
	}
	for i := range fields {
		c.PrintText(fields[i].Name() + ": " + text(fields[i].Value))
	}
	return nil
}

// change sets the field that the first argument names, or removes it if v is nil.
func (c *command) change(path []string, v *value.Value) error {
	file := c.ConfigFile()
	if file == "" {
		return value.Errorf(value.Invalid, "write the config: no home folder is set").WithHint("set CASSIDY_HOME to a folder")
	}
	change, err := config.EditField(file, path, v)
	if v == nil && value.KindOf(err) == value.NotFound {
		err = value.Errorf(value.NotFound, "your config.yaml does not set '%s'", config.PathText(path)).WithHint("see where a setting comes from: cassidy config list")
	}
	if err != nil {
		return err
	}
	return c.write(change, path)
}

func (c *command) set(ctx *cli.Context) error {
	given, err := args(ctx, "FIELD", "VALUE")
	if err != nil {
		return err
	}
	path, err := config.ParsePath(given[0])
	if err == nil {
		err = config.CheckPath(path)
	}
	if err != nil {
		return err
	}
	if ctx.Bool("add") {
		v, err := c.plus(path, given[1:])
		if err != nil {
			return err
		}
		return c.change(path, &v)
	}
	if len(given) > 2 {
		return value.Errorf(value.Invalid, "unexpected argument %q", given[2]).WithHint("put VALUE in quotes; to add each VALUE to a list: cassidy config set --add FIELD VALUE …")
	}
	v := parse(given[1])
	return c.change(path, &v)
}

// parse reads a value as a person types it.
func parse(text string) value.Value {
	v, err := yaml.Parse(text)
	if err != nil || v == nil || strings.Contains(text, ": ") && !strings.HasPrefix(text, "{") {
		return text // such as "a: b"
	}
	return v
}

// plus returns the list of a field in the user's config, with more items.
func (c *command) plus(path, texts []string) (value.Value, error) {
	fields, err := c.fields()
	if err != nil {
		return nil, err
	}
	var list value.List
	for i := range fields {
		if f := &fields[i]; f.File != "" && !f.Project && slices.Equal(f.Path, path) {
			was, ok := f.Value.(value.List)
			if !ok {
				return nil, value.Errorf(value.Invalid, "'%s' is not a list", config.PathText(path)).WithHint("cassidy config set %s VALUE", config.PathText(path))
			}
			list = slices.Clone(was)
		}
	}
	for _, text := range texts {
		if v := parse(text); !slices.ContainsFunc(list, func(has value.Value) bool { return value.Equal(has, v) }) {
			list = append(list, v)
		}
	}
	return list, nil
}

// unset also removes a field that no config has.
func (c *command) unset(ctx *cli.Context) error {
	given, err := args(ctx, "FIELD")
	if err != nil {
		return err
	}
	path, err := config.ParsePath(given[0])
	if err != nil {
		return err
	}
	return c.change(path, nil)
}

// write makes a change of the user's config, and shows what is in force then.
func (c *command) write(change *config.Change, path []string) error {
	if err := change.Write(); err != nil {
		return err
	}
	switch {
	case c.JSON:
		if err := c.PrintJSON(value.NewDict("file", change.File, "field", config.PathText(path), "written", change.Before != change.After)); err != nil {
			return err
		}
	case change.Before == change.After:
		c.Did("%s has this value already", config.PathText(path))
	default:
		c.Did("written to %s", change.File)
	}
	if change.Fault != nil {
		c.Warn("something else in it is still invalid: %v", change.Fault)
	}
	return nil
}

func (c *command) path(*cli.Context) error {
	root, err := c.ProjectRoot()
	if err != nil {
		return err
	}
	files := []string{c.ConfigFile()}
	if root != "" {
		files = append(files, root+string(os.PathSeparator)+folder.Name+string(os.PathSeparator)+"config.yaml")
	}
	list := value.List{}
	for i, file := range files {
		if file == "" {
			continue
		}
		_, err := os.Stat(file)
		list = append(list, value.NewDict("file", file, "of", []string{"user", "project"}[i], "exists", err == nil))
		if !c.JSON {
			note := ""
			if err != nil {
				note = "  (does not exist)"
			}
			c.Print(ui.VisibleLine(file) + note + "\n")
		}
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("files", list))
	}
	return nil
}
