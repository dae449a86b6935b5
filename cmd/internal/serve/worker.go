package serve

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/serve"
	"github.com/cassidy-run/cassidy/runtime/tool"
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
			deployment, err := a.Deploy()
			if err != nil {
				return err
			}
			if deployment != nil {
				defer func() { err = cmp.Or(err, deployment.Close()) }()
			}
			p, err := openProjects(a, ctx.Int("jobs"))
			if err != nil {
				return err
			}
			defer func() { err = cmp.Or(err, p.end()) }()
			if deployment != nil {
				return p.work(ctx, deployment)
			}
			s, err := p.server(ctx, &serve.Options{Jobs: ctx.Int("jobs")})
			if err != nil {
				return err
			}
			a.Note("executing the runs of %s; to end: Ctrl-C", ui.Count(max(1, ctx.NArg()), "project"))
			return execute(ctx.Context, s)
		}),
	}
}

// work executes runs of a deployment in the projects of the command line.
func (p *projects) work(ctx *cli.Context, d *app.Deployment) error {
	dirs, err := p.dirs(ctx)
	if err != nil {
		return err
	}
	list, err := p.served(dirs)
	if err != nil {
		return err
	}
	w := app.Work{Jobs: ctx.Int("jobs"), Host: list[0].Host, Grace: grace}
	for _, dir := range dirs {
		o, err := p.at(dir)
		if err != nil {
			return err
		}
		w.Roots = append(w.Roots, o.root)
	}
	w.Began = func(queues, warnings []string) {
		for _, proj := range list {
			p.reportTools(proj)
		}
		for _, text := range warnings {
			p.app.Warn("%s", text)
		}
		p.app.Note("executing the runs of %s, from %s (%s); to end: Ctrl-C", ui.Count(len(dirs), "project"), ui.Count(len(queues), "queue"), strings.Join(queues, ", "))
	}
	w.Resume = func(ctx context.Context, r host.Recorded) (tool.Result, error) {
		return p.resumeAt(ctx, p.placeOf(&r, dirs), &r)
	}
	return d.Work(ctx.Context, w)
}

// reportTools says which tools of a project the worker serves, and which it refuses.
func (p *projects) reportTools(s *serve.Project) {
	var refused []string
	all := s.Host.Tools()
	for i := range all {
		if all[i].State == toolset.Untrusted {
			refused = append(refused, all[i].Name)
		}
	}
	p.app.Note("%s: %s", s.Name, ui.Count(len(all)-len(refused), "tool"))
	if len(refused) > 0 {
		p.app.Warn("%s: not reviewed, so runs that call them wait: %s (cassidy trust)", s.Name, strings.Join(refused, ", "))
	}
}

// placeOf returns the folder in which a run of a deployment is executed: where it began, if that is in a project of this
// worker, or else the first project, as checkouts lie elsewhere on other machines.
func (p *projects) placeOf(r *host.Recorded, dirs []string) string {
	began := cmp.Or(r.Options.Text(app.DirOption), r.Project)
	for _, dir := range dirs {
		if o, err := p.at(dir); err == nil && (began == o.root || strings.HasPrefix(began, o.root+string(filepath.Separator))) {
			if info, err := os.Stat(began); err == nil && info.IsDir() {
				return began
			}
			return dir
		}
	}
	return dirs[0]
}

// dirs returns the folders of the command line, or the working folder.
func (p *projects) dirs(ctx *cli.Context) (dirs []string, err error) {
	for _, dir := range ctx.Args().Slice() {
		if dir, err = filepath.Abs(dir); err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	if len(dirs) == 0 {
		dir, err := p.app.WorkDir()
		return []string{dir}, err
	}
	return dirs, nil
}

// server returns the server of the projects in the folders of the command line.
func (p *projects) server(ctx *cli.Context, o *serve.Options) (s *serve.Server, err error) {
	dirs, err := p.dirs(ctx)
	if err != nil {
		return nil, err
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
