package host

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Undo says which run to take back.
type Undo struct {
	Run string // its ID; the run must have ended
	// Of is the record of the run, where that is in no journal; Run is then not
	// needed, and the undo is recorded in Record alone. What other undos of the run
	// have undone is not known.
	Of *history.Memory
	// To is the first step that is taken back, with all after it. Nil takes back
	// the whole run.
	To tool.Place
	ID string // of the run that takes back, which can be taken back too; "" makes one up
	// Record, Parks and Resume are those of a [Recording], for the undo itself.
	Record        history.Record
	Parks, Resume bool
}

// An Undone tells what came of an [Undo].
type Undone struct {
	ID   string // of the run that took back
	Done []UndoneStep
	// Failed is the step that could not be taken back, and Left are those before
	// it, which were not tried; nil where all were.
	Failed *UndoneStep
	Left   []UndoneStep
	// Lasting is what nothing takes back: it acted beyond the project, and its
	// tool declares no undo.
	Lasting []UndoneStep
}

// Already reports whether nothing had to be done for the step: it was taken back
// before.
func (s *UndoneStep) Already() bool {
	d, ok := s.Value.(*value.Dict)
	return ok && d.Has("done") && !d.Bool("done") && !d.Has("restored")
}

// An UndoneStep is one step of a run that is taken back, or not.
type UndoneStep struct {
	Place tool.Place
	What  string // the effect, or the tool that declares how
	Value value.Value
	Err   error
}

// UndoRun undoes what a run has done: the files that it changed, each as it was
// if it still is as the run left it, and what its tools declare how to take back,
// of calls inside one another the outermost; the last step first. It passes the
// same gate as everything else, and is recorded as a run of the kind undo. It stops
// at the first step that it cannot take back: those before it may depend on it. The
// error says why nothing was begun, or why it stopped.
func (h *Host) UndoRun(ctx context.Context, u Undo) (*Undone, error) {
	if u.Of != nil {
		u.Run = u.Of.Run().ID
	}
	past, err := h.past(ctx, u)
	if err != nil {
		return nil, err
	}
	defer past.release()
	steps, lasting, err := past.undoSteps(u)
	if err != nil {
		return nil, err
	}
	if len(steps) == 0 && !u.Resume && u.Record == nil {
		return &Undone{Lasting: lasting}, nil
	}
	un := &undoing{host: h, past: past, steps: steps, out: &Undone{ID: u.ID, Lasting: lasting}}
	kind := undoKind
	if u.Of != nil {
		kind = "" // the journal, without the run, could not resume it
	}
	p := &Program{
		Name: "undo of " + u.Run, ID: u.ID,
		Modules: []tool.Module{{Name: "undo", Funcs: un.rows()}},
		Recording: Recording{
			Kind: kind, Title: "take back " + u.Run, Record: u.Record, Parks: u.Parks, Resume: u.Resume,
			Options: value.NewDict("run", u.Run, "to", u.To.String()),
		},
		instead: instead{run: un.run, named: func(id string) { un.out.ID = id }},
	}
	_, err = h.RunProgram(ctx, p)
	return un.out, err
}

// Undo undoes a run that has ended, as [Host.UndoRun] does. The value of the
// result is {"id": of the run that undid it, "undone": the number of its steps,
// "lasting": what nothing undoes}. What nobody is there to approve parks the
// undo, with a [ParkedError]: [Host.Resume] of its run continues it.
func (h *Host) Undo(ctx context.Context, runID string) (tool.Result, error) {
	out, err := h.UndoRun(ctx, Undo{Run: runID, Parks: true})
	if err != nil {
		return failedResult(err)
	}
	return tool.Succeed(tool.Outcome{Value: out.value()}), nil
}

// value is what came of an undo, for a program.
func (u *Undone) value() value.Value {
	lasting := make(value.List, len(u.Lasting))
	for i, s := range u.Lasting {
		lasting[i] = s.What
	}
	return value.NewDict("id", u.ID, "undone", int64(len(u.Done)), "lasting", lasting)
}

// undoKind is the kind of the run that undoes another.
const undoKind = "undo"

