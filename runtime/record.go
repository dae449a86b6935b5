package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A recording is a run's hold on its record.
type recording struct {
	log    *history.Log
	parks  bool       // what nobody is there to answer parks the run
	replay *replaying // nil where it goes on

	mu     sync.Mutex
	waits  error              // with which the run is about to park, or nil: nobody else is asked
	pinned map[string]*pinned // the tools that the run has called, by key
}

// recorded answers from the record what an earlier process of the run has done,
// and has the rest done. What a call stages is no effect yet; its commit is. An
// effect that cannot be written down is not done.
func (g *gate) recorded(next tool.Effector) tool.Effector {
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		r, f := g.root().record, g.fn(e.Func)
		if r == nil || f == nil || f.Kind == tool.Notice {
			return next(ctx, e)
		}
		if r.replay != nil {
			return r.replay.effect(ctx, g, f, e, next)
		}
		if err := g.settleAway(ctx); err != nil {
			return tool.Outcome{}, err
		}
		if f.Calls || f.Kind == tool.External {
			defer func() { g.left = nil }() // they may change what the call has written
		}
		if out, done, err := g.fromRecord(ctx, f, e); done || err != nil {
			return out, err
		}
		out, err := next(ctx, e)
		if err != nil && !g.intended && !open(err) {
			if failure := r.log.Intend(ctx, intentOf(f, e, true)); failure != nil {
				return tool.Outcome{}, unrecorded(failure)
			}
			err = r.settle(ctx, e.Place, out, err)
		}
		return out, err
	}
}

// fromRecord gives what is recorded of an effect, and whether that is all there
// is to do. Like the other steps it stands by itself, so that an effect that
// waits has no room for it on its stack.
func (g *gate) fromRecord(ctx context.Context, f *tool.Func, e tool.Effect) (out tool.Outcome, done bool, err error) {
	r := g.root().record
	entry, known, err := r.known(e)
	if err == nil {
		err = g.overtake(ctx, e.Place.Child(0))
	}
	if err != nil {
		return out, true, err
	}
	if known && !entry.Unknown() {
		if f.Kind == tool.Write && entry.Err == nil {
			g.unstaged = append(g.unstaged, e)
			return entry.Outcome, true, nil
		}
		g.saw(f, e, &entry)
		out, err = g.answered(f, e, &entry)
		return out, true, err
	}
	if err = g.stageAgain(ctx); err != nil {
		return out, true, err
	}
	g.intended = false
	if known {
		if err = g.mayRepeat(ctx, f, e, entry.Intended); err != nil {
			return out, true, r.settle(ctx, e.Place, out, err)
		}
	}
	return out, false, nil
}

// begunRecord writes an effect down right before it is done, and what came of
// it after.
func (g *gate) begunRecord(next tool.Effector) tool.Effector {
	return func(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
		r, f := g.root().record, g.fn(e.Func)
		if r == nil || r.replay != nil || f.Kind == tool.Notice {
			return next(ctx, e)
		}
		if err := r.log.Intend(ctx, intentOf(f, e, f.Kind == tool.Write)); err != nil {
			return tool.Outcome{}, unrecorded(err)
		}
		g.intended = true
		out, err := next(ctx, e)
		return out, g.settleOrKeep(ctx, f, e.Place, out, err)
	}
}

// settleOrKeep writes down what came of an effect, or keeps it open where that
// can be tried again later.
func (g *gate) settleOrKeep(ctx context.Context, f *tool.Func, at tool.Place, out tool.Outcome, err error) error {
	repeats := f.Calls || f.Kind == tool.Repeatable || f.Kind == tool.Read
	if tool.KindOf(err) == tool.Unavailable && !open(err) && repeats {
		g.away = &awayOutcome{at, out, err}
		return err
	}
	return g.root().record.settle(ctx, at, out, err)
}

// An awayOutcome is that of an effect that found a model, a network or a program
// away. It is written down when the script has got over it; where the run ends
// with it, it is tried again when that is resumed.
type awayOutcome struct {
	at  tool.Place
	out tool.Outcome
	err error
}

