package fs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

const reading = "Failed to read file:" // an operation of failed; tools print it

// failed returns an error of the operating system, with the path that the script used. It leaves
// out paths of the host.
func (l *look) failed(operation, p string, err error) error {
	var known *value.Error
	if errors.As(err, &known) {
		return known
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	failed := value.Errorf(value.Failed, "%s %s: %w", operation, l.w.Shown(p), err)
	if operation == "write" {
		return CannotWrite(failed, err)
	}
	return cannotNow(failed, err)
}

// CannotWrite returns e with what has to be repaired before something can be written, if the
// error err of the system says that: no space, no permission, or what is not due to what was asked for.
func CannotWrite(e *value.Error, err error) *value.Error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return e.WithLimit(value.LimitDisk).WithHint("free space on the disk")
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return e.WithLimit(value.LimitReadOnly).WithHint("make the file or folder writable")
	}
	return cannotNow(e, err)
}

// requested are the errors of the system that are due to what was asked for: the same call fails with them
// until its arguments or the files are others. With every other one the same call can succeed later.
var requested = []error{
	fs.ErrNotExist, fs.ErrExist, fs.ErrInvalid, fs.ErrPermission, errors.ErrUnsupported, syscall.EINVAL, syscall.ENOTDIR, syscall.EISDIR,
	syscall.ENOTEMPTY, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EXDEV, syscall.EMLINK, syscall.ENXIO, syscall.ENODEV, syscall.ESPIPE, syscall.EBADF,
}

// cannotNow returns e as an error of kind Unavailable, for which a run waits, if the error err of the system is
// not due to what was asked for, such as a fault of the disk or too many open files.
func cannotNow(e *value.Error, err error) *value.Error {
	var number syscall.Errno
	if !errors.As(err, &number) || slices.ContainsFunc(requested, func(due error) bool { return errors.Is(err, due) }) {
		return e
	}
	e.Kind = value.Unavailable
	if e.Hint == "" {
		e.Hint = "repair what the message names, or wait until it has passed"
	}
	return e
}

// changed returns the error of a path that was changed concurrently.
func (l *look) changed(p string) error {
	return value.Errorf(value.Conflict, "%s was changed by another process during the call", l.w.Shown(p)).WithLimit(value.LimitChanged).WithHint("read the file again, and repeat the call")
}

// irregular returns the error of a path that is not a regular file.
func (s *spot) irregular() error {
	if s.disk.IsDir() {
		return s.isFolder()
	}
	return value.Errorf(value.Denied, "%s: expected a regular file but got %s", s.look.w.Shown(s.asked), modeKind(s.disk.Mode()))
}

func (s *spot) isFolder() error {
	shown := s.look.w.Shown(s.asked)
	return value.Errorf(value.Failed, "%s is a folder", shown).WithHint("pass a file in it; in a script, fs.list(%q) lists the folder", shown)
}

func (s *spot) notFolder() error {
	return value.Errorf(value.Failed, "%s is not a folder", s.look.w.Shown(s.asked))
}

func (s *spot) tooLarge(limit int64) error {
	return limitError(value.LimitRead, "%s is larger than the limit of %s", s.look.w.Shown(s.asked), row.SizeText(limit)).
		WithHint("split the file, or read a part of it; in a script, with fs.read(path, offset, limit) or fs.read_bytes(path, offset, length)")
}

func limitError(limit value.LimitName, format string, args ...any) *value.Error {
	return value.Errorf(value.Limit, format, args...).WithLimit(limit)
}

// missing returns the error of a path where there is nothing. The hint names similar paths.
func (s *spot) missing() error {
	l := s.look
	err := value.Errorf(value.Failed, "File not found: %s", l.w.Shown(s.asked))
	if s.behind != "" {
		return err.WithHint("%s is a file, not a folder", l.w.Shown(s.behind))
	}
	if elsewhere := l.fromRoot(s.asked); elsewhere != "" {
		return err.WithHint("relative paths begin at the working directory %s; the project contains %s: run cassidy in its root folder, or pass %s",
			l.w.work, elsewhere, l.w.Shown(elsewhere))
	}
	parent := path.Dir(s.path)
	if parent == "." && s.path == "." {
		return err
	}
	folder, ferr := l.find(parent, followNone)
	if ferr != nil {
		return err
	}
	defer folder.close()
	if folder.kind() != kindFolder {
		return err.WithHint("check the path: the folder %s does not exist", l.w.Shown(parent))
	}
	if near := l.near(folder, s.name); len(near) > 0 {
		return err.WithHint("did you mean %s?", strings.Join(near, " or "))
	}
	where := "the folder " + l.w.Shown(parent)
	if l.w.Shown(parent) == "." {
		where = "the working folder"
	}
	return err.WithHint("check the path: %s has no file with a similar name", where)
}

// fromRoot returns the path that a script means if it takes paths to begin at the project's root
// while the working directory is a folder inside, or "" if there is nothing there.
func (l *look) fromRoot(asked string) string {
	meant, below := strings.CutPrefix(asked, l.w.work+"/")
	if l.w.work == "." || !below {
		return ""
	}
	s, err := l.find(meant, followNone)
	if err != nil {
		return ""
	}
	defer s.close()
	if s.kind() == kindNothing {
		return ""
	}
	return meant
}

// maxNearNames is how many names of a folder are compared for a suggestion.
const maxNearNames = 1000

// near returns up to three paths in a folder that have similar names and that the call may read.
func (l *look) near(folder *spot, name string) []string {
	quiet := *l
	quiet.budget = maxNearNames
	inside, err := quiet.open(folder)
	if err != nil {
		return nil
	}
	defer inside.close()
	var readable []string
	for _, s := range inside.spots {
		if l.allows(reads(s.path)) == nil {
			readable = append(readable, s.name)
		}
	}
	return value.Map(nearestNames(name, readable, 3), func(near string) string { return l.w.Shown(path.Join(folder.path, near)) })
}
