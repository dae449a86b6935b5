package hooks

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Note is a text for a model. Of tells notes with the same text apart: it is the step of the call
// that the note is about, or "".
type Note struct{ Of, Text string }

// Notes are added while a call is made. It is safe for concurrent use.
type Notes struct {
	mu     sync.Mutex
	of     string // the step of the call
	all    []Note
	again  []Note // those that an earlier process has recorded, and that may be added again
	record func(*value.Dict) error
}

// notesKey is the key of the Notes in a context.
type notesKey struct{}

// Collect returns a context with which [AddNote] adds to the notes of the call at a step. record,
// which may be nil, records a fact in the run: a resumed run does not make again what had ended in
// the call. For a call that is made again, recorded has its notes, see [RecordedNotes]: they are not
// added twice.
func Collect(ctx context.Context, at tool.StepPath, recorded map[string][]Note, record func(*value.Dict) error) (context.Context, *Notes) {
	n := &Notes{of: at.String(), record: record}
	n.all = slices.Clone(recorded[n.of])
	n.again = slices.Clone(n.all)
	return context.WithValue(ctx, notesKey{}, n), n
}

// AddNote adds a text for the model to the result of the call that the model makes. ctx is that of
// the call, or of one that is made for it: in a middleware, or in a tool written in Go. AddNote
// reports whether there is such a call; otherwise it does nothing.
func AddNote(ctx context.Context, text string) bool { return addNote(ctx, Note{Text: text}) }

func addNote(ctx context.Context, note Note) bool {
	n, _ := ctx.Value(notesKey{}).(*Notes)
	if n == nil || strings.TrimSpace(note.Text) == "" {
		return n != nil
	}
	n.add(note)
	return true
}

func (n *Notes) add(note Note) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.Index(n.again, note); i >= 0 {
		n.again = slices.Delete(n.again, i, i+1)
		return
	}
	n.all = append(n.all, note)
	if n.record != nil {
		_ = n.record(value.NewDict(noteText, note.Text, noteOf, note.Of, noteCall, n.of)) // if it fails, so does the record of the call
	}
}

// The names of a note in the record of its call.
const (
	noteText = "hook_note"
	noteOf   = "hook_of"
	noteCall = "hook_call"
)

// RecordedNotes returns the notes of the calls of a recorded run that have not ended, by the steps
// of the calls.
func RecordedNotes(ctx context.Context, h *host.Host, runID string) map[string][]Note {
	found := map[string][]Note{}
	for e, err := range host.Operate(h).Steps(ctx, runID) {
		if err != nil {
			break // the run itself reports it
		}
		for _, d := range e.Notes {
			if n := (Note{Of: d.Text(noteOf), Text: d.Text(noteText)}); n.Text != "" && e.Settled.IsZero() {
				found[d.Text(noteCall)] = append(found[d.Text(noteCall)], n)
			}
		}
	}
	return found
}

// Texts returns the texts of the notes.
func (n *Notes) Texts() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return value.Map(n.all, func(note Note) string { return note.Text })
}

// Text returns the notes as a text that follows another one: "" if there are none.
func (n *Notes) Text() string {
	var b strings.Builder
	for _, text := range n.Texts() {
		b.WriteString("\n\nNote: " + text)
	}
	return b.String()
}
