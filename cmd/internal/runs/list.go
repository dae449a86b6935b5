package runs

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func listCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the runs, the newest first", ArgsUsage: "[DIR]",
		Description: "By default, the runs of all projects are listed. With DIR, only the runs of the project in DIR are listed.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "project", Usage: "show only the runs of the current project; not needed with DIR"},
			app.CountFlag("limit", 20, "show at most `N` runs; 0 shows all"),
			&cli.StringFlag{Name: "kind", Usage: "show only runs of `KIND`: " + strings.Join(kinds(), ", ")},
			&cli.StringFlag{Name: "state", Usage: "show only runs in `STATE`: " + strings.Join(stateNames(), ", ")},
		},
		Action: c.WithRuns(c.list),
	}
}

func (c *command) list(ctx *cli.Context, j *history.Journal) error {
	filter := history.Filter{Kind: ctx.String("kind"), Limit: ctx.Int("limit")}
	if err := checkListed(ctx); err != nil {
		return err
	}
	if name := ctx.String("state"); name != "" {
		filter.States = []history.State{history.Running + history.State(slices.Index(stateNames(), name))}
	}
	in := func(*history.Run) bool { return true }
	if dir := ctx.Args().First(); ctx.Bool("project") || dir != "" {
		var err error
		if in, err = c.inProject(dir); err != nil {
			return err
		}
	}
	runs, err := some(ctx.Context, j, filter, in)
	if err != nil && len(runs) == 0 {
		return err
	}
	for i := range runs {
		describe.MarkBroken(j, &runs[i])
	}
	undone := describe.Undone(ctx.Context, j)
	if c.JSON {
		list := value.List{}
		for i := range runs {
			list = append(list, describe.ListedRun(ctx.Context, j, &runs[i], undone[runs[i].ID]))
		}
		if e := c.PrintJSON(value.NewDict("runs", list)); e != nil {
			return e
		}
		return reportDamage(c.App, err)
	}
	c.printList(ctx, runs, undone, func(r *history.Run) *describe.Wait { return describe.WaitOf(ctx.Context, j, r) })
	return reportDamage(c.App, err)
}

// checkListed checks the flags that select runs.
func checkListed(ctx *cli.Context) error {
	if kind := ctx.String("kind"); kind != "" {
		if err := app.CheckWord("kind", kind, kinds()...); err != nil {
			return err
		}
	}
	if state := ctx.String("state"); state != "" {
		return app.CheckWord("state", state, stateNames()...)
	}
	return nil
}

// printList prints runs for a person.
func (c *command) printList(ctx *cli.Context, runs []history.Run, undone map[string]bool, waits func(*history.Run) *describe.Wait) {
	switch {
	case len(runs) > 0 && ui.IsTerminal(c.Out):
		page{c.App}.table(runs, undone, waits)
	case len(runs) > 0:
		page{c.App}.list(runs, undone, waits)
	default:
		c.Print("No runs found\n")
		if ctx.NumFlags() == 0 && ctx.NArg() == 0 {
			c.Note(`to create a run: cassidy task "TASK"`)
		}
	}
}

// inProject returns whether a run is of the project in dir, which may be gone; "" is the
// working folder.
func (c *command) inProject(dir string) (func(*history.Run) bool, error) {
	c.Dir = cmp.Or(dir, c.Dir)
	root, err := c.Root()
	if err != nil {
		if root, err = filepath.Abs(c.Dir); err != nil {
			return nil, err
		}
	}
	info, _ := os.Stat(root)
	return func(r *history.Run) bool {
		if r.Project == root || info == nil {
			return r.Project == root
		}
		other, err := os.Stat(r.Project) // the same folder by another name
		return err == nil && os.SameFile(info, other)
	}, nil
}

// kinds are the kinds of runs that the commands record.
func kinds() []string {
	return []string{"task", "chat", host.WorkflowKind, host.CallKind, host.UndoKind}
}

// stateNames are the states of runs, in their order.
func stateNames() []string {
	var names []string
	for s := history.Running; s <= history.Stuck; s++ {
		names = append(names, s.String())
	}
	return names
}
