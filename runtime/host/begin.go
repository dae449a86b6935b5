package host

import (
	"context"
	"time"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Begin records a run of a workflow without executing it, and returns its ID. The run is parked
// ([history.Queued]) until [Host.Resume] or [Host.ResumeDue] continues it, here or in another process. With
// the ID of a [Durable], the same workflow with the same arguments is recorded once. Begin fails as
// [Host.Run] does, and with kind Invalid if the host has no store.
func (h *Host) Begin(ctx context.Context, workflow string, args *value.Dict, opts ...CallOption) (runID string, err error) {
	o, err := readOptions(opts)
	if err != nil {
		return "", err
	}
	o.durable = true
	p, err := h.programOf(ctx, workflow, args, o)
	if err != nil {
		return "", err
	}
	runID, err = h.BeginProgram(ctx, p)
	return h.begun(ctx, o.run, runID, err, p.sameWorkflow)
}

// BeginCall records a durable call without making it, as [Host.Begin] does a run of a workflow. It fails as
// [Host.Call] does for an unknown tool and for wrong arguments.
func (h *Host) BeginCall(ctx context.Context, c tool.Call, opts ...CallOption) (runID string, err error) {
	if err := h.valid(); err != nil {
		return "", err
	}
	o, err := readOptions(opts)
	if err != nil {
		return "", err
	}
	if o.durable = true; h.gate.InCall(ctx) {
		return "", o.inside()
	}
	j, err := h.journal()
	if err != nil {
		return "", err
	}
	d, now := durable{h, j, o.run}, h.tools(ctx)
	if _, err := d.check(ctx, now, c); err != nil {
		return "", err
	}
	begin := d.begins(ctx, c, o.narrow)
	log, err := j.Begin(ctx, begin, tool.Script{})
	if err != nil {
		return h.begun(ctx, o.run, "", err, sameCall(&begin))
	}
	r := h.gate.NewRun(log.Run().ID, now, o.narrow).Within(ctx)
	if err = now.keep(ctx, r, log, false); err == nil {
		err = r.NoteSources(ctx)
	}
	if err != nil {
		_ = log.Close() // the run is not executed
		return "", err
	}
	return h.queue(ctx, log)
}

// BeginProgram records the run of a program, which must have a Kind, without executing it, as [Host.Begin]
// does a run of a workflow.
func (h *Host) BeginProgram(ctx context.Context, p *Program) (runID string, err error) {
	if err := h.valid(); err != nil {
		return "", err
	}
	switch {
	case h.gate.InCall(ctx):
		return "", value.Errorf(value.Invalid, "begin a run of the program '%s': a call cannot begin another run", p.Name).WithHint("use a context from outside the call")
	case p.Kind == "" || p.Resume || p.Record != nil:
		return "", value.Errorf(value.Invalid, "begin a run of the program '%s': it has no Kind, or a record already", p.Name)
	}
	if err := h.mayStart(p); err != nil {
		return "", err
	}
	if _, err := h.journal(); err != nil {
		return "", err
	}
	record, err := p.recordOf(ctx, h, p.ID)
	if err != nil {
		return "", err
	}
	return h.queue(ctx, record)
}

// BeginUndo records the undo of a run without executing it, as [Host.Begin] does a run of a workflow, and
// returns the ID of the undo. It fails as [Host.Undo] does, and with kind Invalid for a run without a step
// that can be undone.
func (h *Host) BeginUndo(ctx context.Context, runID string) (undoID string, err error) {
	un, p, err := h.undoProgram(ctx, operate.Undo{Run: runID, Parks: true})
	if err != nil {
		return "", err
	}
	defer un.past.release()
	switch {
	case p == nil:
		return "", value.Errorf(value.Invalid, "the run '%s' has no step that can be undone", runID)
	case p.Resume:
		return p.ID, nil // it was begun before
	}
	return h.BeginProgram(ctx, p)
}

// queue parks a run that was begun, for whoever resumes it.
func (h *Host) queue(ctx context.Context, record history.Record) (runID string, err error) {
	id := record.Run().ID
	if err := record.Park(context.WithoutCancel(ctx), history.Queued, time.Time{}); err != nil {
		_ = record.Close() // the run can be resumed nevertheless, unless nobody has it yet
		if h.elsewhere(id) {
			return "", err
		}
	}
	h.wakeDue()
	return id, nil
}

// begun returns the ID of a run, also of one that the same request has begun before.
func (h *Host) begun(ctx context.Context, asked, runID string, err error, same func(*history.Run) bool) (string, error) {
	if asked != "" && value.KindOf(err) == value.Conflict {
		return asked, h.isSame(ctx, asked, err, same)
	}
	return runID, err
}

type startedBy struct{}

// StartedBy returns a context in which runs begin in the name of a person, whom their records name; see
// [history.Run].By.
func StartedBy(ctx context.Context, person string) context.Context {
	return context.WithValue(ctx, startedBy{}, person)
}

// recordedOptions returns the options of a run that the host records.
func (h *Host) recordedOptions(ctx context.Context, options *value.Dict) *value.Dict {
	return startedNow(ctx, h.opts.approved(options))
}

// startedNow returns the options of a run that begins with a context.
func startedNow(ctx context.Context, options *value.Dict) *value.Dict {
	if person, _ := ctx.Value(startedBy{}).(string); person != "" {
		options = options.OrEmpty().Clone(1)
		options.Put(history.OptionBy, person)
	}
	return options
}

type approvalKey struct{}

// admit asks Options.Admit about a run before its record is opened.
func (h *Host) admit(ctx context.Context, runID string) (context.Context, error) {
	if h.opts.Admit == nil {
		return ctx, nil
	}
	r, err := h.Recorded(ctx, runID)
	if err != nil {
		return ctx, err
	}
	approved, err := h.opts.Admit(ctx, r)
	if err != nil {
		return ctx, waits(runID, value.AsError(err, value.Denied))
	}
	return context.WithValue(ctx, approvalKey{}, approved), nil
}

// admitsApproval reports whether the approval of everything holds that was recorded with the run in progress.
func admitsApproval(ctx context.Context) bool {
	approved, asked := ctx.Value(approvalKey{}).(bool)
	return approved || !asked
}
