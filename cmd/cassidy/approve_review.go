package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A review is the page on which a person decides. All that a stranger wrote is
// made visible and stands behind a margin, on every line of the terminal, so
// that it cannot pass for what cassidy says, nor hide what it would do.
type review struct {
	strings.Builder
	paint func(code, text string) string
	width int  // of the terminal
	all   bool // nothing is left out
}

// How much a person is shown before he asks for all: what fits on a screen.
const (
	reviewFact   = 8  // lines of any one fact
	reviewParams = 30 // lines of parameters
	reviewDiff   = 40 // lines of one file's diff
	reviewDiffs  = 80 // lines of all diffs
)

// The margins of a page.
const (
	labelWidth = 9
	margin     = "  │ "
	folded     = "  ┊ " // before the rest of a line that is too long
	minText    = 10     // columns of text, however narrow the terminal
)

// A reviewLine is one line of a block, and its colour.
type reviewLine struct{ text, colour string }

func (r *review) question(q *approval) {
	head := "may this tool be called?"
	switch {
	case q.Func != "":
		head = "may this tool do this?"
	case q.Changes != nil:
		head = "may this tool change these files?"
	}
	r.WriteString("cassidy: " + r.paint(ui.Bold, head) + "\n")
	r.row("tool", q.tool.DisplayTitle()+" ("+q.tool.Name+")")
	r.row("from", origin(&q.tool))
	r.row("asked by", callers[min(q.call.Caller, tool.ByPerson)])
	r.row("because", q.Reasoning)
	r.row("why", q.Why)
	r.takes(q.Capabilities)
	if len(q.Capabilities) == 0 && q.Func == "" && q.Changes == nil {
		r.row("takes", "nothing: it can only compute")
	}
	args := shownArgs(&q.tool, q.call.Args)
	if q.Func != "" {
		r.row("now", q.Func+" with")
		r.json(q.Args)
		if args.Len() == 0 {
			return
		}
		r.row("called", "with")
	} else {
		r.row("with", "")
	}
	r.json(args)
	r.changes(q.Changes)
}

// callers says who asks for a call.
var callers = [...]string{tool.ByModel: "a model", tool.ByScript: "a script", tool.ByPerson: "you"}

// origin says where a tool comes from.
func origin(t *tool.Tool) string {
	where := map[tool.Location]string{
		tool.Builtin:  "cassidy itself",
		tool.Project:  "this project",
		tool.Personal: "your own tools",
		tool.Embedded: "the program that runs it",
	}[t.Location]
	if where == "" {
		where = string(t.Location)
	}
	if t.Path != "" && t.Location != tool.Builtin {
		where += ": " + t.Path
	}
	return where
}

// row writes a fact; one that is not known is left out, but for a heading.
func (r *review) row(label, text string) {
	if text == "" && label != "with" {
		return
	}
	if text == "" {
		r.WriteString("  " + r.paint(ui.Dim, label) + "\n")
		return
	}
	before := "  " + r.paint(ui.Dim, ui.Pad(label, labelWidth)) + " "
	lines := r.folded(text, labelWidth+3)
	for i, line := range lines {
		if i == reviewFact && !r.all {
			r.cut(len(lines) - i)
			return
		}
		r.WriteString(before + line + "\n")
		before = strings.Repeat(" ", labelWidth+3)
	}
}

// folded makes a text visible and cuts it into lines that fit behind an indent.
func (r *review) folded(text string, indent int) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(ui.Visible(text), "\n"), "\n") {
		lines = append(lines, ui.Fold(line, max(r.width-indent, minText))...)
	}
	return lines
}

// takes writes what a yes would let the tool do, the worst first.
func (r *review) takes(list []tool.Capability) {
	list = ui.WorstFirst(list)
	for i, c := range list {
		label := "takes"
		if i > 0 {
			label = ""
		}
		r.row(ui.Pad(label, 1), c.String()+" — "+ui.InWords(c))
	}
}

// json writes arguments in a block.
func (r *review) json(args *value.Dict) {
	if args == nil {
		args = &value.Dict{}
	}
	var lines []reviewLine
	for line := range strings.SplitSeq(ui.Visible(value.FormatJSON(args, "  ")), "\n") {
		lines = append(lines, reviewLine{text: line})
	}
	r.block(lines, reviewParams)
}

// block writes lines behind the margin, as many as the limit says, and returns
// how many that were.
func (r *review) block(lines []reviewLine, limit int) int {
	written := 0
	for i, line := range lines {
		pieces := ui.Fold(line.text, max(r.width-utf8.RuneCountInString(margin), minText))
		for j, piece := range pieces {
			if written == limit && !r.all {
				r.cut(len(lines) - i - min(j, 1))
				return written
			}
			at := margin
			if j > 0 {
				at = folded
			}
			r.WriteString(r.paint(ui.Dim, at) + r.paint(line.colour, piece) + "\n")
			written++
		}
	}
	return written
}

