package runtime

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
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
	if p.run.host.Events.Wanted() {
		d.why = tool.ErrorOf(err, tool.Denied).Message()
		p.audit("denied", d)
	}
	return err
}

// audit tells who decided what. It holds no arguments, which could be secrets,
// but for what the capabilities name.
func (p *pass) audit(word string, d decision) {
	if !p.run.host.Events.Wanted() {
		return
	}
	p.run.host.emit(tool.Audit, p.call, tool.NewDict("decision", word, "func", d.what, "capabilities", capabilityTexts(d.takes),
		"place", d.place.String(), "caller", callerText(p.call.Caller), "why", clip(d.why)))
}

func capabilityTexts(list []tool.Capability) tool.List {
	texts := make(tool.List, len(list))
	for i, c := range list {
		texts[i] = c.String()
	}
	return texts
}

func callerText(c tool.Caller) string {
	switch c {
	case tool.ByPerson:
		return "person"
	case tool.ByScript:
		return "script"
	}
	return "model"
}
