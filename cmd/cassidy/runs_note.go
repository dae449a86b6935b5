package main

import (
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// noteText says what was noted at a step: an answer, the tool that was called,
// when a sleep ends; "" is what tells people nothing.
func noteText(d *value.Dict) string {
	switch {
	case d.Has("always"):
		return "approved for the rest of the run"
	case d.Has("until"):
		return "sleeps until " + d.Text("until")
	case d.Has("undo"):
		return "can be taken back"
	case d.Has("tool"):
		return ""
	}
	return ui.OneLine(value.FormatJSON(d, ""))
}

// shownNote is a note without what is too long to be looked at: a tool's script.
func shownNote(n *value.Dict) *value.Dict {
	d := &value.Dict{}
	for k, v := range n.All() {
		if name, _ := k.(string); name != "script" {
			d.Put(name, v)
		}
	}
	return d
}

// stepArgs are the arguments of a step. Those of a commit are the content of the
// files that it replaced, which is told by its changes.
func stepArgs(e *history.Entry) *value.Dict {
	if e.Func == "fs.commit" || e.Args == nil {
		return &value.Dict{}
	}
	return e.Args
}
