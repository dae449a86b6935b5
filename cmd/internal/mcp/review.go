package mcp

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/servers"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/lockfile"
	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/runtime/mcp/attached"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func reviewCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "review", Usage: "review the tools of an attached server, and accept them", ArgsUsage: "SERVER",
		Description: "SERVER is the name of an entry in .cassidy/mcp.json of the project, or in your own mcp.json. The command starts the server, or\n" +
			"connects to its URL, and shows the descriptions of its tools, or the changes since your last review. A server is used only after you have accepted its\n" +
			"tools. If these tools change later, all calls to the server are refused until you review its tools again.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "yes", Usage: "accept the tools without asking"},
		},
		Action: c.review,
	}
}

// A toolReview is the review of the tools of one server.
type toolReview struct {
	*command
	servers *servers.Options
	entry   *servers.Entry
	tools   attached.Set
	changes []attached.Change
	first   bool // there was no review before
	hidden  review.Hidden
}

func (c *command) review(ctx *cli.Context) error {
	name := ctx.Args().First()
	if name == "" {
		return value.Errorf(value.Invalid, "SERVER is missing").WithHint("cassidy mcp review SERVER")
	}
	root, err := c.Root()
	if err != nil {
		return err
	}
	r := &toolReview{command: c, servers: c.Servers(root)}
	if r.entry, err = r.servers.Find(name); err != nil {
		return err
	}
	if r.tools, err = r.servers.Fetch(ctx.Context, r.entry); err != nil {
		return err
	}
	if r.entry.Location == tool.Project && !c.JSON {
		c.compareLock(root, name, r.tools)
	}
	before, known := r.servers.Reviewed(r.entry)
	r.changes, r.first = before.Compare(r.tools), !known
	return r.decide(ctx, ctx.Bool("yes"))
}

// compareLock reports whether a server offers what the project has locked: what others have reviewed.
func (c *command) compareLock(root, name string, tools attached.Set) {
	lock, _ := lockfile.Read(root) // without a lock there is nothing to compare
	switch locked, ok := lock.Server(name); {
	case !ok:
	case locked.Digest == tools.Digest():
		c.Did("the tools of %s are as in %s", name, lockfile.Name)
	default:
		c.Warn("the tools of %s differ from %s", name, lockfile.Name)
	}
}

// notAsked is the error of a review that asks nobody.
func (r *toolReview) notAsked() *value.Error {
	if r.JSON {
		return value.Errorf(value.Denied, "nothing was accepted: with --json, the command does not ask").
			WithHint("review the list above, then run cassidy mcp review %s --yes", r.entry.Name)
	}
	return value.Errorf(value.Denied, "nothing was accepted: no terminal is available to ask").
		WithHint("run the command on a terminal; or review the list above, then run cassidy mcp review %s --yes", r.entry.Name)
}

// decide shows what is new, and asks about it.
func (r *toolReview) decide(ctx *cli.Context, yes bool) error {
	yes = yes || !r.first && len(r.changes) == 0
	if !r.JSON {
		r.hidden = r.show(!r.Asks(r.In))
	}
	for _, name := range r.entry.Unpinned() {
		r.Warn("%s is not pinned: each start may run another version; to pin it, write the exact version behind its name in %s", value.Clean(name, 80), r.entry.Path)
	}
	for _, what := range attached.Mended(r.tools) {
		r.Warn("left out of the schema of %s", what)
	}
	r.ReportAll(attached.Broken(r.servers.Describe(r.entry), r.tools))
	if !yes && r.Asks(r.In) {
		var err error
		if yes, err = r.ask(ctx.Context); err != nil || !yes {
			r.Note("nothing was accepted")
			return err
		}
	}
	if yes {
		if err := r.servers.Accept(r.entry, r.tools); err != nil {
			return err
		}
	}
	if r.JSON {
		if err := r.PrintJSON(r.json(yes)); err != nil {
			return err
		}
	}
	switch {
	case !yes:
		e := r.notAsked()
		r.Report(e)
		return ui.Reported(e)
	case !r.first && len(r.changes) == 0:
		r.Did("the tools of %s are as you reviewed them (%s)", r.entry.Name, ui.Count(r.tools.Len(), "tool"))
	default:
		r.Did("accepted %s of %s", ui.Count(r.tools.Len(), "tool"), r.entry.Name)
	}
	return nil
}

