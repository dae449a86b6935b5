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

	"github.com/cassidy-run/cassidy/internal/membudget"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/grep"
	"github.com/cassidy-run/cassidy/stdlib/internal/charset"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

func (w *Files) readFuncs() []tool.Func {
	file := []tool.Param{tool.Required("path", tool.TypeString, "the file")}
	either := []tool.Param{tool.Required("path", tool.TypeString, "the file or folder")}
	return []tool.Func{
		w.parquetFunc(slices.Clip(file)),
		w.readFunc(w.filePath, readText, tool.Func{
			Name: "read",
			Doc:  "Read a text file, or some of its lines. Read a file of more than 8 MB in parts.",
			Params: append(slices.Clip(file),
				atLeast(tool.Optional("offset", tool.TypeInteger, int64(1), "the first line to read, counted from 1"), 1),
				atLeast(tool.Optional("limit", tool.TypeInteger, nil, "the number of lines to read; default: up to the end of the file"), 1),
				encoding()),
			Returns: "the text, in complete lines. The text is empty if offset is after the last line",
			Result:  &tool.Type{Name: tool.TypeString},
		}),
		w.readFunc(w.filePath, readBytes, tool.Func{
			Name: "read_bytes",
			Doc:  "Read any file, or a part of it, as bytes. Read a file of more than 8 MB in parts.",
			Params: append(slices.Clip(file),
				atLeast(tool.Optional("offset", tool.TypeInteger, int64(0), "the first byte to read, counted from 0"), 0),
				atLeast(tool.Optional("length", tool.TypeInteger, nil, "the number of bytes to read; default: up to the end of the file"), 0)),
			Returns: "the bytes; fewer than length if the file ends earlier",
		}),
		w.readFunc(w.anyPath, statPath, tool.Func{
			Name:    "stat",
			Doc:     "Describe a file or folder. The call fails if the path does not exist.",
			Params:  either,
			Returns: `{"name", "path", "kind": "file", "dir" or "other", "size", "modified": RFC 3339 text}`,
		}),
		w.readFunc(w.anyPath, pathExists, tool.Func{
			Name:    "exists",
			Doc:     "Report whether a file or folder exists.",
			Params:  either,
			Returns: "True or False",
			Result:  &tool.Type{Name: tool.TypeBoolean},
		}),
	}
}

// The values of the parameter encoding.
const (
	encodingUTF8 = "utf-8"
	encodingAuto = "auto"
)

func encoding() tool.Param {
	p := tool.Optional("encoding", tool.TypeString, encodingUTF8, `"utf-8": other text is an error. "auto": also read UTF-16 and what data.read guesses, and other lines that are not UTF-8 as Windows-1252, without a byte order mark, and with LF for CR alone; a binary file is an error`)
	p.Type.Enum = value.List{encodingUTF8, encodingAuto}
	return p
}

// atLeast sets the minimum of a parameter that is a number.
func atLeast(p tool.Param, low int64) tool.Param {
	p.Type.Min = low
	return p
}

// anyPath resolves a path that may be a file's or a folder's.
func (w *Folder) anyPath(raw string) (string, error) {
	p, _, err := w.Resolve(raw)
	return p, err
}

// readFunc completes a function that reads the path of its argument "path".
func (w *Files) readFunc(resolve func(string) (string, error), do func(*look, *value.Dict) (value.Value, error), f tool.Func) tool.Func {
	f.Kind = tool.Read
	f.Target = func(args *value.Dict) ([]tool.Capability, error) {
		p, err := resolve(args.Text("path"))
		if err != nil {
			return nil, err
		}
		return []tool.Capability{reads(p)}, nil
	}
	f.Do = w.doRead(do)
	return f
}

// doRead returns the Do of a function that works on a look.
func (w *Files) doRead(do func(*look, *value.Dict) (value.Value, error)) func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
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

