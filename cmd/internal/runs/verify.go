package runs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func verifyCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "check that no record was changed", ArgsUsage: "[ID]",
		Description: "Each part of a record has a hash that covers the part before it. The command reads the complete records of all runs, or of one\n" +
			"run, compares the hashes, and prints the last hash of each record: its head. A changed, removed or moved part is an error.\n" +
			"Someone who can write to the journal can also compute all hashes anew. To find that, keep the heads where they cannot write,\n" +
			"and compare later: cassidy runs verify --json > heads.json, and then cassidy runs verify --heads heads.json.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "head", Usage: "the record must contain this `HEAD`; without ID, one of the records"},
			&cli.StringFlag{Name: "heads", Usage: "the records must contain the heads in `FILE`, the output of an earlier verify --json"},
		},
		Action: c.WithRuns(c.verify),
	}
}

// A verification is the record of a run, as the command verify finds it.
type verification struct {
	history.Verified
	id  string
	err error
}

func (c *command) verify(ctx *cli.Context, j *history.Journal) error {
	head := ctx.String("head")
	if ctx.IsSet("head") && ctx.IsSet("heads") {
		return value.Errorf(value.Invalid, "--head and --heads exclude each other").WithHint("use --heads FILE for several heads")
	}
	var kept map[string]string
	if ctx.IsSet("heads") { // also with "", as of an unset variable: to compare nothing would look like a success
		var err error
		if kept, err = keptHeads(ctx.String("heads")); err != nil {
			return err
		}
	}
	if ctx.IsSet("head") && head == "" {
		return value.Errorf(value.Invalid, "--head: the head is empty").WithHint("omit --head to compare only the hashes inside of the records")
	}
	ids, lost, err := c.idsToVerify(ctx, j, kept)
	if err != nil {
		return err
	}
	if n := ctx.NArg(); n > 0 && head != "" {
		kept = map[string]string{ids[0]: head}
	}
	list := make([]verification, 0, len(ids))
	for _, id := range ids {
		v := verification{id: id}
		if v.Verified, v.err = j.Verify(ctx.Context, id, kept[id]); ctx.Err() != nil {
			return v.err
		}
		list = append(list, v)
	}
	if head != "" && ctx.NArg() == 0 {
		if err := searchHead(ctx.Context, j, list, head); err != nil {
			return err
		}
	}
	if err := c.printVerified(list); err != nil {
		return err
	}
	return c.verified(list, lost)
}

// idsToVerify returns the IDs of the run that the argument names, or of all runs. Without an
// argument, a run of which a head was kept must still be there.
func (c *command) idsToVerify(ctx *cli.Context, j *history.Journal, kept map[string]string) (ids []string, lost error, err error) {
	if ctx.NArg() > 0 {
		r, err := find(ctx.Context, j, ctx.Args().First())
		if err != nil {
			return nil, nil, err
		}
		if len(kept) > 0 && kept[r.ID] == "" {
			return nil, nil, value.Errorf(value.NotFound, "%s has no head of the run %q", ctx.String("heads"), r.ID)
		}
		return []string{r.ID}, nil, nil
	}
	runs, lost := all(ctx.Context, j, history.Filter{})
	for i := range runs {
		ids = append(ids, runs[i].ID)
	}
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, lost, nil
}

// searchHead finds the record that contains a head.
func searchHead(ctx context.Context, j *history.Journal, list []verification, head string) error {
	for i := range list {
		v := &list[i]
		if v.err != nil {
			continue
		}
		found, err := j.Verify(ctx, v.id, head)
		switch value.KindOf(err) {
		case value.Invalid:
			return err
		case value.Conflict: // another run has it
			continue
		}
		if v.Verified, v.err = found, err; err == nil {
			return nil
		}
	}
	return value.Errorf(value.Conflict, "no undamaged record contains the head %s", value.Clean(head, 80)).
		WithHint("its run was deleted, or its record was made anew or reset: see the runs with cassidy runs list")
}

