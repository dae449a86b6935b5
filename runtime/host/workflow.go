package host

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Workflow is a script whose function main calls tools, models and people.
type Workflow struct {
	// Tool describes main: its name, its parameters and its result. An untrusted one
	// is not run.
	Tool   tool.Tool
	Script tool.Script
	// Declared says that the script declares what it needs: it may do no more than
	// that. Another one may call any tool, ask models and ask people.
	Declared bool
}

// WorkflowKind is the kind of the recorded runs of workflows.
const WorkflowKind = "run"

// The names in the recorded options of a workflow.
const (
	optionWorkflow = "workflow"
	optionPath     = "path"
	optionDeclared = "declared"
	optionNeeds    = "needs"
	optionResult   = "result" // its type, as a tool that has nothing else
)

// Program returns the program that runs the workflow with arguments, which are
// checked. The parameters that a host fills in are workDir. It is not recorded
// unless its Kind is set, to [WorkflowKind].
func (w *Workflow) Program(args *value.Dict, workDir string) (*Program, error) {
	if w.Tool.State == tool.Untrusted {
		return nil, value.Errorf(value.Denied, "the workflow '%s' is untrusted: %s", w.Tool.Name, w.Tool.Reason).WithHint("review it with: cassidy trust; a program sets Options.TrustSource for what is its own")
	}
	title := w.Tool.Name + argsText(args)
	args, err := w.Tool.Check(args)
	if err != nil {
		return nil, err
	}
	for _, p := range w.Tool.Params {
		if p.FromHost {
			args.Put(p.Name, workDir)
		}
	}
	needs := value.List{"model", "human", "tool"}
	if w.Declared {
		needs = value.List{}
		for _, n := range w.Tool.Needs {
			if n.Name == "model" || n.Name == "human" || n.Name == "tool" {
				needs = append(needs, n.String())
			}
		}
	}
	// The form in which a worker describes a tool keeps a type exactly.
	result, err := tool.AppendTool(nil, &tool.Tool{Name: w.Tool.Name, Returns: w.Tool.Returns})
	if err != nil {
		return nil, err
	}
	options := value.NewDict(optionWorkflow, w.Tool.Name, optionPath, w.Script.Path, optionDeclared, w.Declared, optionNeeds, needs, optionResult, result)
	p, err := workflowProgram(options)
	if err == nil {
		p.Title, p.Script, p.Args = title, w.Script, args
	}
	return p, err
}

// workflowProgram is the program of a workflow as its recorded options describe it.
func workflowProgram(options *value.Dict) (*Program, error) {
	p := &Program{Name: "workflow " + options.Text(optionWorkflow), Entry: "main"}
	p.Options, p.Reason = options, workflowReason
	list, _ := options.Get(optionNeeds)
	needs, _ := value.Elements(list)
	for _, v := range needs {
		text, _ := v.(string)
		need, err := tool.ParseCapability(text)
		if err != nil {
			return nil, unrecorded(err)
		}
		p.Needs = append(p.Needs, need)
	}
	form, _ := options.Get(optionResult)
	data, _ := form.([]byte)
	t, err := tool.DecodeTool(string(data))
	if err != nil {
		return nil, unrecorded(err)
	}
	p.Returns = t.Returns
	return p, nil
}

// ResumedWorkflow returns the program that continues the recorded run of a workflow.
// It fails with kind Invalid for the run of anything else.
func ResumedWorkflow(r *history.Run) (*Program, error) {
	if r.Kind != WorkflowKind || r.Options.Text(optionWorkflow) == "" {
		return nil, value.Errorf(value.Invalid, "the run '%s' is not that of a workflow", r.ID)
	}
	p, err := workflowProgram(r.Options)
	if err != nil {
		return nil, err
	}
	p.ID, p.Kind, p.Title, p.Args, p.Parks, p.Resume = r.ID, WorkflowKind, r.Title, r.Args, true, true
	return p, nil
}