// settleAway writes down what came of the last effect, if that was left open.
func (g *gate) settleAway(ctx context.Context) error {
	a := g.away
	if g.away = nil; a == nil {
		return nil
	}
	if err := g.root().record.log.Settle(ctx, a.at, a.out, a.err); err != nil {
		return unrecorded(err)
	}
	return nil
}

func intentOf(f *tool.Func, e tool.Effect, staged bool) history.Intent {
	if f.Calls {
		return history.Intent{Place: e.Place, Func: e.Func, Args: e.Args, Kind: tool.Recorded} // it does nothing itself
	}
	return history.Intent{Place: e.Place, Func: e.Func, Args: e.Args, Kind: f.Kind, Staged: staged}
}

// settle writes down what came of an effect, unless that is still open, and
// returns its error.
func (r *recording) settle(ctx context.Context, at tool.Place, out tool.Outcome, err error) error {
	if open(err) {
		return err
	}
	if failure := r.log.Settle(ctx, at, out, err); failure != nil && err == nil {
		return unrecorded(failure)
	}
	return err
}

// open reports whether an error leaves open what comes of the effect: the run
// waits, or its record cannot be followed.
func open(err error) bool {
	e := tool.ErrorOf(err, tool.Failed)
	return e != nil && (e.Kind == tool.Parked || e.Limit == tool.LimitRecord)
}

// known returns what the record has of an effect.
func (r *recording) known(e tool.Effect) (entry history.Entry, known bool, err error) {
	entry, known, err = r.log.Recorded(e.Place)
	switch {
	case err != nil:
		return entry, false, unrecorded(err)
	case !known || entry.Intended.IsZero(): // or only a question stands there
		return entry, false, nil
	}
	if err := entry.Matches(e); err != nil {
		return entry, false, unrecorded(err)
	}
	return entry, true, nil
}

// answered gives what is recorded of an effect, and tells it as if it were done
// now: who follows what a call reads has to know.
func (g *gate) answered(f *tool.Func, e tool.Effect, entry *history.Entry) (tool.Outcome, error) {
	err := firstError(nil, entry.Err)
	if g.host.Events.Wanted() {
		g.tellCalls(e, entry.Outcome.Value, err)
		g.tellRecorded(entry)
	}
	if f.Again != nil {
		if failure := f.Again(e, entry.Outcome, err); failure != nil {
			return tool.Outcome{}, unrecorded(failure)
		}
	}
	return entry.Outcome, err
}

// tellRecorded tells of a recorded effect, and of those inside it.
func (g *gate) tellRecorded(entry *history.Entry) {
	e := tool.Effect{Func: entry.Func, Args: entry.Args, Place: entry.Place}
	f := g.fn(e.Func)
	switch {
	case e.Func == commitEffect:
		g.tellDone(e, changedPaths(entry.Change), firstError(nil, entry.Err), 0)
		return
	case f != nil && f.Target != nil && !f.Calls:
		takes, _ := targets(f, e)
		g.tellDone(e, takes, firstError(nil, entry.Err), 0)
	case f != nil && f.Calls:
		g.tellInside(e.Place)
	}
}

// tellInside tells of the recorded effects of the calls at a place: of one, or of
// several that were made at once.
func (g *gate) tellInside(at tool.Place) {
	log := g.root().record.log
	for n := 1; ; n++ {
		found := false
		for _, inside := range []tool.Place{at.Child(n).Child(0), at.Child(n)} {
			if entry, ok, err := log.Recorded(inside); err == nil && ok && !entry.Intended.IsZero() {
				found = true
				g.tellRecorded(&entry)
			}
		}
		if _, several, _ := log.Recorded(at.Child(n).Child(1)); !found && several {
			found = true
			g.tellInside(at.Child(n))
		}
		if !found {
			return
		}
	}
}

