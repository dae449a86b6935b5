package decision

import (
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxInferred is how long a reply may be to be taken for a call that it only
// speaks of: who says more explains something.
const maxInferred = 600

// inferred takes a reply that says what it does now, but writes no call, for a
// call: of the one tool that it names, if that only reads, and if all that the
// tool requires can be read from the text. Where no other tool is offered, its
// verb is enough of a name. A negation, a question or a condition anywhere in the
// reply rules it out.
func (s *reader) inferred() (Decision, bool) {
	text := strings.TrimSpace(s.without(0))
	if s.o.NoInference || s.torn || len(s.found) > 0 || len(s.fences) > 0 || text == "" || len(text) > maxInferred {
		return Decision{}, false
	}
	t, at := s.onlyNamed(text)
	if t == nil && at == 0 {
		t, at = s.onlyOffered(text)
	}
	if t == nil || !t.Hints.ReadOnly || t.NeedsApproval() {
		return Decision{}, false
	}
	low := strings.ToLower(text)
	if hasAny(low, refusingWords) || hasAny(low, showingWords) || hasAny(low, askingWords) || hasAny(low, exampleWords) || hasAny(low, quotingWords) ||
		hasAny(low, []string{"when", "after", "before", "once", "until", "later", "unless", "if", "n't", "n’t"}) || strings.ContainsAny(low, "?{}") {
		return Decision{}, false
	}
	if strings.Contains(low, "n't") || strings.Contains(low, "n’t") || !saysItDoes(sentenceAround(low, at)) || s.wasHeard(text) {
		return Decision{}, false
	}
	args, ok := argsFromText(t, text)
	if !ok {
		return Decision{}, false
	}
	return Decision{Kind: ToolCall, Action: t.Name, Input: args, Texts: true, Status: Continue, Format: Other, Inferred: true}, true
}

// onlyOffered returns the only tool that is offered, beside the one that ends a
// task, if a text has its verb, and where: "read" of read_file.
func (s *reader) onlyOffered(text string) (*tool.Tool, int) {
	var only *tool.Tool
	for i := range s.o.Tools {
		t := &s.o.Tools[i]
		if tool.Key(t.Name) == tool.Key("task_complete") {
			continue
		}
		if only != nil {
			return nil, -1
		}
		only = t
	}
	if only == nil {
		return nil, -1
	}
	verb, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(only.Name), "-", "_"), "_")
	at := indexPhrase(strings.ToLower(text), verb)
	if at < 0 {
		return nil, -1
	}
	return only, at
}

// onlyNamed returns the tool that a text names if it names exactly one, and
// where; with two, the place is -1.
func (s *reader) onlyNamed(text string) (*tool.Tool, int) {
	var named *tool.Tool
	at := 0
	for i := 0; i < len(text); {
		if !isName(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && isName(text[i]) {
			i++
		}
		t := s.lookup(strings.Trim(text[start:i], ".-"))
		if t == nil || t == named {
			continue
		}
		if named != nil {
			return nil, -1
		}
		named, at = t, start
	}
	return named, at
}

func sentenceAround(text string, at int) string {
	return prose.LastSentence(text[:at]+" ") + " " + prose.FirstSentence(text[at:])
}

// argsFromText reads the arguments that a tool requires from quoted values: a
// path with an extension for the parameter that takes a path, and a value for
// the only parameter. Where nothing is quoted, what is plainly the path of a file
// is one too.
func argsFromText(t *tool.Tool, text string) (*value.Dict, bool) {
	var required []tool.Param
	for _, p := range t.Params {
		if p.Required && !p.FromHost {
			required = append(required, p)
		}
	}
	values := quotedValues(t, text)
	if len(values) == 0 && len(required) == 1 && isPathParam(required[0]) {
		values = plainPaths(t, text)
	}
	switch {
	case len(required) == 0 && len(values) == 0:
		return &value.Dict{}, true
	case len(values) != 1 || len(required) > 1:
		return nil, false
	}
	if len(required) == 0 {
		for _, p := range t.Params {
			if isPathParam(p) && path.Ext(values[0]) != "" {
				return value.NewDict(p.Name, values[0]), true
			}
		}
		return nil, false
	}
	p := required[0]
	if p.Type.Name != tool.TypeString && p.Type.Name != tool.TypeAny && p.Type.Name != "" || isPathParam(p) && path.Ext(values[0]) == "" && !strings.Contains(values[0], "/") {
		return nil, false
	}
	return value.NewDict(p.Name, values[0]), true
}

func isPathParam(p tool.Param) bool {
	name := strings.ToLower(p.Name)
	return p.Type.Name == tool.TypeString && (strings.HasSuffix(name, "path") || strings.HasSuffix(name, "file") || name == "filename")
}

// quotedValues returns what stands in quotes or backticks and is no name of the
// tool.
func quotedValues(t *tool.Tool, text string) []string {
	var values []string
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '"' && c != '\'' && c != '`' || i > 0 && prose.IsWord(text[i-1]) { // an apostrophe
			continue
		}
		end := strings.IndexByte(text[i+1:], c)
		if end < 0 {
			continue
		}
		if v := text[i+1 : i+1+end]; v != "" && tool.Key(strings.TrimSuffix(v, "()")) != tool.Key(t.Name) && !strings.Contains(v, "\n") {
			values = append(values, v)
		}
		i += end + 1
	}
	return values
}

// plainPaths returns the words that are paths of files, by their extensions. A
// word that another one follows as in "the Node.js program" is none.
func plainPaths(t *tool.Tool, text string) []string {
	var paths []string
	words := strings.Fields(text)
	for i, word := range words {
		plain := strings.TrimRight(word, ".,;:!")
		ext := strings.TrimPrefix(path.Ext(plain), ".")
		if ext == "" || len(ext) > 5 || !('a' <= ext[0]|' ' && ext[0]|' ' <= 'z') || strings.ContainsAny(plain, "()<>[]{}|*:,;@") || strings.HasPrefix(plain, ".") && len(plain) <= len(ext)+1 ||
			tool.Key(plain) == tool.Key(t.Name) || plain == "e.g" || plain == "i.e" {
			continue
		}
		ends := plain != word || i+1 == len(words) || slices.Contains([]string{"now", "first", "to", "for", "and", "again", "next", "in", "from"}, strings.TrimRight(words[i+1], ".,;:!"))
		if !ends {
			return nil
		}
		paths = append(paths, plain)
	}
	return paths
}
