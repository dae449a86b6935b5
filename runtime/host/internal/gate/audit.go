package gate

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A decision is an approval or a refusal of a call or of one of its effects.
type decision struct {
	what  string // the effect, or subjectCall
	at    tool.StepPath
	takes []tool.Capability
	why   string
	by    string         // who answered a question about it, or ""
	pos   value.Position // of the effect in the script, if the call is traced
}

// allowed audits an approval: by a person, by a rule, or by a permanent answer.
func (p *Pass) allowed(d decision) { p.audit("allowed", d) }

// refused audits a refusal, and returns its error.
func (p *Pass) refused(d decision, err error) error {
	if p.Run.leavesOpen(err) { // nothing is decided yet
		return err
	}
	if p.audits() {
		d.why = value.ErrorOf(err, value.Denied).Message()
		p.audit("denied", d)
	}
	return err
}

// audit records and emits a decision. It contains no arguments, which could be secrets,
// except those that are targets of capabilities.
func (p *Pass) audit(word string, d decision) {
	if !p.audits() {
		return
	}
	data := tool.Audit{Decision: word, Func: d.what, Capabilities: d.takes, Step: d.at.String(), Caller: p.call.Caller.String(), Why: clip(d.why), By: clip(d.by), At: d.pos.String()}
	if record := p.Run.gate.Audit; record != nil && p.Run.record.Live() { // a replay decides nothing
		e := p.subject().event()
		e.Time, e.Data = p.Run.gate.EventTime(), data
		err := record(e)
		if failed := err != nil; failed != p.Run.gate.unaudited.Swap(failed) && failed {
			p.emit(tool.Log{Message: "the audit event was not recorded: " + err.Error()})
			p.Run.gate.Logger.Error("an event could not be written to the audit log", "error", err)
		}
	}
	p.emit(data)
}

// audits reports whether anybody gets the decisions about the call.
func (p *Pass) audits() bool { return p.Run.gate.Audit != nil || p.subject().hasReaders() }
