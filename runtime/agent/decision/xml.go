package decision

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// namedTag reads a call whose tag holds the name of its tool, and returns where
// to go on:
//
//	<function=NAME>{...}</function>
//	<function=NAME><parameter=KEY>value</parameter></function>
//	<invoke name="NAME"><parameter name="KEY">value</parameter></invoke>
//	<NAME><KEY>value</KEY></NAME>
//
// Values in tags have no types: they are texts.
func (s *reader) namedTag(at int) int {
	text := s.text
	if at+1 >= len(text) || !prose.IsWord(text[at+1]) {
		return at + 1
	}
	end := 1
	for at+end < len(text) && end < 160 && strings.IndexByte("<>\n", text[at+end]) < 0 {
		end++
	}
	if at+end >= len(text) || text[at+end] != '>' {
		return at + 1
	}
	head, body := text[at+1:at+end], at+end+1
	element, name := headOf(head)
	switch element {
	case "function", "invoke", "tool_call", "tool":
	default:
		if name != "" || s.inFence || !isName(head[0]) || s.lookup(head) == nil {
			return at + 1
		}
		element, name = head, head
	}
	t := s.lookup(name)
	if t == nil {
		return at + 1
	}
	d := s.foreign(t, name)
	c := candidate{start: at, rank: tagged}
	if i := skipSpace(text, body); i < len(text) && text[i] == '{' {
		sh, next, err := s.writtenCall(t, name, i, true)
		c.end, c.calls, c.err = max(next, i+1), sh.calls, err
		if sh.err != "" {
			c.err = &fault{at: at, what: sh.err}
		}
		if err == nil && !sh.call {
			return c.end
		}
	} else {
		args, next, err := s.tagParameters(t, element == head, body)
		d.Texts = true
		sh := s.called(t, args, d)
		switch {
		case err != nil:
			c.err = err
		case !sh.call || element == head && (args.Len() == 0 || sh.err != ""):
			return body
		case sh.err != "":
			c.err = &fault{at: at, what: sh.err}
		}
		c.end, c.calls = next, sh.calls
	}
	c.end = s.closingTag(c.end)
	s.add(c)
	return max(c.end, body)
}

// headOf takes the inside of a tag apart: function=NAME, function name="NAME",
// with or without a prefix of the element.
func headOf(head string) (element, name string) {
	i := strings.IndexAny(head, "= ")
	if i < 0 {
		return head, ""
	}
	element = head[:i]
	if j := strings.IndexByte(element, ':'); j >= 0 {
		element = element[j+1:]
	}
	rest := strings.TrimLeft(head[i:], " ")
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "name"), "=")
	rest = strings.TrimLeft(rest, `"'`)
	if j := strings.IndexAny(rest, `"' `); j >= 0 {
		rest = rest[:j]
	}
	return element, strings.TrimRight(rest, `"'`)
}

// tagParameters reads the parameters between tags. With own, their tags are
// their names.
func (s *reader) tagParameters(t *tool.Tool, own bool, at int) (*value.Dict, int, *fault) {
	args, text := &value.Dict{}, s.text
	for {
		i := skipSpace(text, at)
		if i >= len(text) || text[i] != '<' {
			return args, at, nil
		}
		end := strings.IndexByte(text[i:min(len(text), i+160)], '>')
		if end < 2 || text[i+1] == '/' {
			return args, at, nil
		}
		element, key := headOf(text[i+1 : i+end])
		bare := element[strings.IndexByte(element, ':')+1:]
		if own {
			if _, is := t.Param(element); !is {
				return args, at, nil
			}
			key = element
		} else if bare != "parameter" && bare != "param" && bare != "arg" {
			return args, at, nil
		}
		value := i + end + 1
		closer := "</" + element + ">"
		if j := strings.IndexByte(text[i+1:i+end], ':'); j >= 0 && !own {
			closer = "</" + text[i+1:i+1+j] + ":" + element + ">"
		}
		stop := s.ends.find(closer, value)
		if stop < 0 {
			return args, i, &fault{at: i, what: "the parameter " + key + " is not closed"}
		}
		raw := text[value:stop]
		if strings.Contains(raw, text[i:i+1+len(element)]+"=") || args.Has(key) {
			return args, i, &fault{at: i, what: "the parameter " + key + " is not closed, or is given twice"}
		}
		args.Put(key, tagValue(raw))
		at = stop + len(closer)
	}
}

// tagValue takes the line breaks off that stand between a value and its tags.
func tagValue(raw string) string {
	raw = strings.ReplaceAll(raw, "\r\n", "\n")
	raw = strings.TrimPrefix(raw, "\n")
	return strings.TrimSuffix(raw, "\n")
}

// argPairs reads <arg_key>KEY</arg_key><arg_value>value</arg_value>.
func (s *reader) argPairs(c candidate, t *tool.Tool, name string, at int) (int, bool) {
	args, text := &value.Dict{}, s.text
	for {
		i := skipSpace(text, at)
		if !strings.HasPrefix(text[i:], "<arg_key>") {
			break
		}
		keyEnd := s.ends.find("</arg_key>", i)
		if keyEnd < 0 {
			return i, false
		}
		key := strings.TrimSpace(text[i+len("<arg_key>") : keyEnd])
		i = skipSpace(text, keyEnd+len("</arg_key>"))
		end := s.ends.find("</arg_value>", i)
		if !strings.HasPrefix(text[i:], "<arg_value>") || end < 0 || args.Has(key) {
			c.end, c.err = i, &fault{at: i, what: "the argument " + key + " has no value, or two"}
			s.add(c)
			return i, false
		}
		args.Put(key, tagValue(text[i+len("<arg_value>"):end]))
		at = end + len("</arg_value>")
	}
	d := s.foreign(t, name)
	d.Texts = true
	sh := s.called(t, args, d)
	c.end, c.calls = at, sh.calls
	if sh.err != "" {
		c.err = &fault{at: c.start, what: sh.err}
	}
	if sh.call {
		s.add(c)
	}
	return at, sh.call
}

// elements reads <name>NAME</name><input>{...}</input>, with any of the keys that
// calls have in JSON for the tags.
func (s *reader) elements(c candidate, at int) (int, bool) {
	key, from := elementAt(s.text, at, nameKeys)
	if key == "" {
		return at, false
	}
	t, name, next := s.nameAt(skipSpace(s.text, from))
	next = skipSpace(s.text, next)
	if t == nil || !strings.HasPrefix(s.text[next:], "</"+key+">") {
		return at, false
	}
	args, from := elementAt(s.text, skipSpace(s.text, next+len(key)+3), argsKeys)
	i := skipSpace(s.text, from)
	if args == "" || i >= len(s.text) || s.text[i] != '{' {
		return at, false
	}
	sh, end, err := s.writtenCall(t, name, i, true)
	if err != nil {
		c.end, c.err = max(err.at, i+1), err
		s.add(c)
		return c.end, true
	}
	if !sh.call {
		return at, false
	}
	if sh.err != "" {
		c.err = &fault{at: c.start, what: sh.err}
	}
	c.end, c.calls = end, sh.calls
	s.add(c)
	return end, true
}

// elementAt returns which of the tags stands at a place, and where it ends.
func elementAt(text string, at int, tags []string) (string, int) {
	for _, tag := range tags {
		if at < len(text) {
			if end, ok := tagEnd(text, at, tag); ok {
				return text[at+1 : at+1+len(tag)], end
			}
		}
	}
	return "", at
}
