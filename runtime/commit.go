package runtime

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// The effects with which the host commits what a call has staged: it asks first
// what would undo that, and after a crash how far it had come.
const (
	commitEffect    = "fs.commit"
	prepareEffect   = "fs.prepare"
	reconcileEffect = "fs.reconcile"
	restoreEffect   = "fs.restore"
)

// commit commits what the call has staged before anything outside the project,
// or another call, can look at it.
func (s *step) commit(ctx context.Context) error {
	switch s.fn.Kind {
	case tool.External, tool.Repeatable:
		return s.of.commit(ctx, s.effect.Place.Child(0))
	}
	return nil
}

// commit carries out what the call has staged, if that is approved, at a step
// of its own: before an effect at 3 that is 3.0.
func (p *pass) commit(ctx context.Context, at tool.Place) error {
	if !p.run.record.Live() {
		p.stage = tool.Stage{} // of a replaced script
		return p.replayCommit(at)
	}
	if err := p.overtake(ctx, at); err != nil {
		return err
	}
	if err := p.stageAgain(ctx); err != nil {
		return err
	}
	if p.stage.Empty() {
		return nil
	}
	s, err := p.hostStep(commitEffect, &tool.Dict{}, at)
	if err != nil {
		return err
	}
	if p.run.record.Keeps() {
		return s.commitRecorded(ctx)
	}
	if s.takes, err = p.mayCommit(ctx, at); err != nil {
		return err
	}
	_, err = s.do(ctx)
	return err
}

// hostStep is an effect that the host itself asks for in the name of the call.
func (p *pass) hostStep(name string, args *tool.Dict, at tool.Place) (*step, error) {
	f := p.run.host.funcs[name]
	if f == nil {
		return nil, tool.Errorf(tool.Internal, "the host cannot commit writes: it has no %s", name)
	}
	return &step{of: p, effect: tool.Effect{Func: name, Args: args, Place: at}, fn: f, number: p.quota.effects}, nil
}

// mayCommit asks all who have a say in what the call has staged, and returns
// the capabilities that committing it takes.
func (p *pass) mayCommit(ctx context.Context, at tool.Place) ([]tool.Capability, error) {
	for up := p.above; up != nil; up = up.above {
		if up.program == nil || up.program.review == nil {
			continue
		}
		if err := up.program.review(p.tool, p.stage.Changes()); err != nil {
			return nil, err
		}
	}
	if err := p.approveChanges(ctx, at); err != nil {
		return nil, err
	}
	return writes(p.stage.Changes()), nil
}

// commitRecorded is a commit with its intent and its outcome in the record. One
// that is refused is recorded too.
func (s *step) commitRecorded(ctx context.Context) error {
	run, at := s.of.run, s.effect.Place
	entry, known, err := run.record.Recorded(at)
	if err != nil {
		return unrecorded(err)
	}
	if known && !entry.Settled.IsZero() {
		return recorded(&entry) // it was refused, and stays so
	}
	intent, refusal := s.commitIntent(ctx)
	if run.leavesOpen(refusal) {
		return refusal
	}
	if err := run.record.Intend(ctx, intent); err != nil {
		return unrecorded(err)
	}
	if refusal != nil {
		return run.settle(ctx, at, tool.Outcome{}, refusal)
	}
	out, err := s.do(ctx)
	if err == nil {
		s.of.trail.forget(intent.Change)
	}
	if intent.Args.Len() > 0 {
		out.Undo = nil // the intent has it
	}
	return run.settle(ctx, at, out, err)
}

// commitIntent says what a commit is about to do to files: what is there and
// what will be, in hashes, and as its arguments what undoes it. One that is
// refused is about to do nothing.
func (s *step) commitIntent(ctx context.Context) (i history.Intent, err error) {
	p, at := s.of, s.effect.Place
	i = history.Intent{Place: at, Func: commitEffect, Args: &tool.Dict{}, Kind: tool.Write, Staged: true}
	if err := p.unchanged(ctx); err != nil {
		return i, err
	}
	if s.takes, err = p.mayCommit(ctx, at); err != nil {
		return i, err
	}
	args := i.Args
	if prepare, err := p.hostStep(prepareEffect, args, at); err == nil {
		out, err := prepare.call(ctx)
		if err != nil {
			return i, err
		}
		if out.Undo != nil {
			args = out.Undo.Args
		}
	}
	i.Args, i.Change, i.Staged = args, changeDict(p.stage.Changes()), false
	return i, nil
}

// changeDict gives changes by path, in hashes.
func changeDict(changes []tool.Change) *tool.Dict {
	d := &tool.Dict{}
	for _, c := range changes {
		d.Put(c.Path, tool.NewDict("before", stateText(c.Before), "after", stateText(c.After)))
	}
	return d
}

