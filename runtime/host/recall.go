package host

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A trail is where the record of a call and the disk do not agree yet.
type trail struct {
	unstaged []*step                // writes that the record has answered and that are not staged
	looked   []look                 // what the call has seen of files, by its record
	left     map[value.Value]string // how it has left those that it wrote, by path
	pending  *pendingOutcome        // of the last effect, where it can be tried again later
}

// recall answers an effect from the record, where an earlier process of the run
// has done it. What a call stages is not done before its commit is. A repeated
// notice does no harm, so notices are not recorded.
func (s *step) recall(ctx context.Context) (out tool.Outcome, done bool, err error) {
	if s.fn == nil || s.fn.Kind == tool.Notice {
		return out, false, nil
	}
	p := s.of
	if err := p.trail.settle(ctx, p.run); err != nil {
		return out, true, err
	}
	entry, what, err := p.run.record.Recall(s.effect, s.fn)
	if err != nil {
		return out, true, unrecorded(err)
	}
	staged := p.commitIn(s.effect.Place, 0)
	if err := staged.overtake(ctx); err != nil {
		return out, true, err
	}
	if what == history.Known {
		out, err = s.answer(ctx, entry)
		return out, true, err
	}
	if err := staged.again(ctx); err != nil {
		return out, true, err
	}
	if what == history.Begun {
		if err := s.mayRepeat(ctx); err != nil {
			return out, true, p.run.settle(ctx, s.effect.Place, out, err)
		}
	}
	return out, false, nil
}

// answer gives the recorded outcome of the effect, and emits its events as if it
// were done now: who follows what a call reads needs them.
func (s *step) answer(ctx context.Context, entry *history.Entry) (tool.Outcome, error) {
	p, kind := s.of, s.fn.Kind
	p.consent.recall(s, entry.Questions)
	switch {
	case !p.run.record.Live():
		if kind != tool.Read && kind != tool.Write { // before which something may have been committed
			_ = p.commitIn(s.effect.Place, 0).replay() // if that failed, so did the effect
		}
	case kind == tool.Write && entry.Err == nil:
		p.trail.unstaged = append(p.trail.unstaged, s)
		return entry.Outcome, nil
	}
	p.trail.saw(s, entry)
	err := recorded(entry)
	if subjectOf(p).heard() {
		e := echo{p}
		e.calls(s, entry.Outcome.Value, err)
		e.entry(entry)
	}
	if s.fn.Again != nil {
		if failure := s.fn.Again(ctx, s.effect, entry.Outcome, err); failure != nil {
			return tool.Outcome{}, unrecorded(failure)
		}
	}
	return entry.Outcome, err
}

// A pendingOutcome is that of an effect that found a model, a network or a
// program unavailable. It is recorded once the script continues; where the run
// ends with it, the effect is tried again when the run is resumed.
type pendingOutcome struct {
	at  tool.Place
	out tool.Outcome
	err error
}

// settle records the outcome of the last effect, if that was left open.
func (t *trail) settle(ctx context.Context, r *run) error {
	last := t.pending
	if t.pending = nil; last == nil {
		return nil
	}
	return r.settleOnly(ctx, last.at, last.out, last.err)
}

// A look is what a call has seen of a path, by its record.
type look struct {
	path   string
	seen   *step
	value  value.Value
	failed bool
}

// saw keeps what a call has seen of a path that it has not changed itself.
func (t *trail) saw(s *step, entry *history.Entry) {
	if s.fn.Kind != tool.Read || s.fn.Target == nil {
		return
	}
	takes, _ := targets(s.fn, s.effect)
	for _, c := range takes {
		if c.Name == "fs.read" && !slices.ContainsFunc(t.unstaged, func(w *step) bool { return writesTo(w, c.Target) }) {
			t.looked = append(t.looked, look{c.Target, s, entry.Outcome.Value, entry.Err != nil})
		}
	}
}

// writesTo reports whether an effect takes a path.
func writesTo(s *step, path string) bool {
	takes, _ := targets(s.fn, s.effect)
	return slices.ContainsFunc(takes, func(c tool.Capability) bool { return c.Target == path })
}

// leave forgets what an effect has made stale: what the call knew of files that
// it has written, and others may have changed now.
func (t *trail) leave(f *tool.Func) {
	if f != nil && (f.Calls || f.Kind == tool.External) {
		t.left = nil
	}
}

// forget drops what the call has seen of what it has changed.
func (t *trail) forget(paths *value.Dict) {
	t.looked = slices.DeleteFunc(t.looked, func(l look) bool { return paths.Has(l.path) })
	for path := range paths.All() {
		delete(t.left, path)
	}
}
