package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/promote"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib"
)

// promoteCommand makes the command that makes a tool of a program that a model
// wrote.
func (c *command) promoteCommand() *cli.Command {
	return &cli.Command{
		Name: "promote", Usage: "make a tool of a program that a model wrote", ArgsUsage: "ID",
		Description: "The program's text becomes .cassidy/tools/NAME.star: a function with types and a docstring, which declares\n" +
			"the tools that the program called and what these need. It is shown, and used once you trust it.\n" +
			"--step is where the run ran the program; it can be left out where there is only one.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "step", Usage: "take the program at a `PLACE`, as 3.1"},
			&cli.StringFlag{Name: "name", Usage: "call the tool `NAME`"},
			&cli.BoolFlag{Name: "print", Usage: "print the file, and write nothing"},
			&cli.BoolFlag{Name: "yes", Usage: "trust it, without a question"},
		},
		Action: func(ctx *cli.Context) error {
			var found *ranProgram
			err := c.withRuns(func(ctx *cli.Context, j *history.Journal) (err error) {
				found, err = c.findProgram(ctx, j)
				return err
			})(ctx)
			if err != nil {
				return err
			}
			c.records = false // from here on nothing is run
			return c.withHost(func(ctx *cli.Context, h *host.Host) error { return c.promote(ctx, h, found) })(ctx)
		},
	}
}

// A ranProgram is a program that a run has run, with what it did.
type ranProgram struct {
	run    *history.Run
	place  tool.Place // nil where the run itself is of the program
	code   string
	ended  bool // it has ended well
	result value.Value
	called []string // the tools that were called, by it and by those
	used   []tool.Capability
}

// from says where the program was run.
func (p *ranProgram) from() string {
	if p.place == nil {
		return "run " + p.run.ID
	}
	return "run " + p.run.ID + ", step " + p.place.String()
}

// findProgram finds the program that the flags name, and reads what it did.
func (c *command) findProgram(ctx *cli.Context, j *history.Journal) (*ranProgram, error) {
	words, err := exactly(ctx, "ID")
	if err != nil {
		return nil, err
	}
	if !ctx.IsSet("name") {
		return nil, value.Errorf(value.Invalid, "--name is missing").WithHint("cassidy runs promote %s --name NAME", words[0])
	}
	r, err := findRun(ctx.Context, j, words[0])
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
		return nil, value.Errorf(value.Invalid, "the program of %s did not end well", p.from()).
			WithHint("cassidy runs show %s tells what came of it; promote one that worked", r.ID)
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
	damage, err := eachStep(ctx, j, r, func(e *history.Entry, damage error) {
		if code, ok := programAt(e); ok && damage == nil {
			p := &ranProgram{run: r, place: e.Place, code: code}
			p.ended, p.result = programResult(e)
			list = append(list, p)
		}
	})
	if err == nil {
		err = damage
	}
	return list, err
}

// programAt returns the program that a step runs, if it runs one.
func programAt(e *history.Entry) (code string, ok bool) {
	call, name, args := e.Args, "name", "args"
	switch e.Func {
	case "agent.call":
		v, _ := e.Args.Get("decision")
		call, _ = v.(*value.Dict)
		name, args = "action", "input"
	case "tools.call":
	default:
		return "", false
	}
	v, _ := call.Get(args)
	given, _ := v.(*value.Dict)
	return given.Text("code"), tool.Key(call.Text(name)) == decision.ProgramTool && given.Has("code")
}

// programResult says whether the program of a step ended well, and what it gave,
// without what it printed.
func programResult(e *history.Entry) (ended bool, result value.Value) {
	ended, result = !e.Settled.IsZero() && e.Err == nil, e.Outcome.Value
	if out, ok := result.(*value.Dict); ok && e.Func == "agent.call" {
		ended = ended && out.Bool("success")
		result, _ = out.Get("result")
	}
	if d, ok := result.(*value.Dict); ok && d.Len() == 2 && d.Has("result") && d.Has("output") {
		result, _ = d.Get("result")
	}
	return ended, result
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
		return nil, value.Errorf(value.Invalid, "the run '%s' ran no program of a model", r.ID).WithHint("cassidy runs show %s lists its steps", r.ID)
	case place == "" && len(list) == 1:
		return list[0], nil
	case place == "":
		return nil, value.Errorf(value.Invalid, "the run '%s' ran %d programs", r.ID, len(list)).
			WithHint("name one: --step %s", strings.Join(places, ", or --step "))
	}
	at, err := history.ParsePlace(place)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if slices.Equal(p.place, at) {
			return p, nil
		}
	}
	return nil, value.Errorf(value.Invalid, "the run '%s' ran no program at step %q", r.ID, place).
		WithHint("it did at: %s", strings.Join(places, ", "))
}

