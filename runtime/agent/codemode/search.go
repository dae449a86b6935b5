package codemode

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxFound is the most tools that a search returns.
const maxFound = 50

// search returns the tools that fit a query.
func (m *mode) search(_ context.Context, args *value.Dict) (value.Value, error) {
	tools := m.tools()
	query := wordsOf(args.Text("query"))
	if len(query) == 0 {
		return groups(tools), nil
	}
	type hit struct {
		tool  *tool.Tool
		score int
	}
	var hits []hit
	for i := range tools {
		if n := score(query, &tools[i]); n > 0 {
			hits = append(hits, hit{&tools[i], n})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.tool.Name, b.tool.Name))
	})
	found := value.List{}
	for _, h := range hits[:min(len(hits), int(args.Int("limit")))] {
		found = append(found, value.NewDict("name", h.tool.Name, "call", stub.Signature(h.tool), "summary", h.tool.Summary()))
	}
	return value.NewDict("tools", found, "found", len(hits)), nil
}

// groups returns the names of all tools by group.
func groups(tools []tool.Tool) *value.Dict {
	all := &value.Dict{}
	for i := range tools {
		group := tools[i].DisplayGroup()
		names, _ := all.Get(group)
		list, _ := names.(value.List)
		all.Put(group, append(list, value.Value(tools[i].Name)))
	}
	return value.NewDict("groups", all, "found", len(tools))
}

// score is how well a tool fits the words of a query: a word counts most in the name, then in
// the group and the tags, then in the description. A word that begins one of the tool's, or that one
// of the tool's begins, counts half.
func score(query []string, t *tool.Tool) (n int) {
	name, place, text := wordsOf(t.Name+" "+t.Title), wordsOf(t.Group+" "+strings.Join(t.Tags, " ")), wordsOf(t.Description)
	for _, word := range query {
		n += max(8*fits(word, name), 4*fits(word, place), 2*fits(word, text))
	}
	return n
}

// fits is 2 if a word is among others, 1 if one of two is the beginning of the other, else 0.
func fits(word string, words []string) int {
	best := 0
	for _, w := range words {
		switch short := min(len(word), len(w)); {
		case word == w:
			return 2
		case short >= 3 && word[:short] == w[:short]:
			best = 1
		}
	}
	return best
}

// wordsOf returns the words of a text in small letters.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
