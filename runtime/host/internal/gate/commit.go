package gate

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The effects with which the host commits what a call has staged. prepareEffect returns
// first what would undo the commit, and the mark of its temporary files. After a crash,
// ReconcileEffect finds out by these whether it was carried out. FinishEffect removes them
// once the outcome is durable. RestoreEffect undoes the commit.
const (
	CommitEffect    = subjectCommit
	prepareEffect   = "fs.prepare"
	FinishEffect    = "fs.finish"
	ReconcileEffect = "fs.reconcile"
	RestoreEffect   = "fs.restore"
)

// A commit carries out what a call has staged, at a step of its own: the commit before the
// effect 3 is the step 3.0.
type commit struct {
	*Pass
	within tool.StepPath
	number int
}

// commitIn returns the commit that is the n-th step inside another step.
func (p *Pass) commitIn(within tool.StepPath, n int) commit { return commit{p, within, n} }

// at returns the step of the commit.
func (p commit) at() tool.StepPath { return p.within.Child(p.number) }

// commit commits what the call has staged, if the effect is outside the project or another
// call, which could look at it.
func (s *step) commit(ctx context.Context) error {
	switch s.fn.Kind {
	case tool.External, tool.Repeatable:
		return s.of.commitIn(s.effect.StepPath, 0).carryOut(ctx)
	}
	return nil
}

// carryOut writes what is staged, if that is approved.
func (p commit) carryOut(ctx context.Context) error {
	if !p.Run.record.Live() {
		p.stage = tool.Stage{} // a replay can run a replaced script, which stages too
		return p.replay()
	}
	if err := p.dropCommitted(ctx); err != nil {
		return err
	}
	failed := p.restage(ctx)
	if failed == nil && p.stage.Empty() {
		return nil
	}
	s, err := p.step(CommitEffect, &value.Dict{})
	if err != nil {
		return err
	}
	recorded := p.Run.held.Scope()
	defer recorded.End()
	if failed == nil && p.Run.record.Keeps() {
		failed = recorded.Set(ctx, replaced(p.stage.Changes())) // the intent has it once more
	}
	if failed != nil {
		return s.unbegun(ctx, failed)
	}
	if p.Run.record.Keeps() {
		err = p.withRecord(ctx, s)
	} else if s.takes, err = p.authorize(ctx); err == nil {
		_, err = s.do(ctx)
	}
	if err == nil {
		p.staged.End()
		p.act()
	}
	return err
}

// replaced returns how many bytes of content changes replace or remove.
func replaced(changes []tool.Change) (n int64) {
	for _, c := range changes {
		n += int64(len(c.Before.Data))
	}
	return n
}

// step returns the step of an effect that the host itself asks for on behalf of the call.
func (p commit) step(name string, args *value.Dict) (*step, error) {
	f := p.Run.gate.Effects.Func(name)
	if f == nil {
		return nil, value.Errorf(value.Internal, "commit writes: the host has no function %s", name)
	}
	return &step{of: p.Pass, effect: tool.Effect{Func: name, Args: args, StepPath: p.at()}, fn: f, number: p.quota.effects}, nil
}

// authorize has the programs above review what the call has staged, asks for approval, and
// returns the capabilities that the commit takes.
func (p commit) authorize(ctx context.Context) ([]tool.Capability, error) {
	for up := p.above; up != nil; up = up.above {
		if up.program == nil || up.program.Review == nil {
			continue
		}
		if err := up.program.Review(p.tool.Tool, p.tool.Location, p.stage.Changes()); err != nil {
			return nil, err
		}
	}
	if err := p.approve(ctx); err != nil {
		return nil, err
	}
	return writes(p.stage.Changes()), nil
}

