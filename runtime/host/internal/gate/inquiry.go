package gate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The subjects of requests that are not about an effect of a script.
const (
	subjectCall   = "call"      // a call of a tool
	subjectCommit = "fs.commit" // what a call has staged
)

// The names in the Data of a recorded request.
const (
	dataSubject = "subject" // Call, Commit, or "effect NAME CAPABILITIES"
	dataEdits   = "edits"   // how often the arguments in an answer were wrong; missing for 0
	dataRead    = "read"    // it was made because untrusted text was read; missing for false
)

// An inquiry asks whether something may be done. It is about an effect if Effect is set, about the staged
// changes of a call if Changes is set, and about a call otherwise.
type inquiry struct {
	of      *Pass         // the call that needs the approval, or whose effect does
	at      tool.StepPath // the step that needs it
	call    tool.Call     // as it is shown
	effect  *tool.Effect
	takes   []tool.Capability
	exact   tool.Capability // for exactly what the effect does, instead of those of takes with the same name; or zero
	changes []tool.Change   // with diffs

	why   string         // it is necessary
	read  []taint.Source // the untrusted texts that the model has read, if it is asked because of them
	edits int            // how often the arguments in an answer were wrong
	rule  *tool.Rule     // that asks each time, for an effect; or nil
	begun bool           // the effect is being carried out

	asked, expires time.Time // zero: it was not asked yet, or never expires
	how            string    // it was allowed, for the audit
	by             string    // who answered, or ""
}

// args returns the arguments of the effect or the call.
func (q *inquiry) args() *value.Dict {
	if q.effect != nil {
		return q.effect.Args
	}
	return q.call.Args
}

// matches reports whether a recorded question is this request. A handler in Go can do things in
// another order each time, so the call or the effect must be equal too.
func (q *inquiry) matches(shown *history.Asked) bool {
	if shown.Kind != tool.QuestionApproval || shown.Data.Text(dataSubject) != q.subject() || shown.Data.Int(dataEdits) != int64(q.edits) || shown.Tool != q.of.tool.Name {
		return false
	}
	then, now := shown.Args, q.args()
	if then.Len() == 0 || now.Len() == 0 {
		return then.Len() == now.Len()
	}
	return value.Equal(then, now)
}

// errStale returns the error of changes that are not those that somebody was shown.
func (q *inquiry) errStale() error {
	return value.Errorf(value.Conflict, "the changes of '%s' were not written: files have changed since these changes were shown for approval", q.of.tool.Name).
		WithLimit(value.LimitChanged).WithHint("repeat the call")
}

// sameChanges reports whether changes are among those that somebody was shown: the same files become the
// same, or get the same appended after they have only grown.
func sameChanges(shown, now []tool.Change) bool {
	for i := range now {
		if !slices.ContainsFunc(shown, func(then tool.Change) bool { return sameChange(&then, &now[i]) }) {
			return false
		}
	}
	return true
}

func sameChange(shown, now *tool.Change) bool {
	if shown.Path != now.Path {
		return false
	}
	if shown.Before.Sum() == now.Before.Sum() && shown.After.Sum() == now.After.Sum() {
		return true
	}
	if shown.Before.Dir || now.Before.Dir || !shown.After.Exists || !now.Before.Exists || !now.Before.Known() || !now.After.Known() {
		return false
	}
	before, size := now.Before.Data, shown.Before.Size()
	added, grown := bytes.CutPrefix(now.After.Data, before)
	if !grown || len(added) == 0 || size > len(before) || shown.Before.Exists && tool.HashBytes(before[:size]) != shown.Before.Hash {
		return false
	}
	return tool.HashBytes(slices.Concat(before[:size], added)) == shown.After.Hash
}

// askedAfterReading reports whether a recorded question was asked because untrusted text was read.
func askedAfterReading(asked *history.Asked) bool { return asked.Data.Bool(dataRead) }

