package roster

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Search returns the tools that fit a query, the best first.
func Search(tools []tool.Tool, query string) []*tool.Tool {
	type hit struct {
		tool  *tool.Tool
		score int
	}
	var hits []hit
	words := wordsOf(query)
	for i := range tools {
		if n := score(words, &tools[i]); n > 0 {
			hits = append(hits, hit{&tools[i], n})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.tool.Name, b.tool.Name))
	})
	found := make([]*tool.Tool, len(hits))
	for i, h := range hits {
		found[i] = h.tool
	}
	return found
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
