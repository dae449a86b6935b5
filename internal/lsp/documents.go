package lsp

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/internal/assist"
)

// The limits of the texts that the server keeps.
const (
	maxDocuments = 200
	// maxText is how many bytes all texts have together. What the server keeps of a text of many small
	// tokens is 80 times as large.
	maxText = 1 << 20
)

// A document is a text that is open in the editor. Its fields do not change: an edit makes
// another one.
type document struct {
	uri     string
	path    string // "" if it is not a file
	version int
	tooLong bool             // the text is not kept: all open texts would be longer than maxText
	read    *assist.Document // its text, and what is in it
	last    *assist.Document // the last version that had all its parts
}

// documents are the texts that are open in the editor.
type documents struct {
	mu   sync.Mutex
	open map[string]*document
}

// kindOf returns the kind of a document from its file or else from the word for its language.
func kindOf(uri, language string) assist.Kind {
	if kind := assist.KindOf(uri); kind != "" {
		return kind
	}
	switch language {
	case "starlark", "bzl", "bazel", "python":
		return assist.Starlark
	case "lua":
		return assist.Lua
	case "markdown":
		return assist.Markdown
	}
	return ""
}

// put adds or replaces a document. It returns nil if the document has an unknown kind, or if too
// many are open.
func (d *documents) put(uri string, kind assist.Kind, version int, text string) *document {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.open[uri]
	if kind == "" && old != nil {
		kind = old.read.Kind
	}
	if kind == "" || old == nil && len(d.open) >= maxDocuments {
		return nil
	}
	left := maxText
	for _, other := range d.open {
		if other != old {
			left -= len(other.read.Text)
		}
	}
	doc := &document{uri: uri, path: pathOf(uri), version: version, tooLong: len(text) > left}
	if doc.tooLong {
		text = ""
	}
	doc.read = assist.Read(kind, strings.ToValidUTF8(text, "\ufffd"))
	switch {
	case doc.read.HasAllParts() || doc.tooLong:
		doc.last = doc.read
	case old != nil:
		doc.last = old.last
	}
	d.open[uri] = doc
	return doc
}

// get returns a document, or nil.
func (d *documents) get(uri string) *document {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[uri]
}

// remove removes a document.
func (d *documents) remove(uri string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, uri)
}

// all returns all documents.
func (d *documents) all() (list []*document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, doc := range d.open {
		list = append(list, doc)
	}
	return list
}

// isScript reports whether a document is a script of a project, so that its faults are shown: other
// programs have files with the same suffixes.
func (doc *document) isScript() bool {
	folders := strings.Split(filepath.ToSlash(filepath.Dir(doc.path)), "/")
	for i, name := range folders {
		if name != ".cassidy" {
			continue
		}
		if doc.read.Kind != assist.Markdown {
			return true
		}
		return i+1 < len(folders) && folders[i+1] == "tools" && filepath.Base(doc.path) != "README.md"
	}
	return doc.read.IsTool()
}
