// Package trust records which files of a project its user has reviewed.
//
// A [Store] keeps the records in the user's state folder, a [Ledger] decides by the
// records of one project, and a [Scope] locates the files of a project and of its user.
package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/identity"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Store holds what a user has reviewed, by project. It is in the user's state folder,
// never in the project, which could otherwise trust itself. The nil Store trusts
// nothing.
//
// A review covers a file with the text that was reviewed. Edits stay trusted only in a
// project that the user has marked as their own, and in files that the user has
// written, as long as they add no capability. Trust is needed for everything under
// .cassidy that can run or that a model follows, and for the notes beside it. It is not
// needed for config.yaml, which can only ask and deny.
type Store struct {
	dir string // "": nothing is stored
}

// New returns the store in the user's state folder; with "" it is empty and cannot
// record anything.
func New(state string) *Store {
	if state == "" {
		return &Store{}
	}
	return &Store{dir: filepath.Join(state, "trust")}
}

// Stores returns nil if the store can record something, or why not. It is for a nil Store, too.
func (t *Store) Stores() error {
	if t == nil || t.dir == "" {
		return value.Errorf(value.Invalid, "no folder is configured for the record of trusted files").
			WithHint("set CASSIDY_HOME to a folder; in Go, set Options.State")
	}
	return nil
}

// CheckWritable returns an error if the store cannot be written, in which case nothing should be created that has to be
// recorded. It creates the folder of the store.
func (t *Store) CheckWritable() error {
	if err := t.Stores(); err != nil {
		return err
	}
	if err := folder.CheckWritable(t.dir); err != nil {
		return t.error(err)
	}
	return nil
}

// A Kind is the purpose of a file of a project.
type Kind string

const (
	KindTool     Kind = "tool"
	KindLib      Kind = "lib" // loaded by tools
	KindPolicy   Kind = "policy"
	KindWorkflow Kind = "workflow"
	KindTest     Kind = "test" // of tools and workflows
	KindSkill    Kind = "skill"
	KindAgent    Kind = "agent"
	KindHooks    Kind = "hooks"  // functions that refuse and change what a model does
	KindNotes    Kind = "notes"  // information on the project for models
	KindMemory   Kind = "memory" // notes that models have written
	KindServers  Kind = "servers"
	KindProgram  Kind = "program" // that a server starts
	// KindServerTools is what an attached server offers. Its record is not of a file.
	KindServerTools Kind = "server tools"
)

// A Record is the trust in one file.
type Record struct {
	Path    string // from the project's root, with slashes
	Kind    Kind
	Hash    string // of a tool's file and the files it loads; of another file's text
	Text    string // the hash of the file's own text
	Needs   []tool.Capability
	Limits  tool.Limits
	Timeout time.Duration
	When    time.Time
	Own     bool // the user has written it: edits stay trusted
	Revoked bool // the trust was revoked; this overrides everything else
}

// List returns the records of a project, by path, and whether the project is marked as
// the user's own. A damaged record is an error.
func (t *Store) List(root string) (records []Record, author bool, err error) {
	l := t.Ledger(root)
	if l.damaged {
		return nil, false, value.Errorf(value.Failed, "the record of trusted files is damaged, so no file is trusted").
			WithHint("review all files again with: cassidy trust")
	}
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		records = append(records, l.files[name])
	}
	return records, l.author, nil
}

