package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/project"
	"github.com/cassidy-run/cassidy/runtime/tool"
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
func (c *command) parking(do func(ctx *cli.Context, h *runtime.Host) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		var err error
		if c.approver, err = c.chooseApprover(ctx); err != nil {
			return err
		}
		if !ctx.Bool("yes") && !ctx.Bool("deny") && openTerminal(c, c.inputRead) == nil {
			c.approver = nil
		}
		return c.withHost(do)(ctx)
	}
}

func (c *command) runWorkflow(ctx *cli.Context, h *runtime.Host) error {
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
	args, err := w.Tool.Check(given)
	if err == nil {
		err = c.fillIn(&w.Tool, args)
	}
	if err != nil {
		return err
	}
	options, err := workflowOptions(&w, c.lasting(ctx.String("model")))
	if err != nil {
		return err
	}
	dir, err := c.workDir()
	if err != nil {
		return err
	}
	options.Put(dirOption, dir)
	p := workflowProgram(w.Name, options)
	p.ID, p.Title, p.Script, p.Args = id, w.Name+callArgs(given), script, args
	p.Parks = !ctx.Bool("deny")
	c.registerAgents(ctx.Context, h, p.Parks)
	stop := c.showWorkflow(h, id)
	out, err := h.RunProgram(ctx.Context, p)
	stop()
	return c.workflowEnded(ctx.Context, p, out, err)
}

// mayAsk fails where the model that a workflow was given cannot be opened: better
// before its first effects than after them.
func (c *command) mayAsk(ctx context.Context, h *runtime.Host) error {
	if c.model == "" {
		return nil
	}
	_, err := c.askedModel(ctx, h)
	return err
}

// fillIn gives a workflow what is not asked for.
func (c *command) fillIn(t *tool.Tool, args *tool.Dict) error {
	dir, err := c.workDir()
	for _, p := range t.Params {
		if p.FromHost {
			args.Put(p.Name, dir)
		}
	}
	return err
}

// findWorkflow finds a workflow by its file or its name, and reads it.
func (c *command) findWorkflow(ctx context.Context, h *runtime.Host, word string) (project.Workflow, error) {
	find := c.findOptions()
	find.Describe = h.Describe
	w, err := c.openWorkflow(find, word)
	if err == nil {
		err = w.Describe(ctx, find)
	}
	return w, err
}

func (c *command) openWorkflow(find *project.Options, word string) (project.Workflow, error) {
	if strings.HasSuffix(word, ".star") {
		file := word
		if _, err := os.Stat(file); err != nil && c.dir != "" && !filepath.IsAbs(file) {
			file = filepath.Join(c.dir, file)
		}
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			return project.Workflow{}, tool.Errorf(tool.Invalid, "there is no file %s", word).
				WithHint("cassidy run lists the workflows that have a name")
		}
		return project.OpenWorkflow(file, find)
	}
	root, err := c.projectRoot()
	if err != nil {
		return project.Workflow{}, err
	}
	all, broken := project.Workflows(root, find)
	known := make([]string, len(all))
	for i := range all {
		if known[i] = all[i].Name; tool.Key(known[i]) == tool.Key(word) {
			return all[i], nil
		}
	}
	for _, e := range broken {
		if tool.Key(strings.TrimSuffix(filepath.Base(e.Pos.File), ".star")) == tool.Key(word) {
			return project.Workflow{}, e
		}
	}
	e := tool.Errorf(tool.NotFound, "there is no workflow %q%s", word, tool.DidYouMean(word, known))
	if len(known) == 0 {
		return project.Workflow{}, e.WithHint("a workflow is a file %s/workflows/NAME.star with def main(…)", project.Folder)
	}
	return project.Workflow{}, e.WithHint("the workflows are %s", strings.Join(known, ", "))
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

// workflowOptions is what is recorded of a workflow, beside its script and its
// arguments, so that the run can go on.
func workflowOptions(w *project.Workflow, model string) (*tool.Dict, error) {
	needs := tool.List{"model", "human", "tool"}
	if w.Declared {
		needs = tool.List{}
		for _, n := range w.Tool.Needs {
			if n.Name == "model" || n.Name == "human" || n.Name == "tool" {
				needs = append(needs, n.String())
			}
		}
	}
	// The form in which a worker tells of a tool keeps a type exactly.
	result, err := tool.AppendTool(nil, &tool.Tool{Name: w.Name, Returns: w.Tool.Returns})
	return tool.NewDict("workflow", w.Name, "path", w.Path, "declared", w.Declared, "needs", needs, "result", result, "model", model), err
}

// workflowProgram is the program of a workflow as these options describe it.
func workflowProgram(name string, options *tool.Dict) *runtime.Program {
	p := &runtime.Program{Name: "workflow " + name, Entry: "main"}
	p.Kind, p.Reason, p.Options = workflowKind, workflowReason, options
	list, _ := options.Get("needs")
	needs, _ := tool.Elements(list)
	for _, v := range needs {
		text, _ := v.(string)
		if need, err := tool.ParseCapability(text); err == nil {
			p.Needs = append(p.Needs, need)
		}
	}
	return p
}

// workflowKind is what the run of a workflow is recorded as.
const workflowKind = "run"

