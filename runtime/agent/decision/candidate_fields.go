package decision

import (
	"slices"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/fields"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ourBlock reads <TOOL_DECISION>, with fields or with a decision as JSON in it.
func (s *reader) ourBlock(start int) int {
	at, ok := fields.Tag(s.text, start)
	if !ok || quotedAt(s.text, start) {
		return start
	}
	if i := s.skipMarks(at); i < len(s.text) && s.text[i] == '{' {
		c, p := candidate{start: start, rank: ours}, s.jsonAt(i)
		v, err := p.Value()
		if err != nil {
			p.ours = true
			s.broken(c, p, err)
			return max(err.At, i+1)
		}
		if !v.(*value.Dict).Has("tool_decision") {
			v = value.NewDict("tool_decision", v)
		}
		c.end = s.closingTag(p.At)
		p.Note(fixedWrapper)
		s.addJSON(c, v, p)
		return c.end
	}
	b := fields.Read(s.text, at, true, s.ends)
	if b.Empty() { // the text only mentions the tag
		return at
	}
	if c, ok := s.blockCandidate(b, start); ok {
		s.add(c)
	}
	return b.End
}

// fieldLines reads a decision without tags, from its line ACTION. It needs a known tool and an
// INPUT.
func (s *reader) fieldLines(start int) int {
	at, ok := fields.Action(s.text, start)
	if !ok {
		return start
	}
	name := s.text[at:min(prose.LineEnd(s.text, at), at+2*tool.MaxName)]
	t := s.tools.FindFold(name)
	if t == nil && !fields.IsNobody(name) {
		return start
	}
	b := fields.Read(s.text, start, false, s.ends)
	if t == nil {
		return s.endingLines(b, start)
	}
	c, ok := s.blockCandidate(b, start)
	if !ok || !b.HasInput() {
		return start
	}
	c.rank = bare
	for i := range c.calls {
		c.calls[i].Format = Other
		c.calls[i].Repaired = append(c.calls[i].Repaired, fixedTags)
		if name := missing(t, c.calls[i].Input); c.err == nil && name != "" {
			c.err = &loose.Fault{At: start, What: "the call of " + t.Name + " has no argument " + name + ": it is required"}
		}
	}
	s.add(c)
	return max(b.End, start+1)
}

// endingLines reads a decision without tags that calls nothing and ends the task.
func (s *reader) endingLines(b *fields.Block, start int) int {
	c, ok := s.blockCandidate(b, start)
	if !ok || b.Err != nil {
		return start
	}
	c.rank = bare
	s.add(c)
	return max(b.End, start+1)
}

// blockCandidate returns the call in a block. It returns false if the block says that nothing is
// called, or only shows the format.
func (s *reader) blockCandidate(b *fields.Block, start int) (candidate, bool) {
	c := candidate{start: start, end: b.End, rank: ours, err: b.Err}
	name := plainName(b.Action)
	t := s.tools.FindFold(name)
	switch {
	case b.Err != nil:
		return c, true
	case t == nil && (fields.IsNobody(name) || isEnd(name)), name == "" && statusOf(b.Status) == LastCall && (b.Input == nil || b.Input.Len() == 0):
		end, ends := ending(name, b.Status, b.Reasoning, b.Input)
		c.calls = []Decision{end}
		return c, ends
	case t == nil && (isStandIn(name) || name == "" && !b.HasInput()):
		return c, false
	case name == "":
		c.err = &loose.Fault{At: start, What: "the decision has no ACTION: expected the name of a tool"}
		return c, true
	}
	d := Decision{Kind: ToolCall, Format: XMLJSON, Input: b.Input, Texts: b.Texts,
		Reasoning: b.Reasoning, Status: statusOf(b.Status), Repaired: slices.Clone(b.Notes)}
	if b.Texts {
		d.Format = Markdown
	}
	d.Action = s.actionName(b.Action, &d)
	if d.Input == nil {
		d.Input = &value.Dict{}
	}
	if !b.Closed {
		d.Repaired = append(d.Repaired, fixedTags)
	}
	switch {
	case !b.Closed && !b.HasInput() && (t == nil || len(t.Params) > 0):
		c.err = &loose.Fault{At: b.End, What: "the text ends before the INPUT of the decision"}
	case b.Stray != nil && (t == nil || len(t.Params) > 0):
		c.err = b.Stray
	case b.Cut && (t == nil || missing(t, d.Input) != ""):
		c.err = &loose.Fault{At: b.End, What: "the INPUT is not closed"}
	}
	c.calls = []Decision{d}
	return c, true
}
