package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// aboutTool is a command about one tool, which its argument names.
func (c *command) aboutTool(do func(ctx *cli.Context, h *host.Host, t tool.Tool) error, more ...string) cli.ActionFunc {
	return c.withHost(func(ctx *cli.Context, h *host.Host) error {
		args, err := exactly(ctx, append([]string{"NAME"}, more...)...)
		if err != nil {
			return err
		}
		t, err := c.find(h, args[0])
		if err != nil {
			return err
		}
		return do(ctx, h, t)
	})
}

// find returns a tool by its name. If there is none but a broken file has that
// name, the file's error says more.
func (c *command) find(h *host.Host, name string) (tool.Tool, error) {
	t, err := h.Tool(name)
	if err == nil {
		return t, nil
	}
	e := *value.ErrorOf(err, value.NotFound)
	if e.Kind != value.NotFound {
		return t, &e
	}
	e.Err = fmt.Errorf("%s", strings.Replace(e.Err.Error(), "Unknown tool", "Tool not found", 1))
	return t, (&e).WithHint("cassidy tool list shows the tools")
}

func infoCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "info", Usage: "tell in short what a tool is and takes", ArgsUsage: "NAME",
		Action: c.aboutTool(func(_ *cli.Context, _ *host.Host, t tool.Tool) error {
			if c.JSON {
				return c.PrintJSON(describe(&t))
			}
			p := toolPage{ui.Page{Paint: c.Paint()}}
			p.head(&t)
			p.Text(t.Summary())
			p.facts(&t)
			p.params(&t, false)
			c.Print(p.String())
			return nil
		}),
	}
}

func helpCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "help", Usage: "explain a tool in full", ArgsUsage: "NAME",
		Action: c.aboutTool(func(_ *cli.Context, _ *host.Host, t tool.Tool) error {
			if c.JSON {
				return c.PrintJSON(fullDescription(&t))
			}
			c.Print(helpPage(&t, c.Paint()))
			return nil
		}),
	}
}

