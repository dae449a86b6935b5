// Package memory keeps the notes that models write about a project, in a file of the project.
//
// A model reads the notes at the beginning of later conversations, so a wrong one outlives the
// conversation that wrote it. The package only writes what it is given: who approves it, and
// that the file is trusted before a model reads it, is decided by its callers.
package memory

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// File is the file of the notes, relative to the project's root.
const File = folder.Name + "/memory.md"

const (
	// MaxNote is how long one note may be, in characters: a fact with its reason.
	MaxNote = 2000
	// MaxFile is how long the file may be, in bytes. A model is given its newest part only.
	MaxFile = 64 << 10
)

// header begins the file. It is not given to models.
const header = `# Memory

Models have written these notes with the tool "remember". You can edit and delete them.

`

// A note is one note as it is written.
type note struct {
	text string
	id   string    // identifies the effect that writes it, or "" if that is not recorded
	when time.Time // only the day is written
}

// tidy returns a text as it is stored: without characters that cannot be seen, and without white
// space around it. It fails with kind Invalid for a text that is empty or too long.
func tidy(text string) (string, error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || !value.IsInvisible(r):
			return r
		case r == '\t':
			return ' '
		}
		return -1
	}, strings.ToValidUTF8(text, ""))
	text = strings.TrimSpace(text)
	switch n := utf8.RuneCountInString(text); {
	case n == 0:
		return "", value.Errorf(value.Invalid, "the note is empty").WithHint("pass the text of the note")
	case n > MaxNote:
		return "", value.Errorf(value.Invalid, "the note has %d characters: limit %d", n, MaxNote).WithHint("shorten the note")
	}
	return text, nil
}

// listed returns a text as an item of a list. All lines but the first are indented, so no text can
// begin another item.
func listed(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line = strings.TrimRight(line, " "); i > 0 && line != "" {
			line = "  " + line
		}
		lines[i] = line
	}
	return "- " + strings.Join(lines, "\n")
}

// item returns the note as it is written. Its last line identifies it.
func (n note) item() string {
	mark := n.when.UTC().Format(time.DateOnly)
	if n.id != "" {
		mark += " " + n.id
	}
	return listed(n.text) + "\n  <!-- " + mark + " -->\n"
}

// markLine matches the last line of an item.
var markLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^  <!-- \d{4}-\d\d-\d\d(?: ([0-9a-f]{16}))? -->$`)
})

// newID returns the ID of the note that an effect with a key writes.
func newID(key string) string {
	if key == "" {
		return ""
	}
	return tool.HashBytes([]byte(key))[:16]
}

// split returns what comes before the first item of a file, and the items. Together they are the
// file. The text after an item belongs to it.
func split(file string) (before string, items []string) {
	for line := range strings.Lines(file) {
		switch {
		case strings.HasPrefix(line, "- "):
			items = append(items, line)
		case len(items) == 0:
			before += line
		default:
			items[len(items)-1] += line
		}
	}
	return before, items
}

// read returns the text of an item, and the ID of the note or "".
func read(item string) (text, id string) {
	lines, mark := []string(nil), -1
	for line := range strings.Lines(strings.TrimPrefix(item, "- ")) {
		line = strings.TrimRight(line, "\r\n")
		if m := markLine().FindStringSubmatch(line); m != nil {
			id, mark = m[1], len(lines) // the last one: a note can have a line that looks like it
		}
		lines = append(lines, strings.TrimPrefix(line, "  "))
	}
	if mark >= 0 {
		lines = slices.Delete(lines, mark, mark+1)
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), id
}

// find returns the index of the item with an ID, or -1.
func find(items []string, id string) int {
	return slices.IndexFunc(items, func(item string) bool {
		_, other := read(item)
		return id != "" && other == id
	})
}

// Recent returns the newest notes of a file as a list with at most limit characters, the oldest of
// them first, and how many others there are. What the user has written before the first note is
// the oldest one.
func Recent(file string, limit int) (notes string, older int) {
	before, items := split(strings.TrimPrefix(file, header))
	for i, item := range items {
		items[i] = ""
		if text, _ := read(item); text != "" {
			items[i] = listed(text)
		}
	}
	if before = strings.TrimSpace(before); before != "" {
		items = append([]string{before}, items...)
	}
	items = slices.DeleteFunc(items, func(item string) bool { return item == "" })
	first := len(items)
	for first > 0 {
		n := utf8.RuneCountInString(items[first-1]) + 1
		if n > limit {
			break
		}
		limit -= n
		first--
	}
	return strings.Join(items[first:], "\n"), first
}
