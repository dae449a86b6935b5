package fs

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// An fsStep is one change of a commit that was compared with the disk.
type fsStep struct {
	tool.Change
	now  tool.FileState // what is on disk, with content
	info fs.FileInfo    // the same as the system tells it; nil where nothing is
}

// An fsOp is one operation on the disk: it makes one state of another, which
// is nothing, or the same kind of thing.
type fsOp struct {
	path          string
	before, after tool.FileState
	info          fs.FileInfo // what has to be there, unchanged, when it begins
	exact         bool        // the permissions are those, whatever the umask
}

// prepareStage is what a commit does before it writes. A record that has its
// undo holds what will be gone when a process dies in the commit.
func (w *Files) prepareStage(ctx context.Context, _ tool.Effect, g tool.Grant) (tool.Outcome, error) {
	changes, err := w.staged(g)
	if err != nil {
		return tool.Outcome{}, err
	}
	w.committing.Lock()
	defer w.committing.Unlock()
	steps, err := w.look(ctx, tool.Grant{}).compare(changes)
	if err != nil {
		return tool.Outcome{}, err
	}
	return tool.Outcome{Undo: fsUndo(steps)}, nil
}

func (w *Files) commitStage(ctx context.Context, _ tool.Effect, g tool.Grant) (tool.Outcome, error) {
	changes, err := w.staged(g)
	if err != nil {
		return tool.Outcome{}, err
	}
	w.committing.Lock()
	defer w.committing.Unlock()
	out, err := w.look(ctx, tool.Grant{}).apply(changes, false)
	if err == nil {
		g.Stage.Committed()
	}
	return out, err
}

func (w *Files) staged(g tool.Grant) ([]tool.Change, error) {
	if w.Root == nil || g.Stage == nil {
		return nil, value.Errorf(value.Internal, "a commit without files or without a stage")
	}
	return g.Stage.Changes(), nil
}

// apply makes changes on disk: all of them, or none where one of them does not
// find what it expects. exact restores permissions as they were. The world's
// lock for commits is held.
func (l *look) apply(changes []tool.Change, exact bool) (tool.Outcome, error) {
	steps, err := l.compare(changes)
	if err != nil {
		return tool.Outcome{}, err
	}
	if err := l.carryOut(fsOrder(steps, exact)); err != nil {
		return tool.Outcome{}, err
	}
	return tool.Outcome{Value: fsReport(steps), Undo: fsUndo(steps)}, nil
}

// compare finds everything on disk as the changes expect it, or fails. What
// changes nothing is left out.
func (l *look) compare(changes []tool.Change) ([]*fsStep, error) {
	changes = slices.DeleteFunc(changes, func(c tool.Change) bool { return fsSame(c.Before, c.After) })
	becomes := make(map[string]tool.FileState, len(changes))
	for _, c := range changes {
		becomes[c.Path] = c.After
	}
	steps := make([]*fsStep, len(changes))
	for i, c := range changes {
		if err := row.Stopped(l.ctx); err != nil {
			return nil, err
		}
		step := &fsStep{Change: c}
		if err := l.compareOne(step, becomes); err != nil {
			return nil, err
		}
		steps[i] = step
	}
	return steps, nil
}

func (l *look) compareOne(step *fsStep, becomes map[string]tool.FileState) error {
	s, err := l.find(step.Path, fsFollowNone)
	if err != nil {
		return err
	}
	defer s.close()
	if s.kind() != fsExpected(step.Before) {
		return l.conflict(step.Path)
	}
	if step.now, step.info, err = s.state(l.w.limits.kept()); err != nil {
		return err
	}
	if !fsSame(step.now, step.Before) {
		return l.conflict(step.Path)
	}
	parent := path.Dir(step.Path)
	if after, staged := becomes[parent]; step.After.Exists && (staged && !after.Dir || !staged && s.dir == nil) {
		return l.conflict(parent)
	}
	if step.Before.Dir && !step.After.Dir {
		return l.compareInside(s, becomes)
	}
	return nil
}

func fsExpected(st tool.FileState) spotKind {
	switch {
	case !st.Exists:
		return fsNothing
	case st.Dir:
		return fsFolder
	}
	return fsFile
}

