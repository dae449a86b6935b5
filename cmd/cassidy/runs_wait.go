package main

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
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
func (c *command) printQuestion(q *history.Question) {
	short := *q
	short.Text = ""
	c.print(pad("waits", 9) + visibleLine(strings.TrimSuffix(questionLine(&short), ": ")) + "\n")
	if q.Text != "" {
		c.print(wrap(visible(q.Text), "  ", c.lineWidth()))
	}
	if changes := waitingChanges(q.Data); len(changes) > 0 {
		r := review{paint: c.paint(), width: c.lineWidth(), all: c.verbose}
		r.changes(changes)
		c.print(r.String())
	}
}

// waitingChanges reads the changes that somebody is asked about from what is
// recorded of the question.
func waitingChanges(data *tool.Dict) []tool.Change {
	files, _ := data.Get("files")
	list, _ := tool.Elements(files)
	hashes, _ := data.Get("changes")
	states, _ := hashes.(*tool.Dict)
	var changes []tool.Change
	for _, v := range list {
		d, ok := v.(*tool.Dict)
		if !ok {
			continue
		}
		v, _ := states.Get(d.Text("path"))
		state, _ := v.(*tool.Dict)
		changes = append(changes, tool.Change{Path: d.Text("path"), Before: waitingState(d, state, "before"), After: waitingState(d, state, "after")})
	}
	return changes
}

// waitingState is what is, or will be, at a path: a file with its content, where
// that was short enough to be kept.
func waitingState(d, hashes *tool.Dict, when string) tool.FileState {
	hash := hashes.Text(when)
	content, _ := d.Get(when)
	data, _ := content.([]byte)
	if hash == "dir" {
		return tool.FileState{Exists: true, Dir: true}
	}
	return tool.FileState{Exists: hash != "", Hash: hash, Data: data}
}