// keptHeads reads the heads in a file, by run. Only a run that was damaged has none.
func keptHeads(file string) (map[string]string, error) {
	data, err := ui.ReadFile(file)
	if err != nil {
		return nil, err
	}
	v, err := value.ParseJSON(data)
	d, _ := v.(*value.Dict)
	if err != nil || d == nil {
		return nil, notHeads(file)
	}
	kept := map[string]string{}
	for _, item := range d.Elements("runs") {
		d, _ := item.(*value.Dict)
		if d == nil || d.Text("id") == "" {
			return nil, notHeads(file)
		}
		h := d.Text("head")
		if ok, known := d.Get("ok"); h == "" && !(known && ok == false) {
			return nil, notHeads(file)
		}
		if h != "" {
			kept[d.Text("id")] = h
		}
	}
	if len(kept) == 0 {
		return nil, notHeads(file)
	}
	return kept, nil
}

func notHeads(file string) error {
	return value.Errorf(value.Invalid, "read %s: it has no heads of runs", file).WithHint("to make such a file: cassidy runs verify --json > heads.json")
}

func (c *command) printVerified(list []verification) error {
	if c.JSON {
		runs := value.List{}
		for i := range list {
			v := &list[i]
			if v.err != nil {
				runs = append(runs, value.NewDict("id", v.id, "ok", false, "error", value.ErrorOf(v.err, value.Failed).Message()))
				continue
			}
			d := value.NewDict("id", v.id, "ok", true, "state", v.Run.State.String(), "frames", v.Frames, "head", v.Head)
			if v.At > 0 {
				d.Put("kept_at", v.At)
			}
			runs = append(runs, d)
		}
		return c.PrintJSON(value.NewDict("runs", runs))
	}
	if s := c.ScreenOf(c.Out); s.Width > 0 && len(list) > 0 {
		c.PrintLines(drawVerified(s, list))
		return nil
	}
	width := 0
	for i := range list {
		width = max(width, len(list[i].id))
	}
	for i := range list {
		v := &list[i]
		if v.err != nil {
			c.Print(draw.Pad(v.id, width, false) + "  " + ui.VisibleLine(value.ErrorOf(v.err, value.Failed).Message()) + "\n")
			continue
		}
		line := fmt.Sprintf("%s  %-9s  %s  %s", draw.Pad(v.id, width, false), v.Run.State, v.Head, ui.Count(int(v.Frames), "frame"))
		if v.At > 0 && v.At < v.Frames {
			line += fmt.Sprintf(", %d of them up to the head that was kept", v.At)
		}
		c.Print(line + "\n")
	}
	return nil
}

// drawVerified returns the lines of a terminal about records. Their heads are never cut: somebody compares them.
func drawVerified(s draw.Screen, list []verification) (lines []string) {
	for i := range list {
		v := &list[i]
		if v.err != nil {
			lines = append(lines, s.Message(draw.Failed, v.id+"  "+ui.VisibleLine(value.ErrorOf(v.err, value.Failed).Message()))...)
			continue
		}
		about := v.Run.State.String() + s.Between() + ui.Count(int(v.Frames), "frame")
		if v.At > 0 && v.At < v.Frames {
			about += fmt.Sprintf(", %d of them up to the head that was kept", v.At)
		}
		lines = append(lines, s.Head(draw.Done, v.id+"  "+s.Paint(draw.Dim, about), v.Head)...)
	}
	return lines
}

// verified returns the error of a verification that has found something.
func (c *command) verified(list []verification, lost error) error {
	var bad []string
	for i := range list {
		if list[i].err != nil {
			bad = append(bad, list[i].id)
		}
	}
	switch {
	case len(bad) > 0:
		lost = value.Errorf(value.Failed, "%d of %s failed the verification: %s", len(bad), ui.Count(len(list), "record"), value.Clean(strings.Join(bad, ", "), 300))
	case len(list) == 0 && !c.JSON:
		c.Note("no runs are recorded")
	}
	return reportDamage(c.App, lost)
}
