package fs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/records"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/swap"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// prepareStage returns the undo of a commit before it writes, with the mark of its temporary
// files. If the process dies in the commit, the recorded undo has what the commit replaces,
// and the marked files show what it has done.
func (w *Files) prepareStage(ctx context.Context, _ tool.Effect, g tool.Grant) (tool.Outcome, error) {
	changes, err := w.staged(g)
	if err != nil {
		return tool.Outcome{}, err
	}
	steps, err := diskOf(ctx, w, "").compare(changes)
	if err != nil {
		return tool.Outcome{}, err
	}
	undo := records.Undo(changesOf(steps))
	if undo != nil {
		undo.Args.Put(argMark, swap.NewMark(time.Now()))
	}
	return tool.Outcome{Undo: undo}, nil
}

func (w *Files) commitStage(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	changes, err := w.staged(g)
	if err != nil {
		return tool.Outcome{}, err
	}
	unlock, err := w.lock(ctx)
	if err != nil {
		return tool.Outcome{}, err
	}
	defer unlock()
	if err := w.guardChanges(changes); err != nil {
		return tool.Outcome{}, err
	}
	out, err := diskOf(ctx, w, e.Args.Text(argMark)).apply(changes, false)
	if err == nil {
		g.Stage.Committed()
	}
	return out, err
}

func (w *Files) staged(g tool.Grant) ([]tool.Change, error) {
	if w.Root == nil || g.Stage == nil {
		return nil, value.Errorf(value.Internal, "commit: the files or the stage are not set")
	}
	return g.Stage.Changes(), nil
}

// lock keeps other commits to the project out, those of other processes too. It waits until
// ctx ends, and a minute at most.
func (w *Files) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case w.committing <- struct{}{}:
	case <-ctx.Done():
		return nil, row.Stopped(ctx)
	}
	release, err := swap.Lock(ctx, w.Root)
	switch {
	case err == nil:
		return func() { release(); <-w.committing }, nil
	case ctx.Err() != nil:
		err = row.Stopped(ctx)
	case errors.Is(err, swap.ErrLocked):
		err = value.Errorf(value.Timeout, "write files: %w: stopped waiting after one minute", err).WithHint("end the other cassidy process, and repeat the call")
	default:
		err = value.Errorf(value.Failed, "write files: lock the project: %w", err)
	}
	<-w.committing
	return nil, err
}

// A disk is what commits change: a look without a stage.
type disk struct {
	*look
	parts   map[string]records.Part // of the files whose new content has to be put together, by path
	mark    string                  // of the temporary files
	keep    bool                    // keep them after the commit, until its outcome is recorded
	folders map[string]bool         // the paths that are made, removed or replaced as folders
	open    map[string]held         // what is open, by path
}

// A held is an open place. Its folder stays the same one, even if it is renamed.
type held struct {
	spot  *spot
	temps *os.Root
}

func (h held) close() {
	if h.temps != h.spot.dir {
		h.temps.Close()
	}
	h.spot.close()
}

// diskOf returns the disk for one commit. Without a recorded mark it makes up one.
func diskOf(ctx context.Context, w *Files, mark string) disk {
	d := disk{look: w.look(ctx, tool.Grant{}), mark: mark, keep: swap.ValidMark(mark)}
	if !d.keep {
		d.mark = swap.NewMark(time.Now())
	}
	return d
}

// of returns the disk for changes: temporary files are not in a folder that these remove. The
// caller must call close.
func (d disk) of(changes []tool.Change) disk {
	d.folders, d.open = map[string]bool{}, map[string]held{}
	for _, c := range changes {
		if c.Before.Dir || c.After.Dir {
			d.folders[c.Path] = true
		}
	}
	return d
}

// close closes the places that are in a folder, or with "" all.
func (d disk) close(folder string) {
	for p, h := range d.open {
		if folder == "" || strings.HasPrefix(p, folder+"/") {
			h.close()
			delete(d.open, p)
		}
	}
}

