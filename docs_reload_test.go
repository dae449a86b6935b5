package cassidy_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocsReload checks that the table of the fields of the config has each of them once.
func TestDocsReload(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/schemas/config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(readPage(t, "docs/mcp.md"), "\n### Fields of the config\n")
	if !found {
		t.Fatal("docs/mcp.md has no section about the fields of the config")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var documented []string
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[1], -1) {
			documented = append(documented, m[1])
		}
	}
	slices.Sort(documented)
	var fields []string
	for name := range schema.Properties {
		fields = append(fields, name)
	}
	slices.Sort(fields)
	if len(fields) < 10 || !slices.Equal(fields, documented) {
		t.Errorf("the table has the fields\n%q, want\n%q", documented, fields)
	}
}