// workflowReason says in a word why a workflow ended.
func workflowReason(_ value.Value, err error) string {
	if err == nil {
		return "final"
	}
	if value.ErrorOf(err, value.Failed).Limit == value.LimitInterrupted {
		return history.Interrupted
	}
	switch value.KindOf(err) {
	case value.Parked:
		return "parked"
	case value.Canceled:
		return "cancelled"
	case value.Timeout:
		return "timeout"
	case value.Limit, value.Busy:
		return "limit"
	case value.Denied, value.Security, value.Unanswered:
		return "denied"
	}
	return "error"
}

// Run runs a workflow of the source, by its name, with arguments by the names of the
// parameters of its main. It has no time of its own; see [Program]. Recorded with
// [Durable] it waits where nobody answers, with a [ParkedError], and [Host.Resume]
// continues it. It fails with kind NotFound for a name that no workflow has, Denied
// for one that is untrusted, and Invalid for arguments that do not fit.
func (h *Host) Run(ctx context.Context, workflow string, args *value.Dict, opts ...CallOption) (tool.Result, error) {
	o, err := readOptions(opts)
	if err == nil && h.origin(ctx) != nil {
		err = o.inside()
	}
	if err == nil {
		err = h.notClosed()
	}
	if err == nil && o.durable {
		_, err = h.journal()
	}
	if err != nil {
		return failedResult(err)
	}
	w, err := h.workflow(ctx, workflow)
	if err != nil {
		return failedResult(err)
	}
	p, err := w.Program(args, h.opts.WorkDir)
	if err != nil {
		return failedResult(err)
	}
	if o.narrow != nil {
		rules, _ := narrowed(o.narrow).Get(optionNarrow)
		p.Options.Put(optionNarrow, rules)
	}
	if o.durable {
		p.ID, p.Kind, p.Parks = o.run, WorkflowKind, true
	}
	out, err := h.RunProgram(ctx, p)
	if o.run != "" && value.KindOf(err) == value.Conflict {
		return h.continueWorkflow(ctx, p, err)
	}
	return programResult(out, err)
}

// continueWorkflow continues the run of a program's ID, if it is one of the same
// workflow with the same arguments and rules.
func (h *Host) continueWorkflow(ctx context.Context, p *Program, exists error) (tool.Result, error) {
	r, err := h.Recorded(ctx, p.ID)
	switch {
	case value.KindOf(err) == value.NotFound: // somebody is just beginning it
		return failedResult(exists)
	case err != nil:
		return failedResult(err)
	case r.Kind != WorkflowKind || r.Options.Text(optionWorkflow) != p.Options.Text(optionWorkflow) ||
		!sameNarrow(r.Options, p.Options) || !value.Equal(dictOrEmpty(r.Args), dictOrEmpty(p.Args)):
		return failedResult(value.Errorf(value.Conflict, "the run '%s' is another one: %s", r.ID, r.Title).WithHint("choose another ID"))
	}
	return h.Resume(ctx, p.ID)
}

// programResult is what came of a program, as the result of a call.
func programResult(out tool.Outcome, err error) (tool.Result, error) {
	if err != nil {
		e := finish(err)
		return tool.Fail(e, out.Usage), e
	}
	return tool.Succeed(out), nil
}

// workflow finds a workflow in the source.
func (h *Host) workflow(ctx context.Context, name string) (Workflow, error) {
	if h.opts.Workflow == nil {
		return Workflow{}, value.Errorf(value.NotFound, "Unknown workflow: %s", name).WithHint("the host has no workflows")
	}
	return h.opts.Workflow(ctx, h.registry.source(), name)
}

// resumeWorkflow continues the run of a workflow with the script that it began with,
// unless that is not trusted any more.
func resumeWorkflow(ctx context.Context, h *Host, r Recorded) (tool.Result, error) {
	if h.opts.Revoked != nil && h.opts.Revoked(h.registry.source(), &r.Script) {
		return failedResult(value.Errorf(value.Denied, "%s is untrusted, so the run '%s' is not resumed", r.Script.Path, r.ID).WithHint("review it with: cassidy trust; a program sets Options.TrustSource for what is its own"))
	}
	p, err := ResumedWorkflow(&r.Run)
	if err != nil {
		return failedResult(err)
	}
	return programResult(h.RunProgram(ctx, p))
}
