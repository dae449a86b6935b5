package runtime

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// The effects with which the host commits what a call has staged: it asks first
// what would take that back, and after a crash how far it had come.
const (
	commitEffect    = "fs.commit"
	prepareEffect   = "fs.prepare"
	reconcileEffect = "fs.reconcile"
	restoreEffect   = "fs.restore"
)

// commit carries out what the call has staged, if that is approved, at a place
// of its own: before an effect at 3 that is 3.0.
func (g *gate) commit(ctx context.Context, at tool.Place) error {
	r := g.root().record
	switch {
	case r != nil && r.replay != nil:
		g.stage = tool.Stage{} // of a changed script
		return r.replay.commit(g, at)
	case r != nil:
		if err := g.overtake(ctx, at); err != nil {
			return err
		}
		if err := g.stageAgain(ctx); err != nil {
			return err
		}
	}
	if g.stage.Empty() {
		return nil
	}
	if g.host.funcs[commitEffect] == nil {
		return tool.Errorf(tool.Internal, "the host cannot commit writes: it has no %s", commitEffect)
	}
	defer func(takes []tool.Capability) { g.takes = takes }(g.takes) // of the effect before which it is done
	e := tool.Effect{Func: commitEffect, Args: &tool.Dict{}, Place: at}
	if r != nil {
		return r.commit(ctx, g, e)
	}
	err := g.mayCommit(ctx, at)
	if err == nil {
		_, err = g.done(ctx, e)
	}
	return err
}

// mayCommit asks all who have a say in what the call has staged.
func (g *gate) mayCommit(ctx context.Context, at tool.Place) error {
	for up := g.above; up != nil; up = up.above {
		if up.review == nil {
			continue
		}
		if err := up.review(g.tool, g.stage.Changes()); err != nil {
			return err
		}
	}
	if err := g.approveChanges(ctx, at); err != nil {
		return err
	}
	g.takes = writes(g.stage.Changes())
	return nil
}

// commit writes a commit down around doing it, and one that is refused too.
func (r *recording) commit(ctx context.Context, g *gate, e tool.Effect) error {
	entry, known, err := r.log.Recorded(e.Place)
	if err != nil {
		return unrecorded(err)
	}
	if known && !entry.Settled.IsZero() {
		return firstError(nil, entry.Err) // it was refused, and stays so
	}
	intent, refusal := g.commitIntent(ctx, e.Place)
	if open(refusal) {
		return refusal
	}
	if err := r.log.Intend(ctx, intent); err != nil {
		return unrecorded(err)
	}
	if refusal != nil {
		return r.settle(ctx, e.Place, tool.Outcome{}, refusal)
	}
	out, err := g.done(ctx, e)
	if err == nil {
		g.changed(intent.Change)
	}
	if intent.Args.Len() > 0 {
		out.Undo = nil // the intent has it
	}
	return r.settle(ctx, e.Place, out, err)
}

// commitIntent says what a commit is about to do to files: what is there and
// what will be, in hashes, and as its arguments what takes it back. One that is
// refused is about to do nothing.
func (g *gate) commitIntent(ctx context.Context, at tool.Place) (history.Intent, error) {
	i := history.Intent{Place: at, Func: commitEffect, Args: &tool.Dict{}, Kind: tool.Write, Staged: true}
	if err := g.unchanged(ctx); err != nil {
		return i, err
	}
	if err := g.mayCommit(ctx, at); err != nil {
		return i, err
	}
	args := i.Args
	if f := g.host.funcs[prepareEffect]; f != nil {
		out, err := g.carryOut(ctx, f, tool.Effect{Func: prepareEffect, Args: args, Place: at})
		if err != nil {
			return i, err
		}
		if out.Undo != nil {
			args = out.Undo.Args
		}
	}
	i.Args, i.Change, i.Staged = args, changeDict(g.stage.Changes()), false
	return i, nil
}

// changeDict tells changes by path, in hashes.
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