// Record trusts files of a project with the texts that were reviewed. With own they are
// the user's own work, and edits stay trusted.
func (t *Store) Record(root string, files []File, own bool) error {
	err := t.update(root, func(l *Ledger) error {
		if own {
			if err := l.claim(root); err != nil {
				return err
			}
		}
		for i := range files {
			f := &files[i]
			r := Record{Path: f.Path, Kind: f.Kind, Hash: f.Hash, Text: f.TextHash, When: time.Now(), Own: own}
			if f.Tool != nil {
				r.Needs, r.Limits, r.Timeout = f.Tool.Needs, f.Tool.Limits, f.Tool.Timeout
			}
			l.files[f.Path] = r
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range files {
		if err := t.keepText(root, files[i].TextHash, files[i].Text); err != nil {
			return t.error(err)
		}
	}
	return nil
}

// Move trusts a file with the text with which another name was trusted, and forgets that name.
func (t *Store) Move(root, from, to string) error {
	return t.update(root, func(l *Ledger) error {
		if r, known := l.files[from]; known {
			r.Path = to
			l.files[to] = r
			delete(l.files, from)
		}
		return nil
	})
}

// MarkAuthor marks a project's folder as the user's own. The project gets a file with a
// random ID. Other files at the same path are not the user's own, and neither is a copy.
func (t *Store) MarkAuthor(root string) error {
	return t.update(root, func(l *Ledger) error {
		err := l.claim(root)
		l.author = err == nil
		return err
	})
}

// MarkReviewed records that a user has reviewed all of a project.
func (t *Store) MarkReviewed(root string) error {
	return t.update(root, func(l *Ledger) (err error) {
		if l.seen, err = identity.Folder(root); err != nil {
			return projectError(err)
		}
		return nil
	})
}

// Revoke revokes the trust of files of a project. Without names it deletes the
// project's record, including that it is the user's own.
func (t *Store) Revoke(root string, names ...string) error {
	if len(names) == 0 {
		return t.forget(root)
	}
	return t.update(root, func(l *Ledger) error {
		for _, name := range names {
			r, known := l.files[name]
			if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); !known && (!l.author || err != nil) {
				return value.Errorf(value.Invalid, "%s is not trusted%s", name, value.DidYouMean(name, slices.Sorted(maps.Keys(l.files)))).
					WithHint("list the trusted files with: cassidy trust --list")
			}
			l.files[name] = Record{Path: name, Kind: r.Kind, When: time.Now(), Revoked: true}
		}
		return nil
	})
}

// projectDir returns the folder of a project's records. It is derived from the
// project's real path: a link to it is the same project.
func (t *Store) projectDir(root string) (dir, real string, err error) {
	if err := t.Stores(); err != nil {
		return "", "", err
	}
	real, err = filepath.Abs(root)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return "", "", projectError(err)
	}
	return filepath.Join(t.dir, tool.HashBytes([]byte(real))[:32]), real, nil
}

// Folder returns the folder of a project's records, or "" if nothing is stored. It changes with
// each review.
func (t *Store) Folder(root string) string {
	dir, _, err := t.projectDir(root)
	if err != nil {
		return ""
	}
	return dir
}

// error returns the error of writing the store.
func (t *Store) error(err error) error {
	return folder.HomeError("write the record of trusted files in", t.dir, err)
}

// projectError returns the error of reading the folder of a project.
func projectError(err error) error {
	return value.Errorf(value.Failed, "write the record of trusted files: read the project: %w", folder.Cause(err))
}

// A project's record is a file named by a number, in a folder for the project. A change
// writes the next number. If another process was first, writing fails, and the change
// is applied again to the new record. So no change is lost, and no lock can be left
// behind. The highest number is valid, and keptRecords files are kept. A process so
// slow that its number may have been used and removed already finds as many higher
// numbers, and also tries again.
const keptRecords = 8

// maxRecord is the limit of a record, in bytes: enough for some hundred thousand files.
const maxRecord = 64 << 20

// maxTries is how often a change is tried if other processes are first.
const maxTries = 100

// Ledger returns the trust of a project. If the record cannot be read nothing is
// trusted.
func (t *Store) Ledger(root string) *Ledger {
	dir, real, err := t.projectDir(root)
	if err != nil {
		return &Ledger{}
	}
	l, _ := readRecord(dir, real)
	l.checkMark(real)
	return l
}

// readRecord reads the record with the highest number, and returns the number: 0 for
// none.
func readRecord(dir, real string) (*Ledger, int) {
	for range maxTries {
		numbers, err := recordNumbers(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &Ledger{damaged: true}, 0
		}
		if len(numbers) == 0 {
			return &Ledger{}, 0
		}
		last := numbers[len(numbers)-1]
		data, _, err := folder.ReadHead(os.DirFS(dir), recordName(last), maxRecord)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a newer one exists
		}
		l, ok := decodeLedger(data, real)
		if err != nil || !ok {
			return &Ledger{damaged: true}, last
		}
		return l, last
	}
	return &Ledger{damaged: true}, 0
}

