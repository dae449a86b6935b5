package tool

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// aboutTool returns an action on the tool that the argument names.
func (c *command) aboutTool(do func(ctx *cli.Context, t toolset.Info) error) cli.ActionFunc {
	return c.WithHost(func(ctx *cli.Context, h *host.Host) error {
		agents.RegisterForHelp(h)
		t, err := c.find(h, ctx.Args().First())
		if err != nil {
			return err
		}
		return do(ctx, t)
	})
}

// find returns a tool by its name. The error for the name of an invalid file is that of
// the file.
func (c *command) find(h *host.Host, name string) (toolset.Info, error) {
	t, err := h.Tool(name)
	if err == nil {
		return t, nil
	}
	e := *value.ErrorOf(err, value.NotFound)
	if e.Kind != value.NotFound {
		return t, &e
	}
	e.Err = fmt.Errorf("%s", strings.Replace(e.Err.Error(), "Unknown tool", "Tool not found", 1))
	switch key := tool.Key(name); {
	case c.ServerHint(name) != "":
		e.Hint = c.ServerHint(name)
	case key == agents.TodoTool:
		e.Hint = "a model calls it in a chat: cassidy chat --tools auto"
	case key == "agent" || key == "execute_code":
		e.Hint = "call " + key + " from a workflow, or start an agent: cassidy task \"TASK\""
	case !strings.HasPrefix(e.Hint, "run it with"): // which is for a workflow
		e.Hint = "list the tools: cassidy tool list"
	}
	return t, &e
}

func infoCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "info", Usage: "describe a tool briefly", ArgsUsage: "NAME",
		Action: c.aboutTool(func(_ *cli.Context, t toolset.Info) error {
			if c.JSON {
				return c.PrintJSON(calls.Describe(&t))
			}
			p := toolPage{ui.Page{Paint: c.Paint()}}
			p.head(&t)
			p.Text(t.Summary())
			p.facts(&t.Tool)
			p.params(&t.Tool, false)
			c.Print(p.String())
			return nil
		}),
	}
}

func helpCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "help", Usage: "describe a tool in full", ArgsUsage: "NAME",
		Action: c.aboutTool(func(_ *cli.Context, t toolset.Info) error {
			if c.JSON {
				return c.PrintJSON(fullDescription(&t))
			}
			c.Print(helpPage(&t, c.Paint()))
			return nil
		}),
	}
}

// fullDescription returns a tool as help --json prints it.
func fullDescription(t *toolset.Info) *value.Dict {
	d := calls.Describe(t)
	if t.Returns != nil {
		d.Put("returns", t.Returns.JSONSchema())
	}
	if t.ReturnsDoc != "" {
		d.Put("returns_description", t.ReturnsDoc)
	}
	examples := value.List{}
	for _, e := range t.Examples {
		x := value.NewDict("description", e.Description, "code", t.CallText(e.Args), "args", e.Args)
		if e.HasExpect {
			x.Put("expect", e.Expect)
		}
		examples = append(examples, x)
	}
	d.Put("examples", examples)
	if t.Timeout > 0 {
		d.Put("timeout", t.Timeout.Seconds())
	}
	return d
}

// A toolPage describes a tool for a person.
type toolPage struct{ ui.Page }

func (p *toolPage) head(t *toolset.Info) {
	p.Line("%s — %s", p.Paint(ui.Bold, t.Name), ui.VisibleLine(t.DisplayTitle()))
	if d := t.Deprecated; d != nil {
		note := "DEPRECATED"
		if d.Since != "" {
			note += " since " + d.Since
		}
		p.Line("%s", p.Paint(ui.Yellow, ui.VisibleLine(note)))
		if d.Message != "" {
			p.Text(d.Message)
		}
		if d.Replacement != "" {
			p.Line("Use %s instead.", ui.VisibleLine(d.Replacement))
		}
	}
	if t.State != toolset.Ready {
		p.Line("%s", p.Paint(ui.Yellow, "Unavailable ("+string(t.State)+"): "+ui.VisibleLine(t.Reason)))
	}
	p.Line("")
}

func (p *toolPage) facts(t *tool.Tool) {
	p.Line("")
	p.Fact("Group", t.DisplayGroup())
	risky := "no"
	if t.NeedsApproval() {
		risky = "yes: asks before it runs"
	}
	p.Fact("Risky", risky)
	p.Fact("Hints", strings.Join(t.Hints.Words(), ", "))
}

