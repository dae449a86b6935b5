// Package runs has the command that runs workflows, and those that list, show, answer, resume,
// replay, undo, verify, export and delete recorded runs, and that make tools of their programs.
package runs

import (
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/remote"
)

// A command is one run of a command of cassidy runs.
type command struct{ *app.App }

// Command returns cassidy runs, with its subcommands.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "runs", Usage: "show, answer, resume, retry, replay and undo runs",
		Description: "Each task, each workflow and each turn of a chat is recorded as a run. A call of cassidy tool run is recorded too if the\n" +
			"tool can do more than read. A parked run was interrupted, or waits for an answer, for a point in time, for the repair of\n" +
			"a fault, or for a higher limit. The run continues when you resume it.\n" +
			"The records are in ~/.cassidy/state/runs, or in $CASSIDY_HOME/state/runs if CASSIDY_HOME is set.\n" +
			"Instead of an ID, you can pass its first characters if no other ID begins with them. The ID \"last\" is the newest run.",
		Subcommands: []*cli.Command{
			remote.Offer(a, listCommand(c), c.listOver, "limit", "kind", "state"),
			remote.Offer(a, showCommand(c), c.showOver, "all", "step", "follow", "f"),
			remote.Offer(a, answerCommand(c, c.resume), c.answerOver, "text", "why", "args", "result", "always", "resume"),
			remote.Offer(a, resumeCommand(c), c.resumeOver),
			remote.Offer(a, retryCommand(c), c.retryOver, "from"),
			replayCommand(c),
			remote.Offer(a, undoCommand(c), c.undoOver),
			verifyCommand(c), exportCommand(c), promoteCommand(c),
			remote.Offer(a, cancelCommand(c), c.cancelOver),
			pruneCommand(c),
		},
	}
}
