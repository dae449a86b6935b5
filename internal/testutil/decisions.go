package testutil

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Decisions returns what a file has recorded, each line of which must be JSON.
func Decisions(t testing.TB, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		var d struct{ Decision string }
		if err := json.Unmarshal([]byte(line), &d); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("line %q: %v", line, err)
		}
		list = append(list, d.Decision)
	}
	return list
}