// readSteps reads which tools were called below the program, and what these
// reached out with.
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
	damage, err := eachStep(ctx, j, p.run, func(e *history.Entry, damage error) {
		if damage != nil || !inside(e.Place, p.place) || e.Intended.IsZero() {
			return
		}
		switch {
		case e.Func == "tools.call":
			p.called = append(p.called, e.Args.Text("name"))
		case e.Func == "tools.call_all":
			v, _ := e.Args.Get("calls")
			list, _ := value.Elements(v)
			for _, item := range list {
				if pair, _ := value.Elements(item); len(pair) > 0 {
					name, _ := pair[0].(string)
					p.called = append(p.called, name)
				}
			}
		case targets[e.Func] != nil:
			used, _ := targets[e.Func](e.Args) // what has none was refused
			p.used = append(p.used, used...)
		}
	})
	if err == nil {
		err = damage
	}
	return err
}

// promote writes the tool, shows it, and asks whether it is trusted.
func (c *command) promote(ctx *cli.Context, h *host.Host, p *ranProgram) error {
	name := ctx.String("name")
	if err := checkNewName(h, name); err != nil {
		return err
	}
	file, notes, err := promote.File(&promote.Program{Name: name, Code: p.code, About: p.run.Title, From: p.from(), Result: p.result,
		Tools: h.Tools(), Called: p.called, Used: p.used})
	if err != nil {
		return err
	}
	base := name + ".star"
	t, err := h.Describe(ctx.Context, tool.Script{Name: name, Path: base, Source: file})
	if ctx.Bool("print") {
		c.tellNotes(notes)
		if c.JSON && err == nil {
			return c.PrintJSON(value.NewDict("name", name, "file", file, "needs", capabilityList(t.Needs)))
		}
		if !c.JSON {
			c.Print(file)
		}
		return err
	}
	if err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		return e.WithHint("--print prints the file, to be mended by hand")
	}
	root, shown, err := c.writePromoted(base, name, file)
	if err != nil {
		return err
	}
	c.tellNotes(notes)
	return c.reviewPromoted(ctx, h, root, shown, &t)
}

func (c *command) tellNotes(notes []string) {
	for _, n := range notes {
		c.Log("%s", ui.VisibleLine(n))
	}
}

// writePromoted writes the file of the tool, and returns the project's folder and
// the file's name in it.
func (c *command) writePromoted(base, name, text string) (root, shown string, err error) {
	dir, folder, err := c.toolsDir(string(tool.Project))
	if err != nil {
		return "", "", err
	}
	if err := checkNoFile(dir, folder, name); err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", "", ui.FileError(err)
	}
	shown = folder + "/" + base
	written, err := writeNew(filepath.Join(dir, base), text)
	if err == nil && !written {
		err = alreadyExists(shown)
	}
	return filepath.Dir(filepath.Dir(dir)), shown, err
}

// reviewPromoted shows the tool as cassidy trust does, and asks about it: nobody
// has read what a model wrote.
func (c *command) reviewPromoted(ctx *cli.Context, h *host.Host, root, shown string, t *tool.Tool) error {
	c.Note("created %s", shown)
	answered := ctx.Bool("yes") || !c.JSON && c.person()
	trusted := false
	if c.state() != "" && answered {
		r, err := c.review(ctx.Context, h, root)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(r.Files, func(f trust.File) bool { return f.Path == shown })
		if i < 0 {
			return value.Errorf(value.Failed, "%s is not what was written there", shown).WithHint("cassidy tool validate %s", t.Name)
		}
		review := &trusting{command: c, review: r, files: r.Files[i : i+1], full: true}
		if ctx.Bool("yes") {
			if !c.JSON {
				review.showAll()
			}
			err, trusted = review.record(review.files), true
		} else {
			err = review.ask(ctx.Context)
		}
		if err != nil {
			return err
		}
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("name", t.Name, "path", filepath.Join(root, filepath.FromSlash(shown)), "needs", capabilityList(t.Needs), "trusted", trusted))
	}
	if !answered {
		c.Note("it is untrusted: a model wrote it. Next: read it, then  cassidy trust %s", shown)
	}
	c.Note("try it with  cassidy tool run %s", t.Name)
	return nil
}