// withRecord commits, and records the intent and the outcome. It records a refusal too.
func (p commit) withRecord(ctx context.Context, s *step) error {
	run := p.Run
	entry, known, err := run.record.Recorded(p.at())
	if err != nil {
		return Unrecorded(err)
	}
	if known && !entry.Settled.IsZero() {
		return entryError(&entry) // a refusal holds when the run is resumed
	}
	if err := p.settleInterrupted(ctx); err != nil {
		return err
	}
	intent, refusal := p.intent(ctx, s)
	if run.leavesOpen(refusal) {
		return refusal
	}
	if err := run.record.Intend(ctx, intent); err != nil {
		return Unrecorded(err)
	}
	if refusal != nil {
		return s.conclude(ctx, tool.Outcome{}, refusal, false)
	}
	s.effect.Args = value.NewDict(ArgMark, intent.Args.Text(ArgMark))
	out, err := s.do(ctx)
	if err == nil {
		p.recovery.forget(intent.Change)
	} else if run.repairable(err) && intent.Args.Len() > 0 { // the disk may keep it from removing what it has begun
		if left := p.decided(ctx, &history.Entry{Intent: intent}, KeepTheirs); left != nil {
			return p.stuck(left)
		}
	}
	if intent.Args.Len() > 0 {
		out.Undo = nil // the intent has it
	}
	failure := s.conclude(ctx, out, err, false)
	if err == nil && failure == nil {
		return p.finish(ctx, intent.Args)
	}
	return failure
}

// ArgMark is the argument of the effects of a commit with the mark of its temporary files.
const ArgMark = "mark"

// settled records the outcome of an interrupted commit, and then removes its temporary files:
// until the outcome is durable, they prove it.
func (p commit) settled(ctx context.Context, args *value.Dict, err error) error {
	if failure := p.Run.record.Settle(ctx, p.at(), tool.Outcome{}, err); failure != nil {
		return Unrecorded(failure)
	}
	return p.finish(ctx, args)
}

// finish removes the temporary files of the commit. What cannot be removed is swept by a later
// commit, unless the disk has to be repaired first.
func (p commit) finish(ctx context.Context, args *value.Dict) error {
	s, err := p.step(FinishEffect, args)
	if err != nil || args.Text(ArgMark) == "" {
		return nil
	}
	_, err = s.call(ctx)
	return p.Run.waits.Repair(p.Run.ID, err)
}

// stuck returns the error of a commit that can be neither finished nor undone. The script does
// not get it: the run is parked until its environment is repaired, or else is broken off.
func (p commit) stuck(err error) error {
	return cmp.Or(p.Run.waits.Repair(p.Run.ID, err), Unrecorded(err))
}

// intent returns the intent of the commit: the hashes of the files before and after it, and
// as its arguments what undoes it. The intent of a refused commit has neither.
func (p commit) intent(ctx context.Context, s *step) (i history.Intent, err error) {
	i = history.Intent{StepPath: p.at(), Func: CommitEffect, Args: &value.Dict{}, Kind: tool.Write, Staged: true}
	if err := p.unchanged(ctx); err != nil {
		answered, failed := p.answered(ctx, inquiry{at: p.at(), changes: p.stage.Changes()})
		if answered { // a refusal holds, and an approval may hold for the next attempt
			failed = p.approve(ctx)
		}
		return i, cmp.Or(failed, err)
	}
	if s.takes, err = p.authorize(ctx); err != nil {
		return i, err
	}
	if prepare, err := p.step(prepareEffect, i.Args); err == nil {
		out, err := prepare.call(ctx)
		if err != nil {
			return i, err
		}
		if out.Undo != nil {
			i.Args = out.Undo.Args
		}
	}
	i.Change, i.Staged, i.Sync = tool.ChangeSums(p.stage.Changes()), false, true
	return i, nil
}

// replay returns the recorded error of the commit, without committing anything.
func (p commit) replay() error {
	entry, known, err := p.Run.record.Recorded(p.at())
	if err != nil {
		return Unrecorded(err)
	}
	if !known || entry.Func != CommitEffect {
		return nil
	}
	if entry.Err == nil && !entry.Unknown() {
		p.act()
		if p.Pass.subject().heard() {
			echo{p.Pass}.entry(&entry)
		}
	}
	return entryError(&entry)
}

