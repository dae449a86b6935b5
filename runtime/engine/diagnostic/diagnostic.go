// Package diagnostic describes faults that are found in scripts without running them, and the
// edits that fix them.
package diagnostic

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Severity says how bad a fault is.
type Severity string

// The severities. An error fails when the script is loaded or when its line runs; a warning is
// probably not what the author meant.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// A Diagnostic is one fault of a file.
type Diagnostic struct {
	Pos      value.Position // where Span begins: the file, its line, and the column in bytes, both from 1
	Span     Span           // the text at fault
	Severity Severity
	Code     string // what kind of fault it is, such as "unknown-name"
	Message  string // begins in lower case and has no full stop, as that of an error
	Hint     string // what to write instead, or ""
	Fix      *Fix   // nil if no edit certainly fixes it
	// More is how many faults of the same severity it stands for, which are not listed. It is 0 for a fault itself.
	More int
}

// A Span is a part of a text, in bytes from its begin. End is exclusive.
type Span struct{ Start, End int }

// A Fix repairs a fault by edits of the same file.
type Fix struct {
	Title string // an imperative, such as "add \"fs.read\" to needs"
	Edits []Edit
	// Choice says that only a person may choose the fix, since it allows a tool more than its code certainly
	// needs. Editors offer it, but no command applies it on its own.
	Choice bool
}

// An Edit replaces a part of a text.
type Edit struct {
	Span Span
	Text string
}

// Sort sorts diagnostics by their place in the file, then by their code.
func Sort(list []Diagnostic) {
	slices.SortStableFunc(list, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(a.Code, b.Code))
	})
}

// At returns the position of an offset in a text: its line and its column in bytes, both from 1.
// Offsets beyond the text are at its end. As in the positions of diagnostics, a lone \r ends a line,
// and a byte order mark has no column.
func At(file, text string, offset int) value.Position {
	body := strings.TrimPrefix(text, "\ufeff")
	end := min(max(offset-(len(text)-len(body)), 0), len(body))
	line, start := 1, 0
	for i := range end {
		if body[i] == '\n' || body[i] == '\r' && !strings.HasPrefix(body[i+1:], "\n") {
			line, start = line+1, i+1
		}
	}
	return value.Position{File: file, Line: line, Col: 1 + end - start}
}

// Apply applies the fixes of diagnostics to the text in which they were found. A fix that overlaps
// an earlier one is skipped; applied counts the others. Two insertions at one place that are
// equal are made once, as one fix.
func Apply(text string, list []Diagnostic) (fixed string, applied int) {
	var edits []Edit
	for _, d := range list {
		if d.Fix == nil || slices.ContainsFunc(d.Fix.Edits, func(e Edit) bool { return !fits(text, edits, e) }) {
			continue
		}
		for _, e := range d.Fix.Edits {
			if !slices.Contains(edits, e) {
				edits = append(edits, e)
			}
		}
		applied++
	}
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.Span.Start])
		b.WriteString(e.Text)
		at = e.Span.End
	}
	b.WriteString(text[at:])
	return b.String(), applied
}

// fits reports whether an edit is inside the text and overlaps no other one. Different insertions
// at one place overlap, since their order would be arbitrary.
func fits(text string, edits []Edit, e Edit) bool {
	if e.Span.Start < 0 || e.Span.End < e.Span.Start || e.Span.End > len(text) {
		return false
	}
	return !slices.ContainsFunc(edits, func(o Edit) bool {
		overlap := o.Span.Start < e.Span.End && e.Span.Start < o.Span.End || o.Span.Start == e.Span.Start
		return overlap && o != e
	})
}