func (p *toolPage) params(t *tool.Tool, full bool) {
	p.Title("Parameters")
	shown, err := t.CallerParams()
	if err != nil {
		p.Line("  see the schema: cassidy tool schema %s", ui.VisibleLine(t.Name))
		return
	}
	if len(shown) == 0 {
		p.Line("  none")
		return
	}
	width := 0
	for i := range shown {
		shown[i].Name = ui.VisibleLine(shown[i].Name) // that of a schema can be any text
		width = max(width, utf8.RuneCountInString(shown[i].Name))
	}
	for _, x := range shown {
		need := "optional"
		if x.Required {
			need = "required"
		}
		facts := []string{x.Type.String(), need}
		if x.HasDefault && x.Default != nil {
			facts = append(facts, "default: "+value.FormatJSON(x.Default, ""))
		}
		if full {
			facts = append(facts, constraints(&x)...)
		}
		p.Line("  %s  %s", p.Paint(ui.Bold, ui.Pad(x.Name, width)), p.Paint(ui.Dim, "("+strings.Join(facts, ", ")+")"))
		if x.Description != "" {
			p.WriteString(ui.Wrap(ui.Printable(x.Description), strings.Repeat(" ", width+4), ui.PageWidth))
		}
	}
}

// constraints describes the constraints of a parameter.
func constraints(x *tool.Param) (list []string) {
	add := func(applies bool, name, text string) {
		if applies {
			list = append(list, name+": "+text)
		}
	}
	t := x.Type
	values := ui.Map(t.Enum, func(v value.Value) string { return value.FormatJSON(v, "") })
	add(t.Min != nil, "min", value.FormatJSON(t.Min, ""))
	add(t.Max != nil, "max", value.FormatJSON(t.Max, ""))
	if t.MinLength != nil {
		add(true, "min length", strconv.Itoa(*t.MinLength))
	}
	if t.MaxLength != nil {
		add(true, "max length", strconv.Itoa(*t.MaxLength))
	}
	add(t.Pattern != "", "pattern", t.Pattern)
	add(len(values) > 0, "one of", ui.Join(values))
	add(len(x.Aliases) > 0, "also", ui.Join(x.Aliases))
	return list
}

// helpPage describes a tool in full.
func helpPage(t *toolset.Info, paint func(code, text string) string) string {
	p := toolPage{ui.Page{Paint: paint}}
	p.head(t)
	p.Text(t.Description)
	p.Title("Usage")
	p.Line("  cassidy tool run %s", calls.Usage(&t.Tool))
	p.params(&t.Tool, true)
	if t.Returns != nil || t.ReturnsDoc != "" {
		p.Title("Returns")
		kind := "any"
		if t.Returns != nil {
			kind = t.Returns.String()
		}
		p.WriteString(ui.Wrap(strings.TrimSuffix(kind+": "+ui.Printable(t.ReturnsDoc), ": "), "  ", ui.PageWidth))
		if t.Returns != nil {
			p.fields(t.Returns.Fields)
		}
	}
	p.examples(&t.Tool)
	p.facts(&t.Tool)
	server := serverOf(t.Name)
	needs := ui.Join(t.Needs)
	switch {
	case server != "":
		needs = "what the server " + server + " may do: see cassidy mcp list"
	case needs == "":
		needs = noNeeds
	}
	p.Fact("Needs", needs)
	p.Fact("Tags", ui.Join(t.Tags))
	p.Fact("Version", t.Version)
	p.Fact("Limits", limitsText(t.Limits))
	if t.Timeout > 0 {
		p.Fact("Timeout", t.Timeout.String())
	}
	from := strings.TrimSpace(string(t.Location) + " " + t.Path)
	if server != "" {
		from = "the MCP server " + server
	}
	p.Fact("From", from)
	p.Fact("Overhead", fmt.Sprintf("about %d tokens in a model's context", t.EstimateOverhead()))
	return p.String()
}

// noNeeds describes a tool without needs.
const noNeeds = "nothing: the tool only computes"

// limitsText lists the limits that a tool declares.
func limitsText(l tool.Limits) string {
	var list []string
	add := func(name string, set bool, v any) {
		if set {
			list = append(list, fmt.Sprintf("%s %v", name, v))
		}
	}
	add("steps", l.Steps > 0, l.Steps)
	add("cpu", l.CPU > 0, l.CPU)
	add("memory", l.Memory > 0, bytesText(l.Memory))
	add("result", l.Result > 0, bytesText(int64(l.Result)))
	return strings.Join(list, ", ")
}

