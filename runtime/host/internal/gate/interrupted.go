package gate

import (
	"context"
	"slices"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An interrupted has the commits that earlier processes of a run have left without an outcome. A resumed run
// finds out what became of all of them before it commits anything: afterwards, other calls of the run could
// have changed their files, and removed what proves them.
type interrupted struct {
	mu    sync.Mutex
	left  bool            // they are still to be looked at
	found map[string]bool // whether a commit was carried out, by step; one about which a person decides is missing
}

// settleInterrupted finds out what became of the interrupted commits of the run, once, and records those that
// were carried out. What the disk does not show, the other commits of the run may prove.
func (p *Pass) settleInterrupted(ctx context.Context) error {
	b := &p.Run.broken
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.left || p.Run.gate.Effects.Func(ReconcileEffect) == nil {
		return nil
	}
	found := map[string]bool{}
	open := map[string]value.List{} // the files about which a person would have to decide, by step
	var entries []history.Entry
	for e, err := range p.Run.record.Changes(true) {
		if err != nil {
			return Unrecorded(err)
		}
		c, at := p.commitAt(e.StepPath), e.StepPath.String()
		done, unclear, err := c.find(ctx, e.Args)
		if err != nil {
			return err
		}
		if entries = append(entries, e); len(unclear) > 0 {
			open[at] = unclear
		} else {
			found[at] = done
		}
	}
	for again := len(open) > 0; again; { // one that is settled may prove another one
		again = false
		for i := range entries {
			e := &entries[i]
			at := e.StepPath.String()
			if open[at] == nil {
				continue
			}
			done, ok, err := p.commitAt(e.StepPath).prove(ctx, e, open, found)
			if err != nil {
				return err
			}
			if ok {
				found[at], again = done, true
				delete(open, at)
			}
		}
	}
	for i := range entries {
		if e := &entries[i]; found[e.StepPath.String()] {
			if err := p.commitAt(e.StepPath).settled(ctx, e.Args, nil); err != nil {
				return err
			}
		}
	}
	b.left, b.found = false, found
	return nil
}

// commitAt returns the commit at a step, which may be that of another call of the run.
func (p *Pass) commitAt(at tool.StepPath) commit {
	last := len(at) - 1
	return p.commitIn(at[:last], at[last])
}

// find finds out from the disk whether a commit was carried out. unclear are the files about which a person has
// to decide.
func (p commit) find(ctx context.Context, args *value.Dict) (done bool, unclear value.List, err error) {
	s, err := p.step(ReconcileEffect, args)
	if err != nil {
		return false, nil, err
	}
	out, err := s.call(ctx)
	if err != nil {
		return false, nil, p.stuck(err)
	}
	d, _ := out.Value.(*value.Dict)
	return d.Bool("done"), d.Elements("unsettled"), nil
}

// prove finds out from the other commits of the run whether one was carried out, see [proved]. An
// answer that somebody has given is above that.
func (p commit) prove(ctx context.Context, own *history.Entry, open map[string]value.List, found map[string]bool) (done, ok bool, err error) {
	answer, _, err := p.Run.answer(ctx, p.at(), func(asked *history.Asked) bool { return asked.Kind == tool.QuestionUnknown && !asked.Spent })
	if err != nil || answer != nil {
		return false, false, err
	}
	proofs := &value.Dict{}
	for _, item := range open[p.at().String()] {
		d, _ := item.(*value.Dict)
		path := d.Text("path")
		var others []recordedCommit
		for e, err := range p.Run.record.Changes(false) {
			at := e.StepPath
			switch {
			case err != nil:
				return false, false, Unrecorded(err)
			case slices.Equal(at, p.at()) || e.Err != nil || !e.Change.Has(path): // one that failed has changed nothing
				continue
			}
			c := recordedCommitOf(&e, path)
			if c.Sure = !e.Unknown() || found[at.String()]; c.Sure || open[at.String()] != nil {
				others = append(others, c)
			}
		}
		if done, ok := proved(recordedCommitOf(own, path), d.Text("sum"), others); ok {
			proofs.Put(path, done)
		}
	}
	if proofs.Len() == 0 {
		return false, false, nil
	}
	done, unclear, err := p.find(ctx, WithArg(own.Args, reconcileProofs, proofs))
	return done, len(unclear) == 0, err
}
