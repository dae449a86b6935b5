package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/approval"
	"github.com/cassidy-run/cassidy/runtime/host/internal/diffs"
	"github.com/cassidy-run/cassidy/runtime/host/internal/parked"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/internal/flow"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An inquiry is a request for approval. It is about an effect if effect is set, about the
// staged changes of a call if changes is set, and about a call otherwise.
type inquiry struct {
	of      *Pass
	at      tool.StepPath // the step that needs approval
	call    tool.Call     // as it is shown
	effect  *tool.Effect
	takes   []tool.Capability
	changes []tool.Change // with diffs
	reason
	begun bool // its effect is being carried out
	edits int  // how often the arguments in an answer were wrong
	times times
	how   string // why it was allowed, for the audit
	// allowable says that a rule which allows the capabilities would answer it.
	allowable bool
}

// A reason is why somebody is asked.
type reason struct {
	why  string
	read []flow.Source // the untrusted texts that the model has read, if it is asked because of them
}

// times are when somebody was asked, or zero, and when the question expires; zero means never.
type times struct{ asked, expires time.Time }

// maxRefusals is how often a call and everything that it calls may be refused before nobody
// is asked any more. Without it, a script could ask until somebody gives in.
const maxRefusals = 3

// ask returns an approval: one that an earlier process of the run got, a permanent one, or a
// new one. q.how says which. Anything else is an error.
func (q *inquiry) ask(ctx context.Context) (tool.Answer, error) {
	p := q.of
	if given, err := q.recordedAnswer(ctx); err != nil || given != nil {
		return q.accept(given, err, p.Run.approvals) // also if there is a later, permanent answer
	}
	asked := q.recorded()
	expired := parked.Expired(&asked.Question, p.Run.gate.Clock())
	switch {
	case p.Run.approvals.Has(q.approval()):
		q.how = approvedBefore
		return tool.Answer{Yes: true}, nil
	case expired != nil:
		return q.accept(nil, expired, nil)
	case p.Run.Approve == nil:
		return tool.Answer{}, q.park(ctx, q.errNoApprover())
	case ctx.Value(askingKey{}) != nil:
		return tool.Answer{}, value.Errorf(value.Denied, "%s, which is not possible while another question is being answered", q.needs())
	case p.responsible().quota.refusals.Load() >= maxRefusals:
		return tool.Answer{}, value.Errorf(value.Denied, "%s, but approvals were already refused %d times in this call", q.needs(), maxRefusals)
	}
	p.wall.Pause()
	defer p.wall.Resume()
	answer, err := q.askApprover(ctx)
	switch {
	case unanswered(err):
		err = q.park(ctx, q.errRefused(""))
	case err == nil:
		err = q.keep(ctx, answer)
	}
	if p.Run.leavesOpen(err) {
		return tool.Answer{}, err
	}
	return q.accept(&answer, err, p.Run.approvals.Wider())
}

const approvedBefore = "it was approved for good before"

// accept returns an approval, or the error of a refusal. It adds a permanent answer to lasts:
// the list of the host for a new one, that of the run for one that was recorded.
func (q *inquiry) accept(answer *tool.Answer, err error, lasts *approval.List) (tool.Answer, error) {
	if err == nil && !answer.Yes {
		err = q.errRefused(answer.Why)
	}
	if err != nil {
		q.of.responsible().quota.refusals.Add(1)
		return tool.Answer{}, value.AsError(err, value.Denied)
	}
	if answer.Always && answer.Args == nil {
		lasts.Add(q.approval())
	}
	q.how = cmp.Or(q.how, "it was approved")
	return *answer, nil
}

// askApprover asks the Approver.
func (q *inquiry) askApprover(ctx context.Context) (tool.Answer, error) {
	p := q.of
	live, err := p.Run.identify(q.recorded())
	if err != nil {
		return tool.Answer{}, err
	}
	q.times.asked, live.Changes = live.Asked, q.changes
	a := &asking{tool: p.tool, call: q.call, inquiry: q}
	ctx, cancel := parked.UntilExpiry(ctx, &live, p.Run.gate.Clock())
	defer cancel()
	answer, err := a.put(ctx, live, p.Run.Approve)
	switch q.how = ""; {
	case a.covered.Load():
		q.how = approvedBefore
	case !p.Run.record.Live():
		q.how = "it is replayed"
	}
	return answer, err
}

// unanswered reports whether an error means that nobody answers a question.
func unanswered(err error) bool {
	return errors.Is(err, value.ErrUnanswered) || errors.Is(err, value.ErrParked)
}

// The names in the Data of a recorded question about approval.
const (
	dataSubject = "subject" // "call", "fs.commit", or "effect NAME CAPABILITIES"
	dataEdits   = "edits"   // how often the arguments in an answer were wrong; missing for 0
	dataRead    = "read"    // it was asked because untrusted text was read; missing for false
)

// subject identifies the question among those of one step.
func (q *inquiry) subject() string {
	if q.changes != nil {
		return CommitEffect
	}
	return q.kind()
}

// recordedAnswer returns the answer that the run has recorded or received, or nil.
func (q *inquiry) recordedAnswer(ctx context.Context) (*tool.Answer, error) {
	if q.of.consent.probe {
		return nil, nil
	}
	subject := q.subject()
	a, asked, err := q.of.Run.answer(ctx, q.at, func(asked *history.Asked) bool {
		return asked.Kind == tool.QuestionApproval && asked.Data.Text(dataSubject) == subject && asked.Data.Int(dataEdits) == int64(q.edits) && q.sameCall(asked)
	})
	q.times.expires = parked.Expiry(tool.QuestionApproval, asked, q.of.Run.gate.Bounds.Question, q.of.Run.gate.Clock())
	if err != nil || a == nil {
		return nil, err
	}
	if asked.Answer == nil { // the run has not used it before
		err = q.keepAlways(ctx, &a.Answer)
	}
	if err == nil {
		err = q.sameChanges(asked)
	}
	return &a.Answer, err
}

