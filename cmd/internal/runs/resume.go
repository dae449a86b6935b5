package runs

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func resumeCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "resume", Usage: "resume a run that is parked, or whose process has died", ArgsUsage: "[ID]",
		Description: "The run continues in its folder, at the first step without a recorded outcome. The output and the exit code are\n" +
			"the same as if the command that began the run had not been interrupted.\n" +
			"With --due, the command resumes all runs that can continue now: a question was answered, the waiting time is over,\n" +
			"or the process was interrupted or died. Turns of chats whose process died are not resumed, and neither are\n" +
			"runs that are stuck: with its ID, a run that is stuck is tried again.",
		Flags: append(append(approve.Flags(), agents.LimitFlags("as recorded")...),
			&cli.DurationFlag{Name: "timeout", Usage: "stop waiting if the model sends no data for `TIME`, such as 30m", DefaultText: "as recorded"},
			&cli.BoolFlag{Name: "due", Usage: "resume all runs that can continue now"},
			&cli.BoolFlag{Name: "faults", Usage: "with --due, also resume the runs that wait because of a fault, such as a full disk, even if their waiting time is not over"},
			app.CountFlag("jobs", defaultJobs, "with --due, resume at most `N` runs at the same time")),
		Action: func(ctx *cli.Context) error {
			id, due := ctx.Args().First(), ctx.Bool("due")
			switch {
			case ctx.Bool("faults") && !due:
				return value.Errorf(value.Invalid, "--faults needs --due").WithHint("cassidy runs resume --due --faults")
			case due && id != "":
				return value.Errorf(value.Invalid, "--due and an ID are mutually exclusive").WithHint("cassidy runs resume ID, or cassidy runs resume --due")
			case due:
				return c.resumeDue(ctx)
			case id == "":
				return value.Errorf(value.Invalid, "ID is missing").WithHint("cassidy runs resume ID, or cassidy runs resume --due")
			}
			return c.resume(ctx, id)
		},
	}
}

// ended returns the error of a run that had ended before it was resumed, with what to type now: the hint of the
// error is from then, and its cause can be repaired.
func ended(r *history.Run, err error) error {
	again := describe.Repair(r)
	if err == nil || !r.State.Ended() || again == "" {
		return err
	}
	return value.ErrorOf(err, value.Failed).WithHint("the run has ended with this error; %s", again)
}

// recorded finds a run, and sets the working folder to the one in which it began.
func (c *command) recorded(ctx *cli.Context, id string) (*host.Recorded, error) {
	r := &host.Recorded{}
	err := c.WithRuns(func(ctx *cli.Context, j *history.Journal) error {
		found, err := find(ctx.Context, j, id)
		if err != nil {
			return err
		}
		log, err := j.Read(ctx.Context, found.ID)
		if err != nil {
			j.Stick(ctx.Context, found.ID, err)
			return err
		}
		r.Run, r.Script = log.Run(), log.Script()
		return nil
	})(ctx)
	if err != nil || c.Dir != "" {
		return r, err
	}
	if c.Dir = r.Options.Text(app.DirOption); c.Dir == "" {
		c.Dir = r.Project
	}
	return r, nil
}

// resume resumes a run.
func (c *command) resume(ctx *cli.Context, id string) error {
	r, err := c.recorded(ctx, id)
	if err != nil {
		return err
	}
	if r.Kind != host.CallKind { // that has a result to print
		if err := checkOpen(&r.Run); err != nil {
			return err
		}
	}
	raised, err := agents.Raised(c.App, ctx)
	if err != nil {
		return err
	}
	if wait := ctx.Duration("timeout"); ctx.IsSet("timeout") && wait <= 0 {
		return value.Errorf(value.Invalid, "--timeout must be a positive duration, not %s", wait).WithHint("for example: --timeout 90s")
	}
	if raised.Iterations > 0 && (r.Kind == host.WorkflowKind || r.Kind == host.CallKind || r.Kind == host.UndoKind) {
		return value.Errorf(value.Invalid, "--max-iterations limits an agent, but the run '%s' is not the run of one", r.ID).WithHint("limit the requests of the whole run: --max-requests N")
	}
	return c.Parking(func(ctx *cli.Context, h *host.Host) error {
		parks := !ctx.Bool("deny")
		switch r.Kind {
		case host.WorkflowKind:
			p, err := host.ResumedWorkflow(&r.Run)
			if err != nil {
				return err
			}
			c.Model, p.Parks = r.Options.Text("model"), parks
			if err := checkModel(ctx.Context, c.App, h); err != nil {
				return err
			}
			if err := agents.Register(ctx.Context, c.App, h, parks, p.Options); err != nil {
				return err
			}
			return runWorkflow(ctx.Context, c.App, h, p, raised.Ceilings)
		case host.CallKind:
			_, err := calls.Run(c.App, ctx, h, "", func(ctx context.Context, _ trace.Mode) (tool.Result, error) {
				result, err := h.Resume(ctx, r.ID)
				return result, ended(&r.Run, err)
			})
			return err
		case host.UndoKind:
			return c.undo(ctx, h, operate.Undo{Run: r.Options.Text("run"), ID: r.ID, Parks: parks, Resume: true}, r.Options.Text("to"))
		}
		if err := agent.RegisterKinds(h, agents.Opener(c.App, h, parks, raised)); err != nil {
			return err
		}
		stop := calls.ShowRun(c.App, h, r.ID, calls.RunLines(c.App, r.ID))
		reply, err := agent.Resume(ctx.Context, h, r.ID)
		stop() // all events are shown before the end
		return agents.Ended(ctx.Context, c.App, &reply, err)
	})(ctx)
}
