package project_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/sandbox"
)

// TestLastGoodVersionIsJudgedByItsLibraries checks that the last good version of a file
// is trusted only with the shared files that it was read with.
func TestLastGoodVersionIsJudgedByItsLibraries(t *testing.T) {
	t.Parallel()
	ctx, root := context.Background(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		at := filepath.Join(root, ".cassidy", "tools", name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const good = "load(\"lib/a.star\", \"word\")\n\ndef one():\n    \"\"\"One.\"\"\"\n    return word\n\ntool(one)\n"
	o := &project.Options{Describe: sandbox.NewInline().Describe, Scope: trust.Scope{Trust: trust.New(t.TempDir())}}
	write("one.star", good)
	write("lib/a.star", "word = 1\n")
	review, err := project.Review(ctx, root, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range review.Files { // the tool is the user's own, and the library is not
		if err := o.Trust.Record(root, []trust.File{f}, f.Kind == trust.KindTool); err != nil {
			t.Fatal(err)
		}
	}
	load := func() project.Tool {
		t.Helper()
		p, err := project.Load(ctx, root, o)
		if err != nil || len(p.Tools) != 1 {
			t.Fatalf("%d tools, %v, broken %v", len(p.Tools), err, p.Broken)
		}
		o.Known = p.Known
		if _, err := p.Tools[0].Declared(); err != nil {
			t.Fatal(err)
		}
		return p.Tools[0]
	}
	if got := load(); got.Reason != "" {
		t.Errorf("as reviewed it is untrusted: %s", got.Reason)
	}
	write("lib/a.star", "word = 666\n")
	if got := load(); got.Reason == "" {
		t.Error("with a changed library it is trusted")
	}
	write("lib/a.star", "word = 1\n")
	write("one.star", "def")
	if got := load(); got.Reason == "" {
		t.Error("its last good version, with the changed library, is trusted")
	}
}
