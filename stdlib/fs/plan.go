package fs

import (
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// A plan is what one effect stages: all of it, or nothing if one part fails.
type plan struct {
	look    *look
	changes []plannedChange
	bytes   int64 // held by changes
}

// A plannedChange is one change of a plan. old is the state that the call sees: the staged one,
// or else that on disk.
type plannedChange struct {
	path     string
	old, new tool.FileState
}

func (l *look) plan() *plan { return &plan{look: l} }

func (p *plan) add(at string, old, becomes tool.FileState) {
	p.changes = append(p.changes, plannedChange{at, old, becomes})
	p.bytes += int64(len(old.Data))
}

// parents plans the missing parent folders of a path.
func (p *plan) parents(of string) error {
	l := p.look
	var missing []string
	for q := path.Dir(of); q != "."; q = path.Dir(q) {
		s, err := l.find(q, followNone)
		if err != nil {
			return err
		}
		s.close()
		if s.kind() == kindFolder {
			break
		}
		if s.kind() != kindNothing {
			return s.notFolder()
		}
		missing = append(missing, q)
	}
	for _, q := range slices.Backward(missing) {
		p.add(q, tool.FileState{}, tool.FileState{Exists: true, Dir: true, Mode: newFolder})
	}
	return nil
}

// tree plans to remove a file, or a folder with its content. also is called for each file and
// folder before it is planned.
func (p *plan) tree(s *spot, also func(*spot, tool.FileState) error) error {
	l := p.look
	if err := row.Stopped(l.ctx); err != nil {
		return err
	}
	if err := l.w.Protect(s.path); err != nil {
		return err
	}
	old, err := s.now()
	if err != nil {
		return err
	}
	if err := also(s, old); err != nil {
		return err
	}
	// Stop early if the limits are exceeded anyway.
	if p.bytes += int64(len(old.Data)); p.bytes > l.w.limits.Total || len(p.changes) > 4*l.w.limits.Files {
		return l.w.tooMuch()
	}
	p.changes = append(p.changes, plannedChange{s.path, old, tool.FileState{}})
	if !old.Dir {
		return nil
	}
	l.strict = true
	in, err := l.open(s)
	if err != nil {
		return err
	}
	defer in.close()
	for _, child := range in.spots {
		if err := p.tree(child, also); err != nil {
			return err
		}
	}
	return nil
}

// moved plans a file or folder of a tree at its new path.
func (p *plan) moved(found *spot, st tool.FileState, to *spot, under string) error {
	l, at := p.look, to.path+under
	if under != "" {
		if strings.Count(at, "/") >= maxDepth || len(at) > maxPath {
			return value.Errorf(value.Invalid, "move to %s: the path is too long or has more than %d parts", l.w.Shown(at), maxDepth)
		}
		for _, c := range []tool.Capability{reads(found.path), writes(found.path), writes(at)} {
			if err := l.allows(c); err != nil {
				return err
			}
		}
		p.changes = append(p.changes, plannedChange{at, tool.FileState{}, st})
		return nil
	}
	old, err := to.now()
	if err != nil {
		return err
	}
	p.changes = append(p.changes, plannedChange{at, old, st})
	return nil
}

// stage checks the plan against what the call has read and against the limits, and adds it to
// the stage.
func (p *plan) stage() error {
	l := p.look
	for _, c := range p.changes {
		if c.old.Exists && !c.old.Dir && c.new.Exists && c.old.Mode&0o222 == 0 {
			return value.Errorf(value.Denied, "%s is read-only", l.w.Shown(c.path)).WithHint("ask the owner to make the file writable: chmod u+w FILE").WithLimit(value.LimitReadOnly)
		}
		if _, staged := l.stage.Changed(c.path); staged {
			continue
		}
		if seen, ok := l.stage.Seen(c.path); ok && !sameState(seen, c.old) {
			return l.changed(c.path)
		}
	}
	if err := p.guard(); err != nil {
		return err
	}
	if err := p.fits(); err != nil {
		return err
	}
	if err := p.hold(); err != nil {
		return err
	}
	for _, c := range p.changes {
		if _, staged := l.stage.Changed(c.path); !staged {
			l.stage.Saw(c.path, c.old)
		}
		if seen, _ := l.stage.Seen(c.path); seen.Dir && c.new.Dir {
			c.new.Mode = seen.Mode // a folder that is removed and made again is unchanged
		}
		l.stage.Change(c.path, c.new)
	}
	return nil
}

// hold takes the memory that the stage holds with the plan, or a little more than that.
func (p *plan) hold() error {
	if p.look.hold == nil {
		return nil
	}
	held := p.look.stage.Held()
	for _, c := range p.changes {
		if staged, ok := p.look.stage.Changed(c.path); ok {
			held -= int64(len(staged.Data))
		} else {
			held += int64(len(c.old.Data))
		}
		held += int64(len(c.new.Data))
	}
	return p.look.hold(held)
}

// fits fails if the stage exceeds the limits with the plan.
func (p *plan) fits() error {
	stage, limits := p.look.stage, p.look.w.limits
	size := stage.Size()
	planned := map[string]tool.Change{}
	for _, c := range p.changes {
		last, again := planned[c.path]
		if !again {
			last.Path, last.Before = c.path, c.old
			if after, staged := stage.Changed(c.path); staged {
				last.Before, _ = stage.Seen(c.path)
				last.After = after
				size = size.Minus(last)
			}
		} else {
			size = size.Minus(last)
		}
		last.After = c.new
		planned[c.path] = last
		size = size.Plus(last)
	}
	switch {
	case size.Files > limits.Files || size.Folders > limits.Files:
		return limitError(value.LimitFiles, "the call changes more than %d files or folders", limits.Files).WithHint("change fewer files in one call")
	case size.Written > limits.Total || size.Kept > limits.Total:
		return p.look.w.tooMuch()
	}
	return nil
}

func (w *Files) tooMuch() error {
	return limitError(value.LimitWrites, "the call writes, replaces or removes more than %s", row.SizeText(w.limits.Total)).WithHint("change fewer or smaller files in one call")
}

// sameState reports whether two states are the same thing with the same content.
func sameState(a, b tool.FileState) bool {
	return a.Exists == b.Exists && a.Dir == b.Dir && a.Hash == b.Hash
}
