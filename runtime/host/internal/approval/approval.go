// Package approval asks for approvals, and keeps permanent ones.
package approval

import (
	"sync"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// DataPermanent is the name in the Data of a recorded question under which there is the
// Approval that a permanent yes would give.
const DataPermanent = "permanent"

// The names in a recorded approval.
const (
	noteAlways = "always" // the kind of question that it answers
	noteName   = "name"
	noteSum    = "hash"
	noteNeeds  = "needs"
	noteRights = "granted"
)

// An Approval is what a permanent answer holds for: an unchanged tool with unchanged rights,
// and one kind of question.
type Approval struct {
	Name    string     // the key of the tool
	Hash    string     // of its source, or ""
	Of      *tool.Tool // the tool, if it has no hash
	Needs   string     // its needs
	Granted string     // what its user has granted it
	Kind    string     // of the question
}

// Dict returns the recorded form of an approval, which Read reads.
func (a Approval) Dict() *value.Dict {
	return value.NewDict(noteAlways, a.Kind, noteName, a.Name, noteSum, a.Hash, noteNeeds, a.Needs, noteRights, a.Granted)
}

// Read reads a permanent approval from a note or a question. ok is false if n is something
// else, or nil.
func Read(n *value.Dict) (a Approval, ok bool) {
	a = Approval{Name: n.Text(noteName), Hash: n.Text(noteSum), Needs: n.Text(noteNeeds), Granted: n.Text(noteRights), Kind: n.Text(noteAlways)}
	return a, a.Kind != "" && a.Hash != ""
}

// A List is the permanent approvals of a run or of a host. A nil List has none, and ignores
// what is added. It is safe for concurrent use.
type List struct {
	above *List // of the host, for the list of a run

	mu  sync.Mutex
	set map[Approval]bool
}

// Below returns the list of a run of the host whose list is a.
func (a *List) Below() *List { return &List{above: a} }

// Wider returns the list of the host.
func (a *List) Wider() *List {
	if a == nil || a.above == nil {
		return a
	}
	return a.above
}

// Has reports whether the list, or that of its host, has an approval.
func (a *List) Has(one Approval) bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	known := a.set[one]
	a.mu.Unlock()
	return known || a.above.Has(one)
}

// Add adds an approval.
func (a *List) Add(one Approval) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.set == nil {
		a.set = map[Approval]bool{}
	}
	a.set[one] = true
}

// AddAnswered adds the permanent answers to open questions. A resumed run can ask these in
// another order, so each answer holds for all of them.
func (a *List) AddAnswered(open []history.Asked) {
	for _, q := range open {
		given := q.Answer
		if q.Kind != tool.QuestionApproval || given == nil || !given.Yes || !given.Always || given.Args != nil {
			continue
		}
		if of, ok := Read(q.Data.Dict(DataPermanent)); ok {
			a.Add(of)
		}
	}
}