// workflowProgramFromRun is the program with which the run of a workflow goes
// on.
func workflowProgramFromRun(r *history.Run) (*runtime.Program, error) {
	name := r.Options.Text("workflow")
	if r.Kind != workflowKind || name == "" {
		return nil, tool.Errorf(tool.Invalid, "the run '%s' is not that of a workflow", r.ID)
	}
	p := workflowProgram(name, r.Options)
	p.ID, p.Title, p.Args, p.Parks, p.Resume = r.ID, r.Title, r.Args, true, true
	return p, nil
}

// workflowReason says in a word why a workflow ended.
func workflowReason(_ tool.Value, err error) string {
	if err == nil {
		return string(agent.ReasonFinal)
	}
	switch tool.KindOf(err) {
	case tool.Parked:
		return "parked"
	case tool.Canceled:
		return string(agent.ReasonCancelled)
	case tool.Timeout:
		return string(agent.ReasonTimeout)
	case tool.Limit, tool.Busy:
		return string(agent.ReasonLimit)
	case tool.Denied, tool.Security, tool.Unanswered:
		return string(agent.ReasonDenied)
	}
	return string(agent.ReasonError)
}

// workflowEnded prints the result of a workflow, if it is what main declares,
// and ends the command.
func (c *command) workflowEnded(ctx context.Context, p *runtime.Program, out tool.Outcome, err error) error {
	if err == nil {
		out.Value, err = declaredResult(p.Options, out.Value)
	}
	var told *tool.Error
	if err != nil {
		if told = tool.ErrorOf(err, tool.Failed); ctx.Err() != nil {
			told = interruptedError(err)
		}
	}
	if c.json {
		c.printWorkflowEnd(p, out, told)
	}
	if told != nil {
		c.tell(told)
		c.tellAgain(told, p.ID)
		return &toldError{told}
	}
	if !c.json {
		c.printText(tool.Succeed(out).Text())
	}
	return nil
}

// declaredResult checks the result of a workflow against the type that was
// recorded.
func declaredResult(options *tool.Dict, v tool.Value) (tool.Value, error) {
	form, _ := options.Get("result")
	data, _ := form.([]byte)
	t, err := tool.DecodeTool(string(data))
	if err != nil {
		return nil, err
	}
	return t.CheckResult(v)
}

// printWorkflowEnd prints the line with which the run of a workflow ends.
func (c *command) printWorkflowEnd(p *runtime.Program, out tool.Outcome, err *tool.Error) {
	d := tool.NewDict("type", tool.Event{Data: tool.RunEnd{}}.Type(), "run", p.ID, "workflow", p.Options.Text("workflow"),
		"reason", workflowReason(out.Value, nil), "result", out.Value, "success", err == nil,
		"usage", tool.NewDict("steps", out.Usage.Steps, "effects", int64(out.Usage.Effects), "wall_ms", float64(out.Usage.Wall.Microseconds())/1000))
	if err != nil {
		d.Put("reason", workflowReason(nil, err))
		d.Put("result", nil)
		d.Put("error", err.Message())
		d.Put("error_type", err.Kind.Type())
		d.Put("suggestion", err.Hint)
	}
	text, jsonErr := tool.AppendJSON(nil, d)
	if jsonErr != nil { // the host has checked that the result has a JSON form
		c.say("cannot write the result: %v", jsonErr)
		return
	}
	c.print(string(text) + "\n")
}

// showWorkflow shows what happens in a run, as showRun does, until the function
// that it returns is called.
func (c *command) showWorkflow(h *runtime.Host, run string) (stop func()) {
	show := c.workflowLines(run)
	if c.json {
		show = c.jsonLines(run)
	}
	return c.screen.follow(h, show)
}

// workflowLines returns what shows the events of a run to a person: each call
// that the workflow makes, with what came of it. Several may be under way, so a
// call is shown when it has ended.
func (c *command) workflowLines(run string) func(tool.Event) {
	paint := c.paintOn(c.err)
	calls := map[string]*tool.Dict{} // the arguments
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
			if !c.quiet {
				c.sayLine(visibleLine(e.Tool + callArgs(calls[e.Call])))
			}
			delete(calls, e.Call)
			c.showCallEnd(&d, paint)
			return
		case tool.Log:
			if e.Call == run {
				c.note("%s", d.Message)
				return
			}
		}
		if !recorded(e.Data) {
			rest(e)
		}
	}
}

// listWorkflows lists the workflows that have a name.
func (c *command) listWorkflows(ctx *cli.Context, h *runtime.Host) error {
	root, err := c.projectRoot()
	if err != nil {
		return err
	}
	find := c.findOptions()
	find.Describe = h.Describe
	all, broken := project.Workflows(root, find)
	list, lines, width := tool.List{}, [][2]string{}, 0
	for i := range all {
		w := &all[i]
		if err := w.Describe(ctx.Context, find); err != nil {
			broken = append(broken, tool.ErrorOf(err, tool.Invalid))
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
	if c.json {
		return c.printJSON(tool.NewDict("workflows", list, "errors", brokenList(broken)))
	}
	for _, l := range lines {
		c.print(pad(visibleLine(l[0]), width) + "  " + clip(visibleLine(l[1]), max(pageWidth-2-width, 30)) + "\n")
	}
	c.tellBroken(broken)
	if len(lines) == 0 {
		c.print("No workflows found\n")
		c.note("a workflow is a file %s/workflows/NAME.star with def main(…); cassidy run FILE.star runs any other", project.Folder)
	}
	return nil
}
