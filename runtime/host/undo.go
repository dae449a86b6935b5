package host

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/history/retry"
	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// undo is [operate.Host.UndoRun].
func (h *Host) undo(ctx context.Context, u operate.Undo) (*operate.Undone, error) {
	un, p, err := h.undoProgram(ctx, u)
	if err != nil {
		return nil, err
	}
	defer un.past.release()
	if p == nil {
		return un.out, nil
	}
	if u.Record == nil && h.elsewhere("") { // whoever executes the undo holds the run
		un.past.release()
	}
	if _, err = h.RunProgram(ctx, p); un.out.ID != "" && u.Record == nil && h.elsewhere(un.out.ID) {
		what := map[string]string{}
		for _, s := range un.steps {
			what[s.At.String()] = s.What
		}
		for e, damage := range Operate(h).Steps(ctx, un.out.ID) {
			if damage == nil {
				un.out.AddStep(&e, what)
			}
		}
	}
	return un.out, err
}

// planUndo is [operate.Host.PlanUndo].
func (h *Host) planUndo(ctx context.Context, runID string) (*operate.Undone, error) {
	un, _, err := h.undoProgram(ctx, operate.Undo{Run: runID, Parks: true})
	if err != nil {
		return nil, err
	}
	defer un.past.release()
	for _, s := range un.steps {
		if !un.past.undone[s.At.String()] {
			un.out.Left = append(un.out.Left, operate.UndoneStep{StepPath: s.At, What: s.What})
		}
	}
	return un.out, nil
}

// undoProgram returns the program that undoes a run, which is held until the caller calls release of its past. The
// program is nil if there is nothing to undo.
func (h *Host) undoProgram(ctx context.Context, u operate.Undo) (un *undoing, p *Program, err error) {
	if u.Of != nil {
		u.Run = u.Of.Run().ID
	}
	past, err := pastOf(ctx, h, &u)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			past.release()
		}
	}()
	options := value.NewDict("run", u.Run, "to", u.To.String(), "skip", u.Skip, "begun", time.Now().Unix())
	if u.Resume {
		if options, err = h.undoOptions(ctx, u); err != nil {
			return nil, nil, err
		}
	}
	plan, err := past.plan(h, u)
	if err != nil {
		return nil, nil, err
	}
	lasting := value.Map(plan.Lasting, func(s undoStep) operate.UndoneStep { return operate.UndoneStep{StepPath: s.At, What: s.What} })
	if len(plan.Steps) == 0 && !u.Resume && u.Record == nil {
		return &undoing{past: past, out: &operate.Undone{Lasting: lasting}}, nil, nil
	}
	un = &undoing{host: h, past: past, steps: plan.Steps, begun: options.Int("begun"), skip: u.Skip, out: &operate.Undone{ID: u.ID, Lasting: lasting}}
	kind := UndoKind
	if u.Of != nil {
		kind = "" // the journal cannot resume the undo without the run
	}
	return un, &Program{
		Name: "undo of " + u.Run, ID: u.ID,
		Modules: []tool.Module{{Name: "undo", Funcs: un.rows()}},
		Recording: Recording{
			Kind: kind, Title: "undo " + u.Run, Record: u.Record, Parks: u.Parks, Resume: u.Resume,
			Options: options,
		},
		instead: instead{run: un.run, named: func(id string) { un.out.ID = id }},
	}, nil
}

// undoOptions returns the options with which an undo began.
func (h *Host) undoOptions(ctx context.Context, u operate.Undo) (*value.Dict, error) {
	if u.Record != nil {
		return u.Record.Run().Options, nil
	}
	r, err := h.Recorded(ctx, u.ID)
	return r.Options, err
}

// Undo undoes a run that has ended, the last step first. It restores the files that the run changed, unless
// they were changed since, and calls the undo of the tools that declare one. The undo passes the gate, and is recorded as a
// run that can be undone too. It stops at the first step that cannot be undone, as earlier steps may depend on that. The value of the result is {"id": the
// ID of the run of the undo, "undone": the number of steps that were undone, "skipped" and
// "lasting": the steps that could not be and cannot be undone}. If nobody answers a question about approval, the undo is
// parked and fails with a [ParkedError]; [Host.Resume] continues it.
func (h *Host) Undo(ctx context.Context, runID string) (tool.Result, error) {
	out, err := h.undo(ctx, operate.Undo{Run: runID, Parks: true})
	if err != nil {
		return gate.Failed(err)
	}
	return tool.Succeed(tool.Outcome{Value: undoneValue(out)}), nil
}

