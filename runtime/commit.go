package runtime

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/journal"
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
	if g.stage.Empty() {
		return nil
	}
	if r := g.root().record; r != nil && r.replay != nil {
		g.stage = tool.Stage{} // of a changed script
		return nil
	}
	if g.host.funcs[commitEffect] == nil {
		return tool.Errorf(tool.Internal, "the host cannot commit writes: it has no %s", commitEffect)
	}
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
	commit := tool.Effect{Func: commitEffect, Args: &tool.Dict{}, Place: at}
	r := g.root().record
	if r == nil {
		_, err := g.done(ctx, commit)
		return err
	}
	return r.commit(ctx, g, commit)
}

// commit writes a commit down around doing it.
func (r *recording) commit(ctx context.Context, g *gate, e tool.Effect) error {
	entry, known, err := r.log.Recorded(e.Place)
	if err != nil {
		return unrecorded(err)
	}
	if known && !entry.Settled.IsZero() {
		return firstError(nil, entry.Err) // it was refused, and stays so
	}
	intent, err := g.commitIntent(ctx, e.Place)
	if err != nil {
		return err
	}
	if err := r.log.Intend(ctx, intent); err != nil {
		return unrecorded(err)
	}
	out, err := g.done(ctx, e)
	if intent.Args.Len() > 0 {
		out.Undo = nil // the intent has it
	}
	return r.settle(ctx, e.Place, out, err)
}

// commitIntent says what a commit is about to do to files: what is there and
// what will be, in hashes, and as its arguments what takes it back.
func (g *gate) commitIntent(ctx context.Context, at tool.Place) (journal.Intent, error) {
	i := journal.Intent{Place: at, Func: commitEffect, Args: &tool.Dict{}, Class: tool.Write, Change: changeDict(g.stage.Changes())}
	if f := g.host.funcs[prepareEffect]; f != nil {
		out, err := g.carryOut(ctx, f, tool.Effect{Func: prepareEffect, Args: &tool.Dict{}, Place: at})
		if err != nil {
			return i, err
		}
		if out.Undo != nil {
			i.Args = out.Undo.Args
		}
	}
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

// written reports whether what an effect of the call has staged, in an earlier
// process, is on disk. Where the run broke off in the middle of that, it is
// taken back first.
func (g *gate) written(ctx context.Context, at tool.Place) (bool, error) {
	commit, found, err := g.root().record.commitAfter(g.call.Place, at[len(at)-1])
	if err != nil || !found {
		return false, err
	}
	if done, known := g.commits[commit.Place.String()]; known {
		return done, nil
	}
	done, err := commit.Err == nil, error(nil) // of a replay: what was done then
	if g.root().record.replay == nil {
		done, err = g.reconcile(ctx, &commit)
	}
	if g.commits == nil {
		g.commits = map[string]bool{}
	}
	g.commits[commit.Place.String()] = done
	if done && g.host.Events.Wanted() {
		g.tellRecorded(&commit)
	}
	return done, err
}

// commitAfter finds the first commit of a call after its n-th effect: before a
// later effect, or after the last.
func (r *recording) commitAfter(call tool.Place, n int) (journal.Entry, bool, error) {
	for k := n + 1; ; k++ {
		for _, at := range []tool.Place{call.Child(k).Child(0), call.Child(k)} {
			e, ok, err := r.log.Recorded(at)
			switch {
			case err != nil:
				return e, false, unrecorded(err)
			case ok && e.Func == commitEffect:
				return e, true, nil
			case !ok && len(at) == len(call)+1:
				return e, false, nil
			}
		}
	}
}

// reconcile finds out whether a recorded commit is on disk.
func (g *gate) reconcile(ctx context.Context, commit *journal.Entry) (done bool, err error) {
	f := g.host.funcs[reconcileEffect]
	if !commit.Unknown() || f == nil {
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
