package host

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestNotRestored checks how the conflicts of files are described to the person who undoes a run.
func TestNotRestored(t *testing.T) {
	const changed = "what is new.md was not restored: the file has changed since step 3"
	const skip = "to skip this step: cassidy runs undo r --skip; to undo only later steps: cassidy runs undo r --to STEP; in Go, set Undo.Skip or Undo.To"
	for text, want := range map[string][2]string{
		"what is new.md has changed on disk during the call; nothing was written": {changed, skip},
		"what is new.md was changed by another process during the call":           {changed, skip},
		"what is new.md is open for writing in another process; nothing was written": {
			"what is new.md was not restored: the file is open for writing in another process",
			"close the file there, and repeat: cassidy runs undo r; in Go, call Host.Undo again",
		},
	} {
		e := value.ErrorOf(errNotRestored("r", tool.StepPath{3}, value.Errorf(value.Conflict, "%s", text)), value.Failed)
		if got := [2]string{e.Message(), e.Hint}; got != want || e.Kind != value.Conflict {
			t.Errorf("%s: %q (%s), want %q", text, got, e.Kind.Type(), want)
		}
	}
}
