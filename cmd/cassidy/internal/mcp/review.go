package mcp

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/servers"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
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
		c.Note("the tools of %s are as in %s", name, lockfile.Name)
	default:
		c.Note("the tools of %s differ from %s", name, lockfile.Name)
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
		r.show()
	}
	for _, name := range r.entry.Unpinned() {
		r.Note("%s is not pinned: each start may run another version; to pin it, write the exact version behind its name in %s", value.Clean(name, 80), r.entry.Path)
	}
	r.ReportAll(attached.Broken(r.servers.Describe(r.entry), r.tools))
	if !yes && !r.JSON && ui.IsTerminal(r.In) {
		in := &ui.Terminal{In: r.In, Out: r.Err}
		in.Print("accept these tools of " + r.entry.Name + "? [y/N] ")
		line, err := in.ReadLine(ctx.Context)
		word := strings.ToLower(strings.TrimSpace(line))
		if err != nil || word != "y" && word != "yes" {
			r.Note("nothing was accepted")
			return ctx.Context.Err()
		}
		yes = true
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
		r.Note("the tools of %s are as you reviewed them (%s)", r.entry.Name, ui.Count(r.tools.Len(), "tool"))
	default:
		r.Note("accepted %s of %s", ui.Count(r.tools.Len(), "tool"), r.entry.Name)
	}
	return nil
}

// show prints each new or changed definition.
func (r *toolReview) show() {
	p := &approve.Page{Page: ui.Page{Paint: r.Paint()}, Width: ui.WidthOf(r.Out), All: true}
	for _, c := range r.changes {
		p.Line("\n%s  %s", p.Paint(ui.Bold, ui.VisibleLine(r.entry.Name+"."+c.Tool)), p.Paint(ui.Yellow, c.What))
		switch c.What {
		case "changed":
			p.Diff(c.Old, c.New)
		case "added":
			text := &review.Review{}
			text.Text(c.New)
			p.Rows(text)
		}
	}
	r.Print(p.String())
}

func (r *toolReview) json(accepted bool) *value.Dict {
	list := value.List{}
	for _, c := range r.changes {
		list = append(list, value.NewDict("tool", c.Tool, "change", c.What, "before", c.Old, "now", c.New))
	}
	return value.NewDict("server", r.entry.Name, "file", r.entry.Path, "tools", r.tools.Len(), "digest", r.tools.Digest(), "changes", list, "unpinned", texts(r.entry.Unpinned()), "accepted", accepted)
}
