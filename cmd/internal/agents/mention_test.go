package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestMentions(t *testing.T) {
	home := t.TempDir()
	t.Chdir(t.TempDir())
	t.Setenv("HOME", home)
	for _, name := range []string{"a.png", "b.pdf", "my notes.txt", "odd).txt", "data/c.txt", filepath.Join(home, "h.txt")} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		message, text string
		files         []string
	}{
		{"", "", nil},
		{"what is this?", "what is this?", nil},
		{"what is in @a.png?", "what is in a.png?", []string{"a.png"}},
		{"@a.png", "a.png", []string{"a.png"}},
		{"compare @a.png,\n @b.pdf...  (and\t@data/c.txt)", "compare a.png,\n b.pdf...  (and\tdata/c.txt)", []string{"a.png", "b.pdf", "data/c.txt"}},
		{"@a.png twice: @a.png", "a.png twice: a.png", []string{"a.png"}},
		{`sum up @"my notes.txt", please`, "sum up my notes.txt, please", []string{"my notes.txt"}},
		{"@odd).txt", "odd).txt", []string{"odd).txt"}},
		{"@~/h.txt", filepath.Join(home, "h.txt"), []string{filepath.Join(home, "h.txt")}},
		{"ask @@alice or bob@example.org @ noon, a@a.png", "ask @alice or bob@example.org @ noon, a@a.png", nil},
		{"@@@a.png", "@@a.png", nil},
		{"see @https://example.org/a.png.", "see https://example.org/a.png.", []string{"https://example.org/a.png"}},
		{"  two  spaces ", "  two  spaces ", nil},
	} {
		text, files, err := Mentions(test.message)
		if err != nil || text != test.text || !cmp.Equal(files, test.files) {
			t.Errorf("Mentions(%q) = %q, %q, %v, want %q, %q", test.message, text, files, err, test.text, test.files)
		}
	}
	for message, want := range map[string]string{
		"ask @alice":           "attach alice: there is no such file",
		"see @nosuch.png?!":    "attach nosuch.png: there is no such file",
		"@a.png and @c.png":    "attach c.png: there is no such file",
		`sum up @"my notes`:    "the closing quote is missing",
		`sum up @"nosuch.txt"`: "attach nosuch.txt: there is no such file",
		`sum up @""`:           "there is no such file",
		"@\x00":                "there is no such file",
	} {
		_, _, err := Mentions(message)
		if e := value.ErrorOf(err, value.Failed); e == nil || e.Kind != value.Invalid || !strings.Contains(e.Message(), want) || !strings.Contains(e.Hint, "@@") {
			t.Errorf("Mentions(%q): %v, want %s", message, err, want)
		}
	}
}

// TestFenced checks that no text can end its fence.
func TestFenced(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\n":         "```\na\nb\n```",
		"x":              "```\nx\n```",
		"```\ncode\n```": "````\n```\ncode\n```\n````",
	} {
		if got := fenced(text); got != want {
			t.Errorf("fenced(%q) = %q, want %q", text, got, want)
		}
	}
}
