package host

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/diffs"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The effects with which the host commits what a call has staged: it asks first
// what would undo that, and after a crash how far it had come.
const (
	commitEffect    = "fs.commit"
	prepareEffect   = "fs.prepare"
	reconcileEffect = "fs.reconcile"
	restoreEffect   = "fs.restore"
)

// A commit carries out what a call has staged, at a step of its own: before an
// effect at 3 that is 3.0.
type commit struct {
	*pass
	within tool.Place
	number int
}

// commitIn returns the commit that is the n-th step within a place.
func (p *pass) commitIn(within tool.Place, n int) commit { return commit{p, within, n} }

// at returns the place of the commit.
func (p commit) at() tool.Place { return p.within.Child(p.number) }

// commit commits what the call has staged before anything outside the project,
// or another call, can look at it.
func (s *step) commit(ctx context.Context) error {
	switch s.fn.Kind {
	case tool.External, tool.Repeatable:
		return s.of.commitIn(s.effect.Place, 0).carryOut(ctx)
	}
	return nil
}

// carryOut writes what is staged, if that is approved.
func (p commit) carryOut(ctx context.Context) error {
	if !p.run.record.Live() {
		p.stage = tool.Stage{} // of a replaced script
		return p.replay()
	}
	if err := p.overtake(ctx); err != nil {
		return err
	}
	if err := p.again(ctx); err != nil {
		return err
	}
	if p.stage.Empty() {
		return nil
	}
	s, err := p.step(commitEffect, &value.Dict{})
	if err != nil {
		return err
	}
	if p.run.record.Keeps() {
		return p.withRecord(ctx, s)
	}
	if s.takes, err = p.may(ctx); err != nil {
		return err
	}
	_, err = s.do(ctx)
	return err
}

// step is an effect that the host itself asks for in the name of the call.
func (p commit) step(name string, args *value.Dict) (*step, error) {
	f := p.run.host.funcs[name]
	if f == nil {
		return nil, value.Errorf(value.Internal, "the host cannot commit writes: it has no %s", name)
	}
	return &step{of: p.pass, effect: tool.Effect{Func: name, Args: args, Place: p.at()}, fn: f, number: p.quota.effects}, nil
}

// may asks all who have a say in what the call has staged, and returns
// the capabilities that committing it takes.
func (p commit) may(ctx context.Context) ([]tool.Capability, error) {
	for up := p.above; up != nil; up = up.above {
		if up.program == nil || up.program.review == nil {
			continue
		}
		if err := up.program.review(p.tool, p.stage.Changes()); err != nil {
			return nil, err
		}
	}
	if err := p.approve(ctx); err != nil {
		return nil, err
	}
	return writes(p.stage.Changes()), nil
}

// withRecord is a commit with its intent and its outcome in the record. One
// that is refused is recorded too.
func (p commit) withRecord(ctx context.Context, s *step) error {
	run := p.run
	entry, known, err := run.record.Recorded(p.at())
	if err != nil {
		return unrecorded(err)
	}
	if known && !entry.Settled.IsZero() {
		return recorded(&entry) // it was refused, and stays so
	}
	intent, refusal := p.intent(ctx, s)
	if run.leavesOpen(refusal) {
		return refusal
	}
	if err := run.record.Intend(ctx, intent); err != nil {
		return unrecorded(err)
	}
	if refusal != nil {
		return run.settle(ctx, p.at(), tool.Outcome{}, refusal)
	}
	out, err := s.do(ctx)
	if err == nil {
		p.trail.forget(intent.Change)
	}
	if intent.Args.Len() > 0 {
		out.Undo = nil // the intent has it
	}
	return run.settle(ctx, p.at(), out, err)
}

