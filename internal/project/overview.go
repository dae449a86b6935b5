package project

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The limits of the overview of a project's files.
const (
	maxWalked     = 20_000 // files and folders to count; takes about a second
	maxWalkedDeep = 40     // depth of folders under the project's
	treeLines     = 60     // lines of the tree: in total,
	treeInFolder  = 12     // per folder,
	treeDeep      = 3      // and its depth
	shownSuffixes = 8      // how many kinds of files are counted separately
	maxSuffix     = 12
	shownFiles    = 5 // of the largest and of the latest files
)

// A treeNode is a folder of the project.
type treeNode struct {
	name  string
	path  string
	dirs  []*treeNode
	files []treeFile
	count int   // of the files in it and its subfolders
	size  int64 // of those files, in bytes
}

// A treeFile is a file of the project.
type treeFile struct {
	path    string
	size    int64
	changed time.Time
}

// A walk counts the files of a project. It does not follow links, and skips hidden
// folders and dependencies.
type walk struct {
	ctx   context.Context
	files fs.FS
	left  int // how many more files and folders may be counted
	all   []treeFile
	cut   bool // the limit was reached
}

// skipped are folders of fetched dependencies.
var skipped = []string{"node_modules", "vendor", "__pycache__"}

// files writes the overview of the files.
func (b *briefing) files(ctx context.Context, details bool) error {
	w := &walk{ctx: ctx, files: b.root, left: maxWalked}
	top, err := w.folder(".", 0)
	if err != nil {
		return err
	}
	b.line("\n## Files\n\n%s%s", countFiles(top.count, top.size), w.suffixes())
	if w.cut {
		b.line("(only the first %d files and folders are counted)", maxWalked)
	}
	lines := treeLines
	b.line("")
	b.tree(top, 0, &lines)
	if details && len(w.all) > 0 {
		b.line("\n### Largest Files\n")
		for _, f := range w.first(func(x, y treeFile) int { return cmp.Compare(y.size, x.size) }) {
			b.named = append(b.named, f.path)
			b.line("- %s (%s)", folder.OneLine(f.path), showSize(f.size))
		}
		b.line("\n### Latest Files\n")
		for _, f := range w.first(func(x, y treeFile) int { return y.changed.Compare(x.changed) }) {
			b.named = append(b.named, f.path)
			b.line("- %s (%s)", folder.OneLine(f.path), f.changed.UTC().Format("2006-01-02 15:04"))
		}
	}
	return nil
}

func (w *walk) folder(dir string, depth int) (*treeNode, error) {
	if w.ctx.Err() != nil {
		return nil, value.Errorf(value.Canceled, "the call was cancelled")
	}
	n := &treeNode{name: path.Base(dir), path: dir}
	entries, more, err := folder.ReadDir(w.files, dir, w.left)
	if err != nil {
		if depth == 0 {
			return nil, value.Errorf(value.Failed, "read the project's folder: %w", folder.Cause(err))
		}
		return n, nil // unreadable folders are skipped
	}
	w.cut = w.cut || more
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || slices.Contains(skipped, e.Name()) {
			continue
		}
		if w.left--; w.left < 0 {
			w.cut = true
			break
		}
		switch {
		case e.IsDir() && depth < maxWalkedDeep:
			sub, err := w.folder(name, depth+1)
			if err != nil {
				return nil, err
			}
			n.dirs = append(n.dirs, sub)
			n.count, n.size = n.count+sub.count, n.size+sub.size
		case e.Type().IsRegular():
			info, err := e.Info()
			if err != nil {
				continue // removed meanwhile
			}
			f := treeFile{name, info.Size(), info.ModTime()}
			n.files, w.all = append(n.files, f), append(w.all, f)
			n.count, n.size = n.count+1, n.size+f.size
		}
	}
	return n, nil
}

// first returns the first files in some order.
func (w *walk) first(order func(x, y treeFile) int) []treeFile {
	list := slices.Clone(w.all)
	slices.SortStableFunc(list, order)
	return list[:min(len(list), shownFiles)]
}

// suffixes counts the files by suffix, as in ": 12 .go, 3 .md".
func (w *walk) suffixes() string {
	counts := map[string]int{}
	var names []string
	for _, f := range w.all {
		suffix := folder.OneLine(path.Ext(f.path))
		if len(suffix) > maxSuffix || strings.Contains(suffix, " ") { // a sentence, and none that is judged as a name
			suffix = ""
		}
		if suffix == "" {
			suffix = "without suffix"
		}
		if counts[suffix]++; counts[suffix] == 1 {
			names = append(names, suffix)
		}
	}
	slices.SortFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(counts[y], counts[x]), strings.Compare(x, y))
	})
	var parts []string
	for _, name := range names[:min(len(names), shownSuffixes)] {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > shownSuffixes:
		parts = append(parts, fmt.Sprintf("%d other kinds", len(names)-shownSuffixes))
	}
	return ": " + strings.Join(parts, ", ")
}

// tree writes a folder: its files, then its subfolders, up to the remaining lines.
func (b *briefing) tree(n *treeNode, depth int, lines *int) {
	indent := strings.Repeat("  ", depth)
	draw := func(at, format string, args ...any) {
		if *lines--; *lines >= 0 {
			if at != "" {
				b.named = append(b.named, at)
			}
			b.line(indent+format, args...)
		}
	}
	for _, f := range n.files[:min(len(n.files), treeInFolder)] {
		draw(f.path, "%s (%s)", folder.OneLine(path.Base(f.path)), showSize(f.size))
	}
	if more := len(n.files) - treeInFolder; more > 0 {
		draw("", "… %d more files", more)
	}
	for i, sub := range n.dirs {
		if i == treeInFolder {
			draw("", "… %d more folders", len(n.dirs)-i)
			break
		}
		draw(sub.path, "%s/ (%s)", folder.OneLine(sub.name), countFiles(sub.count, sub.size))
		if depth+1 < treeDeep {
			b.tree(sub, depth+1, lines)
		}
	}
	if depth == 0 && *lines < 0 {
		b.line("… %d more lines", -*lines)
	}
}

func countFiles(n int, size int64) string {
	if n == 0 {
		return "no files"
	}
	if n == 1 {
		return "1 file, " + showSize(size)
	}
	return fmt.Sprintf("%d files, %s", n, showSize(size))
}

// showSize formats a number of bytes.
func showSize(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}