// overtake drops the writes that are answered from the record where they are on
// disk: where the record has a commit of them at a place, that was done. Where
// the run broke off in the middle of it, it is taken back first.
func (g *gate) overtake(ctx context.Context, at tool.Place) error {
	if len(g.unstaged) == 0 {
		return nil
	}
	commit, known, err := g.root().record.log.Recorded(at)
	if err != nil {
		return unrecorded(err)
	}
	if !known || commit.Func != commitEffect {
		return nil
	}
	if commit.Err != nil && commit.Err.Kind == tool.Denied {
		g.declined = commit.Err
	}
	done, err := g.reconcile(ctx, &commit)
	if err != nil || !done {
		return err
	}
	g.unstaged, g.looked = nil, nil // as a commit that is done forgets what was seen
	g.changed(commit.Change)
	if g.left == nil {
		g.left = map[tool.Value]string{}
	}
	for path, state := range commit.Change.All() {
		d, _ := state.(*tool.Dict)
		g.left[path] = d.Text("after")
	}
	if g.host.Events.Wanted() {
		g.tellRecorded(&commit)
	}
	return nil
}

// stageAgain stages the writes that are answered from the record and are not on
// disk, before something is done that can see them.
func (g *gate) stageAgain(ctx context.Context) error {
	again := g.unstaged
	g.unstaged = nil
	for _, e := range again {
		if _, err := g.granted(g.done)(ctx, e); open(err) {
			return err
		} else if err != nil {
			return tool.Errorf(tool.KindOf(err), "step %s, %s, cannot be done again as it is recorded: %w", e.Place, e.Func, err)
		}
	}
	return nil
}

// A look is what a call has seen of a path, by its record.
type look struct {
	path   string
	effect tool.Effect
	value  tool.Value
	failed bool
}

// saw keeps what a call has seen of a path that it has not changed itself.
func (g *gate) saw(f *tool.Func, e tool.Effect, entry *history.Entry) {
	if f.Kind != tool.Read || f.Target == nil {
		return
	}
	takes, _ := targets(f, e)
	for _, c := range takes {
		if c.Name == "fs.read" && !slices.ContainsFunc(g.unstaged, func(w tool.Effect) bool { return g.writesTo(w, c.Target) }) {
			g.looked = append(g.looked, look{c.Target, e, entry.Outcome.Value, entry.Err != nil})
		}
	}
}

func (g *gate) writesTo(e tool.Effect, path string) bool {
	takes, _ := targets(g.fn(e.Func), e)
	return slices.ContainsFunc(takes, func(c tool.Capability) bool { return c.Target == path })
}

// changed forgets what the call has seen of what it has changed.
func (g *gate) changed(paths *tool.Dict) {
	g.looked = slices.DeleteFunc(g.looked, func(l look) bool { return paths.Has(l.path) })
	for path := range paths.All() {
		delete(g.left, path)
	}
}

// unchanged looks again at what the call is about to change, where it has seen or
// written that in an earlier process: somebody may have changed it since.
func (g *gate) unchanged(ctx context.Context) error {
	own := g.stage
	defer func() { g.stage = own }()
	for _, c := range own.Changes() {
		if left, ok := g.left[c.Path]; ok && left != stateText(c.Before) {
			return changedSince(c.Path)
		}
		for _, l := range g.looked {
			if l.path != c.Path || c.After.Dir {
				continue
			}
			g.stage = tool.Stage{} // it sees what is on disk
			out, err := g.granted(g.done)(ctx, l.effect)
			switch {
			case open(err) || ctx.Err() != nil:
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
func (g *gate) reconcile(ctx context.Context, commit *history.Entry) (done bool, err error) {
	f := g.host.funcs[reconcileEffect]
	if !commit.Unknown() || f == nil || commit.Change.Len() == 0 { // it was done, or nothing was begun
		return !commit.Unknown() && commit.Err == nil, nil
	}
	out, err := g.carryOut(ctx, f, tool.Effect{Func: reconcileEffect, Args: commit.Args, Place: commit.Place})
	if err != nil {
		return false, unrecorded(err)
	}
	if d, _ := out.Value.(*tool.Dict); !d.Bool("done") {
		return false, nil
	}
	return true, g.root().record.settle(ctx, commit.Place, tool.Outcome{}, nil)
}

// writes are the capabilities that changes take.
func writes(changes []tool.Change) []tool.Capability {
	list := make([]tool.Capability, len(changes))
	for i, c := range changes {
		list[i] = tool.Capability{Name: "fs.write", Target: c.Path}
	}
	return list
}