func recordName(n int) string { return fmt.Sprintf("%012d", n) }

func recordNumbers(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "%d", &n); err == nil && n > 0 && recordName(n) == e.Name() {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// update changes the record of a project. It replaces a damaged one.
func (t *Store) update(root string, change func(*Ledger) error) error {
	dir, real, err := t.projectDir(root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return t.error(err)
	}
	for range maxTries {
		l, last := readRecord(dir, real)
		if l.files == nil {
			l.files = map[string]Record{}
		}
		if err := change(l); err != nil {
			return err
		}
		data, err := encodeLedger(l, real)
		if err != nil {
			return t.error(err)
		}
		err = writeRecord(dir, last+1, data)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return t.error(err)
		}
		if err == nil {
			newest, err := pruneRecords(dir)
			if err != nil {
				return t.error(err)
			}
			if newest < last+1+keptRecords {
				return nil
			}
		}
	}
	return value.Errorf(value.Unavailable, "write the record of trusted files: other processes keep changing it").WithHint("try again")
}

// writeRecord writes the record with a number. It returns fs.ErrExist if another
// process was first.
func writeRecord(dir string, n int, data []byte) error {
	temp, err := writeTemp(dir, data, (*os.File).Sync)
	if err != nil {
		return err
	}
	err = os.Link(temp, filepath.Join(dir, recordName(n)))
	return errors.Join(err, os.Remove(temp))
}

// writeTemp writes a temporary file, and calls then before closing it. After an error
// no file remains.
func writeTemp(dir string, data []byte, then func(*os.File) error) (string, error) {
	temp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return "", err
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, then(temp), temp.Close()); err != nil {
		return "", errors.Join(err, os.Remove(temp.Name()))
	}
	return temp.Name(), nil
}

// pruneRecords removes all but the last records, and returns the newest number.
func pruneRecords(dir string) (newest int, err error) {
	numbers, err := recordNumbers(dir)
	if err != nil {
		return 0, err
	}
	if len(numbers) == 0 {
		return 0, nil
	}
	newest = numbers[len(numbers)-1]
	for _, n := range numbers {
		if n > newest-keptRecords {
			break
		}
		if err := os.Remove(filepath.Join(dir, recordName(n))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return newest, err
		}
	}
	return newest, nil
}

// forget writes an empty record, which overrides records that other processes are about
// to write, and removes the texts.
func (t *Store) forget(root string) error {
	err := t.update(root, func(l *Ledger) error {
		*l = Ledger{files: map[string]Record{}}
		return nil
	})
	if err != nil {
		return err
	}
	dir, _, err := t.projectDir(root)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, textsDir)); err != nil {
		return t.error(err)
	}
	return nil
}

// textsDir is the folder of the texts of trusted files, by hash. The next review shows
// the changes.
const textsDir = "texts"

func (t *Store) keepText(root, hash, text string) error {
	dir, _, err := t.projectDir(root)
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, textsDir)
	file := filepath.Join(dir, hash)
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// Losing it in a crash only loses a comparison, so it is not synced.
	temp, err := writeTemp(dir, []byte(text), func(*os.File) error { return nil })
	if err != nil {
		return err
	}
	return os.Rename(temp, file)
}

// KeptText returns a text that was trusted before, if it is still stored.
func (t *Store) KeptText(root, hash string) (string, bool) {
	dir, _, err := t.projectDir(root)
	if err != nil || hash == "" || strings.Trim(hash, "0123456789abcdef") != "" {
		return "", false
	}
	data, _, err := folder.ReadHead(os.DirFS(dir), path.Join(textsDir, hash), folder.MaxSource)
	if err != nil || tool.HashBytes(data) != hash {
		return "", false
	}
	return string(data), true
}
