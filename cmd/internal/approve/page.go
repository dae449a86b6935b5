package approve

import (
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Page shows what a person decides on, on a terminal. Each line of untrusted text begins
// with a margin or after a label, so that it cannot look like a message of cassidy.
type Page struct {
	strings.Builder
	draw.Screen
	All    bool          // long parts are not cut
	Hidden review.Hidden // what must be seen before a yes and is not shown so far
}

// MinText is the minimum number of columns for text, however narrow the terminal.
const MinText = 10

// Question returns the review of a question, as a person reads it. The tool and its call are
// nil if nothing is known of them.
func Question(q *tool.Question, t *toolset.Info, call *tool.Call) *review.Review {
	about := review.About{}
	shown := *q
	if t != nil {
		about.Tool = t.DisplayTitle() + " (" + t.Name + ")"
		about.From = describe.Origin(t)
		about.Defaults = defaults(&t.Tool, call.Args)
		about.Caller = callers[min(call.Caller, tool.ByPerson)]
		if q.Func == "" {
			shown.Args = shownArgs(&t.Tool, call.Args)
		} else {
			about.Args = shownArgs(&t.Tool, call.Args)
		}
	}
	return review.Of(&shown, &about)
}

// callers describes who made a call.
var callers = [...]string{tool.ByModel: "a model", tool.ByScript: "a script", tool.ByPerson: "you"}

// defaults returns the arguments of a call that are as if they were left out.
func defaults(t *tool.Tool, args *value.Dict) map[string]bool {
	names := map[string]bool{}
	for i := range t.Params {
		p := &t.Params[i]
		if v, given := args.Get(p.Name); given && p.HasDefault && value.Equal(v, p.Default) {
			names[p.Name] = true
		}
	}
	return names
}

// Review writes a review with its title.
func (p *Page) Review(r *review.Review) {
	title := p.Paint(draw.Bold, r.Title)
	if r.Risk {
		title += "  " + p.RiskWord()
	}
	p.Lines(p.Head(draw.Asks, title, p.Paint(draw.Dim, p.Own(ui.VisibleLine(r.Subject)))))
	p.Rows(r)
	p.Marks(r)
}

// Marks writes how many characters of a review are marked.
func (p *Page) Marks(r *review.Review) {
	invisible, alike := r.Marks()
	if invisible > 0 {
		p.Lines(p.Message(draw.Risk, ui.Count(invisible, "invisible character")))
	}
	if alike > 0 {
		p.Lines(p.Message(draw.Risk, ui.Count(alike, "look-alike character")))
	}
}

// Lines writes lines.
func (p *Page) Lines(lines []string) {
	for _, line := range lines {
		p.WriteString(line + "\n")
	}
}

// Rows writes the rows of a review.
func (p *Page) Rows(r *review.Review) {
	rows, hidden := r.Rows(p.Most(), p.All)
	for i := range rows {
		var before *review.Row
		if i > 0 {
			before = &rows[i-1]
		}
		p.row(&rows[i], before)
	}
	p.Hidden.Add(hidden)
}

// Diff writes the changes of a text.
func (p *Page) Diff(before, after string) {
	var r review.Review
	r.Diff(before, after)
	p.Rows(&r)
}

// row writes a row, after another one or nil.
func (p *Page) row(row, before *review.Row) {
	if row.Kind == review.HiddenRow {
		p.Lines(draw.Wrap("  "+p.Mark(draw.Folded)+" ", foldText(row), p.Most()))
		return
	}
	if row.Sign == review.Hunk && row.Digits > 0 { // the numbers of the lines say where they are
		if before != nil && before.Kind == review.BlockRow {
			p.WriteString("  " + p.Paint(draw.Dim, p.Margin(false)+" "+p.Dots()) + "\n")
		}
		return
	}
	if len(row.Spans) == 0 {
		p.WriteString(strings.TrimRight(p.before(row), " ") + "\n")
		return
	}
	p.WriteString(p.before(row))
	for _, s := range row.Spans {
		code := ""
		if row.Sign == review.Note || row.Sign == review.Hunk {
			code = draw.Dim
		}
		if s.Mark == visible.Space && !strings.HasPrefix(s.Text, "⟨") { // a tab or a line end
			code = draw.Dim
		}
		text := s.Text
		if p.ASCII && s.Size == 0 { // it is ours
			text = p.Own(text)
		}
		p.WriteString(p.Paint(code, text))
	}
	p.WriteString("\n")
}

// before returns what is before the text of a row: its label, or a margin, and what the text is.
func (p *Page) before(row *review.Row) string {
	if row.Kind == review.FileRow {
		switch {
		case row.Label == "changes": // as most are
			return "  "
		case row.Label != "":
			return "  " + row.Label + "  "
		}
		return "    "
	}
	label := p.Paint(draw.Dim, draw.Pad(row.Label, review.LabelColumns, false)) + "  "
	switch {
	case row.Kind == review.FactRow && row.Label == "":
		return strings.Repeat(" ", review.FactBefore(p.Most()))
	case row.Kind == review.FactRow && review.FactBefore(p.Most()) < review.FactColumns:
		return "  " + p.Paint(draw.Dim, row.Label) + "\n" + strings.Repeat(" ", review.FactBefore(p.Most()))
	case row.Kind == review.FactRow:
		return "  " + label
	}
	at := "  " + p.Paint(draw.Dim, p.Margin(row.Folded && row.Depth == 0)) + " "
	if row.Depth > 0 {
		inner := strings.Repeat(" ", review.DepthColumns)
		if row.Folded || row.Sign == review.Text {
			inner = p.Paint(draw.Dim, p.Margin(row.Folded)) + " "
		}
		at += strings.Repeat(" ", review.DepthColumns*(row.Depth-1)) + inner
	}
	sign, isDiff := map[review.Sign]string{review.Context: " ", review.Removed: "-", review.Added: "+"}[row.Sign]
	switch {
	case !isDiff:
		return at
	case row.Folded:
		return at + strings.Repeat(" ", review.SignColumns(row.Digits))
	case row.Digits == 0:
		return at + p.Change(sign)
	}
	return at + p.Paint(draw.Dim, number(row.Old, row.Digits)+" "+number(row.New, row.Digits)) + " " + p.Change(sign) + " "
}

// number writes the number of a line, or nothing for 0.
func number(n, digits int) string {
	if n == 0 {
		return strings.Repeat(" ", digits)
	}
	return fmt.Sprintf("%*d", digits, n)
}

// foldText says what a row does not show.
func foldText(row *review.Row) string {
	switch {
	case row.Label != "":
		return row.Label + " (v)"
	case row.Free:
		return ui.Count(row.Hidden.Lines, "more line") + " (v)"
	}
	return HiddenText(row.Hidden) + " not shown: v, before y"
}

// HiddenText describes what is not shown.
func HiddenText(h review.Hidden) string {
	text := fmt.Sprintf("%s (%s)", ui.Count(h.Lines, "line"), ui.Count(h.Bytes, "byte"))
	if h.Files > 0 {
		text = ui.Count(h.Files, "file") + ", " + text
	}
	return text
}
