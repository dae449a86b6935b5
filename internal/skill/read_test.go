package skill

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestSkillChangedMeanwhile checks that a model gets only the text that was trusted,
// also if the file changes after it was listed.
func TestSkillChangedMeanwhile(t *testing.T) {
	root := t.TempDir()
	const name = ".cassidy/skills/s.md"
	write := func(text string) {
		t.Helper()
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const text = "---\ndescription: d\n---\nreviewed"
	write(text)
	o := &trust.Scope{Trust: trust.New(t.TempDir())}
	hash := tool.HashBytes([]byte(text))
	if err := o.Trust.Record(root, []trust.File{{Path: name, Kind: trust.KindSkill, Text: text, TextHash: hash, Hash: hash}}, false); err != nil {
		t.Fatal(err)
	}
	l := newLoading(root, o)
	listed, err := l.find("s")
	if err != nil {
		t.Fatal(err)
	}
	if f, err := l.read(listed, ""); err != nil || f.body != "reviewed" {
		t.Fatalf("read = %q, %v, want what was reviewed", f.body, err)
	}
	write("---\ndescription: d\n---\nanother")
	if f, err := l.read(listed, ""); value.KindOf(err) != value.Denied || f.body != "" {
		t.Errorf("read after a change = %q, %v, want that it is refused", f.body, err)
	}
	if err := os.Remove(filepath.Join(root, filepath.FromSlash(name))); err != nil {
		t.Fatal(err)
	}
	if f, err := l.read(listed, ""); err == nil || f.body != "" {
		t.Errorf("read of what is gone = %q, %v, want an error", f.body, err)
	}
}
