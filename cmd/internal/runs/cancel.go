package runs

import (
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func cancelCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "cancel a run: it ends without a result and cannot be resumed", ArgsUsage: "ID",
		Description: "If another process executes the run, that process is asked to stop.",
		Action:      c.withRun(c.cancel),
	}
}

// cancel cancels a run, or asks the process that executes it to do so.
func (c *command) cancel(ctx *cli.Context, j *history.Journal, r *history.Run) error {
	ended, err := j.Cancel(ctx.Context, r.ID)
	if err != nil {
		return err
	}
	d := value.NewDict("id", r.ID, "state", history.Cancelled.String())
	if !ended {
		d = value.NewDict("id", r.ID, "state", r.State.String(), "cancel_requested", true)
	}
	return c.didCancel(d)
}

// didCancel prints that a run was cancelled, or that it will be.
func (c *command) didCancel(d *value.Dict) error {
	switch id := d.Text("id"); {
	case c.JSON:
		return c.PrintJSON(d)
	case d.Bool("cancel_requested"):
		c.Say(draw.Waits, id+": its process was asked to stop")
	default:
		c.Say(draw.Done, id+" cancelled")
	}
	return nil
}
