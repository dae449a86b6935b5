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
