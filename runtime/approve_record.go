package runtime

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// The names in a note of what somebody said to a question, and in the question
// where it waits in no process.
const (
	noteApproval = "approval" // the kind of question
	noteYes      = "yes"
	noteAlways   = "always"
	noteWhy      = "why"
	noteArgs     = "args"
	noteName     = "name"
	noteNeeds    = "needs"
	noteChanges  = "changes"
	noteFiles    = "files"
)

// recordKind names a question among those that may come up at one place.
func (g *gate) recordKind(q Question) string {
	if q.Changes != nil {
		return commitEffect
	}
	return g.approvalOf(q).kind
}

// said returns what somebody has said to a question before, in this run: to
// whoever asked then, or in answer to the question with which it was parked.
func (g *gate) said(ctx context.Context, q Question) (*Answer, error) {
	r := g.root().record
	if r == nil || g.looking || len(q.Place) == 0 {
		return nil, nil
	}
	entry, _, err := r.log.Recorded(q.Place)
	if err != nil {
		return nil, unrecorded(err)
	}
	kind := g.recordKind(q)
	for _, n := range slices.Backward(entry.Notes) { // wrong arguments are asked about again
		if n.Text(noteApproval) != kind {
			continue
		}
		v, _ := n.Get(noteArgs)
		args, _ := v.(*tool.Dict)
		return &Answer{Yes: n.Bool(noteYes), Always: n.Bool(noteAlways), Why: n.Text(noteWhy), Args: args}, g.sameChanges(q, n)
	}
	if entry.Question == nil || entry.Question.Data.Text(noteApproval) != kind {
		return nil, nil
	}
	v, ok, err := r.log.Answer(ctx, q.Place)
	if err != nil || !ok {
		return nil, err
	}
	answer := &Answer{Yes: v == true}
	if err := g.sameChanges(q, entry.Question.Data); err != nil {
		return nil, err
	}
	return answer, g.noteAnswer(ctx, q, *answer)
}

// sameChanges says whether what would be changed is what somebody was shown.
func (g *gate) sameChanges(q Question, shown *tool.Dict) error {
	if v, _ := shown.Get(noteChanges); q.Changes == nil || tool.Equal(v, changeDict(q.Changes)) {
		return nil
	}
	return tool.Errorf(tool.Conflict, "files have changed since somebody was asked whether '%s' may change them: nothing was written", q.Tool.Name)
}

// noteAnswer keeps what somebody said, so that nobody is asked twice.
func (g *gate) noteAnswer(ctx context.Context, q Question, a Answer) error {
	r := g.root().record
	if r == nil || r.replay != nil || g.looking || len(q.Place) == 0 {
		return nil
	}
	of := g.approvalOf(q)
	n := g.aboutQuestion(q)
	n.Put(noteYes, a.Yes)
	n.Put(noteAlways, a.Always && a.Args == nil)
	n.Put(noteWhy, a.Why)
	n.Put(noteArgs, nil)
	if a.Args != nil {
		n.Put(noteArgs, a.Args)
	}
	n.Put(noteName, of.name)
	n.Put(noteHash, of.hash)
	n.Put(noteNeeds, of.needs)
	n.Put(noteGranted, of.granted)
	if err := r.log.Note(ctx, q.Place, n); err != nil {
		return unrecorded(err)
	}
	return nil
}

// aboutQuestion tells in the record what a question was about.
func (g *gate) aboutQuestion(q Question) *tool.Dict {
	d := tool.NewDict(noteApproval, g.recordKind(q))
	if q.Changes != nil {
		d.Put(noteChanges, changeDict(q.Changes))
	}
	return d
}

// lasting reads an approval for good from a note.
func lasting(n *tool.Dict) (approval, bool) {
	a := approval{name: n.Text(noteName), hash: n.Text(noteHash), needs: n.Text(noteNeeds), granted: n.Text(noteGranted), kind: n.Text(noteApproval)}
	return a, a.kind != "" && a.hash != "" && n.Bool(noteAlways) && n.Bool(noteYes)
}

// waitForApproval parks the run with a question; where it cannot wait, it returns
// another error. An effect that has begun cannot be parked.
func (g *gate) waitForApproval(ctx context.Context, q Question, otherwise error) error {
	if g.looking || g.doing.Func != "" || ctx.Value(askingKey{}) != nil {
		return otherwise
	}
	text := needsApproval(q)
	if q.Changes == nil && q.Effect == nil {
		text += ": " + q.Tool.CallText(q.Call.Args)
	}
	data := g.aboutQuestion(q)
	if q.Changes != nil {
		data.Put(noteFiles, shownChanges(q.Changes))
	}
	return g.parkOr(ctx, history.Question{Place: q.Place, Text: clip(text), Confirm: true, Data: data}, waitsApproval, otherwise)
}

// maxShown is how much of a file somebody is shown who is asked later.
const maxShown = 64 << 10

// shownChanges are changes for somebody who is asked later: [{"path", "before",
// "after"}], the two as far as they can be shown.
func shownChanges(changes []tool.Change) tool.List {
	list := tool.List{}
	for _, c := range changes {
		d := tool.NewDict("path", c.Path, "before", nil, "after", nil)
		for name, s := range map[string]tool.FileState{"before": c.Before, "after": c.After} {
			if s.Exists && !s.Dir && len(s.Data) <= maxShown {
				d.Put(name, s.Data)
			}
		}
		list = append(list, d)
	}
	return list
}
