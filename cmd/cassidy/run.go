package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func workflowCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run a workflow: a script that calls tools, models and you",
		ArgsUsage: "FILE.star|NAME [key=value …]",
		Description: "A workflow is a Starlark file with def main(…). NAME is one of .cassidy/workflows; without it they are listed.\n" +
			"Arguments are key=value, read as the types of main's parameters; key:=JSON gives any value.\n" +
			"Or all at once as a JSON object: --input '{\"key\": 1}', --input @FILE, --input - (standard input).\n" +
			"The result is printed on standard output, what happens on standard error. What can write, run or send is asked\n" +
			"about first: --yes approves it, --deny refuses it; where nobody can be asked, the run waits for\n" +
			"cassidy runs answer. With --json each event is a line, and the last is the result.",
		Flags: append(approvalFlags(),
			&cli.StringFlag{Name: "input", Usage: "the arguments as a `JSON` object, @FILE, or - for standard input"},
			&cli.StringFlag{Name: "model", Usage: "who answers model.ask: `MODEL` is cassidy, openai:NAME, anthropic:NAME, ollama:NAME or script:FILE.star"},
			&cli.StringFlag{Name: "run-id", Usage: "name the run `ID`"}),
		Action: func(ctx *cli.Context) error {
			if !ctx.Args().Present() {
				return c.withHost(c.listWorkflows)(ctx)
			}
			return c.recording(c.parking(c.runWorkflow))(ctx)
		},
	}
}

// parking is a command that needs a host, whose approvals the user gives, and
// whose runs wait where he cannot be asked.
func (c *command) parking(do func(ctx *cli.Context, h *host.Host) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		var err error
		if c.approver, err = c.chooseApprover(ctx); err != nil {
			return err
		}
		if !ctx.Bool("yes") && !ctx.Bool("deny") && ui.OpenTerminal(c.in, c.Err, c.inputRead) == nil {
			c.approver = nil
		}
		return c.withHost(do)(ctx)
	}
}

func (c *command) runWorkflow(ctx *cli.Context, h *host.Host) error {
	words := ctx.Args().Slice()
	id := ctx.String("run-id")
	if id == "" {
		id = agent.NewID()
	}
	if err := checkRunName(id); err != nil {
		return err
	}
	if err := c.mayAsk(ctx.Context, h); err != nil {
		return err
	}
	w, err := c.findWorkflow(ctx.Context, h, words[0])
	if err != nil {
		return err
	}
	script, err := w.Script()
	if err != nil {
		return err
	}
	given, err := c.arguments(&w.Tool, "cassidy run ", words[1:], ctx.String("input"), ctx.IsSet("input"))
	if err != nil {
		return err
	}
	dir, err := c.workDir()
	if err != nil {
		return err
	}
	flow := host.Workflow{Tool: w.Tool, Script: script, Declared: w.Declared}
	p, err := flow.Program(given, dir)
	if err != nil {
		return err
	}
	p.ID, p.Kind, p.Parks = id, host.WorkflowKind, !ctx.Bool("deny")
	p.Options.Put("model", c.lasting(ctx.String("model")))
	p.Options.Put(dirOption, dir)
	c.registerAgents(ctx.Context, h, p.Parks)
	stop := c.showWorkflow(h, id)
	out, err := h.RunProgram(ctx.Context, p)
	stop()
	return c.workflowEnded(ctx.Context, p, out, err)
}

// mayAsk fails where the model that a workflow was given cannot be opened: better
// before its first effects than after them.
func (c *command) mayAsk(ctx context.Context, h *host.Host) error {
	if c.model == "" {
		return nil
	}
	_, err := c.askedModel(ctx, h)
	return err
}

// findWorkflow finds a workflow by its file or its name, and reads it.
func (c *command) findWorkflow(ctx context.Context, h *host.Host, word string) (project.Workflow, error) {
	find := c.scope()
	w, err := c.openWorkflow(find, word)
	if err == nil {
		err = w.Describe(ctx, h.Describe)
	}
	return w, err
}

func (c *command) openWorkflow(find *trust.Scope, word string) (project.Workflow, error) {
	if strings.HasSuffix(word, ".star") {
		file := word
		if _, err := os.Stat(file); err != nil && c.dir != "" && !filepath.IsAbs(file) {
			file = filepath.Join(c.dir, file)
		}
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			return project.Workflow{}, value.Errorf(value.Invalid, "there is no file %s", word).
				WithHint("cassidy run lists the workflows that have a name")
		}
		return project.OpenWorkflow(file, find)
	}
	root, err := c.projectRoot()
	if err != nil {
		return project.Workflow{}, err
	}
	return project.FindWorkflow(root, find, word)
}

// projectRoot returns the folder of the project, or "" where there is none.
func (c *command) projectRoot() (string, error) {
	dir, err := c.workDir()
	if err != nil {
		return "", err
	}
	root, _ := project.Find(dir, c.home(), c.ceiling())
	return root, nil
}

