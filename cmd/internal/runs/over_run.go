package runs

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/remote"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// over is cassidy run over a server.
func (c *workflowCommand) over(ctx *cli.Context, s *remote.Client) error {
	listed, err := s.Workflows(ctx.Context)
	if err != nil {
		return err
	}
	name := ctx.Args().First()
	if name == "" {
		return c.listOver(listed)
	}
	var names []string
	for _, d := range listed.Elements("workflows") {
		d, _ := d.(*value.Dict)
		if d.Text("name") != name {
			names = append(names, d.Text("name"))
			continue
		}
		w := describe.ReadTool(d)
		if len(ctx.Args().Tail()) == 1 && ctx.Args().Get(1) == "--help" {
			if c.JSON {
				return c.PrintJSON(d)
			}
			c.printHelp(&w, d.Bool("declared"))
			return nil
		}
		return c.runOver(ctx, s, &w)
	}
	return value.Errorf(value.NotFound, "the server has no workflow %q%s", value.Clean(name, 80), value.DidYouMean(name, names)).WithHint("list the workflows: cassidy run")
}

func (c *workflowCommand) listOver(listed *value.Dict) error {
	if c.JSON {
		return c.PrintJSON(value.NewDict("workflows", value.List(listed.Elements("workflows")), "errors", value.List{}))
	}
	c.printWorkflows(ui.Map(listed.Elements("workflows"), func(v value.Value) toolset.Info {
		d, _ := v.(*value.Dict)
		return describe.ReadTool(d)
	}), nil)
	return nil
}

// runOver has the server run a workflow.
func (c *workflowCommand) runOver(ctx *cli.Context, s *remote.Client, w *toolset.Info) error {
	args, err := calls.Arguments(c.App, ctx, &w.Tool)
	if err != nil {
		return err
	}
	d, err := s.Run(ctx.Context, w.Name, args)
	if err != nil {
		return calls.ExampleHint(err, &w.Tool, "cassidy run ")
	}
	if id := d.Text("id"); ctx.Bool("detach") {
		if c.JSON {
			return c.PrintJSON(value.NewDict("run", id, "state", "queued"))
		}
		c.Print(id + "\n")
		c.Note("to watch it: cassidy runs show %s --follow", id)
		return nil
	}
	return followKind(ctx.Context, s, &history.Run{ID: d.Text("id"), Kind: host.WorkflowKind})
}

// followKind is followRun for a run of a known kind.
func followKind(ctx context.Context, s *remote.Client, run *history.Run) error {
	a := s.App
	switch run.Kind {
	case host.UndoKind:
		return undone(ctx, s, strings.TrimPrefix(run.Title, undoTitle), run.ID)
	case host.CallKind:
		r, err := s.Follow(ctx, run.ID, calls.Shower(a))
		a.Live.Clear()
		result := tool.Result{}
		if err != nil {
			err = s.Left(ctx, run.ID, err)
		} else if e := remote.Outcome(r); e != nil {
			err = e
		} else {
			result = tool.Succeed(tool.Outcome{Value: r.Run.Result})
		}
		return calls.PrintCall(a, "", result, err)
	case host.WorkflowKind:
		return followWorkflow(ctx, s, run.ID)
	}
	r, err := s.Follow(ctx, run.ID, calls.RunShower(a, run.ID, calls.RunLines(a, run.ID)))
	a.Live.Clear()
	if err != nil {
		return calls.ReportEnd(a, s.Left(ctx, run.ID, err), run.ID)
	}
	if a.JSON && a.RunEnd.Data != nil {
		_ = a.PrintLine(a.RunEnd) // it was read from JSON
	}
	if e := remote.Outcome(r); e != nil {
		return calls.ReportEnd(a, e, run.ID)
	}
	if a.JSON {
		return nil
	}
	used, err := usageOf(r)
	if err != nil {
		return err
	}
	calls.Gap(a)
	answer, _ := r.Run.Result.(*value.Dict)
	a.PrintMarkdown(answer.Text("answer"))
	calls.ReportUsed(a, run.ID, used.String())
	return nil
}

// followWorkflow shows the run of a workflow until it ends or waits, and prints its result.
func followWorkflow(ctx context.Context, s *remote.Client, id string) error {
	a := s.App
	r, err := s.Follow(ctx, id, calls.RunShower(a, id, lines(a, id)))
	a.Live.Clear()
	if err != nil {
		return calls.ReportEnd(a, s.Left(ctx, id, err), id)
	}
	used, err := usageOf(r)
	if err != nil {
		return err
	}
	out, e := tool.Outcome{Value: r.Run.Result}, remote.Outcome(r)
	if end, ended := a.RunEnd.Data.(tool.RunEnd); ended {
		out.Usage.Wall = end.Duration
	}
	if a.JSON {
		reason := r.Run.Reason
		name, _, _ := strings.Cut(r.Run.Title, " ")
		if !r.Run.State.Ended() {
			reason = value.Parked.String()
		}
		printRunEnd(a, id, name, reason, out, used, e)
	}
	if e != nil {
		return calls.ReportEnd(a, e, id)
	}
	return printOutcome(a, id, out, used)
}

// usageOf returns what a run used of models.
func usageOf(r *describe.Record) (used agent.Usage, err error) {
	_, err = r.Each(func(e *history.Entry, damage error) {
		if damage == nil {
			used.Add(agent.StepUsage(e.Outcome.Value, e.Notes))
		}
	})
	return used, err
}

// undone follows the run of an undo, and prints what it undid of another run.
func undone(ctx context.Context, s *remote.Client, of, id string) error {
	r, err := s.Follow(ctx, id, func(tool.Event) {})
	if err != nil {
		return s.Left(ctx, id, err)
	}
	failure := remote.Outcome(r)
	if failure != nil && failure.Kind == value.Parked {
		return failure
	}
	what := map[string]string{} // the effects of the other run, by their steps
	if of != "" {
		if other, err := s.Record(ctx, of); err == nil { // else they have no names
			_, _ = other.Each(func(e *history.Entry, _ error) {
				what[e.StepPath.String()] = e.Func
				if e.Func == "tools.call" {
					what[e.StepPath.String()] = e.Args.Text("name")
				}
			})
		}
	}
	out := &operate.Undone{ID: id}
	_, err = r.Each(func(e *history.Entry, _ error) { out.AddStep(e, what) })
	if err != nil {
		return err
	}
	c := &command{s.App}
	if failure != nil {
		return c.printUndo(of, out, failure)
	}
	return c.printUndo(of, out, nil)
}
