package gate

import (
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
)

// A recordedCommit is what a run has recorded of a commit of one file.
type recordedCommit struct {
	Path          string
	Before, After string // the states of the file, as in [tool.ChangeSums]
	Intended      time.Time
	Settled       time.Time // zero: it has no recorded outcome
	Sure          bool      // it was carried out; otherwise it may have been
}

// recordedCommitOf returns the commit of one of the files of an entry.
func recordedCommitOf(e *history.Entry, path string) recordedCommit {
	change := e.Change.Dict(path)
	return recordedCommit{Path: path, Before: change.Text("before"), After: change.Text("after"), Intended: e.Intended, Settled: e.Settled}
}

// maxUnsure is how many commits that may have been carried out are considered: their combinations double
// with each.
const maxUnsure = 10

// proved finds out whether a commit was carried out, from the other commits of the same file that its run has
// recorded. now is the state of the file, after all of them.
//
// When the commit began, the file was as before it. If the commits since then, in some order, lead from there
// to now, it was not carried out. If they do only together with it, it was, provided that one of them began
// with what it writes. ok is false otherwise: then somebody else has changed the file, or several orders are
// possible. That the file has the content of the commit proves nothing, as somebody else can have written the
// same.
func proved(own recordedCommit, now string, others []recordedCommit) (done, ok bool) {
	var sure, unsure []recordedCommit
	found := false
	for _, c := range since(own, others) {
		switch {
		case c.After == own.Before && !c.Intended.After(own.Intended): // it may have been carried out before
			return false, false
		case c.Sure:
			sure = append(sure, c)
			found = found || c.Before == own.After && c.Intended.After(own.Intended)
		default:
			unsure = append(unsure, c)
		}
	}
	if len(unsure) > maxUnsure {
		return false, false
	}
	var was, wasNot bool
	for set := range 1 << len(unsure) {
		all := slices.Clone(sure)
		for i, c := range unsure {
			if set>>i&1 == 1 {
				all = append(all, c)
			}
		}
		wasNot = wasNot || leads(own.Before, now, all)
		was = was || leads(own.Before, now, append(all, own))
	}
	return was, was != wasNot && (wasNot || found)
}

// since returns the commits that were carried out after a commit began, or may have been: those after the last
// one that has left what it began with, and had an outcome then.
func since(own recordedCommit, others []recordedCommit) []recordedCommit {
	var last time.Time
	for _, c := range others {
		if c.After == own.Before && c.Settled.After(last) && c.Settled.Before(own.Intended) {
			last = c.Settled
		}
	}
	return slices.DeleteFunc(slices.Clone(others), func(c recordedCommit) bool { return !c.Settled.IsZero() && !c.Settled.After(last) })
}

// leads reports whether commits lead from one state to another, each of them once and in some order: each state
// is left as often as it is reached, apart from the first and the last, and all are reached from the first.
func leads(from, to string, commits []recordedCommit) bool {
	left := map[string]int{to: 1}
	left[from]--
	for _, c := range commits {
		left[c.Before]++
		left[c.After]--
	}
	for _, n := range left {
		if n != 0 {
			return false
		}
	}
	reached := map[string]bool{from: true}
	for {
		rest := slices.DeleteFunc(slices.Clone(commits), func(c recordedCommit) bool {
			if reached[c.Before] {
				reached[c.After] = true
			}
			return reached[c.Before]
		})
		if len(rest) == len(commits) {
			return len(rest) == 0
		}
		commits = rest
	}
}