// dropCommitted drops the writes that the record has answered, if the record has a commit
// of them at this step: they are on disk. A commit that was interrupted is undone instead.
func (p commit) dropCommitted(ctx context.Context) error {
	t := &p.recovery
	if len(t.unstaged) == 0 {
		return nil
	}
	commit, known, err := p.Run.record.Recorded(p.at())
	if err != nil {
		return Unrecorded(err)
	}
	if !known || commit.Func != CommitEffect {
		return nil
	}
	if commit.Err != nil && commit.Err.Kind == value.Denied {
		p.consent.declined = commit.Err
	}
	done, err := p.reconcile(ctx, &commit)
	if err != nil || !done {
		return err
	}
	p.act()
	t.unstaged, t.seen = nil, nil // a commit also forgets what was seen before it
	t.forget(commit.Change)
	if t.written == nil {
		t.written = map[value.Value]string{}
	}
	for path, state := range commit.Change.All() {
		d, _ := state.(*value.Dict)
		t.written[path] = d.Text("after")
	}
	if p.Pass.subject().heard() {
		echo{p.Pass}.entry(&commit)
	}
	return nil
}

// restage stages the writes that the record has answered and that are not on disk. It is
// called before anything that can see them. It fails if they, or what the call has read of
// them, are not what the record says.
func (p commit) restage(ctx context.Context) error {
	unstaged := p.recovery.unstaged
	p.recovery.unstaged = nil
	for i := range unstaged {
		if err := unstaged[i].agrees(ctx); err != nil {
			return err
		}
	}
	return nil
}

// again carries out an effect that the record has answered. It passes the grant as it
// is now, and is not recorded.
func (s *step) again(ctx context.Context) (tool.Outcome, error) {
	anew := &step{of: s.of, effect: s.effect, fn: s.fn, own: s.own, number: s.of.quota.effects}
	if err := anew.grant(ctx); err != nil {
		return tool.Outcome{}, err
	}
	return anew.do(ctx)
}

// unchanged fails if somebody has changed one of the files that the call is about to change,
// since the call has read or written it in an earlier process.
func (p commit) unchanged(ctx context.Context) error {
	own := p.stage
	defer func() { p.stage = own }()
	for _, c := range own.Changes() {
		if left, ok := p.recovery.written[c.Path]; ok && left != c.Before.Sum() {
			return changedSince(c.Path)
		}
		for _, l := range p.recovery.seen {
			if l.path != c.Path || c.After.Dir {
				continue
			}
			p.stage = tool.Stage{} // without it, the effect reads what is on disk
			if err := l.agrees(ctx); err != nil {
				return err
			}
			// A path that would stay as it is is not compared when the changes are made. It may have been
			// staged when it was different, so that only what was read is on disk.
			if now, known := p.stage.Seen(c.Path); c.Before.Sum() == c.After.Sum() && (!known || now.Sum() != c.Before.Sum()) {
				return changedSince(c.Path)
			}
		}
	}
	return nil
}

func changedSince(path string) error {
	return value.Errorf(value.Conflict, "%s has changed since the call last read or wrote it: nothing more was written", path).WithLimit(value.LimitChanged).WithHint("call the tool again")
}

// reconcile reports whether a recorded commit is on disk. If neither the disk nor the other commits of the
// run show that, or if others have changed its files, a person decides.
func (p commit) reconcile(ctx context.Context, commit *history.Entry) (done bool, err error) {
	switch {
	case !commit.Unknown():
		return commit.Err == nil, p.finish(ctx, commit.Args) // the process may have died before
	case commit.Change.Len() == 0: // it was not begun
		return false, nil
	}
	if err := p.settleInterrupted(ctx); err != nil {
		return false, err
	}
	if done, ok := p.Run.broken.found[p.at().String()]; ok {
		return done, nil
	}
	done, unclear, err := p.find(ctx, commit.Args)
	if err == nil && len(unclear) > 0 {
		return p.decide(ctx, commit, unclear)
	}
	return done, err
}