// workflowEnded prints the result of a workflow, and ends the command.
func (c *command) workflowEnded(ctx context.Context, p *host.Program, out tool.Outcome, err error) error {
	var told *value.Error
	if err != nil {
		if told = value.ErrorOf(err, value.Failed); ctx.Err() != nil {
			told = interruptedError(err)
		}
	}
	if c.JSON {
		c.printWorkflowEnd(p, out, told)
	}
	if told != nil {
		c.Report(told)
		c.tellAgain(told, p.ID)
		return ui.Reported(told)
	}
	if !c.JSON {
		c.printText(tool.Succeed(out).Text())
	}
	return nil
}

// printWorkflowEnd prints the line with which the run of a workflow ends.
func (c *command) printWorkflowEnd(p *host.Program, out tool.Outcome, err *value.Error) {
	d := value.NewDict("type", tool.Event{Data: tool.RunEnd{}}.Type(), "run", p.ID, "workflow", p.Options.Text("workflow"),
		"reason", p.Reason(out.Value, nil), "result", out.Value, "success", err == nil,
		"usage", value.NewDict("steps", out.Usage.Steps, "effects", int64(out.Usage.Effects), "wall_ms", float64(out.Usage.Wall.Microseconds())/1000))
	if err != nil {
		d.Put("reason", p.Reason(nil, err))
		d.Put("result", nil)
		d.Put("error", err.Message())
		d.Put("error_type", err.Kind.Type())
		d.Put("suggestion", err.Hint)
	}
	text, jsonErr := value.AppendJSON(nil, d)
	if jsonErr != nil { // the host has checked that the result has a JSON form
		c.Log("cannot write the result: %v", jsonErr)
		return
	}
	c.Print(string(text) + "\n")
}

// showWorkflow shows what happens in a run, as showRun does, until the function
// that it returns is called.
func (c *command) showWorkflow(h *host.Host, run string) (stop func()) {
	show := c.workflowLines(run)
	if c.JSON {
		show = c.jsonLines(run)
	}
	return c.screen.Follow(h, show)
}

// workflowLines returns what shows the events of a run to a person: each call
// that the workflow makes, with what came of it. Several may be under way, so a
// call is shown when it has ended.
func (c *command) workflowLines(run string) func(tool.Event) {
	paint := c.PaintOn(c.Err)
	calls := map[string]*value.Dict{} // the arguments
	rest := c.runLines(run)
	return func(e tool.Event) {
		direct := strings.Count(strings.TrimPrefix(e.Call, run), "/") == 1
		switch d := e.Data.(type) {
		case tool.ToolCallStart:
			if direct && !d.Recorded { // that was shown when it was done
				calls[e.Call] = d.Args
			}
			return
		case tool.ToolCallEnd:
			if !direct || d.Recorded {
				break
			}
			if !c.Quiet {
				c.LogLine(ui.VisibleLine(e.Tool + callArgs(calls[e.Call])))
			}
			delete(calls, e.Call)
			c.showCallEnd(&d, paint)
			return
		case tool.Log:
			if e.Call == run {
				c.Note("%s", d.Message)
				return
			}
		}
		if !recorded(e.Data) {
			rest(e)
		}
	}
}

// listWorkflows lists the workflows that have a name.
func (c *command) listWorkflows(ctx *cli.Context, h *host.Host) error {
	root, err := c.projectRoot()
	if err != nil {
		return err
	}
	find := c.scope()
	all, broken := project.Workflows(root, find)
	list, lines, width := value.List{}, [][2]string{}, 0
	for i := range all {
		w := &all[i]
		if err := w.Describe(ctx.Context, h.Describe); err != nil {
			broken = append(broken, value.ErrorOf(err, value.Invalid))
			continue
		}
		d := describe(&w.Tool)
		d.Put("declared", w.Declared)
		list = append(list, d)
		summary := w.Tool.Summary()
		if w.State != tool.Ready {
			summary = "[" + string(w.State) + ": " + w.Reason + "]"
		}
		call := usage(&w.Tool)
		lines, width = append(lines, [2]string{call, summary}), max(width, min(utf8.RuneCountInString(call), 40))
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("workflows", list, "errors", ui.ErrorList(broken)))
	}
	for _, l := range lines {
		c.Print(ui.Pad(ui.VisibleLine(l[0]), width) + "  " + ui.Clip(ui.VisibleLine(l[1]), max(ui.PageWidth-2-width, 30)) + "\n")
	}
	c.ReportAll(broken)
	if len(lines) == 0 {
		c.Print("No workflows found\n")
		c.Note("a workflow is a file %s/workflows/NAME.star with def main(…); cassidy run FILE.star runs any other", folder.Name)
	}
	return nil
}
