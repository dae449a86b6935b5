package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// undoKind is what a run that takes another back is recorded as.
const undoKind = "undo"

func (c *command) undoCommand() *cli.Command {
	return &cli.Command{
		Name: "undo", Usage: "take back what a run did to files, and what its tools know how to take back", ArgsUsage: "ID",
		Description: "The last step is taken back first. A file that somebody has changed since is left alone, and ends it. What acted\n" +
			"beyond the project and cannot be taken back is listed. An undo is a run itself, and can be taken back.",
		Flags: append(approvalFlags(), &cli.StringFlag{Name: "to", Usage: "take back the step at `PLACE`, as 3.1, and those after it; without it, all"}),
		Action: func(ctx *cli.Context) error {
			words, err := exactly(ctx, "ID")
			if err != nil {
				return err
			}
			r, err := c.recordedRun(ctx, words[0])
			if err != nil {
				return err
			}
			return c.parking(func(ctx *cli.Context, h *host.Host) error {
				return c.takeBack(ctx, h, host.Undo{Run: r.ID, ID: agent.NewID(), Parks: !ctx.Bool("deny")}, ctx.String("to"))
			})(ctx)
		},
	}
}

// takeBack takes a run back, and tells what came of it.
func (c *command) takeBack(ctx *cli.Context, h *host.Host, u host.Undo, to string) error {
	if to != "" {
		var err error
		if u.To, err = history.ParsePlace(to); err != nil {
			return err
		}
	}
	out, err := h.UndoRun(ctx.Context, u)
	if out == nil || value.KindOf(err) == value.Parked {
		return err
	}
	if !c.JSON {
		c.printUndone(u.Run, out)
		return err
	}
	if e := c.PrintJSON(undoneDict(u.Run, out, err)); e != nil || err == nil {
		return e
	}
	told := value.ErrorOf(err, value.Failed)
	c.Report(told)
	return ui.Reported(told)
}

// printUndone tells a person what was taken back, and what was not.
func (c *command) printUndone(run string, out *host.Undone) {
	c.Print(undoneText(run, out))
	if slices.ContainsFunc(out.Done, func(s host.UndoneStep) bool { return !s.Already() }) {
		c.Note("cassidy runs undo %s takes this back", out.ID)
	}
}

func undoneText(run string, out *host.Undone) string {
	var b strings.Builder
	for _, s := range out.Done {
		if s.Already() {
			b.WriteString("was taken back already: step " + s.Place.String() + "  " + ui.VisibleLine(s.What) + "\n")
			continue
		}
		b.WriteString("took back step " + s.Place.String() + "  " + ui.VisibleLine(s.What) + changedFiles(s.Value) + "\n")
	}
	if s := out.Failed; s != nil {
		b.WriteString("not taken back: step " + s.Place.String() + "  " + ui.VisibleLine(s.What) + "\n")
	}
	for _, s := range out.Left {
		b.WriteString("not tried: step " + s.Place.String() + "  " + ui.VisibleLine(s.What) + "\n")
	}
	for _, s := range out.Lasting {
		b.WriteString("cannot be taken back: step " + s.Place.String() + "  " + ui.VisibleLine(ui.Clip(s.What, ui.LineWidth)) + "\n")
	}
	if b.Len() == 0 {
		return "The run " + run + " did nothing that could be taken back\n"
	}
	return b.String()
}

// changedFiles names the files that an effect has changed.
func changedFiles(v value.Value) string {
	list, _ := value.Elements(v)
	var words []string
	for _, item := range list {
		if d, ok := item.(*value.Dict); ok && d.Has("path") {
			words = append(words, d.Text("action")+" "+d.Text("path"))
		}
	}
	if len(words) == 0 {
		return ""
	}
	const most = 8
	more := ""
	if len(words) > most {
		more = " and " + strconv.Itoa(len(words)-most) + " more"
		words = words[:most]
	}
	return ": " + ui.VisibleLine(strings.Join(words, ", ")) + more
}

// undoneDict is the same for programs.
func undoneDict(run string, out *host.Undone, err error) *value.Dict {
	steps := func(list []host.UndoneStep) value.List {
		all := value.List{}
		for _, s := range list {
			all = append(all, value.NewDict("place", s.Place.String(), "what", s.What, "value", s.Value))
		}
		return all
	}
	d := value.NewDict("run", run, "undo", out.ID, "success", err == nil, "done", steps(out.Done), "failed", nil, "left", steps(out.Left), "lasting", steps(out.Lasting))
	if out.Failed != nil {
		d.Put("failed", value.NewDict("place", out.Failed.Place.String(), "what", out.Failed.What))
	}
	if err != nil {
		e := value.ErrorOf(err, value.Failed)
		d.Put("error", e.Message())
		d.Put("error_type", e.Kind.Type())
		d.Put("suggestion", e.Hint)
	}
	return d
}
