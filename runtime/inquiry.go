package runtime

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// An inquiry is a question about a call, until it is answered.
type inquiry struct {
	Question
	of    *pass
	begun bool // it came up while its effect was being done
	edits int  // how often the arguments in an answer to it were wrong
}

// inquire returns the inquiry of a question about a call.
func inquire(p *pass, q Question) *inquiry {
	q.Tool, q.Call = *p.tool, p.shown()
	return &inquiry{Question: q, of: p}
}

// maxRefusals is how often a call, with all that it calls, may be refused
// before nobody is asked any more: a script could ask until somebody tires of
// saying no.
const maxRefusals = 3

// ask returns the yes to the question: one of an earlier process of the run, a
// permanent one, or that of who is asked now. Its how says which. Anything else
// is an error.
func (q *inquiry) ask(ctx context.Context) (Answer, error) {
	p := q.of
	if said, err := q.said(ctx); err != nil || said != nil {
		return q.taken(said, err, p.run.approvals) // whatever was said later
	}
	switch {
	case p.run.approvals.has(q.approval()):
		return Answer{Yes: true, how: approvedBefore}, nil
	case p.run.approve == nil:
		return Answer{}, q.park(ctx, q.nobody())
	case ctx.Value(askingKey{}) != nil:
		return Answer{}, tool.Errorf(tool.Denied, "%s: a question is open already", q.needs())
	case p.responsible().quota.refusals.Load() >= maxRefusals:
		return Answer{}, tool.Errorf(tool.Denied, "%s: the call was refused %d times already", q.needs(), maxRefusals)
	}
	p.wall.pause()
	defer p.wall.resume()
	answer, err := q.put(ctx)
	switch {
	case unanswered(err):
		err = q.park(ctx, q.notApproved(""))
	case err == nil:
		err = q.keep(ctx, answer)
	}
	if p.run.leavesOpen(err) {
		return Answer{}, err
	}
	return q.taken(&answer, err, p.run.approvals.wider())
}

const approvedBefore = "it was approved for good before"

// taken is what an answer means. A permanent one that was given now holds for as long
// as the host lives; one from the record, or that was sent to the run, for the run.
func (q *inquiry) taken(answer *Answer, err error, lasts *approvals) (Answer, error) {
	if err == nil && !answer.Yes {
		err = q.notApproved(answer.Why)
	}
	if err != nil {
		q.of.responsible().quota.refusals.Add(1)
		return Answer{}, tool.AsError(err, tool.Denied)
	}
	if answer.Always && answer.Args == nil {
		lasts.add(q.approval())
	}
	a := *answer
	if a.how == "" {
		a.how = "it was approved"
	}
	return a, nil
}

// askingKey marks the context in which a question is put, with its *inquiry; that
// of a question which is not about approval has nil.
type askingKey struct{}

// put calls the program's Approve. Whatever that does, only a yes is one.
func (q *inquiry) put(ctx context.Context) (answer Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = Answer{}, tool.Errorf(tool.Internal, "the approval panicked: %v", p)
		}
	}()
	if ctx.Err() != nil {
		return Answer{}, context.Cause(ctx)
	}
	answer, err = q.of.run.approve(context.WithValue(ctx, askingKey{}, q), q.Question)
	if (err == nil || unanswered(err)) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return answer, err
}

// unanswered reports whether an error says that nobody answers a question.
func unanswered(err error) bool {
	kind := tool.KindOf(err)
	return kind == tool.Parked || kind == tool.Unanswered
}

// The names in the Data of a recorded question about approval.
const (
	dataSubject   = "subject"      // what is asked about: "call", "fs.commit", or "effect NAME CAPABILITIES"
	dataTool      = "tool"         // the tool's name
	dataFunc      = "func"         // the effect, where it is about one
	dataArgs      = "args"         // the arguments of the call, or of the effect
	dataTakes     = "capabilities" // what a yes would let it use, as texts
	dataWhy       = "why"          // what asks for it: the tool's author, a capability, a rule
	dataReasoning = "reasoning"    // why the call is made, in the caller's words
	dataChanges   = "changes"      // what would be changed: {PATH: {"before", "after"}} in hashes
	dataEdits     = "edits"        // how often the arguments in an answer were wrong, if they were
	dataPermanent = "permanent"    // what a permanent yes would hold for
	dataFiles     = "files"        // the same to be shown: [{"path", "before", "after"}]
)

// The names in a permanent approval, as it is noted.
const (
	noteAlways = "always" // the kind of question that it answers
	noteName   = "name"
	noteNeeds  = "needs"
)

