package tool

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func listCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the tools, and the errors in their files", ArgsUsage: "[NAME|@GROUP|preset:NAME …]",
		Description: selectionHelp + "Without arguments, all tools are listed.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "group", Usage: "list only tools of `GROUP`"},
			&cli.StringFlag{Name: "location", Usage: "list only tools from `WHERE`: project, personal, builtin, custom (project and personal) or all", Value: "all"},
			&cli.BoolFlag{Name: "available", Usage: "list only tools that can be called"},
			&cli.BoolFlag{Name: "strict", Usage: "exit with code 1 if the file of a tool is invalid"},
		},
		Action: c.WithHost(c.listTools),
	}
}

func (c *command) listTools(ctx *cli.Context, h *host.Host) error {
	location := ctx.String("location")
	if err := app.CheckWord("location", location, "all", "custom", "project", "personal", "builtin"); err != nil {
		return err
	}
	agents.RegisterForHelp(h)
	tools, err := selected(h, ctx.Args().Slice())
	if err != nil {
		return err
	}
	tools = slices.DeleteFunc(tools, func(t toolset.Head) bool { return !wanted(ctx, &t) })
	if group := ctx.String("group"); group != "" && len(tools) == 0 {
		c.Note("no tools found in group %q%s", group, value.DidYouMean(group, slices.Sorted(maps.Keys(groupsOf(h)))))
	}
	var list value.List
	if c.JSON {
		for i := range tools {
			t, err := h.Tool(tools[i].Name)
			if err != nil {
				return err
			}
			list = append(list, describe.Tool(&t))
		}
	}
	return c.printTools(ctx, tools, list, h.Broken())
}

// wanted reports whether the flags select a tool.
func wanted(ctx *cli.Context, t *toolset.Head) bool {
	location, group := ctx.String("location"), ctx.String("group")
	here := location == "all" || location == string(t.Location) || location == "custom" && t.Location != tool.Builtin
	return here && (group == "" || t.DisplayGroup() == group) && (!ctx.Bool("available") || t.State == toolset.Ready)
}

// printTools prints a list of tools, with --json as list has it.
func (c *command) printTools(ctx *cli.Context, tools []toolset.Head, list value.List, broken []*value.Error) error {
	if c.JSON {
		if err := c.PrintJSON(value.NewDict("tools", slices.Concat(value.List{}, list), "errors", describe.ErrorList(broken))); err != nil {
			return err
		}
	} else {
		c.printList(tools)
		c.ReportAll(broken)
		calls.ReportUntrusted(c.App, tools)
		if ui.IsTerminal(c.Err) || len(tools) == 0 {
			c.listFooter(ctx.String("location"), tools)
		}
	}
	if ctx.Bool("strict") && len(broken) > 0 {
		return ui.ErrSilent
	}
	return nil
}

// selected returns the heads of the tools that words name, or of all tools.
func selected(h *host.Host, words []string) ([]toolset.Head, error) {
	if len(words) == 0 {
		return h.List(), nil
	}
	tools, err := h.Select(words...)
	return ui.Map(tools, func(t toolset.Info) toolset.Head { return toolset.Head{Head: t.Tool.Head(), Standing: t.Standing} }), err
}

// printList prints tools by group, a line each.
func (c *command) printList(tools []toolset.Head) {
	groups := map[string][]*toolset.Head{}
	var names []string
	for i := range tools {
		t := &tools[i]
		groups[t.DisplayGroup()] = append(groups[t.DisplayGroup()], t)
		names = append(names, t.Name)
	}
	width := draw.NameWidth(names)
	p := draw.Page{Screen: c.ScreenOf(c.Out)}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		p.Group(group, len(groups[group]))
		members := groups[group]
		slices.SortStableFunc(members, func(x, y *toolset.Head) int { return strings.Compare(x.Name, y.Name) })
		p.List("  ", width, ui.Map(members, c.entryOf))
		p.Line("")
	}
	c.Print(p.String())
}

// entryOf describes a tool in the list.
func (c *command) entryOf(t *toolset.Head) draw.Entry {
	marks := make([]string, 0, 4)
	mark := draw.None
	switch t.State {
	case toolset.Ready:
	case toolset.Untrusted:
		mark = draw.Asks
	default:
		mark = draw.Failed
	}
	if mark != draw.None {
		marks = append(marks, string(t.State)+": "+c.Reason(t.Reason))
	}
	if t.NeedsApproval() {
		marks = append(marks, "asks before it runs")
	}
	if t.IsDeprecated {
		marks = append(marks, "deprecated")
	}
	switch t.Location {
	case tool.Builtin:
	case tool.Embedded:
		if calls.ServerOf(t.Name) == "" {
			marks = append(marks, "only for models and workflows")
		}
	default:
		marks = append(marks, string(t.Location))
	}
	return draw.Entry{Mark: mark, Name: t.Name, Text: ui.VisibleLine(t.Summary()), Remarks: ui.Map(marks, ui.VisibleLine)}
}

func (c *command) listFooter(location string, tools []toolset.Head) {
	if len(tools) == 0 && location != "all" {
		c.Note("No custom tools found; to create one: cassidy tool new NAME")
		return
	}
	c.Note("to describe a tool: cassidy tool info NAME; to list a group: cassidy tool list --group GROUP")
}

func groupsCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "groups", Usage: "list the groups of tools, and the number of tools in each",
		Action: c.WithHost(func(ctx *cli.Context, h *host.Host) error {
			groups := groupsOf(h)
			list := value.List{}
			p := draw.Page{Screen: c.ScreenOf(c.Out)}
			for _, name := range slices.Sorted(maps.Keys(groups)) {
				list = append(list, value.NewDict("name", name, "tools", int64(groups[name])))
				p.Long("", ui.VisibleLine(name)+": "+ui.Count(groups[name], "tool"))
			}
			if c.JSON {
				return c.PrintJSON(value.NewDict("groups", list))
			}
			c.Print(p.String())
			return nil
		}),
	}
}

// groupsOf counts the tools of each group.
func groupsOf(h *host.Host) map[string]int {
	groups := map[string]int{}
	for _, t := range h.List() {
		groups[t.DisplayGroup()]++
	}
	return groups
}

func refreshCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "refresh", Usage: "clear the cache, and reload all tools",
		Action: func(ctx *cli.Context) error {
			if err := clearCache(c.App); err != nil {
				return err
			}
			return c.WithHost(c.reportRefreshed)(ctx)
		},
	}
}

func (c *command) reportRefreshed(_ *cli.Context, h *host.Host) error {
	tools, broken := h.List(), h.Broken()
	if c.JSON {
		return c.PrintJSON(value.NewDict("tools", int64(len(tools)), "errors", describe.ErrorList(broken)))
	}
	c.Did("Tool cache refreshed: %d tools", len(tools))
	c.ReportAll(broken)
	return nil
}

// clearCache removes the indexes.
func clearCache(a *app.App) error {
	if a.Cache() == "" {
		return nil
	}
	old, err := filepath.Glob(filepath.Join(a.Cache(), "tools-*.idx"))
	if err != nil {
		return value.Errorf(value.Internal, "%w", err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return ui.FileError(err)
		}
	}
	return nil
}
