package mcp

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A serverFile is a mcp.json that is changed: that of a project, or the user's.
type serverFile struct {
	root  string // of the project; "" for the user's file
	dir   string // of the project, or the working folder
	home  string // of the user
	shown string
	trust *trust.Store
}

// serverFile returns the file that a command changes.
func (c *command) serverFile(user bool) (*serverFile, error) {
	root, err := c.Root()
	if err != nil {
		return nil, err
	}
	f := &serverFile{root: root, dir: root, home: c.Home(), shown: mcpfile.Name, trust: trust.New(c.State())}
	if user || f.home != "" && folder.Same(filepath.Join(root, folder.Name), f.home) {
		if f.home == "" {
			return nil, value.Errorf(value.Invalid, "change your own mcp.json: no home folder is set").WithHint("set CASSIDY_HOME to a folder, or omit --user")
		}
		f.root, f.shown = "", mcpfile.PersonalFile(f.home)
	}
	return f, nil
}

// change edits the file. Changes of several processes are made one after another. In a project,
// the new text is trusted if the old one was, or there was none: then trusted is true. So are the
// files of the project that new entries start.
func (f *serverFile) change(edit func(text string) (string, error)) (trusted bool, err error) {
	if f.home != "" {
		unlock, err := f.lock()
		if err != nil {
			return false, err
		}
		defer unlock()
	}
	before, err := f.read()
	if err != nil {
		return false, folder.FileError(err, f.shown)
	}
	trusted = f.root == "" || before == "" || f.trust.Ledger(f.root).File(trust.KindServers, mcpfile.Name, tool.HashBytes([]byte(before))).Trusted
	after, err := edit(before)
	if err != nil {
		return false, folder.FileError(err, f.shown)
	}
	if err := f.write(after); err != nil {
		return false, value.Errorf(value.Failed, "write %s: %w", f.shown, folder.Cause(err))
	}
	if !trusted {
		return false, nil
	}
	if f.home == "" {
		return f.root == "", nil // there is no folder for the record
	}
	files := project.AddedPrograms(f.dir, f.trust.Ledger(f.dir), before, after)
	if f.root != "" {
		hash := tool.HashBytes([]byte(after))
		files = append(files, trust.File{Path: mcpfile.Name, Kind: trust.KindServers, Text: after, TextHash: hash, Hash: hash})
	}
	if len(files) == 0 {
		return true, nil
	}
	return true, f.trust.Record(f.dir, files, false)
}

// lock waits for other processes that change such a file. The file cannot be locked itself, because
// a change replaces it.
func (f *serverFile) lock() (unlock func(), err error) {
	state := filepath.Join(f.home, "state")
	err = os.MkdirAll(state, 0o700)
	if err == nil {
		unlock, err = lockedfile.MutexAt(filepath.Join(state, "mcp.lock")).Lock()
	}
	if err != nil {
		return nil, folder.HomeError("change "+f.shown+": lock the servers in", state, err)
	}
	return unlock, nil
}

// read returns the text of the file, or "" if there is none.
func (f *serverFile) read() (text string, err error) {
	if f.root == "" {
		text, err = folder.ReadText(os.DirFS(f.home), path.Base(f.shown), mcpfile.MaxSize)
	} else {
		var root *os.Root
		if root, err = os.OpenRoot(f.root); err == nil {
			defer root.Close()
			text, err = folder.ReadText(root.FS(), mcpfile.Name, mcpfile.MaxSize)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return text, err
}

// write replaces the file in one step. In a project, no link is followed that leads out of it.
func (f *serverFile) write(text string) error {
	if f.root == "" {
		return replaceFile(f.shown, []byte(text))
	}
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(folder.Name, 0o755); err != nil {
		return err
	}
	temp := mcpfile.Name + "." + rand.Text()
	if err := root.WriteFile(temp, []byte(text), 0o644); err != nil {
		return errors.Join(err, ignoreMissing(root.Remove(temp)))
	}
	if err := root.Rename(temp, mcpfile.Name); err != nil {
		return errors.Join(err, ignoreMissing(root.Remove(temp)))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
