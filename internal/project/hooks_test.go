package project_test

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestHooks checks the order of the files with hooks, and that one which cannot be used is an error.
func TestHooks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	read := func(once bool) (string, error) {
		scripts, err := project.Hooks(b.root, &trust.Scope{Home: b.home, TrustOnce: once})
		var all []string
		for _, s := range scripts {
			all = append(all, s.Source)
		}
		return strings.Join(all, " "), err
	}
	if got, err := read(false); err != nil || got != "" {
		t.Errorf("without files: %q, %v", got, err)
	}
	b.write(".cassidy/hooks.star", "project")
	if _, err := read(false); value.KindOf(err) != value.Denied || !strings.Contains(err.Error(), "the hook file .cassidy/hooks.star is untrusted") {
		t.Errorf("an untrusted file gave %v, want an error of kind Denied", err)
	}
	b.writeAt(b.home+"/hooks.star", "own", b.long())
	if got, err := read(true); err != nil || got != "own project" {
		t.Errorf("both files gave %q, %v", got, err)
	}
	b.write(".cassidy/hooks.star", "\xff")
	if _, err := read(true); err == nil || !strings.Contains(err.Error(), ".cassidy/hooks.star") {
		t.Errorf("a file that is not text gave %v", err)
	}
	if scripts, err := project.Hooks("", &trust.Scope{Home: b.home}); err != nil || len(scripts) != 1 {
		t.Errorf("without a project: %v, %v", scripts, err)
	}
}