// A past is what is recorded of a run that has ended.
type past struct {
	record  history.Record
	entries iter.Seq2[history.Entry, error]
	undone  map[string]bool // the calls that other undos of it have undone, by place
	release func()          // ends the hold on it, which no two undos have at once
}

// past finds the run that is to be taken back.
func (h *Host) past(ctx context.Context, u Undo) (past, error) {
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
		err = value.Errorf(value.Conflict, "the run '%s' is being undone already", u.Run).WithHint("wait until that has ended: cassidy runs list; a program calls Host.Runs")
	}
	if err != nil {
		return past{}, err
	}
	undone, err := undoneCalls(ctx, j, u)
	if err != nil {
		release()
	}
	return past{record: log, entries: j.Entries(ctx, u.Run), undone: undone, release: release}, err
}

// mustHaveEnded refuses a run that would continue without what it has done.
func mustHaveEnded(r history.Run) error {
	if r.State.Ended() {
		return nil
	}
	return value.Errorf(value.Conflict, "the run '%s' has not ended", r.ID).WithHint("cassidy runs resume %s, or cassidy runs cancel %s; a program calls Host.Resume or Host.Cancel", r.ID, r.ID)
}

// undoStep is one thing to take back.
type undoStep struct {
	place tool.Place
	what  string
	call  *value.Dict // of a tool that declares how: what is noted of its call
	when  time.Time
}

// The names in the note of a call that can be taken back.
const (
	noteUndo   = "undo"
	noteArgs   = "args"
	noteResult = "result"
)

// undoSteps finds what can be taken back, the last first, and what cannot.
func (p *past) undoSteps(u Undo) (steps []undoStep, lasting []UndoneStep, err error) {
	var outside []history.Entry
	var calls []undoStep
	found := u.To == nil
	last := map[string]time.Time{} // when anything at or below a place was done
	for e, err := range p.entries {
		if err != nil {
			return nil, nil, err
		}
		for i := 1; i <= len(e.Place); i++ {
			at := e.Place[:i].String()
			last[at] = later(last[at], cmp.Or(e.Settled, e.Intended))
		}
		if u.To != nil && slices.Compare(e.Place, u.To) < 0 {
			continue
		}
		found = true
		for _, n := range e.Notes {
			if n.Text(noteUndo) != "" {
				calls = append(calls, undoStep{place: e.Place, what: n.Text(noteUndo), call: n})
			}
		}
		switch {
		case e.Func == commitEffect && e.Err == nil && (!e.Unknown() || e.Change.Len() > 0), e.Outcome.Undo != nil:
			steps = append(steps, undoStep{place: e.Place, what: e.Func, when: cmp.Or(e.Settled, e.Intended)})
		case e.Kind == tool.External && mayHaveActed(&e):
			outside = append(outside, e)
		}
	}
	all := slices.Clone(calls)
	calls = slices.DeleteFunc(calls, func(c undoStep) bool { // who made it takes it back
		return slices.ContainsFunc(all, func(by undoStep) bool { return len(by.place) < len(c.place) && inside(c.place, by.place) })
	})
	if !found {
		return nil, nil, value.Errorf(value.Invalid, "the run '%s' has no step %s, and none after it", u.Run, u.To).WithHint("list its steps: cassidy runs show %s; a program calls Host.Steps", u.Run)
	}
	for i := range calls {
		calls[i].when = last[calls[i].place.String()].Add(1) // after all that it did
	}
	for _, e := range outside {
		if !slices.ContainsFunc(calls, func(c undoStep) bool { return inside(e.Place, c.place) }) {
			lasting = append(lasting, UndoneStep{Place: e.Place, What: clip(e.Func + "(" + e.Args.String() + ")")})
		}
	}
	steps = append(steps, calls...)
	slices.SortStableFunc(steps, func(a, b undoStep) int {
		return cmp.Or(b.when.Compare(a.when), slices.Compare(b.place, a.place))
	})
	return steps, lasting, nil
}

