package cassidy_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/journal"
)

// TestResumeChecksTrust checks that a workflow is not resumed after its trust, or that
// of what it loads, was revoked, also where its file is broken by then, and that one of
// the user is.
func TestResumeChecksTrust(t *testing.T) {
	t.Parallel()
	const text = "load(\"lib/words.star\", \"word\")\n\ndef main():\n    return word if human.confirm(\"so?\") else \"\"\n"
	for name, tt := range map[string]struct {
		at     string // the folder of the workflow
		revoke string
		write  string // to the workflow, then
		want   error
	}{
		"trusted":            {at: "project", want: nil},
		"changed":            {at: "project", write: text + "\n", want: nil},
		"revoked":            {at: "project", revoke: ".cassidy/workflows/w.star", want: cassidy.ErrDenied},
		"revoked and broken": {at: "project", revoke: ".cassidy/workflows/w.star", write: "def", want: cassidy.ErrDenied},
		"library revoked":    {at: "project", revoke: ".cassidy/workflows/lib/words.star", want: cassidy.ErrDenied},
		"personal":           {at: "home", want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, dir, state := context.Background(), t.TempDir(), t.TempDir()
			home := filepath.Join(t.TempDir(), ".cassidy")
			at := filepath.Join(dir, ".cassidy", "workflows")
			if tt.at == "home" {
				at = filepath.Join(home, "workflows")
			}
			putFile(t, filepath.Join(at, "w.star"), text)
			putFile(t, filepath.Join(at, "lib", "words.star"), "word = \"done\"\n")
			if err := os.MkdirAll(filepath.Join(dir, ".cassidy"), 0o755); err != nil {
				t.Fatal(err)
			}
			r := newRuntime(t, &cassidy.RuntimeOptions{Store: journal.Memory()})
			h := openIn(t, r, cassidy.Dir(dir), &cassidy.Options{State: state, Home: home, NoBuiltins: true})
			store := trust.New(state)
			if tt.at == "project" {
				review, err := project.Review(ctx, dir, &project.Options{Scope: trust.Scope{Trust: store}, Describe: h.Describe})
				if err != nil {
					t.Fatal(err)
				}
				if err := store.Record(dir, review.Files, false); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := h.Run(ctx, "w", nil, cassidy.Durable("r")); !errors.Is(err, cassidy.ErrParked) {
				t.Fatalf("the workflow gave %v, want that it waits", err)
			}
			for q := range h.Waiting(ctx) {
				if err := h.Answer(ctx, q.ID, cassidy.Answer{Yes: true}); err != nil {
					t.Error(err)
				}
			}
			if tt.revoke != "" {
				if err := store.Revoke(dir, tt.revoke); err != nil {
					t.Fatal(err)
				}
			}
			if tt.write != "" {
				putFile(t, filepath.Join(at, "w.star"), tt.write)
			}
			got, err := h.Resume(ctx, "r")
			if tt.want == nil && (err != nil || got.Value != "done") || !errors.Is(err, tt.want) {
				t.Errorf("resumed: %v, %v, want %v", got.Value, err, tt.want)
			}
		})
	}
}
