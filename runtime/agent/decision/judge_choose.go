package decision

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// choose returns the decisions of the reply.
func (s *reader) choose() []Decision {
	if d, ok := s.code(); ok {
		return []Decision{d}
	}
	for _, r := range []rank{ours, tagged} {
		meant := s.meant(r)
		if list := s.decisions(meant); list != nil {
			if list = s.ended(meant, list); list != nil {
				return list
			}
		}
	}
	list := s.bareCalls()
	calls := s.decisions(list)
	if calls != nil && calls[0].Kind != Invalid {
		calls = s.ended(list, calls)
	}
	switch {
	case s.answers() && (calls == nil || calls[0].Kind == Invalid):
		return []Decision{{Kind: Final, Status: Continue, Answer: s.finalAnswer()}}
	case calls != nil:
		return calls
	}
	text := strings.TrimSpace(s.without(0))
	if is := s.o.IsAnswer; is != nil && is(text) {
		return []Decision{{Kind: Final, Status: Continue, Answer: text}}
	}
	if d, ok := s.inferred(); ok {
		return []Decision{d}
	}
	return []Decision{{Kind: None, Status: Continue, Answer: text, Error: s.unread()}}
}

// bareCalls returns the bare calls before "TASK COMPLETE" if all of them are meant. If one is only
// shown, it returns nil.
func (s *reader) bareCalls() []candidate {
	list := s.meant(bare)
	for _, c := range s.found {
		if c.rank == bare && (s.complete == 0 || c.start < s.complete) && !slices.ContainsFunc(list, func(m candidate) bool { return m.start == c.start }) {
			return nil
		}
	}
	after := s.decisions(list)
	for before := range slices.Chunk(s.decisions(s.torn), max(len(after), 1)) {
		if !slices.EqualFunc(before, after, s.same) { // the calls on both sides of a stray tag differ
			return nil
		}
	}
	return list
}

// decisions returns the calls of candidates, or nil. If one cannot be read, it returns only an
// Invalid, since later calls may depend on it.
func (s *reader) decisions(list []candidate) []Decision {
	var calls []Decision
	for _, c := range list {
		if c.err != nil {
			return []Decision{{Kind: Invalid, Status: Continue, Error: s.report(c.err)}}
		}
		for _, d := range c.calls {
			if c.fence > 0 {
				d.Repaired = append(d.Repaired, fixedFence)
			}
			if len(s.thoughts) > 0 {
				d.Repaired = append(d.Repaired, fixedThoughts)
			}
			slices.Sort(d.Repaired)
			d.Repaired = slices.Compact(d.Repaired)
			calls = s.addCall(calls, d)
		}
	}
	if len(calls) > maxCalls || len(calls) > 0 && len(s.found) >= maxCandidates {
		return tooManyCalls()
	}
	return calls
}

// tooManyCalls returns the decision for a reply with more than maxCalls calls.
func tooManyCalls() []Decision {
	return []Decision{{Kind: Invalid, Status: Continue, Error: "the reply has too many calls: limit " + strconv.Itoa(maxCalls) + ". Nothing was called: make a few calls at a time."}}
}

// addCall adds a call, unless the same call is there in another format. Then the one in the
// preferred format is kept.
func (s *reader) addCall(calls []Decision, d Decision) []Decision {
	for i, other := range calls {
		if other.Format == d.Format || !s.same(other, d) {
			continue
		}
		if d.Format == s.o.Format {
			calls[i] = d
		}
		return calls
	}
	return append(calls, d)
}

// same reports whether two calls are equal. The arguments of either may be text.
func (s *reader) same(a, b Decision) bool {
	input := func(d Decision) *value.Dict {
		if t := s.tools.Find(d.Action); t != nil && d.Texts {
			d.Input, _ = t.Coerce(d.Input)
		}
		return d.Input
	}
	return a.Action == b.Action && value.EqualJSON(input(a), input(b))
}
