package agents

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A command is one run of a command of cassidy agents.
type agentsCommand struct{ *app.App }

// AgentsCommand returns cassidy agents.
func AgentsCommand(a *app.App) *cli.Command {
	c := &agentsCommand{a}
	list := c.WithHost(c.list)
	return &cli.Command{
		Name: "agents", Usage: "list, show and write agent files, which define agents with models, tools and limits of their own",
		Description: "Without COMMAND, the agents are listed. To run one: cassidy task --agent NAME \"TASK\"",
		UsageText:   "cassidy agents [COMMAND …]",
		Action: func(ctx *cli.Context) error {
			if ctx.Args().Present() {
				return c.NoCommand(ctx)
			}
			return list(ctx)
		},
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the agents, and the errors in their files", Action: list},
			{Name: "show", Usage: "show what an agent file defines, and the instructions for the model", ArgsUsage: "NAME", Action: c.WithHost(c.show)},
			newCommand(c),
		},
	}
}

func (c *agentsCommand) list(_ *cli.Context, h *host.Host) error {
	root, err := c.Root()
	if err != nil {
		return err
	}
	files, broken := project.Agents(root, c.Scope())
	list := make(value.List, len(files))
	for i := range files {
		faults := Faults(c.App, h, &files[i])
		list[i] = c.dict(h, &files[i], faults)
		broken = append(broken, faults...)
	}
	if c.JSON {
		if err := c.PrintJSON(value.NewDict("agents", list, "errors", describe.ErrorList(broken))); err != nil {
			return err
		}
	} else {
		c.printList(h, files)
		c.ReportAll(broken)
		c.footer(files)
	}
	if len(broken) > 0 {
		return ui.ErrSilent
	}
	return nil
}

// stateOf returns whether an agent can be used: ready, untrusted, disabled, or invalid if it has faults.
func stateOf(f *project.Agent, faults []*value.Error) string {
	if f.Usable() == nil && len(faults) > 0 {
		return "invalid"
	}
	return f.State()
}

// warnings returns what is ignored of an agent file, and which of its tools do not exist. The texts of an
// untrusted file are not among them.
func (c *agentsCommand) warnings(h *host.Host, f *project.Agent) []string {
	return append(slices.Clone(f.Warnings), UnknownTools(&f.Agent, h)...)
}

// dict returns an agent as --json prints it.
func (c *agentsCommand) dict(h *host.Host, f *project.Agent, faults []*value.Error) *value.Dict {
	d := value.NewDict("name", f.Name, "description", f.Description, "location", string(f.Location), "path", f.Path, "state", stateOf(f, faults))
	if !f.Trusted {
		d.Put("reason", f.Reason)
	}
	for _, field := range []struct{ name, text string }{{"model", f.Model}, {"effort", f.Effort}, {"policy", f.Policy}, {"mode", f.Mode}} {
		if field.text != "" {
			d.Put(field.name, field.text)
		}
	}
	if f.Temperature != nil {
		d.Put("temperature", *f.Temperature)
	}
	if f.Tools != nil {
		d.Put("tools", ui.Texts(f.Tools))
	}
	if len(f.Without) > 0 {
		d.Put("disallowed_tools", ui.Texts(f.Without))
	}
	if len(f.Rules) > 0 {
		d.Put("permissions", ui.Texts(ui.Map(f.Rules, ruleText)))
	}
	if f.Iterations > 0 {
		d.Put("max_turns", int64(f.Iterations))
	}
	if limits := limitsDict(f.Limits); limits.Len() > 0 {
		d.Put("limits", limits)
	}
	if f.Schema != nil {
		d.Put("output_schema", f.Schema)
	}
	d.Put("hidden", f.Hidden)
	d.Put("warnings", ui.Texts(c.warnings(h, f)))
	d.Put("errors", describe.ErrorList(faults))
	return d
}

// ruleText returns a rule as people write it: an agent file has rules for capabilities of any tool.
func ruleText(r tool.Rule) string {
	if r.Tool != "" {
		return r.Verdict.String() + " " + r.String()
	}
	return r.Verdict.String() + " " + r.Capability.String()
}

