package runtime

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A trail is where the record of a call and the disk do not agree yet.
type trail struct {
	unstaged []tool.Effect         // writes that the record has answered and that are not staged
	looked   []look                // what the call has seen of files, by its record
	left     map[tool.Value]string // how it has left those that it wrote, by path
	pending  *pendingOutcome       // of the last effect, where it can be tried again later
}

// recall answers an effect from the record, where an earlier process of the run
// has done it. What a call stages is not done before its commit is. A repeated
// notice does no harm, so notices are not recorded.
func (s *step) recall(ctx context.Context) (out tool.Outcome, done bool, err error) {
	if s.fn == nil || s.fn.Kind == tool.Notice {
		return out, false, nil
	}
	p := s.of
	if err := p.settlePending(ctx); err != nil {
		return out, true, err
	}
	entry, what, err := p.run.record.Recall(s.effect, s.fn)
	if err != nil {
		return out, true, unrecorded(err)
	}
	if err := p.overtake(ctx, s.effect.Place.Child(0)); err != nil {
		return out, true, err
	}
	if what == history.Known {
		out, err = s.answer(entry)
		return out, true, err
	}
	if err := p.stageAgain(ctx); err != nil {
		return out, true, err
	}
	if what == history.Begun {
		if err := s.mayRepeat(ctx); err != nil {
			return out, true, p.run.settle(ctx, s.effect.Place, out, err)
		}
	}
	return out, false, nil
}

// answer gives the recorded outcome of the effect.
func (s *step) answer(entry *history.Entry) (tool.Outcome, error) {
	p, kind := s.of, s.fn.Kind
	switch {
	case !p.run.record.Live():
		if kind != tool.Read && kind != tool.Write { // before which something may have been committed
			_ = p.replayCommit(s.effect.Place.Child(0)) // if that failed, so did the effect
		}
	case kind == tool.Write && entry.Err == nil:
		p.trail.unstaged = append(p.trail.unstaged, s.effect)
		return entry.Outcome, nil
	}
	p.saw(s.fn, s.effect, entry)
	return p.answered(s.fn, s.effect, s.number, entry)
}

// mayRepeat says whether an effect is done that may have been done already,
// when the run was interrupted.
func (s *step) mayRepeat(ctx context.Context) error {
	if s.fn.Calls || s.fn.Kind != tool.External || s.of.tool.Hints.Idempotent && s.of.program == nil {
		return nil
	}
	return s.of.askRepeat(ctx, s.effect)
}

// answered gives the recorded outcome of an effect, and emits its events as if
// it were done now: who follows what a call reads needs them.
func (p *pass) answered(f *tool.Func, e tool.Effect, number int, entry *history.Entry) (tool.Outcome, error) {
	err := recorded(entry)
	if p.run.host.Events.Wanted() {
		p.emitCalls(e, number, entry.Outcome.Value, err)
		p.emitRecorded(entry)
	}
	if f.Again != nil {
		if failure := f.Again(e, entry.Outcome, err); failure != nil {
			return tool.Outcome{}, unrecorded(failure)
		}
	}
	return entry.Outcome, err
}

// emitRecorded emits the events of a recorded effect, and of those inside it.
func (p *pass) emitRecorded(entry *history.Entry) {
	e := tool.Effect{Func: entry.Func, Args: entry.Args, Place: entry.Place}
	f, _ := p.fn(e.Func)
	switch {
	case e.Func == commitEffect:
		p.emitEffect(e, changedPaths(entry.Change), recorded(entry), 0)
	case f != nil && f.Calls:
		p.emitInside(e.Place)
	case f != nil && f.Target != nil:
		takes, _ := targets(f, e)
		p.emitEffect(e, takes, recorded(entry), 0)
	}
}

// emitInside emits the events of the recorded effects of the calls at a step: of
// one, or of several that were made in parallel.
func (p *pass) emitInside(at tool.Place) {
	record := p.run.record
	for n := 1; ; n++ {
		found := false
		for _, inside := range []tool.Place{at.Child(n).Child(0), at.Child(n)} {
			if entry, ok, err := record.Recorded(inside); err == nil && ok && !entry.Intended.IsZero() {
				found = true
				p.emitRecorded(&entry)
			}
		}
		if _, several, _ := record.Recorded(at.Child(n).Child(1)); !found && several {
			found = true
			p.emitInside(at.Child(n))
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

// A pendingOutcome is that of an effect that found a model, a network or a
// program unavailable. It is recorded once the script continues; where the run
// ends with it, the effect is tried again when the run is resumed.
type pendingOutcome struct {
	at  tool.Place
	out tool.Outcome
	err error
}

// settlePending records the outcome of the last effect, if that was left open.
func (p *pass) settlePending(ctx context.Context) error {
	last := p.trail.pending
	if p.trail.pending = nil; last == nil {
		return nil
	}
	return p.run.settleOnly(ctx, last.at, last.out, last.err)
}

// A look is what a call has seen of a path, by its record.
type look struct {
	path   string
	effect tool.Effect
	value  tool.Value
	failed bool
}

// saw keeps what a call has seen of a path that it has not changed itself.
func (p *pass) saw(f *tool.Func, e tool.Effect, entry *history.Entry) {
	if f.Kind != tool.Read || f.Target == nil {
		return
	}
	takes, _ := targets(f, e)
	for _, c := range takes {
		if c.Name == "fs.read" && !slices.ContainsFunc(p.trail.unstaged, func(w tool.Effect) bool { return p.writesTo(w, c.Target) }) {
			p.trail.looked = append(p.trail.looked, look{c.Target, e, entry.Outcome.Value, entry.Err != nil})
		}
	}
}

func (p *pass) writesTo(e tool.Effect, path string) bool {
	f, _ := p.fn(e.Func)
	takes, _ := targets(f, e)
	return slices.ContainsFunc(takes, func(c tool.Capability) bool { return c.Target == path })
}

// forget drops what the call has seen of what it has changed.
func (t *trail) forget(paths *tool.Dict) {
	t.looked = slices.DeleteFunc(t.looked, func(l look) bool { return paths.Has(l.path) })
	for path := range paths.All() {
		delete(t.left, path)
	}
}