// stateText names what is at a path: "", "dir", or the hash of a file.
func stateText(s tool.FileState) string {
	switch {
	case !s.Exists:
		return ""
	case s.Dir:
		return "dir"
	}
	return s.Hash
}

// replayCommit returns the recorded error of a commit. Nothing is staged that
// could be committed.
func (p *pass) replayCommit(at tool.Place) error {
	entry, known, err := p.run.record.Recorded(at)
	if err != nil {
		return unrecorded(err)
	}
	if !known || entry.Func != commitEffect {
		return nil
	}
	if entry.Err == nil && !entry.Unknown() && p.run.host.Events.Wanted() {
		p.emitRecorded(&entry)
	}
	return recorded(&entry)
}

// overtake drops the writes that the record has answered where they are on disk:
// where the record has a commit of them at a step, that was done. Where the run
// was interrupted in the middle of it, it is undone first.
func (p *pass) overtake(ctx context.Context, at tool.Place) error {
	t := &p.trail
	if len(t.unstaged) == 0 {
		return nil
	}
	commit, known, err := p.run.record.Recorded(at)
	if err != nil {
		return unrecorded(err)
	}
	if !known || commit.Func != commitEffect {
		return nil
	}
	if commit.Err != nil && commit.Err.Kind == tool.Denied {
		p.consent.declined = commit.Err
	}
	done, err := p.reconcile(ctx, &commit)
	if err != nil || !done {
		return err
	}
	t.unstaged, t.looked = nil, nil // as a commit that is done forgets what was seen
	t.forget(commit.Change)
	if t.left == nil {
		t.left = map[tool.Value]string{}
	}
	for path, state := range commit.Change.All() {
		d, _ := state.(*tool.Dict)
		t.left[path] = d.Text("after")
	}
	if p.run.host.Events.Wanted() {
		p.emitRecorded(&commit)
	}
	return nil
}

// stageAgain stages the writes that the record has answered and that are not on
// disk, before something is done that can see them.
func (p *pass) stageAgain(ctx context.Context) error {
	again := p.trail.unstaged
	p.trail.unstaged = nil
	for _, e := range again {
		if _, err := p.again(ctx, e); p.run.leavesOpen(err) {
			return err
		} else if err != nil {
			return tool.Errorf(tool.KindOf(err), "step %s, %s, cannot be done again as it is recorded: %w", e.Place, e.Func, err)
		}
	}
	return nil
}

// again has an effect done that the record has answered: it is granted as it
// would be now, and not recorded.
func (p *pass) again(ctx context.Context, e tool.Effect) (tool.Outcome, error) {
	s := &step{of: p, effect: e, number: p.quota.effects}
	s.fn, s.own = p.fn(e.Func)
	if err := s.grant(ctx); err != nil {
		return tool.Outcome{}, err
	}
	return s.do(ctx)
}

// unchanged looks again at what the call is about to change, where it has seen or
// written that in an earlier process: somebody may have changed it since.
func (p *pass) unchanged(ctx context.Context) error {
	own := p.stage
	defer func() { p.stage = own }()
	for _, c := range own.Changes() {
		if left, ok := p.trail.left[c.Path]; ok && left != stateText(c.Before) {
			return changedSince(c.Path)
		}
		for _, l := range p.trail.looked {
			if l.path != c.Path || c.After.Dir {
				continue
			}
			p.stage = tool.Stage{} // it sees what is on disk
			out, err := p.again(ctx, l.effect)
			switch {
			case p.run.leavesOpen(err) || ctx.Err() != nil:
				return err
			case (err != nil) != l.failed || err == nil && !tool.Equal(out.Value, l.value):
				return changedSince(c.Path)
			}
		}
	}
	return nil
}

func changedSince(path string) error {
	return tool.Errorf(tool.Conflict, "%s has changed since the call saw it; nothing was written", path).WithHint("read it again")
}

// reconcile finds out whether a recorded commit is on disk.
func (p *pass) reconcile(ctx context.Context, commit *history.Entry) (done bool, err error) {
	look, missing := p.hostStep(reconcileEffect, commit.Args, commit.Place)
	if !commit.Unknown() || missing != nil || commit.Change.Len() == 0 { // it was done, or nothing was begun
		return !commit.Unknown() && commit.Err == nil, nil
	}
	out, err := look.call(ctx)
	if err != nil {
		return false, unrecorded(err)
	}
	if d, _ := out.Value.(*tool.Dict); !d.Bool("done") {
		return false, nil
	}
	return true, p.run.settle(ctx, commit.Place, tool.Outcome{}, nil)
}

// writes are the capabilities that changes take.
func writes(changes []tool.Change) []tool.Capability {
	list := make([]tool.Capability, len(changes))
	for i, c := range changes {
		list[i] = tool.Capability{Name: "fs.write", Target: c.Path}
	}
	return list
}
