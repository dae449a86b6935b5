package runs

import (
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func pruneCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "prune", Usage: "delete old runs", Description: "Without flags, the limits under \"runs:\" in your config.yaml apply. If there are no such limits, the command fails.\n" +
			"With a flag, the limits of the config are ignored. With both flags, a run is deleted if one of the limits applies. Runs that have not\n" +
			"ended, and damaged runs, are always kept.",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "older-than", DefaultText: "no limit", Usage: "delete runs that ended more than `TIME` ago, such as 720h"},
			app.CountFlag("keep", 0, "keep only the newest `N` of the runs that have ended"),
		},
		Action: c.WithRuns(c.prune),
	}
}

func (c *command) prune(ctx *cli.Context, j *history.Journal) error {
	keep := history.Keep{For: ctx.Duration("older-than"), Most: ctx.Int("keep")}
	if !ctx.IsSet("older-than") && !ctx.IsSet("keep") {
		var err error
		if keep, err = c.KeptRuns(); err != nil {
			return err
		}
	}
	if keep.For <= 0 && keep.Most <= 0 {
		return value.Errorf(value.Invalid, "specify which runs to delete: --older-than or --keep is missing").
			WithHint(`cassidy runs prune --older-than 720h, or --keep 100; or add "runs: {keep_for: 720h}" to your config.yaml`)
	}
	n, err := j.Prune(ctx.Context, keep)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("removed", int64(n)))
	}
	c.Say(draw.Done, fmt.Sprintf("deleted %s from %s", ui.Count(n, "run"), filepath.ToSlash(c.Journal())))
	return nil
}