func limitsDict(l tool.AgentLimits) *value.Dict {
	d := &value.Dict{}
	if l.CostUSD > 0 {
		d.Put("cost", l.CostUSD)
	}
	for _, n := range []struct {
		name string
		n    int
	}{{"requests", l.Requests}, {"tool_calls", l.ToolCalls}, {"tokens", l.Tokens}} {
		if n.n > 0 {
			d.Put(n.name, int64(n.n))
		}
	}
	if l.Time > 0 {
		d.Put("time", l.Time.String())
	}
	return d
}

// printList prints agents by location, in their order, each with its warnings below.
func (c *agentsCommand) printList(h *host.Host, files []project.Agent) {
	p := draw.Page{Screen: c.ScreenOf(c.Out)}
	var entries []draw.Entry
	for i := range files {
		f := &files[i]
		faults := Faults(c.App, h, f)
		marks, mark := []string{stateOf(f, faults)}, draw.None
		switch {
		case !f.Trusted:
			marks[0] += ": " + c.Reason(f.Reason)
			mark = draw.Asks
		case len(faults) > 0:
			mark = draw.Failed
		}
		if f.Model != "" {
			marks = append(marks, "model "+f.Model)
		}
		marks = append(marks, f.Path)
		entries = append(entries, draw.Entry{
			Mark: mark, Name: ui.VisibleLine(f.Name), Text: ui.VisibleLine(f.Description),
			Remarks: ui.Map(marks, ui.VisibleLine), Warnings: ui.Map(c.warnings(h, f), ui.VisibleLine),
		})
	}
	p.List("", draw.NameWidth(ui.Map(files, func(f project.Agent) string { return f.Name })), entries)
	c.Print(p.String())
}

// footer prints what to type next.
func (c *agentsCommand) footer(files []project.Agent) {
	untrusted := 0
	for i := range files {
		if !files[i].Trusted {
			untrusted++
		}
	}
	switch {
	case len(files) == 0:
		c.Note("no agents found; to create one: cassidy agents new NAME")
	case untrusted > 0:
		c.ReportUntrusted(untrusted, "agent")
	case ui.IsTerminal(c.Err):
		c.Note("to run one: cassidy task --agent NAME \"TASK\"")
	}
}

func (c *agentsCommand) show(ctx *cli.Context, h *host.Host) error {
	f, err := FindFile(c.App, ctx.Args().First())
	if err != nil {
		return err
	}
	faults := Faults(c.App, h, f)
	d := c.dict(h, f, faults)
	d.Put("prompt", f.Prompt)
	if c.JSON {
		err = c.PrintJSON(d)
	} else {
		c.page(d)
		for _, w := range c.warnings(h, f) {
			c.Note("%s", w)
		}
		c.ReportAll(faults)
	}
	if err == nil && len(faults) > 0 {
		err = ui.ErrSilent
	}
	return err
}

// page prints an agent for people.
func (c *agentsCommand) page(d *value.Dict) {
	p := draw.Page{Screen: c.ScreenOf(c.Out)}
	for k, v := range d.All() {
		name, _ := k.(string)
		text := fieldText(v)
		if slices.Contains([]string{"prompt", "warnings", "errors", "hidden"}, name) || text == "" {
			continue
		}
		if p.Width > 0 {
			p.Lines(p.Screen.Fact(draw.None, draw.Pad(name, 17, false), ui.VisibleLine(text)))
			continue
		}
		p.Line(p.Paint(draw.Dim, draw.Pad(name+":", 17, false)) + " " + ui.VisibleLine(text))
	}
	switch prompt := d.Text("prompt"); {
	case prompt == "":
	case p.Width > 0:
		p.Line("")
		p.Lines(p.Quote("  ", ui.Printable(prompt)))
	default:
		p.Line("\n" + strings.TrimSuffix(prompt, "\n"))
	}
	c.Print(p.String())
}

// fieldText returns the value of a field on a line.
func fieldText(v value.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case value.List:
		if len(v) == 0 {
			return "none"
		}
		return strings.Join(value.Map(v, func(one value.Value) string { return fmt.Sprint(one) }), ", ")
	}
	return value.FormatJSON(v, "")
}
