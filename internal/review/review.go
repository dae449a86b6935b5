// Package review shows what a person is asked about: the facts of a question, the values that
// a call or an effect gets, and the changes of files. It is data, which a terminal, JSON and a
// page of the web present. Untrusted text in it is made visible, see package visible. What does
// not fit on a screen is cut in the middle, with the exact number of lines and bytes that are
// not shown.
package review

import (
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Review is what a person decides on.
type Review struct {
	Title string
	Parts []Part
}

// A Part is a fact, or a block of text.
type Part struct {
	Kind  Kind
	Label string // of a fact
	Lines []Line
	file  bool // it begins a file of several
}

// A Kind is how a part is shown.
type Kind string

const (
	Fact  Kind = "fact"  // beside its label
	Block Kind = "block" // below, with a margin
	Diff  Kind = "diff"  // like a block, with signs
)

// A Line is a line of a part.
type Line struct {
	Sign  Sign
	Depth int // how deep a text is inside other values
	Spans []visible.Span
	Size  int // of the untrusted text, in bytes, with its line end
}

// A Sign is what a line is.
type Sign string

const (
	Plain   Sign = ""
	Note    Sign = "note"    // not a part of the text
	Text    Sign = "text"    // of a value with several lines
	Hunk    Sign = "hunk"    // where in a file the next lines are
	Context Sign = "context" // unchanged
	Removed Sign = "removed"
	Added   Sign = "added"
)

// About is what is known of the caller, besides the question.
type About struct {
	Tool   string                       // the tool, with its title
	From   string                       // where it comes from
	Caller string                       // who makes the call
	Args   *value.Dict                  // of the call to which an effect belongs
	Words  func(tool.Capability) string // what a capability allows, or nil
}

// Of returns the review of a question.
func Of(q *tool.Question, about *About) *Review {
	r := &Review{}
	if q.Kind != tool.QuestionApproval {
		r.asked(q)
		return r
	}
	switch {
	case q.Func != "":
		r.Title = "may this tool do this?"
	case len(q.Changes) > 0:
		r.Title = "may this tool change these files?"
	default:
		r.Title = "may this tool be called?"
	}
	name := about.Tool
	if name == "" {
		name = q.Tool
	}
	r.fact("tool", name)
	r.fact("from", about.From)
	r.fact("asked by", about.Caller)
	r.fact("because", q.Reasoning)
	r.fact("why", q.Why)
	r.takes(q, about.Words)
	switch {
	case q.Func != "":
		r.fact("now", q.Func+" with")
		r.values(q.Args)
		if about.Args.Len() > 0 && !value.Equal(about.Args, q.Args) {
			r.fact("called", "with")
			r.values(about.Args)
		}
	case len(q.Changes) > 0: // the changes are all that a yes does
		r.Parts = append(r.Parts, Part{Kind: Fact, Label: "with"})
		r.values(brief(q.Args))
	default:
		r.Parts = append(r.Parts, Part{Kind: Fact, Label: "with"})
		r.values(q.Args)
	}
	r.Changes(q.Changes)
	return r
}

// asked adds the question of a script, or the one whether to repeat an effect.
func (r *Review) asked(q *tool.Question) {
	r.Title = "a question for you"
	unknown := q.Kind == tool.QuestionUnknown
	if unknown {
		r.Title = "do this again?"
	}
	r.fact("asked by", q.Tool)
	r.fact("run", q.Run)
	if unknown {
		r.fact("began", q.Func+" with")
		r.values(q.Args)
		r.fact("but", "the run was interrupted, and the result is unknown")
		r.fact("yes", "does it again")
		if q.TakesDone() {
			r.fact("done", "it was carried out; you give its result")
		}
	}
	r.Text(strings.TrimSpace(q.Text))
	r.Changes(q.Changes)
}

// fact adds a fact unless its text is empty.
func (r *Review) fact(label, text string) {
	if text != "" {
		r.Parts = append(r.Parts, Part{Kind: Fact, Label: label, Lines: textLines(Plain, 0, text)})
	}
}

// takes adds what a yes allows, the most dangerous first.
func (r *Review) takes(q *tool.Question, words func(tool.Capability) string) {
	p := Part{Kind: Fact, Label: "takes"}
	for _, acts := range []bool{true, false} {
		for _, c := range q.Capabilities {
			if c.Acts() != acts {
				continue
			}
			text := c.String()
			if words != nil {
				text += " — " + words(c)
			}
			p.Lines = append(p.Lines, oneLine(Plain, 0, text))
		}
	}
	server, _, attached := strings.Cut(q.Tool, ".") // no other tool has a name with a dot
	switch {
	case len(p.Lines) > 0:
		r.Parts = append(r.Parts, p)
	case q.Func != "" || q.Changes != nil:
	case attached:
		r.fact("takes", "whatever the server "+server+" may do: it makes the call")
	default:
		r.fact("takes", "nothing: the tool can only compute")
	}
}

// Text adds a text as a block.
func (r *Review) Text(text string) {
	r.Parts = append(r.Parts, Part{Kind: Block, Lines: textLines(Plain, 0, text)})
}

// textLines returns the lines of a text. An empty text is an empty line.
func textLines(sign Sign, depth int, text string) []Line {
	var lines []Line
	for _, l := range visible.Lines(text) {
		lines = append(lines, Line{sign, depth, l.Spans, l.Size})
	}
	if lines == nil {
		return []Line{{Sign: sign, Depth: depth}}
	}
	return lines
}

// oneLine returns a text as one line, in which line ends are marked.
func oneLine(sign Sign, depth int, text string) Line {
	return Line{sign, depth, visible.Spans(text), len(text)}
}

// note returns a line that is not a part of what is reviewed.
func note(text string) Line { return Line{Sign: Note, Spans: []visible.Span{{Text: text}}} }

// A Row is a line of a review as it is shown in a number of columns.
type Row struct {
	Kind   RowKind
	Label  string // of the first row of a fact
	Sign   Sign
	Depth  int
	Folded bool // it continues the row above
	Spans  []visible.Span
	Hidden Hidden // what is not shown between the rows above and below
}

// A RowKind is what a row belongs to.
type RowKind string

const (
	FactRow   RowKind = "fact"
	BlockRow  RowKind = "block"
	HiddenRow RowKind = "hidden"
)

// Hidden is how much is not shown.
type Hidden struct {
	Files int
	Lines int // as they would be shown
	Bytes int
}

// Any reports whether something is not shown.
func (h Hidden) Any() bool { return h != Hidden{} }

// Add adds what else is not shown.
func (h *Hidden) Add(other Hidden) {
	h.Files += other.Files
	h.Lines += other.Lines
	h.Bytes += other.Bytes
}

// The limits of a review that is not shown in full: some screens.
const (
	maxFact  = 8  // rows of a fact
	maxBlock = 30 // rows of values
	maxDiff  = 40 // rows of one file's diff
	maxDiffs = 80 // rows of all diffs
	maxFiles = 40
)

// The columns before the text of rows.
const (
	LabelColumns  = 9
	FactColumns   = LabelColumns + 3
	MarginColumns = 4
	DepthColumns  = 2
	minColumns    = 10 // for text, however narrow the terminal is
)

// Rows returns the rows of a review in a number of columns, and how much they do not show.
// With all, they show everything.
func (r *Review) Rows(columns int, all bool) (rows []Row, hidden Hidden) {
	left := maxDiffs
	files := 0
	for i := range r.Parts {
		if r.Parts[i].file {
			files++
		}
	}
	file := 0
	var skipped Hidden
	for i := range r.Parts {
		p := &r.Parts[i]
		if p.file {
			file++
		}
		most, tail := p.limits(left)
		own := p.rows(columns)
		if tail := maxFiles / 4; !all && files > maxFiles && file > maxFiles-tail && file <= files-tail {
			skipped.Add(sizeOf(own))
			if p.file {
				skipped.Files++
			}
			continue
		}
		if skipped.Any() {
			rows = append(rows, Row{Kind: HiddenRow, Hidden: skipped})
			hidden.Add(skipped)
			skipped = Hidden{}
		}
		if p.Kind == Diff {
			left = max(0, left-len(own))
		}
		if all || len(own) <= most {
			rows = append(rows, own...)
			continue
		}
		cut := sizeOf(own[most-tail : len(own)-tail])
		rows = append(rows, own[:most-tail]...)
		rows = append(rows, Row{Kind: HiddenRow, Hidden: cut})
		rows = append(rows, own[len(own)-tail:]...)
		hidden.Add(cut)
	}
	return rows, hidden
}

// limits returns how many rows of a part are shown, and how many of these are its last ones.
// left is what other diffs have left.
func (p *Part) limits(left int) (most, tail int) {
	switch p.Kind {
	case Fact:
		most = maxFact
	case Diff:
		most = min(maxDiff, left)
	default:
		most = maxBlock
	}
	return most, most / 3
}

// rows returns all rows of a part.
func (p *Part) rows(columns int) []Row {
	kind, before := BlockRow, MarginColumns
	if p.Kind == Fact {
		kind, before = FactRow, FactColumns
	}
	if len(p.Lines) == 0 {
		return []Row{{Kind: kind, Label: p.Label}}
	}
	var rows []Row
	for i, l := range p.Lines {
		width := columns - before - DepthColumns*l.Depth
		if l.Sign == Context || l.Sign == Removed || l.Sign == Added {
			width--
		}
		pieces := visible.Fold(l.Spans, max(width, minColumns))
		for j, spans := range pieces {
			row := Row{Kind: kind, Sign: l.Sign, Depth: l.Depth, Folded: j > 0, Spans: spans}
			if i == 0 && j == 0 {
				row.Label = p.Label
			}
			row.Hidden.Lines, row.Hidden.Bytes = 1, sizeOfSpans(spans)
			if j == len(pieces)-1 {
				row.Hidden.Bytes += l.Size - sizeOfSpans(l.Spans) // its line end
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func sizeOfSpans(spans []visible.Span) (n int) {
	for _, s := range spans {
		n += s.Size
	}
	return n
}

// sizeOf returns how much would not be shown without some rows.
func sizeOf(rows []Row) (h Hidden) {
	for i := range rows {
		h.Add(rows[i].Hidden)
	}
	return h
}

// Size returns the lines and bytes of what is reviewed.
func (r *Review) Size() (lines, bytes int) {
	for i := range r.Parts {
		for _, l := range r.Parts[i].Lines {
			lines++
			bytes += l.Size
		}
	}
	return lines, bytes
}

// Dict returns a review for programs: its title, and its parts with all their lines. A line
// is a string, or, if something in it is marked, a list of its spans.
func (r *Review) Dict() *value.Dict {
	parts := value.List{}
	for i := range r.Parts {
		p := &r.Parts[i]
		lines := value.List{}
		for _, l := range p.Lines {
			d := value.NewDict("text", l.shown())
			if l.Sign != Plain {
				d.Put("sign", string(l.Sign))
			}
			if l.Depth > 0 {
				d.Put("depth", int64(l.Depth))
			}
			if marks := l.marks(); len(marks) > 0 {
				d.Put("marks", marks)
			}
			lines = append(lines, d)
		}
		part := value.NewDict("kind", string(p.Kind), "lines", lines)
		if p.Label != "" {
			part.Put("label", p.Label)
		}
		parts = append(parts, part)
	}
	lines, bytes := r.Size()
	return value.NewDict("title", r.Title, "parts", parts, "lines", int64(lines), "bytes", int64(bytes))
}

// shown returns the text of a line.
func (l *Line) shown() string {
	var b strings.Builder
	for _, s := range l.Spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// marks returns the marks of a line: their reason, and where they are in the text, in
// characters.
func (l *Line) marks() value.List {
	var list value.List
	at := 0
	for _, s := range l.Spans {
		n := utf8.RuneCountInString(s.Text)
		if s.Mark != "" {
			list = append(list, value.NewDict("at", int64(at), "length", int64(n), "mark", string(s.Mark)))
		}
		at += n
	}
	return list
}
