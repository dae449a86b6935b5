package host

import (
	"context"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A consent is what somebody has said about one call.
type consent struct {
	probe       bool              // nobody asked for the call: it may only read, and nobody is asked about it
	asksChanges bool              // nobody has approved yet that it writes
	declined    error             // the refusal of its changes
	settled     map[string]bool   // the paths whose changes were approved
	reads       []tool.Capability // what the call may read, by somebody's approval

	// Registered functions that ask do so when the call first uses them.
	approved  bool            // somebody approved or made the call, with all that it needs
	functions map[string]bool // those that were approved for the rest of the call, by functionKey
}

// maxEdits is how often wrong arguments in an answer may be corrected.
const maxEdits = 3

// approve asks about a call that needs it, or notes that its changes do. A
// person who named the tool and typed its arguments has approved that call.
func (p *pass) approve(ctx context.Context) error {
	byPerson := p.call.Caller == tool.ByPerson && p.above == nil
	p.consent.approved = byPerson
	verdict, rule := p.rights().judgeCall()
	may, open, by := p.rights().needs()
	risky := p.tool.Risky
	d := decision{what: callItself, place: p.call.Place, takes: may}
	switch {
	case verdict == tool.Ask:
		d.why = "a rule asks: " + ruleText(rule)
	case !risky && (len(open) == 0 || p.tool.Location != tool.Embedded && onlyRegistered(open)):
		if by != nil {
			d.why = "a rule allows it: " + ruleText(by)
			p.allowed(d)
		}
		return nil
	case byPerson:
		d.why = "a person made the call"
		p.allowed(d)
		return nil
	case risky:
		d.why = "its author says that it is risky"
	case onlyWrites(may) && p.tool.Location != tool.Embedded: // what Go writes is not staged
		p.consent.asksChanges = true
		return nil
	default:
		d.why = "it may use " + capabilityList(open)
	}
	how, err := p.askCall(ctx, d)
	if err != nil {
		return p.refused(d, err)
	}
	p.consent.approved = true
	d.why = how
	p.allowed(d)
	return nil
}

// onlyWrites reports whether all that a tool can do is to write files, which can
// wait until it is known what is written. A command that a rule allows could
// write as well, and does not wait.
func onlyWrites(needs []tool.Capability) bool {
	for _, c := range needs {
		if c.Acts() && c.Name != "fs.write" {
			return false
		}
	}
	return true
}

// askCall asks about a call that has not run, and takes the arguments that
// come back.
func (p *pass) askCall(ctx context.Context, d decision) (how string, err error) {
	q := &inquiry{of: p, at: p.call.Place, takes: d.takes, why: d.why, call: p.shown()}
	for range maxEdits {
		var answer Answer
		if answer, err = q.ask(ctx); err != nil {
			return "", err
		}
		if answer.Args != nil {
			q.call.Args = answer.Args
		}
		var args *value.Dict
		if args, err = readArguments(p, &q.call); err == nil {
			p.call.Args = args
			if answer.Always {
				p.run.approvals.add(q.approval())
			}
			return q.how, nil
		}
		q.why = "the arguments are invalid: " + value.ErrorOf(err, value.Invalid).Message()
		q.edits++
	}
	return "", err
}

// shown is the call as somebody is asked about it: without what the host fills
// in, and typed.
func (p *pass) shown() tool.Call {
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

// askFor asks whether the effect may take what a rule wants asked each time, or
// what its function asks about, where r is nil.
func (s *step) askFor(ctx context.Context, takes []tool.Capability, r *tool.Rule) error {
	p, e := s.of, s.effect
	q := &inquiry{of: p, at: e.Place, effect: &e, takes: takes, allowable: r == nil, call: p.shown(), begun: s.begun}
	if q.allowable {
		q.why = "the function " + e.Func + " asks before it is used"
	} else {
		q.why = "a rule asks: " + ruleText(r)
	}
	if _, err := q.ask(ctx); err != nil {
		return err
	}
	for _, c := range takes {
		if c.Name == "fs.write" {
			p.consent.settle(c.Target)
		}
	}
	s.approved = append(s.approved, takes...)
	if s.fn.Asks() {
		p.consent.approveFunction(s)
	}
	if s.fn.Kind == tool.Read { // a large file is read part by part: it is one thing to approve
		p.consent.reads = append(p.consent.reads, takes...)
	}
	p.allowed(decision{what: e.Func, place: e.Place, takes: takes, why: q.how})
	return nil
}

// registered is the capability of the functions that a program registers. Whether
// such a function asks is decided by the function, when it is used: see
// [tool.Func.Asks].
const registered = "use"

// onlyRegistered reports whether capabilities are all of registered functions, which
// ask themselves. Those that a handler in Go calls pass no gate and cannot.
func onlyRegistered(list []tool.Capability) bool {
	return !slices.ContainsFunc(list, func(c tool.Capability) bool { return c.Name != registered })
}

// asksFirst reports whether the effect is one of a function that asks, which nobody
// has approved for this call. unruled are the capabilities that it takes and no rule
// allows.
func asksFirst(s *step, unruled []tool.Capability) bool {
	p, f := s.of, s.fn
	if p.program != nil || p.consent.approved || !f.Asks() || p.consent.functions[functionKey(s)] {
		return false
	}
	if slices.ContainsFunc(unruled, func(c tool.Capability) bool { return c.Name == registered }) {
		return true
	}
	return f.Risk == tool.RiskAsk && (len(unruled) > 0 || len(s.takes) == 0)
}

// functionKey names a function with what it takes. A yes to it holds for the rest of
// the call.
func functionKey(s *step) string { return s.effect.Func + " " + capabilityList(s.takes) }

// approveFunction notes that the function of an effect was approved.
func (c *consent) approveFunction(s *step) {
	if c.functions == nil {
		c.functions = map[string]bool{}
	}
	c.functions[functionKey(s)] = true
}

// recall notes an approval that the record has of the function of an effect
// that was done in an earlier process.
func (c *consent) recall(s *step, asked []history.Asked) {
	for i := range asked {
		q := &asked[i]
		if q.Kind == tool.QuestionApproval && q.Answer != nil && q.Answer.Yes && q.Func == s.effect.Func && s.fn.Asks() {
			s.takes, _ = targets(s.fn, s.effect)
			c.approveFunction(s)
			return
		}
	}
}

// settle notes that what the call makes of a path has been approved.
func (c *consent) settle(path string) {
	if c.settled == nil {
		c.settled = map[string]bool{}
	}
	c.settled[path] = true
}
