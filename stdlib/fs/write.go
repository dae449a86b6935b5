package fs

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

func (w *Files) writeFuncs() []tool.Func {
	file := tool.Required("path", tool.TypeString, "the file")
	content := tool.Required("content", tool.TypeAny, "text or bytes")
	overwrite := tool.Optional("overwrite", tool.TypeBoolean, false, "replace an existing file")
	return []tool.Func{
		w.writeFunc(w.filePath, writeFile, tool.Func{
			Name:    "write",
			Doc:     "Write a file. An existing file is replaced, and missing parent folders are created.",
			Params:  []tool.Param{file, content},
			Returns: `{"path", "bytes": the size of the file, "created": whether the file is new}`,
		}),
		w.writeFunc(w.filePath, appendFile, tool.Func{
			Name:    "append",
			Doc:     "Append to a file. A missing file is created.",
			Params:  []tool.Param{file, content},
			Returns: `{"path", "bytes": the new size of the file, "created": whether the file is new}`,
		}),
		w.editFunc(),
		w.writeFunc(w.anyPath, removePath, tool.Func{
			Name: "remove",
			Doc:  "Remove a file, or an empty folder.",
			Params: []tool.Param{
				tool.Required("path", tool.TypeString, "the file or folder"),
				tool.Optional("recursive", tool.TypeBoolean, false, "also remove a folder with contents"),
			},
			Returns: `{"path", "removed": the number of files and folders}`,
		}),
		{
			Name:    "move",
			Doc:     "Move or rename a file or folder. Missing parent folders are created.",
			Params:  []tool.Param{tool.Required("from", tool.TypeString, "the file or folder to move"), tool.Required("to", tool.TypeString, "its new path, including its name"), overwrite},
			Returns: `{"from", "to", "moved": the number of files and folders}`,
			Kind:    tool.Write,
			Target:  w.moveTarget,
			Do:      w.doStaged(movePath),
		},
		w.writeFunc(w.anyPath, makeFolders, tool.Func{
			Name:    "mkdir",
			Doc:     "Create a folder and its missing parent folders. An existing folder is not an error.",
			Params:  []tool.Param{tool.Required("path", tool.TypeString, "the folder")},
			Returns: `{"path", "created": whether the folder is new}`,
		}),
	}
}

// writeFunc completes a function that stages changes of its argument "path".
func (w *Files) writeFunc(resolve func(string) (string, error), do func(*look, *value.Dict) (value.Value, error), f tool.Func) tool.Func {
	f.Kind = tool.Write
	f.Target = func(args *value.Dict) ([]tool.Capability, error) {
		p, err := resolve(args.Text("path"))
		if err == nil {
			err = w.Protect(p)
		}
		if err != nil {
			return nil, err
		}
		return []tool.Capability{writes(p)}, nil
	}
	f.Do = w.doStaged(func(l *look, args *value.Dict) (value.Value, error) {
		if _, err := resolve(args.Text("path")); err != nil {
			return nil, err
		}
		return do(l, args)
	})
	return f
}

// doStaged is doRead for functions that need a stage.
func (w *Files) doStaged(do func(*look, *value.Dict) (value.Value, error)) func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
	return w.doRead(func(l *look, args *value.Dict) (value.Value, error) {
		if l.stage == nil {
			return nil, value.Errorf(value.Internal, "write: only a tool call can write files")
		}
		return do(l, args)
	})
}

