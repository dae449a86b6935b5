package gate

import (
	"testing"
	"time"
)

// TestProved checks what the other commits of a run prove about a commit from a to b that began at 10.
func TestProved(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	sure := func(before, after string, intended, settled int) recordedCommit {
		return recordedCommit{Before: before, After: after, Intended: at(intended), Settled: at(settled), Sure: true}
	}
	maybe := func(before, after string, intended int) recordedCommit {
		return recordedCommit{Before: before, After: after, Intended: at(intended)}
	}
	for _, test := range []struct {
		name   string
		now    string
		others []recordedCommit
		want   string
	}{
		{"nothing else", "b", nil, "open"},
		{"an earlier commit", "b", []recordedCommit{sure("z", "a", 1, 2)}, "open"},
		{"the same by a sibling", "b", []recordedCommit{sure("a", "b", 9, 11)}, "not done"},
		{"the same by a sibling just before", "b", []recordedCommit{sure("a", "b", 8, 9)}, "not done"},
		{"another one by a sibling", "c", []recordedCommit{sure("a", "c", 11, 12)}, "not done"},
		{"a chain of siblings", "d", []recordedCommit{sure("c", "d", 13, 14), sure("a", "c", 11, 12)}, "not done"},
		{"a chain after earlier ones", "d", []recordedCommit{sure("y", "z", 1, 2), sure("z", "a", 3, 4), sure("c", "d", 13, 14), sure("a", "c", 11, 12)}, "not done"},
		{"one that began with it", "c", []recordedCommit{sure("b", "c", 11, 12)}, "done"},
		{"a chain that began with it", "", []recordedCommit{sure("b", "c", 11, 12), sure("c", "", 13, 14)}, "done"},
		{"away and back again", "b", []recordedCommit{sure("b", "a", 11, 12), sure("a", "b", 13, 14)}, "done"},
		{"one to what it began with, perhaps before", "b", []recordedCommit{sure("b", "a", 9, 11)}, "open"},
		{"somebody else before", "c", []recordedCommit{sure("x", "c", 11, 12)}, "open"},
		{"somebody else after", "x", []recordedCommit{sure("a", "c", 11, 12)}, "open"},
		{"somebody else between", "d", []recordedCommit{sure("a", "c", 11, 12), sure("x", "d", 13, 14)}, "open"},
		{"a circle of somebody else", "c", []recordedCommit{sure("a", "c", 11, 12), sure("x", "y", 13, 14), sure("y", "x", 15, 16)}, "open"},
		{"the same, perhaps", "b", []recordedCommit{maybe("a", "b", 9)}, "open"},
		{"the same, and perhaps again", "b", []recordedCommit{sure("a", "b", 9, 11), maybe("a", "b", 9)}, "not done"},
		{"one of two began with it", "c", []recordedCommit{sure("b", "c", 11, 12), maybe("a", "b", 9)}, "open"},
		{"another one, perhaps", "c", []recordedCommit{maybe("a", "c", 9)}, "not done"},
	} {
		got := "open"
		done, ok := proved(recordedCommit{Before: "a", After: "b", Intended: at(10)}, test.now, test.others)
		switch {
		case ok && done:
			got = "done"
		case ok:
			got = "not done"
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
