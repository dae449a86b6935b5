package fs

import (
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// An fsPlan is what one effect is about to stage: all of it, or none where one
// part cannot be.
type plan struct {
	look    *look
	changes []fsPlanned
	bytes   int64 // held by changes
}

// An fsPlanned is one change of a plan. old is what the call sees at the path,
// which is what is on disk where the call has not changed it yet.
type fsPlanned struct {
	path     string
	old, new tool.FileState
}

func (l *look) plan() *plan { return &plan{look: l} }

func (p *plan) add(at string, old, becomes tool.FileState) {
	p.changes = append(p.changes, fsPlanned{at, old, becomes})
	p.bytes += int64(len(old.Data))
}

// parents plans the folders on the way to a path that are not there.
func (p *plan) parents(of string) error {
	l := p.look
	var missing []string
	for q := path.Dir(of); q != "."; q = path.Dir(q) {
		s, err := l.find(q, fsFollowNone)
		if err != nil {
			return err
		}
		s.close()
		if s.kind() == fsFolder {
			break
		}
		if s.kind() != fsNothing {
			return s.notFolder()
		}
		missing = append(missing, q)
	}
	for _, q := range slices.Backward(missing) {
		p.add(q, tool.FileState{}, tool.FileState{Exists: true, Dir: true, Mode: fsNewFolder})
	}
	return nil
}

// tree plans to remove what is at a spot: a file, or a folder and all that is
// in it. Each is told to also before it is planned.
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
	// What is over the limits for certain is not read to its end.
	if p.bytes += int64(len(old.Data)); p.bytes > l.w.limits.Total || len(p.changes) > 4*l.w.limits.Files {
		return l.w.tooMuch()
	}
	p.changes = append(p.changes, fsPlanned{s.path, old, tool.FileState{}})
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

// moved plans what a part of a tree becomes at its new place.
func (p *plan) moved(found *spot, st tool.FileState, to *spot, under string) error {
	l, at := p.look, to.path+under
	if under != "" {
		if strings.Count(at, "/") >= fsMaxDepth || len(at) > fsMaxPath {
			return value.Errorf(value.Invalid, "%s would be too deep", l.w.Shown(at))
		}
		for _, c := range []tool.Capability{reads(found.path), Writes(found.path), Writes(at)} {
			if err := l.allows(c); err != nil {
				return err
			}
		}
		p.changes = append(p.changes, fsPlanned{at, tool.FileState{}, st})
		return nil
	}
	old, err := to.now()
	if err != nil {
		return err
	}
	p.changes = append(p.changes, fsPlanned{at, old, st})
	return nil
}

// stage checks the plan against what the call first saw and against the
// limits, and puts it into the stage.
func (p *plan) stage() error {
	l := p.look
	for _, c := range p.changes {
		if int64(len(c.new.Data)) > l.w.limits.Write {
			return fsLimit(value.LimitWrites, "%s would be larger than %s", l.w.Shown(c.path), fsSize(l.w.limits.Write))
		}
		if c.old.Exists && !c.old.Dir && c.new.Exists && c.old.Mode&0o222 == 0 {
			return value.Errorf(value.Denied, "%s is read-only", l.w.Shown(c.path)).WithHint("its owner can make it writable; a tool does not")
		}
		if _, staged := l.stage.Changed(c.path); staged {
			continue
		}
		if seen, ok := l.stage.Seen(c.path); ok && !fsSame(seen, c.old) {
			return l.changed(c.path)
		}
	}
	if err := p.fits(); err != nil {
		return err
	}
	for _, c := range p.changes {
		if _, staged := l.stage.Changed(c.path); !staged {
			l.stage.Saw(c.path, c.old)
		}
		if seen, _ := l.stage.Seen(c.path); seen.Dir && c.new.Dir {
			c.new.Mode = seen.Mode // a folder that was removed and is made again stays
		}
		l.stage.Change(c.path, c.new)
	}
	return nil
}

// fits says whether what the call has written stays within its limits once the
// plan is added.
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
		return fsLimit(value.LimitFiles, "a call changes at most %d files, and as many folders", limits.Files)
	case size.Written > limits.Total || size.Kept > limits.Total:
		return p.look.w.tooMuch()
	}
	return nil
}

func (w *Files) tooMuch() error {
	return fsLimit(value.LimitWrites, "a call writes at most %s, and replaces or removes no more", fsSize(w.limits.Total))
}

// fsSame reports whether two states are the same thing with the same content.
func fsSame(a, b tool.FileState) bool {
	return a.Exists == b.Exists && a.Dir == b.Dir && a.Hash == b.Hash
}
