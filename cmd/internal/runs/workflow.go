package runs

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/models"
	"github.com/cassidy-run/cassidy/cmd/internal/remote"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A workflowCommand is one run of cassidy run.
type workflowCommand struct{ *app.App }

// RunCommand returns cassidy run.
func RunCommand(a *app.App) *cli.Command {
	c := &workflowCommand{a}
	return remote.Offer(a, &cli.Command{
		Name: "run", Usage: "run a workflow: a script that calls tools and models", ArgsUsage: "[FILE.star|NAME [key=value …]]",
		Description: "A workflow is a Starlark file with a function main. NAME runs the file .cassidy/workflows/NAME.star of the\n" +
			"project, or your personal file in $CASSIDY_HOME/workflows (default: ~/.cassidy/workflows).\n" +
			"Without arguments, the command lists the workflows. To describe one with its parameters: cassidy run NAME --help.\n" +
			"Write each argument of main as key=value: the value is converted to the type of the parameter. Or write\n" +
			"key:=JSON: the value is parsed as JSON, and not converted.\n" +
			"Or pass all arguments as a JSON object: --input '{\"key\": 1}', --input @FILE, or --input - for standard input.\n" +
			"The result goes to standard output. Messages go to standard error.\n" +
			"A tool that can run commands or send data asks for approval before it runs. A tool that can only write files asks before its changes are written. To answer yes to all: --yes. To answer no to all: --deny.\n" +
			"If approval or an answer is needed, but there is no terminal, the run is parked. It waits until you answer with cassidy runs answer ID.\n" +
			"With --detach, the run is recorded, and cassidy worker or cassidy serve executes it.\n" +
			"With --json, each line on standard output is an event. The last line is the event run_end, which has the result.",
		Flags: append(slices.Concat(approve.Flags(), agents.CeilingFlags(), agents.RequestFlags(), calls.TraceFlags(), calls.ResultFlags(c.App)),
			&cli.StringFlag{Name: "input", Usage: "pass all arguments as a `JSON` object; @FILE reads the object from FILE, and - from standard input"},
			&cli.StringFlag{Name: "model", Usage: "if the workflow or a tool calls model.ask, ask `MODEL`: " + models.Choices, DefaultText: models.Default},
			agents.HooksFlag(),
			&cli.StringFlag{Name: "run-id", Usage: "record the run under `ID`"},
			app.DetachFlag()),
		Action: func(ctx *cli.Context) error {
			if !ctx.Args().Present() {
				return c.WithHost(c.list)(ctx)
			}
			if slices.Equal(ctx.Args().Tail(), []string{"--help"}) {
				return c.WithHost(c.help)(ctx)
			}
			return c.Recording(c.Parking(c.run))(ctx)
		},
	}, c.over, "input", "detach", "all", "wide", "out", remote.Project)
}

func (c *workflowCommand) run(ctx *cli.Context, h *host.Host) error {
	id, err := app.RunID(ctx)
	if err != nil {
		return err
	}
	id = cmp.Or(id, agent.NewID())
	if err := checkModel(ctx.Context, c.App, h); err != nil {
		return err
	}
	w, err := c.described(ctx, h)
	if err != nil {
		return err
	}
	script, err := w.Script()
	if err != nil {
		return err
	}
	given, err := calls.Arguments(c.App, ctx, &w.Tool.Tool)
	if err != nil {
		return err
	}
	dir, err := c.WorkDir()
	if err != nil {
		return err
	}
	flow := host.Workflow{Tool: w.Tool.Tool, Script: script, Declared: w.Declared}
	p, err := flow.Program(given, dir)
	if err != nil {
		return calls.ExampleHint(err, &w.Tool.Tool, "cassidy run ")
	}
	p.ID, p.Kind, p.Parks = id, host.WorkflowKind, !ctx.Bool("deny")
	p.Options.Put("model", c.Models().Lasting(ctx.String("model")))
	p.Options.Put(app.DirOption, dir)
	if err := agents.PutRequestFlags(ctx, p.Options); err != nil {
		return err
	}
	if err := agents.PutHooks(c.App, p.Options); err != nil {
		return err
	}
	if app.Detaches(ctx) {
		return c.Detached(h.BeginProgram(ctx.Context, p))
	}
	if err := agents.Register(ctx.Context, c.App, h, p.Parks, p.Options); err != nil {
		return err
	}
	t := calls.NewTracer(c.App, ctx)
	p.Trace = t.Mode()
	return run(ctx.Context, c.App, h, p, agent.Ceilings{}, t)
}

// runWorkflow runs a workflow, shows its events and prints its result. Ceilings that are set replace the
// recorded ones.
func runWorkflow(ctx context.Context, a *app.App, h *host.Host, p *host.Program, c agent.Ceilings) error {
	return run(ctx, a, h, p, c, &calls.Tracer{})
}

