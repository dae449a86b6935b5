// Package fs is what scripts can do with the files of one project: read, search and
// change them. Changes are staged, committed together, and can be undone.
package fs

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Options say which files scripts may touch.
type Options struct {
	// Root is the project's folder: files outside it do not exist for a
	// script. "" means no files.
	Root string
	// WorkDir is where relative paths begin, a folder inside Root. "" means Root.
	WorkDir string
	// Protect names folders and files that no script may change.
	Protect []string
	// Now is the clock of files that are not on disk yet. Nil means time.Now.
	Now func() time.Time
	// Limits bound what files may cost. Zero fields mean the defaults.
	Limits Limits
}

// Limits bound what the effects on files may cost. A zero field means its
// default. The defaults hold any source tree's text and keep what one call can
// make its host hold far below what a host has.
type Limits struct {
	Read    int64 // bytes of one file that is read; 8 MB
	Write   int64 // bytes of one file that is written; 8 MB
	Total   int64 // bytes that one call writes, and that it replaces; 32 MB
	Files   int   // files that one call changes, and folders; 256
	Entries int   // of what one list, glob or search gives; 10,000
}

func (l Limits) orDefaults() Limits {
	const mb = 1 << 20
	fill := func(n *int64, otherwise int64) {
		if *n <= 0 {
			*n = otherwise
		}
	}
	fill(&l.Read, 8*mb)
	fill(&l.Write, 8*mb)
	fill(&l.Total, 32*mb)
	if l.Files <= 0 {
		l.Files = 256
	}
	if l.Entries <= 0 {
		l.Entries = 10_000
	}
	return l
}

// Files are the files of one project, as scripts may read and change them. They
// are safe for concurrent use.
type Files struct {
	*Folder
	now    func() time.Time
	limits Limits

	buffers sync.Pool // of *[]byte, see [Files.buffer]
	// committing keeps the check of a commit and its writes together, so that
	// of two calls that changed one file the second meets the conflict.
	committing sync.Mutex
}

// A Folder is a project's folder: it judges which paths are in it, and which of
// them no script may change.
type Folder struct {
	Root  *os.Root // nil: no files
	Bases []string // the root's absolute names: as given, and with links followed
	kept  []string // what no script may change, relative to the root and folded
	work  string   // where relative paths begin, relative to the root; "." is the root
}

// Open opens the project's folder. It stays open until [Files.Close], and stays
// the one that it was when it is renamed. Nil options have no files.
func Open(o *Options) (*Files, error) {
	if o == nil {
		o = &Options{}
	}
	w := &Files{Folder: &Folder{work: "."}, now: o.Now, limits: o.Limits.orDefaults()}
	if w.now == nil {
		w.now = time.Now
	}
	if o.Root == "" {
		return w, nil
	}
	if err := w.open(o.Root); err != nil {
		return nil, err
	}
	w.keepOut(o.Protect)
	if o.WorkDir == "" {
		return w, nil
	}
	work, _, err := w.Resolve(filepath.ToSlash(o.WorkDir))
	if err != nil {
		w.Root.Close()
		return nil, value.Errorf(value.Invalid, "working directory %s is not inside %s", o.WorkDir, o.Root)
	}
	w.work = work
	return w, nil
}

func (w *Folder) open(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return value.Errorf(value.Failed, "open project: %w", err)
	}
	if w.Root, err = os.OpenRoot(abs); err != nil {
		return value.Errorf(value.Failed, "open project: %w", err)
	}
	w.Bases = []string{filepath.ToSlash(abs)}
	if followed, err := filepath.EvalSymlinks(abs); err == nil && followed != abs {
		w.Bases = append(w.Bases, filepath.ToSlash(followed))
	}
	return nil
}

// Close closes the folder. No effect may be under way.
func (w *Folder) Close() error {
	if w.Root == nil {
		return nil
	}
	return w.Root.Close()
}

// Module returns the effects on files. Rows marked Internal are for the host: commit
// carries out what a call has staged, restore takes a commit back.
func (w *Files) Module() tool.Module {
	return tool.Module{
		Name:  "fs",
		Doc:   "Files of the project. Paths are relative to the working directory. Changes are seen by the call at once, and reach the disk when it succeeds.",
		Funcs: slices.Concat(w.fsReadFuncs(), w.fsWalkFuncs(), w.fsWriteFuncs(), w.fsCommitFuncs()),
	}
}