// subject names the question among those that may come up at one step.
func (q *inquiry) subject() string {
	if q.Changes != nil {
		return commitEffect
	}
	return q.approval().kind
}

// said returns what somebody has answered before, in this run: to whoever asked
// then, or to the question with which it was parked.
func (q *inquiry) said(ctx context.Context) (*Answer, error) {
	if q.of.consent.probe {
		return nil, nil
	}
	subject := q.subject()
	a, asked, err := q.of.run.answer(ctx, q.Place, func(asked *history.Question) bool {
		return asked.Kind == history.QuestionApproval && asked.Data.Text(dataSubject) == subject && asked.Data.Int(dataEdits, 0) == int64(q.edits) && q.sameCall(asked.Data)
	})
	if err != nil || a == nil {
		return nil, err
	}
	answer := &Answer{Yes: a.Yes, Always: a.Always, Args: a.Args, Why: a.Why, By: a.By}
	if asked.Answer == nil { // it is used now
		err = q.keepAlways(ctx, answer)
	}
	if err == nil {
		err = q.sameChanges(asked.Data)
	}
	return answer, err
}

// sameCall reports whether what is asked about is what somebody was shown: what a
// handler in Go does first, and what second, can differ each time.
func (q *inquiry) sameCall(shown *tool.Dict) bool {
	if shown.Text(dataTool) != q.Tool.Name {
		return false
	}
	v, _ := shown.Get(dataArgs)
	then, _ := v.(*tool.Dict)
	now := q.args()
	if then.Len() == 0 || now.Len() == 0 {
		return then.Len() == now.Len()
	}
	return tool.Equal(then, now)
}

// args are those of what is asked about: an effect, or a call.
func (q *inquiry) args() *tool.Dict {
	if q.Effect != nil {
		return q.Effect.Args
	}
	return q.Call.Args
}

// sameChanges says whether what would be changed is what somebody was shown.
func (q *inquiry) sameChanges(shown *tool.Dict) error {
	if v, _ := shown.Get(dataChanges); q.Changes == nil || tool.Equal(v, changeDict(q.Changes)) {
		return nil
	}
	return tool.Errorf(tool.Conflict, "files have changed since somebody was asked whether '%s' may change them: nothing was written", q.Tool.Name)
}

// keep records what somebody answered, so that nobody is asked twice.
func (q *inquiry) keep(ctx context.Context, a Answer) error {
	record := q.of.run.record
	if q.of.consent.probe || !record.Keeps() {
		return nil
	}
	said := history.Answer{Yes: a.Yes, Always: a.Always && a.Args == nil, Args: a.Args, Why: a.Why, By: a.By}
	if err := record.Answered(ctx, q.recorded(), said); err != nil {
		return unrecorded(err)
	}
	return q.keepAlways(ctx, &a)
}

// keepAlways records a permanent approval, which holds for all of the run.
func (q *inquiry) keepAlways(ctx context.Context, a *Answer) error {
	if !a.Yes || !a.Always || a.Args != nil {
		return nil
	}
	return q.of.run.note(ctx, q.Place, q.approval().dict())
}

// recorded is the question as it is recorded.
func (q *inquiry) recorded() history.Question {
	text := q.needs()
	d := tool.NewDict(dataSubject, q.subject(), dataTool, q.Tool.Name)
	switch {
	case q.Changes != nil:
		d.Put(dataChanges, changeDict(q.Changes))
	case q.Effect != nil:
		d.Put(dataFunc, q.Effect.Func)
	default:
		text += ": " + q.Tool.CallText(q.Call.Args)
	}
	if args := q.args(); args != nil {
		d.Put(dataArgs, args)
	}
	d.Put(dataTakes, capabilityTexts(q.Takes))
	d.Put(dataWhy, q.Why)
	d.Put(dataReasoning, q.Call.Reasoning)
	if q.edits > 0 {
		d.Put(dataEdits, int64(q.edits))
	}
	return history.Question{Place: q.Place, Kind: history.QuestionApproval, Text: clip(text), Data: d}
}

// park parks the run with the question; where it cannot wait, it returns another
// error. An effect that has begun cannot be parked.
func (q *inquiry) park(ctx context.Context, otherwise error) error {
	if q.of.consent.probe || q.begun || ctx.Value(askingKey{}) != nil {
		return otherwise
	}
	asked := q.recorded()
	asked.Data.Put(dataPermanent, q.approval().dict())
	if q.Changes != nil {
		asked.Data.Put(dataFiles, shownChanges(q.Changes))
	}
	return q.of.run.ask(ctx, asked, waitsApproval, otherwise)
}

