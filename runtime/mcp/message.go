package mcp

import (
	"math"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// maxMessage is the size of the longest question that clients are asked, in bytes. What a
// person approves must be shown in full, and forms of clients are small.
const maxMessage = 8 << 10

// messageOf returns a question as a text, with what a yes allows. ok is false if the text is too long.
func messageOf(q *tool.Question) (text string, ok bool) {
	text, _ = reviewText(q, true)
	return text, len(text) <= maxMessage
}

// formText returns a question as a text for a form. It leaves out what a yes does not do. ok is false if it leaves out anything
// else, such as a part of a long diff: a person must see that before a yes, and a form cannot show it on request.
func formText(q *tool.Question) (text string, ok bool) {
	text, hidden := reviewText(q, false)
	if later := laterHint(q); !isForm(q) && len(text)+len(later) <= maxMessage { // the form itself approves once
		text += later
	}
	if strings.Count(text, "\n") > closingAfter {
		text += closing(q)
	}
	return text, !hidden && len(text) <= maxMessage
}

// closingAfter is how many lines a form has at least that ends with what it is about: some clients show only the first
// lines of a form, and others only the last.
const closingAfter = 12

// closing returns the last lines of a long form: the tool, and the files that it changes.
func closing(q *tool.Question) string {
	if q.Kind == tool.QuestionAsk || q.Kind == tool.QuestionConfirm {
		return ""
	}
	text := "\n\ntool: " + visible.Line(q.Tool)
	if q.Func != "" {
		text += ", " + visible.Line(q.Func)
	}
	const most = 3
	for i, c := range q.Changes {
		if i == most {
			return text + "\nand " + strconv.Itoa(len(q.Changes)-most) + " more files"
		}
		text += "\nfile: " + visible.Line(c.Path)
	}
	return text
}

// reviewText returns the text of a question, or with all everything that is known of it. hidden reports whether something is left
// out that must be seen before a yes.
func reviewText(q *tool.Question, all bool) (text string, hidden bool) {
	if q.Kind == tool.QuestionAsk || q.Kind == tool.QuestionConfirm {
		return visible.Text(q.Text), false
	}
	r := review.Of(q, &review.About{})
	rows, left := r.Rows(math.MaxInt32, all) // the client folds long lines
	var b strings.Builder
	b.WriteString(r.Title + "\ntool: " + visible.Line(r.Subject))
	for i := range rows {
		switch row := &rows[i]; {
		case row.Kind != review.HiddenRow:
			b.WriteString("\n" + rowText(row))
		case row.Label == "": // it stands for lines that are cut
			b.WriteString("\n…")
		}
	}
	return b.String(), left.Any()
}

// signs begin the lines of a diff.
var signs = map[review.Sign]string{review.Context: "  ", review.Removed: "- ", review.Added: "+ "}

func rowText(r *review.Row) string {
	var b strings.Builder
	if r.Label != "" {
		b.WriteString(r.Label + ": ")
	} else if r.Kind == review.BlockRow {
		b.WriteString("    ")
	}
	b.WriteString(signs[r.Sign] + strings.Repeat("  ", r.Depth))
	for _, s := range r.Spans {
		b.WriteString(s.Text)
	}
	return b.String()
}