func run(ctx context.Context, a *app.App, h *host.Host, p *host.Program, c agent.Ceilings, t *calls.Tracer) error {
	s, err := agent.ReadSettings(p.Options)
	if err != nil {
		return err
	}
	if all := c.Or(s.Ceilings); a.Model != "" && all.CostUSD > 0 {
		m, err := a.AskedModel(ctx, h)
		if err == nil {
			err = all.CheckPrice(m.Name(), model.InfoOf(ctx, m).Price)
		}
		if err != nil {
			return err
		}
	}
	metered, used, err := agent.Metered(ctx, h, p, c)
	if err != nil {
		return err
	}
	show := lines(a, p.ID)
	stop := calls.ShowRun(a, h, p.ID, func(e tool.Event) {
		if !t.Show(e) {
			show(e)
		}
	})
	out, err := h.RunProgram(metered, p)
	stop()
	err = workflowEnded(ctx, a, p, out, used(), err)
	t.End(nil)
	return err
}

// checkModel fails if the model of --model cannot be opened, so that a workflow fails
// before its first effect.
func checkModel(ctx context.Context, a *app.App, h *host.Host) error {
	if a.Model == "" {
		return nil
	}
	_, err := a.AskedModel(ctx, h)
	return err
}

// described finds the workflow that the first argument names, and its parameters.
func (c *workflowCommand) described(ctx *cli.Context, h *host.Host) (project.Workflow, error) {
	w, err := c.open(ctx.Args().First())
	if err == nil {
		err = w.Describe(ctx.Context, h.Describe)
	}
	return w, err
}

// help describes a workflow in full.
func (c *workflowCommand) help(ctx *cli.Context, h *host.Host) error {
	w, err := c.described(ctx, h)
	if err != nil {
		return err
	}
	info := infoOf(&w)
	if c.JSON {
		d := describe.FullTool(&info)
		d.Put("declared", w.Declared)
		return c.PrintJSON(d)
	}
	if word := ctx.Args().First(); strings.HasSuffix(word, ".star") {
		info.Name = word
	}
	c.printHelp(&info, w.Declared)
	return nil
}

// printHelp describes a workflow in full, which has declared its needs or not.
func (c *workflowCommand) printHelp(info *toolset.Info, declared bool) {
	p := calls.NewPage(c.App)
	p.Call(info, "cassidy run ")
	p.Line("")
	needs := "what the tools need that it calls"
	if declared {
		needs = cmp.Or(ui.Join(info.Needs), calls.NoNeeds)
	}
	p.Fact("Needs", needs)
	p.Fact("From", strings.TrimSpace(string(info.Location)+" "+info.Path))
	c.Print(p.String())
}

// infoOf returns a described workflow as a tool.
func infoOf(w *project.Workflow) toolset.Info {
	info := toolset.Info{Tool: w.Tool.Tool, Standing: toolset.Standing{Location: w.Location, Path: w.Path, State: toolset.Ready, Reason: w.Reason}}
	if !w.Trusted {
		info.State = toolset.Untrusted
	}
	return info
}

// open finds a workflow by its file or its name.
func (c *workflowCommand) open(word string) (project.Workflow, error) {
	if strings.HasSuffix(word, ".star") {
		file := word
		if _, err := os.Stat(file); err != nil && c.Dir != "" && !filepath.IsAbs(file) {
			file = filepath.Join(c.Dir, file)
		}
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			return project.Workflow{}, value.Errorf(value.Invalid, "file %s does not exist", word).
				WithHint("list the workflows: cassidy run")
		}
		return project.OpenWorkflow(file, c.Scope())
	}
	root, err := c.ProjectRoot()
	if err != nil {
		return project.Workflow{}, err
	}
	return project.FindWorkflow(root, c.Scope(), word)
}

// workflowEnded prints the result of a workflow, and returns the error of the command.
func workflowEnded(ctx context.Context, a *app.App, p *host.Program, out tool.Outcome, used agent.Usage, err error) error {
	e := app.Interrupted(ctx, err)
	if a.JSON {
		printEnd(a, p, out, used, e)
	}
	if e != nil {
		return calls.ReportEnd(a, e, p.ID)
	}
	return printOutcome(a, p.ID, out, used)
}

// printOutcome prints the result of a run; with --json, it was printed with its last event.
func printOutcome(a *app.App, run string, out tool.Outcome, used agent.Usage) error {
	result := tool.Succeed(out)
	if a.JSON {
		return a.SaveResult(&result)
	}
	calls.Gap(a)
	err := a.PrintResult(&result)
	calls.ReportUsed(a, run, used.String())
	return err
}

