package protect

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Names finds the other names of a path by which the pattern of a rule may cover it: names
// that lead there by links, and other names of the same file or folder. It searches a folder
// for links once, so make one for each run. It is safe for concurrent use.
type Names struct {
	of       *Project
	mu       sync.Mutex
	searched map[string][]lead // by the literal part of a pattern
}

// Names returns the names of the project's paths.
func (p *Project) Names() *Names { return &Names{of: p, searched: map[string][]lead{}} }

// A lead is what a name leads to.
type lead struct {
	name  string // as a pattern may have it
	place        // known
}

const (
	// maxNames is how many names of a path are found. Only links in a circle make so many.
	maxNames = 256
	// maxSearched is how many entries of folders are searched for links that a wildcard may
	// match.
	maxSearched = 100_000
)

// Of returns the other names of a path, without links, for a pattern. fold reports whether
// the letters of the path have no case: the file system ignores it, or nothing is there.
//
// With opened, the path is one that was opened: it can have links. Then the first of the names has
// no links, and the names of hard links are searched in the folder that the pattern names before its
// first wildcard. For an absolute path, the first of the names is relative to the project. There
// are no names if the path leads out of the project.
func (n *Names) Of(pattern, name string, opened bool) (names []string, fold func() bool) {
	fold = func() bool { return false }
	if n.of.Root == nil {
		return nil, fold
	}
	absolute, inside := filepath.IsAbs(name), true
	if absolute {
		name, inside = n.of.inside(filepath.ToSlash(name))
	}
	at := place{path: name}
	if inside && opened {
		at, _, inside = n.of.resolve(place{path: "."}, name)
	}
	if !inside {
		return nil, fold
	}
	at = n.of.look(at)
	fold = func() bool { return n.folds(at) }
	leads := n.leads(pattern)
	names = n.without(leads, at)
	switch {
	case !opened && absolute:
		return names, fold
	case !opened:
		return names[1:], fold
	}
	for _, other := range n.hardLinks(pattern, at) {
		names = append(names, n.without(leads, place{path: other, info: at.info, known: true})...)
	}
	return names, fold
}

// without is Of for a path without links, which is the first of the names.
func (n *Names) without(leads []lead, at place) (names []string) {
	names = []string{at.path}
	add := func(name string) {
		if len(names) < maxNames && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for dir := at; len(leads) > 0; dir = n.of.look(place{path: path.Dir(dir.path)}) {
		for _, l := range leads {
			if rest, ok := under(at.path, dir.path); ok && l.is(dir) {
				add(path.Join(l.name, rest))
			}
		}
		if dir.path == "." {
			break
		}
	}
	for i := 0; i < len(names); i++ { // a link may be behind another one
		for _, l := range leads {
			if rest, ok := under(names[i], l.path); ok {
				add(path.Join(l.name, rest))
			}
		}
	}
	return names
}

// hardLinks returns the other names of a file in the folder that a pattern names before its first
// wildcard. It searches no folders that links lead to.
func (n *Names) hardLinks(pattern string, at place) (names []string) {
	if at.info == nil || !at.info.Mode().IsRegular() || !mayHaveLinks(at.info) {
		return nil
	}
	head, _ := splitPattern(pattern)
	start, _, inside := n.of.Resolve(head)
	if !inside {
		return nil
	}
	n.walk(start, func(name string, e fs.DirEntry) (next string) {
		if other, err := e.Info(); err == nil && name != at.path && len(names) < maxNames && os.SameFile(at.info, other) {
			names = append(names, name)
		}
		return ""
	})
	return names
}

// is reports whether a place is what the name leads to.
func (l *lead) is(at place) bool {
	if l.info == nil || at.info == nil {
		return l.info == nil && at.info == nil && strings.EqualFold(at.path, l.path)
	}
	return os.SameFile(at.info, l.info)
}

// under returns the path of what is in a folder, relative to the folder. The folder itself
// is ".".
func under(at, dir string) (rest string, ok bool) {
	switch {
	case dir == ".":
		return at, true
	case at == dir:
		return ".", true
	}
	return strings.CutPrefix(at, dir+"/")
}

// leads returns what the parts of a pattern before its first wildcard lead to, and the links
// that the rest may match.
func (n *Names) leads(pattern string) (leads []lead) {
	head, all := splitPattern(pattern)
	at, name, inside := place{path: "."}, ".", true
	for part := range strings.SplitSeq(head, "/") {
		if part == "." {
			continue
		}
		if at, _, inside = n.of.resolve(at, part); !inside {
			break
		}
		at, name = n.of.look(at), path.Join(name, part)
		leads = append(leads, lead{name, at})
	}
	if all || head != "." && (len(leads) == 0 || leads[len(leads)-1].info == nil) { // nothing is there, so it has no links
		return leads
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	links, ok := n.searched[head]
	if !ok {
		links = n.search(head)
		n.searched[head] = links
	}
	return append(leads, links...)
}

// splitPattern returns the parts of a pattern before its first wildcard, or ".". all reports that
// it has none.
func splitPattern(pattern string) (head string, all bool) {
	head, rest := ".", strings.Split(pattern, "/")
	for len(rest) > 0 && !strings.ContainsAny(rest[0], `*?[{\`) {
		head, rest = path.Join(head, rest[0]), rest[1:]
	}
	return head, len(rest) == 0
}

// search returns what the links in a folder lead to, and those in the folders that links lead
// to. It leaves out what git has stored.
func (n *Names) search(head string) (links []lead) {
	start, _, inside := n.of.Resolve(head)
	if !inside {
		return nil
	}
	n.walk(start, func(name string, e fs.DirEntry) (next string) {
		if e.Type()&fs.ModeSymlink == 0 {
			return ""
		}
		to, _, inside := n.of.resolve(place{path: "."}, name)
		if !inside {
			return ""
		}
		links = append(links, lead{name, n.of.look(to)})
		return to.path
	})
	return links
}

// walk visits what is in a folder and in the folders below it, except what git has stored. It also
// walks through each folder that visit returns.
func (n *Names) walk(start string, visit func(name string, e fs.DirEntry) (next string)) {
	seen, left := map[string]bool{}, maxSearched
	for dirs := []string{start}; len(dirs) > 0 && left > 0; {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		if seen[dir] || path.Base(dir) == Git {
			continue
		}
		seen[dir] = true
		f, err := n.of.Root.Open(dir)
		if err != nil {
			continue
		}
		entries, _ := f.ReadDir(left) // what cannot be read has no names that can be used
		f.Close()
		left -= len(entries)
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if e.IsDir() {
				dirs = append(dirs, name)
			} else if next := visit(name, e); next != "" {
				dirs = append(dirs, next)
			}
		}
	}
}

// folds reports whether the letters of a path have no case.
func (n *Names) folds(at place) bool {
	if at.info == nil {
		return true
	}
	other, err := n.of.Root.Lstat(strings.Map(swapCase, at.path))
	return err == nil && os.SameFile(at.info, other)
}

func swapCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}
