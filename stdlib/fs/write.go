package fs

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The permissions of what is new, before the process's umask.
const (
	fsNewFile   = 0o644
	fsNewFolder = 0o755
)

func (w *Files) fsWriteFuncs() []tool.Func {
	file := tool.Required("path", tool.TypeString, "the file")
	content := tool.Required("content", tool.TypeAny, "text or bytes")
	overwrite := tool.Optional("overwrite", tool.TypeBoolean, false, "replace a file that is there")
	return []tool.Func{
		w.fsWriteFunc(w.filePath, (*look).write, tool.Func{
			Name:    "write",
			Doc:     "Write a file, in place of what was there. Folders on the way are made.",
			Params:  []tool.Param{file, content},
			Returns: `{"path", "bytes": its size, "created": whether it is new}`,
		}),
		w.fsWriteFunc(w.filePath, (*look).append, tool.Func{
			Name:    "append",
			Doc:     "Write at the end of a file, or a new one.",
			Params:  []tool.Param{file, content},
			Returns: `{"path", "bytes": its size now, "created": whether it is new}`,
		}),
		w.editFunc(),
		w.fsWriteFunc(w.anyPath, (*look).remove, tool.Func{
			Name: "remove",
			Doc:  "Remove a file, or an empty folder.",
			Params: []tool.Param{
				tool.Required("path", tool.TypeString, "the file or folder"),
				tool.Optional("recursive", tool.TypeBoolean, false, "a folder with all that is in it"),
			},
			Returns: `{"path", "removed": how many files and folders}`,
		}),
		{
			Name:    "move",
			Doc:     "Move or rename a file or folder. Folders on the way are made.",
			Params:  []tool.Param{tool.Required("from", tool.TypeString, "what to move"), tool.Required("to", tool.TypeString, "its new path, with its name"), overwrite},
			Returns: `{"from", "to", "moved": how many files and folders}`,
			Kind:    tool.Write,
			Target:  w.moveTarget,
			Do:      w.fsStaged((*look).move),
		},
		w.fsWriteFunc(w.anyPath, (*look).mkdir, tool.Func{
			Name:    "mkdir",
			Doc:     "Make a folder, and those on the way to it. It may be there already.",
			Params:  []tool.Param{tool.Required("path", tool.TypeString, "the folder")},
			Returns: `{"path", "created": whether it is new}`,
		}),
	}
}

// fsWriteFunc completes a row that stages changes of its argument "path".
func (w *Files) fsWriteFunc(resolve func(string) (string, error), do func(*look, *value.Dict) (value.Value, error), f tool.Func) tool.Func {
	f.Kind = tool.Write
	f.Target = func(args *value.Dict) ([]tool.Capability, error) {
		p, err := resolve(args.Text("path"))
		if err == nil {
			err = w.Protect(p)
		}
		if err != nil {
			return nil, err
		}
		return []tool.Capability{Writes(p)}, nil
	}
	f.Do = w.fsStaged(func(l *look, args *value.Dict) (value.Value, error) {
		if _, err := resolve(args.Text("path")); err != nil {
			return nil, err
		}
		return do(l, args)
	})
	return f
}

// fsStaged is fsDo for rows that need a stage.
func (w *Files) fsStaged(do func(*look, *value.Dict) (value.Value, error)) func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
	return w.fsDo(func(l *look, args *value.Dict) (value.Value, error) {
		if l.stage == nil {
			return nil, value.Errorf(value.Internal, "a write without a stage to keep it")
		}
		return do(l, args)
	})
}

