package runs

import (
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/history/retry"
	"github.com/cassidy-run/cassidy/runtime/host"
)

func retryCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "retry", Usage: "repeat a run that has ended or is stuck from the step that failed", ArgsUsage: "ID",
		Description: "A new run reuses the recorded outcomes of the steps before the failed step. The new run executes the failed step\n" +
			"and all later steps again, with the current tools and workflow. If the run is done and no step has failed,\n" +
			"--from STEP is required. A run that is stuck is repeated from the step that differs from its record; it stays stuck until you\n" +
			"cancel it. A turn of a chat cannot be retried.",
		Flags: append(approve.Flags(),
			&cli.StringFlag{Name: "from", Usage: "repeat the run from `STEP`, such as 3.1 (default: the step that failed)"},
			&cli.StringFlag{Name: "run-id", Usage: "record the new run under `ID`"}),
		Action: func(ctx *cli.Context) error { return c.retry(ctx, ctx.Args().First()) },
	}
}

func (c *command) retry(ctx *cli.Context, id string) error {
	name, err := app.RunID(ctx)
	if err != nil {
		return err
	}
	o := retry.Request{ID: name}
	if from := ctx.String("from"); from != "" {
		if o.From, err = history.ParseStepPath(from); err != nil {
			return err
		}
	}
	r, err := c.recorded(ctx, id)
	if err != nil {
		return err
	}
	o.Run = r.ID
	err = c.WithHost(func(ctx *cli.Context, h *host.Host) (err error) {
		if err = agent.RegisterKinds(h, agents.Opener(c.App, h, false, agent.Options{})); err == nil {
			o.ID, err = h.Fork(ctx.Context, o)
		}
		return err
	})(ctx)
	if err != nil {
		return err
	}
	c.Note("retrying run %s as %s", o.Run, o.ID)
	err = c.resume(ctx, o.ID)
	if changed := c.endFork(ctx, o.ID, err); changed != nil {
		return changed
	}
	if r.State == history.Stuck {
		c.Warn("the run %s is still stuck; to end it: cassidy runs cancel %s", o.Run, o.Run)
	}
	return err
}

// endFork ends a new run whose scripts do something else than the steps that were reused. It
// returns why, or nil.
func (c *command) endFork(ctx *cli.Context, id string, failed error) error {
	if failed == nil {
		return nil
	}
	var ended error
	_ = c.WithHost(func(ctx *cli.Context, h *host.Host) error { // its error is less important
		ended = host.Operate(h).EndFork(ctx.Context, id, failed)
		return nil
	})(ctx)
	return ended
}