// compareInside finds nothing in a folder that goes but what goes with it.
func (l *look) compareInside(folder *spot, becomes map[string]tool.FileState) error {
	dir, err := l.openFolder(folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	l.sweep(dir, nil)
	names, err := l.names(dir, folder.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		p := path.Join(folder.path, name)
		if after, staged := becomes[p]; !staged || after.Exists {
			return l.conflict(p)
		}
	}
	return nil
}

func (l *look) conflict(p string) error {
	return value.Errorf(value.Conflict, "%s has changed on disk since the call first saw it; nothing was written", l.w.Shown(p)).
		WithHint("call again: it will see the file as it is now")
}

// fsOrder turns steps into operations in an order in which each can be done
// and in which nothing is removed before all that is new is there: what stands
// in the way of another kind goes first, then folders are made from the top,
// files written, and the rest removed from the bottom.
func fsOrder(steps []*fsStep, exact bool) []fsOp {
	var inTheWay []string
	for _, s := range steps {
		if fsChangesKind(s.Change) {
			inTheWay = append(inTheWay, s.Path)
		}
	}
	early := func(p string) bool {
		return slices.ContainsFunc(inTheWay, func(top string) bool { return p == top || strings.HasPrefix(p, top+"/") })
	}
	var first, folders, files, last []fsOp
	for _, s := range steps {
		op := fsOp{path: s.Path, before: s.now, after: s.After, info: s.info}
		op.exact = exact || s.Before.Exists || s.After.Mode != fsNewFile && s.After.Mode != fsNewFolder
		if s.Before.Exists && s.After.Mode == s.Before.Mode {
			op.after.Mode = s.now.Mode // somebody may have changed it since, and is right
		}
		if s.Before.Exists && early(s.Path) {
			first = append(first, fsOp{path: s.Path, before: s.now, info: s.info, exact: true})
			op.before, op.info = tool.FileState{}, nil
		}
		switch {
		case op.after.Dir:
			folders = append(folders, op)
		case op.after.Exists:
			files = append(files, op)
		case op.before.Exists:
			last = append(last, op)
		}
	}
	slices.SortFunc(folders, func(a, b fsOp) int { return cmp.Compare(a.path, b.path) })
	for _, ops := range [][]fsOp{first, last} {
		slices.SortFunc(ops, func(a, b fsOp) int { return cmp.Compare(b.path, a.path) })
	}
	return slices.Concat(first, folders, files, last)
}

// fsChangesKind reports whether a change is of a file to a folder or of a folder
// to a file. That takes two operations, with nothing there between them.
func fsChangesKind(c tool.Change) bool {
	return c.Before.Exists && c.After.Exists && c.Before.Dir != c.After.Dir
}

// carryOut does the operations. Where one fails, those before it are taken back.
func (l *look) carryOut(ops []fsOp) error {
	l.sweepAround(ops, nil)
	for i, op := range ops {
		err := l.do(op)
		if err == nil && i == len(ops)-1 {
			err = l.sync(ops)
			i++
		}
		if err != nil {
			return l.rollBack(ops[:i], err)
		}
	}
	return nil
}

// rollBack takes operations back, in reverse, and adds to the error what could
// not be.
func (l *look) rollBack(done []fsOp, cause error) error {
	var left []string
	for _, op := range slices.Backward(done) {
		if err := l.takeBack(op); err != nil {
			left = append(left, l.w.Shown(op.path))
		}
	}
	if len(left) == 0 {
		return cause
	}
	e := value.ErrorOf(cause, value.Failed)
	return value.Errorf(e.Kind, "%s; could not be taken back: %s", e.Message(), strings.Join(left, ", ")).WithHint("look at these files")
}

func (l *look) takeBack(op fsOp) error {
	step := &fsStep{Change: tool.Change{Path: op.path, Before: op.after, After: op.before}}
	s, err := l.find(op.path, fsFollowNone)
	if err != nil {
		return err
	}
	defer s.close()
	if step.now, step.info, err = s.state(l.w.limits.kept()); err != nil {
		return err
	}
	if !fsSame(step.now, step.Before) {
		return l.conflict(op.path)
	}
	return l.do(fsOp{path: op.path, before: step.now, after: op.before, info: step.info, exact: true})
}

// do does one operation, if what it is done to is still what was compared.
func (l *look) do(op fsOp) error {
	s, err := l.find(op.path, fsFollowNone)
	if err != nil {
		return err
	}
	defer s.close()
	if s.dir == nil || !fsUntouched(op.info, s.disk) {
		return l.changed(op.path)
	}
	switch {
	case !op.after.Exists:
		err = s.dir.Remove(s.name)
	case op.after.Dir:
		err = s.makeFolder(fs.FileMode(op.after.Mode), op.exact)
	default:
		err = s.replace(op.after.Data, fs.FileMode(op.after.Mode), op)
	}
	if err != nil {
		return l.failed("write", op.path, err)
	}
	return nil
}

// fsUntouched reports whether a thing is still the one that it was.
func fsUntouched(was, is fs.FileInfo) bool {
	if was == nil || is == nil {
		return was == nil && is == nil
	}
	if !os.SameFile(was, is) || was.Mode().Type() != is.Mode().Type() {
		return false
	}
	return was.IsDir() || was.Size() == is.Size() && was.ModTime().Equal(is.ModTime())
}

func (s *spot) makeFolder(mode fs.FileMode, exact bool) error {
	if err := s.dir.Mkdir(s.name, mode); err != nil || !exact {
		return err
	}
	return s.dir.Chmod(s.name, mode)
}

// replace puts a new file in the place of an old one or of nothing. At every
// instant there is the old content or the new.
func (s *spot) replace(data []byte, mode fs.FileMode, op fsOp) (err error) {
	temp := fsTempName(op.path, op.after.Hash)
	f, err := s.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = s.dir.Remove(temp) // the error that counts is the first
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if op.info != nil {
		fsKeepOwner(f, op.info)
	}
	if op.exact {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return s.dir.Rename(temp, s.name)
}

// fsTempName names a file that is to become one with a path and a content. Who
// knows of both, as from a record, can tell whose it was.
func fsTempName(p, hash string) string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return fsTempStem(p, hash) + hex.EncodeToString(b[:])
}

// fsTempStem is what all the names of [fsTempName] for one file begin with.
func fsTempStem(p, hash string) string {
	return fsTempPrefix + tool.HashBytes([]byte(p + "\x00" + hash))[:16]
}

// sync makes the names durable in every folder that the operations touched.
func (l *look) sync(ops []fsOp) error {
	return l.eachFolder(ops, func(p string, dir *os.Root) error {
		if err := fsSyncFolder(dir); err != nil {
			return l.failed("write", p, err)
		}
		return nil
	})
}

// sweepAround removes from the folders that operations touch what hosts that
// were killed have left there. dead is as for sweep.
func (l *look) sweepAround(ops []fsOp, dead map[string]bool) {
	_ = l.eachFolder(ops, func(_ string, dir *os.Root) error {
		l.sweep(dir, dead)
		return nil
	})
}

// eachFolder opens the folders that hold what operations are about, those that
// are there.
func (l *look) eachFolder(ops []fsOp, do func(string, *os.Root) error) error {
	visited := map[string]bool{}
	for _, op := range ops {
		p := path.Dir(op.path)
		if visited[p] {
			continue
		}
		visited[p] = true
		s, err := l.find(p, fsFollowNone)
		if err != nil {
			return err
		}
		if s.kind() == fsFolder {
			var dir *os.Root
			if dir, err = l.openFolder(s); err == nil {
				err = do(p, dir)
				dir.Close()
			}
		}
		s.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Bounds of sweeping: a commit that takes longer than an hour from temporary
// file to rename is none, and a folder of more names is not worth the time.
const (
	fsStale = time.Hour
	fsSwept = 10_000
)

// sweep removes temporary files that nobody will rename any more: those that
// are stale, and those with a stem that is dead, because it is known who would
// have. That it cannot is no error.
func (l *look) sweep(dir *os.Root, dead map[string]bool) {
	f, err := dir.Open(".")
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(fsSwept)
	for _, name := range names {
		if !strings.HasPrefix(name, fsTempPrefix) || len(name) != len(fsTempPrefix)+32 {
			continue
		}
		info, err := dir.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		// The file's age is by the system's clock, not by the one that was lent.
		if dead[name[:len(fsTempPrefix)+16]] || time.Since(info.ModTime()) > fsStale {
			_ = dir.Remove(name)
		}
	}
}
