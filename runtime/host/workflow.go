package host

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/cassidy-run/cassidy/internal/pack"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Workflow is a script whose function main calls tools, models and people.
type Workflow struct {
	// Tool describes main: its name, its parameters and its result.
	Tool   tool.Tool
	Script tool.Script
	// State is whether it can be run; "" means Ready. Reason is why it cannot.
	State  toolset.State
	Reason string
	// Declared says that the script declares its needs, and may do no more. Otherwise it
	// may call any tool, ask models and ask people.
	Declared bool
}

// WorkflowKind is the kind of the recorded runs of workflows.
const WorkflowKind = "run"

// The names in the recorded options of a workflow.
const (
	optionWorkflow = "workflow"
	optionPath     = "path"
	optionDeclared = "declared"
	optionResult   = "result" // the type of the result, a workflowResult
)

// Program returns the program that runs the workflow with arguments. Parameters that the
// host fills in get workDir. To record the program, set its Kind to [WorkflowKind]. Program
// fails with kind Denied for an untrusted workflow, and with kind Invalid for arguments that
// do not fit.
func (w *Workflow) Program(args *value.Dict, workDir string) (*Program, error) {
	if err := notReady("workflow", w.Tool.Name, cmp.Or(w.State, toolset.Ready), w.Reason); err != nil {
		return nil, err
	}
	title := w.Tool.Name + argsText(args)
	args, _, err := w.Tool.ReadArgs(&tool.Call{Args: args, Caller: tool.ByPerson})
	if err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		e.Err = errors.New(strings.Replace(e.Err.Error(), "Tool input", "Workflow input", 1))
		return nil, &e
	}
	for _, p := range w.Tool.Params {
		if p.FromHost {
			args.Put(p.Name, workDir)
		}
	}
	result, err := pack.Append(nil, &workflowResult{w.Tool.Returns})
	if err != nil {
		return nil, err
	}
	options := value.NewDict(optionWorkflow, w.Tool.Name, optionPath, w.Script.Path, optionDeclared, w.Declared, optionResult, result)
	rights.RecordNeeds(options, w.Declared, w.Tool.Needs)
	p, err := workflowProgram(options)
	if err == nil {
		p.Title, p.Script, p.Args = title, w.Script, args
	}
	return p, err
}

// A workflowResult is the recorded type of a workflow's result.
type workflowResult struct{ Returns *tool.Type }

// workflowProgram returns the program of a workflow from its recorded options.
func workflowProgram(options *value.Dict) (*Program, error) {
	p := &Program{Name: "workflow " + options.Text(optionWorkflow), Entry: "main"}
	p.Options, p.Reason = options, workflowReason
	var err error
	if p.Needs, p.Most, err = rights.ReadNeeds(options); err != nil {
		return nil, gate.Unrecorded(err)
	}
	form, _ := options.Get(optionResult)
	data, _ := form.([]byte)
	var result workflowResult
	if err := pack.Decode(string(data), &result); err != nil {
		return nil, gate.Unrecorded(err)
	}
	p.Returns = result.Returns
	return p, nil
}

// ResumedWorkflow returns the program that resumes the recorded run of a workflow. It fails
// with kind Invalid for any other run.
func ResumedWorkflow(r *history.Run) (*Program, error) {
	if r.Kind != WorkflowKind || r.Options.Text(optionWorkflow) == "" {
		return nil, value.Errorf(value.Invalid, "the run '%s' is not a run of a workflow", r.ID)
	}
	p, err := workflowProgram(r.Options)
	if err != nil {
		return nil, err
	}
	p.ID, p.Kind, p.Title, p.Args, p.Parks, p.Resume = r.ID, WorkflowKind, r.Title, r.Args, true, true
	return p, nil
}

// workflowReason returns why a workflow ended, in one word.
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

// Run runs a workflow of the source by its name, with arguments by the names of the
// parameters of its main. A workflow has no timeout; see [Program].
//
// With [Durable] the run is recorded. If nobody answers a question, it is parked and Run
// fails with a [ParkedError]; [Host.Resume] continues it. Run fails with kind NotFound for an
// unknown workflow, with Denied for an untrusted one, and with Invalid for arguments that do
// not fit.
func (h *Host) Run(ctx context.Context, workflow string, args *value.Dict, opts ...CallOption) (tool.Result, error) {
	o, err := readOptions(opts)
	if err != nil {
		return gate.Failed(err)
	}
	p, err := h.programOf(ctx, workflow, args, o)
	if err != nil {
		return gate.Failed(err)
	}
	out, err := h.RunProgram(ctx, p)
	if o.run != "" && value.KindOf(err) == value.Conflict {
		return h.continueRun(ctx, p.ID, err, p.sameWorkflow)
	}
	return gate.Result(out, err)
}

// programOf returns the program that runs a workflow of the source.
func (h *Host) programOf(ctx context.Context, workflow string, args *value.Dict, o callOptions) (*Program, error) {
	err := h.valid()
	if err == nil && h.gate.InCall(ctx) {
		err = o.inside()
	}
	if err == nil {
		err = h.notClosed()
	}
	if err == nil && o.durable {
		_, err = h.journal()
	}
	if err != nil {
		return nil, err
	}
	w, err := h.workflow(ctx, workflow)
	if err != nil {
		return nil, err
	}
	p, err := w.Program(args, h.opts.WorkDir)
	if err != nil {
		return nil, err
	}
	if o.narrow != nil {
		for name, rules := range rights.Narrowed(o.narrow).All() {
			_ = p.Options.Set(name, rules) // the name is a string
		}
	}
	if o.durable {
		p.ID, p.Kind, p.Parks = o.run, WorkflowKind, true
	}
	return p, nil
}

// sameWorkflow reports whether a recorded run is one of the same workflow with the same arguments and rules.
func (p *Program) sameWorkflow(r *history.Run) bool {
	return r.Kind == WorkflowKind && r.Options.Text(optionWorkflow) == p.Options.Text(optionWorkflow) &&
		rights.SameNarrow(r.Options, p.Options) && value.Equal(r.Args.OrEmpty(), p.Args.OrEmpty())
}

// workflow finds a workflow in the source.
func (h *Host) workflow(ctx context.Context, name string) (Workflow, error) {
	if h.opts.Workflow == nil {
		return Workflow{}, value.Errorf(value.NotFound, "Unknown workflow: %s", name).WithHint("in Go, set Options.Workflow: the host has no workflows")
	}
	return h.opts.Workflow(ctx, h.registry.source(), name)
}

// resumeWorkflow resumes the run of a workflow with the script that it began with.
func resumeWorkflow(ctx context.Context, h *Host, r Recorded) (tool.Result, error) {
	p, err := ResumedWorkflow(&r.Run)
	if err != nil {
		return gate.Failed(err)
	}
	return gate.Result(h.RunProgram(ctx, p))
}
