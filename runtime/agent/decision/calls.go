package decision

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// wordAtStart looks at a word at the start of a line: the ACTION of a decision
// without tags, or a call that is written as in a program. It returns where to
// go on, or from for nothing.
func (s *reader) wordAtStart(at, from int) int {
	if c := s.text[at] | ' '; c == 'a' || c == '*' {
		if end, ok := s.untaggedBlock(at); ok {
			return end
		}
	}
	if !prose.IsWord(s.text[at]) {
		return from
	}
	start := at
	for _, wrapper := range []string{"print(", "await "} {
		if strings.HasPrefix(s.text[at:], wrapper) {
			at += len(wrapper)
		}
	}
	t, name, next := s.nameAt(at)
	if t == nil || at < s.tried {
		return from
	}
	sh, end, err := s.writtenCall(t, name, next, false)
	if err != nil {
		s.tried = err.at
		if next < len(s.text) && s.text[next] == '{' && !s.inFence {
			s.add(candidate{start: start, end: max(err.at, next+1), rank: bare, err: err})
			if err.at >= s.nested {
				s.nested = s.brokenEnd(next, err.at)
			}
			return max(err.at, next+1)
		}
		return from
	}
	// It stands alone: more on the line is a sentence or a program around it.
	s.tried = end
	rest := strings.TrimRight(s.text[end:prose.LineEnd(s.text, end)], " \t\r;)")
	if rest != "" && !strings.HasPrefix(rest, "```") || !sh.call {
		return from
	}
	c := candidate{start: start, end: prose.LineEnd(s.text, end), rank: bare, calls: sh.calls}
	if i := strings.Index(s.text[end:c.end], "```"); i >= 0 {
		c.end = end + i
	}
	if sh.err != "" {
		c.err = &fault{at: start, what: sh.err}
	}
	s.add(c)
	return c.end
}

// nameAt reads the name of an offered tool, and returns the place behind it.
func (s *reader) nameAt(at int) (*tool.Tool, string, int) {
	end := at
	for end < len(s.text) && end < at+tool.MaxName+16 && isName(s.text[end]) {
		end++
	}
	if end == at {
		return nil, "", at
	}
	name := s.text[at:end]
	return s.lookup(name), name, end
}

// writtenCall reads what follows the name of a tool: its arguments as JSON, on
// the same line or the next, or in round brackets. In tags, others' marks may
// stand between. Without arguments it is no call, but none is broken either.
func (s *reader) writtenCall(t *tool.Tool, name string, at int, inTags bool) (shape, int, *fault) {
	if inTags {
		at = skipMarks(s.text, at)
	}
	i := skipBlank(s.text, at)
	if i < len(s.text) && s.text[i] == ':' {
		if i = skipBlank(s.text, i+1); i >= len(s.text) || s.text[i] != '{' {
			return shape{}, at, nil
		}
	}
	if i < len(s.text) && s.text[i] == '\n' {
		i = skipBlank(s.text, i+1)
		if i >= len(s.text) || s.text[i] != '{' {
			return shape{}, at, nil
		}
	}
	if i >= len(s.text) {
		return shape{}, at, nil
	}
	d := s.foreign(t, name)
	switch s.text[i] {
	case '{':
		p := newLoose(s.text, i, &s.ends)
		v, err := p.value(value.MaxDepth)
		if err != nil {
			return shape{}, i, err
		}
		if p.cut && s.cut {
			return shape{}, i, &fault{at: p.at, what: cutOff}
		}
		args := v.(*value.Dict)
		if !inTags && missingArg(t, args) == "" && (!fitsArgs(t, args) || args.Len() == 0 && i > at) {
			return shape{}, at, nil // braces of a program
		}
		d.Repaired = append(d.Repaired, p.notes...)
		return s.called(t, args, d), p.at, nil
	case '(':
		args, end, err := s.bracketArgs(t, i)
		if err != nil {
			return shape{}, i, err
		}
		return s.called(t, args, d), end, nil
	}
	return shape{}, at, nil
}

// bracketArgs reads arguments as a program writes them: by name, by their place,
// or as one object. Only literals are arguments; anything else is a program that
// somebody shows.
func (s *reader) bracketArgs(t *tool.Tool, at int) (*value.Dict, int, *fault) {
	p := newLoose(s.text, at+1, &s.ends)
	args, place := &value.Dict{}, 0
	for {
		p.space()
		if p.peek() == ')' {
			return args, p.at + 1, nil
		}
		name, named := p.argName()
		v, err := p.value(value.MaxDepth)
		if err != nil {
			return nil, 0, err
		}
		object, isDict := v.(*value.Dict)
		switch {
		case named && args.Has(name):
			return nil, 0, p.fail("another name")
		case named:
			args.Put(name, v)
		case isDict && place == 0 && args.Len() == 0 && fitsArgs(t, object):
			args = object
		default:
			if place = nextPlace(t, place); place >= len(t.Params) {
				return nil, 0, p.fail("the end of the arguments")
			}
			args.Put(t.Params[place].Name, v)
			place++
		}
		p.space()
		switch p.peek() {
		case ',':
			p.at++
		case ')':
		default:
			return nil, 0, p.fail("a comma or )")
		}
	}
}

// nextPlace returns the next parameter that a caller fills in.
func nextPlace(t *tool.Tool, place int) int {
	for place < len(t.Params) && t.Params[place].FromHost {
		place++
	}
	return place
}

// argName reads "name =", if that is at hand.
func (p *looseReader) argName() (string, bool) {
	i := p.at
	for i < len(p.text) && i < p.at+128 && prose.IsWord(p.text[i]) {
		i++
	}
	j := skipBlank(p.text, i)
	if i == p.at || j >= len(p.text) || p.text[j] != '=' || strings.HasPrefix(p.text[j:], "==") {
		return "", false
	}
	name := p.text[p.at:i]
	p.at = j + 1
	p.space()
	return name, true
}