// maxShown is how much of a file somebody is shown who is asked later, in bytes.
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

// needs says in an error what nobody approved.
func (q *inquiry) needs() string {
	switch {
	case q.Effect != nil:
		return "the tool '" + q.Tool.Name + "' needs approval for " + q.Effect.Func + " (" + capabilityList(q.Takes) + ")"
	case q.Changes != nil:
		return "the tool '" + q.Tool.Name + "' needs approval to change " + pathList(q.Changes)
	}
	return "the tool '" + q.Tool.Name + "' needs approval"
}

// notApproved is the error of a no.
func (q *inquiry) notApproved(why string) error {
	what := "the call of '" + q.Tool.Name + "' was not approved"
	switch {
	case q.Effect != nil:
		what = q.Effect.Func + " of '" + q.Tool.Name + "' was not approved"
	case q.Changes != nil:
		what = "what '" + q.Tool.Name + "' changes was not approved"
	}
	if why != "" {
		what += ": " + why
	}
	return tool.Errorf(tool.Denied, "%s", what)
}

// nobody is the error of a host that has no Approve.
func (q *inquiry) nobody() error {
	err := tool.Errorf(tool.Denied, "%s, and there is nobody to give it: %s", q.needs(), q.Why)
	open, _ := q.of.run.unallowed(q.of.tool)
	switch {
	case q.Effect != nil || q.Tool.Risky || len(open) == 0:
		return err.WithHint("run it where somebody can be asked; a program sets Options.Approve")
	case q.Changes != nil:
		open = q.Takes
	}
	return err.WithHint("allow %s in a rule, or run it where somebody can be asked; a program sets Options.Approve", capabilityList(open))
}

func capabilityList(list []tool.Capability) string {
	words := make([]string, len(list))
	for i, c := range list {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}

// pathList names the paths that change, or the first of them.
func pathList(changes []tool.Change) string {
	const most = 3
	var names []string
	for _, c := range changes[:min(most, len(changes))] {
		names = append(names, c.Path)
	}
	text := strings.Join(names, ", ")
	if more := len(changes) - most; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// An approval is what a permanent answer holds for: a tool that is still the
// same, with the same rights, and one kind of question.
type approval struct {
	name, hash     string
	of             *tool.Tool // where there is no hash
	needs, granted string
	kind           string
}

func (q *inquiry) approval() approval {
	exact := func(list []tool.Capability) string { return fmt.Sprintf("%q", list) }
	t := q.of.tool
	a := approval{name: tool.Key(t.Name), hash: t.Hash, needs: exact(t.Needs), granted: exact(t.Granted), kind: callItself}
	if t.Hash == "" {
		a.of = t
	}
	if q.Effect != nil {
		a.kind = "effect " + q.Effect.Func + " " + exact(q.Takes)
	}
	return a
}

// dict is what a permanent answer holds for, as lasting reads it.
func (a approval) dict() *tool.Dict {
	return tool.NewDict(noteAlways, a.kind, noteName, a.name, noteHash, a.hash, noteNeeds, a.needs, noteGranted, a.granted)
}

// lasting reads a permanent approval from a note or a question.
func lasting(n *tool.Dict) (approval, bool) {
	a := approval{name: n.Text(noteName), hash: n.Text(noteHash), needs: n.Text(noteNeeds), granted: n.Text(noteGranted), kind: n.Text(noteAlways)}
	return a, a.kind != "" && a.hash != ""
}

// approvals are those that hold permanently: for a run, or for as long as the host
// lives. Nil holds none and takes none.
type approvals struct {
	above *approvals // those of the host, which hold in each run

	mu  sync.Mutex
	set map[approval]bool
}

// wider are the approvals that a live answer is added to: those of the host.
func (a *approvals) wider() *approvals {
	if a == nil || a.above == nil {
		return a
	}
	return a.above
}

func (a *approvals) has(one approval) bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	known := a.set[one]
	a.mu.Unlock()
	return known || a.above.has(one)
}

func (a *approvals) add(one approval) {
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

// addAnswered adds the permanent answers to open questions, which hold for all of
// these: which of them comes up first when the run is resumed is not known.
func (a *approvals) addAnswered(open []history.Question) {
	for _, q := range open {
		said := q.Answer
		if q.Kind != history.QuestionApproval || said == nil || !said.Yes || !said.Always || said.Args != nil {
			continue
		}
		v, _ := q.Data.Get(dataPermanent)
		d, _ := v.(*tool.Dict)
		if of, ok := lasting(d); ok {
			a.add(of)
		}
	}
}
