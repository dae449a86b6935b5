package fs

import (
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/swap"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

func (w *Files) walkFuncs() []tool.Func {
	return []tool.Func{
		w.readFunc(w.anyPath, listFolder, tool.Func{
			Name: "list",
			Doc:  "List the files and folders in a folder, sorted by name. Files and folders that the tool may not read are omitted.",
			Params: []tool.Param{
				tool.Optional("path", tool.TypeString, ".", "the folder"),
				tool.Optional("hidden", tool.TypeBoolean, true, "also list names that begin with a dot"),
				total("entries"),
				ignoredParam(),
			},
			Returns: `a list of {"name", "path", "kind": "file", "dir" or "other", "size", "modified"}. More than 9,090 entries are an error, unless total is True. Then "entries" has the first 9,090 entries`,
		}),
		w.globFunc(),
		w.searchFunc(),
	}
}

// total is the parameter that adds the number of all results.
func total(name string) tool.Param {
	return tool.Optional("total", tool.TypeBoolean, false, `return {"`+name+`", "total", "ignored"}. "`+name+`" is the list, "total" is the number of all items, including the items that the list leaves out, and "ignored" is the number of files and folders that ignore files exclude`)
}

// counted returns a list of results, with how many there are if that was asked for.
func counted(args *value.Dict, name string, list value.List, all, ignored int) value.Value {
	if !args.Bool("total") {
		return list
	}
	return value.NewDict(name, list, "total", int64(all), "ignored", int64(ignored))
}

// maxListed is how many dicts of five fields a list can have: a value has at most MaxNodes parts.
const maxListed = (value.MaxNodes - 1) / 11

func listFolder(l *look, args *value.Dict) (value.Value, error) {
	s, err := l.toRead(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.kind() != kindFolder {
		return nil, s.notFolder()
	}
	most, all, ignored := min(l.w.limits.Entries, maxListed), 0, 0
	files, err := l.ignoreFilesAbove(s.path, args)
	if err != nil {
		return nil, err
	}
	if !args.Bool("total") {
		l.budget = most
	}
	inside, err := l.open(s)
	if err != nil {
		return nil, err
	}
	defer inside.close()
	if files, err = files.in(l, s.path, inside); err != nil {
		return nil, err
	}
	list := value.List{}
	for _, child := range inside.spots {
		if l.allows(reads(child.path)) != nil || !args.Bool("hidden") && strings.HasPrefix(child.name, ".") {
			continue
		}
		excluded, err := files.exclude(l, child)
		if err != nil {
			return nil, err
		}
		if excluded {
			ignored++
			continue
		}
		if all++; all <= most {
			list = append(list, l.throughLink(child).describe(child.path))
		}
	}
	return counted(args, "entries", list, all, ignored), nil
}

// throughLink returns the target of a link, if that is inside the project and may be read, or else
// the spot itself. The target is closed: only its kind and state can be used.
func (l *look) throughLink(s *spot) *spot {
	if s.disk == nil || s.disk.Mode()&os.ModeSymlink == 0 {
		return s
	}
	end, err := l.find(s.path, followAll)
	if err != nil {
		return s
	}
	end.close()
	if end.kind() == kindNothing || l.allows(reads(end.path)) != nil {
		return s
	}
	return end
}

// An inside is an open folder and its content.
type inside struct {
	dir   *os.Root // nil for a folder that is only staged
	spots []*spot
}

func (in *inside) close() {
	if in.dir != nil {
		in.dir.Close()
	}
}

// open lists the folder at a spot, on disk and staged, in the order of the paths inside: a folder
// is sorted by its name with a slash.
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
	if s.kind() == kindFolder {
		return s.name + "/"
	}
	return s.name
}

// names reads the names in a folder, and fails if these are more than the budget.
func (l *look) names(dir *os.Root, folder string) ([]string, error) {
	const batch = 1000 // the context is checked between batches
	f, err := dir.Open(".")
	if err != nil {
		return nil, l.failed("list", folder, err)
	}
	defer f.Close()
	var names []string
	for {
		more, err := f.Readdirnames(batch)
		names = append(names, more...)
		if l.budget -= len(more); l.budget < 0 {
			return nil, limitError(value.LimitEntries, "too many files in %s", l.w.Shown(folder)).WithHint("pass a subfolder as path")
		}
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err == nil {
			err = row.Stopped(l.ctx)
		}
		if err != nil {
			return nil, l.failed("list", folder, err)
		}
	}
}

// child returns the spot of a name in a folder, or nil if there is nothing or nothing for scripts.
func (l *look) child(dir *os.Root, folder, name string) (*spot, error) {
	p := path.Join(folder, name)
	s := &spot{look: l, asked: p, path: p, name: name, dir: dir}
	switch {
	case strings.HasPrefix(name, swap.Prefix):
		return nil, nil
	case !usableName(name) && l.strict:
		return nil, value.Errorf(value.Failed, "%s contains a file whose name %q is not valid UTF-8", l.w.Shown(folder), name)
	case !usableName(name):
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
		return nil, nil // removed meanwhile
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

// A walk visits the files inside a folder in the order of their paths. It does not follow links to
// folders, and does not enter .git.
type walk struct {
	look   *look
	args   *value.Dict // those of the effect that decide what is left out
	hidden bool        // enter and visit names that begin with a dot
	depth  int         // the maximum depth in folders
	wants  func(*spot) (bool, error)
	visit  func(*spot) error                      // of what wants accepts
	skip   func(p string, line int64, why string) // notes a folder that cannot be read; nil notes nothing

	ignored int // files and folders that ignore files exclude
	dotted  int // files and folders that are hidden
}

// errFsEnough ends a walk that has reached its limit.
var errFsEnough = errors.New("enough")

func (k *walk) run(folder *spot) error {
	files, err := k.look.ignoreFilesAbove(folder.path, k.args)
	if err != nil {
		return err
	}
	return k.enter(folder, 0, files)
}

func (k *walk) enter(folder *spot, depth int, files *ignoreFiles) error {
	l := k.look
	if err := row.Stopped(l.ctx); err != nil {
		return err
	}
	in, err := l.open(folder)
	if err != nil {
		if depth > 0 && value.KindOf(err) != value.Limit && value.KindOf(err) != value.Canceled && value.KindOf(err) != value.Timeout {
			if k.skip != nil {
				k.skip(folder.path, 0, value.ErrorOf(err, value.Failed).Message())
			}
			return nil // unreadable folders are left out
		}
		return err
	}
	defer in.close()
	if files, err = files.in(l, folder.path, in); err != nil {
		return err
	}
	for _, s := range in.spots {
		isFolder := s.kind() == kindFolder
		if isFolder && (depth >= k.depth || foldName(s.name) == ".git") {
			continue
		}
		wanted := isFolder
		if !isFolder {
			if wanted, err = k.wants(s); err != nil {
				return err
			}
		}
		if !wanted {
			continue
		}
		excluded, err := files.exclude(l, s)
		switch {
		case err != nil:
		case !k.hidden && strings.HasPrefix(s.name, "."):
			k.dotted++
		case excluded:
			k.ignored++
		case isFolder:
			err = k.enter(s, depth+1, files)
		default:
			err = k.visit(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *Files) globFunc() tool.Func {
	limit := tool.Optional("limit", tool.TypeInteger, int64(10_000), "the maximum number of paths")
	limit.Type.Min = int64(1)
	return tool.Func{
		Name: "glob",
		Doc: "Find the files whose paths match a pattern. * and ? match within a name. ** matches any number of folders. [a-z] and {a,b} are alternatives. " +
			"Folders, git's own files (.git) and files that the tool may not read are omitted.",
		Params: []tool.Param{
			tool.Required("pattern", tool.TypeString, "the pattern, relative to path, as in **/*.py"),
			tool.Optional("path", tool.TypeString, ".", "the folder to search"),
			tool.Optional("hidden", tool.TypeBoolean, false, "also find names that begin with a dot; a pattern that begins with a dot, such as .*, always finds such names"),
			limit,
			total("paths"),
			ignoredParam(),
		},
		Returns: "a sorted list of paths, at most limit",
		Kind:    tool.Read,
		Target: func(args *value.Dict) ([]tool.Capability, error) {
			_, folder, _, err := w.globBase(args)
			if err != nil {
				return nil, err
			}
			return []tool.Capability{reads(folder)}, nil
		},
		Do: w.doRead(globFiles),
	}
}

// globBase splits a pattern into the folder before the first wildcard, which must be readable,
// and the rest. raw is that folder before it is resolved.
func (w *Files) globBase(args *value.Dict) (raw, folder, rest string, err error) {
	pattern := args.Text("pattern")
	if err := checkGlob(pattern); err != nil {
		return "", "", "", err
	}
	if _, _, err := w.Resolve(args.Text("path")); err != nil {
		return "", "", "", err
	}
	base, rest := doublestar.SplitPattern(pattern)
	switch {
	case w.isAbsolute(base):
		raw = base
	default:
		raw = strings.TrimSuffix(args.Text("path"), "/") + "/" + base
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == ".." || part == "." || part == "" {
			return "", "", "", value.Errorf(value.Invalid, "invalid glob %q: no part after the first * may be empty, . or ..", pattern).WithHint("write a glob such as *.csv, docs/** or src/**/*.{js,ts}")
		}
	}
	folder, _, err = w.Resolve(raw)
	return raw, folder, globInside(rest), err
}

func globFiles(l *look, args *value.Dict) (value.Value, error) {
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
	if s.kind() != kindFolder {
		return counted(args, "paths", found, 0, 0), l.mustBeFolder(args.Text("path"))
	}
	limit, all := l.limit(args), 0
	walk := walk{look: l, args: args, hidden: args.Bool("hidden") || globNamesHidden(rest), depth: globDepth(rest, maxDepth)}
	walk.wants = func(f *spot) (bool, error) {
		matches, err := l.matches(rest, strings.TrimPrefix(f.path, s.path+"/"))
		return matches && l.allows(reads(f.path)) == nil && l.throughLink(f).kind() == kindFile, err
	}
	walk.visit = func(f *spot) error {
		if all++; all <= limit {
			found = append(found, l.w.Shown(f.path))
		}
		if all == limit && !args.Bool("total") {
			return errFsEnough
		}
		return nil
	}
	if err := walk.run(s); err != nil && !errors.Is(err, errFsEnough) {
		return nil, err
	}
	return counted(args, "paths", found, all, walk.ignored), nil
}

// maxMatching is how long one effect may match paths with a pattern: far longer than a
// usual pattern takes for all the paths that an effect may see.
const maxMatching = time.Second

// matches reports whether a path matches a pattern. It fails if the effect has matched for
// too long.
func (l *look) matches(pattern, p string) (bool, error) {
	start := time.Now()
	ok := doublestar.MatchUnvalidated(pattern, p)
	if l.matching += time.Since(start); l.matching > maxMatching {
		return false, limitError(value.LimitEntries, "match the glob %q: the time limit of %v is exceeded", row.Short(pattern), maxMatching)
	}
	return ok, nil
}

// limit returns how many results to return: the argument, and at most the limit of the host. An
// integer beyond int64 means all.
func (l *look) limit(args *value.Dict) int {
	most := int64(l.w.limits.Entries)
	return int(min(args.IntOr("limit", most), most))
}

// mustBeFolder fails if a path is not a folder.
func (l *look) mustBeFolder(raw string) error {
	s, err := l.toRead(raw)
	if err != nil {
		return err
	}
	defer s.close()
	if s.kind() != kindFolder {
		return s.notFolder()
	}
	return nil
}
