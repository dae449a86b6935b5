package memory

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A store is the open file of a project. It is locked, so that no other process changes it.
type store struct {
	dir   *os.Root
	root  string // the path of dir
	scope *trust.Scope
	text  string // the content; "" if there is no file
	found bool   // there is a file
	mode  fs.FileMode
}

// change opens the file of a project, calls do, and closes it. Processes that change the same file
// wait for each other.
func change(ctx context.Context, root string, scope *trust.Scope, do func(*store) error) error {
	if root == "" {
		return value.Errorf(value.Invalid, "add a note: no project is open").WithHint("ask the user to create a project in this folder")
	}
	if folder.Same(filepath.Join(root, folder.Name), scope.Home) {
		return value.Errorf(value.Invalid, "add a note: this folder is the user's home folder, not a project")
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return value.Errorf(value.Failed, "open the project's folder: %w", folder.Cause(err))
	}
	defer dir.Close()
	if err := dir.MkdirAll(folder.Name, 0o755); err != nil {
		return failed(err)
	}
	unlock, err := lock(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	s := &store{dir: dir, root: root, scope: scope, mode: 0o644}
	if err := s.read(); err != nil {
		return err
	}
	return do(s)
}

func failed(err error) error {
	return value.Errorf(value.Failed, "write %s: %w", File, folder.Cause(err))
}

// read reads the file, if there is one.
func (s *store) read() error {
	info, err := s.dir.Lstat(File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return failed(err)
	case !info.Mode().IsRegular():
		return value.Errorf(value.Failed, "write %s: %w", File, folder.ErrNotRegular).WithHint("ask the user to replace it with a file")
	}
	s.found, s.mode = true, info.Mode().Perm()
	if s.text, err = folder.ReadText(folder.Refusing(s.dir.FS(), s.scope.Refuse), File, folder.MaxSource); err != nil {
		return folder.FileError(err, File)
	}
	return nil
}

// Status returns whether the file is trusted with a text, by its hash. Between the change of the
// file and its record, a process can die: then the text is recorded under the other name.
func Status(l *trust.Ledger, text string) trust.Status {
	status := l.File(trust.KindMemory, File, text)
	if was, known := l.Record(File); status.Trusted || known && was.Revoked {
		return status
	}
	if r, known := l.Record(next); known && !r.Revoked && r.Text == text {
		return l.File(trust.KindMemory, next, text)
	}
	return status
}

// status returns whether the file would be trusted with a text.
func (s *store) status(text string) trust.Status {
	return Status(s.scope.NotesLedger(s.root), tool.HashBytes([]byte(text)))
}

// canTrust fails unless the file is trusted, or does not exist and can be trusted when it does.
func (s *store) canTrust() error {
	status := s.status(s.text)
	switch {
	case s.found && !status.Trusted:
		return trust.Untrusted(File, status.Reason)
	case s.found || s.status(header).Trusted:
		return nil
	}
	return s.scope.Trust.Stores()
}

// replace replaces a file that is trusted, so that it is trusted afterwards, also if the process
// dies: somebody has approved the change. A text that is trusted anyway needs no record.
func (s *store) replace(text string) error {
	if err := s.settle(); err != nil {
		return err
	}
	if s.status(text).Trusted || text == header {
		return s.write(text)
	}
	hash := tool.HashBytes([]byte(text))
	if err := s.scope.Trust.Record(s.root, []trust.File{{Path: next, Kind: trust.KindMemory, Text: text, TextHash: hash, Hash: hash}}, false); err != nil {
		return err
	}
	if err := s.write(text); err != nil {
		return err
	}
	return s.settle()
}

// settle records the file as trusted if it is by the other name.
func (s *store) settle() error {
	l, hash := s.scope.NotesLedger(s.root), tool.HashBytes([]byte(s.text))
	if l.File(trust.KindMemory, File, hash).Trusted || !Status(l, hash).Trusted {
		return nil
	}
	return s.scope.Trust.Move(s.root, next, File)
}

// next is the file while it is written. A process that dies leaves it behind.
const next = File + ".new"

// write replaces the file, completely or not at all, or removes it if text is only the header.
func (s *store) write(text string) error {
	if text == header {
		if err := s.dir.Remove(File); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed(err)
		}
		s.text, s.found = "", false
		return nil
	}
	if err := s.dir.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	f, err := s.dir.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, s.mode)
	if err != nil {
		return failed(err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = s.dir.Rename(next, File)
	}
	if err != nil {
		_ = s.dir.Remove(next) // the first error is returned
		return failed(err)
	}
	s.text, s.found = text, true
	return syncFolder(s.dir)
}

// add adds a note. added is false if the file has the note already: an interrupted try of the same
// effect has written it, or it has the same text as another one.
func (s *store) add(n note) (added bool, err error) {
	_, items := split(s.text)
	if find(items, n.id) >= 0 {
		return true, s.settle()
	}
	if err := s.canTrust(); err != nil {
		return false, err
	}
	for _, item := range items {
		if text, _ := read(item); text == n.text {
			return false, nil
		}
	}
	text := s.text
	switch {
	case !s.found:
		text = header
	case text != "" && !strings.HasSuffix(text, "\n"):
		text += "\n"
	}
	if text += n.item(); len(text) > MaxFile {
		return false, value.Errorf(value.Limit, "%s would be longer than %d KB", File, MaxFile>>10).
			WithHint("ask the user to delete from %s the notes that are no longer needed", File)
	}
	return true, s.replace(text)
}

// remove removes a note. removed is false if the file does not have it. It fails with kind Conflict
// if its text was changed.
func (s *store) remove(n note) (removed bool, err error) {
	before, items := split(s.text)
	i := find(items, n.id)
	if i < 0 {
		return false, nil
	}
	if text, _ := read(items[i]); text != n.text {
		return false, value.Errorf(value.Conflict, "remove the note from %s: the note has changed since it was added", File).
			WithHint("to remove the note, delete it from the file")
	}
	items[i] = ""
	text := before + strings.Join(items, "")
	if s.canTrust() != nil {
		return true, s.write(text)
	}
	return true, s.replace(text)
}

// lockTimeout is how long a change waits for another process: it takes milliseconds.
const lockTimeout = 10 * time.Second
