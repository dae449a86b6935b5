// Package audit keeps the file in which decisions are recorded: what was allowed or refused, and by whom.
package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The bounds of the audit file.
const (
	// maxSize is how long the file grows before it is put aside: some ten
	// thousands of lines, which every tool still opens.
	maxSize = 10 << 20
	// maxText is how much of each text is kept: what an untrusted author wrote must
	// not push the lines of others out of the file.
	maxText = 1 << 10
	// maxItems is how much of each list is kept.
	maxItems = 100
)

// A File records in a file what was allowed or refused. Its folder and the file are made for the first line, for their
// owner alone. It is safe for concurrent use, and several processes may share the file.
type File struct {
	file string
	max  int64
	mu   sync.Mutex
}

// Open returns a File. It opens nothing yet.
func Open(file string) *File { return &File{file: file, max: maxSize} }

// To returns a function that records the events of a host in a file, or nil where that is "".
func To(file string) func(tool.Event) error {
	if file == "" {
		return nil
	}
	return Open(file).record
}

func (a *File) record(e tool.Event) error {
	d := value.NewDict("time", e.Time.UTC().Format("2006-01-02T15:04:05.000Z"), "tool", e.Tool, "call", e.Call)
	for k, v := range e.Fields().All() {
		name, _ := k.(string)
		if !d.Has(name) {
			d.Put(name, v)
		}
	}
	return a.Append(d)
}

// Append records a decision as a line of JSON. Long texts and lists are cut.
func (a *File) Append(d *value.Dict) error {
	line, err := lineOf(d)
	if err == nil {
		err = a.write(line)
	}
	if err == nil {
		return nil
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // the name is there anyway
	}
	return value.Errorf(value.Unavailable, "write the audit file %s: %w", a.file, err)
}

// Newest yields the decisions that are recorded, the newest first, also those of the file that was put aside. A line that
// is not one of ours is left out. It reads both files, which are bounded.
func (a *File) Newest() iter.Seq2[*value.Dict, error] {
	return func(yield func(*value.Dict, error) bool) {
		for _, file := range []string{a.file, aside(a.file)} {
			text, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !yield(nil, value.Errorf(value.Unavailable, "read the audit file %s: %w", file, err)) {
				return
			}
			for _, line := range slices.Backward(bytes.Split(text, []byte("\n"))) {
				v, err := value.ParseJSON(line)
				if d, ok := v.(*value.Dict); err == nil && ok && !yield(d, nil) {
					return
				}
			}
		}
	}
}

// write appends a line. The file is opened for each, so that programs that
// share it may put it aside at any time.
func (a *File) write(line []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(a.file), 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(a.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("not a regular file") // opening a FIFO would wait
	case info.Size() > 0 && info.Size()+int64(len(line)) > a.max:
		// Another program may have put it aside just now: what is there is not moved
		// over what it moved.
		if now, err := os.Lstat(a.file); err == nil && os.SameFile(info, now) && now.Size() > a.max/2 {
			if err := os.Rename(a.file, aside(a.file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	f, err := os.OpenFile(a.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line) // one write: the lines of several programs do not mix
	return errors.Join(err, f.Close())
}

// aside returns where a full file goes: audit.1.jsonl for audit.jsonl.
func aside(file string) string {
	suffix := filepath.Ext(file)
	return strings.TrimSuffix(file, suffix) + ".1" + suffix
}

// lineOf writes a decision as a line of JSON.
func lineOf(d *value.Dict) ([]byte, error) {
	short := &value.Dict{}
	for k, v := range d.All() {
		name, _ := k.(string)
		if name = shortText(name); !short.Has(name) {
			short.Put(name, shortValue(v, maxDepth))
		}
	}
	line, err := value.AppendJSON(nil, short)
	return append(bytes.TrimSpace(line), '\n'), err
}

// maxDepth is how deep a value is recorded; the events hold lists of texts.
const maxDepth = 2

// shortValue returns a value as it is recorded: short, and with nothing in it
// that could steer the terminal on which somebody reads it.
func shortValue(v value.Value, depth int) value.Value {
	switch v := v.(type) {
	case nil, bool, int64:
		return v
	case string:
		return shortText(v)
	case *value.Dict:
		if depth == 0 {
			return "…"
		}
		short := &value.Dict{}
		for k, item := range v.All() {
			name, isText := k.(string)
			if !isText {
				name = value.FormatJSON(k, "")
			}
			if name = shortText(name); !short.Has(name) && short.Len() < maxItems {
				short.Put(name, shortValue(item, depth-1))
			}
		}
		return short
	}
	items, ok := value.Elements(v)
	switch {
	case !ok:
		return shortText(value.FormatJSON(v, "")) // a number of another kind, or bytes
	case depth == 0:
		return "…"
	}
	short := value.List{}
	for i, item := range items {
		if i == maxItems {
			return append(short, fmt.Sprintf("… and %d more", len(items)-i))
		}
		short = append(short, shortValue(item, depth-1))
	}
	return short
}

// shortText returns a text as it is recorded. What cannot be seen is written
// out, since a path must not look like another.
func shortText(text string) string {
	var b strings.Builder
	for _, r := range text {
		if b.Len() >= maxText {
			b.WriteString("…")
			break
		}
		if value.IsInvisible(r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
