package gate

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A consent is what was approved of one call, and what was refused.
type consent struct {
	probe       bool // the call is a check of availability: nobody is asked for approval
	asksChanges bool // its changes need approval
	each        bool // the call began without an approval, and its effects ask
	approved    bool // the call was approved, or made by a person, with all that it needs
	informed    bool // it was approved by somebody who was shown the untrusted text that was read before

	declined error             // the refusal of its changes
	settled  map[string]bool   // the paths whose changes were approved
	shown    []tool.Change     // the changes that somebody has approved, as they were shown
	reads    []tool.Capability // the capabilities to read that were approved

	// Registered functions ask when the call first uses them, unless the call was approved.
	functions map[string]bool // those that were approved for the rest of the call, by functionKey
	sinks     map[string]bool // those that were so approved by somebody who was informed, by functionKey
}

// again returns the consent to a call that is made again, since it did nothing. What was approved of it
// holds, also for its changes if they are still the same.
func (c *consent) again() consent {
	next := *c
	next.settled = nil
	return next
}

// maxEdits is how often wrong arguments in an answer may be corrected.
const maxEdits = 3

// approve asks for approval of a call if it needs any, or marks its changes as needing
// approval. A person who named the tool and typed its arguments has approved that call.
func (p *Pass) approve(ctx context.Context) error {
	byPerson := p.call.Caller == tool.ByPerson && p.above == nil
	p.consent.approved = byPerson
	verdict, rule := p.rights.JudgeCall()
	may, open, by := p.rights.Needs()
	risky := p.rights.Risky(verdict, may)
	read := p.steersCall()
	d := decision{what: subjectCall, at: p.call.StepPath, takes: may}
	answered := false
	if p.remembers() {
		var err error
		if answered, err = p.answered(ctx, inquiry{at: d.at}); err != nil {
			return err
		}
	}
	switch {
	case answered:
	case p.asksInNotes(may, open):
		return nil
	case verdict == tool.Ask && (len(may) > 0 || len(p.tool.Needs) == 0): // else all that it needs is refused
		d.why = "a rule asks: " + rights.RuleText(rule)
	case read != nil && p.tool.Location == tool.Embedded: // what it does passes no gate
	case !risky && (len(open) == 0 || p.tool.Location != tool.Embedded && onlyRegistered(open)):
		if verdict == tool.Allow && p.tool.Risky {
			by = rule
		}
		if by != nil {
			d.why = "a rule allows it: " + rights.RuleText(by)
			p.allowed(d)
		}
		return nil
	case byPerson:
		d.why = "a person made the call"
		p.allowed(d)
		return nil
	case onlyWrites(may) && (!risky || mayWrite(p.tool.Needs)) && p.tool.Location != tool.Embedded: // the writes of a handler in Go are not staged
		p.consent.asksChanges = true
		return nil
	case onlyNotes(may) && p.tool.Location != tool.Embedded: // each note asks
		return nil
	case risky:
		d.why = "the author marked the tool as risky"
	default:
		d.why = "the tool may use " + rights.List(open)
	}
	if !answered && p.Run.gate.changed() {
		return p.approve(ctx)
	}
	switch begins := !answered && !risky && verdict != tool.Ask && p.tool.Location != tool.Embedded; {
	case begins && rights.Partly(&p.rights, open):
		d.why, p.consent.each = "rules allow a part of it, and each other effect asks", true
	case begins && p.rights.AskLater(open):
		d.why, p.consent.each = "rules ask about each of its effects", true
	default:
		if err := p.askCall(ctx, &d, read); err != nil {
			return p.refused(d, err)
		}
	}
	p.consent.approved, p.consent.asksChanges = !p.consent.each, p.consent.each
	p.allowed(d)
	return nil
}

// onlyWrites reports whether a tool can do nothing but write files: the approval can then
// wait until the changes are known. A command that a rule allows could write too, and its
// writes cannot wait.
func onlyWrites(needs []tool.Capability) bool {
	return !slices.ContainsFunc(needs, func(c tool.Capability) bool { return c.Acts() && c.Name != "fs.write" })
}

// onlyNotes reports whether a tool can do nothing but write notes for later conversations.
func onlyNotes(needs []tool.Capability) bool {
	return slices.Contains(needs, taint.Notes) && !slices.ContainsFunc(needs, func(c tool.Capability) bool { return c.Acts() && c != taint.Notes })
}

