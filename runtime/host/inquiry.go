package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/diffs"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An inquiry is a question about a call, until it is answered.
type inquiry struct {
	of      *pass
	at      tool.Place   // where in the run it comes up
	call    tool.Call    // as it is shown
	effect  *tool.Effect // what the call wants to do now, where it is about one effect; else nil
	takes   []tool.Capability
	changes []tool.Change // with diffs, where the call has run and its writes wait
	why     string
	begun   bool      // it came up while its effect was being done
	edits   int       // how often the arguments in an answer to it were wrong
	put     time.Time // when somebody was asked; zero where nobody is there
	how     string    // why it was allowed, for the audit
	// allowable says that a rule which allows what the question is about would
	// answer it.
	allowable bool
}

// maxRefusals is how often a call, with all that it calls, may be refused
// before nobody is asked any more: a script could ask until somebody tires of
// saying no.
const maxRefusals = 3

// ask returns the yes to the question: one of an earlier process of the run, a
// permanent one, or that of who is asked now. q.how says which. Anything else is
// an error.
func (q *inquiry) ask(ctx context.Context) (Answer, error) {
	p := q.of
	if given, err := q.given(ctx); err != nil || given != nil {
		return q.taken(given, err, p.run.approvals) // whatever was answered later
	}
	switch {
	case p.run.approvals.has(q.approval()):
		q.how = approvedBefore
		return Answer{Yes: true}, nil
	case p.run.approver == nil:
		return Answer{}, q.park(ctx, q.nobody())
	case ctx.Value(askingKey{}) != nil:
		return Answer{}, value.Errorf(value.Denied, "%s: a question is open already", q.needs())
	case p.responsible().quota.refusals.Load() >= maxRefusals:
		return Answer{}, value.Errorf(value.Denied, "%s: the call was refused %d times already", q.needs(), maxRefusals)
	}
	p.wall.Pause()
	defer p.wall.Resume()
	answer, err := q.consult(ctx)
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
		return Answer{}, value.AsError(err, value.Denied)
	}
	if answer.Always && answer.Args == nil {
		lasts.add(q.approval())
	}
	q.how = cmp.Or(q.how, "it was approved")
	return *answer, nil
}

// consult asks the program's [Approver]. Whatever that does, only a yes is one.
func (q *inquiry) consult(ctx context.Context) (Answer, error) {
	p := q.of
	identified, err := p.run.record.Identify(q.recorded())
	if err != nil {
		return Answer{}, unrecorded(err)
	}
	live := identified.Question
	q.put = live.Asked
	live.Changes = q.changes
	if live.Asked.IsZero() {
		live.Asked = p.run.host.now().UTC()
	}
	a := &asking{tool: p.tool, call: q.call, inquiry: q}
	answer, err := a.put(ctx, live, p.run.approver.Approve)
	switch q.how = ""; {
	case a.covered.Load():
		q.how = approvedBefore
	case !p.run.record.Live():
		q.how = "it is replayed"
	}
	return answer, err
}

// unanswered reports whether an error says that nobody answers a question.
func unanswered(err error) bool {
	return errors.Is(err, value.ErrUnanswered) || errors.Is(err, value.ErrParked)
}

// The names in the Data of a recorded question about approval.
const (
	dataSubject   = "subject"   // what is asked about: "call", "fs.commit", or "effect NAME CAPABILITIES"
	dataEdits     = "edits"     // how often the arguments in an answer were wrong, if they were
	dataPermanent = "permanent" // what a permanent yes would hold for
)

// The names in a permanent approval, as it is noted.
const (
	noteAlways = "always" // the kind of question that it answers
	noteName   = "name"
	noteNeeds  = "needs"
)

// subject names the question among those that may come up at one step.
func (q *inquiry) subject() string {
	if q.changes != nil {
		return commitEffect
	}
	return q.approval().kind
}

// given returns what somebody has answered before, in this run: to whoever asked
// then, or to the question with which it was parked.
func (q *inquiry) given(ctx context.Context) (*Answer, error) {
	if q.of.consent.probe {
		return nil, nil
	}
	subject := q.subject()
	a, asked, err := q.of.run.answer(ctx, q.at, func(asked *history.Asked) bool {
		return asked.Kind == tool.QuestionApproval && asked.Data.Text(dataSubject) == subject && asked.Data.Int(dataEdits) == int64(q.edits) && q.sameCall(asked)
	})
	if err != nil || a == nil {
		return nil, err
	}
	if asked.Answer == nil { // it is used now
		err = q.keepAlways(ctx, &a.Answer)
	}
	if err == nil {
		err = q.sameChanges(asked)
	}
	return &a.Answer, err
}

// sameCall reports whether what is asked about is what somebody was shown: what a
// handler in Go does first, and what second, can differ each time.
func (q *inquiry) sameCall(shown *history.Asked) bool {
	if shown.Tool != q.of.tool.Name {
		return false
	}
	then, now := shown.Args, q.args()
	if then.Len() == 0 || now.Len() == 0 {
		return then.Len() == now.Len()
	}
	return value.Equal(then, now)
}

