// Package trust remembers which files of a project its user has reviewed.
//
// A [Store] keeps the records in the user's state folder, a [Ledger] judges files by
// those of one project, and a [Scope] says where the files of a project and of its user
// are.
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
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Store is what a user has reviewed, project by project. It lies in the user's
// state folder and never in the project, which could else trust itself. The
// nil Store trusts nothing.
//
// What is trusted is a file as it read when it was reviewed: another text is
// another file. Only in a project that the user has marked as his own, and for
// files that he has written himself, do edits stay trusted, while they add no
// capability. Everything under .cassidy is covered that can run or that a model
// obeys, and so are the notes beside it. Its config.yaml is not: it can only
// ask and deny.
type Store struct {
	dir string // "" where nothing is remembered
}

// New returns what is trusted as the user's state folder remembers it;
// with "" nothing is, and nothing can be.
func New(state string) *Store {
	if state == "" {
		return &Store{}
	}
	return &Store{dir: filepath.Join(state, "trust")}
}

// A Kind says what a file of a project is for.
type Kind string

const (
	KindTool     Kind = "tool"
	KindLib      Kind = "lib" // what tools load
	KindPolicy   Kind = "policy"
	KindWorkflow Kind = "workflow"
	KindSkill    Kind = "skill"
	KindNotes    Kind = "notes" // what a model is told of the project
	KindServers  Kind = "servers"
)

// A Record is what was trusted of one file.
type Record struct {
	Path    string // from the project's root, with slashes
	Kind    Kind
	Hash    string // of a tool's file with what it loads; of another file's text
	Text    string // the hash of the file's own text
	Needs   []tool.Capability
	Limits  tool.Limits
	Timeout time.Duration
	When    time.Time
	Own     bool // the user has written it: his edits stay trusted
	Revoked bool // the trust was taken back, whatever else would speak for it
}

// List returns what is trusted of a project, by path, and whether the project
// is marked as the user's own. A record that is damaged is an error.
func (t *Store) List(root string) (records []Record, author bool, err error) {
	l := t.Ledger(root)
	if l.damaged {
		return nil, false, value.Errorf(value.Failed, "the record of what is trusted here is damaged, and nothing is").
			WithHint("cassidy trust reviews everything again")
	}
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		records = append(records, l.files[name])
	}
	return records, l.author, nil
}

// Record trusts files of a project as they were reviewed. With own they are
// the user's own work, and his edits stay trusted.
func (t *Store) Record(root string, files []File, own bool) error {
	err := t.update(root, func(l *Ledger) error {
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
			return storeError(err)
		}
	}
	return nil
}

// MarkAuthor marks a project as the user's own.
func (t *Store) MarkAuthor(root string) error {
	return t.update(root, func(l *Ledger) error {
		l.author = true
		return nil
	})
}

// Revoke takes back the trust of files of a project. Without any it forgets the
// project, and that it is the user's own.
func (t *Store) Revoke(root string, names ...string) error {
	if len(names) == 0 {
		return t.forget(root)
	}
	return t.update(root, func(l *Ledger) error {
		for _, name := range names {
			r, known := l.files[name]
			if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); !known && (!l.author || err != nil) {
				return value.Errorf(value.Invalid, "%s is not trusted%s", name, value.DidYouMean(name, slices.Sorted(maps.Keys(l.files)))).
					WithHint("cassidy trust --list shows what is")
			}
			l.files[name] = Record{Path: name, Kind: r.Kind, When: time.Now(), Revoked: true}
		}
		return nil
	})
}

// projectDir is where the records of a project lie, named by the project's real
// path: a link to it is the same project.
func (t *Store) projectDir(root string) (dir, real string, err error) {
	if t == nil || t.dir == "" {
		return "", "", value.Errorf(value.Invalid, "there is no place to remember what is trusted").
			WithHint("set CASSIDY_HOME to a folder")
	}
	real, err = filepath.Abs(root)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return "", "", storeError(err)
	}
	return filepath.Join(t.dir, tool.HashBytes([]byte(real))[:32]), real, nil
}

func storeError(err error) error {
	var inner *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &inner):
		err = inner.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return value.Errorf(value.Failed, "what is trusted cannot be remembered: %w", err)
}

// A project's record is a file named by a number, in a folder of the project's
// own. Who changes it writes the next number, which fails where another process
// was first: then he reads again. So no change is lost, and no lock can be left
// behind. The highest number holds, and this many are kept: who was so slow that
// the number he wrote may have been used and removed already finds as many
// above it, and reads again too.
const keptRecords = 8

// maxRecord is how long a record is read: that of some hundred thousand files.
const maxRecord = 64 << 20

// maxTries is how often a change is tried when others are first.
const maxTries = 100

// Ledger returns what is trusted of a project. Whatever is odd about the record
// means nothing.
func (t *Store) Ledger(root string) *Ledger {
	dir, real, err := t.projectDir(root)
	if err != nil {
		return &Ledger{}
	}
	l, _ := readRecord(dir, real)
	return l
}

// readRecord reads the record with the highest number, and says which it is: 0
// for none.
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
			continue // a newer one is there by now
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

// update changes the record of a project. A damaged one is begun anew.
func (t *Store) update(root string, change func(*Ledger) error) error {
	dir, real, err := t.projectDir(root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return storeError(err)
	}
	for range maxTries {
		l, last := readRecord(dir, real)
		if l.files == nil {
			l.files = map[string]Record{}
		}
		if err := change(l); err != nil {
			return err
		}
		err = writeRecord(dir, last+1, encodeLedger(l, real))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return storeError(err)
		}
		if err == nil {
			newest, err := pruneRecords(dir)
			if err != nil || newest < last+1+keptRecords {
				return err
			}
		}
	}
	return storeError(errors.New("others keep changing it"))
}

// writeRecord writes the record with a number; fs.ErrExist says that another
// process was first.
func writeRecord(dir string, n int, data []byte) error {
	temp, err := writeTemp(dir, data, (*os.File).Sync)
	if err != nil {
		return err
	}
	err = os.Link(temp, filepath.Join(dir, recordName(n)))
	return errors.Join(err, os.Remove(temp))
}

// writeTemp writes a new file, whole or not at all, and hands it to then before
// it is closed.
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
		return 0, storeError(err)
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
			return newest, storeError(err)
		}
	}
	return newest, nil
}

// forget writes an empty record, which outdoes one that another process is
// about to write, and removes the texts.
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
		return storeError(err)
	}
	return nil
}

// textsDir is where the texts of trusted files are kept, by hash, so that the
// next review can show what has changed.
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
	// Losing it in a crash only loses a comparison, so nobody waits for the disk.
	temp, err := writeTemp(dir, []byte(text), func(*os.File) error { return nil })
	if err != nil {
		return err
	}
	return os.Rename(temp, file)
}

// KeptText returns a text that was trusted before, if it is still there.
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
