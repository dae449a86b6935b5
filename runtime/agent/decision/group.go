package decision

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/phrases"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
)

// The calls inside one tag, such as <function_calls>, are a group. They are judged together, since
// the words around the tag are about all of them. If they are meant, either all of them are read,
// or the reply is an error: a model that is told the results of some of its calls takes the others
// for done too. For the same reason nothing in the tag right before or after may look like a call
// that cannot be read.

// A callTag is an opening tag that only calls have.
type callTag struct {
	start, body int          // of the tag, and of the text after it
	end         int          // of the text inside it: before the closing tag, or after the last call
	err         *loose.Fault // of the tag right before or after
}

func (s *reader) opened(start, body int) {
	s.tags = append(s.tags, callTag{start: start, body: body, end: body})
}

// group finds the groups, after the scan.
func (s *reader) group() {
	if len(s.found) == 0 {
		return
	}
	i, done := 0, 0
	var last *callTag // the tag before
	lastIs := false   // it has calls
	for n := range min(len(s.tags), maxCandidates) {
		tag := &s.tags[n]
		for i < len(s.found) && s.found[i].start < tag.start {
			i++
		}
		if tag.start < done {
			continue // within another one
		}
		if end := s.closing(tag, s.found[i:]); end >= 0 {
			tag.end = end
		} else if tag.end == tag.body && i < len(s.found) && s.found[i].start < tag.body+maxTag { // elements in a tag that is not closed
			at := s.skipMarks(tag.body)
			for _, c := range s.found[i:] {
				if c.start > at {
					break
				}
				tag.end, at = c.end, prose.SkipSpace(s.text, s.closingTag(c.end))
			}
		}
		is := false
		for ; i < len(s.found) && s.found[i].start < tag.end; i++ {
			if c := &s.found[i]; !is && s.skipMarks(tag.body) >= c.start {
				c.open = min(c.open, tag.start)
			}
			s.found[i].group, is = n+1, true
			done = tag.end
		}
		if !is && tag.end == tag.body { // up to the next tag on its line
			tag.end = prose.LineEnd(s.text, tag.body)
			if n+1 < len(s.tags) {
				tag.end = min(tag.end, s.tags[n+1].start)
			}
		}
		if last != nil && is != lastIs && prose.SkipSpace(s.text, s.closingTag(last.end)) == tag.start {
			if is {
				tag.err = s.likeCallWithin(last.body, last.end)
			} else if last.err == nil {
				last.err = s.likeCallWithin(tag.body, tag.end)
			}
		}
		last, lastIs = tag, is
	}
}

// closing returns the position of the closing tag, or -1 if there is none before the next tag with
// the same name. found are the candidates from its start.
func (s *reader) closing(tag *callTag, found []candidate) int {
	outside := func(what string) int {
		at := s.ends.Find(what, tag.body)
		for _, c := range found {
			if at < c.start {
				break
			}
			if at < c.inner && c.err == nil {
				at = s.ends.Find(what, c.inner)
			}
		}
		return at
	}
	open := s.text[tag.start:tag.body]
	first := -1
	for _, closer := range []string{open[:1] + "/" + open[1:], endOf.Replace(open), "[END_" + open[1:], "<" + strings.TrimPrefix(strings.TrimSuffix(open, ">"), "<|") + "|>"} {
		if at := outside(closer); closer != open && at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	if again := outside(open); again >= 0 && again < first {
		return -1
	}
	return first
}

var endOf = strings.NewReplacer("start", "end", "begin", "end", "START", "END", "BEGIN", "END")

// dropped returns an error if something inside the tag of a group looks like a call, but is not one
// of the calls that were read.
func (s *reader) dropped(calls []candidate) *loose.Fault {
	if calls[0].group == 0 {
		return nil
	}
	tag := s.tags[calls[0].group-1]
	if tag.err != nil {
		return tag.err
	}
	at := tag.body
	for i := range len(calls) + 1 {
		end, next := tag.end, tag.end
		if i < len(calls) {
			end, next = calls[i].start, calls[i].inner
		}
		if f := s.likeCallWithin(at, end); f != nil {
			return f
		}
		at = max(at, next)
	}
	at = prose.SkipSpace(s.text, s.closingTag(calls[len(calls)-1].end))
	if rest := s.text[at:]; strings.HasPrefix(rest, "<") && len(rest) < maxTag && !strings.Contains(rest, ">") {
		return &loose.Fault{At: at, What: "the text ends inside a tag"}
	}
	return nil
}

// likeCallWithin returns an error for what looks like a call in a part of the text inside a tag of calls.
func (s *reader) likeCallWithin(from, end int) *loose.Fault {
	line := false // only white space is before the position on its line
	for at := from; at < end; at++ {
		c := s.text[at]
		if m, ok := markAt(s.text, at); ok && (m.Name == "" || m.Name[0] == '/' || !prose.IsWord(s.text[at+1]) || s.beginsCall(m) || s.is(m, phrases.InnerTag)) {
			at = m.End - 1
			continue
		}
		f := &loose.Fault{At: at, What: "this is inside a tag with calls, but it cannot be read as a call"}
		if c == '{' {
			if like, _ := s.likeJSON(at); like != nil {
				f = like
			}
			return f
		}
		named := c == '(' && at > from && prose.IsName(s.text[at-1]) || c == '<' && at+1 < end && beginsTag(s.text, at)
		if line && !isBlank(c) {
			t, _, next := s.nameAt(at)
			named = named || t != nil && strings.TrimSpace(s.text[next:max(next, min(end, prose.LineEnd(s.text, next)))]) == ""
		}
		if named {
			return f
		}
		line = c == '\n' || line && isBlank(c)
	}
	return nil
}