// args are those of what is asked about: an effect, or a call.
func (q *inquiry) args() *value.Dict {
	if q.effect != nil {
		return q.effect.Args
	}
	return q.call.Args
}

// sameChanges says whether what would be changed is what somebody was shown.
func (q *inquiry) sameChanges(shown *history.Asked) error {
	if q.changes == nil || value.Equal(changeDict(shown.Changes), changeDict(q.changes)) {
		return nil
	}
	return value.Errorf(value.Conflict, "files have changed since somebody was asked whether '%s' may change them: nothing was written", q.of.tool.Name)
}

// keep records what somebody answered, so that nobody is asked twice.
func (q *inquiry) keep(ctx context.Context, a Answer) error {
	record := q.of.run.record
	if q.of.consent.probe || !record.Keeps() {
		return nil
	}
	kept := a
	kept.Always = a.Always && a.Args == nil
	if err := record.Answered(ctx, q.recorded(), kept); err != nil {
		return unrecorded(err)
	}
	return q.keepAlways(ctx, &a)
}

// keepAlways records a permanent approval, which holds for all of the run.
func (q *inquiry) keepAlways(ctx context.Context, a *Answer) error {
	if !a.Yes || !a.Always || a.Args != nil {
		return nil
	}
	return q.of.run.note(ctx, q.at, q.approval().dict())
}

// recorded is the question as it is recorded.
func (q *inquiry) recorded() history.Asked {
	t := q.of.tool
	text := q.needs()
	asked := Question{Kind: tool.QuestionApproval, Tool: t.Name, Why: q.why, Reasoning: q.call.Reasoning, Args: q.args(), Asked: q.put, Capabilities: q.takes, Changes: diffs.Clipped(q.changes)}
	switch {
	case q.changes != nil:
	case q.effect != nil:
		asked.Func = q.effect.Func
	default:
		text += ": " + t.CallText(q.call.Args)
	}
	asked.Text = clip(text)
	d := value.NewDict(dataSubject, q.subject(), dataPermanent, q.approval().dict())
	if q.edits > 0 {
		d.Put(dataEdits, int64(q.edits))
	}
	return history.Asked{Place: q.at, Question: asked, Data: d}
}

// park parks the run with the question; where it cannot wait, it returns another
// error. An effect that has begun cannot be parked.
func (q *inquiry) park(ctx context.Context, otherwise error) error {
	if q.of.consent.probe || q.begun || ctx.Value(askingKey{}) != nil {
		return otherwise
	}
	return q.of.run.ask(ctx, q.recorded(), waitsApproval, otherwise)
}

// needs says in an error what nobody approved.
func (q *inquiry) needs() string {
	switch {
	case q.effect != nil:
		text := "the tool '" + q.of.tool.Name + "' needs approval for " + q.effect.Func
		if len(q.takes) > 0 {
			text += " (" + capabilityList(q.takes) + ")"
		}
		return text
	case q.changes != nil:
		return "the tool '" + q.of.tool.Name + "' needs approval to change " + pathList(q.changes)
	}
	return "the tool '" + q.of.tool.Name + "' needs approval"
}

// notApproved is the error of a no.
func (q *inquiry) notApproved(why string) error {
	what := "the call of '" + q.of.tool.Name + "' was not approved"
	switch {
	case q.effect != nil:
		what = q.effect.Func + " of '" + q.of.tool.Name + "' was not approved"
	case q.changes != nil:
		what = "what '" + q.of.tool.Name + "' changes was not approved"
	}
	if why != "" {
		what += ": " + why
	}
	return value.Errorf(value.Denied, "%s", what)
}

// nobody is the error of a host that has no Approver.
func (q *inquiry) nobody() error {
	err := value.Errorf(value.Denied, "%s, and there is nobody to give it: %s", q.needs(), q.why)
	_, open, _ := q.of.rights().needs()
	switch {
	case q.allowable && len(q.takes) > 0:
		open = q.takes
	case q.effect != nil || q.of.tool.Risky || len(open) == 0:
		return err.WithHint("run it where somebody can be asked; a program sets Options.Approver")
	case q.changes != nil:
		open = q.takes
	}
	return err.WithHint("allow %s in a rule, or run it where somebody can be asked; a program sets Options.Approver", capabilityList(open))
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
	if q.effect != nil {
		a.kind = "effect " + q.effect.Func + " " + exact(q.takes)
	}
	return a
}

// dict is what a permanent answer holds for, as lasting reads it.
func (a approval) dict() *value.Dict {
	return value.NewDict(noteAlways, a.kind, noteName, a.name, noteHash, a.hash, noteNeeds, a.needs, noteGranted, a.granted)
}

// lasting reads a permanent approval from a note or a question.
func lasting(n *value.Dict) (approval, bool) {
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
func (to *approvals) addAnswered(open []history.Asked) {
	for _, q := range open {
		a := q.Answer
		if q.Kind != tool.QuestionApproval || a == nil || !a.Yes || !a.Always || a.Args != nil {
			continue
		}
		v, _ := q.Data.Get(dataPermanent)
		d, _ := v.(*value.Dict)
		if of, ok := lasting(d); ok {
			to.add(of)
		}
	}
}