// toWrite finds a path to write. A link in the last place is not followed;
// where one on the way leads elsewhere, the call must be allowed to write there.
func (l *look) toWrite(raw string) (*spot, error) {
	p, folder, err := l.w.Resolve(raw)
	if err != nil {
		return nil, err
	}
	s, err := l.find(p, fsFollowFolders)
	if err != nil {
		return nil, err
	}
	s.slash = folder
	err = l.w.Protect(s.path)
	switch {
	case err != nil:
	case s.behind != "":
		err = value.Errorf(value.Failed, "%s is a file, not a folder", l.w.Shown(s.behind))
	case s.path != p && !fsNameable(s.path):
		err = value.Errorf(value.Failed, "%s leads to a path that is not text", l.w.Shown(p))
	case folder && s.kind() != fsFolder && s.kind() != fsNothing:
		err = s.notFolder()
	case s.path != p:
		err = l.allows(Writes(s.path))
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// now returns what the call sees at a spot, with its content.
func (s *spot) now() (tool.FileState, error) {
	if s.staged != nil {
		return *s.staged, nil
	}
	st, _, err := s.state(s.look.w.limits.kept())
	return st, err
}

// kept is how large a file may be that is replaced, moved or removed: its
// content is kept for the undo.
func (l Limits) kept() int64 { return max(l.Read, l.Write) }

// fsContent gives the bytes of a content argument, in memory of their own.
func fsContent(args *value.Dict) ([]byte, error) {
	v, _ := args.Get("content")
	switch v := v.(type) {
	case string:
		return []byte(v), nil
	case []byte:
		return append([]byte{}, v...), nil
	}
	return nil, value.Errorf(value.Invalid, "argument 'content' should be string or bytes but got %s", value.TypeOf(v)).
		WithHint("json.encode or str makes a text of it")
}

func (l *look) write(args *value.Dict) (value.Value, error) {
	return l.put(args, func(_, content []byte) []byte { return content })
}

func (l *look) append(args *value.Dict) (value.Value, error) {
	return l.put(args, func(old, content []byte) []byte { return slices.Concat(old, content) })
}

// put stages what a file becomes, from what it is and the content argument.
func (l *look) put(args *value.Dict, become func(old, content []byte) []byte) (value.Value, error) {
	content, err := fsContent(args)
	if err != nil {
		return nil, err
	}
	s, err := l.toWrite(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	old, err := s.now()
	if err != nil {
		return nil, err
	}
	if old.Dir {
		return nil, s.isFolder()
	}
	data := become(old.Data, content)
	plan := l.plan()
	if err := plan.parents(s.path); err != nil {
		return nil, err
	}
	mode := old.Mode
	if !old.Exists {
		mode = fsNewFile
	}
	plan.add(s.path, old, fsFileState(data, mode))
	if err := plan.stage(); err != nil {
		return nil, err
	}
	return value.NewDict("path", l.w.Shown(s.asked), "bytes", int64(len(data)), "created", !old.Exists), nil
}

func fsFileState(data []byte, mode uint32) tool.FileState {
	return tool.FileState{Exists: true, Mode: mode, Data: data, Hash: tool.HashBytes(data)}
}

func (l *look) mkdir(args *value.Dict) (value.Value, error) {
	s, err := l.toWrite(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	switch s.kind() {
	case fsFolder:
		return value.NewDict("path", l.w.Shown(s.asked), "created", false), nil
	case fsNothing:
	default:
		return nil, s.notFolder()
	}
	plan := l.plan()
	if err := plan.parents(path.Join(s.path, "_")); err != nil {
		return nil, err
	}
	if err := plan.stage(); err != nil {
		return nil, err
	}
	return value.NewDict("path", l.w.Shown(s.asked), "created", true), nil
}

func (l *look) remove(args *value.Dict) (value.Value, error) {
	s, err := l.toWrite(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := l.removable(s); err != nil {
		return nil, err
	}
	if !args.Bool("recursive") {
		if err := l.empty(s); err != nil {
			return nil, err
		}
	}
	plan := l.plan()
	err = plan.tree(s, func(found *spot, _ tool.FileState) error {
		if found == s {
			return nil
		}
		return l.allows(Writes(found.path))
	})
	if err != nil {
		return nil, err
	}
	if err := plan.stage(); err != nil {
		return nil, err
	}
	return value.NewDict("path", l.w.Shown(s.asked), "removed", int64(len(plan.changes))), nil
}

// empty refuses a folder that holds something.
func (l *look) empty(s *spot) error {
	if s.kind() != fsFolder {
		return nil
	}
	l.strict = true
	in, err := l.open(s)
	if err != nil {
		return err
	}
	defer in.close()
	if len(in.spots) > 0 {
		return value.Errorf(value.Failed, "%s is a folder that is not empty", l.w.Shown(s.asked)).
			WithHint("recursive=True removes it with all that is in it")
	}
	return nil
}

// removable refuses what cannot be taken from its place.
func (l *look) removable(s *spot) error {
	switch {
	case s.path == ".":
		return value.Errorf(value.Denied, "%s is the project itself", l.w.Shown(s.asked))
	case s.kind() == fsNothing:
		l.sawNothing(s)
		return s.missing()
	}
	return nil
}

func (w *Files) moveTarget(args *value.Dict) ([]tool.Capability, error) {
	var paths [2]string
	for i, name := range []string{"from", "to"} {
		p, err := w.anyPath(args.Text(name))
		if err == nil {
			err = w.Protect(p)
		}
		if err != nil {
			return nil, err
		}
		paths[i] = p
	}
	return []tool.Capability{reads(paths[0]), Writes(paths[0]), Writes(paths[1])}, nil
}

func (l *look) move(args *value.Dict) (value.Value, error) {
	from, err := l.toWrite(args.Text("from"))
	if err != nil {
		return nil, err
	}
	defer from.close()
	to, err := l.toWrite(args.Text("to"))
	if err != nil {
		return nil, err
	}
	defer to.close()
	if err := l.movable(from, to, args.Bool("overwrite")); err != nil {
		return nil, err
	}
	plan := l.plan()
	if err := plan.parents(to.path); err != nil {
		return nil, err
	}
	made := len(plan.changes)
	err = plan.tree(from, func(found *spot, st tool.FileState) error {
		under := strings.TrimPrefix(found.path, from.path)
		return plan.moved(found, st, to, under)
	})
	if err == nil {
		err = plan.stage()
	}
	if err != nil {
		return nil, err
	}
	return value.NewDict("from", l.w.Shown(from.asked), "to", l.w.Shown(to.asked), "moved", int64(len(plan.changes)-made)/2), nil
}

// movable says whether one path can become another.
func (l *look) movable(from, to *spot, overwrite bool) error {
	if err := l.removable(from); err != nil {
		return err
	}
	if from.path != from.asked {
		if err := l.allows(reads(from.path)); err != nil {
			return err
		}
	}
	shown := l.w.Shown(to.asked)
	switch {
	case to.path == from.path:
		return value.Errorf(value.Invalid, "%s is where it is already", shown)
	case strings.HasPrefix(to.path, from.path+"/"):
		return value.Errorf(value.Invalid, "%s is inside %s", shown, l.w.Shown(from.asked))
	case to.slash && from.kind() != fsFolder:
		return value.Errorf(value.Failed, "%s/ can only be a folder", shown).WithHint("give the whole new path, as in %s", l.w.Shown(path.Join(to.path, from.name)))
	case to.kind() == fsFolder:
		return value.Errorf(value.Failed, "%s is a folder", shown).WithHint("give the whole new path, as in %s", l.w.Shown(path.Join(to.path, from.name)))
	case to.kind() != fsNothing && from.kind() == fsFolder:
		return value.Errorf(value.Failed, "%s is a file, and %s a folder", shown, l.w.Shown(from.asked))
	case to.kind() != fsNothing && !overwrite:
		return value.Errorf(value.Failed, "%s exists already", shown).WithHint("overwrite=True replaces it")
	}
	return nil
}
