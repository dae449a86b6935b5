package watch

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// maxFiles is how many files are looked at, and maxDepth how many folders deep: a link
	// may lead to a huge folder by mistake.
	maxFiles = 50_000
	maxDepth = 8
	// maxLinks is how many links are followed to one file.
	maxLinks = 16
	// young is the age up to which a file may change again at the same time: some file systems
	// store times in steps of two seconds.
	young = 2 * time.Second
)

// A tree is what was found at the paths of a watcher. All its paths are real ones, so that a
// folder is followed once, whatever links lead to it.
type tree struct {
	dirs  map[string]bool // the folders to follow; true: with all their names
	names map[string]bool // names in the other folders
	files map[string]stamp
	young bool // a file was young
	began time.Time

	stamped bool // files has the files
	count   int  // of the files
}

// A stamp identifies a version of a file.
type stamp struct {
	size  int64
	mtime time.Time
	mode  fs.FileMode
}

// survey looks at the paths of a watcher. Only with stamped, it looks at each file: the folders are found
// without that, and there can be thousands of files.
func survey(paths []string, stamped bool) *tree {
	t := &tree{dirs: map[string]bool{}, names: map[string]bool{}, files: map[string]stamp{}, began: time.Now(), stamped: stamped}
	for _, path := range paths {
		t.path(path)
	}
	return t
}

// path adds one of the paths. If its folder does not exist, it adds the nearest one that does,
// for the name that will be created in it.
func (t *tree) path(path string) {
	for {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err == nil {
			path = filepath.Join(dir, filepath.Base(path))
			t.name(path)
			t.entry(path, 0)
			return
		}
		if path == filepath.Dir(path) {
			return
		}
		path = filepath.Dir(path)
	}
}

// name follows one name in a folder.
func (t *tree) name(path string) {
	dir := filepath.Dir(path)
	if _, known := t.dirs[dir]; !known {
		t.dirs[dir] = false
	}
	t.names[path] = true
}

// entry adds what is at a path, if anything is.
func (t *tree) entry(path string, depth int) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		t.links(path)
		if path, err = filepath.EvalSymlinks(path); err == nil {
			info, err = os.Stat(path)
		}
	}
	switch {
	case err != nil || t.count >= maxFiles:
	case info.IsDir():
		t.folder(path, depth)
	default:
		t.count++
		t.files[path] = stamp{info.Size(), info.ModTime(), info.Mode()}
		t.young = t.young || t.began.Sub(info.ModTime()) < young
	}
}

// links follows the names to which a link leads.
func (t *tree) links(path string) {
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			return // not a link
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(to))
		if err != nil {
			return
		}
		path = filepath.Join(dir, filepath.Base(to))
		t.name(path)
	}
}

// folder adds a folder with all that is in it.
func (t *tree) folder(dir string, depth int) {
	if t.dirs[dir] || depth > maxDepth {
		return
	}
	t.dirs[dir] = true
	entries, _ := os.ReadDir(dir) // a folder that cannot be read has no files
	for _, e := range entries {
		if !t.stamped && e.Type().IsRegular() {
			t.count++
			continue
		}
		t.entry(filepath.Join(dir, e.Name()), depth+1)
	}
}

// concerns reports whether an event is about the paths of the watcher.
func (t *tree) concerns(e fsnotify.Event) bool {
	return t.dirs[filepath.Dir(e.Name)] || t.dirs[e.Name] || t.names[e.Name]
}

// same reports whether two surveys have found the same files.
func (t *tree) same(other *tree) bool {
	return maps.Equal(t.files, other.files) && maps.Equal(t.dirs, other.dirs)
}
