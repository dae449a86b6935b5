package decision

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/phrases"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
)

// maxInferred is the limit of a reply from which a call is inferred, in bytes. Longer replies
// explain something.
const maxInferred = 600

// inferred returns the call that a reply announces but does not write. The reply must name exactly
// one tool, which only reads, and have the required argument in quotes. A negation, a question or a
// condition anywhere in the reply excludes a call.
func (s *reader) inferred() (Decision, bool) {
	text := strings.TrimSpace(s.without(0))
	if s.o.NoInference || len(s.torn)+len(s.found)+len(s.fences) > 0 || len(text) > maxInferred || s.off == "inference" {
		return Decision{}, false
	}
	t, at := s.tools.OnlyNamed(text)
	if t == nil || !t.Hints.ReadOnly || t.NeedsApproval() {
		return Decision{}, false
	}
	said := prose.Plain(text)
	does, _ := s.words.Does(prose.LastClause(prose.Plain(prose.LastSentence(text[:at]+" ") + " " + prose.FirstSentence(text[at:]))))
	if !does || s.words.Has(said, phrases.Inferring) || s.words.Has(said, phrases.Example) || strings.ContainsAny(said, "?{}") || s.wasHeard(text) {
		return Decision{}, false
	}
	args, ok := argsFromText(t, text)
	return Decision{Kind: ToolCall, Action: t.Name, Input: args, Texts: true, Status: Continue, Format: Other, Inferred: true}, ok
}