// printEnd prints the last line of a workflow with --json.
func printEnd(a *app.App, p *host.Program, out tool.Outcome, used agent.Usage, err *value.Error) {
	reason := p.Reason(out.Value, nil)
	if err != nil {
		reason = p.Reason(nil, err)
	}
	printRunEnd(a, p.ID, p.Options.Text("workflow"), reason, out, used, err)
}

func printRunEnd(a *app.App, run, workflow, reason string, out tool.Outcome, used agent.Usage, err *value.Error) {
	usage := used.Dict()
	usage.Put("steps", out.Usage.Steps)
	usage.Put("effects", int64(out.Usage.Effects))
	usage.Put("wall_ms", float64(out.Usage.Wall.Microseconds())/1000)
	d := value.NewDict("type", tool.Event{Data: tool.RunEnd{}}.Type(), "run", run, "workflow", workflow,
		"reason", reason, "result", out.Value, "success", err == nil,
		"usage", usage)
	if err != nil {
		d.Put("result", nil)
		describe.PutError(d, err)
	}
	calls.PutEnd(a, d)
	if err := a.PrintLine(d); err != nil { // the host has checked that the result has a JSON form
		a.Log("write the result: %v", err)
	}
}

// lines returns a function that shows the events of a workflow to a person: each call
// when it has ended, as several calls may be in progress.
func lines(a *app.App, run string) func(tool.Event) {
	paint := a.ScreenOf(a.Err).Paint
	args := map[string]*value.Dict{} // of the calls in progress
	rest, onTerminal := calls.RunLines(a, run), ui.IsTerminal(a.Err)
	return func(e tool.Event) {
		direct := strings.Count(strings.TrimPrefix(e.Call, run), "/") == 1
		d, isLog := e.Data.(tool.Log)
		switch {
		case isLog && e.Call == run:
			a.Note("%s", d.Message)
			return
		case onTerminal:
			rest(e)
			return
		}
		switch d := e.Data.(type) {
		case tool.ToolCallStart:
			if direct && !d.Recorded { // recorded calls were shown before
				args[e.Call] = d.Args
			}
			return
		case tool.ToolCallEnd:
			if !direct || d.Recorded {
				break
			}
			if !a.Quiet {
				a.LogLine(ui.VisibleLine(e.Tool + describe.ArgsText(args[e.Call])))
			}
			delete(args, e.Call)
			calls.ShowEnd(a, "", &d, paint)
			return
		}
		if !calls.Recorded(e.Data) {
			rest(e)
		}
	}
}

// list lists the workflows of the project and its user.
func (c *workflowCommand) list(ctx *cli.Context, h *host.Host) error {
	root, err := c.ProjectRoot()
	if err != nil {
		return err
	}
	all, broken := project.DescribedWorkflows(ctx.Context, root, c.Scope(), h.Describe)
	list := value.List{}
	for i := range all {
		info := infoOf(&all[i])
		d := describe.Tool(&info)
		d.Put("declared", all[i].Declared)
		list = append(list, d)
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("workflows", list, "errors", describe.ErrorList(broken)))
	}
	c.printWorkflows(ui.Map(all, func(w project.Workflow) toolset.Info { return infoOf(&w) }), broken)
	if len(all) == 0 {
		c.Note("to add a workflow, write %s/workflows/NAME.star with def main(…); to run any file: cassidy run FILE.star", folder.Name)
	}
	return nil
}

// printWorkflows prints workflows for a person.
func (c *workflowCommand) printWorkflows(all []toolset.Info, broken []*value.Error) {
	lines, width := [][2]string{}, 0
	t := &draw.Table{Columns: []draw.Column{{Name: "WORKFLOW"}, {Name: "WHAT"}}, AllRows: true}
	for i := range all {
		w := &all[i]
		summary, mark := w.Summary(), draw.None
		if w.State != toolset.Ready {
			mark = draw.Risk
			summary = "[" + string(w.State) + ": " + w.Reason + "]"
		}
		call := calls.Usage(&w.Tool)
		t.Marks = append(t.Marks, mark)
		t.Rows = append(t.Rows, []string{ui.VisibleLine(call), ui.VisibleLine(summary)})
		lines, width = append(lines, [2]string{call, summary}), max(width, min(utf8.RuneCountInString(call), 40))
	}
	if ui.IsTerminal(c.Out) {
		c.PrintTable(t)
		lines = nil
	}
	for _, l := range lines {
		c.Print(draw.Pad(ui.VisibleLine(l[0]), width, false) + "  " + ui.Brief(l[1], max(draw.PageWidth-2-width, 30)) + "\n")
	}
	c.ReportAll(broken)
	if len(all) == 0 {
		c.Print("No workflows found\n")
	}
}
