package fs

import (
	"context"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/records"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/swap"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// reconcile finds out whether a commit with an unknown outcome was carried out, and settles one
// that was only half done. The argument is that of fs.restore: After of each change is the
// state before the commit, and Before the state after it. The proof that a file was written
// is what the commit has left under its temporary names, never the content of the file:
// somebody else can have written the same.
func (w *Files) reconcile(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
	changes, err := w.restorable(e.Args)
	if err != nil {
		return tool.Outcome{}, err
	}
	changes = records.Reversed(changes)
	unlock, err := w.lock(ctx)
	if err != nil {
		return tool.Outcome{}, err
	}
	defer unlock()
	d := diskOf(ctx, w, e.Args.Text(argMark)).of(changes)
	defer d.close("")
	t, err := d.interrupted(changes, false)
	if err != nil {
		return tool.Outcome{}, err
	}
	t.prove(e.Args.Dict(argProved).OrEmpty())
	found, err := t.decide(e.Args.Text(argDecision))
	if err == nil {
		err = t.sync(t.ops()) // the process may have died before
	}
	if value.KindOf(err) == value.Conflict {
		err = value.ErrorOf(err, value.Conflict).WithHint("restore the files to their content before or after the commit, and resume the run")
	}
	if err != nil {
		return tool.Outcome{}, err
	}
	if list := t.restored(); len(list) > 0 {
		found.Put("restored", list)
	}
	return tool.Outcome{Value: found}, nil
}

// decide carries out what a person has decided about a commit, or "" what its trace shows. It
// returns the result of reconcile, and removes the temporary files unless the commit was carried
// out or a person is to decide.
func (t *trace) decide(decision string) (*value.Dict, error) {
	found := value.NewDict("done", decision == "mine")
	switch decision {
	case "mine":
		return found, t.complete(true)
	case "theirs":
		return found, t.abandon()
	}
	done, settled := t.settle()
	found.Put("done", done)
	switch list := t.unsettled(); {
	case done:
		return found, nil
	case settled:
		return found, t.tidy()
	case len(list) > 0:
		found.Put("unsettled", list)
		return found, nil
	}
	return found, t.abandon()
}

// A trace is what a commit that was interrupted has left.
type trace struct {
	disk
	changes []tool.Change
	parts   []*part // in the order of the operations
	undone  map[string]bool
}

// A part is one operation of an interrupted commit.
type part struct {
	operation
	now   tool.FileState // what is there; of what is neither a file nor a folder, a file without a hash
	known swap.Evidence
	not   bool // it is known from elsewhere that it was not carried out
	held  bool // the path cannot be reached, as a folder on the way is another one now
}

// interrupted returns the trace of a commit on disk. What it displaced although it was not the
// expected file is put back.
func (d disk) interrupted(changes []tool.Change, exact bool) (*trace, error) {
	steps := make([]*diskStep, len(changes))
	for i, c := range changes {
		steps[i] = &diskStep{Change: c, Now: c.Before}
	}
	t := &trace{disk: d, changes: changes, undone: map[string]bool{}}
	for _, op := range inOrder(steps, exact) {
		if err := row.Stopped(d.ctx); err != nil {
			return nil, err
		}
		p := &part{operation: op}
		t.parts = append(t.parts, p)
		if t.examine(p); p.known == swap.Foreign {
			_ = t.at(p.Path, func(_ *spot, at swap.Place) error { return at.Restore(p.After.Hash) })
			t.examine(p)
		}
	}
	return t, nil
}

// examine finds out what is known of a part.
func (t *trace) examine(p *part) {
	err := t.at(p.Path, func(s *spot, at swap.Place) (err error) {
		if p.now, err = t.stateOf(s); err != nil || p.IsFolder() {
			return err
		}
		p.known, err = at.Evidence(p.Before.Hash, p.After.Hash)
		return err
	})
	p.held = err != nil
}

// prove notes what is known from elsewhere about parts of which nothing is left.
func (t *trace) prove(proofs *value.Dict) {
	for _, p := range t.parts {
		if !t.doubtful(p) || !proofs.Has(p.Path) {
			continue
		}
		if p.not = !proofs.Bool(p.Path); !p.not {
			p.known = swap.Done
		}
	}
}

// stateOf returns what is at a spot.
func (d disk) stateOf(s *spot) (tool.FileState, error) {
	if s.kind() == kindOther {
		return tool.FileState{Exists: true}, nil
	}
	now, _, err := s.state(d.w.limits.kept())
	if k := value.KindOf(err); k == value.Limit || k == value.Denied { // no commit writes such a file
		return tool.FileState{Exists: true}, nil
	}
	return now, err
}

// done reports whether a part was carried out. A folder is as anybody has made it.
func (p *part) done() bool {
	if p.IsFolder() {
		return !p.held && p.now.Dir == p.After.Dir
	}
	return p.known == swap.Done
}

// doubtful reports whether a part may have been carried out, but cannot be proved: its
// temporary files are gone. Without them a replacement has not begun, unless they were swept.
func (t *trace) doubtful(p *part) bool {
	if p.IsFolder() || p.known != swap.None || p.held || p.not {
		return false
	}
	if !p.Before.Exists && sameState(p.now, p.After) { // by somebody else, or its mark was swept
		return true
	}
	return time.Since(swap.Begun(t.mark)) > staleAfter && !sameState(p.now, p.Before)
}

// untouched reports whether what a part has done is as it left it.
func (p *part) untouched() bool {
	return p.IsFolder() || sameState(p.now, p.After) || !p.After.Exists && p.now.Dir
}

// clean reports whether a part that was not carried out can be now.
func (p *part) clean() bool {
	switch {
	case p.held:
		return false
	case p.IsFolder():
		return true
	case p.IsFile() && p.known != swap.Ready:
		return false
	}
	return sameState(p.now, p.Before) || p.now.Dir && !p.Before.Exists // the folder is removed by a part before it
}

// settle finds out whether the commit was carried out. One that was half done is undone, or
// else completed. settled is false if neither is possible, or if it cannot be known.
func (t *trace) settle() (done, settled bool) {
	begun, ended := false, true
	back, forward := true, true
	for _, p := range t.parts {
		if t.doubtful(p) || p.known == swap.Foreign {
			return false, false
		}
		if p.done() {
			begun = begun || !p.IsFolder()
			back = back && p.untouched()
			continue
		}
		ended = false
		forward = forward && p.clean()
	}
	switch {
	case ended:
		return true, true
	case back || !begun:
		return false, t.revert(begun)
	case forward:
		settled = t.complete(false) == nil
		return settled, settled
	}
	return false, false
}

// revert undoes what was done. Unless the commit has changed files, folders that others use now
// are left. ok is false if somebody changes the files meanwhile.
func (t *trace) revert(begun bool) (ok bool) {
	for _, p := range slices.Backward(t.parts) {
		if !p.done() {
			continue
		}
		if err := t.undo(p.operation); err != nil && begun {
			return false
		} else if err == nil {
			t.undone[p.Path] = true
		}
	}
	return true
}

// complete carries out the parts that were not. With force it also overwrites and removes what
// others have changed since.
func (t *trace) complete(force bool) error {
	var late []operation
	for _, p := range t.parts {
		if p.done() || force && t.doubtful(p) || p.known == swap.Foreign {
			continue
		}
		op := p.operation
		err := t.at(op.Path, func(s *spot, at swap.Place) error {
			op.Info = s.disk
			switch {
			case p.IsFile() && p.known != swap.Ready:
				return value.Errorf(value.Conflict, "write %s: the temporary file with the new content was removed", t.w.Shown(p.Path)).
					WithHint("answer no to the question of the run, and write the file again")
			case force && p.IsFile():
				return at.Overwrite()
			case force && !p.After.Exists && s.disk == nil:
				return nil
			}
			return t.exchange(op, s, at)
		})
		switch {
		case p.IsFolder(): // others use it
		case err != nil:
			return t.explain(op.Path, err)
		case !force:
			late = append(late, op)
		}
	}
	return t.verify(late)
}

// abandon undoes what was done and not changed since, and leaves everything else as it is. It
// removes the temporary files.
func (t *trace) abandon() error {
	for _, p := range slices.Backward(t.parts) {
		if p.done() && p.untouched() && t.undo(p.operation) == nil {
			t.undone[p.Path] = true
		}
	}
	return t.tidy()
}

// tidy removes the temporary files. It keeps contents that nobody else has. It fails only if
// the disk has to be repaired first.
func (t *trace) tidy() error { return t.left(t.changes[0].Path, t.salvage(t.ops())) }

// unsettled returns the files about which a person has to decide. It is empty if the commit
// cannot be completed anyway, as it died before its new contents were there.
func (t *trace) unsettled() value.List {
	list := value.List{}
	for _, p := range t.parts {
		if p.held || p.IsFile() && p.known == swap.None && !t.doubtful(p) {
			return nil
		}
		if p.IsFolder() || p.done() && p.untouched() || !p.done() && !t.doubtful(p) && p.known != swap.Foreign && p.clean() {
			continue
		}
		d := value.NewDict("path", p.Path, "now", records.Content(p.now), "then", nil, "sum", p.now.Sum())
		if p.now.Exists && !p.now.Dir && p.now.Hash == "" {
			d.Put("sum", "other") // no state of a commit
		}
		switch {
		case t.doubtful(p) && sameState(p.now, p.After), p.done():
			d.Put("then", records.Content(p.now))
		case p.known == swap.Ready:
			_ = t.at(p.Path, func(_ *spot, at swap.Place) error {
				d.Put("then", at.Kept(t.w.limits.kept()))
				return nil
			})
		}
		list = append(list, d)
	}
	return list
}

func (t *trace) ops() []operation {
	return value.Map(t.parts, func(p *part) operation { return p.operation })
}

// restored returns the paths that revert has restored, in the order of the changes.
func (t *trace) restored() (list value.List) {
	for _, c := range t.changes {
		if t.undone[c.Path] {
			list = append(list, c.Path)
		}
	}
	return list
}

// resumeRestore settles a try of a restore that a crash has interrupted. done reports that the
// restore was carried out; then undo is what reverts it.
func (d disk) resumeRestore(changes []tool.Change) (undo *tool.Effect, done bool, err error) {
	t, err := d.interrupted(changes, true)
	if err != nil {
		return nil, false, err
	}
	if slices.ContainsFunc(t.parts, t.doubtful) {
		return nil, false, nil // what is there is compared again
	}
	if begun := func(p *part) bool { return p.done() && !p.IsFolder() }; !slices.ContainsFunc(t.parts, begun) {
		_ = t.salvage(t.ops()) // an interrupted try has changed no file
		return nil, false, nil
	}
	undo = records.Undo(t.displaced())
	done, settled := t.settle()
	switch {
	case !settled:
		_ = t.abandon()
		err = d.changed(changes[0].Path)
	case !done:
		_ = t.tidy()
	}
	return undo, done, err
}

// displaced returns the changes of a commit that was carried out, with what it displaced.
func (t *trace) displaced() []tool.Change {
	changes := slices.Clone(t.changes)
	for i, c := range changes {
		if c.Before.Exists && !c.Before.Dir {
			_ = t.at(c.Path, func(_ *spot, at swap.Place) error {
				changes[i].Before.Data = at.Kept(t.w.limits.kept())
				return nil
			})
		}
	}
	return changes
}
