package runs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/scaffold"
	"github.com/cassidy-run/cassidy/cmd/internal/trust"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/promote"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib"
)

// promoteCommand returns the command that makes a tool of a program that a model wrote.
func promoteCommand(c *command) *cli.Command {
	return &cli.Command{
		Name: "promote", Usage: "create a tool from a program that a model wrote", ArgsUsage: "ID",
		UsageText: "cassidy runs promote [command options] ID --name NAME",
		Description: "The program becomes the tool .cassidy/tools/NAME.star, with typed parameters and a docstring.\n" +
			"The tool declares the tools and the capabilities that the program used. The file is shown for review.\n" +
			"--step selects the program if the run has several.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "step", Usage: "use the program of `STEP`, such as 3.1"},
			&cli.StringFlag{Name: "name", Usage: "name the tool `NAME` (required)"},
			&cli.BoolFlag{Name: "print", Usage: "print the file instead of writing it"},
			&cli.BoolFlag{Name: "yes", Usage: "trust the tool without asking"},
		},
		Action: func(ctx *cli.Context) error {
			var found *ranProgram
			err := c.WithRuns(func(ctx *cli.Context, j *history.Journal) (err error) {
				found, err = findProgram(ctx, j)
				return err
			})(ctx)
			if err != nil {
				return err
			}
			c.Records = false // nothing is run any more
			return c.WithHost(func(ctx *cli.Context, h *host.Host) error { return c.promote(ctx, h, found) })(ctx)
		},
	}
}

// A ranProgram is a program that a run executed, with what it did.
type ranProgram struct {
	run    *history.Run
	place  tool.StepPath // nil if the program is the run itself
	code   string
	ended  bool // it succeeded
	result value.Value
	called []string // the tools that it called, and that these called
	used   []tool.Capability
}

// from describes where the program was run.
func (p *ranProgram) from() string {
	if p.place == nil {
		return "run " + p.run.ID
	}
	return "run " + p.run.ID + ", step " + p.place.String()
}

// findProgram finds the program that the flags name, and reads what it did.
func findProgram(ctx *cli.Context, j *history.Journal) (*ranProgram, error) {
	id := ctx.Args().First()
	if !ctx.IsSet("name") {
		return nil, value.Errorf(value.Invalid, "--name is missing").WithHint("cassidy runs promote %s --name NAME", id)
	}
	r, err := find(ctx.Context, j, id)
	if err != nil {
		return nil, err
	}
	programs, err := programsOf(ctx.Context, j, r)
	if err != nil {
		return nil, err
	}
	p, err := chosenProgram(programs, r, ctx.String("step"))
	if err != nil {
		return nil, err
	}
	if !p.ended {
		return nil, value.Errorf(value.Invalid, "promote the program of %s: the program failed", p.from()).
			WithHint("show the outcome: cassidy runs show %s", r.ID)
	}
	return p, p.readSteps(ctx.Context, j)
}

// programsOf returns the programs that a run has run, in the order of their steps.
func programsOf(ctx context.Context, j *history.Journal, r *history.Run) ([]*ranProgram, error) {
	log, err := j.Read(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	if s := log.Script(); s.Path == agent.ProgramFile {
		return []*ranProgram{{run: r, code: s.Source, ended: r.State == history.Done, result: r.Result}}, nil
	}
	var list []*ranProgram
	damage, err := describe.EachStep(ctx, j, r, func(e *history.Entry, damage error) {
		if damage != nil {
			return
		}
		for _, p := range programsAt(e) {
			p.run = r
			list = append(list, p)
		}
	})
	return list, cmp.Or(err, damage)
}

// programsAt returns the programs that a step executes: one, or those of the calls of a reply.
func programsAt(e *history.Entry) (list []*ranProgram) {
	add := func(place tool.StepPath, name string, args *value.Dict, ended bool, result value.Value) {
		if tool.Key(name) == decision.ProgramTool && args.Has("code") {
			list = append(list, &ranProgram{place: place, code: args.Text("code"), ended: ended, result: withoutOutput(result)})
		}
	}
	ended := !e.Settled.IsZero() && e.Err == nil
	decided := func(place tool.StepPath, d, out *value.Dict) {
		result, _ := out.Get("result")
		add(place, d.Text("action"), d.Dict("input"), ended && out.Bool("success"), result)
	}
	out, _ := e.Outcome.Value.(*value.Dict)
	switch e.Func {
	case "tools.call":
		add(e.StepPath, e.Args.Text("name"), e.Args.Dict("args"), ended, e.Outcome.Value)
	case "agent.call":
		decided(e.StepPath, e.Args.Dict("decision"), out)
	case "agent.calls":
		outcomes := append(out.Elements("outcomes"), make(value.List, len(e.Args.Elements("decisions")))...)
		for i, v := range e.Args.Elements("decisions") {
			d, _ := v.(*value.Dict)
			one, _ := outcomes[i].(*value.Dict)
			decided(e.StepPath.Child(i+1), d, one)
		}
	}
	return list
}

// withoutOutput returns the result of a program without what it printed.
func withoutOutput(result value.Value) value.Value {
	if d, ok := result.(*value.Dict); ok && d.Len() == 2 && d.Has("result") && d.Has("output") {
		result, _ = d.Get("result")
	}
	return result
}

// chosenProgram returns the program at a place, or the only one.
func chosenProgram(list []*ranProgram, r *history.Run, place string) (*ranProgram, error) {
	var places []string
	for _, p := range list {
		if len(p.place) > 0 {
			places = append(places, p.place.String())
		}
	}
	switch {
	case len(list) == 0:
		return nil, value.Errorf(value.Invalid, "promote run '%s': the run has no program that a model wrote", r.ID).WithHint("list the steps: cassidy runs show %s", r.ID)
	case place == "" && len(list) == 1:
		return list[0], nil
	case place == "":
		return nil, value.Errorf(value.Invalid, "--step is missing: the run '%s' has %d programs", r.ID, len(list)).
			WithHint("select one: --step %s", strings.Join(places, ", or --step "))
	}
	at, err := history.ParseStepPath(place)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if slices.Equal(p.place, at) {
			return p, nil
		}
	}
	return nil, value.Errorf(value.Invalid, "the run '%s' has no program at step %q", r.ID, place).
		WithHint("use one of these steps: %s", strings.Join(places, ", "))
}

