// Package folder reads files of untrusted folders: only regular files, with size
// limits.
package folder

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Name is the name of the project's folder and of the user's own folder.
const Name = ".cassidy"

// ToolsDir is the folder of a project's tools.
const ToolsDir = Name + "/tools"

// MaxSource is more than any engine accepts. Larger files are rejected unread.
const MaxSource = 1 << 20

// ErrNotRegular is the error of opening a device, a pipe or a folder.
var ErrNotRegular = errors.New("not a regular file")

// Same reports whether two paths refer to the same file.
func Same(a, b string) bool {
	if b == "" {
		return false
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// OneLine returns a text on one line, with escapes for control characters.
func OneLine(text string) string { return strings.Join(strings.Fields(Plain(text)), " ") }

// Plain escapes invalid UTF-8 and control characters, with which a file could control a
// terminal.
func Plain(text string) string { return value.Clean(text, math.MaxInt) }

// ReadHead reads the first limit bytes of a regular file. It opens no other files:
// opening a pipe would block.
func ReadHead(files fs.FS, name string, limit int64) (data []byte, cut bool, err error) {
	f, size, err := OpenRegular(files, name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	text := bytes.NewBuffer(make([]byte, 0, min(size, limit)+bytes.MinRead)) // not reallocated if the size has not changed
	_, err = text.ReadFrom(io.LimitReader(f, limit+1))
	if data = text.Bytes(); int64(len(data)) > limit {
		return data[:limit], true, err
	}
	return data, false, err
}

// ReadText reads a text file of at most limit bytes.
func ReadText(files fs.FS, name string, limit int64) (string, error) {
	data, cut, err := ReadHead(files, name, limit)
	switch {
	case err != nil:
		return "", err
	case cut:
		return "", value.Errorf(value.Limit, "the file is longer than %d KB", limit>>10).WithHint("shorten the file, or split it")
	case !utf8.Valid(data):
		return "", value.Errorf(value.Invalid, "the file is not UTF-8 text")
	}
	return string(data), nil
}

// errOutside replaces the error of [os.Root] for a path or a link that leads out of it.
var errOutside = errors.New("the path leads out of the folder")

// Cause returns an error of the file system without the operations and the paths, which
// messages name otherwise.
func Cause(err error) error {
	for {
		var path *fs.PathError
		var link *os.LinkError
		switch {
		case errors.As(err, &path):
			err = path.Err
		case errors.As(err, &link):
			err = link.Err
		case err != nil && err.Error() == "path escapes from parent": // package os does not export it
			return errOutside
		default:
			return err
		}
	}
}

// FileError converts an error to one of a file, unless it names a file already.
func FileError(err error, file string) *value.Error {
	e := *value.ErrorOf(err, value.Invalid)
	if cause := Cause(err); cause != err {
		e.Err = cause
	}
	if e.Pos.File == "" {
		e.Pos.File = file
	}
	return &e
}

// ReadTail reads full lines from the end of a regular file.
func ReadTail(files fs.FS, name string, limit int64) ([]byte, error) {
	f, _, err := OpenRegular(files, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	seeker, ok := f.(io.Seeker)
	if info.Size() <= limit || !ok {
		return io.ReadAll(io.LimitReader(f, limit))
	}
	if _, err := seeker.Seek(-limit, io.SeekEnd); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	_, whole, _ := bytes.Cut(data, []byte("\n"))
	return whole, err
}

// OpenRegular opens a regular file. The size is from before opening.
func OpenRegular(files fs.FS, name string) (file fs.File, size int64, err error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, ErrNotRegular
	}
	file, err = files.Open(name)
	return file, info.Size(), err
}

// ReadDir reads the entries of a folder, sorted by name. more reports that there are
// more than the limit.
func ReadDir(files fs.FS, dir string, limit int) (entries []fs.DirEntry, more bool, err error) {
	info, err := fs.Stat(files, dir)
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		return nil, false, errors.New("not a folder")
	}
	f, err := files.Open(dir)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	list, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, false, errors.New("not a folder")
	}
	entries, err = list.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if more = len(entries) > limit; more {
		entries = entries[:limit]
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, more, nil
}
