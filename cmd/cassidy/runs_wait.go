package main

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/history"
)

// printWait shows in full what a run waits for, and what to type.
func (c *command) printWait(w *wait) {
	c.print("\n")
	if len(w.questions) != 1 {
		c.print(pad("waits", 9) + visibleLine(w.text()) + "\n")
	}
	for i := range w.questions {
		c.printQuestion(&w.questions[i])
	}
	c.print(c.paint()(bold, "  "+w.todo()) + "\n")
}

// printQuestion shows an open question.
func (c *command) printQuestion(q *history.Asked) {
	short := *q
	short.Text = ""
	c.print(pad("waits", 9) + visibleLine(strings.TrimSuffix(questionLine(&short), ": ")) + "\n")
	if q.Text != "" {
		c.print(wrap(visible(q.Text), "  ", c.lineWidth()))
	}
	if len(q.Changes) > 0 {
		r := review{paint: c.paint(), width: c.lineWidth(), all: c.verbose}
		r.changes(q.Changes)
		c.print(r.String())
	}
}
