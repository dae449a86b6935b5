package tool

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/scaffold"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/check"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
)

func newCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "new", Usage: "write a new tool from a template", ArgsUsage: "NAME",
		Description: "The template http is a tool that sends a secret to a server, command one that runs a program, file and table are tools that\n" +
			"read files, and workflow is a workflow in .cassidy/workflows. Tools that need fakes to be tested get a file with tests.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "template", Usage: "start from `TEMPLATE`: " + strings.Join(templates(), ", "), Value: "basic"},
			&cli.StringFlag{Name: "lang", Usage: "write the tool in `LANGUAGE`: star, lua or md", Value: "star"},
			&cli.StringFlag{Name: "location", Usage: "create the tool in `WHERE`: project, or personal for all your projects", Value: "project"},
			&cli.BoolFlag{Name: "open", Usage: "open the file in $VISUAL or $EDITOR"},
		},
		Action: c.WithHost(c.newTool),
	}
}

// workflow is the template that is no tool.
const workflow = "workflow"

func templates() []string { return append(scripts.Templates(), workflow) }

func (c *command) newTool(ctx *cli.Context, h *host.Host) error {
	name, template, lang, location := ctx.Args().First(), ctx.String("template"), ctx.String("lang"), ctx.String("location")
	if err := scaffold.CheckToolName(h, name); err != nil {
		return err
	}
	if err := app.CheckWord("language", lang, "star", "lua", "md"); err != nil {
		return err
	}
	text, known := scripts.Template(template, lang, name)
	if err := app.CheckWord("template", template, templates()...); err != nil && !known {
		return err
	}
	if err := app.CheckWord("location", location, "project", "personal"); err != nil {
		return err
	}
	next := [2]string{"cassidy tool validate " + name, "cassidy tool example " + name}
	write := scaffold.WriteTool
	if template == workflow {
		if lang != "star" {
			return value.Errorf(value.Invalid, "a workflow is a file in Starlark: --lang %s is not possible", lang).WithHint("omit --lang")
		}
		write, text, next = scaffold.WriteWorkflow, scripts.Workflow(name), [2]string{"cassidy check " + name, "cassidy run " + name + " title=…"}
	}
	var made []scaffold.ToolFile
	if tests, ok := scripts.Tests(template, name); ok { // first: if they cannot be written, there is no tool without tests
		next[1] = "cassidy test " + name
		f, err := write(c.App, location, name+"_test", ".star", tests)
		if err != nil {
			return err
		}
		made = append(made, f)
	}
	f, err := write(c.App, location, name, "."+lang, text)
	if err != nil {
		return err
	}
	made = append([]scaffold.ToolFile{f}, made...)
	for _, f := range made {
		if f.Root == "" {
			continue
		}
		if err := c.RecordOwn(ctx.Context, h, f.Root, f.Shown); err != nil {
			c.Report(value.ErrorOf(err, value.Failed)) // the file exists, and can be reviewed later
		}
	}
	if c.JSON {
		err = c.PrintJSON(value.NewDict("name", name, "path", f.Path, "files", ui.Texts(ui.Map(made, func(f scaffold.ToolFile) string { return f.Path }))))
	} else {
		for _, f := range made {
			c.Did("created %s", f.Shown)
		}
		c.Note("next: edit the file, then  %s", next[0])
		c.Note("      to try it:           %s", next[1])
		if f.Root != "" {
			c.Note("      if its needs change: cassidy trust")
		}
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
	agents.RegisterForHelp(h)
	root, err := c.Root()
	if err != nil {
		return err
	}
	checker, err := app.NewChecker(h, root)
	if err != nil {
		return err
	}
	v := &validation{command: c, host: h, checker: checker, root: root, ok: true}
	words := ctx.Args().Slice()
	for _, word := range words {
		v.word(ctx, word)
	}
	if len(words) == 0 {
		for _, t := range h.Tools() {
			if t.Location == tool.Project || t.Location == tool.Personal {
				v.report(t.Name, t, v.fileOf(t.Path), nil)
			}
		}
		for _, e := range h.Broken() {
			base := filepath.Base(e.Pos.File)
			v.report(strings.TrimSuffix(base, filepath.Ext(base)), toolset.Info{}, v.fileOf(e.Pos.File), e)
		}
		if len(v.reports) == 0 {
			c.Note("No custom tools found")
		}
	}
	if c.JSON {
		if err := c.PrintJSON(value.NewDict("valid", v.ok, "tools", v.reports)); err != nil {
			return err
		}
	}
	if !v.ok {
		return ui.ErrSilent
	}
	return nil
}

// A validation is one run of cassidy tool validate.
type validation struct {
	*command
	host    *host.Host
	checker *check.Checker
	root    string // of the project, or ""
	reports value.List
	ok      bool
}

// word checks the tool that a word names, or that of a file if it looks like one.
func (v *validation) word(ctx *cli.Context, word string) {
	if !strings.ContainsAny(word, `/\`) && filepath.Ext(word) == "" {
		t, err := v.find(v.host, word)
		file := t.Path
		if err != nil {
			file = value.ErrorOf(err, value.Failed).Pos.File
		}
		v.report(word, t, v.fileOf(file), err)
		return
	}
	info, err := os.Stat(word)
	if err == nil && !info.Mode().IsRegular() {
		err = value.Errorf(value.Failed, "%s is not a file", word)
	} else if err != nil {
		err = value.Errorf(value.Failed, "File not found: %s", word).WithHint("use the path of a file or the name of a tool; list the tools: cassidy tool list")
	}
	if err != nil {
		v.report(word, toolset.Info{}, "", err)
		return
	}
	d, err := project.DescribeFile(ctx.Context, word, &project.Options{Describe: v.host.Describe})
	v.report(word, toolset.Info{Tool: d.Tool, Warnings: d.Warnings}, word, err)
}

// fileOf returns the path of a file that the host names, or "" if it is not there.
func (v *validation) fileOf(name string) string {
	for _, dir := range []string{v.root, filepath.Dir(v.Home())} {
		if file := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, "~/"))); name != "" && dir != "" {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				return file
			}
		}
	}
	return ""
}

// faults returns what a check of the file of a tool finds.
func (v *validation) faults(file, name string) (list []diagnostic.Diagnostic, text string) {
	if file == "" {
		return nil, ""
	}
	text, err := check.Read("", file)
	if err != nil {
		return nil, ""
	}
	list = v.checker.File(file, text)
	for i := range list {
		list[i].Pos.File = name
	}
	return list, text
}

// report prints the result of the check of a tool, and adds it to the reports. err is the error of loading it.
func (v *validation) report(name string, t toolset.Info, file string, err error) {
	shown := cmp.Or(t.Path, file)
	if e := value.ErrorOf(err, value.Invalid); err != nil {
		shown = cmp.Or(e.Pos.File, shown)
	}
	found, text := v.faults(file, shown)
	errs, _ := check.Count(found)
	diagnostics := value.List{}
	for i := range found {
		diagnostics = append(diagnostics, check.JSON(&found[i], text))
	}
	if err != nil || errs > 0 {
		v.ok = false
		v.reports = append(v.reports, v.invalid(name, err, found, diagnostics))
		return
	}
	if !v.JSON {
		v.Print(validPage(&t, found, v.ScreenOf(v.Out)))
	}
	warnings := ui.Map(found, func(d diagnostic.Diagnostic) string { return d.Message })
	v.reports = append(v.reports, value.NewDict("name", t.Name, "valid", true, "state", string(t.State), "warnings", ui.Texts(warnings), "diagnostics", diagnostics))
}

// invalid prints why a tool is invalid, and returns it for --json. err is the error of loading the tool, or nil.
func (v *validation) invalid(name string, err error, found []diagnostic.Diagnostic, diagnostics value.List) value.Value {
	errs := ui.Map(found, func(d diagnostic.Diagnostic) *value.Error {
		return &value.Error{Pos: d.Pos, Kind: value.Invalid, Err: fmt.Errorf("%s [%s]", d.Message, d.Code), Hint: d.Hint}
	})
	first := slices.IndexFunc(found, func(d diagnostic.Diagnostic) bool { return d.Severity == diagnostic.Error })
	if err != nil {
		e := value.ErrorOf(err, value.Invalid)
		first = slices.IndexFunc(found, func(d diagnostic.Diagnostic) bool {
			return d.Pos.Line == max(e.Pos.Line, 1) && d.Severity == diagnostic.Error
		})
		if first < 0 {
			errs, first = append(errs, e), len(errs)
		}
		errs[first] = e
	}
	e := describe.ForUsers(errs[first])
	if !v.JSON {
		v.Report(e)
		for i, other := range errs {
			if i != first {
				v.Report(other)
			}
		}
	}
	return value.NewDict("name", name, "valid", false, "file", e.Pos.File, "line", int64(e.Pos.Line),
		"column", int64(e.Pos.Col), "reason", e.Message(), "suggestion", e.Hint, "diagnostics", diagnostics)
}

func validPage(t *toolset.Info, found []diagnostic.Diagnostic, s draw.Screen) string {
	p := draw.Page{Screen: s}
	ready := "ready to use"
	if t.State == toolset.Untrusted {
		ready = "untrusted: " + ui.VisibleLine(t.Reason)
	}
	ready = t.Name + " is valid and " + ready
	if s.Width > 0 {
		p.Lines(s.Message(draw.Done, ready))
	}
	fact := func(name, text string) {
		if text = ui.VisibleLine(text); s.Width > 0 {
			p.Lines(s.Fact(draw.None, draw.Pad(name, 11, false), text))
			return
		}
		p.Line(s.Mark(draw.Done) + " " + name + ": " + text)
	}
	fact("Tool name", t.Name)
	summary := t.Summary()
	if s.Width <= 0 {
		summary = ui.CutShown(summary, 64)
	}
	fact("Description", summary)
	fact("Group", t.DisplayGroup())
	fact("Risky", strconv.FormatBool(t.NeedsApproval()))
	tick := func(text string) { p.Line(s.Mark(draw.Done) + " " + text) }
	if s.Width > 0 {
		tick = func(text string) { p.Lines(s.Message(draw.None, text)) }
	}
	tick(fmt.Sprintf("Parameters (%d)", len(t.Params)))
	for i := range t.Params {
		x := &t.Params[i]
		need := "optional"
		if x.Required {
			need = "required"
		}
		if x.FromHost {
			need = "set by the host"
		}
		p.Long("    ", fmt.Sprintf("%s (%s, %s)", ui.VisibleLine(x.Name), x.Type, need))
	}
	fact("Needs", cmp.Or(ui.Join(t.Needs), calls.NoNeeds))
	if limits := calls.LimitsText(t.Limits); limits != "" {
		fact("Limits", limits)
	}
	if t.Timeout > 0 {
		fact("Timeout", t.Timeout.String())
	}
	if len(t.Examples) > 0 {
		tick(fmt.Sprintf("Examples (%d), with valid arguments", len(t.Examples)))
	}
	tick("Handler function is valid")
	for i := range found {
		d := &found[i]
		text := ui.VisibleLine(fmt.Sprintf("line %d: %s", d.Pos.Line, d.Message))
		if s.Width > 0 {
			p.Lines(s.Message(draw.Risk, text))
			continue
		}
		p.Line(s.Mark(draw.Risk) + " " + text)
	}
	if s.Width <= 0 {
		p.Line(ready)
	}
	return p.String()
}
