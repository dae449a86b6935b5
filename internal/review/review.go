// Package review shows what a person is asked about: the facts of a question, the values that
// a call or an effect gets, and the changes of files. It is data, which a terminal, JSON and a
// page of the web present. Untrusted text in it is made visible, see package visible. What does
// not fit on a screen is cut in the middle, with the exact number of lines and bytes that are
// not shown.
package review

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Review is what a person decides on.
type Review struct {
	Title   string
	Subject string // the tool, and who calls it
	Risk    bool   // the model may do what somebody else wants
	Parts   []Part
}

// A Part is a fact, or a block of text.
type Part struct {
	Kind  Kind
	Label string // of a fact
	Lines []Line
	Shown Shown
	Fold  string // what a [Detail] is, where it is not shown: "3 defaults"; "" says nothing
}

// Shown is how much of a part is shown if not everything is. It is the rule of what must be seen before a yes: nothing that a
// yes does may be in an [Aside] or a [Detail].
type Shown string

const (
	Whole  Shown = ""       // as much as a screen has; what is left out must be seen before a yes
	Aside  Shown = "aside"  // its first lines
	Detail Shown = "detail" // nothing
)

// A Kind is how a part is shown.
type Kind string

const (
	Fact  Kind = "fact"  // beside its label
	File  Kind = "file"  // the head of a file, after what is done to it
	Block Kind = "block" // below, with a margin
	Diff  Kind = "diff"  // like a block, with signs
)

// A Line is a line of a part.
type Line struct {
	Sign  Sign
	Depth int // how deep a text is inside other values
	Spans []visible.Span
	Size  int // of the untrusted text, in bytes, with its line end
	// Old and New number the lines of a diff from 1; 0 is for the other of both, and for a line of a recorded diff.
	Old, New int
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
	Tool     string          // the tool, with its title
	From     string          // where it comes from; "" for a tool of cassidy's own
	Caller   string          // who makes the call
	Args     *value.Dict     // of the call to which an effect belongs
	Defaults map[string]bool // the arguments that are as if they were left out
}

// Of returns the review of a question.
func Of(q *tool.Question, about *About) *Review {
	r := &Review{Subject: q.Tool, Risk: strings.Contains(q.Why, "has read untrusted text")}
	if about.Caller != "" {
		r.Subject += " · " + about.Caller
	}
	if q.Kind != tool.QuestionApproval {
		r.addQuestion(q)
		return r
	}
	switch {
	case len(q.Changes) > 0:
		r.Title = "Change " + count(len(q.Changes), "file") + "?"
		r.Changes(q.Changes)
	case q.Func != "":
		r.Title = "Do this?"
		r.effect(q.Func, q.Args)
	default:
		r.Title = "Call this tool?"
		r.call(q, about)
	}
	r.fact("from", about.From)
	r.can(q)
	if len(q.Changes) == 0 || r.Risk || q.Why != "the call changes files" {
		r.fact("why", q.Why)
	}
	if r.fact("because", q.Reasoning) {
		r.Parts[len(r.Parts)-1].Shown = Aside
	}
	if about.Tool != "" {
		r.detail(Part{Kind: Fact, Label: "tool", Lines: textLines(Plain, 0, about.Tool)})
	}
	switch {
	case q.Func != "" && about.Args.Len() > 0 && !value.Equal(about.Args, q.Args):
		r.detail(Part{Kind: Fact, Label: "arguments"}, block(about.Args))
	case len(q.Changes) > 0: // they are all that a yes does
		r.detail(Part{Kind: Fact, Label: "arguments"}, block(brief(q.Args)))
	}
	return r
}

// effect adds an effect: what it sends or runs first, and then its other arguments.
func (r *Review) effect(name string, args *value.Dict) {
	first, rest := "", args
	switch {
	case strings.HasPrefix(name, "http."):
		if url, ok := text(args, "url"); ok {
			r.Title = "Send this request?"
			first, rest = strings.ToUpper(strings.TrimPrefix(name, "http."))+" "+url, without(args, "url")
		}
	case strings.HasPrefix(name, "shell."):
		r.Title = "Run this command?"
		if command, ok := text(args, "command"); ok {
			first, rest = command, without(args, "command")
		}
	}
	r.fact("does", name)
	if first != "" {
		r.Text(first)
	}
	if rest.Len() > 0 || first == "" {
		r.Parts = append(r.Parts, block(rest))
	}
}

