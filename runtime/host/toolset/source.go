package toolset

import (
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Source is where the scripts of a host come from; see [Dir], [FS] and [Scripts]. The
// zero value has no scripts. A Source may be copied and used concurrently.
type Source struct {
	dir      string
	files    fs.FS
	misnamed []*value.Error
}

// Dir returns the source of a project folder: its scripts are in the folder .cassidy inside
// path.
func Dir(path string) Source { return Source{dir: path} }

// FS returns the source of a file system. Its root contains tools, which are files that end
// in .star, .lua or .md, the folder lib with what they load, and the folders workflows,
// policies, skills and agents. Host.Refresh reads the files again. A change is noticed by
// the content of a file, not by its time. A nil f is a source without files.
func FS(f fs.FS) Source { return Source{files: f} }

// Scripts returns a source in memory, with the layout of [FS]: texts by the names of their
// files, such as "greet.star" or "lib/words.star". Host.Broken lists the invalid names,
// such as one without a suffix. The map is copied.
func Scripts(files map[string]string) Source {
	s, m := Source{}, fstest.MapFS{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		e := value.Errorf(value.Invalid, "invalid file name").WithHint("use a path such as greet.star or lib/words.star")
		if fs.ValidPath(name) && name != "." {
			m[name] = &fstest.MapFile{Data: []byte(files[name]), Mode: 0o444}
			if strings.ContainsAny(name, "./") || strings.HasPrefix(name, "_") {
				continue
			}
			e = value.Errorf(value.Invalid, "the name of the script has no suffix").WithHint("use the name %[1]s.star, %[1]s.lua or %[1]s.md", value.Clean(name, 80))
		}
		e.Pos.File = strconv.Quote(value.Clean(name, 80))
		s.misnamed = append(s.misnamed, e)
	}
	s.files = m
	return s
}

// Folder returns the project folder, or "" for a source that is not a folder.
func (s Source) Folder() string { return s.dir }

// Files returns the file system, or nil for a source that is a folder.
func (s Source) Files() fs.FS { return s.files }

// Misnamed returns an error for each invalid name of [Scripts].
func (s Source) Misnamed() []*value.Error { return s.misnamed }

// A Discovered is the result of a search of a source.
type Discovered struct {
	Tools  []Found
	Broken []*value.Error // the invalid files of the source, with their positions
	Beside []*value.Error // the invalid files of the user, with their positions
	// Workflows are the names of the workflows that are not tools, for the error of a
	// call of one.
	Workflows []string
	// Accepted is called when the host accepts the result; it may be nil.
	Accepted func()
}
