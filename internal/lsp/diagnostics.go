package lsp

import (
	"context"
	"fmt"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/source"
)

// checks are the documents that have to be checked. A document that is edited while it waits is
// checked once, in its newest version.
type checks struct {
	mu      sync.Mutex
	waiting []string // the URIs, in order
	wake    chan struct{}
}

// add lets documents be checked.
func (c *checks) add(list ...*document) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := map[string]bool{}
	for _, uri := range c.waiting {
		waiting[uri] = true
	}
	for _, doc := range list {
		if !waiting[doc.uri] {
			waiting[doc.uri] = true
			c.waiting = append(c.waiting, doc.uri)
		}
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// next returns the next URI.
func (c *checks) next() (uri string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		return "", false
	}
	uri, c.waiting = c.waiting[0], c.waiting[1:]
	return uri, true
}

// check checks documents until the connection ends.
func (s *server) check() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.checks.wake:
		}
		for uri, ok := s.checks.next(); ok && s.ctx.Err() == nil; uri, ok = s.checks.next() {
			if doc := s.documents.get(uri); doc != nil {
				s.publish(doc)
			}
		}
	}
}

// publish sends the faults of a document, unless it was edited meanwhile.
func (s *server) publish(doc *document) {
	items := []diagnosticItem{}
	x := newIndex(doc.read.Text)
	for _, d := range s.faults(doc) {
		items = append(items, itemOf(x, &d))
	}
	if s.documents.get(doc.uri) == doc {
		s.wire.notify("textDocument/publishDiagnostics", &publishParams{URI: doc.uri, Version: doc.version, Diagnostics: items})
	}
}

// faults returns the faults of a document.
func (s *server) faults(doc *document) (list []diagnostic.Diagnostic) {
	defer func() {
		if cause := recover(); cause != nil {
			list = []diagnostic.Diagnostic{{Severity: diagnostic.Error, Code: "internal", Message: fmt.Sprintf("check the file: %v", cause)}}
		}
	}()
	if doc.tooLong {
		return []diagnostic.Diagnostic{{Severity: diagnostic.Error, Code: "too-long", Message: fmt.Sprintf("all open texts together are longer than %d KB", maxText>>10), Hint: "close other files, and edit this one"}}
	}
	if doc.path == "" || !doc.isScript() {
		return nil
	}
	return s.project.Load().Check(doc.path, doc.read.Text)
}

// itemOf returns a fault of a text as the protocol describes it.
func itemOf(x *index, d *diagnostic.Diagnostic) diagnosticItem {
	const isError, isWarning = 1, 2
	item := diagnosticItem{Range: x.textRange(source.Span(d.Span)), Severity: isError, Code: d.Code, Source: "cassidy", Message: d.Message}
	if d.Severity == diagnostic.Warning {
		item.Severity = isWarning
	}
	if d.Hint != "" {
		item.Message += "\nhint: " + d.Hint
	}
	return item
}

// codeActions returns the fixes of the faults in a part of a document.
func (s *server) codeActions(ctx context.Context, p *codeActionParams) (any, error) {
	actions := []codeAction{}
	doc := s.documents.get(p.TextDocument.URI)
	if doc == nil {
		return actions, nil
	}
	x := newIndex(doc.read.Text)
	from, to := offsetOf(doc.read.Text, p.Range.Start), offsetOf(doc.read.Text, p.Range.End)
	for _, d := range s.faults(doc) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if d.Fix == nil || d.Span.End < from || to < d.Span.Start {
			continue
		}
		var edits []textEdit
		for _, e := range d.Fix.Edits {
			edits = append(edits, textEdit{x.textRange(source.Span(e.Span)), e.Text})
		}
		actions = append(actions, codeAction{
			Title: d.Fix.Title, Kind: "quickfix", Diagnostics: []diagnosticItem{itemOf(x, &d)}, IsPreferred: !d.Fix.Choice,
			Edit: workspaceEdit{Changes: map[string][]textEdit{doc.uri: edits}},
		})
	}
	return actions, nil
}
