package fs

import (
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

func (w *Files) fsWalkFuncs() []tool.Func {
	return []tool.Func{
		w.fsReadFunc(w.anyPath, (*look).list, tool.Func{
			Name:    "list",
			Doc:     "List what is in a folder, by name. What the tool may not read is left out.",
			Params:  []tool.Param{tool.Optional("path", tool.TypeString, ".", "the folder")},
			Returns: `a list of {"name", "path", "kind": "file", "dir" or "other", "size", "modified"}`,
		}),
		w.globFunc(),
		w.searchFunc(),
	}
}

// fsListed is how many dicts of five fields a list can hold and still be one
// value.
const fsListed = (value.MaxNodes - 1) / 11

func (l *look) list(args *value.Dict) (value.Value, error) {
	s, err := l.toRead(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.kind() != fsFolder {
		return nil, s.notFolder()
	}
	l.budget = min(l.w.limits.Entries, fsListed)
	inside, err := l.open(s)
	if err != nil {
		return nil, err
	}
	defer inside.close()
	list := value.List{}
	for _, child := range inside.spots {
		if l.allows(reads(child.path)) == nil {
			list = append(list, l.throughLink(child).describe(child.path))
		}
	}
	return list, nil
}

// throughLink returns what a link leads to, if that is inside and may be read,
// else the spot itself. What it returns is for looking at only.
func (l *look) throughLink(s *spot) *spot {
	if s.disk == nil || s.disk.Mode()&os.ModeSymlink == 0 {
		return s
	}
	end, err := l.find(s.path, fsFollowAll)
	if err != nil {
		return s
	}
	end.close()
	if end.kind() == fsNothing || l.allows(reads(end.path)) != nil {
		return s
	}
	return end
}

// An fsInside is an open folder and what is in it.
type inside struct {
	dir   *os.Root // nil for a folder that is only staged
	spots []*spot
}

func (in *inside) close() {
	if in.dir != nil {
		in.dir.Close()
	}
}

// open lists the folder at a spot, on disk and staged, in the order in which
// the paths below it sort: a folder stands where its name with a slash does.
func (l *look) open(folder *spot) (*inside, error) {
	in := &inside{}
	names := slices.Clone(l.stagedIn(folder.path))
	if folder.staged == nil {
		dir, err := l.openFolder(folder)
		if err != nil {
			return nil, err
		}
		in.dir = dir
		onDisk, err := l.names(dir, folder.path)
		if err != nil {
			in.close()
			return nil, err
		}
		names = append(names, onDisk...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		s, err := l.child(in.dir, folder.path, name)
		if err != nil {
			in.close()
			return nil, err
		}
		if s != nil {
			in.spots = append(in.spots, s)
		}
	}
	slices.SortFunc(in.spots, func(a, b *spot) int { return strings.Compare(a.order(), b.order()) })
	return in, nil
}

func (s *spot) order() string {
	if s.kind() == fsFolder {
		return s.name + "/"
	}
	return s.name
}

// names reads the names in a folder, and no more than may still be met.
func (l *look) names(dir *os.Root, folder string) ([]string, error) {
	const batch = 1000 // the context is looked at between batches
	f, err := dir.Open(".")
	if err != nil {
		return nil, l.failed("read", folder, err)
	}
	defer f.Close()
	var names []string
	for {
		more, err := f.Readdirnames(batch)
		names = append(names, more...)
		if l.budget -= len(more); l.budget < 0 {
			return nil, fsLimit(value.LimitEntries, "too many files in %s", l.w.Shown(folder)).WithHint("name a folder further down")
		}
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err == nil {
			err = row.Stopped(l.ctx)
		}
		if err != nil {
			return nil, l.failed("read", folder, err)
		}
	}
}

// child looks at one name in a folder. It is nil where there is nothing, or
// nothing for scripts.
func (l *look) child(dir *os.Root, folder, name string) (*spot, error) {
	p := path.Join(folder, name)
	s := &spot{look: l, asked: p, path: p, name: name, dir: dir}
	switch {
	case strings.HasPrefix(name, fsTempPrefix):
		return nil, nil
	case !fsNameable(name) && l.strict:
		return nil, value.Errorf(value.Failed, "%s holds a file whose name %q is not text", l.w.Shown(folder), name)
	case !fsNameable(name):
		return nil, nil
	}
	if st, ok := l.stage.Changed(p); ok {
		s.staged = &st
		if !st.Exists {
			return nil, nil
		}
		return s, nil
	}
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, nil // gone between the two looks
	}
	s.disk = info
	return s, nil
}

// stagedIn returns the names in a folder that the call has changed.
func (l *look) stagedIn(folder string) []string {
	if l.staged == nil {
		l.staged = map[string][]string{}
		for _, c := range l.stage.Changes() {
			parent := path.Dir(c.Path)
			l.staged[parent] = append(l.staged[parent], path.Base(c.Path))
		}
	}
	return l.staged[folder]
}

// An fsWalk visits the files below a folder in the order of their paths.
// Links to folders are not followed, and what git keeps is not entered.
type walk struct {
	look   *look
	hidden bool // enter and visit names that begin with a dot
	depth  int  // how many folders deep to go
	visit  func(*spot) error
}

// errFsEnough ends a walk that has found all that was asked for.
var errFsEnough = errors.New("enough")

func (k *walk) run(folder *spot, depth int) error {
	l := k.look
	if err := row.Stopped(l.ctx); err != nil {
		return err
	}
	in, err := l.open(folder)
	if err != nil {
		if depth > 0 && value.KindOf(err) != value.Limit && value.KindOf(err) != value.Canceled && value.KindOf(err) != value.Timeout {
			return nil // what cannot be read is left out
		}
		return err
	}
	defer in.close()
	for _, s := range in.spots {
		if !k.hidden && strings.HasPrefix(s.name, ".") {
			continue
		}
		switch {
		case s.kind() != fsFolder:
			err = k.visit(s)
		case depth < k.depth && fsFold(s.name) != ".git":
			err = k.run(s, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Bounds of a pattern. The alternatives of nested braces multiply, and each is
// tried on each path.
const (
	fsMaxPattern      = 1000
	fsMaxAlternatives = 64
)

// fsCheckPattern refuses a pattern that is not one, or too dear to match.
func fsCheckPattern(pattern string) error {
	switch {
	case pattern == "" || !doublestar.ValidatePattern(pattern):
		return value.Errorf(value.Invalid, "%q is not a valid glob", pattern).WithHint("as in *.csv, docs/** or src/**/*.{js,ts}")
	case len(pattern) > fsMaxPattern:
		return value.Errorf(value.Invalid, "a glob of more than %d bytes", fsMaxPattern)
	case fsAlternatives(pattern) > fsMaxAlternatives:
		return value.Errorf(value.Invalid, "a glob of more than %d alternatives", fsMaxAlternatives)
	}
	return nil
}

// fsAlternatives bounds from above how many patterns without braces a pattern
// stands for.
func fsAlternatives(pattern string) int {
	var open []int
	all := 1
	for i := 0; i < len(pattern) && all <= fsMaxAlternatives; i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 1)
		case ',':
			if len(open) > 0 {
				open[len(open)-1]++
			}
		case '}':
			if len(open) > 0 {
				all *= open[len(open)-1]
				open = open[:len(open)-1]
			}
		}
	}
	return all
}

// fsNamesHidden reports whether a pattern asks for names that begin with a dot.
func fsNamesHidden(pattern string) bool {
	return strings.HasPrefix(pattern, ".") || strings.Contains(pattern, "/.")
}

func (w *Files) globFunc() tool.Func {
	limit := tool.Optional("limit", tool.TypeInteger, int64(10_000), "how many paths to give at most")
	limit.Type.Min = int64(1)
	return tool.Func{
		Name: "glob",
		Doc: "Find files by a pattern: * and ? within a name, ** over folders, [a-z] and {a,b}. " +
			"Gives files, not folders; what git keeps and what the tool may not read are left out.",
		Params: []tool.Param{
			tool.Required("pattern", tool.TypeString, "the pattern, relative to path, as in **/*.py"),
			tool.Optional("path", tool.TypeString, ".", "the folder to look in"),
			tool.Optional("hidden", tool.TypeBoolean, false, "also names that begin with a dot; a pattern that writes the dot finds them anyway"),
			limit,
		},
		Returns: "a sorted list of paths, the first ones where there are more than the limit",
		Kind:    tool.Read,
		Target: func(args *value.Dict) ([]tool.Capability, error) {
			_, folder, _, err := w.globBase(args)
			if err != nil {
				return nil, err
			}
			return []tool.Capability{reads(folder)}, nil
		},
		Do: w.fsDo((*look).glob),
	}
}

// globBase splits a pattern into the folder that it names outright, which is
// the one that must be readable, and the rest. raw is that folder as it has
// to be resolved.
func (w *Files) globBase(args *value.Dict) (raw, folder, rest string, err error) {
	pattern := args.Text("pattern")
	if err := fsCheckPattern(pattern); err != nil {
		return "", "", "", err
	}
	if _, _, err := w.Resolve(args.Text("path")); err != nil {
		return "", "", "", err
	}
	base, rest := doublestar.SplitPattern(pattern)
	switch {
	case w.Absolute(base):
		raw = base
	default:
		raw = strings.TrimSuffix(args.Text("path"), "/") + "/" + base
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == ".." || part == "." || part == "" {
			return "", "", "", value.Errorf(value.Invalid, "%q is not a valid glob: an empty part, . or .. can only stand at its beginning", pattern)
		}
	}
	folder, _, err = w.Resolve(raw)
	return raw, folder, fsBelow(rest), err
}

// fsBelow makes a pattern for files of one that ends in /**: that matches a
// folder too, and so would take a file for a folder with everything below it.
func fsBelow(pattern string) string {
	if strings.HasSuffix(pattern, "/**") {
		return pattern + "/*"
	}
	return pattern
}

func (l *look) glob(args *value.Dict) (value.Value, error) {
	raw, _, rest, err := l.w.globBase(args)
	if err != nil {
		return nil, err
	}
	found := value.List{}
	s, _, err := l.seek(raw)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.kind() != fsFolder {
		return found, l.mustBeFolder(args.Text("path"))
	}
	limit := l.limit(args)
	walk := walk{look: l, hidden: args.Bool("hidden") || fsNamesHidden(rest), depth: fsGlobDepth(rest)}
	walk.visit = func(f *spot) error {
		under := strings.TrimPrefix(f.path, s.path+"/")
		if !doublestar.MatchUnvalidated(rest, under) || l.allows(reads(f.path)) != nil || l.throughLink(f).kind() != fsFile {
			return nil
		}
		found = append(found, l.w.Shown(f.path))
		if len(found) == limit {
			return errFsEnough
		}
		return nil
	}
	if err := walk.run(s, 0); err != nil && !errors.Is(err, errFsEnough) {
		return nil, err
	}
	return found, nil
}

// limit is how many results to give: as many as are asked for, and no more
// than the host's limit. An integer beyond int64 asks for all.
func (l *look) limit(args *value.Dict) int {
	most := int64(l.w.limits.Entries)
	return int(min(args.IntOr("limit", most), most))
}

// mustBeFolder says why there is nothing to find in a path, where that is the
// path's fault.
func (l *look) mustBeFolder(raw string) error {
	s, err := l.toRead(raw)
	if err != nil {
		return err
	}
	defer s.close()
	if s.kind() != fsFolder {
		return s.notFolder()
	}
	return nil
}

// fsGlobDepth is how many folders deep a pattern can find something.
func fsGlobDepth(pattern string) int {
	if strings.Contains(pattern, "**") {
		return fsMaxDepth
	}
	return min(strings.Count(pattern, "/"), fsMaxDepth)
}
