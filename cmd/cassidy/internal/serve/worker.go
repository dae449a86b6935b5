package serve

import (
	"cmp"
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/app"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/serve"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// grace is the time for the runs in progress when a worker or a server ends. They are interrupted then, and the next
// worker continues them.
const grace = 20 * time.Second

// defaultJobs is how many runs a worker executes at the same time.
const defaultJobs = 16

// WorkerCommand returns cassidy worker.
func WorkerCommand(a *app.App) *cli.Command {
	return &cli.Command{
		Name: "worker", Usage: "execute the runs that others begin or answer, until it is interrupted", ArgsUsage: "[DIR …]",
		Description: "Runs begin with --detach, such as cassidy run NAME --detach, or at a server. The worker executes those of the\n" +
			"projects in the folders, or of the current one: runs that are queued, that got an answer, whose waiting time is\n" +
			"over, or whose process has died. Several workers can share the work. Nobody is asked: a run that needs an answer\n" +
			"waits for cassidy runs answer.\n" +
			"After SIGTERM or Ctrl-C, the worker begins no run, and gives those in progress 20 seconds; other workers continue\n" +
			"what is left.",
		Flags: []cli.Flag{app.CountFlag("jobs", defaultJobs, "execute at most `N` runs at the same time")},
		Action: a.Recording(func(ctx *cli.Context) (err error) {
			p, err := openProjects(a, ctx.Int("jobs"))
			if err != nil {
				return err
			}
			defer func() { err = cmp.Or(err, p.end()) }()
			s, err := p.server(ctx, &serve.Options{Jobs: ctx.Int("jobs")})
			if err != nil {
				return err
			}
			a.Note("executing the runs of %s; to end: Ctrl-C", ui.Count(max(1, ctx.NArg()), "project"))
			return execute(ctx.Context, s)
		}),
	}
}

// server returns the server of the projects in the folders of the command line.
func (p *projects) server(ctx *cli.Context, o *serve.Options) (s *serve.Server, err error) {
	dirs := ctx.Args().Slice()
	if len(dirs) == 0 {
		dir, err := p.app.WorkDir()
		if err != nil {
			return nil, err
		}
		dirs = []string{dir}
	}
	if o.Projects, err = p.served(dirs); err != nil {
		return nil, err
	}
	o.Version = app.Version()
	return serve.New(o)
}

// execute executes runs until ctx ends, and gives those in progress some time then.
func execute(ctx context.Context, s *serve.Server) error {
	if err := s.Run(ctx); ctx.Err() == nil {
		return err
	}
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.Shutdown(soon); err != nil && value.KindOf(err) != value.Timeout && value.KindOf(err) != value.Canceled {
		return err
	}
	return nil
}