// undoneValue returns the value of the result of an undo.
func undoneValue(u *operate.Undone) value.Value {
	whats := func(steps []operate.UndoneStep) value.List {
		return value.Map(steps, func(s operate.UndoneStep) value.Value { return s.What })
	}
	return value.NewDict("id", u.ID, "undone", int64(len(u.Done)), "skipped", whats(u.Skipped), "lasting", whats(u.Lasting))
}

// UndoKind is "undo", the kind of the run with which [Host.Undo] undoes another.
const UndoKind = undoKind

// A past is what is recorded of a run that has ended.
type past struct {
	record  history.Record
	entries iter.Seq2[history.Entry, error]
	undone  map[string]bool // the steps that earlier undos have undone
	release func()          // releases the run for other undos
}

// pastOf returns the run to undo. If an undo of it was interrupted, u becomes its continuation.
func pastOf(ctx context.Context, h *Host, u *operate.Undo) (past, error) {
	if u.Of != nil {
		if err := mustHaveEnded(u.Of.Current()); err != nil {
			return past{}, err
		}
		return past{record: u.Of.Resume(), entries: u.Of.Entries(), release: func() {}}, nil
	}
	j, err := h.journal()
	if err != nil {
		return past{}, err
	}
	log, err := j.Read(ctx, u.Run)
	if err == nil {
		err = mustHaveEnded(log.Run())
	}
	if err != nil {
		return past{}, err
	}
	release, err := j.Hold(ctx, u.Run)
	if value.KindOf(err) == value.Conflict {
		err = value.Errorf(value.Conflict, "the run '%s' is already being undone", u.Run).WithHint("wait for the undo to end, and check with: cassidy runs list; in Go, call Host.Runs")
	}
	if err != nil {
		return past{}, err
	}
	undone, err := undoneSteps(ctx, j, u)
	if err != nil {
		release()
	}
	return past{record: log, entries: retry.OwnSteps(log.Run(), j.Entries(ctx, u.Run)), undone: undone, release: release}, err
}

// mustHaveEnded fails for a run that has not ended.
func mustHaveEnded(r history.Run) error {
	if r.State.Ended() {
		return nil
	}
	return value.Errorf(value.Conflict, "the run '%s' has not ended", r.ID).WithHint("to continue it: cassidy runs resume %s; to cancel it: cassidy runs cancel %s; in Go, call Host.Resume or Host.Cancel", r.ID, r.ID)
}

// plan returns what is to be undone of the run.
func (p *past) plan(h *Host, u operate.Undo) (undoPlan, error) {
	plan, err := undoPlanOf(p.entries, u.To, h.gate.Effects.Func)
	if err == nil && !plan.Found {
		err = value.Errorf(value.Invalid, "the run '%s' has no step %s or later", u.Run, u.To).WithHint("list the steps: cassidy runs show %s; in Go, see Host.Events", u.Run)
	}
	return plan, err
}

// undoneSteps returns the steps of a run that earlier undos have undone. If another undo of the
// run has not ended, u continues it, or undoneSteps fails with kind Conflict if u has an ID or
// is to undo something else.
func undoneSteps(ctx context.Context, j *history.Journal, u *operate.Undo) (map[string]bool, error) {
	undone, open, err := undosOf(ctx, j, u.Run, u.ID)
	if err != nil || open == nil {
		return undone, err
	}
	if u.ID == "" && open.Options.Text("to") == u.To.String() && !j.Held(open.ID) {
		u.ID, u.Resume, u.Skip = open.ID, true, u.Skip || open.Options.Bool("skip")
		return undone, nil
	}
	next := "to continue it: cassidy runs resume " + open.ID
	if j.Held(open.ID) {
		next = "wait until it ends"
	}
	return nil, value.Errorf(value.Conflict, "the run '%s' is already being undone by the run '%s' (%s)", u.Run, open.ID, open.State).
		WithHint("%s; to cancel it: cassidy runs cancel %s; in Go, call Host.Resume or Host.Cancel", next, open.ID)
}

// An undoing is an undo in progress.
type undoing struct {
	host  *Host
	past  past
	steps []undoStep
	begun int64 // when the undo began, in seconds, as recorded
	skip  bool
	out   *operate.Undone
}