// at calls do with the spot and the place of a path. The place stays open, so that the
// temporary files of a commit can be removed wherever their folder is then.
func (d disk) at(p string, do func(*spot, swap.Place) error) error {
	h, known := d.open[p]
	if known {
		info, err := h.spot.dir.Lstat(h.spot.name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return d.failed(reading, p, err)
		}
		h.spot.disk = info // nil after an error
	} else {
		var err error
		if h, err = d.hold(p); err != nil {
			return err
		}
		if h.spot.dir == nil {
			defer h.close()
		} else {
			d.open[p] = h
		}
	}
	return do(h.spot, swap.At(h.spot.dir, h.spot.name, h.temps, d.mark, p))
}

// hold opens the place of a path.
func (d disk) hold(p string) (held, error) {
	s, err := d.find(p, followNone)
	if err != nil {
		return held{}, err
	}
	folder := path.Dir(p)
	if !d.folders[folder] && s.dir != nil {
		return held{s, s.dir}, nil
	}
	for d.folders[folder] {
		folder = path.Dir(folder)
	}
	above, err := d.find(folder, followNone)
	if err == nil {
		defer above.close()
		if above.kind() != kindFolder {
			err = d.changed(folder)
		}
	}
	var temps *os.Root
	if err == nil {
		temps, err = d.openFolder(above)
	}
	if err != nil {
		s.close()
		return held{}, err
	}
	return held{s, temps}, nil
}

// apply makes changes on disk: all of them, or none if one does not find what it expects. exact
// restores the permissions too. The caller holds the lock for commits.
func (d disk) apply(changes []tool.Change, exact bool) (tool.Outcome, error) {
	steps, err := d.compare(changes)
	if err != nil {
		return tool.Outcome{}, err
	}
	d = d.of(changes)
	defer d.close("")
	if err := d.carryOut(inOrder(steps, exact)); err != nil {
		return tool.Outcome{}, err
	}
	if !d.keep {
		_ = d.drop(changes) // what is left is swept
	}
	return tool.Outcome{Value: records.Report(changesOf(steps)), Undo: records.Undo(changesOf(steps))}, nil
}

// compare fails unless everything on disk is as the changes expect it. It leaves out changes
// without an effect.
func (d disk) compare(changes []tool.Change) ([]*diskStep, error) {
	changes = slices.DeleteFunc(changes, func(c tool.Change) bool { return sameState(c.Before, c.After) })
	becomes := make(map[string]tool.FileState, len(changes))
	for _, c := range changes {
		becomes[c.Path] = c.After
	}
	steps := make([]*diskStep, len(changes))
	for i, c := range changes {
		if err := row.Stopped(d.ctx); err != nil {
			return nil, err
		}
		step := &diskStep{Change: c}
		if err := d.compareOne(step, becomes); err != nil {
			return nil, err
		}
		steps[i] = step
	}
	return steps, nil
}

func (d disk) compareOne(step *diskStep, becomes map[string]tool.FileState) error {
	s, err := d.find(step.Path, followNone)
	if err != nil {
		return err
	}
	defer s.close()
	if string(s.kind()) != records.KindOf(step.Before) {
		return d.conflict(step.Path)
	}
	if step.Now, step.Info, err = s.state(d.w.limits.kept()); err != nil {
		return err
	}
	if !sameState(step.Now, step.Before) {
		return d.conflict(step.Path)
	}
	if p, ok := d.parts[step.Path]; ok {
		if step.After.Data, ok = p.Whole(step.Now.Data); !ok {
			return value.Errorf(value.Failed, "restore %s: the record of the file is damaged", d.w.Shown(step.Path))
		}
	}
	if step.Before.Known() {
		step.Now.Data = step.Before.Data // the same content once
	}
	parent := path.Dir(step.Path)
	if after, staged := becomes[parent]; step.After.Exists && (staged && !after.Dir || !staged && s.dir == nil) {
		return d.conflict(parent)
	}
	if step.Before.Dir && !step.After.Dir {
		return d.compareInside(s, becomes)
	}
	return nil
}

