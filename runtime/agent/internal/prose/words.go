package prose

import "strings"

// tabWidth is how many columns a tab is wide.
const tabWidth = 4

// IndexWord returns the start and end of a word, or -1. A word that ends with a hyphen is also
// found as the beginning of a longer one.
func IndexWord(text, word string) (at, end int) {
	word, stem := strings.CutSuffix(word, "-")
	for from := 0; ; from = at + 1 {
		if at = strings.Index(text[from:], word); at < 0 {
			return -1, -1
		}
		at += from
		end = at + len(word)
		if (at == 0 || !IsWord(text[at-1])) && (stem || end == len(text) || !IsWord(text[end])) {
			return at, end
		}
	}
}

// Plain returns a text for a search of words: in lower case, with "not" spelled out.
func Plain(text string) string {
	return spellOut.Replace(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), "’", "'"))
}

var spellOut = strings.NewReplacer("won't", "will not", "can't", "can not", "cannot", "can not", "n't", " not")

// LastClause returns the last clause of a sentence.
func LastClause(sentence string) string {
	from := 0
	for _, sep := range []string{"; ", ", ", ": ", " but ", " so ", " then "} {
		if i := strings.LastIndex(sentence, sep); i >= 0 {
			from = max(from, i+len(sep))
		}
	}
	clause := strings.TrimLeft(sentence[from:], " *#/-0123456789.()")
	for _, word := range []string{"so ", "and ", "then ", "but ", "now ", "first "} {
		clause = strings.TrimPrefix(clause, word)
	}
	return clause
}

// IndentOf returns the indent of a line in columns.
func IndentOf(line string) int {
	n := 0
	for i := 0; i < len(line) && (line[i] == ' ' || line[i] == '\t'); i++ {
		if n++; line[i] == '\t' {
			n += tabWidth - n%tabWidth
		}
	}
	return n
}

var unescape = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`)

// Squeeze returns a text without white space, line numbers and escapes.
func Squeeze(text string) string {
	var b strings.Builder
	for line := range strings.Lines(unescape.Replace(text)) {
		rest := strings.TrimLeft(line, " \t")
		number := strings.TrimLeft(rest, "0123456789")
		if number != rest {
			for _, mark := range []string{"\t", ":", " |", "|", "→"} {
				if after, ok := strings.CutPrefix(number, mark); ok {
					rest = after
					break
				}
			}
		}
		for _, word := range strings.Fields(rest) {
			b.WriteString(word)
		}
	}
	return b.String()
}

// Quoted returns the parts of a text that are in quotes or backticks.
func Quoted(text string) (list []string) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if strings.IndexByte("\"'`", c) < 0 || i > 0 && IsWord(text[i-1]) { // an apostrophe
			continue
		}
		v, _, closed := strings.Cut(text[i+1:], string(c))
		if closed && v != "" {
			list = append(list, v)
		}
		if closed {
			i += len(v) + 1
		}
	}
	return list
}
