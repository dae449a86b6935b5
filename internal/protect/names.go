package protect

import (
	"io/fs"
	"os"
	"path"
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
	name string      // as a pattern may have it
	path string      // without links
	info fs.FileInfo // nil if nothing is there
}

const (
	// maxNames is how many names of a path are found. Only links in a circle make so many.
	maxNames = 256
	// maxSearched is how many entries of folders are searched for links that a wildcard may
	// match.
	maxSearched = 100_000
)

// Of returns the other names of a path, without links, for a pattern. fold reports that
// the letters of the path have no case: the file system ignores it, or nothing is there.
func (n *Names) Of(pattern, at string) (names []string, fold bool) {
	if n.of.Root == nil {
		return nil, false
	}
	leads := n.leads(pattern)
	names = []string{at}
	add := func(name string) {
		if len(names) < maxNames && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for dir := at; ; dir = path.Dir(dir) {
		info, _ := n.of.Root.Lstat(dir)
		for _, l := range leads {
			if rest, ok := under(at, dir); ok && l.is(dir, info) {
				add(path.Join(l.name, rest))
			}
		}
		if dir == "." {
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
	return names[1:], n.folds(at)
}

// is reports whether a path, where info is or nothing, is what the name leads to.
func (l *lead) is(at string, info fs.FileInfo) bool {
	if l.info == nil || info == nil {
		return l.info == nil && info == nil && strings.EqualFold(at, l.path)
	}
	return os.SameFile(info, l.info)
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
	head, rest := ".", strings.Split(pattern, "/")
	for len(rest) > 0 && !strings.ContainsAny(rest[0], `*?[{\`) {
		head, rest = path.Join(head, rest[0]), rest[1:]
		leads = n.follow(leads, head)
	}
	if len(rest) == 0 {
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

// follow adds what a name leads to, unless that is outside of the project.
func (n *Names) follow(leads []lead, name string) []lead {
	at, _, inside := n.of.Resolve(name)
	if !inside {
		return leads
	}
	info, err := n.of.Root.Lstat(at)
	if err != nil {
		info = nil
	}
	return append(leads, lead{name, at, info})
}

// search returns what the links in a folder lead to, and those in the folders that links lead
// to. It leaves out what git has stored.
func (n *Names) search(head string) (links []lead) {
	start, _, inside := n.of.Resolve(head)
	if !inside {
		return nil
	}
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
			switch {
			case e.IsDir():
				dirs = append(dirs, name)
			case e.Type()&fs.ModeSymlink != 0:
				if links = n.follow(links, name); len(links) > 0 && links[len(links)-1].name == name {
					dirs = append(dirs, links[len(links)-1].path)
				}
			}
		}
	}
	return links
}

// folds reports whether the letters of a path have no case.
func (n *Names) folds(at string) bool {
	info, err := n.of.Root.Lstat(at)
	if err != nil {
		return true
	}
	other, err := n.of.Root.Lstat(strings.Map(swapCase, at))
	return err == nil && os.SameFile(info, other)
}

func swapCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}
