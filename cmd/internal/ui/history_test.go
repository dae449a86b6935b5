package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "chat_history")
	h := OpenHistory(file)
	for _, line := range []string{"one", "one", " a secret", "", "two\nlines\t\"quoted\"", strings.Repeat("x", maxPastLine+1), "one"} {
		h.Add(line)
	}
	want := []string{"one", "two\nlines\t\"quoted\"", "one"}
	for name, got := range map[string][]string{"in this session": h.lines, "in the next": OpenHistory(file).lines} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	// What is no history is skipped, and one that has grown is shortened.
	text := "no JSON\n{\"a\": 1}\n"
	for i := range 2*maxPast + 1 {
		text += fmt.Sprintf("\"%d\"\n", i)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	OpenHistory(file)
	again := OpenHistory(file).lines
	if len(again) != maxPast || again[maxPast-1] != fmt.Sprint(2*maxPast) {
		t.Errorf("it has kept %d, with %q at the end, want %d of them, the last", len(again), again[len(again)-1], maxPast)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v (%v), want 0600", info.Mode(), err)
	}

	// Without a file it is remembered, and that is all.
	h = OpenHistory("")
	h.Add("one")
	if diff := cmp.Diff([]string{"one"}, h.lines); diff != "" {
		t.Errorf("without a file (-want +got):\n%s", diff)
	}
}
