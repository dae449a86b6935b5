package lsp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/assist"
)

// TestOpenTextsAreBounded checks that the server keeps no more than maxText bytes of all open texts, that a closed or
// shortened one makes room, and that a text which is not kept leaves nothing of its earlier version.
func TestOpenTextsAreBounded(t *testing.T) {
	t.Parallel()
	d := documents{open: map[string]*document{}}
	put := func(n, size int) bool {
		doc := d.put(fmt.Sprintf("file:///p/%d.star", n), assist.Starlark, 1, strings.Repeat("#", size))
		if doc == nil || doc.tooLong && (doc.read.Text != "" || doc.last.Text != "") {
			t.Errorf("document %d: %+v", n, doc)
		}
		return doc != nil && !doc.tooLong
	}
	for n := range 4 {
		if !put(n, maxText/4) {
			t.Errorf("document %d is not kept", n)
		}
	}
	if put(4, 1) {
		t.Error("more than all texts may have is kept")
	}
	d.remove("file:///p/0.star")
	if !put(4, maxText/8) || !put(1, maxText/4+maxText/8) || put(2, maxText/4+1) {
		t.Error("a closed text and an edited one are not counted as they are")
	}
	if !put(0, maxText/4) {
		t.Error("a text that is not kept is counted")
	}
}
