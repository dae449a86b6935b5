package fs

import (
	"context"
	"io/fs"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/records"
)

func (w *Files) commitFuncs() []tool.Func {
	files := []tool.Param{
		tool.Required("files", tool.TypeArray, "the undo that the commit returned"),
		tool.Optional(argMark, tool.TypeString, "", "the mark of its temporary files"),
	}
	return []tool.Func{{
		Name:    "prepare",
		Doc:     "Check the files as a commit does, and return the undo of the commit. Nothing is written.",
		Returns: "None; the undo is that of the commit, if the commit changes files",
		Kind:    tool.Read,
		Do:      w.prepareStage,
		Mode:    tool.ModeInternal,
	}, {
		Name:    "commit",
		Doc:     "Write all staged changes of a call to disk, or none. Empty the stage.",
		Returns: `a list of {"path", "kind": "file" or "dir", "action": "created", "changed" or "removed", "bytes"}, with paths relative to the project`,
		Params:  files[1:],
		Kind:    tool.Write,
		Do:      w.commitStage,
		Mode:    tool.ModeInternal,
	}, {
		Name: "restore",
		Doc:  "Undo a commit: restore the files. It fails if a file was changed after the commit.",
		Params: append(slices.Clip(files),
			tool.Optional(argRest, tool.TypeBoolean, false, "skip files that are already as before the commit")),
		Returns: "a list like that of commit",
		Kind:    tool.Write,
		Target:  w.restoreTarget,
		Do:      w.restore,
		Mode:    tool.ModeInternal,
	}, {
		Name: "reconcile",
		Doc: "Find out whether a commit was completed before a crash. " +
			"An incomplete commit is undone. Where other programs have changed its files since, it is completed instead.",
		Params: append(slices.Clip(files),
			tool.Optional(argDecision, tool.TypeString, "", "the user's decision about an unsettled commit: \"mine\" completes the commit, \"theirs\" leaves the files unchanged"),
			tool.Optional(argProved, tool.TypeObject, &value.Dict{}, "whether the commit wrote a file, by its path, where that is known from elsewhere")),
		Returns: `{"done": whether the commit was completed}. "restored" is a list of the restored paths, if any. ` +
			`"unsettled" is a list of {"path", "now", "then", "sum"} with the contents or None, and the state now, if the user has to decide`,
		Kind:   tool.Write,
		Target: w.restoreTarget,
		Do:     w.reconcile,
		Mode:   tool.ModeInternal,
	}, {
		Name:    "finish",
		Doc:     "Remove the temporary files of a commit whose outcome is recorded.",
		Params:  files,
		Returns: "None",
		Kind:    tool.Write,
		Target:  w.restoreTarget,
		Do:      w.finish,
		Mode:    tool.ModeInternal,
	}}
}

// The arguments of the functions for commits beside "files".
const (
	argMark     = "mark"
	argRest     = "rest"
	argDecision = "decision"
	argProved   = "proved"
)

// restorable reads the argument of fs.restore.
func (w *Files) restorable(args *value.Dict) ([]tool.Change, error) {
	return records.Restored(args, func(p string) error {
		if w.Root == nil {
			return value.Errorf(value.Denied, "files are unavailable: no project folder is open").WithHint("run cassidy --dir DIR; in Go, set Options.Dir")
		}
		if err := checkPath(p); err != nil {
			return err
		}
		if !fs.ValidPath(p) || p == "." {
			return value.Errorf(value.Security, "restore files: the path %q is outside the project", p)
		}
		return w.Protect(p)
	})
}

func (w *Files) restoreTarget(args *value.Dict) ([]tool.Capability, error) {
	changes, err := w.restorable(args)
	if err != nil {
		return nil, err
	}
	var needs []tool.Capability
	for _, c := range changes {
		if !records.OnTheWay(c, changes) {
			needs = append(needs, writes(c.Path))
		}
	}
	return needs, nil
}

// restore undoes a commit. A try that a crash has interrupted is settled first: then the mark
// is the same.
func (w *Files) restore(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
	changes, err := w.restorable(e.Args)
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
	d := diskOf(ctx, w, e.Args.Text(argMark)).of(changes)
	defer d.close("")
	d.parts = records.Parts(e.Args)
	if d.keep {
		undo, done, err := d.resumeRestore(changes)
		if err != nil || done {
			return tool.Outcome{Value: value.List{}, Undo: undo}, err
		}
	}
	if e.Args.Bool(argRest) {
		if changes, err = d.rest(changes); err != nil {
			return tool.Outcome{}, err
		}
	}
	return d.apply(changes, true)
}

// rest returns the changes that are not carried out yet. It fails if a path is neither as
// before the change nor as after it.
func (d disk) rest(changes []tool.Change) (rest []tool.Change, err error) {
	for _, c := range changes {
		s, err := d.find(c.Path, followNone)
		if err != nil {
			return nil, err
		}
		now, err := d.stateOf(s)
		s.close()
		switch {
		case err != nil:
			return nil, err
		case sameState(now, c.After):
			continue
		case !now.Exists && changesKind(c):
			c.Before = now
		case !sameState(now, c.Before):
			return nil, d.conflict(c.Path)
		}
		rest = append(rest, c)
	}
	return rest, nil
}

// finish removes the temporary files of a commit.
func (w *Files) finish(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
	changes, err := w.restorable(e.Args)
	if err == nil {
		d := diskOf(ctx, w, e.Args.Text(argMark)).of(changes)
		defer d.close("")
		err = d.drop(changes)
	}
	return tool.Outcome{}, err
}