// fullDescription adds to what a list tells of a tool its result, examples and
// limits.
func fullDescription(t *tool.Tool) *value.Dict {
	d := describe(t)
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

// A toolPage is text about a tool for a person.
type toolPage struct{ ui.Page }

func (p *toolPage) head(t *tool.Tool) {
	p.Line("%s — %s", p.Paint(ui.Bold, t.Name), ui.Printable(t.DisplayTitle()))
	if d := t.Deprecated; d != nil {
		note := "DEPRECATED"
		if d.Since != "" {
			note += " since " + d.Since
		}
		p.Line("%s", p.Paint(ui.Yellow, ui.Printable(note)))
		if d.Message != "" {
			p.Text(d.Message)
		}
		if d.Replacement != "" {
			p.Line("Use %s instead.", ui.Printable(d.Replacement))
		}
	}
	if t.State != tool.Ready {
		p.Line("%s", p.Paint(ui.Yellow, "Not to be used now ("+string(t.State)+"): "+ui.Printable(t.Reason)))
	}
	p.Line("")
}

func (p *toolPage) facts(t *tool.Tool) {
	p.Line("")
	p.Fact("Group", t.DisplayGroup())
	risky := "no"
	if t.NeedsApproval() {
		risky = "yes (requires approval in safe mode)"
	}
	p.Fact("Risky", risky)
	var hints []string
	d := hintDict(t.Hints)
	for k, v := range d.All() {
		if v == true {
			hints = append(hints, strings.ReplaceAll(k.(string), "_", "-"))
		}
	}
	p.Fact("Hints", strings.Join(hints, ", "))
}

func (p *toolPage) params(t *tool.Tool, full bool) {
	shown := slices.DeleteFunc(slices.Clone(t.Params), func(x tool.Param) bool { return x.FromHost })
	if len(shown) == 0 {
		if len(t.Schema) == 0 {
			p.Title("Parameters")
			p.Line("  none")
		}
		return
	}
	p.Title("Parameters")
	width := 0
	for _, x := range shown {
		width = max(width, len(x.Name))
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

// constraints says in words what a parameter's value must be.
func constraints(x *tool.Param) []string {
	var c []string
	t := x.Type
	if t.Min != nil {
		c = append(c, "min: "+value.FormatJSON(t.Min, ""))
	}
	if t.Max != nil {
		c = append(c, "max: "+value.FormatJSON(t.Max, ""))
	}
	if t.MinLength != nil {
		c = append(c, fmt.Sprintf("min length: %d", *t.MinLength))
	}
	if t.MaxLength != nil {
		c = append(c, fmt.Sprintf("max length: %d", *t.MaxLength))
	}
	if t.Pattern != "" {
		c = append(c, "pattern: "+t.Pattern)
	}
	if len(t.Enum) > 0 {
		values := make([]string, len(t.Enum))
		for i, v := range t.Enum {
			values[i] = value.FormatJSON(v, "")
		}
		c = append(c, "one of: "+strings.Join(values, ", "))
	}
	if len(x.Aliases) > 0 {
		c = append(c, "also: "+strings.Join(x.Aliases, ", "))
	}
	return c
}

// helpPage is all there is to know of a tool.
func helpPage(t *tool.Tool, paint func(code, text string) string) string {
	p := toolPage{ui.Page{Paint: paint}}
	p.head(t)
	p.Text(t.Description)
	p.Title("Usage")
	p.Line("  cassidy tool run %s", usage(t))
	p.params(t, true)
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
	p.examples(t)
	p.facts(t)
	p.needs(t)
	p.Fact("Tags", strings.Join(t.Tags, ", "))
	p.Fact("Version", t.Version)
	if t.Timeout > 0 {
		p.Fact("Timeout", t.Timeout.String())
	}
	p.Fact("From", strings.TrimSpace(string(t.Location)+" "+t.Path))
	p.Fact("Overhead", fmt.Sprintf("about %d tokens of a model's context", t.EstimateOverhead()))
	return p.String()
}

// fields lists the properties of a result.
func (p *toolPage) fields(fields []tool.Param) {
	width := 0
	for _, f := range fields {
		width = max(width, len(f.Name))
	}
	for _, f := range fields {
		p.WriteString(ui.Wrap(ui.Printable(f.Description), fmt.Sprintf("    %s  (%s) ", ui.Pad(f.Name, width), f.Type), ui.PageWidth))
	}
}

func (p *toolPage) needs(t *tool.Tool) {
	names := make([]string, len(t.Needs))
	for i, c := range t.Needs {
		names[i] = c.String()
	}
	if len(names) == 0 {
		names = []string{"nothing: it can only compute"}
	}
	p.Fact("Needs", strings.Join(names, ", "))
}

// usage writes the call of a tool on the command line.
func usage(t *tool.Tool) string {
	parts := []string{t.Name}
	for _, x := range t.Params {
		switch {
		case x.FromHost:
		case x.Required:
			parts = append(parts, x.Name+"=…")
		default:
			parts = append(parts, "["+x.Name+"=…]")
		}
	}
	return strings.Join(parts, " ")
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
		p.Line("    cassidy tool run %s", ui.Printable(t.Name+shellArgs(e.Args)))
		if e.HasExpect {
			p.Line("    → %s", ui.Clip(ui.Printable(value.FormatJSON(e.Expect, "")), ui.PageWidth-6))
		}
	}
}

// shellArgs writes arguments as they are typed: key=value, quoted where a
// shell would read more into it.
func shellArgs(args *value.Dict) string {
	var b strings.Builder
	for k, v := range args.All() {
		name, _ := k.(string)
		b.WriteString(" " + name + "=" + shellQuote(argText(v)))
	}
	return b.String()
}

// argText writes a value as one types it: a list of words with commas between,
// anything else but a string as JSON.
func argText(v value.Value) string {
	if s, ok := v.(string); ok {
		return s
	}
	items, _ := value.Elements(v)
	words := make([]string, len(items))
	for i, item := range items {
		word, ok := item.(string)
		if !ok || word == "" || strings.ContainsAny(word, ",[{ ") {
			return value.FormatJSON(v, "")
		}
		words[i] = word
	}
	if len(words) == 0 {
		return value.FormatJSON(v, "")
	}
	return strings.Join(words, ",")
}

func shellQuote(text string) string {
	plain := func(r rune) bool {
		return r < 0x80 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("_-./,:@%+", r))
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func schemaCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "print a tool's definition for a model", ArgsUsage: "NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "`FORMAT`: json-schema, openai, anthropic or mcp", Value: string(tool.JSONSchema)},
		},
		Action: c.aboutTool(func(ctx *cli.Context, _ *host.Host, t tool.Tool) error {
			d, err := t.Definition(tool.Format(ctx.String("format")))
			if err != nil {
				return err
			}
			if t.State == tool.Untrusted {
				c.Note("the tool '%s' is untrusted: %s", t.Name, t.Reason)
			}
			if c.JSON {
				return c.PrintJSON(d)
			}
			c.Print(value.FormatJSON(d, "  ") + "\n")
			return nil
		}),
	}
}

func overheadCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "overhead", Usage: "estimate what tools cost of a model's context", ArgsUsage: "[NAME|@GROUP|preset:NAME …]",
		Action: c.withHost(func(ctx *cli.Context, h *host.Host) error {
			tools, err := h.Select(ctx.Args().Slice()...)
			if err != nil {
				return err
			}
			names := make([]string, len(tools))
			for i := range tools {
				names[i] = tools[i].Name
			}
			each, total := h.Overhead(names...)
			if c.JSON {
				return c.PrintJSON(overheadDict(names, each, total))
			}
			c.printOverhead(names, each, total)
			return nil
		}),
	}
}

func overheadDict(names []string, each []int, total int) *value.Dict {
	tools := &value.Dict{}
	for i, name := range names {
		tools.Put(name, int64(each[i]))
	}
	return value.NewDict("base", int64(tool.BaseOverhead), "tools", tools, "total", int64(total),
		"limit", int64(tool.TokenLimit), "percent", percentOfLimit(total))
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
		c.Note("the tools take more than 10%% of the limit; offer fewer with a group or a preset")
	}
}
