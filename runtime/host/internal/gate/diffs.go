package gate

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// maxBeside is how much of a file is recorded beside its diff, in bytes.
const maxBeside = 64 << 10

// maxRecorded is how much of the files without a diff is recorded with a question, in bytes.
const maxRecorded = 16 << 20

// maxDiffed is how much of a file is compared, in bytes, not counting the lines that both
// versions begin and end with. A file of short lines takes about a microsecond for each.
const maxDiffed = 64 << 10

// withDiffs returns a copy of changes with their diffs.
func withDiffs(changes []tool.Change) []tool.Change {
	list := slices.Clone(changes)
	for i := range list {
		list[i].Diff = diffOfChange(&list[i])
	}
	return list
}

// changedPaths lists the first paths that change.
func changedPaths(changes []tool.Change) string {
	const most = 3
	var names []string
	for _, c := range changes[:min(most, len(changes))] {
		names = append(names, c.Path)
	}
	text := strings.Join(names, ", ")
	if more := len(changes) - most; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// clippedDiffs returns a copy of changes to be recorded. The contents of large files are left out
// where a diff shows the change, and of the largest ones where they are too much to record.
func clippedDiffs(changes []tool.Change) []tool.Change {
	list := slices.Clone(changes)
	left := maxRecorded
	for i := range list {
		c := &list[i]
		most := maxBeside
		if c.Diff == "" {
			most = left
		}
		for _, s := range []*tool.FileState{&c.After, &c.Before} {
			if len(s.Data) > most {
				s.Data, s.Length = nil, len(s.Data)
			} else if c.Diff == "" {
				left -= len(s.Data)
				most = left
			}
		}
	}
	return list
}

// diffOfChange returns the unified diff of a change, or "" for files that are too large or not text.
func diffOfChange(c *tool.Change) string {
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
	if err != nil { // cannot happen: the edits are its own
		return ""
	}
	for _, h := range u.Hunks {
		h.FromLine += skipped
		h.ToLine += skipped
	}
	return u.String()
}

// isText reports whether the complete content of a file is known, and is text.
func isText(s *tool.FileState) bool {
	return s.Known() && utf8.Valid(s.Data) && bytes.IndexByte(s.Data, 0) < 0
}

// trimmed removes the lines that two texts begin and end with, except for the context of a
// diff. skipped is the number of lines that were removed at the beginning.
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