// undoneCalls are the calls of a run that other undos of it have undone, by place. Of
// files it can be seen on the disk; of a call only the record knows. While another undo
// of the run waits, or was interrupted, it is not known: that is a Conflict.
func undoneCalls(ctx context.Context, j *history.Journal, u Undo) (map[string]bool, error) {
	undone := map[string]bool{}
	for r, err := range j.Runs(ctx, history.Filter{Kind: undoKind}) {
		if err != nil {
			return nil, err
		}
		if r.ID == u.ID || r.Options.Text("run") != u.Run {
			continue
		}
		if !r.State.Ended() {
			return nil, value.Errorf(value.Conflict, "the run '%s' is being undone already, by the run '%s', which is %s", u.Run, r.ID, r.State).
				WithHint("cassidy runs resume %s, or cassidy runs cancel %s; a program calls Host.Resume or Host.Cancel", r.ID, r.ID)
		}
		for e, err := range j.Entries(ctx, r.ID) {
			if err != nil {
				return nil, err
			}
			if e.Func == undoCall && !e.Settled.IsZero() && e.Err == nil {
				undone[e.Args.Text("place")] = true
			}
		}
	}
	return undone, nil
}

// mayHaveActed reports whether an effect beyond the project may have done something:
// one that failed may have, unless it was refused before it began.
func mayHaveActed(e *history.Entry) bool {
	if e.Err == nil {
		return true
	}
	switch e.Err.Kind {
	case value.Denied, value.Security, value.Unanswered, value.Invalid, value.NotFound:
		return false
	}
	return true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// inside reports whether a place is at or below another.
func inside(p, of tool.Place) bool { return len(p) >= len(of) && slices.Equal(p[:len(of)], of) }

// An undoing takes a run back.
type undoing struct {
	host  *Host
	past  past
	steps []undoStep
	out   *Undone
}

// The effects of an undo.
const (
	undoEffect = "undo.effect"
	undoCall   = "undo.call"
)

// run asks for one effect after the other, as a script would.
func (u *undoing) run(ctx context.Context, _ tool.Call, do tool.Effector) (tool.Outcome, error) {
	u.out.Done, u.out.Failed, u.out.Left = nil, nil, nil
	for i, s := range u.steps {
		name := undoEffect
		if s.call != nil {
			name = undoCall
		}
		e := tool.Effect{Func: name, Args: value.NewDict("place", s.place.String()), Place: tool.Place{i + 1}}
		out, err := do(ctx, e)
		step := UndoneStep{Place: s.place, What: s.what, Value: out.Value, Err: err}
		if err == nil {
			u.out.Done = append(u.out.Done, step)
			continue
		}
		u.out.Failed = &step
		for _, left := range u.steps[i+1:] {
			u.out.Left = append(u.out.Left, UndoneStep{Place: left.place, What: left.what})
		}
		return tool.Outcome{}, err
	}
	return tool.Outcome{Value: int64(len(u.steps))}, nil
}

func (u *undoing) rows() []tool.Func {
	at := []tool.Param{{Name: "place", Type: tool.Type{Name: tool.TypeString}, Required: true}}
	return []tool.Func{
		{Name: "effect", Kind: tool.Repeatable, Params: at, Target: u.target, Do: u.takeBack},
		{Name: "call", Kind: tool.External, Calls: true, Params: at, Do: u.callUndo},
	}
}

// find returns the step of an effect.
func (u *undoing) find(args *value.Dict, call bool) (undoStep, error) {
	i := slices.IndexFunc(u.steps, func(s undoStep) bool { return s.place.String() == args.Text("place") && (s.call != nil) == call })
	if i < 0 {
		return undoStep{}, value.Errorf(value.Internal, "there is nothing to take back at %s", args.Text("place"))
	}
	return u.steps[i], nil
}

// inverse returns the effect that takes a recorded one back.
func (u *undoing) inverse(args *value.Dict) (*tool.Effect, *tool.Func, error) {
	s, err := u.find(args, false)
	if err != nil {
		return nil, nil, err
	}
	entry, _, err := u.past.record.Recorded(s.place)
	if err != nil {
		return nil, nil, err
	}
	e := entry.Outcome.Undo
	if e == nil {
		e = &tool.Effect{Func: restoreEffect, Args: entry.Args}
	}
	f := u.host.funcs[e.Func]
	if f == nil || f.Do == nil {
		return nil, nil, value.Errorf(value.Failed, "%s at step %s cannot be taken back here: there is no %s", entry.Func, s.place, e.Func)
	}
	e.Place = s.place
	return e, f, nil
}

// target gives the capabilities that taking an effect back takes.
func (u *undoing) target(args *value.Dict) ([]tool.Capability, error) {
	e, f, err := u.inverse(args)
	if err != nil || f.Target == nil {
		return nil, err
	}
	return f.Target(e.Args)
}

// takeBack carries the inverse of an effect out. What was taken back already,
// before a crash, is not again.
func (u *undoing) takeBack(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	inverse, f, err := u.inverse(e.Args)
	if err != nil {
		return tool.Outcome{}, err
	}
	if look := u.host.funcs[reconcileEffect]; look != nil && inverse.Func == restoreEffect {
		out, err := u.host.execute(ctx, look, tool.Effect{Func: reconcileEffect, Args: inverse.Args, Place: e.Place}, g)
		if value.KindOf(err) == value.Conflict {
			return out, leftAlone(inverse.Place, err)
		}
		if d, _ := out.Value.(*value.Dict); err != nil || !d.Bool("done") {
			return out, err
		}
	}
	return u.host.execute(ctx, f, *inverse, g)
}

// leftAlone says that a file is not as the run has left it.
func leftAlone(at tool.Place, err error) error {
	name, _, _ := strings.Cut(value.ErrorOf(err, value.Conflict).Message(), " is neither ")
	return value.Errorf(value.Conflict, "%s has changed since step %s, and was left alone", name, at).
		WithHint("make it what that step made of it, or take back only the steps after it, with --to")
}

// callUndo has a tool take a call back.
func (u *undoing) callUndo(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
	s, err := u.find(e.Args, true)
	if err != nil {
		return tool.Outcome{}, err
	}
	if u.past.undone[s.place.String()] {
		return tool.Outcome{Value: value.NewDict("done", false)}, nil
	}
	args, _ := s.call.Get(noteArgs)
	result, _ := s.call.Get(noteResult)
	return u.host.undoByTool(ctx, s.what, value.NewDict(noteArgs, args, noteResult, result))
}

// noteCall notes that a call can be undone, and how.
func noteCall(ctx context.Context, p *pass, v value.Value) error {
	if p.tool.Undo == "" || len(p.call.Place) == 0 {
		return nil
	}
	return p.run.note(ctx, p.call.Place, value.NewDict(noteUndo, p.tool.Name, noteArgs, p.shown().Args, noteResult, v))
}

// undoByTool calls the function with which a tool undoes a call of it. It
// is judged and approved like a call.
func (h *Host) undoByTool(ctx context.Context, name string, args *value.Dict) (tool.Outcome, error) {
	c := tool.Call{Tool: name, Args: args, Caller: tool.ByScript, Reasoning: "take back what a call did"}
	above, done := h.forWhom(ctx, &c)
	defer done()
	now := h.tools(ctx)
	t, runner, err := now.find(ctx, &c)
	if err != nil {
		return tool.Outcome{}, err
	}
	if t.Undo == "" {
		return tool.Outcome{}, value.Errorf(value.Failed, "the tool '%s' no longer says how a call is taken back", t.Name)
	}
	own := *t
	own.AllowExtra, own.Schema, own.Compiled, own.Returns, own.Undo = false, nil, nil, nil, ""
	own.Hints.ReadOnly, own.Hints.Idempotent = false, false // they are about calls
	own.Params = []tool.Param{
		{Name: "args", Type: tool.Type{Name: tool.TypeObject}, Description: "the arguments of the call", Required: true},
		{Name: "result", Type: tool.Type{Name: tool.TypeAny}, Description: "what it gave"},
	}
	c.Entry = t.Undo
	p := above.run.newPass(&own, c, above)
	if err := p.admitCall(); err != nil {
		return tool.Outcome{}, err
	}
	limited := p.wall.Open(ctx)
	defer p.wall.Stop()
	if err := h.usable(limited, now, t, runner); err != nil {
		return tool.Outcome{}, err
	}
	if err := p.approve(limited); err != nil {
		return tool.Outcome{}, err
	}
	return p.execute(ctx, limited, runner)
}