// seek finds a path to read, following all links. If links lead to another path, the call must
// be allowed to read that one too. folder reports that the path can only be a folder.
func (l *look) seek(raw string) (s *spot, folder bool, err error) {
	p, folder, err := l.w.Resolve(raw)
	if err != nil {
		return nil, false, err
	}
	if s, err = l.find(p, followAll); err != nil {
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

// toRead is seek for something that must exist.
func (l *look) toRead(raw string) (*spot, error) {
	s, folder, err := l.seek(raw)
	if err != nil {
		return nil, err
	}
	switch {
	case s.kind() == kindNothing:
		l.sawNothing(s)
		err = s.missing()
	case folder && s.kind() != kindFolder:
		err = s.notFolder()
	default:
		return s, nil
	}
	s.close()
	return nil, err
}

// file finds what is at the path of the arguments, and fails for a folder. Close the spot.
func (l *look) file(args *value.Dict) (*spot, error) {
	if _, err := l.w.filePath(args.Text("path")); err != nil {
		return nil, err
	}
	s, err := l.toRead(args.Text("path"))
	if err != nil {
		return nil, err
	}
	if s.kind() == kindFolder {
		defer s.close()
		return nil, s.isFolder()
	}
	return s, nil
}

// content reads a complete file, and notes its state in the stage, so that a write that builds
// on it fails if the file has changed. The content may be in buf.
func (l *look) content(args *value.Dict, buf []byte) ([]byte, error) {
	s, err := l.file(args)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := membudget.Take(l.ctx, min(s.size(), l.w.limits.Read)); err != nil {
		return nil, err
	}
	data, err := s.read(l.w.limits.Read, buf)
	if err == nil && s.staged == nil && l.notes {
		l.stage.Saw(s.path, tool.FileState{Exists: true, Mode: uint32(s.disk.Mode().Perm()), Hash: tool.HashBytes(data)})
	}
	return data, err
}

// sawNothing notes in the stage that there was nothing at a spot.
func (l *look) sawNothing(s *spot) {
	if l.notes && s.staged == nil {
		l.stage.Saw(s.path, tool.FileState{})
	}
}

func readText(l *look, args *value.Dict) (value.Value, error) {
	if offset := args.IntOr("offset", 1); offset > 1 || row.Arg(args, "limit") != nil {
		return readLines(l, args, offset, args.IntOr("limit", math.MaxInt64-offset))
	}
	buf := l.w.buffer()
	defer l.w.buffers.Put(buf)
	data, err := l.content(args, *buf)
	if err != nil {
		return nil, err
	}
	if args.Text("encoding") == encodingAuto {
		return l.decoded(args, data)
	}
	if !utf8.Valid(data) {
		return nil, notText(args.Text("path"))
	}
	return string(data), nil
}

// decoded returns the text of a file in any encoding.
func (l *look) decoded(args *value.Dict, data []byte) (value.Value, error) {
	var in charset.Reader
	if in.Reset(bytes.NewReader(data)) {
		return nil, binary(args, int64(len(data)))
	}
	decoded, err := io.ReadAll(&in)
	if err != nil {
		return nil, l.failed(reading, args.Text("path"), err)
	}
	text := charset.Text(decoded)
	if int64(len(text)) > l.w.limits.Read {
		return nil, limitError(value.LimitRead, "%s is larger than the limit of %s after decoding", args.Text("path"), row.SizeText(l.w.limits.Read)).
			WithHint("read a part of it; in a script, with fs.read(path, offset, limit)")
	}
	return text, nil
}

func binary(args *value.Dict, size int64) error {
	return value.Errorf(value.Failed, "%s is a binary file (%d bytes): only text can be read", args.Text("path"), size).WithHint("in a script, fs.read_bytes(path) reads any file")
}

// readLines reads some lines of a file. Like readPart it notes nothing in the stage.
func readLines(l *look, args *value.Dict, offset, limit int64) (value.Value, error) {
	s, err := l.file(args)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := membudget.Take(l.ctx, min(s.size(), l.w.limits.Read)); err != nil {
		return nil, err
	}
	in, done, err := s.stream()
	if err != nil {
		return nil, err
	}
	defer done()
	auto := args.Text("encoding") == encodingAuto
	if auto {
		decoder := &charset.Reader{}
		if decoder.Reset(in) {
			return nil, binary(args, s.size())
		}
		in = decoder
	}
	text, err := grep.Part(l.ctx, in, offset, min(limit, math.MaxInt64-offset), l.w.limits.Read)
	switch {
	case err != nil:
		return nil, l.failed(reading, s.asked, err)
	case auto:
		return charset.Text(text), nil
	case !utf8.Valid(text):
		return nil, notText(args.Text("path"))
	}
	return string(text), nil
}

func notText(shown string) error {
	return value.Errorf(value.Failed, "%s is not UTF-8 text", shown).WithHint("in a script, pass encoding = \"auto\" to fs.read, or read bytes with fs.read_bytes")
}

func readBytes(l *look, args *value.Dict) (value.Value, error) {
	if offset := args.Int("offset"); offset > 0 || row.Arg(args, "length") != nil {
		return readPart(l, args, offset, args.IntOr("length", math.MaxInt64))
	}
	buf := l.w.buffer()
	defer l.w.buffers.Put(buf)
	data, err := l.content(args, *buf)
	if err != nil {
		return nil, err
	}
	// A copy: the caller may change the value, but not the buffer or the staged bytes.
	return append(make([]byte, 0, len(data)), data...), nil
}

// readPart reads a part of a file. It notes nothing in the stage, as nobody has seen the complete
// file.
func readPart(l *look, args *value.Dict, offset, length int64) (value.Value, error) {
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
		return nil, limitError(value.LimitRead, "read %s: %d bytes are more than the limit of %s", l.w.Shown(s.asked), length, row.SizeText(limit)).
			WithHint("pass a smaller length, and read the rest from the next offset")
	}
	if err := membudget.Take(l.ctx, length); err != nil {
		return nil, err
	}
	data := make([]byte, length)
	n, err := f.ReadAt(data, offset)
	if err != nil && err != io.EOF {
		return nil, l.failed(reading, s.asked, err)
	}
	return data[:n], nil
}

func statPath(l *look, args *value.Dict) (value.Value, error) {
	s, err := l.toRead(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.describe(s.asked), nil
}

func pathExists(l *look, args *value.Dict) (value.Value, error) {
	s, folder, err := l.seek(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.kind() == kindNothing {
		l.sawNothing(s)
		return false, nil
	}
	return !folder || s.kind() == kindFolder, nil
}

// size returns the length of the file at a spot; 0 for anything else.
func (s *spot) size() int64 {
	switch {
	case s.staged != nil:
		return int64(len(s.staged.Data))
	case s.disk != nil && s.disk.Mode().IsRegular():
		return s.disk.Size()
	}
	return 0
}

// describe returns the result of fs.stat for a spot, with the path p of the script.
func (s *spot) describe(p string) *value.Dict {
	modified := s.look.w.now()
	if s.staged == nil && s.disk != nil {
		modified = s.disk.ModTime()
	}
	return value.NewDict(
		"name", path.Base(p),
		"path", s.look.w.Shown(p),
		"kind", string(s.kind()),
		"size", s.size(),
		"modified", modified.UTC().Format(time.RFC3339Nano),
	)
}
