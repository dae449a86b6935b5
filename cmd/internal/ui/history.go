package ui

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A History holds the messages that were typed at a prompt, in this session and in
// earlier ones. It is stored in a file that only its user can read, one JSON string a
// line. Messages that begin with a space are not added, as in a shell.
type History struct {
	file  string // "" for a history in memory only
	lines []string
}

const (
	maxPast     = 500     // messages
	maxPastLine = 8 << 10 // bytes of a message
)

// OpenHistory reads the history in a file. An unreadable file counts as empty. A file
// with more than twice maxPast messages is shortened to maxPast.
func OpenHistory(file string) *History {
	h := &History{file: file}
	text, err := os.ReadFile(file)
	if err != nil {
		return h
	}
	for line := range strings.Lines(string(text)) {
		if v, err := value.ParseJSON([]byte(line)); err == nil {
			if text, ok := v.(string); ok {
				h.lines = append(h.lines, text)
			}
		}
	}
	if grown := len(h.lines) > 2*maxPast; grown {
		h.lines = h.lines[len(h.lines)-maxPast:]
		h.rewrite()
	}
	return h
}

// rewrite replaces the file with the messages in memory. If that fails, the file is
// unchanged.
func (h *History) rewrite() {
	var b strings.Builder
	for _, line := range h.lines {
		b.WriteString(value.FormatJSON(line, "") + "\n")
	}
	next := h.file + ".new"
	if os.WriteFile(next, []byte(b.String()), 0o600) != nil || os.Rename(next, h.file) != nil {
		_ = os.Remove(next)
	}
}

// Add appends a message, unless it equals the last one.
func (h *History) Add(line string) {
	last := len(h.lines) - 1
	if line == "" || line[0] == ' ' || len(line) > maxPastLine || last >= 0 && h.lines[last] == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.file == "" || os.MkdirAll(filepath.Dir(h.file), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return // the session continues without the file
	}
	_, _ = f.WriteString(value.FormatJSON(line, "") + "\n")
	_ = f.Close()
}
