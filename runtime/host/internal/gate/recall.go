package gate

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A recovery is where the record of a resumed call differs from the disk.
type recovery struct {
	unstaged []answered             // writes that are not staged, and reads of what they wrote
	seen     []answered             // reads of paths that the call had not written
	written  map[value.Value]string // the states of the files that it wrote, by path
}

// recall answers an effect from the record if an earlier process of the run has carried it
// out. A staged write is not carried out until its commit is. Notices are not recorded, as
// it does no harm to repeat one.
func (s *step) recall(ctx context.Context) (out tool.Outcome, done bool, err error) {
	if s.fn == nil || s.fn.Kind == tool.Notice {
		return out, false, nil
	}
	p := s.of
	if err := p.Run.waits.Settle(ctx, p.call.StepPath); err != nil {
		return out, true, err
	}
	entry, what, err := p.Run.record.Recall(s.effect, s.fn)
	if err != nil {
		return out, true, p.Run.stick(s.effect.StepPath, err)
	}
	if entry != nil {
		s.tries = entry.Tries
	}
	staged := p.commitIn(s.effect.StepPath, 0)
	if err := staged.dropCommitted(ctx); err != nil {
		return out, true, err
	}
	if what == history.Known {
		out, err = s.answer(ctx, entry)
		return out, true, err
	}
	if err := staged.restage(ctx); err != nil {
		return out, true, s.unbegun(ctx, err)
	}
	if what == history.Begun && !entry.NotDone() {
		out, done, err := s.mayRepeat(ctx)
		if err != nil || done {
			return out, true, s.conclude(ctx, out, err, false)
		}
	}
	return out, false, nil
}

// answer returns the recorded outcome of the effect, and emits its events again: programs
// that watch the call need them.
func (s *step) answer(ctx context.Context, entry *history.Entry) (tool.Outcome, error) {
	p, kind := s.of, s.fn.Kind
	p.consent.recall(s, entry.Questions)
	switch {
	case !p.Run.record.Live():
		if kind != tool.Read && kind != tool.Write { // there may have been a commit before it
			_ = p.commitIn(s.effect.StepPath, 0).replay() // if the commit failed, so did the effect
		}
	case kind == tool.Write && entry.Err == nil:
		p.recovery.unstaged = append(p.recovery.unstaged, answered{"", s, entry.Outcome.Value, false})
		return entry.Outcome, nil
	}
	p.recovery.addSeen(s, entry)
	if p.Run.record.Live() {
		s.spend(entry)
	}
	err := entryError(entry)
	if p.subject().heard() {
		e := echo{p}
		e.calls(s, entry.Outcome.Value, err)
		e.entry(entry)
	}
	if s.fn.Again != nil {
		if failure := s.fn.Again(ctx, s.effect, entry.Outcome, err); failure != nil {
			return tool.Outcome{}, p.Run.stick(s.effect.StepPath, failure)
		}
	}
	return entry.Outcome, err
}

// An answered is an effect on files that the record has answered.
type answered struct {
	path   string // that it has read
	by     *step
	value  value.Value
	failed bool
}

// agrees fails if the effect, done again, has another outcome than the recorded one: somebody
// has changed the files since.
func (a *answered) agrees(ctx context.Context) error {
	out, err := a.by.again(ctx)
	switch {
	case a.by.of.Run.leavesOpen(err) || ctx.Err() != nil:
		return err
	case err != nil && a.by.fn.Kind == tool.Write:
		e := a.by.effect
		return value.Errorf(value.KindOf(err), "repeat the recorded step %s (%s): %w", e.StepPath, e.Func, err).
			WithLimit(value.ErrorOf(err, value.Failed).Limit)
	case (err != nil) != a.failed || err == nil && !value.Equal(out.Value, a.value):
		path := a.path
		if takes, _ := targets(a.by.fn, a.by.effect); path == "" && len(takes) > 0 {
			path = takes[0].Target
		}
		return changedSince(path)
	}
	return nil
}

// addSeen keeps what an effect has read of files.
func (t *recovery) addSeen(s *step, entry *history.Entry) {
	if s.fn.Kind != tool.Read || s.fn.Target == nil {
		return
	}
	takes, _ := targets(s.fn, s.effect)
	for _, c := range takes {
		if c.Name != "fs.read" {
			continue
		}
		a := answered{c.Target, s, entry.Outcome.Value, entry.Err != nil}
		if slices.ContainsFunc(t.unstaged, func(w answered) bool { return w.by.writesTo(c.Target) }) {
			t.unstaged = append(t.unstaged, a)
		} else {
			t.seen = append(t.seen, a)
		}
	}
}

// writesTo reports whether an effect has a path among its targets.
func (s *step) writesTo(path string) bool {
	takes, _ := targets(s.fn, s.effect)
	return slices.ContainsFunc(takes, func(c tool.Capability) bool { return c.Target == path })
}

// leave is called after an effect. It forgets the states of the files that the call has
// written, if the effect may have had others change them.
func (p *Pass) leave(s *step, err error) {
	f := s.fn
	if f == nil {
		return
	}
	if f.MakesCalls() || f.Kind == tool.External {
		p.recovery.written = nil
	}
	if f.MakesCalls() || filesChanged(err) { // the calls act themselves
		return
	}
	takes, _ := targets(f, s.effect)
	if f.Kind == tool.External || slices.ContainsFunc(takes, func(c tool.Capability) bool { return c.Name == "human" }) {
		p.act()
	}
}

// forget drops what the call has seen of the paths that it has changed.
func (t *recovery) forget(paths *value.Dict) {
	t.seen = slices.DeleteFunc(t.seen, func(l answered) bool { return paths.Has(l.path) })
	for path := range paths.All() {
		delete(t.written, path)
	}
}
