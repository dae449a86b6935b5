package main

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// noteText says what was noted at a step: an answer, the tool that was called,
// when a sleep ends; "" is what tells people nothing.
func noteText(d *tool.Dict) string {
	why := oneLine(d.Text("why"))
	if why != "" {
		why = ": " + why
	}
	switch {
	case d.Has("approval") && d.Bool("yes"):
		return "approved" + why
	case d.Has("approval"):
		return "refused" + why
	case d.Has("until"):
		return "sleeps until " + d.Text("until")
	case d.Has("undo"):
		return "can be taken back"
	case d.Has("tool"):
		return ""
	}
	return oneLine(tool.FormatJSON(d, ""))
}
