package fs

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// reconcile brings files to one side of a commit that nobody knows the outcome
// of. The argument is that of fs.restore, so of each of its changes After is
// what was there before the commit, and Before what the commit leaves.
func (w *Files) reconcile(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
	changes, err := w.restorable(e.Args)
	if err != nil {
		return tool.Outcome{}, err
	}
	w.committing.Lock()
	defer w.committing.Unlock()
	l := w.look(ctx, tool.Grant{})
	back, done, err := l.standing(changes)
	if err != nil {
		return tool.Outcome{}, err
	}
	all := make([]fsOp, len(changes))
	for i, c := range changes {
		all[i].path = c.Path
	}
	// A temporary file of the commit would hold up the removal of its folder.
	l.sweepAround(all, fsTempStems(changes))
	if done {
		back = nil
	}
	paths := make(value.List, len(back))
	for i, c := range back {
		paths[i] = c.Path
	}
	_, err = l.apply(back, true)
	if err == nil {
		err = l.sync(all) // who died may not have got that far
	}
	if value.KindOf(err) == value.Conflict {
		err = value.ErrorOf(err, value.Conflict).WithHint(fsSettleHint)
	}
	if err != nil {
		return tool.Outcome{}, err
	}
	found := value.NewDict("done", done)
	if len(paths) > 0 {
		found.Put("restored", paths)
	}
	return tool.Outcome{Value: found}, nil
}

// standing looks where each change of a commit stands. It returns what it takes
// to put everything back as it was, and whether everything is as the commit
// leaves it. It fails where a path is neither.
func (l *look) standing(changes []tool.Change) (back []tool.Change, done bool, err error) {
	done = true
	for _, c := range changes {
		if err := row.Stopped(l.ctx); err != nil {
			return nil, false, err
		}
		now, err := l.found(c.Path)
		if err != nil {
			return nil, false, err
		}
		is, was := fsSame(now, c.Before), fsSame(now, c.After)
		if !is && !was {
			if now.Exists || !fsChangesKind(c) {
				return nil, false, l.neither(c.Path)
			}
			c.Before = now
		}
		if !was {
			back = append(back, c)
		}
		done = done && is
	}
	return back, done, nil
}

// found returns what is on disk at a path that a commit may have changed.
func (l *look) found(p string) (tool.FileState, error) {
	s, err := l.find(p, fsFollowNone)
	if err != nil {
		return tool.FileState{}, err
	}
	defer s.close()
	if s.kind() == fsOther {
		return tool.FileState{}, l.neither(p)
	}
	now, _, err := s.state(l.w.limits.kept())
	if value.KindOf(err) == value.Limit {
		err = l.neither(p) // no commit replaces or writes a file of that size
	}
	return now, err
}

const fsSettleHint = "make it what it was before or what it was to be, and try again"

func (l *look) neither(p string) error {
	return value.Errorf(value.Conflict, "%s is neither what it was before a commit that did not end nor what the commit makes of it; nothing was changed", l.w.Shown(p)).
		WithHint(fsSettleHint)
}

// fsTempStems are what the names of a commit's temporary files begin with, and
// of those of putting it back.
func fsTempStems(changes []tool.Change) map[string]bool {
	stems := map[string]bool{}
	for _, c := range changes {
		stems[fsTempStem(c.Path, c.Before.Hash)] = true
		stems[fsTempStem(c.Path, c.After.Hash)] = true
	}
	return stems
}
