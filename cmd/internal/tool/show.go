package tool

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
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
	if e.Kind != value.NotFound || e.Pos.File != "" { // a file that is there has an error
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
		Action: c.aboutTool(c.printInfo),
	}
}

func (c *command) printInfo(_ *cli.Context, t toolset.Info) error {
	if c.JSON {
		return c.PrintJSON(describe.Tool(&t))
	}
	p := calls.NewPage(c.App)
	p.Head(&t)
	p.Text("", ui.Printable(t.Summary()))
	p.Facts(&t.Tool)
	p.Params(&t.Tool, false)
	c.Print(p.String())
	return nil
}

func helpCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "help", Usage: "describe a tool in full", ArgsUsage: "NAME",
		Action: c.aboutTool(c.printHelp),
	}
}

func (c *command) printHelp(_ *cli.Context, t toolset.Info) error {
	if c.JSON {
		return c.PrintJSON(describe.FullTool(&t))
	}
	c.Print(calls.HelpPage(c.App, &t))
	return nil
}

func schemaCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "print the definition of a tool as a model gets it", ArgsUsage: "NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "print the definition in `FORMAT`: json-schema, openai, anthropic or mcp", Value: string(tool.JSONSchema)},
		},
		Action: c.aboutTool(c.printSchema),
	}
}

func (c *command) printSchema(ctx *cli.Context, t toolset.Info) error {
	d, err := t.Definition(tool.Format(ctx.String("format")))
	if err != nil {
		return err
	}
	if t.State == toolset.Untrusted {
		c.Warn("the tool '%s' is untrusted: %s", t.Name, t.Reason)
	}
	if c.JSON {
		return c.PrintJSON(d)
	}
	c.PrintIndented(d)
	return nil
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
			each, total := make([]int, len(tools)), tool.BaseOverhead
			for i := range tools {
				each[i] = tools[i].EstimateOverhead()
				total += each[i]
			}
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
	share := fmt.Sprintf("(%.1f%% of %dk token limit)", percentOfLimit(total), tool.TokenLimit/1000)
	if s := c.ScreenOf(c.Out); s.Width > 0 {
		t := &draw.Table{Columns: []draw.Column{{Name: "tool"}, {Name: "tokens", Right: true}}, Rows: [][]string{{"base", draw.Thousands(tool.BaseOverhead)}}, AllRows: true}
		for i, name := range names {
			t.Rows = append(t.Rows, []string{ui.VisibleLine(name), draw.Thousands(each[i])})
		}
		t.Rows = append(t.Rows, []string{"total", draw.Thousands(total)})
		c.PrintLines(append(s.Table(t, ""), s.Paint(draw.Dim, share)))
	} else {
		var b strings.Builder
		fmt.Fprintf(&b, "%s  %6d tokens\n", draw.Pad("base", width, false), tool.BaseOverhead)
		for i, name := range names {
			fmt.Fprintf(&b, "%s  %6d\n", draw.Pad(name, width, false), each[i])
		}
		fmt.Fprintf(&b, "%s  %6d %s\n", s.Paint(draw.Bold, draw.Pad("total", width, false)), total, share)
		c.Print(b.String())
	}
	if 10*total > tool.TokenLimit {
		c.Warn("the tools take more than 10%% of the token limit: offer fewer tools, such as a group or a preset")
	}
}
