package review

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Changes adds the changes of files. Each file is named, also if it is binary or too large
// to compare.
func (r *Review) Changes(list []tool.Change) {
	moved := moves(list)
	for i := range list {
		c := &list[i]
		switch from, isMove := moved[i]; {
		case isMove && from == i: // the origin
			continue
		case isMove:
			path := oneLine(Plain, 0, list[from].Path)
			path.Spans = append(append(path.Spans, visible.Span{Text: " → "}), visible.Spans(c.Path)...)
			path.Size += len(" → " + c.Path)
			r.file("moves", path, nil, changeNotes(&tool.Change{Path: c.Path, Before: list[from].Before, After: c.After}))
			continue
		}
		lines := changeLines(c)
		r.file(changeWord(c), oneLine(Plain, 0, c.Path), lines, changeNotes(c))
		if len(lines) > 0 {
			r.Parts = append(r.Parts, Part{Kind: Diff, Lines: lines})
		}
	}
}

// file adds the head of a file: what is done to it, its path, and how many lines are added and removed.
func (r *Review) file(word string, path Line, lines []Line, notes []string) {
	if sums := sums(lines); sums != "" {
		path.Spans = append(path.Spans, visible.Span{Text: "  " + sums})
	}
	p := Part{Kind: File, Label: word, Lines: []Line{path}}
	for _, text := range notes {
		p.Lines = append(p.Lines, note(text))
	}
	r.Parts = append(r.Parts, p)
}

// sums counts the lines of a diff that are added and removed, as in "+2 −1".
func sums(lines []Line) string {
	added, removed := 0, 0
	for i := range lines {
		n := 1
		if l := &lines[i]; l.blank() {
			n = l.Size
		}
		switch lines[i].Sign {
		case Added:
			added += n
		case Removed:
			removed += n
		}
	}
	var list []string
	if added > 0 {
		list = append(list, fmt.Sprintf("+%d", added))
	}
	if removed > 0 {
		list = append(list, fmt.Sprintf("−%d", removed))
	}
	return strings.Join(list, " ")
}

// blank reports whether a line stands for a run of blank lines.
func (l *Line) blank() bool {
	return len(l.Spans) == 1 && l.Spans[0].Mark == visible.Space && l.Size == l.Spans[0].Size
}

// Diff adds the changes of a text.
func (r *Review) Diff(before, after string) {
	r.Parts = append(r.Parts, Part{Kind: Diff, Lines: diff(before, after)})
}

// moves finds the files that are created with the content of a deleted one. It returns the
// index of the deleted file by that of the created one, and by its own.
func moves(list []tool.Change) map[int]int {
	gone := map[string]int{}
	for i, c := range list {
		if c.Before.Exists && !c.After.Exists && !c.Before.Dir {
			gone[c.Before.Hash] = i
		}
	}
	moved := map[int]int{}
	for i, c := range list {
		if from, ok := gone[c.After.Hash]; ok && !c.Before.Exists && c.After.Exists && !c.After.Dir && c.After.Hash != "" {
			moved[i], moved[from] = from, from
			delete(gone, c.After.Hash)
		}
	}
	return moved
}

// changeWord describes a change in a word.
func changeWord(c *tool.Change) string {
	switch {
	case !c.After.Exists && c.Before.Dir:
		return "rmdir"
	case !c.After.Exists:
		return "deletes"
	case c.After.Dir && !c.Before.Dir:
		return "mkdir"
	case !c.Before.Exists:
		return "new"
	}
	return "changes"
}

