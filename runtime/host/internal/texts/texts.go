// Package texts is a file system of texts in memory.
package texts

import (
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Texts is a file system in memory: texts by the names of their files.
type Texts map[string]string

// Open implements [fs.FS]. A name that is the beginning of another one's path is
// a folder.
func (t Texts) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if text, ok := t[name]; ok {
		return &openText{strings.NewReader(text), textInfo{name: path.Base(name), size: len(text)}}, nil
	}
	entries := t.entries(name)
	if len(entries) == 0 && name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openFolder{info: textInfo{name: path.Base(name), folder: true}, rest: entries}, nil
}

// Misnamed returns an error for each text whose name is not a path inside a folder, and
// for each that no search would find, as one named after its tool.
func (t Texts) Misnamed() []*value.Error {
	var list []*value.Error
	for _, name := range slices.Sorted(maps.Keys(t)) {
		var e *value.Error
		switch {
		case !fs.ValidPath(name) || name == ".":
			e = value.Errorf(value.Invalid, "this is not the name of a file").WithHint("names are paths such as greet.star or lib/words.star")
		case !strings.ContainsAny(name, "./") && !strings.HasPrefix(name, "_"):
			e = value.Errorf(value.Invalid, "the name of a script needs a suffix").WithHint("name the text %[1]s.star, %[1]s.lua or %[1]s.md, by its language", value.Clean(name, 80))
		default:
			continue
		}
		e.Pos.File = strconv.Quote(value.Clean(name, 80))
		list = append(list, e)
	}
	return list
}

// entries returns what a folder holds, by name, without what is misnamed.
func (t Texts) entries(folder string) []fs.DirEntry {
	found := map[string]textInfo{}
	for name, text := range t {
		if !fs.ValidPath(name) {
			continue
		}
		if folder != "." {
			below, ok := strings.CutPrefix(name, folder+"/")
			if !ok {
				continue
			}
			name = below
		}
		first, _, deeper := strings.Cut(name, "/")
		if _, isFile := found[first]; !deeper {
			found[first] = textInfo{name: first, size: len(text)}
		} else if !isFile {
			found[first] = textInfo{name: first, folder: true}
		}
	}
	entries := make([]fs.DirEntry, 0, len(found))
	for _, info := range found {
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}

type textInfo struct {
	name   string
	size   int
	folder bool
}

func (i textInfo) Name() string     { return i.name }
func (i textInfo) Size() int64      { return int64(i.size) }
func (textInfo) ModTime() time.Time { return time.Time{} }
func (i textInfo) IsDir() bool      { return i.folder }
func (textInfo) Sys() any           { return nil }
func (i textInfo) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

type openText struct {
	*strings.Reader
	info textInfo
}

func (f *openText) Stat() (fs.FileInfo, error) { return f.info, nil }
func (*openText) Close() error                 { return nil }

type openFolder struct {
	info textInfo
	rest []fs.DirEntry
}

func (f *openFolder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (*openFolder) Close() error                 { return nil }
func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements [fs.ReadDirFile].
func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	switch {
	case n <= 0:
		n = len(f.rest)
	case len(f.rest) == 0:
		return nil, io.EOF
	}
	n = min(n, len(f.rest))
	page := f.rest[:n]
	f.rest = f.rest[n:]
	return page, nil
}
