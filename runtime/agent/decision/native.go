package decision

import (
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ReadNative reads the native calls of a reply, a decision for each, since each
// must be answered: an Invalid among them is of that call alone. A reply without
// calls is read as a text by [Read].
func ReadNative(r *model.Reply, o Options) []Decision {
	if len(r.Calls) == 0 {
		return read(r.Text, o, r.Stop == model.StopLength)
	}
	s := newReader(r.Text, o)
	decisions := make([]Decision, len(r.Calls))
	for i, c := range r.Calls {
		decisions[i] = s.native(c, r.Stop == model.StopLength && i == len(r.Calls)-1)
	}
	return decisions
}

// native reads one call. Arguments that came as text are mended, but not where
// the reply was cut off.
func (s *reader) native(c model.Call, cut bool) Decision {
	d := Decision{Kind: ToolCall, Input: c.Args, Reasoning: s.text, Status: Continue, Format: Native, ID: c.ID}
	d.Action = s.actionName(c.Tool, &d)
	if d.Input != nil {
		return d
	}
	if c.Raw == "" {
		d.Input = &value.Dict{}
		return d
	}
	p := newLoose(c.Raw, skipSpace(c.Raw, 0), &finder{text: c.Raw})
	v, err := p.value(value.MaxDepth)
	if err == nil {
		if p.space(); p.at < len(p.text) {
			err = p.fail("the end")
		} else if p.cut && (cut || !s.enough(d.Action, v)) {
			err = &fault{at: p.at, what: cutOff}
		}
	}
	if err == nil {
		args, nested, ok := dictOf(v)
		if ok {
			if nested {
				p.note(mendedNesting)
			}
			d.Input, d.Repaired = args, append(d.Repaired, p.notes...)
			return d
		}
		err = &fault{at: 0, what: "the arguments should be a JSON object, but are " + value.TypeOf(v)}
	}
	in := reader{text: c.Raw}
	d.Kind, d.Error = Invalid, "the arguments of "+d.Action+" cannot be read: "+in.problem(err)
	return d
}

// enough reports whether arguments hold all that a tool requires.
func (s *reader) enough(action string, v value.Value) bool {
	args, ok := v.(*value.Dict)
	t := s.lookup(action)
	return ok && t != nil && missingArg(t, args) == ""
}