// sameCall reports whether the call or effect is the one that somebody was shown: a handler in
// Go can do things in another order each time.
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

// args returns the arguments of the effect or the call.
func (q *inquiry) args() *value.Dict {
	if q.effect != nil {
		return q.effect.Args
	}
	return q.call.Args
}

// sameChanges fails if the changes are not those that somebody was shown.
func (q *inquiry) sameChanges(shown *history.Asked) error {
	if q.changes == nil || value.Equal(tool.ChangeSums(shown.Changes), tool.ChangeSums(q.changes)) {
		return nil
	}
	return value.Errorf(value.Conflict, "the changes of '%s' were not written: files have changed since these changes were shown for approval", q.of.tool.Name).
		WithHint("repeat the call")
}

// keep records an answer, so that nobody is asked again.
func (q *inquiry) keep(ctx context.Context, a tool.Answer) error {
	record := q.of.Run.record
	if q.of.consent.probe || !record.Keeps() {
		return nil
	}
	kept := a
	kept.Always = a.Always && a.Args == nil
	if err := record.Answered(ctx, q.recorded(), kept); err != nil {
		return Unrecorded(err)
	}
	return q.keepAlways(ctx, &a)
}

// keepAlways records a permanent approval, which holds for the complete run.
func (q *inquiry) keepAlways(ctx context.Context, a *tool.Answer) error {
	if !a.Yes || !a.Always || a.Args != nil {
		return nil
	}
	return q.of.Run.note(ctx, q.at, q.approval().Dict())
}

// recorded returns the question as it is recorded.
func (q *inquiry) recorded() history.Asked {
	t := q.of.tool
	text := q.needs()
	asked := tool.Question{Kind: tool.QuestionApproval, Tool: t.Name, Why: q.why, Reasoning: q.call.Reasoning, Args: q.args(), Asked: q.times.asked, Expires: q.times.expires, Capabilities: q.takes, Changes: diffs.Clipped(q.changes)}
	switch {
	case q.changes != nil:
	case q.effect != nil:
		asked.Func = q.effect.Func
	default:
		text += ": " + t.CallText(q.call.Args)
	}
	asked.Text = clip(text)
	d := value.NewDict(dataSubject, q.subject(), approval.DataPermanent, q.approval().Dict())
	if q.read != nil {
		d.Put(dataRead, true)
	}
	if q.edits > 0 {
		d.Put(dataEdits, int64(q.edits))
	}
	return history.Asked{StepPath: q.at, Question: asked, Data: d}
}

// park parks the run with the question, or returns otherwise if it cannot wait. An effect
// that has begun cannot be parked.
func (q *inquiry) park(ctx context.Context, otherwise error) error {
	if q.of.consent.probe || q.begun || ctx.Value(askingKey{}) != nil {
		return otherwise
	}
	return q.of.Run.ask(ctx, q.recorded(), parked.Approval, otherwise)
}

// needs describes the missing approval, for an error.
func (q *inquiry) needs() string {
	switch {
	case q.effect != nil:
		text := "the tool '" + q.of.tool.Name + "' needs approval for " + q.effect.Func
		if len(q.takes) > 0 {
			text += " (" + rights.List(q.takes) + ")"
		}
		return text
	case q.changes != nil:
		return "the tool '" + q.of.tool.Name + "' needs approval to change " + diffs.Paths(q.changes)
	}
	return "the tool '" + q.of.tool.Name + "' needs approval"
}

// errRefused returns the error of a refusal.
func (q *inquiry) errRefused(why string) error {
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

// errNoApprover returns the error of a host without an Approver.
func (q *inquiry) errNoApprover() error {
	err := value.Errorf(value.Denied, "%s, but no approver is configured: %s", q.needs(), q.why)
	rules := q.rules()
	if q.read != nil {
		return flow.Unapproved(err, q.read)
	}
	if len(rules) == 0 {
		return err.WithHint("run the command in a terminal; in Go, set Options.Approver")
	}
	return err.WithHint("allow %s in a rule, or run the command in a terminal; in Go, set Options.Approver", rights.Texts(rules))
}

// rules returns the narrowest rules that would answer the question, or nil if none would.
func (q *inquiry) rules() []tool.Rule {
	switch {
	case q.read != nil: // they were read whatever is allowed
	case q.changes != nil:
		return q.of.rights.AllowUse(writes(slices.DeleteFunc(slices.Clone(q.changes), func(c tool.Change) bool {
			return c.After.Dir && !c.Before.Exists && len(q.changes) > 1
		})))
	case q.effect == nil:
		return q.of.rights.AllowCalls()
	case q.allowable:
		return q.of.rights.AllowUse(q.takes)
	}
	return nil
}

// approval returns what a permanent answer to the question holds for.
func (q *inquiry) approval() approval.Approval {
	exact := func(list []tool.Capability) string { return fmt.Sprintf("%q", list) }
	t := q.of.tool
	a := approval.Approval{Name: tool.Key(t.Name), Hash: t.Hash, Needs: exact(t.Needs), Granted: exact(t.Granted), Kind: q.kind()}
	if t.Hash == "" {
		a.Of = t.Tool
	}
	if q.read != nil { // it is valid until another source is read
		a.Kind += " " + flow.Kind(q.read)
	}
	return a
}

// kind returns what kind of question it is.
func (q *inquiry) kind() string {
	if q.effect != nil {
		return fmt.Sprintf("effect %s %q", q.effect.Func, q.takes)
	}
	return callItself
}