// cut says that lines are left out.
func (r *review) cut(lines int) {
	more := plural(lines, "more lines")
	if lines < 2 {
		more = "more"
	}
	r.WriteString(r.paint(ui.Dim, "  ╵ ") + r.paint(ui.Yellow, "… "+more+": v shows all") + "\n")
}

// changes writes what would become of files. Each file is named, even where its
// diff is left out.
func (r *review) changes(list []tool.Change) {
	left := reviewDiffs
	for i := range list {
		c := &list[i]
		r.row(changeWords(c), c.Path)
		if note := changeNote(c); note != "" {
			r.row(" ", note)
		}
		lines := changeLines(c)
		switch {
		case len(lines) == 0:
		case left <= 0 && !r.all:
			r.cut(len(lines))
		default:
			left -= r.block(lines, min(reviewDiff, left))
		}
	}
}

// changeWords says in a word what becomes of a path.
func changeWords(c *tool.Change) string {
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

// changeNote says what a diff does not show.
func changeNote(c *tool.Change) string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if c.Before.Exists && c.After.Exists && c.Before.Dir != c.After.Dir {
		note("a folder and a file change places")
	}
	if c.Before.Exists && c.After.Exists && c.Before.Mode != c.After.Mode && c.Before.Mode != 0 && c.After.Mode != 0 {
		note("its mode changes from %o to %o", c.Before.Mode, c.After.Mode)
	}
	if !c.Before.Exists && c.After.Exists && !c.After.Dir && c.After.Mode&0o111 != 0 {
		note("it can be executed (mode %o)", c.After.Mode)
	}
	if binary(&c.Before) || binary(&c.After) {
		note("binary: %d bytes before, %d after", len(c.Before.Data), len(c.After.Data))
	} else if unread(&c.Before) {
		note("what is in it now was not read")
	}
	if c.Before.Exists && c.After.Exists && !c.Before.Dir && !c.After.Dir && c.Before.Hash == c.After.Hash && len(notes) == 0 {
		note("it stays as it is")
	}
	if !c.Before.Exists && c.After.Exists && !c.After.Dir && len(c.After.Data) == 0 {
		note("empty")
	}
	return strings.Join(notes, "; ")
}

// unread reports whether there is a file of which only the hash is known.
func unread(s *tool.FileState) bool {
	return s.Exists && !s.Dir && len(s.Data) == 0 && s.Hash != "" && s.Hash != tool.HashBytes(nil)
}

// binary reports whether content would be no text on a terminal.
func binary(s *tool.FileState) bool {
	return bytes.IndexByte(s.Data, 0) >= 0 || !utf8.Valid(s.Data)
}

// changeLines returns the diff of a file of text.
func changeLines(c *tool.Change) []reviewLine {
	if binary(&c.Before) || binary(&c.After) {
		return nil
	}
	return diff(string(c.Before.Data), string(c.After.Data))
}

// maxCompared is how much text is compared, in bytes: the time that takes
// grows with its square. What is longer is shown as all old, and all new.
const maxCompared = 256 << 10

// diff returns a unified diff without its head.
func diff(before, after string) []reviewLine {
	before, after, skipped := differing(before, after)
	var lines []reviewLine
	if len(before) > maxCompared || len(after) > maxCompared {
		lines = appendLines(lines, udiff.Delete, before)
		return appendLines(lines, udiff.Insert, after)
	}
	u, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil { // edits that it has made itself
		lines = appendLines(lines, udiff.Delete, before)
		return appendLines(lines, udiff.Insert, after)
	}
	for _, h := range u.Hunks {
		at := fmt.Sprintf("@@ line %d @@", h.FromLine+skipped)
		lines = append(lines, reviewLine{at, ui.Dim})
		for _, l := range h.Lines {
			lines = appendLines(lines, l.Kind, l.Content)
		}
	}
	return lines
}

// differing cuts what two texts have in common off their ends, but for some
// lines of context, and says how many lines it cut off the beginning: so a
// small change of a long text is quickly found.
func differing(before, after string) (a, b string, skipped int) {
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
	skipped = strings.Count(before[:start], "\n")
	a, b = before[start:], after[start:]
	tail := 0
	for tail < len(a) && tail < len(b) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	// Keep whole lines, and some: what is cut off begins after a line's end.
	for range udiff.DefaultContextLines + 1 {
		i := strings.IndexByte(a[len(a)-tail:], '\n')
		if i < 0 {
			return a, b, skipped
		}
		tail -= i + 1
	}
	return a[:len(a)-tail], b[:len(b)-tail], skipped
}

// appendLines appends lines of one kind of a diff.
func appendLines(lines []reviewLine, kind udiff.OpKind, text string) []reviewLine {
	sign, colour := " ", ""
	switch kind {
	case udiff.Delete:
		sign, colour = "-", ui.Red
	case udiff.Insert:
		sign, colour = "+", ui.Green
	}
	for line := range strings.Lines(text) {
		body, ended := strings.CutSuffix(line, "\n")
		lines = append(lines, reviewLine{sign + ui.Visible(body), colour})
		if !ended {
			lines = append(lines, reviewLine{"(no newline at the end)", ui.Dim})
		}
	}
	return lines
}
