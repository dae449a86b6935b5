package fs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// failed words an error of the operating system. It names the path as the
// script knows it: the host's own paths are not the script's to know.
func (l *look) failed(doing, p string, err error) error {
	var known *value.Error
	if errors.As(err, &known) {
		return known
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return value.Errorf(value.Failed, "Failed to %s file: %s: %w", doing, l.w.Shown(p), err)
}

// changed is the error for a path that something else changes at this moment.
func (l *look) changed(p string) error {
	return value.Errorf(value.Conflict, "%s has changed meanwhile", l.w.Shown(p)).WithHint("read it again, and try again")
}

// irregular is the error for a path that cannot be read as a file.
func (s *spot) irregular() error {
	shown := s.look.w.Shown(s.asked)
	what := "a device"
	switch mode := s.disk.Mode(); {
	case mode.IsDir():
		return s.isFolder()
	case mode&fs.ModeSymlink != 0:
		what = "a link"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return value.Errorf(value.Denied, "%s is not a regular file but %s", shown, what)
}

func (s *spot) isFolder() error {
	shown := s.look.w.Shown(s.asked)
	return value.Errorf(value.Failed, "%s is a folder", shown).WithHint("fs.list(%q) lists it", shown)
}

func (s *spot) notFolder() error {
	return value.Errorf(value.Failed, "%s is not a folder", s.look.w.Shown(s.asked))
}

func (s *spot) tooLarge(limit int64) error {
	return fsLimit(value.LimitRead, "%s is larger than %s", s.look.w.Shown(s.asked), fsSize(limit))
}

func fsLimit(limit value.LimitName, format string, args ...any) *value.Error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit = limit
	return e
}

// fsSize writes a number of bytes for a reader.
func fsSize(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// missing is the error for a path where nothing is. What names something near
// it is the hint.
func (s *spot) missing() error {
	l := s.look
	err := value.Errorf(value.Failed, "File not found: %s", l.w.Shown(s.asked))
	if s.behind != "" {
		return err.WithHint("%s is a file, not a folder", l.w.Shown(s.behind))
	}
	if elsewhere := l.fromRoot(s.asked); elsewhere != "" {
		return err.WithHint("relative paths begin at %s, where you work; the project has %s: work in its root, or write %s",
			l.w.work, elsewhere, l.w.Shown(elsewhere))
	}
	parent := path.Dir(s.path)
	if parent == "." && s.path == "." {
		return err
	}
	folder, ferr := l.find(parent, fsFollowNone)
	if ferr != nil {
		return err
	}
	defer folder.close()
	if folder.kind() != fsFolder {
		return err.WithHint("there is no folder %s", l.w.Shown(parent))
	}
	if near := l.near(folder, s.name); len(near) > 0 {
		return err.WithHint("did you mean %s?", strings.Join(near, " or "))
	}
	return err
}

// fromRoot returns the path that a script would have meant if it took paths to
// begin at the project's root while the user works in a folder below, and if
// there is such a file; else "".
func (l *look) fromRoot(asked string) string {
	meant, below := strings.CutPrefix(asked, l.w.work+"/")
	if l.w.work == "." || !below {
		return ""
	}
	s, err := l.find(meant, fsFollowNone)
	if err != nil {
		return ""
	}
	defer s.close()
	if s.kind() == fsNothing {
		return ""
	}
	return meant
}

// fsNearNames is how many names of a folder are looked at for one that is near.
const fsNearNames = 1000

// near returns up to three paths in a folder whose names are like the one that
// was asked for, and that the call may read.
func (l *look) near(folder *spot, name string) []string {
	quiet := *l
	quiet.budget = fsNearNames
	inside, err := quiet.open(folder)
	if err != nil {
		return nil
	}
	defer inside.close()
	var names []string
	for _, s := range inside.spots {
		if l.allows(reads(s.path)) == nil {
			names = append(names, s.name)
		}
	}
	var paths []string
	for len(paths) < 3 {
		nearest := value.Nearest(name, names)
		if nearest == "" {
			break
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == nearest })
		paths = append(paths, l.w.Shown(path.Join(folder.path, nearest)))
	}
	return paths
}
