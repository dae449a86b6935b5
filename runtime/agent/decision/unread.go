package decision

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/fields"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/phrases"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A model whose call is not read must learn what was seen of it, and where: else it writes the same
// again. The errors have the words of the format that it was asked for.

// report returns an error in a reply for the model: the position, the text there, and how to write
// the call.
func (s *reader) report(f *loose.Fault) string {
	return f.Report(s.text) + " Nothing was called: write the complete call again" + howTo(s.o.Format) + "."
}

// howTo says how a call is written in a format.
func howTo(f Format) string {
	switch f {
	case PureJSON:
		return ", as a tool_decision object in valid JSON"
	case XMLJSON:
		return ", as a <TOOL_DECISION> block with its INPUT as valid JSON"
	case Markdown:
		return ", as a <TOOL_DECISION> block with each parameter in a line \"- key: value\""
	case Code:
		return ", as a program in a ```starlark block"
	case Native:
		return ", as a tool call"
	}
	return ""
}

const (
	// maxUnread is how much of invalid JSON is searched for the keys of a call, in bytes.
	maxUnread = 400
	// maxNested is how deep a call may be in other JSON.
	maxNested = 3
	// looksOther is the error of a call in an unknown form.
	looksOther = "this looks like a call, but it is not in the form that was asked for"
)

// unread reports what in a reply without a decision looks like a call, or "". In a chat it must fill
// the reply.
func (s *reader) unread() string {
	if s.complete > 0 {
		return ""
	}
	if len(s.found) > 0 {
		c := s.found[0]
		if s.o.Chat || s.wasHeard(s.text[c.start:c.end]) {
			return ""
		}
		return s.report(&loose.Fault{At: c.start, What: "this looks like an example or a quotation of a call. If it is your own call, write it without other text around it"})
	}
	thoughts := s.thoughts
	line := true // only white space is before the position on its line
	for at := s.replyStart(); at < len(s.text); {
		for len(thoughts) > 0 && thoughts[0][1] <= at {
			thoughts = thoughts[1:]
		}
		if len(thoughts) > 0 && thoughts[0][0] <= at {
			at, line = thoughts[0][1], true
			continue
		}
		f, end := s.likeCall(at, line)
		if f != nil && s.o.Chat && !s.fills(at, end) {
			return ""
		}
		if f != nil {
			return s.report(f)
		}
		end = max(end, at+1)
		line = s.text[end-1] == '\n' || line && isBlank(s.text[at])
		at = end
	}
	return ""
}

// fills reports whether a part of a reply is all of it, apart from a fence.
func (s *reader) fills(start, end int) bool {
	before := strings.TrimSpace(s.text[s.replyStart():start])
	inFence := strings.HasPrefix(before, "```") && !strings.ContainsAny(before, " \n")
	return (before == "" || inFence) && strings.Trim(s.text[end:], " \t\r\n`") == "" && !strings.Contains(strings.TrimSpace(s.text[start:end]), "\n\n")
}

// likeCall returns the error of something at a position that looks like a call, or nil, and its end.
func (s *reader) likeCall(at int, line bool) (*loose.Fault, int) {
	switch c := s.text[at]; {
	case c == '{':
		return s.likeJSON(at)
	case c == '<' || c == '[':
		if _, ok := fields.Tag(s.text, at); ok && !quotedAt(s.text, at) {
			return &loose.Fault{At: at, What: looksOther}, len(s.text)
		}
		if m, ok := markAt(s.text, at); ok && s.beginsCall(m) && !quotedAt(s.text, at) {
			if i := s.skipMarks(m.End); i < len(s.text) && s.text[i] == '{' {
				if f, end := s.likeJSON(i); f != nil {
					return f, s.closingTag(end)
				}
			}
			return &loose.Fault{At: at, What: "no call of a tool can be read after this tag"}, len(s.text)
		}
	case line && !isBlank(c) && !s.isIndented(s.text[at-prose.Column(s.text, at):at]):
		t, _, next := s.nameAt(at)
		_, isAction := fields.Action(s.text, at)
		if isAction || t != nil && next < len(s.text) && strings.IndexByte("({", s.text[next]) >= 0 {
			return &loose.Fault{At: at, What: looksOther}, len(s.text)
		}
	}
	return nil, at
}

// likeJSON is likeCall for JSON with the keys of a call.
func (s *reader) likeJSON(at int) (*loose.Fault, int) {
	p := s.jsonAt(at)
	v, err := p.Value()
	if err != nil {
		if s.nameKey.isIn(s, at, at+maxUnread) && s.argsKey.isIn(s, at, at+maxUnread) {
			return err.Of("this looks like a call, but its JSON is not valid"), len(s.text)
		}
		return nil, err.At
	}
	name, ok := s.likeValue(v, maxNested)
	switch {
	case !ok:
		return nil, p.At
	case s.tools.Find(name) == nil:
		return &loose.Fault{At: at, What: "there is no tool with the name " + value.FormatJSON(prose.Clip(name, 60), "") + value.DidYouMean(name, s.tools.Names())}, p.At
	}
	return &loose.Fault{At: at, What: looksOther}, p.At
}

// A keyPlace is where the next key of a class is, in double quotes. It is kept, since a search at
// each place would take too long.
type keyPlace struct {
	class      phrases.Class
	start, end int
}

// isIn reports whether there is a key of the class in a part of the reply.
func (k *keyPlace) isIn(s *reader, from, to int) bool {
	if k.start < from {
		k.start, k.end = s.words.FindKey(s.text, from, k.class)
	}
	return k.end <= min(to, len(s.text))
}

// likeValue reports whether a value has the name of a tool and arguments, and returns the name.
func (s *reader) likeValue(v value.Value, depth int) (name string, ok bool) {
	if depth == 0 {
		return "", false
	}
	if list, isList := v.(value.List); isList && len(list) > 0 {
		return s.likeValue(list[0], depth-1)
	}
	d, _ := v.(*value.Dict)
	if d == nil {
		return "", false
	}
	args := false
	for k, v := range d.All() {
		key, _ := k.(string)
		text, isText := v.(string)
		_, isDict := v.(*value.Dict)
		if isText && s.words.IsKey(key, phrases.NameKey) {
			name = text
		}
		args = args || (isDict || isText) && s.words.IsKey(key, phrases.ArgsKey)
		if inner, ok := s.likeValue(v, depth-1); ok {
			return inner, true
		}
	}
	return name, args && name != ""
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
