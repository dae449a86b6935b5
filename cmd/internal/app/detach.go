package app

import (
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime/value"
)

const detach = "detach"

// DetachFlag returns the flag with which a command only begins its run.
func DetachFlag() cli.Flag {
	return &cli.BoolFlag{Name: detach, Usage: "record the run, print its ID and return; cassidy worker or cassidy serve executes it"}
}

// checkDetach fails for flags that --detach cannot have.
func checkDetach(ctx *cli.Context) error {
	if ctx.Bool(detach) && ctx.Bool("deny") {
		return value.Errorf(value.Invalid, "--detach and --deny are mutually exclusive: a run that others execute can wait for answers").WithHint("omit --deny, and answer no: cassidy runs answer ID no")
	}
	return nil
}

// Detaches reports whether the command only begins its run.
func Detaches(ctx *cli.Context) bool { return ctx.Bool(detach) }

// Detached prints the ID of a run that was begun, and how to have it executed.
func (a *App) Detached(runID string, err error) error {
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(value.NewDict("run", runID, "state", "queued"))
	}
	a.Print(runID + "\n")
	a.Note("the run is queued; to execute queued runs: cassidy worker; to watch this one: cassidy runs show %s --follow", runID)
	return nil
}
