package decision

import (
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
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
	t, at := s.onlyNamed(text)
	if t == nil || !t.Hints.ReadOnly || t.NeedsApproval() {
		return Decision{}, false
	}
	said := prose.Plain(text)
	does, _ := s.does(prose.LastClause(prose.Plain(prose.LastSentence(text[:at]+" ") + " " + prose.FirstSentence(text[at:]))))
	if !does || s.has(said, inferring) || s.has(said, example) || strings.ContainsAny(said, "?{}") || s.wasHeard(text) {
		return Decision{}, false
	}
	args, ok := argsFromText(t, text)
	return Decision{Kind: ToolCall, Action: t.Name, Input: args, Texts: true, Status: Continue, Format: Other, Inferred: true}, ok
}

// onlyNamed returns the tool that a text names and its position, or nil if it does not name exactly
// one.
func (s *reader) onlyNamed(text string) (named *tool.Tool, at int) {
	for i := 0; i < len(text); i++ {
		start := i
		for i < len(text) && prose.IsName(text[i]) {
			i++
		}
		t := s.lookup(strings.Trim(text[start:i], ".-"))
		if t != nil && named != nil && t != named {
			return nil, 0
		}
		if t != nil && named == nil {
			named, at = t, start
		}
	}
	return named, at
}

// argsFromText returns the only quoted text as the required argument of a tool, or as its path. A
// path must have an extension.
func argsFromText(t *tool.Tool, text string) (*value.Dict, bool) {
	quoted := slices.DeleteFunc(prose.Quoted(text), func(v string) bool {
		return tool.Key(strings.TrimSuffix(v, "()")) == tool.Key(t.Name)
	})
	required := required(t)
	if len(quoted) == 0 && len(required) == 0 {
		return &value.Dict{}, true
	}
	if len(quoted) != 1 || len(required) > 1 {
		return nil, false
	}
	for _, p := range append(required, t.Params...) {
		isPath := strings.HasSuffix(p.Name, "path") || strings.HasSuffix(p.Name, "file")
		if p.Type.Name == tool.TypeString && (isPath && path.Ext(quoted[0]) != "" || !isPath && len(required) == 1) {
			return value.NewDict(p.Name, quoted[0]), true
		}
		if len(required) == 1 {
			break
		}
	}
	return nil, false
}
