package fs

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/fs/internal/ignore"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// maxIgnoreFiles is how many bytes of ignore files one effect reads.
const maxIgnoreFiles = 16 << 20

// ignoredParam is the parameter that includes what ignore files exclude.
func ignoredParam() tool.Param {
	return tool.Optional("ignored", tool.TypeBoolean, true, "also find what the project's files .gitignore, .ignore and .git/info/exclude exclude")
}

// An ignoreFiles is the ignore files that hold in a folder: its own, and those of the folders above it up
// to the root of the project or to a repository of git. The nearest one decides. Folders above
// the project and the user's own settings of git do not count. Nil excludes nothing.
type ignoreFiles struct {
	outer  *ignoreFiles
	folder string
	rules  []*ignore.Rules // the last one decides first
}

// ignoreFilesAbove returns the ignore files that hold where a path is, if the arguments ask for them.
func (l *look) ignoreFilesAbove(p string, args *value.Dict) (*ignoreFiles, error) {
	if args.Bool("ignored") {
		return nil, nil
	}
	f := &ignoreFiles{}
	for at, parts := ".", strings.Split(p, "/"); at != p; parts = parts[1:] {
		var err error
		if f, err = f.in(l, at, nil); err != nil {
			return nil, err
		}
		at = path.Join(at, parts[0])
	}
	return f, nil
}

// in returns the ignore files that hold inside a folder. names are what is in it, or nil.
func (f *ignoreFiles) in(l *look, folder string, in *inside) (*ignoreFiles, error) {
	if f == nil {
		return nil, nil
	}
	inner := &ignoreFiles{outer: f, folder: folder}
	for _, name := range []string{".git", ".gitignore", ".ignore"} {
		if in != nil && !slices.ContainsFunc(in.spots, func(s *spot) bool { return s.name == name }) {
			continue
		}
		s, err := l.find(path.Join(folder, name), followNone)
		if err == nil && name == ".git" && s.kind() != kindNothing {
			inner.outer = &ignoreFiles{} // what is above is another repository
			s.close()
			s, err = l.find(path.Join(folder, ".git/info/exclude"), followNone)
		}
		if err != nil {
			continue // such as a folder that was removed meanwhile
		}
		rules, err := l.readIgnoreFile(s)
		s.close()
		if err != nil {
			return nil, err
		}
		if rules != nil {
			inner.rules = append(inner.rules, rules)
		}
	}
	if len(inner.rules) == 0 {
		return inner.outer, nil
	}
	return inner, nil
}

// readIgnoreFile returns nil for what is no file that can be read. Git follows no link either.
func (l *look) readIgnoreFile(s *spot) (*ignore.Rules, error) {
	if s.kind() != kindFile {
		return nil, nil
	}
	data, err := s.read(maxIgnoreFiles-l.ignoring, nil)
	if value.KindOf(err) == value.Limit {
		return nil, limitError(value.LimitRead, "the ignore files up to %s have more than %s", l.w.Shown(s.path), row.SizeText(maxIgnoreFiles)).WithHint("set ignored to true")
	}
	if err != nil {
		return nil, nil
	}
	l.ignoring += int64(len(data))
	return ignore.Parse(data), nil
}

// exclude reports whether something in their folder, or below, is excluded.
func (f *ignoreFiles) exclude(l *look, s *spot) (bool, error) {
	start := time.Now()
	for ; f != nil; f = f.outer {
		p := strings.TrimPrefix(s.path, f.folder+"/")
		for _, rules := range slices.Backward(f.rules) {
			excluded, decided := rules.Match(p, s.kind() == kindFolder)
			if l.matching += time.Since(start); l.matching > maxMatching {
				return false, limitError(value.LimitEntries, "match ignore files: the time limit of %v is exceeded", maxMatching).WithHint("set ignored to true")
			}
			if decided {
				return excluded, nil
			}
			start = time.Now()
		}
	}
	return false, nil
}
