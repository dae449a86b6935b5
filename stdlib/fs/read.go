package fs

import (
	"bytes"
	"context"
	"io"
	"math"
	"path"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

func (w *Files) fsReadFuncs() []tool.Func {
	file := []tool.Param{tool.Required("path", tool.TypeString, "the file")}
	either := []tool.Param{tool.Required("path", tool.TypeString, "the file or folder")}
	return []tool.Func{
		w.fsReadFunc(w.filePath, (*look).readText, tool.Func{
			Name:    "read",
			Doc:     "Read a text file.",
			Params:  file,
			Returns: "its text",
		}),
		w.fsReadFunc(w.filePath, (*look).readBytes, tool.Func{
			Name: "read_bytes",
			Doc:  "Read a file that may hold anything, or a part of it. A file of more than 8 MB can be read in parts only.",
			Params: append(slices.Clip(file),
				atLeast(tool.Optional("offset", tool.TypeInteger, int64(0), "where to begin, in bytes"), 0),
				atLeast(tool.Optional("length", tool.TypeInteger, nil, "how many bytes to read; without it, all up to the end"), 0)),
			Returns: "its bytes; fewer than length where the file ends before, none where it does before offset",
		}),
		w.fsReadFunc(w.anyPath, (*look).stat, tool.Func{
			Name:    "stat",
			Doc:     "Describe a file or folder. It fails where there is none.",
			Params:  either,
			Returns: `{"name", "path", "kind": "file", "dir" or "other", "size", "modified": RFC 3339 text}`,
		}),
		w.fsReadFunc(w.anyPath, (*look).exists, tool.Func{
			Name:    "exists",
			Doc:     "Tell whether there is a file or folder.",
			Params:  either,
			Returns: "True or False",
		}),
	}
}

// atLeast narrows a parameter that is a number.
func atLeast(p tool.Param, low int64) tool.Param {
	p.Type.Min = low
	return p
}

// anyPath resolves a path that may be a file's or a folder's.
func (w *Folder) anyPath(raw string) (string, error) {
	p, _, err := w.Resolve(raw)
	return p, err
}

// fsReadFunc completes a row that reads the one path of its argument "path".
func (w *Files) fsReadFunc(resolve func(string) (string, error), do func(*look, *value.Dict) (value.Value, error), f tool.Func) tool.Func {
	f.Kind = tool.Read
	f.Target = func(args *value.Dict) ([]tool.Capability, error) {
		p, err := resolve(args.Text("path"))
		if err != nil {
			return nil, err
		}
		return []tool.Capability{reads(p)}, nil
	}
	f.Do = w.fsDo(do)
	return f
}

// fsDo makes the Do of a row from what it does with its call's look.
func (w *Files) fsDo(do func(*look, *value.Dict) (value.Value, error)) func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
	return func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		if err := row.Stopped(ctx); err != nil {
			return tool.Outcome{}, err
		}
		v, err := do(w.look(ctx, g), e.Args)
		if err != nil {
			return tool.Outcome{}, err
		}
		return tool.Outcome{Value: v}, nil
	}
}

// seek finds a path to read, over every link. Where links lead to another
// path, the call must be allowed to read that one too. folder tells that the
// path as it is written can only mean a folder.
func (l *look) seek(raw string) (s *spot, folder bool, err error) {
	p, folder, err := l.w.Resolve(raw)
	if err != nil {
		return nil, false, err
	}
	if s, err = l.find(p, fsFollowAll); err != nil {
		return nil, false, err
	}
	if s.path != p {
		if err := l.allows(reads(s.path)); err != nil {
			s.close()
			return nil, false, err
		}
	}
	return s, folder, nil
}

// toRead is seek for something that has to be there.
func (l *look) toRead(raw string) (*spot, error) {
	s, folder, err := l.seek(raw)
	if err != nil {
		return nil, err
	}
	switch {
	case s.kind() == fsNothing:
		l.sawNothing(s)
		err = s.missing()
	case folder && s.kind() != fsFolder:
		err = s.notFolder()
	default:
		return s, nil
	}
	s.close()
	return nil, err
}

