package gate

import (
	"bytes"
	"fmt"
	"slices"
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

// A approvalRequest is a request for approval. It is about an effect if Effect is set, about the staged
// changes of a call if Changes is set, and about a call otherwise.
type approvalRequest struct {
	requestMaker
	At      tool.StepPath // the step that needs approval
	Call    tool.Call     // as it is shown
	Effect  *tool.Effect
	Takes   []tool.Capability
	Exact   tool.Capability // for exactly what the effect does, instead of those of Takes with the same name; or zero
	Changes []tool.Change   // with diffs

	Why   string
	Read  []taint.Source // the untrusted texts that the model has read, if it is made because of them
	Edits int            // how often the arguments in an answer were wrong
	Rule  *tool.Rule     // that asks each time, for an effect; or nil
	requestTimes
}

// A requestMaker is the tool whose call makes a request.
type requestMaker struct {
	Tool    *tool.Tool
	Hash    string // of the file that declares the tool, and of what that loads; or ""
	Granted []tool.Capability
}

// requestTimes are when somebody was asked, or zero, and when the question expires; zero means never.
type requestTimes struct{ Asked, Expires time.Time }

// Args returns the arguments of the effect or the call.
func (q *approvalRequest) Args() *value.Dict {
	if q.Effect != nil {
		return q.Effect.Args
	}
	return q.Call.Args
}

// Matches reports whether a recorded question is this request. A handler in Go can do things in
// another order each time, so the call or the effect must be equal too.
func (q *approvalRequest) Matches(shown *history.Asked) bool {
	if shown.Kind != tool.QuestionApproval || shown.Data.Text(dataSubject) != q.subject() || shown.Data.Int(dataEdits) != int64(q.Edits) || shown.Tool != q.Tool.Name {
		return false
	}
	then, now := shown.Args, q.Args()
	if then.Len() == 0 || now.Len() == 0 {
		return then.Len() == now.Len()
	}
	return value.Equal(then, now)
}

// ErrStale returns the error of changes that are not those that somebody was shown.
func (q *approvalRequest) ErrStale() error {
	return value.Errorf(value.Conflict, "the changes of '%s' were not written: files have changed since these changes were shown for approval", q.Tool.Name).
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

// Recorded returns the question as it is recorded. offer is its Offer.
func (q *approvalRequest) Recorded(offer rights.Offer) history.Asked {
	text := q.Needs()
	asked := tool.Question{Kind: tool.QuestionApproval, Tool: q.Tool.Name, Why: q.Why, Reasoning: q.Call.Reasoning, Args: q.Args(), Asked: q.Asked, Expires: q.Expires, Capabilities: q.Takes, Changes: clippedDiffs(q.Changes)}
	switch {
	case q.Changes != nil:
	case q.Effect != nil:
		asked.Func = q.Effect.Func
	default:
		text += ": " + q.Tool.CallText(q.Call.Args)
	}
	asked.Text = value.Clean(text, value.MaxErrorText)
	asked.Rules, asked.NoRule, asked.Each, asked.Sources = offer.Rules, offer.Not, offer.Each, taint.Trusting(q.Read)
	d := value.NewDict(dataSubject, q.subject(), dataPermanent, q.Approval().Dict())
	if q.Read != nil {
		d.Put(dataRead, true)
	}
	if q.Edits > 0 {
		d.Put(dataEdits, int64(q.Edits))
	}
	return history.Asked{StepPath: q.At, Question: asked, Data: d}
}

// Needs describes the missing approval, for an error.
func (q *approvalRequest) Needs() string {
	switch {
	case q.Effect != nil:
		text := "the tool '" + q.Tool.Name + "' needs approval for " + q.Effect.Func
		if len(q.Takes) > 0 {
			text += " (" + rights.List(q.Takes) + ")"
		}
		return text
	case q.Changes != nil:
		return "the tool '" + q.Tool.Name + "' needs approval to change " + changedPaths(q.Changes)
	}
	return "the tool '" + q.Tool.Name + "' needs approval"
}

// ErrRefused returns the error of a refusal. offer is the Offer of the request.
func (q *approvalRequest) ErrRefused(why string, offer rights.Offer) error {
	what := "the call of '" + q.Tool.Name + "' was not approved"
	switch {
	case q.Effect != nil:
		what = q.Effect.Func + " of '" + q.Tool.Name + "' was not approved"
	case q.Changes != nil:
		what = "the changes of '" + q.Tool.Name + "' were not approved"
	}
	if why != "" {
		what += ": " + why
	}
	err := value.Errorf(value.Denied, "%s", what)
	if len(offer.Rules) > 0 {
		return err.WithHint("to allow exactly this from now on: %s; in Go, answer with Rules", ruleCommand(offer))
	}
	return err
}

// ruleCommand returns the command that adds the rules of an offer.
func ruleCommand(offer rights.Offer) string {
	return hint.RuleCommand("--rule", value.Map(offer.Rules, func(r tool.Rule) string { return r.String() }))
}

// ErrNoApprover returns the error of a host without an Approver. r are the rights of the call, and offer
// is the Offer of the request.
func (q *approvalRequest) ErrNoApprover(r *rights.Rights, offer rights.Offer) error {
	err := value.Errorf(value.Denied, "%s, but no approver is configured: %s", q.Needs(), q.Why)
	if q.Read != nil {
		return taint.Unapproved(err, q.Read)
	}
	if rules := q.Rules(r); offer.Each && len(rules) > 0 {
		return err.WithHint("allow %s in a rule, or one target of it, or run the command in a terminal; in Go, set Options.Approver", rights.Texts(rules))
	}
	if len(offer.Rules) == 0 {
		return err.WithHint("run the command in a terminal; in Go, set Options.Approver")
	}
	return err.WithHint("allow it permanently: %s; or run the command in a terminal; in Go, set Options.Approver", ruleCommand(offer))
}

// Rules returns the narrowest rules that would answer the question, or nil if none would. For a call,
// they allow all that its tool needs. r are the rights of the call.
func (q *approvalRequest) Rules(r *rights.Rights) []tool.Rule {
	switch {
	case q.Read != nil: // they were read whatever is allowed
	case q.Effect == nil && q.Changes == nil:
		return r.AllowCalls()
	case q.Rule == nil:
		return r.AllowUse(q.judged())
	}
	return nil
}

// Offer returns how rules for exactly what is asked about answer the question. r are the rights of the
// call. inGo says that the tool has a handler in Go, and each that the call began without an approval.
func (q *approvalRequest) Offer(r *rights.Rights, inGo, each bool) rights.Offer {
	switch {
	case q.Read != nil:
		return rights.Offer{Not: taint.NoRule(q.Read)}
	case q.Effect == nil && q.Changes == nil:
		return r.OfferCalls(inGo)
	case q.Rule != nil:
		return rights.Offer{Not: rights.AsksEachTime(q.Rule)}
	}
	return rights.OfferUse(r, q.judged(), q.Exact, each)
}

// judged returns the capabilities that rules about the effect or the changes have to allow. A new
// folder is made for the files in it.
func (q *approvalRequest) judged() []tool.Capability {
	if q.Changes == nil {
		return q.Takes
	}
	return writes(slices.DeleteFunc(slices.Clone(q.Changes), func(c tool.Change) bool {
		return c.After.Dir && !c.Before.Exists && len(q.Changes) > 1
	}))
}

// writes returns the capabilities that changes take.
func writes(changes []tool.Change) []tool.Capability {
	return value.Map(changes, func(c tool.Change) tool.Capability { return tool.Capability{Name: "fs.write", Target: c.Path} })
}

// Approval returns what a permanent answer to the question holds for.
func (q *approvalRequest) Approval() approval {
	exact := func(list []tool.Capability) string { return fmt.Sprintf("%q", list) }
	a := approval{Name: tool.Key(q.Tool.Name), Hash: q.Hash, Needs: exact(q.Tool.Needs), Granted: exact(q.Granted), Kind: q.kind()}
	if q.Hash == "" {
		a.Of = q.Tool
	}
	if q.Read != nil { // it is valid until another source is read
		a.Kind += " " + taint.Kind(q.Read)
	}
	return a
}

// subject identifies the question among those of one step.
func (q *approvalRequest) subject() string {
	if q.Changes != nil {
		return subjectCommit
	}
	return q.kind()
}

// kind returns what kind of question it is.
func (q *approvalRequest) kind() string {
	if q.Effect != nil {
		return fmt.Sprintf("effect %s %q", q.Effect.Func, q.Takes)
	}
	return subjectCall
}
