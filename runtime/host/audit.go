package host

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A decision is what was decided about a call or an effect of it.
type decision struct {
	what  string // the effect, or callItself
	place tool.Place
	takes []tool.Capability
	why   string
}

// callItself is what a decision is about that lets a tool be called.
const callItself = "call"

// allowed tells that somebody has let something be done: a person, a rule, or
// who approved it for good.
func (p *pass) allowed(d decision) { p.audit("allowed", d) }

// refused tells that something was refused, and returns its error.
func (p *pass) refused(d decision, err error) error {
	if p.run.leavesOpen(err) { // nothing was decided yet
		return err
	}
	if audits(p) {
		d.why = value.ErrorOf(err, value.Denied).Message()
		p.audit("denied", d)
	}
	return err
}

// audit tells who decided what. It holds no arguments, which could be secrets,
// but for what the capabilities name.
func (p *pass) audit(word string, d decision) {
	if !audits(p) {
		return
	}
	data := tool.Audit{Decision: word, Func: d.what, Capabilities: d.takes, Step: d.place.String(), Caller: callerText(p.call.Caller), Why: clip(d.why)}
	if record := p.run.host.opts.Audit; record != nil {
		e := subjectOf(p).event()
		e.Time, e.Data = p.run.host.eventTime(), data
		err := record(e)
		if failed := err != nil; failed != p.run.host.unaudited.Swap(failed) && failed {
			p.emit(tool.Log{Message: "what is allowed or refused is not recorded: " + err.Error()})
			p.run.host.log().Error("the audit cannot be written", "error", err)
		}
	}
	p.emit(data)
}

// audits reports whether somebody wants to know what was decided about the call.
func audits(p *pass) bool { return p.run.host.opts.Audit != nil || subjectOf(p).wanted() }

func callerText(c tool.Caller) string {
	switch c {
	case tool.ByPerson:
		return "person"
	case tool.ByScript:
		return "script"
	}
	return "model"
}
