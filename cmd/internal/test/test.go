// Package test has the command that runs the tests of tools.
package test

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/scripttest"
	"github.com/cassidy-run/cassidy/internal/watch"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/mcp"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A command is one run of cassidy test.
type command struct{ *app.App }

// Command returns cassidy test.
func Command(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "test", Usage: "run the tests of tools and workflows, with fakes", ArgsUsage: "[NAME|PATH …]",
		Description: "A test is a function test_* in the file NAME_test.star beside the file of the tool or workflow NAME. An example\n" +
			"of a tool is a test too, if the example has an expected result.\n" +
			"PATH is a test file, the file of a tool, or a folder. Without arguments, the command runs all tests of the project.\n" +
			"Tests do not run commands, and do not access the network, the environment, secrets or the files of the project.\n" +
			"There are two exceptions: t.fs(copy = …) copies files of the project, and --record makes real calls. If a tool has an effect that has no fake, the test fails and prints the fake to write.\n" +
			"With --record, calls that need approval ask for it. An existing fixture is replaced only if you select its test with\n" +
			"an argument or --filter.\n" +
			"The exit code is 1 if a test fails.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "filter", Usage: "run only the tests whose FILE:NAME matches the regular expression `REGEX`"},
			parallelFlag(),
			&cli.Float64Flag{Name: "timeout", Usage: "end each test after `SECONDS`", Value: 30},
			&cli.BoolFlag{Name: "update", Usage: "write the golden files of t.golden, instead of comparing them"},
			&cli.BoolFlag{Name: "cover", Usage: "show how many statements of each script were run, and the lines of the statements that were not run"},
			&cli.StringFlag{Name: "junit", Usage: "write the results to `FILE` in the format of JUnit"},
			&cli.BoolFlag{Name: "watch", Usage: "run the tests again after each change of files, until Ctrl-C"},
			&cli.BoolFlag{Name: "record", Usage: "make the first call after each t.replay with real effects, and record the call as a fixture"},
		}, approve.Flags()...),
		Action: c.test,
	}
}

// parallelFlag returns the flag --parallel; 0 is its default.
func parallelFlag() cli.Flag {
	f := app.CountFlag("parallel", 0, "run `N` tests at a time; 0 means the default").(*cli.IntFlag)
	f.DefaultText = "two for each processor"
	return f
}

func (c *command) test(ctx *cli.Context) error {
	o, err := c.options(ctx)
	if err != nil {
		return err
	}
	r, done, err := c.NewRuntime()
	if err != nil {
		return err
	}
	defer func() { _ = done() }()
	o.Runtime = r
	switch {
	case ctx.Bool("record"):
		return c.Recording(c.Asking(func(ctx *cli.Context, h *host.Host) error {
			o.Record = c.recorder(h)
			return c.round(ctx, o)
		}))(ctx)
	case ctx.Bool("watch"):
		return c.watch(ctx, o)
	}
	return c.round(ctx, o)
}

// options reads the flags.
func (c *command) options(ctx *cli.Context) (*scripttest.Options, error) {
	o := &scripttest.Options{
		Scope: c.Scope(), Paths: ctx.Args().Slice(), Parallel: ctx.Int("parallel"), Update: ctx.Bool("update"), Cover: ctx.Bool("cover"),
		Timeout: time.Duration(ctx.Float64("timeout") * float64(time.Second)), Modules: []tool.Module{mcp.Module()},
	}
	if ctx.Bool("watch") && (o.Update || ctx.Bool("record")) {
		return nil, value.Errorf(value.Invalid, "--watch cannot be combined with --update or --record, which change files")
	}
	var err error
	if f := ctx.String("filter"); f != "" {
		if o.Filter, err = regexp.Compile(f); err != nil {
			return nil, value.Errorf(value.Invalid, "--filter: %w", err).WithHint("use a regular expression, such as --filter slug_test")
		}
	}
	if o.Timeout <= 0 {
		return nil, value.Errorf(value.Invalid, "--timeout must be more than 0, not %v", ctx.Float64("timeout")).WithHint("for example: --timeout 60")
	}
	o.Dir, o.Paths, err = c.folder(o.Paths)
	return o, err
}

// round runs the tests once.
func (c *command) round(ctx *cli.Context, o *scripttest.Options) error {
	s, err := scripttest.Open(ctx.Context, o)
	if err != nil {
		return err
	}
	r := newReport(c, s, o.Cover)
	if o.Record == nil { // else calls show what they do
		c.Live.Begin(testing, testing, "")
		defer c.Live.End(testing)
	}
	s.Run(ctx.Context, r.add)
	if err := s.Close(); err != nil {
		return value.ErrorOf(err, value.Failed)
	}
	if ctx.Err() != nil {
		return value.AsError(context.Cause(ctx.Context), value.Canceled)
	}
	if err := r.end(); err != nil {
		return err
	}
	if kept := s.Kept(); len(kept) > 0 {
		c.Note("not recorded again: %s; to replace a fixture, select its test with a name, a path or --filter", strings.Join(kept, ", "))
	}
	if file := ctx.String("junit"); file != "" {
		if err := writeJUnit(file, r); err != nil {
			return err
		}
	}
	if r.failed > 0 {
		return ui.ErrSilent
	}
	return nil
}

// watch runs the tests after each change of the folder, until the context ends.
func (c *command) watch(ctx *cli.Context, o *scripttest.Options) error {
	changed := make(chan struct{}, 1)
	stop := watch.Start(&watch.Options{
		Paths: scripttest.Watched(o.Dir),
		Changed: func(context.Context) {
			select {
			case changed <- struct{}{}:
			default: // a round is due
			}
		},
	})
	defer stop()
	for {
		if err := c.round(ctx, o); err != nil && ctx.Err() == nil && err != ui.ErrSilent {
			c.Report(value.ErrorOf(err, value.Failed)) // the next change may fix it
		}
		const waits = "waiting for changes; to end: Ctrl-C"
		if c.Live.Begin(waits, waits, ""); !c.Live.Shown() {
			c.Note(waits)
		}
		select {
		case <-changed:
			c.Live.End(waits)
		case <-ctx.Done():
			c.Live.End(waits)
			return nil
		}
	}
}