// run is the [tool.Runner] of the undo: it asks for one effect after the other, as a script does.
func (u *undoing) run(ctx context.Context, _ tool.Call, do tool.Effector) (tool.Outcome, error) {
	u.out.Done, u.out.Failed, u.out.Left, u.out.Skipped = nil, nil, nil, nil
	for i, s := range u.steps {
		name := undoEffect
		if s.Call != nil {
			name = undoCall
		}
		e := tool.Effect{Func: name, Args: value.NewDict("place", s.At.String()), StepPath: tool.StepPath{i + 1}}
		out, err := do(ctx, e)
		step := operate.UndoneStep{StepPath: s.At, What: s.What, Value: out.Value, Err: err}
		if err == nil {
			u.finish(ctx, s)
			u.out.Done = append(u.out.Done, step)
			continue
		}
		if u.skip && canSkip(ctx, err) {
			u.finish(ctx, s)
			u.out.Skipped = append(u.out.Skipped, step)
			continue
		}
		u.out.Failed = &step
		for _, left := range u.steps[i+1:] {
			u.out.Left = append(u.out.Left, operate.UndoneStep{StepPath: left.At, What: left.What})
		}
		return tool.Outcome{}, err
	}
	return tool.Outcome{Value: int64(len(u.steps))}, nil
}

// canSkip reports whether an undo can continue after an error, which is recorded then: the run
// was not interrupted, and waits for nothing.
func canSkip(ctx context.Context, err error) bool {
	switch value.KindOf(err) {
	case value.Parked, value.Canceled, value.Closed, value.Internal:
		return false
	}
	return ctx.Err() == nil
}

func (u *undoing) rows() []tool.Func {
	at := []tool.Param{{Name: "place", Type: tool.Type{Name: tool.TypeString}, Required: true}}
	return []tool.Func{
		{Name: "effect", Kind: tool.Repeatable, Params: at, Target: u.target, Do: u.revert, Resumes: true},
		{Name: "call", Kind: tool.External, Mode: tool.ModeCalls, Params: at, Do: u.callUndo},
	}
}

// find returns the step of an effect.
func (u *undoing) find(args *value.Dict, call bool) (undoStep, error) {
	i := slices.IndexFunc(u.steps, func(s undoStep) bool { return s.At.String() == args.Text("place") && (s.Call != nil) == call })
	if i < 0 {
		return undoStep{}, value.Errorf(value.Internal, "step %s cannot be undone: no undo is recorded", args.Text("place"))
	}
	return u.steps[i], nil
}

// inverse returns the effect that undoes a recorded one, and its function. That of a commit
// leaves temporary files with a mark, the same for each try.
func (u *undoing) inverse(s undoStep) (*tool.Effect, *tool.Func, error) {
	entry, _, err := u.past.record.Recorded(s.At)
	if err != nil {
		return nil, nil, err
	}
	e := entry.Outcome.Undo
	if e == nil {
		e = &tool.Effect{Func: gate.RestoreEffect, Args: entry.Args}
	}
	f := u.host.gate.Effects.Func(e.Func)
	if f == nil || f.Do == nil {
		return nil, nil, value.Errorf(value.Failed, "undo %s at step %s: the host has no function %s", entry.Func, s.At, e.Func)
	}
	e.StepPath = s.At
	if e.Func == gate.RestoreEffect {
		files, _ := e.Args.Get("files")
		sum := tool.HashBytes([]byte(e.Args.Text(gate.ArgMark) + "\x00" + u.out.ID + "\x00" + s.At.String()))
		e.Args = value.NewDict("files", files, gate.ArgMark, fmt.Sprintf("%08x", uint32(u.begun))+sum[:16], "rest", true)
	}
	return e, f, nil
}

// finish removes the temporary files of a step that is undone, and whose outcome is recorded.
func (u *undoing) finish(ctx context.Context, s undoStep) {
	if s.Call != nil {
		return
	}
	e, _, err := u.inverse(s)
	f := u.host.gate.Effects.Func(gate.FinishEffect)
	if err != nil || f == nil || e.Func != gate.RestoreEffect {
		return
	}
	entry, _, _ := u.past.record.Recorded(s.At)
	for _, args := range []*value.Dict{e.Args, entry.Args} { // those of the run too, if it broke off in the step
		if args.Text(gate.ArgMark) != "" {
			_, _ = u.host.gate.Execute(ctx, f, tool.Effect{Func: gate.FinishEffect, Args: args}, tool.Grant{})
		}
	}
}

// target returns the capabilities that the undo of an effect takes.
func (u *undoing) target(args *value.Dict) ([]tool.Capability, error) {
	s, err := u.find(args, false)
	if err != nil {
		return nil, err
	}
	e, f, err := u.inverse(s)
	if err != nil || f.Target == nil {
		return nil, err
	}
	return f.Target(e.Args)
}