// changeNotes describes what a diff does not show.
func changeNotes(c *tool.Change) []string {
	var notes []string
	add := func(applies bool, format string, args ...any) {
		if applies {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	b, a := &c.Before, &c.After
	both, created := b.Exists && a.Exists, !b.Exists && a.Exists && !a.Dir
	add(both && b.Dir != a.Dir, "a file becomes a folder, or a folder becomes a file")
	add(both && b.Mode != a.Mode && b.Mode != 0 && a.Mode != 0, "the mode changes from %o to %o", b.Mode, a.Mode)
	add(created && a.Mode&0o111 != 0, "executable (mode %o)", a.Mode)
	isBinary := binary(b) || binary(a)
	add(isBinary && b.Exists, "binary: %d bytes before, sha256 %s", len(b.Data), b.Hash)
	add(isBinary && a.Exists, "binary: %d bytes after, sha256 %s", len(a.Data), a.Hash)
	add(!isBinary && unread(b), "the old content is unavailable: sha256 %s", b.Hash)
	add(!isBinary && unread(a), "the new content is too large to show: sha256 %s", a.Hash)
	add(both && !b.Dir && !a.Dir && b.Hash == a.Hash && len(notes) == 0, "unchanged")
	add(created && a.Hash == tool.HashBytes(nil), "empty")
	return notes
}

// unread reports whether only the hash of a file is known.
func unread(s *tool.FileState) bool {
	return s.Exists && !s.Dir && len(s.Data) == 0 && s.Hash != "" && s.Hash != tool.HashBytes(nil)
}

// binary reports whether a file is not text: more than a tenth of it are control characters
// or not UTF-8. A script with a few such bytes would still run, so it is shown.
func binary(s *tool.FileState) bool {
	if bytes.IndexByte(s.Data, 0) < 0 && utf8.Valid(s.Data) {
		return false
	}
	odd := 0
	for data := s.Data; len(data) > 0; {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 || r < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", r) {
			odd++
		}
		data = data[size:]
	}
	return odd > len(s.Data)/10
}

// changeLines returns the diff of a text file.
func changeLines(c *tool.Change) []Line {
	switch {
	case binary(&c.Before) || binary(&c.After) || c.Before.Exists && c.After.Exists && c.Before.Hash == c.After.Hash && c.Before.Hash != "":
		return nil
	case (unread(&c.Before) || unread(&c.After)) && c.Diff != "":
		return recordedDiff(c.Diff)
	}
	return diff(string(c.Before.Data), string(c.After.Data))
}

// recordedDiff returns the lines of a unified diff, without its head.
func recordedDiff(text string) []Line {
	signs := map[byte]Sign{' ': Context, '-': Removed, '+': Added}
	var lines []Line
	for i, line := range strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n") {
		body := strings.TrimSuffix(line, "\n")
		switch {
		case i < 2 || body == "":
		case signs[body[0]] != "":
			lines = append(lines, Line{Sign: signs[body[0]], Spans: oneLine(Plain, 0, body[1:]).Spans, Size: len(line) - 1})
		default:
			lines = append(lines, Line{Sign: Hunk, Spans: oneLine(Plain, 0, body).Spans})
		}
	}
	return lines
}

// diff returns a unified diff without its head.
func diff(before, after string) (lines []Line) {
	u, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil { // the edits are valid
		return appendLines(appendLines(nil, udiff.Delete, before), udiff.Insert, after)
	}
	for _, h := range u.Hunks {
		first := len(lines)
		lines = append(lines, Line{Sign: Hunk, Spans: note(fmt.Sprintf("@@ line %d @@", h.FromLine)).Spans})
		for i := 0; i < len(h.Lines); {
			var part strings.Builder
			kind := h.Lines[i].Kind
			for ; i < len(h.Lines) && h.Lines[i].Kind == kind; i++ {
				part.WriteString(h.Lines[i].Content)
			}
			lines = appendLines(lines, kind, part.String())
		}
		number(lines[first:], h.FromLine, h.ToLine)
	}
	return lines
}

// number numbers the lines of a hunk. A run of blank lines is one line here.
func number(lines []Line, old, new int) {
	for i := range lines {
		l := &lines[i]
		n := 1
		if l.blank() {
			n = l.Size
		}
		switch l.Sign {
		case Context:
			l.Old, l.New = old, new
			old, new = old+n, new+n
		case Removed:
			l.Old, old = old, old+n
		case Added:
			l.New, new = new, new+n
		}
	}
}

// appendLines appends lines of one kind of a diff.
func appendLines(lines []Line, kind udiff.OpKind, text string) []Line {
	sign := map[udiff.OpKind]Sign{udiff.Equal: Context, udiff.Delete: Removed, udiff.Insert: Added}[kind]
	if text == "" {
		return lines
	}
	lines = append(lines, textLines(sign, 0, text)...)
	if !strings.HasSuffix(text, "\n") {
		lines = append(lines, note("(no newline at the end)"))
	}
	return lines
}