// bytesText returns a size in the largest unit that gives a full number.
func bytesText(n int64) string {
	switch {
	case n%(1<<20) == 0:
		return fmt.Sprintf("%d MB", n>>20)
	case n%(1<<10) == 0:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// serverOf returns the attached server of a tool, or "": no other tool has a name with a dot.
func serverOf(name string) string {
	server, _, attached := strings.Cut(name, ".")
	if !attached {
		return ""
	}
	return server
}

// fields lists the properties of a result.
func (p *toolPage) fields(fields []tool.Param) {
	width := 0
	for _, f := range fields {
		width = max(width, len(f.Name))
	}
	for _, f := range fields {
		p.WriteString(ui.Wrap(ui.Printable(f.Description), fmt.Sprintf("    %s  (%s) ", ui.Pad(ui.VisibleLine(f.Name), width), f.Type), ui.PageWidth))
	}
}

func (p *toolPage) examples(t *tool.Tool) {
	if len(t.Examples) == 0 {
		return
	}
	p.Title("Examples")
	for i, e := range t.Examples {
		if i > 0 {
			p.Line("")
		}
		if e.Description != "" {
			p.WriteString(ui.Wrap(ui.Printable(e.Description), "  ", ui.PageWidth))
		}
		p.Line("    cassidy tool run %s", ui.VisibleLine(t.Name+calls.ShellArgs(e.Args)))
		if e.HasExpect {
			p.Line("    → %s", ui.Brief(value.FormatJSON(e.Expect, ""), ui.PageWidth-6))
		}
	}
}

func schemaCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "print the definition of a tool as a model gets it", ArgsUsage: "NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "print the definition in `FORMAT`: json-schema, openai, anthropic or mcp", Value: string(tool.JSONSchema)},
		},
		Action: c.aboutTool(func(ctx *cli.Context, t toolset.Info) error {
			d, err := t.Definition(tool.Format(ctx.String("format")))
			if err != nil {
				return err
			}
			if t.State == toolset.Untrusted {
				c.Note("the tool '%s' is untrusted: %s", t.Name, t.Reason)
			}
			if c.JSON {
				return c.PrintJSON(d)
			}
			c.PrintIndented(d)
			return nil
		}),
	}
}

func overheadCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "overhead", Usage: "estimate the tokens that tool definitions take in a model's context", ArgsUsage: "[NAME|@GROUP|preset:NAME …]",
		Description: selectionHelp + "Without arguments, the estimate is for all tools.",
		Action: c.WithHost(func(ctx *cli.Context, h *host.Host) error {
			agents.RegisterForHelp(h)
			tools, err := h.Select(ctx.Args().Slice()...)
			if err != nil {
				return err
			}
			names := ui.Map(tools, func(t toolset.Info) string { return t.Name })
			each, total := h.Overhead(names...)
			if c.JSON {
				return c.PrintJSON(overheadDict(tools, each, total))
			}
			c.printOverhead(names, each, total)
			return nil
		}),
	}
}

func overheadDict(tools []toolset.Info, each []int, total int) *value.Dict {
	tokens, descriptions := &value.Dict{}, &value.Dict{}
	for i, t := range tools {
		tokens.Put(t.Name, int64(each[i]))
		descriptions.Put(t.Name, t.Description)
	}
	return value.NewDict("base", int64(tool.BaseOverhead), "tools", tokens, "descriptions", descriptions,
		"tool_count", int64(len(tools)), "total", int64(total), "limit", int64(tool.TokenLimit), "percent", percentOfLimit(total))
}

func percentOfLimit(total int) float64 {
	return float64(int(1000*float64(total)/tool.TokenLimit+0.5)) / 10
}

func (c *command) printOverhead(names []string, each []int, total int) {
	width := len("total")
	for _, name := range names {
		width = max(width, len(name))
	}
	p := toolPage{ui.Page{Paint: c.Paint()}}
	p.Line("%s  %6d tokens", ui.Pad("base", width), tool.BaseOverhead)
	for i, name := range names {
		p.Line("%s  %6d", ui.Pad(name, width), each[i])
	}
	p.Line("%s  %6d (%.1f%% of %dk token limit)", p.Paint(ui.Bold, ui.Pad("total", width)), total, percentOfLimit(total), tool.TokenLimit/1000)
	c.Print(p.String())
	if 10*total > tool.TokenLimit {
		c.Note("the tools take more than 10%% of the token limit: offer fewer tools, such as a group or a preset")
	}
}
