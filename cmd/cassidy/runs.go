package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

func runsCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:        "runs",
		Usage:       "show what agents did",
		Description: "Tasks and the turns of chats are recorded in your own folder: what they asked for, and what came of it.",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the runs, the newest first",
				Flags: []cli.Flag{
					&cli.IntFlag{Name: "limit", Value: 20, Usage: "show at most `N`; 0 shows all"},
					&cli.StringFlag{Name: "kind", Usage: "show those of a `KIND`: task or chat"},
				},
				Action: c.withRuns(c.listRuns),
			}, {
				Name: "show", Usage: "show what happened in a run, step by step", ArgsUsage: "ID",
				Action: c.withRuns(c.showRecorded),
			}, {
				Name: "prune", Usage: "forget old runs",
				Flags: []cli.Flag{
					&cli.DurationFlag{Name: "older-than", Usage: "forget what ended longer ago than a `TIME` as 720h"},
					&cli.IntFlag{Name: "keep", Usage: "keep the newest `N` only"},
				},
				Action: c.withRuns(c.pruneRuns),
			},
		},
		Action: func(ctx *cli.Context) error { return noCommand(ctx, "cassidy runs") },
	}
}

// withRuns is a command on the record of runs.
func (c *command) withRuns(do func(*cli.Context, *journal.Journal) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		c.records = true
		dir := c.journal()
		if dir == "" {
			return tool.Errorf(tool.Invalid, "no runs are recorded: you have no folder of your own").WithHint("set CASSIDY_HOME")
		}
		j, err := journal.Open(dir, nil)
		if err != nil {
			return err
		}
		defer j.Close()
		return do(ctx, j)
	}
}

func (c *command) listRuns(ctx *cli.Context, j *journal.Journal) error {
	if _, err := exactly(ctx); err != nil {
		return err
	}
	runs, err := j.Runs(ctx.Context, journal.Filter{Kind: ctx.String("kind"), Limit: max(0, ctx.Int("limit"))})
	if err != nil && len(runs) == 0 {
		return err
	}
	if c.json {
		list := tool.List{}
		for i := range runs {
			list = append(list, runDict(&runs[i]))
		}
		return c.printJSON(tool.NewDict("runs", list))
	}
	if len(runs) == 0 {
		c.print("No runs found\n")
		c.note(`cassidy task "…" makes one`)
		return nil
	}
	for i := range runs {
		r := &runs[i]
		c.print(fmt.Sprintf("%s  %-4s  %-9s  %-14s  %s\n", r.ID, r.Kind, r.State, r.Reason, clip(visibleLine(oneLine(r.Title)), lineWidth)))
	}
	return err
}

// runDict is a run as programs get it.
func runDict(r *journal.Run) *tool.Dict {
	d := tool.NewDict("id", r.ID, "kind", r.Kind, "title", r.Title, "state", r.State.String(), "reason", r.Reason,
		"started", stamp(r.Started), "ended", stamp(r.Ended), "result", r.Result)
	if r.Err != nil {
		d.Put("error", r.Err.Message())
	}
	if r.Damage != nil {
		d.Put("damage", r.Damage.Error())
	}
	return d
}

// stamp writes a time, and nothing for none.
func stamp(t time.Time) tool.Value {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func (c *command) showRecorded(ctx *cli.Context, j *journal.Journal) error {
	words, err := exactly(ctx, "ID")
	if err != nil {
		return err
	}
	r, err := findRun(ctx.Context, j, words[0])
	if err != nil {
		return err
	}
	steps := tool.List{}
	if !c.json {
		c.printRun(r)
	}
	for e, err := range j.Entries(ctx.Context, r.ID) {
		if err != nil {
			return err
		}
		if c.json {
			steps = append(steps, stepDict(&e))
		} else {
			c.printStep(&e)
		}
	}
	if c.json {
		d := runDict(r)
		d.Put("steps", steps)
		return c.printJSON(d)
	}
	return nil
}

func findRun(ctx context.Context, j *journal.Journal, id string) (*journal.Run, error) {
	runs, err := j.Runs(ctx, journal.Filter{})
	if err != nil && len(runs) == 0 {
		return nil, err
	}
	var known []string
	for i := range runs {
		if runs[i].ID == id {
			return &runs[i], nil
		}
		known = append(known, runs[i].ID)
	}
	return nil, tool.Errorf(tool.Invalid, "there is no run %q%s", id, tool.DidYouMean(id, known)).WithHint("cassidy runs list")
}

// printRun shows what a run is.
func (c *command) printRun(r *journal.Run) {
	line := func(name, value string) {
		if value != "" {
			c.print(pad(name, 9) + visibleLine(value) + "\n")
		}
	}
	line("run", r.ID)
	line("kind", r.Kind)
	line("title", oneLine(r.Title))
	state := r.State.String()
	if r.Reason != "" {
		state += " (" + r.Reason + ")"
	}
	line("state", state)
	line("started", r.Started.Local().Format("2006-01-02 15:04:05"))
	if !r.Ended.IsZero() {
		line("took", r.Ended.Sub(r.Started).Round(time.Millisecond).String())
	}
	if r.Err != nil {
		line("error", r.Err.Message())
	}
	if r.Damage != nil {
		line("damage", r.Damage.Error())
	}
	c.print("\n")
}

// printStep shows a step on a line, indented by how deep it stands.
func (c *command) printStep(e *journal.Entry) {
	paint := c.paint()
	mark, what := paint(green, "✓"), ""
	switch {
	case e.Err != nil:
		mark, what = paint(red, "✗"), e.Err.Message()
	case e.Unknown():
		mark, what = paint(yellow, "?"), "it began, and nothing is known of its end"
	default:
		what = tool.FormatJSON(e.Outcome.Value, "")
		if text, ok := e.Outcome.Value.(string); ok {
			what = text
		}
	}
	took := ""
	if !e.Settled.IsZero() {
		took = e.Settled.Sub(e.Intended).Round(time.Millisecond).String()
	}
	indent := strings.Repeat("  ", max(0, len(e.Place)-1))
	c.print(fmt.Sprintf("%s%s %s %s%s  %s\n", indent, pad(e.Place.String(), 6), mark, visibleLine(e.Func+callArgs(e.Args)), pad("", 1)+took,
		paint(dim, clip(visibleLine(oneLine(what)), lineWidth))))
}

// stepDict is a step as programs get it.
func stepDict(e *journal.Entry) *tool.Dict {
	d := tool.NewDict("place", e.Place.String(), "func", e.Func, "args", e.Args, "started", stamp(e.Intended), "ended", stamp(e.Settled),
		"success", e.Err == nil && !e.Unknown(), "value", e.Outcome.Value)
	if e.Err != nil {
		d.Put("error", e.Err.Message())
	}
	if e.Change != nil {
		d.Put("change", e.Change)
	}
	return d
}

func (c *command) pruneRuns(ctx *cli.Context, j *journal.Journal) error {
	if _, err := exactly(ctx); err != nil {
		return err
	}
	keep := journal.Keep{For: ctx.Duration("older-than"), Most: ctx.Int("keep")}
	if keep.For <= 0 && keep.Most <= 0 {
		return tool.Errorf(tool.Invalid, "say what to forget").WithHint("cassidy runs prune --older-than 720h, or --keep 100")
	}
	n, err := j.Prune(ctx.Context, keep)
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(tool.NewDict("removed", int64(n)))
	}
	c.print(fmt.Sprintf("%d removed from %s\n", n, filepath.ToSlash(c.journal())))
	return nil
}
