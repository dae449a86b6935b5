package folder

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
)

// ToolFiles is a project's folder of tools. It is opened in a root at the project, so
// no link leads out of the project.
type ToolFiles struct {
	root  *os.Root // the project
	tools *os.Root // its folder of tools, if it exists: a shorter path to most files
}

// ToolsIn returns the files of a project's folder of tools. The caller keeps ownership
// of the root, so they are not to be closed.
func ToolsIn(root *os.Root) ToolFiles { return ToolFiles{root: root} }

// OpenTools returns the files of a project's folder of tools. Closing them closes the
// root.
func OpenTools(root *os.Root) ToolFiles {
	tools, err := root.OpenRoot(ToolsDir)
	if err != nil {
		tools = nil // opening a file reports the error
	}
	return ToolFiles{root, tools}
}

// Open opens a file. A link from the folder of tools to elsewhere in the project is
// followed from the project.
func (r ToolFiles) Open(name string) (fs.File, error) {
	if r.tools != nil {
		if f, err := r.tools.Open(name); err == nil {
			return f, nil
		}
	}
	return r.root.Open(path.Join(ToolsDir, name))
}

// Stat implements [fs.StatFS].
func (r ToolFiles) Stat(name string) (fs.FileInfo, error) {
	if r.tools != nil {
		if info, err := r.tools.Stat(name); err == nil {
			return info, nil
		}
	}
	return r.root.Stat(path.Join(ToolsDir, name))
}

// Lstat implements [fs.ReadLinkFS].
func (r ToolFiles) Lstat(name string) (fs.FileInfo, error) {
	if r.tools != nil {
		if info, err := r.tools.Lstat(name); err == nil {
			return info, nil
		}
	}
	return r.root.Lstat(path.Join(ToolsDir, name))
}

// ReadDir implements [fs.ReadDirFS]. It does not stat the files: that takes longer than
// reading the names, and package project does it in parallel.
func (r ToolFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, ok := f.(*os.File)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	entries := make([]fs.DirEntry, len(names))
	for i, file := range names {
		if name != "." {
			file = path.Join(name, file)
		}
		entries[i] = &rootEntry{r, file}
	}
	return entries, nil
}

// Close implements [io.Closer].
func (r ToolFiles) Close() error {
	if r.tools == nil {
		return r.root.Close()
	}
	return errors.Join(r.tools.Close(), r.root.Close())
}

// A rootEntry is an entry of a folder that is not examined until needed.
type rootEntry struct {
	files ToolFiles
	path  string
}

func (e *rootEntry) Name() string               { return path.Base(e.path) }
func (e *rootEntry) Info() (fs.FileInfo, error) { return e.files.Lstat(e.path) }
func (e *rootEntry) IsDir() bool                { return e.Type().IsDir() }

// Type returns the type of the file, or [fs.ModeIrregular] if it is unknown.
func (e *rootEntry) Type() fs.FileMode {
	info, err := e.Info()
	if err != nil {
		return fs.ModeIrregular
	}
	return info.Mode().Type()
}
