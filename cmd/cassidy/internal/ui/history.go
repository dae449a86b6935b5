package ui

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A History is what was typed at a prompt, in this session and in earlier ones.
// It is kept in a file that only its user can read, a line of JSON for each
// message. What begins with a space is not kept, as in a shell.
type History struct {
	file  string // or "", where it is only remembered
	lines []string
}

const (
	// maxPast is how many messages are kept: what one may want to go back to.
	maxPast = 500
	// maxPastLine is how long a kept one is at most, in bytes: a pasted file is
	// better pasted again.
	maxPastLine = 8 << 10
)

// OpenHistory reads what was typed earlier. A file that cannot be read is
// taken for an empty one, and one that has grown is shortened.
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

// rewrite puts what is remembered in place of the file. Where that fails, the
// file stays as it was.
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

// Add keeps a message, unless it is the last one again.
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
		return // a session goes on without
	}
	_, _ = f.WriteString(value.FormatJSON(line, "") + "\n")
	_ = f.Close()
}
