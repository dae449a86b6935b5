package hooks

import (
	"context"
	"strings"
	"sync"
)

// Notes are texts for a model that are added while a call is made. It is safe for concurrent use.
type Notes struct {
	mu    sync.Mutex
	texts []string
}

// notesKey is the key of the Notes in a context.
type notesKey struct{}

// Collect returns a context with which [AddNote] adds to the notes.
func Collect(ctx context.Context) (context.Context, *Notes) {
	n := &Notes{}
	return context.WithValue(ctx, notesKey{}, n), n
}

// AddNote adds a text for the model to the result of the call that the model makes. ctx is that of
// the call, or of one that is made for it: in a middleware, or in a tool written in Go. AddNote
// reports whether there is such a call; otherwise it does nothing.
//
// If the run is interrupted before the call has ended, what had ended by then is not repeated, and
// neither are its notes.
func AddNote(ctx context.Context, text string) bool {
	n, _ := ctx.Value(notesKey{}).(*Notes)
	if n == nil || strings.TrimSpace(text) == "" {
		return n != nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.texts = append(n.texts, text)
	return true
}

// Text returns the notes as a text that follows another one: "" if there are none.
func (n *Notes) Text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var b strings.Builder
	for _, text := range n.texts {
		b.WriteString("\n\nNote: " + text)
	}
	return b.String()
}