// compareInside fails if a folder to remove contains anything that is not removed with it.
func (d disk) compareInside(folder *spot, becomes map[string]tool.FileState) error {
	dir, err := d.openFolder(folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	_ = sweep(folder.path, dir)
	names, err := d.names(dir, folder.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		p := path.Join(folder.path, name)
		if after, staged := becomes[p]; !staged || after.Exists {
			return d.conflict(p)
		}
	}
	return nil
}

func (d disk) conflict(p string) error {
	return value.Errorf(value.Conflict, "%s has changed on disk during the call; nothing was written", d.w.Shown(p)).WithLimit(value.LimitChanged).
		WithHint("read the file again, and repeat the call")
}

// carryOut carries out the operations. If one fails, or if it has displaced something else
// than was compared, it undoes them.
func (d disk) carryOut(ops []operation) error {
	_ = d.eachFolder(ops, sweep)
	for i, op := range ops {
		err := d.writeSpares(ops[i:])
		if err == nil {
			err = d.change(op, d.exchange)
		}
		if err != nil {
			return d.rollBack(ops[:i], ops, err)
		}
	}
	err := d.sync(ops)
	if err == nil {
		err = d.verify(ops)
	}
	if err != nil {
		return d.rollBack(ops, ops, err)
	}
	return nil
}

// writeSpares writes the new contents of all files beside them, once their folders are there:
// then the operations take no longer than their renames, and a commit that dies among them
// can be completed.
func (d disk) writeSpares(next []operation) error {
	for _, op := range next {
		if !op.IsFile() {
			return nil
		}
		if err := d.change(op, d.write); err != nil {
			return err
		}
	}
	return nil
}

// change calls do with an operation and its place. It fails if the folder is gone.
func (d disk) change(op operation, do func(operation, *spot, swap.Place) error) error {
	return d.at(op.Path, func(s *spot, p swap.Place) error {
		if s.dir == nil {
			return d.changed(op.Path)
		}
		return d.explain(op.Path, do(op, s, p))
	})
}

func (d disk) write(op operation, _ *spot, p swap.Place) error {
	return p.Write(op.After.Data, fs.FileMode(op.After.Mode), op.Exact, op.Info)
}

// explain returns the error of a place for a script.
func (d disk) explain(p string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, swap.ErrOpen):
		return value.Errorf(value.Conflict, "%s is open for writing in another process; nothing was written", d.w.Shown(p)).
			WithHint("close the file there, and repeat the call")
	case errors.Is(err, swap.ErrChanged) || errors.Is(err, fs.ErrExist):
		changed := value.ErrorOf(d.changed(p), value.Conflict)
		var list interface{ Unwrap() []error }
		if errors.As(err, &list) && len(list.Unwrap()) > 1 { // it was displaced, and is elsewhere now
			return changed.WithLimit("").WithHint("%v", list.Unwrap()[1])
		}
		return changed
	}
	return d.failed("write", p, err)
}

// verify checks that what the operations displaced is what was compared.
func (d disk) verify(ops []operation) error {
	for _, op := range ops {
		if op.Info == nil || op.Before.Dir {
			continue
		}
		err := d.at(op.Path, func(_ *spot, p swap.Place) error { return d.explain(op.Path, p.Verify(op.Before.Hash)) })
		if err != nil {
			return err
		}
	}
	return nil
}

// drop removes the temporary files of paths. It fails only if the disk has to be repaired first.
func (d disk) drop(changes []tool.Change) (err error) {
	for _, c := range changes {
		_ = d.at(c.Path, func(_ *spot, p swap.Place) error {
			err = cmp.Or(err, d.left(c.Path, p.Drop()))
			return nil
		})
	}
	return err
}

// left returns the error of temporary files of a path that can be removed only after a repair of
// the disk, and nil for any other err: these are swept.
func (d disk) left(p string, err error) error {
	e := CannotWrite(value.Errorf(value.Failed, "cannot remove the temporary files of %s: %w", d.w.Shown(p), err), err)
	if e.Limit == "" {
		return nil
	}
	return e
}

