package cassidy

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The bounds of the audit file.
const (
	// maxAudit is how long the file grows before it is put aside: some ten
	// thousands of lines, which every tool still opens.
	maxAudit = 10 << 20
	// maxAuditText is how much of each text is kept: what an untrusted author wrote must
	// not push the lines of others out of the file.
	maxAuditText = 1 << 10
	// maxAuditItems is how much of each list is kept.
	maxAuditItems = 100
)

// An audit records in a file what was allowed or refused. It never fails a
// call: where it cannot write, the host says so once, as an event.
type audit struct {
	file string
	max  int64
	mu   sync.Mutex
}

// auditTo returns what records decisions in a file, or nil where that is "". The
// file and its folder are made for the first line, for their owner alone.
func auditTo(file string) func(tool.Event) error {
	if file == "" {
		return nil
	}
	a := &audit{file: file, max: maxAudit}
	return a.record
}

func (a *audit) record(e tool.Event) error {
	line, err := auditLine(e)
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

// write appends a line. The file is opened for each, so that programs that
// share it may put it aside at any time.
func (a *audit) write(line []byte) error {
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

// auditLine writes an event as a line of JSON.
func auditLine(e tool.Event) ([]byte, error) {
	d := value.NewDict("time", e.Time.UTC().Format("2006-01-02T15:04:05.000Z"), "tool", auditText(e.Tool), "call", auditText(e.Call))
	for k, v := range e.Fields().All() {
		name, _ := k.(string)
		if name = auditText(name); !d.Has(name) {
			d.Put(name, auditValue(v, auditDepth))
		}
	}
	line, err := value.AppendJSON(nil, d)
	return append(bytes.TrimSpace(line), '\n'), err
}

// auditDepth is how deep a value is recorded; the events hold lists of texts.
const auditDepth = 2

// auditValue returns a value as it is recorded: short, and with nothing in it
// that could steer the terminal on which somebody reads it.
func auditValue(v value.Value, depth int) value.Value {
	switch v := v.(type) {
	case nil, bool, int64:
		return v
	case string:
		return auditText(v)
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
			if name = auditText(name); !short.Has(name) && short.Len() < maxAuditItems {
				short.Put(name, auditValue(item, depth-1))
			}
		}
		return short
	}
	items, ok := value.Elements(v)
	switch {
	case !ok:
		return auditText(value.FormatJSON(v, "")) // a number of another kind, or bytes
	case depth == 0:
		return "…"
	}
	short := value.List{}
	for i, item := range items {
		if i == maxAuditItems {
			return append(short, fmt.Sprintf("… and %d more", len(items)-i))
		}
		short = append(short, auditValue(item, depth-1))
	}
	return short
}

// auditText returns a text as it is recorded. What cannot be seen is written
// out, since a path must not look like another.
func auditText(text string) string {
	var b strings.Builder
	for _, r := range text {
		if b.Len() >= maxAuditText {
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
