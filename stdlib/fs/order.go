package fs

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The permissions of new files and folders, before the umask of the process.
const (
	newFile   = 0o644
	newFolder = 0o755
)

// A diskStep is one change of a commit, compared with the disk.
type diskStep struct {
	tool.Change
	Now  tool.FileState // what is on disk, with content
	Info fs.FileInfo    // the same from the system; nil for nothing
}

// changesOf returns the changes of steps with the content that was on disk.
func changesOf(steps []*diskStep) []tool.Change {
	return value.Map(steps, func(s *diskStep) tool.Change { return tool.Change{Path: s.Path, Before: s.Now, After: s.After} })
}

// An operation is one change on the disk. It creates or removes a thing, or replaces it by one
// of the same kind.
type operation struct {
	Path          string
	Before, After tool.FileState
	Info          fs.FileInfo // what must be there, unchanged, when it begins
	Exact         bool        // set the permissions independently of the umask
}

// IsFile reports whether the operation writes a file.
func (op *operation) IsFile() bool { return op.After.Exists && !op.After.Dir }

// IsFolder reports whether the operation makes or removes a folder.
func (op *operation) IsFolder() bool { return op.Before.Dir || op.After.Dir }

// inOrder returns the operations of steps, in an order in which each is possible and in which
// nothing is removed before everything new is there. First it removes things that are
// replaced by another kind; then it makes folders from the top, writes files, and removes
// the rest from the bottom.
func inOrder(steps []*diskStep, exact bool) []operation {
	var inTheWay []string
	for _, s := range steps {
		if changesKind(s.Change) {
			inTheWay = append(inTheWay, s.Path)
		}
	}
	early := func(p string) bool {
		return slices.ContainsFunc(inTheWay, func(top string) bool { return p == top || strings.HasPrefix(p, top+"/") })
	}
	var first, folders, files, last []operation
	for _, s := range steps {
		op := operation{Path: s.Path, Before: s.Now, After: s.After, Info: s.Info}
		op.Exact = exact || s.Before.Exists || s.After.Mode != newFile && s.After.Mode != newFolder
		if s.Before.Exists && s.After.Mode == s.Before.Mode {
			op.After.Mode = s.Now.Mode // keep a mode that was changed meanwhile
		}
		if s.Before.Exists && early(s.Path) {
			first = append(first, operation{Path: s.Path, Before: s.Now, Info: s.Info, Exact: true})
			op.Before, op.Info = tool.FileState{}, nil
		}
		switch {
		case op.After.Dir:
			folders = append(folders, op)
		case op.After.Exists:
			files = append(files, op)
		case op.Before.Exists:
			last = append(last, op)
		}
	}
	slices.SortFunc(folders, func(a, b operation) int { return cmp.Compare(a.Path, b.Path) })
	for _, ops := range [][]operation{first, last} {
		slices.SortFunc(ops, func(a, b operation) int { return cmp.Compare(b.Path, a.Path) })
	}
	return slices.Concat(first, folders, files, last)
}

// changesKind reports whether a change replaces a file by a folder or a folder by a file. That
// takes two operations, with nothing there between them.
func changesKind(c tool.Change) bool {
	return c.Before.Exists && c.After.Exists && c.Before.Dir != c.After.Dir
}
