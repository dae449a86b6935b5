package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func listCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list the tools, and the files that are not right",
		ArgsUsage: "[NAME|@GROUP|preset:NAME …]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "group", Usage: "only the tools of `GROUP`"},
			&cli.StringFlag{Name: "location", Usage: "only those from `WHERE`: all, custom, project, personal or builtin", Value: "all"},
			&cli.BoolFlag{Name: "available", Usage: "only tools that can be used here"},
			&cli.BoolFlag{Name: "strict", Usage: "end with code 1 if any file is not right"},
		},
		Action: c.withHost(c.listTools),
	}
}

func (c *command) listTools(ctx *cli.Context, h *host.Host) error {
	keep, err := locationFilter(ctx.String("location"))
	if err != nil {
		return err
	}
	tools, err := selected(h, ctx.Args().Slice())
	if err != nil {
		return err
	}
	group, available := ctx.String("group"), ctx.Bool("available")
	tools = slices.DeleteFunc(tools, func(t tool.Head) bool {
		return !keep(t.Location) || group != "" && t.DisplayGroup() != group || available && t.State != tool.Ready
	})
	if group != "" && len(tools) == 0 {
		c.Note("no tools found in group %q%s", group, value.DidYouMean(group, slices.Sorted(maps.Keys(h.Groups()))))
	}
	broken := h.Broken()
	if c.JSON {
		list := make(value.List, len(tools))
		for i := range tools {
			t, err := h.Tool(tools[i].Name)
			if err != nil {
				return err
			}
			list[i] = describe(&t)
		}
		if err := c.PrintJSON(value.NewDict("tools", list, "errors", ui.ErrorList(broken))); err != nil {
			return err
		}
	} else {
		c.printList(tools)
		c.ReportAll(broken)
		c.tellUntrusted(tools)
		if ui.IsTerminal(c.Err) || len(tools) == 0 {
			c.listFooter(ctx.String("location"), tools)
		}
	}
	if ctx.Bool("strict") && len(broken) > 0 {
		return ui.ErrSilent
	}
	return nil
}

// selected returns what a list shows of the tools that words name, or of all.
func selected(h *host.Host, words []string) ([]tool.Head, error) {
	if len(words) == 0 {
		return h.List(), nil
	}
	tools, err := h.Select(words...)
	heads := make([]tool.Head, len(tools))
	for i := range tools {
		heads[i] = tools[i].Head()
	}
	return heads, err
}

func locationFilter(word string) (func(tool.Location) bool, error) {
	switch word {
	case "all":
		return func(tool.Location) bool { return true }, nil
	case "custom":
		return func(l tool.Location) bool { return l != tool.Builtin }, nil
	case string(tool.Project), string(tool.Personal), string(tool.Builtin):
		return func(l tool.Location) bool { return string(l) == word }, nil
	}
	known := []string{"all", "custom", "project", "personal", "builtin"}
	return nil, value.Errorf(value.Invalid, "there is no location %q%s", word, value.DidYouMean(word, known)).
		WithHint("locations are %s", strings.Join(known, ", "))
}

// printList prints tools by group, one line each.
func (c *command) printList(tools []tool.Head) {
	groups := map[string][]*tool.Head{}
	width := 0
	for i := range tools {
		t := &tools[i]
		groups[t.DisplayGroup()] = append(groups[t.DisplayGroup()], t)
		width = max(width, min(len(t.Name), 28))
	}
	paint := c.Paint()
	var b bytes.Buffer
	b.Grow(160 * len(tools)) // a guess
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintf(&b, "%s\n", paint(ui.Bold, fmt.Sprintf("%s (%d)", ui.Printable(group), len(groups[group]))))
		members := groups[group]
		slices.SortStableFunc(members, func(x, y *tool.Head) int { return strings.Compare(x.Name, y.Name) })
		for _, t := range members {
			writeTool(&b, t, width, paint)
		}
		b.WriteString("\n")
	}
	_, _ = c.Out.Write(b.Bytes())
}

// writeTool writes the line of a tool, and its marks, if any, on one of their own.
func writeTool(b *bytes.Buffer, t *tool.Head, width int, paint func(code, text string) string) {
	marks := make([]string, 0, 4)
	if t.State != tool.Ready {
		marks = append(marks, string(t.State)+": "+t.Reason)
	}
	if t.NeedsApproval() {
		marks = append(marks, "Requires approval in safe mode")
	}
	if t.IsDeprecated {
		marks = append(marks, "deprecated")
	}
	if t.Location != tool.Builtin {
		marks = append(marks, string(t.Location))
	}
	for _, text := range []string{"  ", ui.Pad(t.Name, width), "  ", ui.Clip(ui.Printable(t.Summary()), ui.PageWidth-4-width), "\n"} {
		b.WriteString(text)
	}
	if len(marks) > 0 {
		b.WriteString(paint(ui.Dim, "  "+ui.Pad("", width)+"  ["+ui.Printable(strings.Join(marks, " · "))+"]"))
		b.WriteByte('\n')
	}
}

// tellUntrusted says how many tools wait for a review.
func (c *command) tellUntrusted(tools []tool.Head) {
	n := 0
	for i := range tools {
		if tools[i].State == tool.Untrusted {
			n++
		}
	}
	switch {
	case n == 1:
		c.Note("1 tool is untrusted: review it with cassidy trust")
	case n > 1:
		c.Note("%d tools are untrusted: review them with cassidy trust", n)
	}
}

func (c *command) listFooter(location string, tools []tool.Head) {
	if len(tools) == 0 && location != "all" {
		c.Note("No custom tools found; cassidy tool new NAME makes one")
		return
	}
	c.Note("cassidy tool info NAME tells more of one, cassidy tool list --group GROUP shows one group")
}

func groupsCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:  "groups",
		Usage: "list the groups of tools, with how many each has",
		Action: c.withHost(func(ctx *cli.Context, h *host.Host) error {
			if _, err := exactly(ctx); err != nil {
				return err
			}
			groups := h.Groups()
			list := value.List{}
			for _, name := range slices.Sorted(maps.Keys(groups)) {
				list = append(list, value.NewDict("name", name, "tools", int64(groups[name])))
				if !c.JSON {
					plural := "s"
					if groups[name] == 1 {
						plural = ""
					}
					c.Print(fmt.Sprintf("%s: %d tool%s\n", ui.Printable(name), groups[name], plural))
				}
			}
			if c.JSON {
				return c.PrintJSON(value.NewDict("groups", list))
			}
			return nil
		}),
	}
}

func refreshCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:  "refresh",
		Usage: "read all tools' files anew, whatever is remembered of them",
		Action: func(ctx *cli.Context) error {
			if _, err := exactly(ctx); err != nil {
				return err
			}
			if err := c.clearCache(); err != nil {
				return err
			}
			return c.withHost(c.tellRefreshed)(ctx)
		},
	}
}

func (c *command) tellRefreshed(_ *cli.Context, h *host.Host) error {
	tools, broken := h.List(), h.Broken()
	if c.JSON {
		return c.PrintJSON(value.NewDict("tools", int64(len(tools)), "errors", ui.ErrorList(broken)))
	}
	c.Note("Tool cache refreshed: %d tools", len(tools))
	c.ReportAll(broken)
	return nil
}
