// Package fs is what scripts can do with the files of one project: the module fs, whose
// functions read, search and change them. Changes are staged, committed together, and can
// be undone.
//
// A script reaches the files below one folder, and of them those for which its call has
// the capability fs.read or fs.write. Links that lead out of the folder are not followed.
package fs

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Options say which files scripts may touch. The zero value has none.
type Options struct {
	// Root is the project's folder: files outside it do not exist for a
	// script. "" means no files.
	Root string
	// WorkDir is where relative paths begin, a folder inside Root. "" means Root.
	WorkDir string
	// Protect names folders and files that no script may change, beside .git and
	// .cassidy. They need not exist, and may be outside Root.
	Protect []string
	// Servers is the absolute path of the file that lists the user's own MCP servers, or "": no script may change what they
	// start. The list of the project, .cassidy/mcp.json, is always read.
	Servers string
	// Secret returns the paths of files that hold secrets, which no script and no command may read, by any of
	// their names. It is called concurrently. Nil means none.
	Secret func() []string
	// Unprotected are names of [protect.Obeyed] that scripts may change.
	Unprotected []string
	// Env returns a variable of the environment in which the user runs git: it decides which settings
	// of git name files that no script may change. Nil means that of this process.
	Env func(name string) string
	// Now is the clock: of files that are not on disk yet, and of the reports of a search. It is
	// called concurrently. Nil means time.Now.
	Now func() time.Time
	// Limits bound what files may cost. Zero fields mean the defaults.
	Limits Limits
	// Launch runs the program that reads Parquet files, confined. Nil means that such files cannot be read.
	Launch tool.Launcher
}

// Limits bound what the effects on files may cost. A field that is not positive means
// its default, which is large enough for the texts of any source tree, and far below the
// memory of a host. What exceeds one is an error of kind Limit.
type Limits struct {
	Read    int64 // bytes of one file that is read; 8 MB
	Write   int64 // bytes of one file that is written, or that an edit adds to one; 8 MB
	Total   int64 // bytes that one call writes, and that it replaces, in one file or many; 32 MB
	Files   int   // files and folders that one call changes; 256
	Entries int   // entries that one list, glob or search returns; 10,000
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

// Files are the files of one project, as scripts may read and change them. They are
// safe for concurrent use, apart from Close; open them with [Open].
type Files struct {
	*Folder
	now    func() time.Time
	limits Limits
	launch tool.Launcher // or nil

	buffers sync.Pool // of *[]byte, see [Files.buffer]
	// committing is taken by the commit in progress: of two calls that changed one
	// file, the second meets the conflict. The lock of the folder excludes other
	// processes.
	committing chan struct{}
}

// A Folder is a project's folder: it decides which paths are in it, and which of them no
// script may change. It is safe for concurrent use, apart from Close.
type Folder struct {
	Root *os.Root // nil: no files

	bases []string // the root's absolute names: as given, and with links followed
	kept  []string // what no script may change, relative to the root and folded
	free  atomic.Pointer[[]string]
	env   func(name string) string
	// secret is Options.Secret.
	secret func() []string
	// servers is Options.Servers.
	servers string
	work    string // where relative paths begin, relative to the root; "." is the root
}

// Open opens the project's folder. It stays open until Close, and stays the same one
// when it is renamed. Its error is of kind Failed where Root cannot be opened, with that
// of the file system, and of kind Invalid where WorkDir is not in it. Nil options are the zero value.
func Open(o *Options) (*Files, error) {
	if o == nil {
		o = &Options{}
	}
	w := &Files{Folder: &Folder{work: "."}, now: o.Now, limits: o.Limits.orDefaults(), launch: o.Launch, committing: make(chan struct{}, 1)}
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
	w.secret, w.servers = o.Secret, o.Servers
	w.Unprotect(o.Unprotected)
	if w.env = o.Env; w.env == nil {
		w.env = os.Getenv
	}
	if o.WorkDir == "" {
		return w, nil
	}
	work, _, err := w.Resolve(filepath.ToSlash(o.WorkDir))
	if err != nil {
		w.Root.Close()
		return nil, value.Errorf(value.Invalid, "working directory %q is not inside the project %q", o.WorkDir, o.Root)
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
	w.bases = []string{filepath.ToSlash(abs)}
	if followed, err := filepath.EvalSymlinks(abs); err == nil && followed != abs {
		w.bases = append(w.bases, filepath.ToSlash(followed))
	}
	return nil
}

// Path returns the path of the folder with all links followed, or "" where there are no
// files.
func (w *Folder) Path() string {
	if len(w.bases) == 0 {
		return ""
	}
	return filepath.FromSlash(w.bases[len(w.bases)-1])
}

// Close closes the folder. No effect may be under way.
func (w *Folder) Close() error {
	if w.Root == nil {
		return nil
	}
	return w.Root.Close()
}

// Module returns the module fs. Its functions of the mode [tool.ModeInternal] are for the
// host: prepare and commit write what a call has staged, restore undoes a commit, and reconcile
// finds out whether a commit that a crash interrupted was carried out.
func (w *Files) Module() tool.Module {
	return tool.Module{
		Name:  "fs",
		Doc:   "Files of the project. Paths are relative to the working directory. A call of a tool sees its own changes immediately. The changes are written to disk when the call of the tool succeeds. If the call runs a command, calls another tool, asks a person or a model, sends a request or sleeps, its earlier changes are written to disk before this step.",
		Funcs: slices.Concat(w.readFuncs(), w.walkFuncs(), w.writeFuncs(), w.commitFuncs()),
	}
}