// changedPaths are the capabilities that recorded changes took.
func changedPaths(change *tool.Dict) (takes []tool.Capability) {
	for path := range change.All() {
		name, _ := path.(string)
		takes = append(takes, tool.Capability{Name: "fs.write", Target: name})
	}
	return takes
}

// firstError makes one error of two; a recorded one that is nil is none.
func firstError(err error, recorded *tool.Error) error {
	if err == nil && recorded != nil {
		return recorded
	}
	return err
}

// mayRepeat says whether an effect is done that may have been done already,
// when the run broke off.
func (g *gate) mayRepeat(ctx context.Context, f *tool.Func, e tool.Effect, begun time.Time) error {
	if f.Calls || f.Kind != tool.External || g.tool.Hints.Idempotent && !g.isProgram() {
		return nil
	}
	return g.askRepeat(ctx, e, begun)
}

// unrecorded is the error of what could not be written down, or is not as it is
// written. That nobody waits for it any more is no fault of the record.
func unrecorded(err error) error {
	e := *tool.ErrorOf(err, tool.Unavailable)
	if e.Kind == tool.Canceled || e.Kind == tool.Timeout {
		return err
	}
	e.Op, e.Limit = "journal", tool.LimitRecord
	return &e
}

// beginRecord begins the record of a program that is run for nobody else, or
// takes it up again: then script and arguments are those of the record.
func (h *Host) beginRecord(ctx context.Context, p *Program, c *tool.Call) (*recording, error) {
	if h.opts.Journal == nil || p.Kind == "" {
		if p.Resume {
			return nil, tool.Errorf(tool.Invalid, "the host has no journal to resume '%s' from", p.ID)
		}
		return nil, nil
	}
	r := &recording{parks: p.Parks, pinned: map[string]*pinned{}}
	var err error
	if !p.Resume {
		if p.ID == "" {
			c.ID = "" // the journal makes up a better one
		}
		r.log, err = h.opts.Journal.Begin(ctx, history.Run{ID: c.ID, Kind: p.Kind, Title: p.Title, Args: p.Args, Options: p.Options}, p.Script)
		if err != nil {
			return nil, err
		}
		c.ID = r.log.Run().ID
		return r, nil
	}
	if r.log, err = h.opts.Journal.Resume(ctx, p.ID); err != nil {
		return nil, err
	}
	c.ID = r.log.Run().ID
	p.Script, c.Args = r.log.Script(), r.log.Run().Args
	if err := h.recall(ctx, r, true); err != nil {
		return nil, firstError(err, tool.ErrorOf(r.log.Close(), tool.Unavailable)) // it is not in hand
	}
	return r, nil
}

// endRecord ends it, or parks the run.
func (g *gate) endRecord(ctx context.Context, p *Program, out tool.Outcome, err error) error {
	if g.record == nil || g.record.replay != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	why := parkReason(err)
	if g.away != nil && tool.KindOf(err) == tool.Unavailable {
		why = parkedUnavailable
	} else if failure := g.settleAway(ctx); failure != nil && err == nil {
		return failure
	}
	if why != "" {
		if failure := g.record.log.Park(ctx, string(why)); failure != nil {
			return unrecorded(failure)
		}
		return err
	}
	if open(err) { // what is recorded is not to be changed: it can be looked at, and taken up again
		return firstError(err, tool.ErrorOf(g.record.log.Close(), tool.Unavailable))
	}
	reason := ""
	if p.Reason != nil {
		reason = p.Reason(out.Value, err)
	}
	if failure := g.record.log.End(ctx, reason, out, err); failure != nil && err == nil {
		return unrecorded(failure)
	}
	return err
}

// parkReason says why an error parks the run that it ends, or "": it waits, or it
// met a bound that another attempt may not meet.
func parkReason(err error) tool.LimitName {
	e := tool.ErrorOf(err, tool.Failed)
	switch {
	case e == nil:
	case e.Kind == tool.Parked:
		return e.Limit
	case e.Kind == tool.Limit && (e.Limit == tool.LimitMemory || e.Limit == tool.LimitCPU):
		return parkedLimit
	}
	return ""
}
