package gate

import (
	"cmp"
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An inquiry is a request for approval in progress.
type inquiry struct {
	approvalRequest
	of    *Pass
	begun bool   // its effect is being carried out
	how   string // why it was allowed, for the audit
	by    string // who answered, or ""
}

// newInquiry returns the inquiry of a request that a pass makes.
func newInquiry(p *Pass, q approvalRequest) *inquiry {
	q.requestMaker, q.Call = requestMaker{Tool: p.tool.Tool, Hash: p.tool.Hash, Granted: p.tool.Granted}, p.shown()
	return &inquiry{approvalRequest: q, of: p}
}

// answered reports whether the run has an answer to a request. An answer binds what it is about, and so it is
// read before any rule: one that was added since neither carries out what somebody refused, nor drops the
// arguments with which it was approved. Only a rule that denies is above it. Nothing is answered unless the
// pass [Pass.remembers].
func (p *Pass) answered(ctx context.Context, q approvalRequest) (bool, error) {
	given, err := newInquiry(p, q).recordedAnswer(ctx)
	if given != nil { // whether it still fits is decided where it is used
		return true, nil
	}
	return false, err
}

// remembers reports whether the run can have answers from earlier processes.
func (p *Pass) remembers() bool { return !p.consent.probe && p.Run.record.Keeps() }

// maxRefusals is how often a call and everything that it calls may be refused before nobody
// is asked any more. Without it, a script could ask until somebody gives in.
const maxRefusals = 3

// ask returns an approval: one that an earlier process of the run got, a permanent one, or a
// new one. q.how says which. Anything else is an error.
func (q *inquiry) ask(ctx context.Context) (tool.Answer, error) {
	p := q.of
	if given, err := q.recordedAnswer(ctx); filesChanged(err) {
		return tool.Answer{}, err
	} else if err != nil || given != nil {
		return q.accept(given, err, p.Run.approvals) // also if there is a later, permanent answer
	}
	asked := q.recorded()
	expired := expired(&asked.Question, p.Run.gate.Clock())
	switch {
	case p.Run.approvals.Has(q.Approval()):
		q.how = approvedBefore
		return tool.Answer{Yes: true}, nil
	case expired != nil:
		return q.accept(nil, expired, nil)
	case p.Run.Approve == nil:
		return tool.Answer{}, q.park(ctx, q.ErrNoApprover(&p.rights, q.offer()))
	case ctx.Value(askingKey{}) != nil:
		return tool.Answer{}, value.Errorf(value.Denied, "%s, but nobody can be asked while another question is being answered", q.Needs())
	case p.responsible().quota.refusals.Load() >= maxRefusals:
		return tool.Answer{}, value.Errorf(value.Denied, "%s, but approvals were already refused %d times in this call", q.Needs(), maxRefusals)
	}
	done := p.waitForPerson()
	answer, err := q.askApprover(ctx)
	done()
	switch {
	case unanswered(err):
		err = q.park(ctx, q.ErrRefused("", q.offer()))
	case err == nil:
		err = q.keep(ctx, answer)
	}
	if p.Run.leavesOpen(err) {
		return tool.Answer{}, err
	}
	return q.accept(&answer, err, p.Run.approvals.Wider())
}

const approvedBefore = "it was approved permanently before"

// accept returns an approval, or the error of a refusal. It adds a permanent answer to lasts:
// the list of the host for a new one, that of the run for one that was recorded.
func (q *inquiry) accept(answer *tool.Answer, err error, lasts *approvalList) (tool.Answer, error) {
	if answer != nil {
		q.by = answer.By
	}
	if err == nil && !answer.Yes {
		err = q.ErrRefused(answer.Why, q.offer())
	}
	if err != nil {
		q.of.responsible().quota.refusals.Add(1)
		return tool.Answer{}, value.AsError(err, value.Denied)
	}
	if answer.Always && answer.Args == nil {
		lasts.Add(q.Approval())
	}
	q.how = cmp.Or(q.how, howApproved(answer, q.Args()))
	return *answer, nil
}

// howApproved says how an answer approved something, for the audit: it names the arguments that the answer
// changed, and not their values, which could be secrets.
func howApproved(a *tool.Answer, shown *value.Dict) string {
	how := "it was approved"
	if a.Args != nil {
		var names []string
		for k, v := range a.Args.All() {
			name, _ := k.(string)
			if was, ok := shown.Get(name); !ok || !value.Equal(was, v) {
				names = append(names, name)
			}
		}
		how += " with other arguments (" + strings.Join(names, ", ") + ")"
	}
	if a.Why != "" {
		how += ": " + a.Why
	}
	return how
}

// askApprover asks the Approver.
func (q *inquiry) askApprover(ctx context.Context) (tool.Answer, error) {
	p := q.of
	live, err := p.Run.identify(q.recorded())
	if err != nil {
		return tool.Answer{}, err
	}
	q.Asked, live.Changes = live.Asked, q.Changes
	a := &asking{tool: p.tool, call: q.Call, inquiry: q}
	ctx, cancel := untilExpiry(ctx, &live, p.Run.gate.Clock())
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

// recordedAnswer returns the answer that the run has recorded or received, or nil. It notes the changes that
// were approved, for when the call is made again.
func (q *inquiry) recordedAnswer(ctx context.Context) (*tool.Answer, error) {
	if q.of.consent.probe {
		return nil, nil
	}
	a, asked, err := q.of.Run.answer(ctx, q.At, q.Matches)
	q.Expires = expiry(tool.QuestionApproval, asked, q.of.Run.gate.look().Bounds.Question, q.of.Run.gate.Clock())
	if err != nil || a == nil {
		return nil, err
	}
	if asked.Answer == nil { // the run has not used it before
		q.of.Run.gate.answered.Add(a.Rules)
		err = q.keepAlways(ctx, &a.Answer)
	}
	if a.Yes {
		q.of.consent.shown = append(q.of.consent.shown, asked.Changes...)
		if err == nil && !sameChanges(asked.Changes, q.Changes) {
			err = q.ErrStale()
		}
	}
	return &a.Answer, err
}

// offer returns how rules for exactly what is asked about answer the question.
func (q *inquiry) offer() rights.Offer {
	return q.Offer(&q.of.rights, q.of.tool.Location == tool.Embedded, q.of.consent.each)
}

// recorded returns the question as it is recorded.
func (q *inquiry) recorded() history.Asked { return q.Recorded(q.offer()) }

// keep records an answer, so that nobody is asked again.
func (q *inquiry) keep(ctx context.Context, a tool.Answer) error {
	record := q.of.Run.record
	q.of.Run.gate.answered.Add(a.Rules)
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
	return q.of.Run.note(ctx, q.At, q.Approval().Dict())
}

// park parks the run with the question, or returns otherwise if it cannot wait. An effect
// that has begun cannot be parked.
func (q *inquiry) park(ctx context.Context, otherwise error) error {
	if q.of.consent.probe || q.begun || ctx.Value(askingKey{}) != nil {
		return otherwise
	}
	return q.of.Run.ask(ctx, q.recorded(), reasonApproval, otherwise)
}
