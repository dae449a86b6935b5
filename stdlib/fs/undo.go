package fs

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func (w *Files) fsCommitFuncs() []tool.Func {
	files := []tool.Param{tool.Required("files", tool.TypeArray, "what the commit left to undo it")}
	return []tool.Func{{
		Name:     "prepare",
		Doc:      "Find the files as a commit would have to, and say what it would leave to undo it. Nothing is written.",
		Returns:  "None; its undo is the commit's, none where nothing would change",
		Kind:     tool.Read,
		Do:       w.prepareStage,
		Internal: true,
	}, {
		Name:     "commit",
		Doc:      "Carry out on disk what a call has staged, all or nothing, and empty its stage.",
		Returns:  `a list of {"path", "kind": "file" or "dir", "action": "created", "changed" or "removed", "bytes"}, with paths relative to the project`,
		Kind:     tool.Write,
		Do:       w.commitStage,
		Internal: true,
	}, {
		Name:     "restore",
		Doc:      "Take a commit back: put files as they were before it, where they are still as it left them.",
		Params:   files,
		Returns:  "a list as of commit",
		Kind:     tool.Write,
		Target:   w.restoreTarget,
		Do:       w.restore,
		Internal: true,
	}, {
		Name: "reconcile",
		Doc: "Find out whether a commit was carried out of which nobody knows, as after a crash. " +
			"What one that died has left half done is put back as it was before.",
		Params:   files,
		Returns:  `{"done": whether everything is as the commit leaves it, else it is as before}, with "restored", a list of paths, where some had to be put back`,
		Kind:     tool.Write,
		Target:   w.restoreTarget,
		Do:       w.reconcile,
		Internal: true,
	}}
}

// fsReport tells what became of each path.
func fsReport(steps []*fsStep) value.List {
	list := make(value.List, len(steps))
	for i, s := range steps {
		action, is := "changed", s.After
		switch {
		case !s.Before.Exists:
			action = "created"
		case !s.After.Exists:
			action, is = "removed", s.Before
		}
		list[i] = value.NewDict("path", s.Path, "kind", string(fsExpected(is)), "action", action, "bytes", int64(len(s.After.Data)))
	}
	return list
}

// fsUndo makes the effect that takes steps back, nil for none. For each path it
// holds what was there, and what has to be there for it to be put back.
func fsUndo(steps []*fsStep) *tool.Effect {
	if len(steps) == 0 {
		return nil
	}
	files := make(value.List, len(steps))
	for i, s := range steps {
		d := value.NewDict("path", s.Path, "was", string(fsExpected(s.now)), "is", string(fsExpected(s.After)))
		if s.now.Exists {
			d.Put("mode", int64(s.now.Mode))
		}
		if s.now.Exists && !s.now.Dir {
			d.Put("content", s.now.Data)
		}
		if s.After.Exists {
			d.Put("is_mode", int64(s.After.Mode))
			d.Put("is_hash", s.After.Hash)
		}
		files[i] = d
	}
	return &tool.Effect{Func: "fs.restore", Args: value.NewDict("files", files)}
}

// restorable reads the argument of fs.restore. It comes from a record, which
// may be damaged, so every part of it is checked.
func (w *Files) restorable(args *value.Dict) ([]tool.Change, error) {
	v, _ := args.Get("files")
	items, _ := value.Elements(v)
	changes := make([]tool.Change, 0, len(items))
	seen := map[string]bool{}
	for _, item := range items {
		d, ok := item.(*value.Dict)
		if !ok {
			return nil, value.Errorf(value.Invalid, "a file to restore is an object, not %s", value.TypeOf(item))
		}
		c, err := w.restorableOne(d)
		if err != nil {
			return nil, err
		}
		if seen[c.Path] {
			return nil, value.Errorf(value.Invalid, "%s is to be restored twice", c.Path)
		}
		seen[c.Path] = true
		changes = append(changes, c)
	}
	return changes, nil
}

func (w *Files) restorableOne(d *value.Dict) (tool.Change, error) {
	c := tool.Change{Path: d.Text("path")}
	if w.Root == nil {
		return c, value.Errorf(value.Denied, "there is no project folder here, so no files").WithHint("a program sets Options.Dir")
	}
	if err := CheckText(c.Path); err != nil {
		return c, err
	}
	if !fs.ValidPath(c.Path) || c.Path == "." {
		return c, value.Errorf(value.Security, "%q is not a path of the project", c.Path)
	}
	if err := w.Protect(c.Path); err != nil {
		return c, err
	}
	var ok bool
	if c.After, ok = fsRecorded(d.Text("was"), d.Int("mode")); ok && c.After.Exists && !c.After.Dir {
		v, _ := d.Get("content")
		c.After.Data, ok = v.([]byte)
		c.After.Hash = tool.HashBytes(c.After.Data)
	}
	if ok {
		c.Before, ok = fsRecorded(d.Text("is"), d.Int("is_mode"))
		c.Before.Hash = d.Text("is_hash")
	}
	if !ok {
		return c, value.Errorf(value.Invalid, "the record of %s is damaged", c.Path)
	}
	return c, nil
}

func fsRecorded(kind string, mode int64) (tool.FileState, bool) {
	if mode < 0 || mode > 0o777 {
		return tool.FileState{}, false
	}
	st := tool.FileState{Exists: true, Mode: uint32(mode)}
	switch spotKind(kind) {
	case fsNothing:
		return tool.FileState{}, true
	case fsFile:
		return st, true
	case fsFolder:
		st.Dir = true
		return st, true
	}
	return tool.FileState{}, false
}

func (w *Files) restoreTarget(args *value.Dict) ([]tool.Capability, error) {
	changes, err := w.restorable(args)
	if err != nil {
		return nil, err
	}
	var needs []tool.Capability
	for _, c := range changes {
		if !fsOnTheWay(c, changes) {
			needs = append(needs, Writes(c.Path))
		}
	}
	return needs, nil
}

// fsOnTheWay reports whether a change is of a folder that a commit made or
// removed only because of what is in it. A write takes no right to the folders
// on its way, so nor does its undo.
func fsOnTheWay(c tool.Change, all []tool.Change) bool {
	if c.Before.Exists && !c.Before.Dir || c.After.Exists && !c.After.Dir {
		return false
	}
	return slices.ContainsFunc(all, func(other tool.Change) bool { return strings.HasPrefix(other.Path, c.Path+"/") })
}

func (w *Files) restore(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
	changes, err := w.restorable(e.Args)
	if err != nil {
		return tool.Outcome{}, err
	}
	w.committing.Lock()
	defer w.committing.Unlock()
	return w.look(ctx, tool.Grant{}).apply(changes, true)
}