// decide asks a person what is to become of an interrupted commit whose files have changed
// since. A yes completes it, a no leaves the files as they are, and is the error of the commit.
func (p commit) decide(ctx context.Context, commit *history.Entry, list value.List) (done bool, err error) {
	s, err := p.step(CommitEffect, &value.Dict{})
	if err != nil {
		return false, err
	}
	answer, err := s.askQuestion(ctx, unsettledQuestion(list), s.of.Run.gate.Ask, reasonUnknownOutcome, 0)
	if err != nil {
		return false, err
	}
	if answer == true {
		if err = p.decided(ctx, commit, keepMine); err == nil {
			return true, p.settled(ctx, commit.Args, nil)
		}
	} else {
		err = errNotOverwritten(list)
	}
	if failure := p.decided(ctx, commit, KeepTheirs); failure != nil {
		return false, p.stuck(failure)
	}
	return false, cmp.Or(p.settled(ctx, commit.Args, err), err)
}

// decided carries out what a person has decided.
func (p commit) decided(ctx context.Context, commit *history.Entry, decision string) error {
	s, err := p.step(ReconcileEffect, WithArg(commit.Args, ReconcileDecision, decision))
	if err == nil {
		_, err = s.call(ctx)
	}
	return err
}

// approve asks for approval of what the call has staged, if that is needed. A refusal holds
// for the rest of the call.
func (p commit) approve(ctx context.Context) error {
	c := &p.consent
	if c.declined != nil {
		return c.declined
	}
	changes, covered, by := p.changes()
	d := decision{what: CommitEffect, at: p.at(), takes: writes(changes)}
	answered := false
	if p.remembers() {
		var err error
		if answered, err = p.answered(ctx, inquiry{at: d.at, changes: changes}); err != nil {
			return err
		}
	}
	switch {
	case answered:
	case !c.asksChanges:
		return nil
	case len(c.shown) > 0 && sameChanges(c.shown, changes):
		d.why = "it was approved before others changed these files"
		p.allowed(d)
		return nil
	case covered:
		if by != nil {
			d.why = "a rule allows it: " + rights.RuleText(by)
			p.allowed(d)
		}
		return nil
	case p.Run.gate.changed():
		return p.approve(ctx)
	}
	q := p.inquire(inquiry{at: d.at, takes: d.takes, changes: withDiffs(changes), why: "the call changes files"})
	_, err := q.ask(ctx)
	if filesChanged(err) {
		return err
	}
	if d.why, d.by = q.how, q.by; err != nil {
		c.declined = p.refused(d, err)
		return c.declined
	}
	c.shown = append(c.shown, q.changes...)
	p.allowed(d)
	return nil
}

// changes returns what the call would change. covered reports that every change is
// approved already, by a rule or by an answer; by is one such rule, or nil. A new folder is
// covered by a file in it.
func (p commit) changes() (changes []tool.Change, covered bool, by *tool.Rule) {
	covered = true
	var folders, files []string
	for _, c := range p.stage.Changes() {
		if c.Before.Exists == c.After.Exists && c.Before.Dir == c.After.Dir && c.Before.Hash == c.After.Hash {
			continue
		}
		changes = append(changes, c)
		verdict, r := p.rights.Judge(tool.Capability{Name: "fs.write", Target: c.Path})
		switch {
		case verdict == tool.Allow:
			by = r
			files = append(files, c.Path)
		case p.consent.settled[c.Path]:
			files = append(files, c.Path)
		case c.After.Dir && !c.Before.Exists:
			folders = append(folders, c.Path)
		default:
			covered = false
		}
	}
	for _, folder := range folders {
		covered = covered && slices.ContainsFunc(files, func(p string) bool { return strings.HasPrefix(p, folder+"/") })
	}
	return changes, covered, by
}