// intent says what a commit is about to do to files: what is there and
// what will be, in hashes, and as its arguments what undoes it. One that is
// refused is about to do nothing.
func (p commit) intent(ctx context.Context, s *step) (i history.Intent, err error) {
	i = history.Intent{Place: p.at(), Func: commitEffect, Args: &value.Dict{}, Kind: tool.Write, Staged: true}
	if err := p.unchanged(ctx); err != nil {
		return i, err
	}
	if s.takes, err = p.may(ctx); err != nil {
		return i, err
	}
	args := i.Args
	if prepare, err := p.step(prepareEffect, args); err == nil {
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
func changeDict(changes []tool.Change) *value.Dict {
	d := &value.Dict{}
	for _, c := range changes {
		d.Put(c.Path, value.NewDict("before", stateText(c.Before), "after", stateText(c.After)))
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

// replay returns the recorded error of a commit. Nothing is staged that
// could be committed.
func (p commit) replay() error {
	entry, known, err := p.run.record.Recorded(p.at())
	if err != nil {
		return unrecorded(err)
	}
	if !known || entry.Func != commitEffect {
		return nil
	}
	if entry.Err == nil && !entry.Unknown() && subjectOf(p.pass).heard() {
		echo{p.pass}.entry(&entry)
	}
	return recorded(&entry)
}

// overtake drops the writes that the record has answered where they are on disk:
// where the record has a commit of them at a step, that was done. Where the run
// was interrupted in the middle of it, it is undone first.
func (p commit) overtake(ctx context.Context) error {
	t := &p.trail
	if len(t.unstaged) == 0 {
		return nil
	}
	commit, known, err := p.run.record.Recorded(p.at())
	if err != nil {
		return unrecorded(err)
	}
	if !known || commit.Func != commitEffect {
		return nil
	}
	if commit.Err != nil && commit.Err.Kind == value.Denied {
		p.consent.declined = commit.Err
	}
	done, err := p.reconcile(ctx, &commit)
	if err != nil || !done {
		return err
	}
	t.unstaged, t.looked = nil, nil // as a commit that is done forgets what was seen
	t.forget(commit.Change)
	if t.left == nil {
		t.left = map[value.Value]string{}
	}
	for path, state := range commit.Change.All() {
		d, _ := state.(*value.Dict)
		t.left[path] = d.Text("after")
	}
	if subjectOf(p.pass).heard() {
		echo{p.pass}.entry(&commit)
	}
	return nil
}

// again stages the writes that the record has answered and that are not on disk,
// before something is done that can see them.
func (p commit) again(ctx context.Context) error {
	again := p.trail.unstaged
	p.trail.unstaged = nil
	for _, s := range again {
		if _, err := s.again(ctx); p.run.leavesOpen(err) {
			return err
		} else if err != nil {
			e := s.effect
			return value.Errorf(value.KindOf(err), "step %s, %s, cannot be done again as it is recorded: %w", e.Place, e.Func, err)
		}
	}
	return nil
}

// again has an effect done that the record has answered: it is granted as it
// would be now, and not recorded.
func (s *step) again(ctx context.Context) (tool.Outcome, error) {
	anew := &step{of: s.of, effect: s.effect, fn: s.fn, own: s.own, number: s.of.quota.effects}
	if err := anew.grant(ctx); err != nil {
		return tool.Outcome{}, err
	}
	return anew.do(ctx)
}

// unchanged looks again at what the call is about to change, where it has seen or
// written that in an earlier process: somebody may have changed it since.
func (p commit) unchanged(ctx context.Context) error {
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
			out, err := l.seen.again(ctx)
			switch {
			case p.run.leavesOpen(err) || ctx.Err() != nil:
				return err
			case (err != nil) != l.failed || err == nil && !value.Equal(out.Value, l.value):
				return changedSince(c.Path)
			}
		}
	}
	return nil
}

func changedSince(path string) error {
	return value.Errorf(value.Conflict, "%s has changed since the call saw it; nothing was written", path).WithHint("read it again")
}

// reconcile finds out whether a recorded commit is on disk.
func (p commit) reconcile(ctx context.Context, commit *history.Entry) (done bool, err error) {
	look, missing := p.step(reconcileEffect, commit.Args)
	if !commit.Unknown() || missing != nil || commit.Change.Len() == 0 { // it was done, or nothing was begun
		return !commit.Unknown() && commit.Err == nil, nil
	}
	out, err := look.call(ctx)
	if err != nil {
		return false, unrecorded(err)
	}
	if d, _ := out.Value.(*value.Dict); !d.Bool("done") {
		return false, nil
	}
	return true, p.run.settle(ctx, p.at(), tool.Outcome{}, nil)
}

// writes are the capabilities that changes take.
func writes(changes []tool.Change) []tool.Capability {
	list := make([]tool.Capability, len(changes))
	for i, c := range changes {
		list[i] = tool.Capability{Name: "fs.write", Target: c.Path}
	}
	return list
}

// approve asks about what the call has staged, if nobody has approved
// its writing yet. A no holds for all of the call.
func (p commit) approve(ctx context.Context) error {
	c := &p.consent
	if !c.asksChanges {
		return nil
	}
	if c.declined != nil {
		return c.declined
	}
	changes, covered, by := p.changes()
	d := decision{what: commitEffect, place: p.at(), takes: writes(changes)}
	if covered {
		if by != nil {
			d.why = "a rule allows it: " + ruleText(by)
			p.allowed(d)
		}
		return nil
	}
	q := &inquiry{of: p.pass, at: p.at(), takes: d.takes, changes: diffs.With(changes), why: "it changes files", call: p.shown()}
	if _, err := q.ask(ctx); err != nil {
		c.declined = p.refused(d, err)
		return c.declined
	}
	d.why = q.how
	p.allowed(d)
	return nil
}

// changes returns what the call would change, and whether all of it is
// approved already: by a rule, of which it returns one, or each on its own. A
// new folder goes with what is in it.
func (p commit) changes() (changes []tool.Change, covered bool, by *tool.Rule) {
	covered = true
	var folders, files []string
	for _, c := range p.stage.Changes() {
		if c.Before.Exists == c.After.Exists && c.Before.Dir == c.After.Dir && c.Before.Hash == c.After.Hash {
			continue
		}
		changes = append(changes, c)
		verdict, r := p.rights().judge(tool.Capability{Name: "fs.write", Target: c.Path})
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
		covered = covered && hasInside(files, folder)
	}
	return changes, covered, by
}

func hasInside(paths []string, folder string) bool {
	for _, p := range paths {
		if strings.HasPrefix(p, folder+"/") {
			return true
		}
	}
	return false
}
