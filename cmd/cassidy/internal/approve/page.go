package approve

import (
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Page shows what a person decides on, on a terminal. Each line of untrusted text begins
// with a margin, so that it cannot look like a message of cassidy.
type Page struct {
	ui.Page
	Width  int           // of the terminal, in columns
	All    bool          // long parts are not cut
	Hidden review.Hidden // what is not shown so far
}

// The margins of a page.
const (
	margin       = "  │ "
	folded       = "  ┊ " // of the rest of a long line
	hiddenMargin = "  ╵ "
	textMargin   = "┃ " // of the lines of a text in a value
	textFolded   = "┊ "
)

// MinText is the minimum number of columns for text, however narrow the terminal.
const MinText = 10

// Question returns the review of a question, as a person reads it. The tool and its call are
// nil if nothing is known of them.
func Question(q *tool.Question, t *toolset.Info, call *tool.Call) *review.Review {
	about := review.About{Words: ui.InWords}
	shown := *q
	if t != nil {
		about.Tool = t.DisplayTitle() + " (" + t.Name + ")"
		about.From = origin(t)
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

// origin describes the source of a tool.
func origin(t *toolset.Info) string {
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

// Review writes a review with its title.
func (p *Page) Review(r *review.Review) {
	p.WriteString("cassidy: " + p.Paint(ui.Bold, r.Title) + "\n")
	p.Rows(r)
}

// Rows writes the rows of a review.
func (p *Page) Rows(r *review.Review) {
	rows, hidden := r.Rows(p.Width, p.All)
	for i := range rows {
		p.row(&rows[i])
	}
	p.Hidden.Add(hidden)
}

// Diff writes the changes of a text.
func (p *Page) Diff(before, after string) {
	var r review.Review
	r.Diff(before, after)
	p.Rows(&r)
}

// row writes a row.
func (p *Page) row(row *review.Row) {
	if row.Kind == review.HiddenRow {
		text := "… " + HiddenText(row.Hidden) + " not shown: type v to view all"
		for _, piece := range ui.Fold(text, max(p.Width-review.MarginColumns, MinText)) {
			p.WriteString(p.Paint(ui.Dim, hiddenMargin) + p.Paint(ui.Yellow, piece) + "\n")
		}
		return
	}
	var b strings.Builder
	colour := ""
	switch row.Sign {
	case review.Note, review.Hunk:
		colour = ui.Dim
	case review.Removed:
		colour = ui.Red
	case review.Added:
		colour = ui.Green
	}
	at := margin
	switch {
	case row.Kind == review.FactRow && row.Label == "" && len(row.Spans) > 0:
		at = strings.Repeat(" ", review.FactColumns)
	case row.Kind == review.FactRow && len(row.Spans) == 0:
		at = "  " + row.Label
	case row.Kind == review.FactRow:
		at = "  " + ui.Pad(row.Label, review.LabelColumns) + " "
	case row.Folded && row.Depth == 0:
		at = folded
	}
	b.WriteString(p.Paint(ui.Dim, at))
	if row.Depth > 0 {
		b.WriteString(strings.Repeat(" ", review.DepthColumns*(row.Depth-1)))
		switch {
		case row.Sign == review.Text && !row.Folded:
			b.WriteString(p.Paint(ui.Dim, textMargin))
		case row.Folded:
			b.WriteString(p.Paint(ui.Dim, textFolded))
		default:
			b.WriteString(strings.Repeat(" ", review.DepthColumns))
		}
	}
	if !row.Folded {
		b.WriteString(p.Paint(colour, signs[row.Sign]))
	} else if signs[row.Sign] != "" {
		b.WriteByte(' ')
	}
	for _, s := range row.Spans {
		if s.Mark != "" {
			b.WriteString(p.Paint(ui.Yellow, s.Text))
		} else {
			b.WriteString(p.Paint(colour, s.Text))
		}
	}
	p.WriteString(b.String() + "\n")
}

var signs = map[review.Sign]string{review.Context: " ", review.Removed: "-", review.Added: "+"}

// HiddenText describes what is not shown.
func HiddenText(h review.Hidden) string {
	text := fmt.Sprintf("%s (%s)", ui.Count(h.Lines, "line"), ui.Count(h.Bytes, "byte"))
	if h.Files > 0 {
		text = ui.Count(h.Files, "file") + ", " + text
	}
	return text
}
