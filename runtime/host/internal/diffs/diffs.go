// Package diffs shows what would change in files.
package diffs

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// maxShown is how much of a file is recorded with a question, in bytes.
const maxShown = 64 << 10

// maxDiffed is how much of a file is compared, in bytes, beside what both sides
// begin and end with: the time grows with its square.
const maxDiffed = 64 << 10

// With returns changes with their diffs.
func With(changes []tool.Change) []tool.Change {
	list := slices.Clone(changes)
	for i := range list {
		list[i].Diff = diff(&list[i])
	}
	return list
}

// Clipped returns changes as they are recorded: without the content of large files.
func Clipped(changes []tool.Change) []tool.Change {
	list := slices.Clone(changes)
	for i := range list {
		for _, s := range []*tool.FileState{&list[i].Before, &list[i].After} {
			if len(s.Data) > maxShown {
				s.Data = nil
			}
		}
	}
	return list
}

// diff returns the unified diff of a change, or "" where there is none to show.
func diff(c *tool.Change) string {
	if !isText(&c.Before) || !isText(&c.After) {
		return ""
	}
	before, after, skipped := trimmed(string(c.Before.Data), string(c.After.Data))
	if len(before) > maxDiffed || len(after) > maxDiffed {
		return ""
	}
	from, to := "a/"+c.Path, "b/"+c.Path
	if !c.Before.Exists {
		from = "/dev/null"
	}
	if !c.After.Exists {
		to = "/dev/null"
	}
	u, err := udiff.ToUnifiedDiff(from, to, before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil { // edits that it has made itself
		return ""
	}
	for _, h := range u.Hunks {
		h.FromLine += skipped
		h.ToLine += skipped
	}
	return u.String()
}

// isText reports whether all that a file holds is known, and is text.
func isText(s *tool.FileState) bool {
	unread := s.Exists && len(s.Data) == 0 && s.Hash != "" && s.Hash != tool.HashBytes(nil)
	return !s.Dir && !unread && utf8.Valid(s.Data) && bytes.IndexByte(s.Data, 0) < 0
}

// trimmed cuts the lines that two texts begin and end with off them, but for the
// context of a diff. It returns how many lines it cut off the beginning.
func trimmed(before, after string) (a, b string, skipped int) {
	same := 0
	for same < len(before) && same < len(after) && before[same] == after[same] {
		same++
	}
	start := strings.LastIndexByte(before[:same], '\n') + 1
	for range udiff.DefaultContextLines {
		if start > 0 {
			start = strings.LastIndexByte(before[:start-1], '\n') + 1
		}
	}
	a, b = before[start:], after[start:]
	tail := 0
	for tail < len(a) && tail < len(b) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for range udiff.DefaultContextLines + 1 { // the first end of a line may be that of a line that differs
		i := strings.IndexByte(a[len(a)-tail:], '\n')
		if i < 0 {
			tail = 0
			break
		}
		tail -= i + 1
	}
	return a[:len(a)-tail], b[:len(b)-tail], strings.Count(before[:start], "\n")
}
