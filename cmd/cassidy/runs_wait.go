package main

import (
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/history"
)

// printWait shows in full what a run waits for, and what to type.
func (c *command) printWait(w *wait) {
	c.Print("\n")
	if len(w.questions) != 1 {
		c.Print(ui.Pad("waits", 9) + ui.VisibleLine(w.text()) + "\n")
	}
	for i := range w.questions {
		c.printQuestion(&w.questions[i])
	}
	c.Print(c.Paint()(ui.Bold, "  "+w.todo()) + "\n")
}

// printQuestion shows an open question.
func (c *command) printQuestion(q *history.Asked) {
	short := *q
	short.Text = ""
	c.Print(ui.Pad("waits", 9) + ui.VisibleLine(strings.TrimSuffix(questionLine(&short), ": ")) + "\n")
	if q.Text != "" {
		c.Print(ui.Wrap(ui.Visible(q.Text), "  ", c.LineWidth()))
	}
	if len(q.Changes) > 0 {
		r := review{paint: c.Paint(), width: c.LineWidth(), all: c.Verbose}
		r.changes(q.Changes)
		c.Print(r.String())
	}
}
