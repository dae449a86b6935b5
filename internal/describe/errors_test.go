package describe

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestForUsers checks that users of the command do not see the part of a hint that is for
// Go programs.
func TestForUsers(t *testing.T) {
	t.Parallel()
	for hint, want := range map[string]string{
		"":                                 "",
		"list the runs: cassidy runs list": "list the runs: cassidy runs list",
		"list the runs: cassidy runs list; in Go, call Host.Runs":    "list the runs: cassidy runs list",
		"run the command in a terminal; in Go, set Options.Approver": "run the command in a terminal",
	} {
		if got := ForUsers(value.Errorf(value.Invalid, "no").WithHint("%s", hint)).Hint; got != want {
			t.Errorf("the hint %q becomes %q, want %q", hint, got, want)
		}
	}
}
