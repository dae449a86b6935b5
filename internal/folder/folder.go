// Package folder reads the files of folders that may be untrusted: regular files only,
// and never more than a limit.
package folder

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode"
)

// Name is the name of the folder that makes a directory a project, and of
// the user's own.
const Name = ".cassidy"

// ToolsDir is where the tools of a project lie.
const ToolsDir = Name + "/tools"

// MaxSource is more than any engine accepts: a larger file need not be read to
// be refused.
const MaxSource = 1 << 20

// ErrNotRegular is the error of opening a device, a pipe or a folder.
var ErrNotRegular = errors.New("not a regular file")

// Same reports whether two paths lead to one file.
func Same(a, b string) bool {
	if b == "" {
		return false
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// OneLine gives a text on one line, without what could not be shown.
func OneLine(text string) string { return strings.Join(strings.Fields(Plain(text)), " ") }

// Plain drops what is not text, and control characters, with which a file could
// reach through to a terminal.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// ReadHead reads a regular file, or its beginning. Nothing else is opened: a
// pipe would be waited for.
func ReadHead(files fs.FS, name string, limit int64) (data []byte, cut bool, err error) {
	f, _, err := OpenRegular(files, name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(data)) > limit {
		return data[:limit], true, err
	}
	return data, false, err
}

// ReadTail reads whole lines from the end of a regular file.
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

// OpenRegular opens a file that is no device and no pipe. The size is that of before.
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

// ReadDir reads what is in a folder, by name; more says that it holds more
// than the limit.
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
