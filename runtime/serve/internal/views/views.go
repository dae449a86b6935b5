// Package views turns what is recorded of runs, of their steps and of their questions into what the pages of
// package page show. It knows no request: what a person may do is told to it.
package views

import (
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/serve/internal/page"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The reasons of parked runs that have words of their own.
const reasonSleep = "sleep"

// mostText is how much of a text a line of a list has.
const mostText = 160

// Kinds are the kinds of runs, as pages name them.
var Kinds = map[page.Kind]string{page.KindWorkflow: host.WorkflowKind, page.KindTask: "task", page.KindChat: "chat", page.KindTool: host.CallKind, page.KindUndo: host.UndoKind}

// States are the states of runs, as the tabs of a list select them.
var States = map[page.State][]history.State{
	page.Waiting: {history.Parked}, page.Running: {history.Running}, page.Failed: {history.Failed, history.Stuck}, page.Done: {history.Done}, page.Cancelled: {history.Cancelled},
}

// Name returns what a run is called, and its arguments.
func Name(r *history.Run) (name, args string) {
	switch r.Kind {
	case "task", "chat":
		return r.Kind, quoted(r.Title)
	}
	name, args, _ = strings.Cut(r.Title, " ")
	return name, value.Cut(args, mostText)
}

// Title is the name of a run with its arguments.
func Title(r *history.Run) string {
	name, args := Name(r)
	return strings.TrimSpace(name + " " + args)
}

func quoted(text string) string {
	if text = describe.FirstLine(text); text == "" {
		return ""
	}
	return "“" + value.Cut(text, mostText) + "”"
}

// By returns who began a run.
func By(r *history.Run) string {
	if by := r.By(); by != "" {
		return by
	}
	return "a program"
}

// status returns the state of a run. held says that a process executes it, w is what it waits for, or nil.
func status(r *history.Run, held, undone bool, w *describe.Wait, zone *time.Location) page.Status {
	open := 0
	if w != nil {
		open = w.Open()
	}
	switch {
	case r.Damage != nil:
		return page.Status{State: page.Damaged}
	case undone && r.State == history.Done:
		return page.Status{State: page.Undone}
	case r.State == history.Done:
		return page.Status{State: page.Done}
	case r.State == history.Failed:
		return page.Status{State: page.Failed}
	case r.State == history.Stuck:
		return page.Status{State: page.Failed, Word: "Stuck"}
	case r.State == history.Cancelled:
		return page.Status{State: page.Cancelled}
	case open > 1:
		return page.Status{State: page.Waiting, Word: "Waiting for " + num(open) + " answers"}
	case open == 1:
		return page.Status{State: page.Waiting}
	case r.State == history.Running && !held:
		return page.Status{State: page.Broken}
	case r.State == history.Running:
		return page.Status{State: page.Running}
	case history.Repair(r.Reason) != "" || r.Reason == "ceiling":
		return page.Status{State: page.Waiting, Word: "Waiting for a repair"}
	case r.Reason == reasonSleep:
		return page.Status{State: page.Sleeping, Word: until(r.Wake, zone)}
	}
	return page.Status{State: page.Queued}
}

// until says when a sleep ends.
func until(wake time.Time, zone *time.Location) string {
	if wake.IsZero() {
		return ""
	}
	if wake = wake.In(zone); time.Until(wake) > 18*time.Hour {
		return "Until " + wake.Format("2 Jan, 15:04")
	}
	return "Until " + wake.Format("15:04")
}

// Asks says what a question asks, for a line.
func Asks(q *tool.Question) string {
	who := q.Tool
	if who == "" {
		who = "the run"
	}
	switch {
	case q.Kind == tool.QuestionUnknown:
		return q.Func + " may have been done"
	case q.Kind != tool.QuestionApproval:
		return quoted(q.Text)
	case len(q.Changes) == 1:
		return who + " wants to change 1 file"
	case len(q.Changes) > 1:
		return who + " wants to change " + num(len(q.Changes)) + " files"
	case strings.HasPrefix(q.Func, "http."):
		return who + " wants to send a request"
	case strings.HasPrefix(q.Func, "shell."):
		return who + " wants to run a command"
	case q.Func != "":
		return who + " wants to do " + q.Func
	}
	return who + " wants to be called"
}

// RunURL returns the address of a run.
func RunURL(id string) page.URL { return (&page.Run{ID: id}).URL() }
