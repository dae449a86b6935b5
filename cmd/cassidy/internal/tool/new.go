package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/app"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/setup"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

func newCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "new", Usage: "write a new tool from a template", ArgsUsage: "NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "template", Usage: "start from `TEMPLATE`: " + strings.Join(scripts.Templates(), ", "), Value: "basic"},
			&cli.StringFlag{Name: "lang", Usage: "write the tool in `LANGUAGE`: star, lua or md", Value: "star"},
			&cli.StringFlag{Name: "location", Usage: "create the tool in `WHERE`: project, or personal for all your projects", Value: "project"},
			&cli.BoolFlag{Name: "open", Usage: "open the file in $VISUAL or $EDITOR"},
		},
		Action: c.WithHost(c.newTool),
	}
}

func (c *command) newTool(ctx *cli.Context, h *host.Host) error {
	name, template, lang, location := ctx.Args().First(), ctx.String("template"), ctx.String("lang"), ctx.String("location")
	if err := setup.CheckToolName(h, name); err != nil {
		return err
	}
	if err := app.CheckWord("language", lang, "star", "lua", "md"); err != nil {
		return err
	}
	if err := app.CheckWord("template", template, scripts.Templates()...); err != nil {
		return err
	}
	if err := app.CheckWord("location", location, "project", "personal"); err != nil {
		return err
	}
	text, _ := scripts.Template(template, lang, name)
	f, err := setup.WriteTool(c.App, location, name, "."+lang, text)
	if err != nil {
		return err
	}
	if f.Root != "" {
		if err := c.RecordOwn(ctx.Context, h, f.Root, f.Shown); err != nil {
			c.Report(value.ErrorOf(err, value.Failed)) // the file exists, and can be reviewed later
		}
	}
	if c.JSON {
		err = c.PrintJSON(value.NewDict("name", name, "path", f.Path))
	} else {
		c.Note("created %s", f.Shown)
		c.Note("next: edit the file, then  cassidy tool validate %s", name)
		c.Note("      to try the tool:     cassidy tool example %s", name)
	}
	if err == nil && ctx.Bool("open") {
		err = c.Edit(f.Path)
	}
	return err
}

func validateCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "validate", Usage: "check tools by NAME or FILE; without arguments, check all project and personal tools", ArgsUsage: "[NAME|FILE …]",
		Action: c.WithHost(c.validateTools),
	}
}

// validateTools checks tools, and prints a report for each. The exit code is 1 if one is
// invalid.
func (c *command) validateTools(ctx *cli.Context, h *host.Host) error {
	words := ctx.Args().Slice()
	reports := value.List{}
	ok := true
	check := func(name string, t toolset.Info, err error) {
		reports = append(reports, c.report(name, t, err))
		ok = ok && err == nil
	}
	for _, word := range words {
		t, err := c.subject(ctx, h, word)
		check(word, t, err)
	}
	if len(words) == 0 {
		for _, t := range h.Tools() {
			if t.Location != tool.Builtin {
				check(t.Name, t, nil)
			}
		}
		for _, e := range h.Broken() {
			base := filepath.Base(e.Pos.File)
			check(strings.TrimSuffix(base, filepath.Ext(base)), toolset.Info{}, e)
		}
		if len(reports) == 0 {
			c.Note("No custom tools found")
		}
	}
	if c.JSON {
		if err := c.PrintJSON(value.NewDict("valid", ok, "tools", reports)); err != nil {
			return err
		}
	}
	if !ok {
		return ui.ErrSilent
	}
	return nil
}

// subject returns the tool that a word names, or that of a file if it looks like one.
func (c *command) subject(ctx *cli.Context, h *host.Host, word string) (toolset.Info, error) {
	if !strings.ContainsAny(word, `/\`) && filepath.Ext(word) == "" {
		return c.find(h, word)
	}
	info, err := os.Stat(word)
	if err != nil {
		return toolset.Info{}, value.Errorf(value.Failed, "File not found: %s", word).WithHint("use the path of a file or the name of a tool; list the tools: cassidy tool list")
	}
	if !info.Mode().IsRegular() {
		return toolset.Info{}, value.Errorf(value.Failed, "%s is not a file", word)
	}
	d, err := project.DescribeFile(ctx.Context, word, &project.Options{Describe: h.Describe})
	return toolset.Info{Tool: d.Tool, Warnings: d.Warnings}, err
}

// report prints the result of a check, and returns it for --json.
func (c *command) report(name string, t toolset.Info, err error) value.Value {
	if err != nil {
		e := ui.ForUsers(value.ErrorOf(err, value.Invalid))
		if !c.JSON {
			c.Report(e)
		}
		return value.NewDict("name", name, "valid", false, "file", e.Pos.File, "line", int64(e.Pos.Line),
			"column", int64(e.Pos.Col), "reason", e.Message(), "suggestion", e.Hint)
	}
	if !c.JSON {
		c.Print(validPage(&t, c.Paint()))
	}
	return value.NewDict("name", t.Name, "valid", true, "state", string(t.State), "warnings", ui.Texts(t.Warnings))
}

func validPage(t *toolset.Info, paint func(code, text string) string) string {
	var b strings.Builder
	tick := func(format string, args ...any) {
		fmt.Fprintf(&b, "%s %s\n", paint(ui.Green, "✓"), ui.Sprintf(format, args...))
	}
	tick("Tool name: %s", t.Name)
	tick("Description: %s", ui.CutShown(t.Summary(), ui.PageWidth-16))
	tick("Group: %s", t.DisplayGroup())
	tick("Risky: %v", t.NeedsApproval())
	tick("Parameters (%d)", len(t.Params))
	for _, p := range t.Params {
		need := "optional"
		if p.Required {
			need = "required"
		}
		if p.FromHost {
			need = "set by the host"
		}
		fmt.Fprintf(&b, "    %s (%s, %s)\n", ui.VisibleLine(p.Name), p.Type, need)
	}
	if len(t.Examples) > 0 {
		tick("Examples (%d), with valid arguments", len(t.Examples))
	}
	tick("Handler function is valid")
	for _, w := range t.Warnings {
		fmt.Fprintf(&b, "%s %s\n", paint(ui.Yellow, "!"), ui.VisibleLine(w))
	}
	ready := "ready to use"
	if t.State == toolset.Untrusted {
		ready = "untrusted: " + ui.VisibleLine(t.Reason)
	}
	fmt.Fprintf(&b, "%s is valid and %s\n", t.Name, ready)
	return b.String()
}