// readSteps reads which tools were called below the program, and which capabilities they
// used.
func (p *ranProgram) readSteps(ctx context.Context, j *history.Journal) error {
	world, err := stdlib.Open(&stdlib.Options{})
	if err != nil {
		return err
	}
	defer world.Close()
	targets := map[string]func(*value.Dict) ([]tool.Capability, error){}
	for _, m := range world.Modules() {
		for _, f := range m.Funcs {
			targets[m.Name+"."+f.Name] = f.Target
		}
	}
	damage, err := describe.EachStep(ctx, j, p.run, func(e *history.Entry, damage error) {
		if damage != nil || !describe.Inside(e.StepPath, p.place) || e.Intended.IsZero() {
			return
		}
		switch {
		case e.Func == "tools.call":
			p.called = append(p.called, e.Args.Text("name"))
		case e.Func == "tools.call_all":
			for _, item := range e.Args.Elements("calls") {
				if pair, _ := value.Elements(item); len(pair) > 0 {
					name, _ := pair[0].(string)
					p.called = append(p.called, name)
				}
			}
		case targets[e.Func] != nil:
			used, _ := targets[e.Func](e.Args) // an effect without a target was refused
			p.used = append(p.used, used...)
		}
	})
	return cmp.Or(err, damage)
}

// promote writes the tool, shows it, and asks whether it is trusted.
func (c *command) promote(ctx *cli.Context, h *host.Host, p *ranProgram) error {
	name := ctx.String("name")
	if err := scaffold.CheckToolName(h, name); err != nil {
		return err
	}
	file, notes, err := promote.File(&promote.Program{Name: name, Code: p.code, About: p.run.Title, From: p.from(), Result: p.result,
		Tools: calls.Declared(h.Tools()), Called: p.called, Used: p.used})
	if err != nil {
		return err
	}
	t, err := h.Describe(ctx.Context, tool.Script{Name: name, Path: name + ".star", Source: file})
	if ctx.Bool("print") {
		reportNotes(c.App, notes)
		if c.JSON && err == nil {
			return c.PrintJSON(value.NewDict("name", name, "file", file, "needs", ui.Texts(t.Needs)))
		}
		if !c.JSON {
			c.PrintData(file)
		}
		return err
	}
	if err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		return e.WithHint("print the file with --print, then fix and save it")
	}
	written, err := scaffold.WriteTool(c.App, string(tool.Project), name, ".star", file)
	if err != nil {
		return err
	}
	reportNotes(c.App, notes)
	return c.reviewPromoted(ctx, h, written, &t.Tool)
}

func reportNotes(a *app.App, notes []string) {
	for _, n := range notes {
		a.Log("%s", n)
	}
}

// reviewPromoted shows the tool as cassidy trust does, and asks whether to trust it.
func (c *command) reviewPromoted(ctx *cli.Context, h *host.Host, f scaffold.ToolFile, t *tool.Tool) error {
	c.Did("created %s", f.Shown)
	answered := ctx.Bool("yes") || c.Asks(c.In)
	trusted := false
	if c.State() != "" && answered {
		r, err := c.Review(ctx.Context, h, f.Root)
		if err != nil {
			return err
		}
		i := 0
		for i < len(r.Files) && r.Files[i].Path != f.Shown {
			i++
		}
		if i == len(r.Files) {
			return value.Errorf(value.Failed, "review %s: the file is not in the review: another process may have changed or deleted it", f.Shown).
				WithHint("check the tool: cassidy tool validate %s", t.Name)
		}
		review := &trust.Session{App: c.App, Review: r, Files: r.Files[i : i+1], Full: true}
		if ctx.Bool("yes") {
			if !c.JSON {
				review.ShowAll()
			}
			err, trusted = review.Record(review.Files), true
		} else {
			err = review.Ask(ctx.Context)
		}
		if err != nil {
			return err
		}
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("name", t.Name, "path", f.Path, "needs", ui.Texts(t.Needs), "trusted", trusted))
	}
	if !answered {
		c.Warn("the tool is untrusted: a model wrote it; to review: cassidy trust %s", f.Shown)
	}
	c.Note("to try the tool: cassidy tool run %s", t.Name)
	return nil
}
