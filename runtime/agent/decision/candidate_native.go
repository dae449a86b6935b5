package decision

import (
	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ReadNative returns a decision for each native call of a reply. An Invalid is the decision for
// one call whose arguments cannot be read; each call needs an answer. A reply with too many calls
// has one decision, an Invalid without an ID. The text of a reply without calls is read as by
// [Read]. If a reply was truncated, all of its calls are Invalid, native or not: the model may have
// wanted to write more.
func ReadNative(r *model.Reply, o Options) []Decision {
	cut := r.Stop == model.StopLength
	if len(r.Calls) == 0 {
		s := newReader(r.Text, o)
		s.scan()
		decisions := s.choose()
		if cut && decisions[0].Kind == ToolCall {
			return []Decision{{Kind: Invalid, Status: Continue, Error: s.report(&loose.Fault{At: len(s.text), What: cutOff})}}
		}
		return decisions
	}
	if len(r.Calls) > maxCalls {
		return tooManyCalls()
	}
	s := newReader(r.Text, o)
	decisions := make([]Decision, len(r.Calls))
	for i, c := range r.Calls {
		decisions[i] = s.native(c)
		if d := &decisions[i]; cut && d.Kind == ToolCall {
			d.Kind, d.Error = Invalid, "the call of "+d.Action+" was not made: "+cutOff+". Nothing was called: write the call again."
		}
	}
	return decisions
}

// cutOff is the error of the calls of a truncated reply.
const cutOff = "the reply was cut off, so none of its calls is made"

// native reads one call. Arguments that are invalid JSON are repaired.
func (s *reader) native(c model.Call) Decision {
	d := Decision{Kind: ToolCall, Input: c.Args, Reasoning: s.text, Status: Continue, Format: Native, ID: c.ID}
	d.Action = s.actionName(c.Tool, &d)
	if d.Input == nil && c.Raw == "" {
		d.Input = &value.Dict{}
	}
	if d.Input != nil {
		return d
	}
	p := loose.New(c.Raw, prose.SkipSpace(c.Raw, 0), loose.NewFinder(c.Raw))
	v, err := p.Value()
	args, nested, ok := loose.DictOf(v)
	if p.Space(); err == nil && p.At < len(p.Text) {
		err = p.Fail("the end of the JSON")
	} else if err == nil && !ok {
		err = &loose.Fault{What: "the arguments: expected a JSON object but got " + value.TypeOf(v)}
	} else if p.Cut && !s.completeArgs([]Decision{{Action: d.Action, Input: args}}) {
		err = &loose.Fault{At: p.At, What: "the text ends inside the arguments"}
	}
	if nested {
		p.Note(loose.FixedNesting)
	}
	if err == nil {
		d.Input, d.Repaired = args, append(d.Repaired, p.Notes...)
		return d
	}
	d.Kind, d.Error = Invalid, "the arguments of "+d.Action+" are invalid: "+err.Report(c.Raw)+" Nothing was called: write the complete call again, with its arguments as valid JSON."
	return d
}