// asksInNotes reports whether all that a model's call can do is to write notes that no rule allows: the
// questions about these notes then ask about the call, too.
func (p *Pass) asksInNotes(may, open []tool.Capability) bool {
	onlyNotes := !slices.ContainsFunc(may, func(c tool.Capability) bool { return c != taint.Notes })
	return len(open) > 0 && onlyNotes && p.tool.Location != tool.Embedded && p.chosen() != nil
}

// mayWrite reports whether a tool may write files.
func mayWrite(needs []tool.Capability) bool {
	return slices.ContainsFunc(needs, func(c tool.Capability) bool { return c.Name == "fs.write" })
}

// askCall asks for approval of a call before it runs, and uses the arguments of the answer. It sets in d why
// it was allowed, and by whom. read are the untrusted texts that the model has read. An earlier, permanent
// approval of a script is valid for its call, but not for its sinks.
func (p *Pass) askCall(ctx context.Context, d *decision, read []taint.Source) (err error) {
	q := p.inquire(inquiry{at: p.call.StepPath, takes: d.takes, why: d.why})
	if p.tool.Location == tool.Embedded || !p.Run.approvals.Has(q.approval()) {
		q.why, q.read = taint.Because(d.why, read), read
	}
	for range maxEdits {
		var answer tool.Answer
		if answer, err = q.ask(ctx); err != nil {
			d.by = q.by
			return err
		}
		if answer.Args != nil {
			q.call.Args = answer.Args
		}
		var args *value.Dict
		if args, err = p.readArguments(&q.call, nil); err == nil {
			p.call.Args, p.consent.informed, p.consent.each = args, q.read != nil && !answer.Each, answer.Each
			if answer.Always {
				p.Run.approvals.Add(q.approval())
			}
			d.why, d.by = q.how, q.by
			return nil
		}
		q.why = "the arguments are invalid: " + value.ErrorOf(err, value.Invalid).Message()
		q.edits++
	}
	return err
}

// shown returns the call as an approver sees it: with typed arguments, and without those that
// the host fills in.
func (p *Pass) shown() tool.Call {
	c := p.call
	c.Texts = false
	fromHost := func(p tool.Param) bool { return p.FromHost }
	if c.Args != nil && !slices.ContainsFunc(p.tool.Params, fromHost) {
		return c
	}
	args := &value.Dict{}
	for k, v := range c.Args.All() {
		name, _ := k.(string)
		if p, ok := p.tool.Param(name); !ok || !p.FromHost {
			args.Put(name, v)
		}
	}
	c.Args = args
	return c
}

// askFor asks for approval of the capabilities that the effect takes: because of the rule r,
// because the model has read untrusted text, or else because its function asks.
func (s *step) askFor(ctx context.Context, takes []tool.Capability, r *tool.Rule, read []taint.Source) error {
	p, e := s.of, s.effect
	q := p.inquire(inquiry{at: e.StepPath, effect: &e, takes: takes, exact: s.exact, read: read, rule: r, begun: s.begun})
	switch {
	case r != nil:
		q.why = taint.Because("a rule asks: "+rights.RuleText(r), read)
	case read != nil:
		q.why = taint.Why(read)
	case slices.Contains(takes, taint.Notes):
		q.why = "models get the note in later conversations"
	case p.consent.each:
		q.why = "the call began without an approval, and no rule allows this"
	default:
		q.why = "the function " + e.Func + " requires approval"
	}
	_, err := q.ask(ctx)
	if s.by = q.by; err != nil {
		return err
	}
	for _, c := range takes {
		if c.Name == "fs.write" {
			p.consent.approvePath(c.Target)
		}
	}
	s.approved = append(s.approved, takes...)
	p.consent.approveFunction(s, read != nil)
	if s.fn.Kind == tool.Read { // one approval covers all parts of a large file
		p.consent.reads = append(p.consent.reads, takes...)
	}
	p.allowed(decision{what: e.Func, at: e.StepPath, pos: e.Pos, takes: takes, why: q.how, by: s.by})
	return nil
}