// file finds the regular file, or what else is there but a folder, at the path
// of the arguments. Close it.
func (l *look) file(args *value.Dict) (*spot, error) {
	if _, err := l.w.filePath(args.Text("path")); err != nil {
		return nil, err
	}
	s, err := l.toRead(args.Text("path"))
	if err != nil {
		return nil, err
	}
	if s.kind() == fsFolder {
		defer s.close()
		return nil, s.isFolder()
	}
	return s, nil
}

// content reads a whole file, and notes in the stage what it was, so that a
// write that builds on it fails where it is no longer that. The content may be in
// the buffer.
func (l *look) content(args *value.Dict, buf []byte) ([]byte, error) {
	s, err := l.file(args)
	if err != nil {
		return nil, err
	}
	defer s.close()
	data, err := s.read(l.w.limits.Read, buf)
	if err == nil && s.staged == nil && l.notes {
		l.stage.Saw(s.path, tool.FileState{Exists: true, Mode: uint32(s.disk.Mode().Perm()), Hash: tool.HashBytes(data)})
	}
	return data, err
}

// sawNothing notes that there was nothing, which is also a thing to build on.
func (l *look) sawNothing(s *spot) {
	if l.notes && s.staged == nil {
		l.stage.Saw(s.path, tool.FileState{})
	}
}

func (l *look) readText(args *value.Dict) (value.Value, error) {
	buf := l.w.buffer()
	defer l.w.buffers.Put(buf)
	data, err := l.content(args, *buf)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, fsNotText(args.Text("path"))
	}
	return string(data), nil
}

func fsNotText(shown string) error {
	return value.Errorf(value.Failed, "%s is not UTF-8 text", shown).WithHint("fs.read_bytes reads it as bytes")
}

func (l *look) readBytes(args *value.Dict) (value.Value, error) {
	if offset := args.Int("offset"); offset > 0 || row.Arg(args, "length") != nil {
		return l.readPart(args, offset, args.IntOr("length", math.MaxInt64))
	}
	buf := l.w.buffer()
	defer l.w.buffers.Put(buf)
	data, err := l.content(args, *buf)
	if err != nil {
		return nil, err
	}
	// Neither the buffer nor the stage's own bytes must leave: who gets a value
	// may change it.
	return append(make([]byte, 0, len(data)), data...), nil
}

// readPart reads a part of a file. What the whole was is not noted in the stage:
// nobody has seen it.
func (l *look) readPart(args *value.Dict, offset, length int64) (value.Value, error) {
	s, err := l.file(args)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.staged != nil {
		data := s.staged.Data[min(offset, int64(len(s.staged.Data))):]
		return bytes.Clone(data[:min(length, int64(len(data)))]), nil
	}
	f, info, err := s.openDisk()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	length = min(length, max(info.Size()-offset, 0))
	if limit := l.w.limits.Read; length > limit {
		return nil, fsLimit(value.LimitRead, "%s has %d bytes there, more than %s", l.w.Shown(s.asked), length, fsSize(limit)).
			WithHint("give a length, and read the rest from the next offset")
	}
	data := make([]byte, length)
	n, err := f.ReadAt(data, offset)
	if err != nil && err != io.EOF {
		return nil, l.failed("read", s.asked, err)
	}
	return data[:n], nil
}

func (l *look) stat(args *value.Dict) (value.Value, error) {
	s, err := l.toRead(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.describe(s.asked), nil
}

func (l *look) exists(args *value.Dict) (value.Value, error) {
	s, folder, err := l.seek(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.kind() == fsNothing {
		l.sawNothing(s)
		return false, nil
	}
	return !folder || s.kind() == fsFolder, nil
}

// describe tells what is at a spot, under the path that the script knows it by.
func (s *spot) describe(p string) *value.Dict {
	size, modified := int64(0), s.look.w.now()
	switch {
	case s.staged != nil:
		size = int64(len(s.staged.Data))
	case s.disk != nil:
		modified = s.disk.ModTime()
		if s.disk.Mode().IsRegular() {
			size = s.disk.Size()
		}
	}
	return value.NewDict(
		"name", path.Base(p),
		"path", s.look.w.Shown(p),
		"kind", string(s.kind()),
		"size", size,
		"modified", modified.UTC().Format(time.RFC3339Nano),
	)
}
