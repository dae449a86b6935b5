package mcp

import (
	"math"
	"strings"

	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/internal/visible"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// maxMessage is the size of the longest question that clients are asked, in bytes. What a
// person approves must be shown in full, and forms of clients are small.
const maxMessage = 8 << 10

// messageOf returns a question as a text for a form, with what a yes allows. ok is false if
// the text is too long.
func messageOf(q *tool.Question) (text string, ok bool) {
	if q.Kind == tool.QuestionAsk || q.Kind == tool.QuestionConfirm {
		text = visible.Text(q.Text)
		return text, len(text) <= maxMessage
	}
	r := review.Of(q, &review.About{})
	rows, _ := r.Rows(math.MaxInt32, true) // the client folds long lines
	var b strings.Builder
	b.WriteString(r.Title + "\ntool: " + visible.Line(r.Subject))
	for i := range rows {
		b.WriteString("\n" + rowText(&rows[i]))
	}
	return b.String(), b.Len() <= maxMessage
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