// heed uses the answers that the run has to questions about the effect, before any rule is asked.
func (s *step) heed(ctx context.Context) error {
	p, e := s.of, &s.effect
	if !p.remembers() {
		return nil
	}
	entry, _, err := p.Run.record.Recorded(e.StepPath)
	if err != nil {
		return Unrecorded(err)
	}
	for i := range entry.Questions {
		takes := entry.Questions[i].Capabilities
		if slices.ContainsFunc(takes, func(c tool.Capability) bool { return !slices.Contains(s.takes, c) }) {
			continue // it is about what the effect uses while it runs
		}
		if answered, err := p.answered(ctx, inquiry{at: e.StepPath, effect: e, takes: takes}); err != nil || !answered {
			if err != nil {
				return err
			}
			continue
		}
		if err := p.rights.Refusal(s.takes, s.own); err != nil {
			return err
		}
		if err := s.askFor(ctx, takes, nil, s.steers()); err != nil {
			return err
		}
	}
	return nil
}

// registered is the capability of the functions that a program registers. Such a function
// decides itself whether it asks when it is used: see [tool.Func.Asks].
const registered = "use"

// onlyRegistered reports whether all capabilities are those of registered functions, or write notes.
// These ask when they are used, unless a handler in Go calls them.
func onlyRegistered(list []tool.Capability) bool {
	return !slices.ContainsFunc(list, func(c tool.Capability) bool { return c.Name != registered && c != taint.Notes })
}

// asksFirst reports whether the function of the effect asks, and was not approved for this
// call. unruled are the capabilities that it takes and that no rule allows.
func (s *step) asksFirst(unruled []tool.Capability) bool {
	p, f := s.of, s.fn
	if slices.Contains(unruled, taint.Notes) && !p.typed() { // the question about the call does not show the note
		return !p.consent.functions[s.functionKey()]
	}
	if p.program != nil || p.consent.approved || p.consent.functions[s.functionKey()] {
		return false
	}
	if p.consent.each && slices.ContainsFunc(unruled, func(c tool.Capability) bool { return s.asksItself(c) }) {
		return true
	}
	if !f.Asks() {
		return false
	}
	if slices.ContainsFunc(unruled, func(c tool.Capability) bool { return c.Name == registered }) {
		return true
	}
	return f.Risk == tool.RiskAsk && (len(unruled) > 0 || len(s.takes) == 0)
}

// typed reports whether a person made the call, or began the program, whose effects these are, and no
// model chose that.
func (p *Pass) typed() bool {
	return p.chosen() == nil && (p.program != nil || p.call.Caller == tool.ByPerson && p.above == nil)
}

// asksItself reports whether the effect asks because of a capability if its call was not approved. Files
// that it writes ask when they are committed.
func (s *step) asksItself(c tool.Capability) bool {
	return c.Acts() && c.Name != registered && !(c.Name == "fs.write" && s.fn.Kind == tool.Write)
}

// IsNote reports whether a question is about a note for later conversations.
func IsNote(q *tool.Question) bool {
	return q.Func != "" && slices.Contains(q.Capabilities, taint.Notes)
}

// functionKey identifies a function with the capabilities that it takes, or a note. An approval of
// it holds for the rest of the call.
func (s *step) functionKey() string {
	key := s.effect.Func + " " + rights.List(s.takes)
	if slices.Contains(s.takes, taint.Notes) {
		key += " " + s.effect.Args.String()
	}
	return key
}

// approveFunction marks the function of an effect as approved, if it asks. informed says that
// the question showed what the model has read.
func (c *consent) approveFunction(s *step, informed bool) {
	if c.functions == nil {
		c.functions, c.sinks = map[string]bool{}, map[string]bool{}
	}
	c.functions[s.functionKey()] = c.each || s.fn.Asks()
	c.sinks[s.functionKey()] = informed || c.sinks[s.functionKey()]
}

// recall marks the function of an effect as approved if the record has an approval of it.
func (c *consent) recall(s *step, asked []history.Asked) {
	for i := range asked {
		q := &asked[i]
		if q.Kind == tool.QuestionApproval && q.Answer != nil && q.Answer.Yes && q.Func == s.effect.Func && (c.each || s.fn.Asks() || askedAfterReading(q)) {
			s.takes, _ = targets(s.fn, s.effect)
			c.approveFunction(s, askedAfterReading(q))
			return
		}
	}
}

// settle marks the changes of a path as approved.
func (c *consent) approvePath(path string) {
	if c.settled == nil {
		c.settled = map[string]bool{}
	}
	c.settled[path] = true
}
