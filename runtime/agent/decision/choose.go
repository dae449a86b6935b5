package decision

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// choose makes decisions of what was found.
func (s *reader) choose() []Decision {
	if d, ok := s.code(); ok {
		return []Decision{d}
	}
	s.said = s.around(len(s.text))
	for _, r := range []rank{ours, tagged} {
		if list := s.decisions(s.meant(r)); list != nil {
			return list
		}
	}
	calls := s.decisions(s.bareCalls())
	switch {
	case s.complete > 0 && (calls == nil || calls[0].Kind == Invalid):
		return []Decision{{Kind: Final, Status: Continue, Answer: s.finalAnswer()}}
	case calls != nil:
		return calls
	}
	if d, ok := s.inferred(); ok {
		return []Decision{d}
	}
	return []Decision{{Kind: None, Status: Continue, Answer: strings.TrimSpace(s.without(0))}}
}

// bareCalls returns the bare calls that are meant. Where one of them is only
// shown, the others are too, but for those that are said to be made; and where
// words between them offer them for choice, none is meant. What follows "TASK
// COMPLETE" is the answer.
func (s *reader) bareCalls() []candidate {
	if s.torn {
		return nil
	}
	meant := s.meant(bare)
	shown := 0
	for _, c := range s.found {
		if c.rank == bare && (s.complete == 0 || c.start < s.complete) {
			shown++
		}
	}
	var list []candidate
	for i, c := range meant {
		if s.complete > 0 && c.start >= s.complete {
			break
		}
		if i > 0 {
			end := meant[i-1].end
			if hasAny(strings.ToLower(s.text[end:max(end, min(c.start, end+wordsWindow))]), askingWords) {
				return nil
			}
		}
		list = append(list, c)
	}
	if len(list) == shown {
		return list
	}
	return slices.DeleteFunc(list, func(c candidate) bool { return !saysItDoes(prose.LastSentence(s.before(c, 0))) })
}

// decisions returns what candidates ask for, or nil where there are none. One
// that cannot be read keeps all from being made: what follows may build on it.
func (s *reader) decisions(list []candidate) []Decision {
	var calls []Decision
	for _, c := range list {
		if c.err != nil {
			return []Decision{{Kind: Invalid, Status: Continue, Error: s.problem(c.err)}}
		}
		for _, d := range c.calls {
			if c.fence > 0 {
				d.Repaired = append(d.Repaired, mendedFence)
			}
			if len(s.thoughts) > 0 {
				d.Repaired = append(d.Repaired, mendedThoughts)
			}
			d.Repaired = withoutRepeats(d.Repaired)
			calls = s.addCall(calls, d)
		}
	}
	if len(calls) > maxCalls || len(calls) > 0 && len(s.found) >= maxCandidates {
		return []Decision{{Kind: Invalid, Status: Continue,
			Error: "the reply asks for too many calls at once. Nothing was called: ask for a few at a time."}}
	}
	return calls
}

// withoutRepeats drops what a list says again.
func withoutRepeats(notes []string) []string {
	var list []string
	for _, note := range notes {
		if !slices.Contains(list, note) {
			list = append(list, note)
		}
	}
	return list
}

// addCall adds a call that is not one of those, written in another format: of
// two such, the one in the preferred format stays.
func (s *reader) addCall(calls []Decision, d Decision) []Decision {
	for i, other := range calls {
		if other.Format == d.Format || other.Action != d.Action || !sameInput(s, other, d) {
			continue
		}
		if d.Format == s.o.Format {
			calls[i] = d
		}
		return calls
	}
	return append(calls, d)
}

// sameInput compares inputs of which one may be without types.
func sameInput(s *reader, a, b Decision) bool {
	typedInput := func(d Decision) *value.Dict {
		if t := s.lookup(d.Action); t != nil && d.Texts {
			args, _ := t.Coerce(d.Input)
			return args
		}
		return d.Input
	}
	return value.Alike(typedInput(a), typedInput(b))
}

// without returns the text from a place on without what the model thought.
func (s *reader) without(from int) string {
	var b strings.Builder
	for _, t := range s.thoughts {
		if t[0] >= from {
			b.WriteString(s.text[from:t[0]])
		}
		from = max(from, t[1])
	}
	b.WriteString(s.text[min(from, len(s.text)):])
	return b.String()
}

// taskComplete reads "TASK COMPLETE", in any case and with emphasis around it,
// and returns where the answer starts. What follows must show that it is no part
// of a sentence.
func taskComplete(text string, at int) (answer int, ok bool) {
	i := at
	for i < len(text) && i < at+12 && strings.IndexByte("*_# ", text[i]) >= 0 {
		i++
	}
	if !hasFold(text[i:], "TASK COMPLETE") && !hasFold(text[i:], "TASK_COMPLETE") {
		return 0, false
	}
	i += len("TASK COMPLETE")
	for i < len(text) && strings.IndexByte("*_ \t\r", text[i]) >= 0 {
		i++
	}
	switch {
	case i >= len(text) || text[i] == '\n':
		return i, true
	case strings.IndexByte(":.!", text[i]) >= 0:
		for i++; i < len(text) && strings.IndexByte("*_!", text[i]) >= 0; {
			i++
		}
		return i, true
	}
	for _, dash := range []string{"- ", "– ", "— "} {
		if strings.HasPrefix(text[i:], dash) {
			return i + len(dash), true
		}
	}
	return 0, false
}

// finalAnswer returns what follows "TASK COMPLETE:".
func (s *reader) finalAnswer() string {
	answer := strings.TrimSpace(s.without(s.answer))
	first := answer[:prose.LineEnd(answer, 0)]
	if strings.HasSuffix(first, "**") && strings.Count(first, "**")%2 == 1 {
		answer = strings.TrimSpace(strings.TrimSuffix(first, "**") + answer[len(first):])
	}
	if answer == "" {
		return "Task completed successfully"
	}
	return answer
}
