package host

import (
	"io/fs"
	"maps"

	"github.com/cassidy-run/cassidy/runtime/host/internal/texts"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Source is where the scripts of a host come from; see [Dir], [FS] and
// [Scripts]. The zero value has none. It is a value that may be shared.
type Source struct {
	dir   string
	files fs.FS
}

// Dir is a project folder: its scripts lie in the folder .cassidy below path.
func Dir(path string) Source { return Source{dir: path} }

// FS is a file system with tools at its root: files that end in .star, .lua or
// .md, and what they load in lib. Beside them stand the folders workflows,
// policies, skills and agents. Its files are read again by [Host.Refresh], and
// known by their content, not by their times. A nil f is a source without files.
func FS(f fs.FS) Source { return Source{files: f} }

// Scripts is a source in memory, as [FS]: texts by the names of their files, such
// as "greet.star" or "lib/words.star". A name without a suffix, such as "greet", is
// listed by [Host.Broken]. The map is copied.
func Scripts(files map[string]string) Source { return FS(texts.Texts(maps.Clone(files))) }

// Folder returns the project folder, or "" where the source is no folder.
func (s Source) Folder() string { return s.dir }

// Files returns the file system, or nil where the source is a folder.
func (s Source) Files() fs.FS { return s.files }

// A Discovered is what a search of a source came upon.
type Discovered struct {
	Tools  []tool.Found
	Broken []*value.Error // the files of the source that are not right, with their positions
	Beside []*value.Error // other such files: those of the user
	// Workflows are the names of the workflows that are not tools, for the error of a
	// call of one.
	Workflows []string
	// Rules take the place of [Options].Rules, for the calls that begin from now on; nil
	// leaves them as they are.
	Rules []tool.Rule
	// Accepted is called when the host takes what was found; nil does nothing.
	Accepted func()
}