// call adds the arguments of a call.
func (r *Review) call(q *tool.Question, about *About) {
	rest := q.Args
	if about.From == "" && about.Tool != "" { // a tool of cassidy's own does what it says
		if command, ok := text(rest, "command"); ok {
			r.Title = "Run this command?"
			r.Text(command)
			rest = without(rest, "command")
		} else if url, ok := text(rest, "url"); ok {
			r.Title = "Send this request?"
			method, _ := text(rest, "method")
			r.Text(cmp.Or(method, "GET") + " " + url)
			rest = without(without(rest, "url"), "method")
		}
	}
	given, defaults := &value.Dict{}, &value.Dict{}
	for k, v := range rest.All() {
		if name, _ := k.(string); about.Defaults[name] {
			defaults.Put(name, v)
		} else {
			given.Put(name, v)
		}
	}
	if given.Len() > 0 {
		r.Parts = append(r.Parts, block(given))
	}
	if defaults.Len() > 0 {
		p := block(defaults)
		p.Fold = count(defaults.Len(), "default")
		r.detail(p)
	}
}

// text returns an argument that is a text.
func text(args *value.Dict, name string) (string, bool) {
	v, _ := args.Get(name)
	s, ok := v.(string)
	return s, ok
}

// without returns arguments without one of them.
func without(args *value.Dict, name string) *value.Dict {
	rest := &value.Dict{}
	for k, v := range args.All() {
		if k != name {
			rest.Put(k.(string), v)
		}
	}
	return rest
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// detail adds parts that are shown with everything else only.
func (r *Review) detail(parts ...Part) {
	for _, p := range parts {
		p.Shown = Detail
		r.Parts = append(r.Parts, p)
	}
}

// addQuestion adds the question of a script, or the one whether to repeat an effect.
func (r *Review) addQuestion(q *tool.Question) {
	r.Title = "A question for you"
	unknown := q.Kind == tool.QuestionUnknown
	if unknown {
		r.Title = "Do this again?"
	}
	r.fact("run", q.Run)
	if unknown {
		r.fact("began", q.Func+" with")
		r.Parts = append(r.Parts, block(q.Args))
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
func (r *Review) fact(label, text string) bool {
	if text != "" {
		r.Parts = append(r.Parts, Part{Kind: Fact, Label: label, Lines: textLines(Plain, 0, text)})
	}
	return text != ""
}

// can adds what a yes allows, the most dangerous first.
func (r *Review) can(q *tool.Question) {
	p := Part{Kind: Fact, Label: "can"}
	var files []string
	for _, acts := range []bool{true, false} {
		for _, c := range q.Capabilities {
			if c.Acts() != acts {
				continue
			}
			p.Lines = append(p.Lines, oneLine(Plain, 0, c.InWords()))
			if c.Name == "fs.write" && c.Target != "" {
				files = append(files, c.Target)
			}
		}
	}
	server, _, attached := strings.Cut(q.Tool, ".") // no other tool has a name with a dot
	switch {
	case len(q.Changes) > 0 && len(files) == len(q.Capabilities) && len(files) > 0:
		r.Parts = append(r.Parts, Part{Kind: Fact, Label: "may write", Lines: []Line{oneLine(Plain, 0, strings.Join(files, ", ")+" only")}})
	case len(p.Lines) > 0:
		r.Parts = append(r.Parts, p)
	case q.Func != "" || q.Changes != nil:
	case attached:
		r.fact("can", "do whatever the server "+server+" may do: it makes the call")
	default:
		r.fact("can", "only compute")
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
		lines = append(lines, Line{Sign: sign, Depth: depth, Spans: l.Spans, Size: l.Size})
	}
	if lines == nil {
		return []Line{{Sign: sign, Depth: depth}}
	}
	return lines
}

// oneLine returns a text as one line, in which line ends are marked.
func oneLine(sign Sign, depth int, text string) Line {
	return Line{Sign: sign, Depth: depth, Spans: visible.Spans(text), Size: len(text)}
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
	Free   bool   // what is not shown need not be seen before a yes
	// Old and New are the numbers of a line in a diff, and Digits is how many they have; 0 is for a row without.
	Old, New, Digits int
}

// A RowKind is what a row belongs to.
type RowKind string

const (
	FactRow   RowKind = "fact"
	FileRow   RowKind = "file"
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
	maxAside = 3  // rows of what a yes does not do
	maxBlock = 30 // rows of values
	maxDiff  = 40 // rows of one file's diff
	maxDiffs = 80 // rows of all diffs
	maxFiles = 40
)

// The columns before the text of rows.
const (
	LabelColumns  = 9
	FactColumns   = LabelColumns + 4
	MarginColumns = 4
	fileColumns   = 11 // before a path: what is done to the file
	DepthColumns  = 2
	minColumns    = 10 // for text, however narrow the terminal is
)

// FactBefore returns how many columns are before the text of a fact. On a narrow terminal, the text is below its label.
func FactBefore(columns int) int {
	if columns < FactColumns+minColumns {
		return MarginColumns + DepthColumns
	}
	return FactColumns
}

// Rows returns the rows of a review in a number of columns, and how much they do not show.
// With all, they show everything.
func (r *Review) Rows(columns int, all bool) (rows []Row, hidden Hidden) {
	left := maxDiffs
	files := 0
	for i := range r.Parts {
		if r.Parts[i].Kind == File {
			files++
		}
	}
	file := 0
	var skipped Hidden
	for i := range r.Parts {
		p := &r.Parts[i]
		if p.Kind == File {
			file++
		}
		most, tail := p.limits(left)
		own := p.rows(columns)
		if p.Shown == Detail && !all {
			if p.Fold != "" {
				rows = append(rows, Row{Kind: HiddenRow, Label: p.Fold, Free: true})
			}
			continue
		}
		if tail := maxFiles / 4; !all && files > maxFiles && file > maxFiles-tail && file <= files-tail {
			skipped.Add(sizeOf(own))
			if p.Kind == File {
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
		rows = append(rows, Row{Kind: HiddenRow, Hidden: cut, Free: p.Shown == Aside})
		rows = append(rows, own[len(own)-tail:]...)
		if p.Shown != Aside {
			hidden.Add(cut)
		}
	}
	return rows, hidden
}

// limits returns how many rows of a part are shown, and how many of these are its last ones.
// left is what other diffs have left.
func (p *Part) limits(left int) (most, tail int) {
	switch {
	case p.Shown == Aside:
		return maxAside, 0
	case p.Kind == Fact, p.Kind == File:
		most = maxFact
	case p.Kind == Diff:
		most = min(maxDiff, left)
	default:
		most = maxBlock
	}
	return most, most / 3
}

// rows returns all rows of a part.
func (p *Part) rows(columns int) []Row {
	kind, before := BlockRow, MarginColumns
	switch p.Kind {
	case Fact:
		kind, before = FactRow, FactBefore(columns)
	case File:
		kind, before = FileRow, fileColumns
	}
	if len(p.Lines) == 0 {
		return []Row{{Kind: kind, Label: p.Label}}
	}
	var rows []Row
	digits := p.digits()
	for i, l := range p.Lines {
		width := columns - before - DepthColumns*l.Depth
		if l.Sign == Context || l.Sign == Removed || l.Sign == Added {
			width -= SignColumns(digits)
		}
		pieces := visible.Fold(l.Spans, max(width, minColumns), p.Kind == Fact || p.Kind == Block)
		for j, spans := range pieces {
			row := Row{Kind: kind, Sign: l.Sign, Depth: l.Depth, Folded: j > 0, Spans: spans, Old: l.Old, New: l.New, Digits: digits}
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

// SignColumns returns how many columns a line of a diff has before its text: the numbers of its line and its sign.
func SignColumns(digits int) int {
	if digits == 0 {
		return 1
	}
	return 2*digits + 4
}

// digits returns how many digits the numbers of lines have.
func (p *Part) digits() (n int) {
	for i := range p.Lines {
		if most := max(p.Lines[i].Old, p.Lines[i].New); most > 0 {
			n = max(n, len(strconv.Itoa(most)))
		}
	}
	return n
}

// Marks returns how many characters of a review are marked since nobody can see them, and since they look like others.
func (r *Review) Marks() (invisible, alike int) {
	for i := range r.Parts {
		for _, l := range r.Parts[i].Lines {
			for _, s := range l.Spans {
				switch s.Mark {
				case visible.Invisible:
					invisible += s.Chars()
				case visible.Alike:
					alike += s.Chars()
				}
			}
		}
	}
	return invisible, alike
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
	return value.NewDict("title", r.Title, "subject", r.Subject, "parts", parts, "lines", int64(lines), "bytes", int64(bytes))
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