// revert carries out the inverse of an effect. A try that a crash interrupted is continued.
func (u *undoing) revert(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	s, err := u.find(e.Args, false)
	if err != nil {
		return tool.Outcome{}, err
	}
	inverse, f, err := u.inverse(s)
	if err != nil {
		return tool.Outcome{}, err
	}
	if inverse.Func != gate.RestoreEffect {
		return u.host.gate.Execute(ctx, f, *inverse, g)
	}
	if out, done, err := u.settle(ctx, s, g); done || err != nil {
		return out, err
	}
	out, err := u.host.gate.Execute(ctx, f, *inverse, g)
	switch list, _ := value.Elements(out.Value); {
	case value.KindOf(err) == value.Conflict && u.past.undone[s.At.String()]:
		return tool.Outcome{Value: value.NewDict("done", false)}, nil // and an earlier step too
	case value.KindOf(err) == value.Conflict:
		return out, errNotRestored(u.past.record.Run().ID, s.At, err)
	case err == nil && len(list) == 0 && out.Undo == nil:
		out.Value = value.NewDict("done", false)
	}
	return out, err
}

// settle finds out what became of a commit in which the run broke off. done reports that
// nothing of it is left to undo.
func (u *undoing) settle(ctx context.Context, s undoStep, g tool.Grant) (out tool.Outcome, done bool, err error) {
	entry, _, err := u.past.record.Recorded(s.At)
	look := u.host.gate.Effects.Func(gate.ReconcileEffect)
	if err != nil || !entry.Unknown() || look == nil || entry.Func != gate.CommitEffect {
		return out, false, err
	}
	e := tool.Effect{Func: gate.ReconcileEffect, Args: entry.Args, StepPath: s.At}
	out, err = u.host.gate.Execute(ctx, look, e, g)
	if err != nil {
		return out, false, err
	}
	d, _ := out.Value.(*value.Dict)
	if d.Has("unsettled") { // undo what is surely of the run and unchanged, and leave the rest
		e.Args = gate.WithArg(entry.Args, gate.ReconcileDecision, gate.KeepTheirs)
		list := d.Elements("unsettled")
		if _, err := u.host.gate.Execute(ctx, look, e, g); err != nil {
			return out, false, err
		}
		first, _ := list[0].(*value.Dict)
		return out, false, errChangedSince(u.past.record.Run().ID, s.At, first.Text("path"))
	}
	return out, !d.Bool("done"), nil
}

// callUndo has a tool undo a call.
func (u *undoing) callUndo(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
	s, err := u.find(e.Args, true)
	if err != nil {
		return tool.Outcome{}, err
	}
	if u.past.undone[s.At.String()] {
		return tool.Outcome{Value: value.NewDict("done", false)}, nil
	}
	args, _ := s.Call.Get(gate.NoteArgs)
	result, _ := s.Call.Get(gate.NoteResult)
	return u.byTool(ctx, s.What, value.NewDict(gate.NoteArgs, args, gate.NoteResult, result))
}

// byTool calls the function with which a tool undoes one of its calls. It is checked and
// approved like a call.
func (u *undoing) byTool(ctx context.Context, name string, args *value.Dict) (tool.Outcome, error) {
	c := tool.Call{Tool: name, Args: args, Caller: tool.ByScript, Reasoning: "undo a call"}
	above, done := u.host.gate.EnterCall(ctx, &c)
	defer done()
	now := u.host.tools(ctx)
	t, runner, err := now.Find(ctx, c.Tool, c.StepPath)
	if err != nil {
		return tool.Outcome{}, err
	}
	if t.Undo == "" {
		return tool.Outcome{}, value.Errorf(value.Failed, "the tool '%s' no longer declares an undo", t.Name)
	}
	own := *t.Tool
	own.AllowExtra, own.Schema, own.Returns, own.Undo = false, nil, nil, ""
	own.Hints.ReadOnly, own.Hints.Idempotent = false, false // they describe calls, not the undo
	own.Params = []tool.Param{
		{Name: "args", Type: tool.Type{Name: tool.TypeObject}, Description: "the arguments of the call", Required: true},
		{Name: "result", Type: tool.Type{Name: tool.TypeAny}, Description: "the result of the call"},
	}
	c.Entry = t.Undo
	return above.CallUndo(ctx, &gate.Callee{Tool: &own, Location: t.Location, Path: t.Path, Hash: t.Hash, Granted: t.Granted, Refusal: t.Refusal}, t, now, c, runner)
}
