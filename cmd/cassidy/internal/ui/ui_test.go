package ui

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestExitCodes(t *testing.T) {
	for k := value.Failed; k <= value.LastKind; k++ {
		if exitCodes[k] == 0 {
			t.Errorf("the kind %s has no exit code", k)
		}
	}
	for k, want := range map[value.Kind]int{value.Limit: 4, value.Busy: 4, value.Unanswered: 3, value.Parked: 6} {
		if got := ExitCode(k); got != want {
			t.Errorf("exitCode(%s) = %d, want %d", k, got, want)
		}
	}
}

// TestForUsers checks that users of the command do not see the part of a hint that is for
// Go programs.
func TestForUsers(t *testing.T) {
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