// rollBack undoes operations in reverse order, and adds to the error what could not be undone.
// It removes the temporary files of all.
func (d disk) rollBack(done, all []operation, cause error) error {
	var left []string
	for _, op := range slices.Backward(done) {
		if err := d.undo(op); err != nil {
			left = append(left, d.w.Shown(op.Path))
		}
	}
	saved := d.salvage(all)
	if len(left) == 0 && saved == nil {
		return cause
	}
	e := *value.ErrorOf(cause, value.Failed)
	if e.Limit == value.LimitChanged { // something was done
		e.Limit = ""
	}
	text, hint := e.Message(), cmp.Or(e.Hint, "compare these files with the expected contents")
	if len(left) > 0 {
		text = strings.TrimSuffix(text, "; nothing was written") + "; the changes to these files could not be undone: " + strings.Join(left, ", ")
	}
	if saved != nil {
		hint = saved.Error()
	}
	return value.Errorf(e.Kind, "%s", text).WithLimit(e.Limit).WithHint("%s", hint)
}

// salvage removes the temporary files of operations. It keeps contents that nobody else has.
func (d disk) salvage(ops []operation) (saved error) {
	known := map[string]bool{}
	for _, op := range ops {
		known[op.Before.Hash], known[op.After.Hash] = true, true
	}
	for _, op := range ops {
		_ = d.at(op.Path, func(_ *spot, p swap.Place) error {
			saved = errors.Join(saved, p.Salvage(known))
			return nil
		})
	}
	return saved
}

// undo undoes an operation that was carried out.
func (d disk) undo(op operation) error {
	return d.change(op, func(op operation, s *spot, p swap.Place) error {
		switch {
		case s.dir == nil: // something else than a folder is in its place
			return swap.ErrChanged
		case op.After.Dir:
			d.close(op.Path)
			return s.removeFolder()
		case op.Before.Dir:
			return s.makeFolder(fs.FileMode(op.Before.Mode), true)
		}
		needs, err := p.Undo(op.Before.Hash, op.After.Hash)
		if !needs {
			return err
		}
		if err := p.Write(op.Before.Data, fs.FileMode(op.Before.Mode), true, s.disk); err != nil {
			return err
		}
		return p.Overwrite()
	})
}

// exchange carries out one operation, if the thing on disk is still the one that was compared.
func (d disk) exchange(op operation, s *spot, p swap.Place) error {
	switch {
	case s.dir == nil || !swap.Same(op.Info, s.disk):
		return swap.ErrChanged
	case op.After.Dir:
		return s.makeFolder(fs.FileMode(op.After.Mode), op.Exact)
	case !op.After.Exists && op.Before.Dir:
		d.close(op.Path)
		return s.removeFolder()
	case !op.After.Exists:
		return p.Remove(op.Info)
	}
	if err := d.write(op, s, p); err != nil {
		return err
	}
	if op.Info == nil {
		return p.Create()
	}
	return p.Replace(op.Info, op.After.Hash)
}

func (s *spot) makeFolder(mode fs.FileMode, exact bool) error {
	if err := s.dir.Mkdir(s.name, mode); err != nil || !exact {
		return err
	}
	return s.dir.Chmod(s.name, mode)
}

// removeFolder removes an empty folder. The name with "/." would be a folder's alone, but
// cannot be removed, so a file that has just taken the place of the folder is looked for.
func (s *spot) removeFolder() error {
	if info, err := s.dir.Lstat(s.name); err != nil || !info.IsDir() {
		return swap.ErrChanged
	}
	return s.dir.Remove(s.name)
}

// sync makes the names in all folders of the operations durable.
func (d disk) sync(ops []operation) error {
	return d.eachFolder(ops, func(p string, dir *os.Root) error {
		if err := swap.SyncFolder(dir); err != nil {
			return d.failed("write", p, err)
		}
		return nil
	})
}

// staleAfter is how long the temporary files of a process that has died are kept for its run:
// they show what it has done.
const staleAfter = time.Hour

// sweep removes stale temporary files from a folder.
func sweep(_ string, dir *os.Root) error {
	swap.Sweep(dir, time.Now().Add(-staleAfter))
	return nil
}

// eachFolder opens the existing parent folders of operations.
func (d disk) eachFolder(ops []operation, do func(string, *os.Root) error) error {
	visited := map[string]bool{}
	for _, op := range ops {
		p := path.Dir(op.Path)
		if visited[p] {
			continue
		}
		visited[p] = true
		s, err := d.find(p, followNone)
		if err != nil {
			return err
		}
		if s.kind() == kindFolder {
			var dir *os.Root
			if dir, err = d.openFolder(s); err == nil {
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