// recorded returns the question as it is recorded.
func (q *inquiry) recorded() history.Asked {
	offer := q.offer()
	text := q.needs()
	asked := tool.Question{Kind: tool.QuestionApproval, Tool: q.of.tool.Name, Why: q.why, Reasoning: q.call.Reasoning, Args: q.args(), Asked: q.asked, Expires: q.expires, Capabilities: q.takes, Changes: clippedDiffs(q.changes)}
	switch {
	case q.changes != nil:
	case q.effect != nil:
		asked.Func = q.effect.Func
	default:
		text += ": " + q.of.tool.CallText(q.call.Args)
	}
	asked.Text = value.Clean(text, value.MaxErrorText)
	asked.Rules, asked.NoRule, asked.Each, asked.Sources = offer.Rules, offer.Not, offer.Each, taint.Trusting(q.read)
	d := value.NewDict(dataSubject, q.subject(), dataPermanent, q.approval().Dict())
	if q.read != nil {
		d.Put(dataRead, true)
	}
	if q.edits > 0 {
		d.Put(dataEdits, int64(q.edits))
	}
	return history.Asked{StepPath: q.at, Question: asked, Data: d}
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
		return "the tool '" + q.of.tool.Name + "' needs approval to change " + changedPaths(q.changes)
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
		what = "the changes of '" + q.of.tool.Name + "' were not approved"
	}
	if why != "" {
		what += ": " + why
	}
	err := value.Errorf(value.Denied, "%s", what)
	if offer := q.offer(); len(offer.Rules) > 0 {
		return err.WithHint("to allow exactly this from now on: %s; in Go, answer with Rules", ruleCommand(offer))
	}
	return err
}

// ruleCommand returns the command that adds the rules of an offer.
func ruleCommand(offer rights.Offer) string {
	return hint.RuleCommand("--rule", value.Map(offer.Rules, func(r tool.Rule) string { return r.String() }))
}

// errNoApprover returns the error of a host without an Approver.
func (q *inquiry) errNoApprover() error {
	err := value.Errorf(value.Denied, "%s, but no approver is configured: %s", q.needs(), q.why)
	if q.read != nil {
		return taint.Unapproved(err, q.read)
	}
	offer := q.offer()
	if rules := q.rules(); offer.Each && len(rules) > 0 {
		return err.WithHint("allow %s in a rule, or one target of it, or run the command in a terminal; in Go, set Options.Approver", rights.Texts(rules))
	}
	if len(offer.Rules) == 0 {
		return err.WithHint("run the command in a terminal; in Go, set Options.Approver")
	}
	return err.WithHint("allow it permanently: %s; or run the command in a terminal; in Go, set Options.Approver", ruleCommand(offer))
}

// rules returns the narrowest rules that would answer the question, or nil if none would. For a call,
// they allow all that its tool needs.
func (q *inquiry) rules() []tool.Rule {
	switch {
	case q.read != nil: // they were read whatever is allowed
	case q.effect == nil && q.changes == nil:
		return q.of.rights.AllowCalls()
	case q.rule == nil:
		return q.of.rights.AllowUse(q.judged())
	}
	return nil
}

// offer returns how rules for exactly what is asked about answer the question.
func (q *inquiry) offer() rights.Offer {
	switch {
	case q.read != nil:
		return rights.Offer{Not: taint.NoRule(q.read)}
	case q.effect == nil && q.changes == nil:
		return q.of.rights.OfferCalls(q.of.tool.Location == tool.Embedded)
	case q.rule != nil:
		return rights.Offer{Not: rights.AsksEachTime(q.rule)}
	}
	return rights.OfferUse(&q.of.rights, q.judged(), q.exact, q.of.consent.each)
}

// judged returns the capabilities that rules about the effect or the changes have to allow. A new
// folder is made for the files in it.
func (q *inquiry) judged() []tool.Capability {
	if q.changes == nil {
		return q.takes
	}
	return writes(slices.DeleteFunc(slices.Clone(q.changes), func(c tool.Change) bool {
		return c.After.Dir && !c.Before.Exists && len(q.changes) > 1
	}))
}

// writes returns the capabilities that changes take.
func writes(changes []tool.Change) []tool.Capability {
	return value.Map(changes, func(c tool.Change) tool.Capability { return tool.Capability{Name: "fs.write", Target: c.Path} })
}

