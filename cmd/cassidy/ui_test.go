package main

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

func TestExitCodes(t *testing.T) {
	for k := tool.Failed; k <= tool.LastKind; k++ {
		if exitCodes[k] == 0 {
			t.Errorf("the kind %s has no exit code", k)
		}
		if got, ok := kindNamed(k.String()); !ok || got != k {
			t.Errorf("kindNamed(%q) = %v, %v", k, got, ok)
		}
	}
	for k, want := range map[tool.Kind]int{tool.Limit: 4, tool.Busy: 4, tool.Unanswered: 3, tool.Parked: 6} {
		if got := exitCode(k); got != want {
			t.Errorf("exitCode(%s) = %d, want %d", k, got, want)
		}
	}
}
