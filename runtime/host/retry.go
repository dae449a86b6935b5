package host

import (
	"cmp"
	"context"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/history/retry"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Retry does a run that has ended or is stuck again from a step, as a new run, and returns the result of
// that: it begins the run with [Host.Fork], and continues it with [Host.Resume]. If the current
// scripts do something else in the earlier steps than is recorded, the new run fails with kind
// Conflict. Like Resume, Retry fails with the context of a call.
func (h *Host) Retry(ctx context.Context, r retry.Request) (tool.Result, error) {
	if err := h.valid(); err != nil {
		return gate.Failed(err)
	}
	if h.gate.InCall(ctx) {
		return gate.Failed(resumedByCall(r.Run))
	}
	forked, err := h.Fork(ctx, r)
	if err != nil {
		return gate.Failed(err)
	}
	result, err := h.Resume(ctx, forked)
	if changed := h.endFork(ctx, forked, err); changed != nil {
		return gate.Failed(changed)
	}
	return result, err
}

// Fork begins a new run from the record of one that has ended or is stuck, and returns its ID. The steps
// before [retry.Request].From have their recorded outcomes, also those of people: they are not done
// again, and the undo of the new run does not undo them. The tools, and the script of a
// workflow, are the current ones. The new run is parked until [Host.Resume].
//
// Fork fails with kind NotFound for an unknown run, with Conflict for one that is neither stuck nor has
// ended, or that was undone, and with Invalid for a step that is not recorded, for an undo and for a turn of a
// chat.
func (h *Host) Fork(ctx context.Context, r retry.Request) (runID string, err error) {
	j, err := h.journal()
	if err != nil {
		return "", err
	}
	log, err := j.Read(ctx, r.Run)
	if err != nil {
		return "", err
	}
	run := log.Run()
	switch {
	case !run.State.Ended() && run.State != history.Stuck:
		return "", mustHaveEnded(run)
	case run.Kind == UndoKind:
		return "", value.Errorf(value.Invalid, "the run '%s' cannot be retried: it is the undo of the run '%s'", run.ID, run.Options.Text("run")).
			WithHint("undo that run again: cassidy runs undo %s", run.Options.Text("run"))
	case run.Kind == "chat":
		return "", value.Errorf(value.Invalid, "the run '%s' cannot be retried: it is a turn of a chat", run.ID).WithHint("continue the chat: cassidy chat --session %s", run.Session)
	}
	if _, err := h.kinds.find(run.Kind); err != nil {
		return "", err
	}
	from, err := retry.Step(&run, r.From, j.Entries(ctx, run.ID))
	if err == nil {
		err = checkNoUndos(ctx, j, run.ID)
	}
	if err != nil {
		return "", err
	}
	f := history.Fork{ID: r.ID, From: from, Script: log.Script(), Options: startedNow(ctx, run.Options), Drops: func(n *value.Dict) bool { return n.Has(noteTool) }}
	if run.Kind == WorkflowKind {
		if f.Script, err = h.currentScript(ctx, &run, f.Script); err != nil {
			return "", err
		}
	}
	forked, err := j.Fork(ctx, log, f)
	return forked.ID, err
}

// endFork is [operate.Host.EndFork].
func (h *Host) endFork(ctx context.Context, runID string, err error) error {
	e := value.ErrorOf(err, value.Failed)
	if e == nil || e.Kind != value.Conflict || e.Limit != value.LimitRecord {
		return nil
	}
	j, failure := h.journal()
	if failure != nil {
		return failure
	}
	if r, failure := j.Run(ctx, runID); failure != nil || r.State != history.Stuck {
		return failure
	}
	log, failure := j.Resume(ctx, runID)
	if failure != nil {
		return failure
	}
	run := log.Run()
	changed := value.Errorf(value.Conflict, "the steps of the run '%s' cannot be reused: %s", run.ForkedFrom, e.Message()).
		WithHint("retry from an earlier step: cassidy runs retry %s --from STEP", run.ForkedFrom)
	if failure := log.End(ctx, "changed", tool.Outcome{}, changed); failure != nil {
		return failure
	}
	return changed
}

// currentScript returns the script of a workflow as it is now, or as recorded if the workflow
// was run by its path.
func (h *Host) currentScript(ctx context.Context, run *history.Run, recorded tool.Script) (tool.Script, error) {
	w, err := h.workflow(ctx, run.Options.Text(optionWorkflow))
	switch {
	case err != nil && value.KindOf(err) == value.NotFound, err == nil && w.Script.Path != recorded.Path:
		return recorded, nil
	case err != nil:
		return recorded, err
	}
	return w.Script, notReady("workflow", w.Tool.Name, cmp.Or(w.State, toolset.Ready), w.Reason)
}