// ask asks whether to accept the tools.
func (r *toolReview) ask(ctx context.Context) (yes bool, err error) {
	in := r.Terminal(r.In)
	n := ui.Count(r.tools.Len(), "tool")
	for {
		s := r.ScreenOf(r.Err)
		in.Drop() // what was typed before
		choices := []string{"y yes", "N no", "v view all"}
		if r.hidden.Any() {
			choices = []string{"v view all first, then y", "N no"}
		}
		in.PrintLines(s.Message(draw.Asks, s.Paint(draw.Bold, "Accept "+n+" of "+ui.VisibleLine(r.entry.Name)+"?")))
		in.Print(s.Prompt(choices...))
		line, err := in.ReadLine(ctx)
		if err != nil {
			return false, ctx.Err()
		}
		switch word := strings.ToLower(strings.TrimSpace(line)); {
		case word == "v" || word == "view":
			if !ui.IsTerminal(r.Err) {
				r.hidden = r.show(true)
			} else if p := r.page(true); approve.View(ctx, r.Printer, in, p.String()) {
				r.hidden = p.Hidden
			}
		case word != "y" && word != "yes":
			return false, nil
		case !r.hidden.Any():
			return true, nil
		}
	}
}

// show prints each new or changed definition. It returns what must be seen before a yes and was not shown.
func (r *toolReview) show(all bool) review.Hidden {
	p := r.page(all)
	r.Print(p.String())
	return p.Hidden
}

// page describes each new or changed definition: all texts of it that a model reads, or all of it.
func (r *toolReview) page(all bool) *approve.Page {
	p := &approve.Page{Screen: r.ScreenOf(r.Out), All: all}
	if len(r.changes) == 0 {
		return p
	}
	state := "changed"
	if r.first {
		state = "new"
	}
	title := p.Paint(draw.Bold, ui.VisibleLine(r.entry.Name)) + p.Between() + ui.Count(len(r.changes), "tool") + ", " + state
	p.Lines(p.Head(draw.None, title, p.Paint(draw.Dim, "(claims of the server)")))
	list := definitions(r.changes)
	for i := range list {
		r.definition(p, &list[i])
	}
	return p
}

// definition writes the definition of a tool.
func (r *toolReview) definition(p *approve.Page, d *definition) {
	name := p.Paint(draw.Bold, ui.VisibleLine(d.Tool))
	if !r.first {
		name += "  " + d.What
	}
	if d.What == "removed" {
		p.Lines(p.Message(draw.None, name))
		return
	}
	if len(d.params) > 0 {
		name += "  " + ui.VisibleLine(strings.Join(d.params, " "))
	}
	p.Lines(p.Head(d.mark(), name, p.Paint(draw.Dim, "says: "+d.says.String())))
	text := &review.Review{}
	switch {
	case d.What == "changed":
		text.Diff(d.Old, d.New)
	case p.All:
		text.Text(d.New)
	default:
		for _, t := range d.texts {
			text.Text(t)
		}
	}
	p.Rows(text)
	p.Marks(text)
}

func (r *toolReview) json(accepted bool) *value.Dict {
	list := value.List{}
	for _, c := range r.changes {
		list = append(list, value.NewDict("tool", c.Tool, "change", c.What, "before", c.Old, "now", c.New))
	}
	return value.NewDict("server", r.entry.Name, "file", r.entry.Path, "tools", r.tools.Len(), "digest", r.tools.Digest(), "changes", list, "unpinned", texts(r.entry.Unpinned()), "left_out", texts(attached.Mended(r.tools)), "accepted", accepted)
}