// approval returns what a permanent answer to the question holds for.
func (q *inquiry) approval() approval {
	exact := func(list []tool.Capability) string { return fmt.Sprintf("%q", list) }
	a := approval{Name: tool.Key(q.of.tool.Name), Hash: q.of.tool.Hash, Needs: exact(q.of.tool.Needs), Granted: exact(q.of.tool.Granted), Kind: q.kind()}
	if q.of.tool.Hash == "" {
		a.Of = q.of.tool.Tool
	}
	if q.read != nil { // it is valid until another source is read
		a.Kind += " " + taint.Kind(q.read)
	}
	return a
}

// subject identifies the question among those of one step.
func (q *inquiry) subject() string {
	if q.changes != nil {
		return subjectCommit
	}
	return q.kind()
}

// kind returns what kind of question it is.
func (q *inquiry) kind() string {
	if q.effect != nil {
		return fmt.Sprintf("effect %s %q", q.effect.Func, q.takes)
	}
	return subjectCall
}

// inquire completes an inquiry that the call makes, or whose effect does.
func (p *Pass) inquire(q inquiry) *inquiry {
	q.of, q.call = p, p.shown()
	return &q
}

// answered reports whether the run has an answer to a request. An answer binds what it is about, and so it is
// read before any rule: one that was added since neither carries out what somebody refused, nor drops the
// arguments with which it was approved. Only a rule that denies is above it. Nothing is answered unless the
// pass [Pass.remembers].
func (p *Pass) answered(ctx context.Context, q inquiry) (bool, error) {
	given, err := p.inquire(q).recordedAnswer(ctx)
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
	case p.Run.approvals.Has(q.approval()):
		q.how = approvedBefore
		return tool.Answer{Yes: true}, nil
	case expired != nil:
		return q.accept(nil, expired, nil)
	case p.Run.Approve == nil:
		return tool.Answer{}, q.park(ctx, q.errNoApprover())
	case ctx.Value(askingKey{}) != nil:
		return tool.Answer{}, value.Errorf(value.Denied, "%s, but nobody can be asked while another question is being answered", q.needs())
	case p.responsible().quota.refusals.Load() >= maxRefusals:
		return tool.Answer{}, value.Errorf(value.Denied, "%s, but approvals were already refused %d times in this call", q.needs(), maxRefusals)
	}
	done := p.waitForPerson()
	answer, err := q.askApprover(ctx)
	done()
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

const approvedBefore = "it was approved permanently before"

// accept returns an approval, or the error of a refusal. It adds a permanent answer to lasts:
// the list of the host for a new one, that of the run for one that was recorded.
func (q *inquiry) accept(answer *tool.Answer, err error, lasts *approvalList) (tool.Answer, error) {
	if answer != nil {
		q.by = answer.By
	}
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
	q.how = cmp.Or(q.how, howApproved(answer, q.args()))
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
	q.asked, live.Changes = live.Asked, q.changes
	a := &asking{tool: p.tool, call: q.call, inquiry: q}
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
	a, asked, err := q.of.Run.answer(ctx, q.at, q.matches)
	q.expires = expiry(tool.QuestionApproval, asked, q.of.Run.gate.look().Bounds.Question, q.of.Run.gate.Clock())
	if err != nil || a == nil {
		return nil, err
	}
	if asked.Answer == nil { // the run has not used it before
		q.of.Run.gate.answered.Add(a.Rules)
		err = q.keepAlways(ctx, &a.Answer)
	}
	if a.Yes {
		q.of.consent.shown = append(q.of.consent.shown, asked.Changes...)
		if err == nil && !sameChanges(asked.Changes, q.changes) {
			err = q.errStale()
		}
	}
	return &a.Answer, err
}

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
	return q.of.Run.note(ctx, q.at, q.approval().Dict())
}

// park parks the run with the question, or returns otherwise if it cannot wait. An effect
// that has begun cannot be parked.
func (q *inquiry) park(ctx context.Context, otherwise error) error {
	if q.of.consent.probe || q.begun || ctx.Value(askingKey{}) != nil {
		return otherwise
	}
	return q.of.Run.ask(ctx, q.recorded(), reasonApproval, otherwise)
}
