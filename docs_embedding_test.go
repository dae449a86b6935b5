package cassidy_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestDocsEmbeddingGo checks that the Go of the page on embedding is that of programs
// and examples, which are compiled and tested.
func TestDocsEmbeddingGo(t *testing.T) {
	t.Parallel()
	indent := regexp.MustCompile(`(?m)^\s+`)
	var all strings.Builder
	for _, file := range []string{
		"examples/embed/main.go", "examples/server/main.go", "examples/server/handlers.go",
		"embedding_example_test.go", "sources_example_test.go", "example_test.go", "seams_example_test.go", "stdlib/fs/example_test.go",
	} {
		all.WriteString(indent.ReplaceAllString(readPage(t, file), ""))
	}
	blocks := 0
	for _, b := range docBlocks(readPage(t, "docs/embedding.md")) {
		if b.lang != "go" {
			continue
		}
		blocks++
		if !strings.Contains(all.String(), indent.ReplaceAllString(b.code, "")) {
			t.Errorf("line %d of docs/embedding.md is in no program:\n%s", b.line, b.code)
		}
	}
	if blocks < 10 {
		t.Errorf("docs/embedding.md has %d blocks of Go", blocks)
	}
}
