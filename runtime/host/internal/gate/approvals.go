package gate

import (
	"sync"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// dataPermanent is the name in the Data of a recorded question under which there is the
// Approval that a permanent yes would give.
const dataPermanent = "permanent"

// The names in a recorded approval.
const (
	noteAlways = "always" // the kind of question that it answers
	noteName   = "name"
	noteSum    = "hash"
	noteNeeds  = "needs"
	noteRights = "granted"
)

// An approval is what a permanent answer holds for: an unchanged tool with unchanged rights,
// and one kind of question.
type approval struct {
	Name    string     // the key of the tool
	Hash    string     // of its source, or ""
	Of      *tool.Tool // the tool, if it has no hash
	Needs   string     // its needs
	Granted string     // what its user has granted it
	Kind    string     // of the question
}

// Dict returns the recorded form of an approval, which Read reads.
func (a approval) Dict() *value.Dict {
	return value.NewDict(noteAlways, a.Kind, noteName, a.Name, noteSum, a.Hash, noteNeeds, a.Needs, noteRights, a.Granted)
}

// readApproval reads a permanent approval from a note or a question. ok is false if n is something
// else, or nil.
func readApproval(n *value.Dict) (a approval, ok bool) {
	a = approval{Name: n.Text(noteName), Hash: n.Text(noteSum), Needs: n.Text(noteNeeds), Granted: n.Text(noteRights), Kind: n.Text(noteAlways)}
	return a, a.Kind != "" && a.Hash != ""
}

// A approvalList is the permanent approvals of a run or of a host. A nil List has none, and ignores
// what is added. It is safe for concurrent use.
type approvalList struct {
	above *approvalList // of the host, for the list of a run

	mu  sync.Mutex
	set map[approval]bool
}

// Below returns the list of a run of the host whose list is a.
func (a *approvalList) Below() *approvalList { return &approvalList{above: a} }

// Wider returns the list of the host.
func (a *approvalList) Wider() *approvalList {
	if a == nil || a.above == nil {
		return a
	}
	return a.above
}

// Has reports whether the list, or that of its host, has an approval.
func (a *approvalList) Has(one approval) bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	known := a.set[one]
	a.mu.Unlock()
	return known || a.above.Has(one)
}

// Add adds an approval.
func (a *approvalList) Add(one approval) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.set == nil {
		a.set = map[approval]bool{}
	}
	a.set[one] = true
}

// AddAnswered adds the permanent answers to open questions. A resumed run can ask these in
// another order, so each answer holds for all of them.
func (a *approvalList) AddAnswered(open []history.Asked) {
	for _, q := range open {
		given := q.Answer
		if q.Kind != tool.QuestionApproval || given == nil || !given.Yes || !given.Always || given.Args != nil {
			continue
		}
		if of, ok := readApproval(q.Data.Dict(dataPermanent)); ok {
			a.Add(of)
		}
	}
}