// toWrite finds a path to write. It does not follow a link in the last part. If a link in another
// part leads elsewhere, the call must be allowed to write there.
func (l *look) toWrite(raw string) (*spot, error) {
	p, folder, err := l.w.Resolve(raw)
	if err != nil {
		return nil, err
	}
	s, err := l.find(p, followFolders)
	if err != nil {
		return nil, err
	}
	s.slash = folder
	err = l.w.Protect(s.path)
	switch {
	case err != nil:
	case s.behind != "":
		err = value.Errorf(value.Failed, "%s is a file, not a folder", l.w.Shown(s.behind))
	case s.path != p && !usableName(s.path):
		err = value.Errorf(value.Failed, "%s is a link to a path that is not valid UTF-8", l.w.Shown(p))
	case folder && s.kind() != kindFolder && s.kind() != kindNothing:
		err = s.notFolder()
	case s.path != p:
		err = l.allows(writes(s.path))
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
	if size := min(s.size(), s.look.w.limits.kept()); size > membudget.Small { // the stage will hold it
		if err := membudget.Of(s.look.ctx).Take(s.look.ctx, size); err != nil {
			return tool.FileState{}, err
		}
	}
	st, _, err := s.state(s.look.w.limits.kept())
	return st, err
}

// kept is how large a file may be that is edited, replaced, moved or removed: its content is kept for the
// undo, and no script holds it, so only the limit of all files holds.
func (l Limits) kept() int64 { return max(l.Read, l.Write, l.Total) }

// givenContent gives the bytes of a content argument, in memory of their own.
func givenContent(args *value.Dict) ([]byte, error) {
	v, _ := args.Get("content")
	switch v := v.(type) {
	case string:
		return []byte(v), nil
	case []byte:
		return append([]byte{}, v...), nil
	}
	return nil, value.Errorf(value.Invalid, "argument 'content' should be string or bytes but got %s", value.TypeOf(v)).
		WithHint("convert it to text; in a script, with json.encode(value) or str(value)")
}

func writeFile(l *look, args *value.Dict) (value.Value, error) {
	return putFile(l, args, func(_, content []byte) []byte { return content })
}

func appendFile(l *look, args *value.Dict) (value.Value, error) {
	return putFile(l, args, func(old, content []byte) []byte { return slices.Concat(old, content) })
}

// putFile stages what a file becomes, from what it is and the content argument.
func putFile(l *look, args *value.Dict, become func(old, content []byte) []byte) (value.Value, error) {
	content, err := givenContent(args)
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
	if int64(len(data)) > l.w.limits.Write {
		return nil, limitError(value.LimitWrites, "write %s: the new content is larger than the limit of %s", l.w.Shown(s.asked), row.SizeText(l.w.limits.Write))
	}
	plan := l.plan()
	if err := plan.parents(s.path); err != nil {
		return nil, err
	}
	mode := old.Mode
	if !old.Exists {
		mode = newFile
	}
	plan.add(s.path, old, fileState(data, mode))
	if err := plan.stage(); err != nil {
		return nil, err
	}
	return value.NewDict("path", l.w.Shown(s.asked), "bytes", int64(len(data)), "created", !old.Exists), nil
}

func fileState(data []byte, mode uint32) tool.FileState {
	return tool.FileState{Exists: true, Mode: mode, Data: data, Hash: tool.HashBytes(data)}
}

func makeFolders(l *look, args *value.Dict) (value.Value, error) {
	s, err := l.toWrite(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	switch s.kind() {
	case kindFolder:
		return value.NewDict("path", l.w.Shown(s.asked), "created", false), nil
	case kindNothing:
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

func removePath(l *look, args *value.Dict) (value.Value, error) {
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
		return l.allows(writes(found.path))
	})
	if err != nil {
		return nil, err
	}
	if err := plan.stage(); err != nil {
		return nil, err
	}
	return value.NewDict("path", l.w.Shown(s.asked), "removed", int64(len(plan.changes))), nil
}

// empty fails for a folder that is not empty.
func (l *look) empty(s *spot) error {
	if s.kind() != kindFolder {
		return nil
	}
	l.strict = true
	in, err := l.open(s)
	if err != nil {
		return err
	}
	defer in.close()
	if len(in.spots) > 0 {
		return value.Errorf(value.Failed, "remove %s: the folder is not empty", l.w.Shown(s.asked)).
			WithHint("to remove the folder with all contents, set recursive to true")
	}
	return nil
}

// removable fails for something that cannot be removed or moved.
func (l *look) removable(s *spot) error {
	switch {
	case s.path == ".":
		return value.Errorf(value.Denied, "%s is the root folder of the project and cannot be moved or removed", l.w.Shown(s.asked))
	case s.kind() == kindNothing:
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
	return []tool.Capability{reads(paths[0]), writes(paths[0]), writes(paths[1])}, nil
}

func movePath(l *look, args *value.Dict) (value.Value, error) {
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

// movable fails if one path cannot become another.
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
		return value.Errorf(value.Invalid, "%s is both the source and the target", shown).WithHint("pass another path as the target")
	case strings.HasPrefix(to.path, from.path+"/"):
		return value.Errorf(value.Invalid, "the target %s is inside the source %s", shown, l.w.Shown(from.asked)).WithHint("pass a target outside the source")
	case to.slash && from.kind() != kindFolder:
		return value.Errorf(value.Failed, "the target %s/ ends with a slash, but the source is a file", shown).WithHint("pass the complete new path, as in %s", l.w.Shown(path.Join(to.path, from.name)))
	case to.kind() == kindFolder:
		return value.Errorf(value.Failed, "the target %s is a folder", shown).WithHint("pass the complete new path, as in %s", l.w.Shown(path.Join(to.path, from.name)))
	case to.kind() != kindNothing && from.kind() == kindFolder:
		return value.Errorf(value.Failed, "the target %s is a file, but the source %s is a folder", shown, l.w.Shown(from.asked)).WithHint("remove the file first, or pass another target")
	case to.kind() != kindNothing && !overwrite:
		return value.Errorf(value.Failed, "%s already exists", shown).WithHint("to replace it, set overwrite to true")
	}
	return nil
}
