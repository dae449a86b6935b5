package decision

import (
	"slices"
	"strings"
	"unicode"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
)

// The introduction of a call is the last sentence before it. What is no sentence does not part them:
// thoughts, rules, marks of lists, tags, control tokens, and empty lines, however many. A label, such
// as a heading, is the introduction itself, but then the sentence above it counts too.

// maxLabel is the limit of the words of a label that ends with a colon.
const maxLabel = 3

// between returns the text from one candidate to the next one, without thoughts.
func (s *reader) between(c candidate, from int) string {
	end := c.start
	if c.fence > 0 {
		if f := s.fences[c.fence-1]; strings.TrimSpace(s.text[f.start:max(f.start, c.start)]) == "" {
			end = f.mark
		}
	}
	var parts []string
	for _, t := range slices.Backward(s.thoughts) {
		if end <= from {
			break
		}
		if t[1] <= end {
			parts = append(parts, s.text[max(t[1], from):end])
			end = t[0]
		}
	}
	parts = append(parts, s.text[min(from, end):end])
	slices.Reverse(parts)
	return strings.Join(parts, "")
}

// introduction returns the last sentence of a text. If that is a label, it also returns what is above:
// other labels, and a sentence. See prose.Plain.
func introduction(text string) (sentence string, above []string) {
	add := func(said string) {
		if said = plainSentence(said); sentence == "" {
			sentence = said
		} else if len(above) < maxLabels {
			above = append(above, said)
		}
	}
	underlined := false
	for text = strings.TrimRight(text, " \t\r\n"); text != ""; text = strings.TrimRight(text, " \t\r\n") {
		start := strings.LastIndexByte(text, '\n') + 1
		line := strings.TrimSpace(text[start:])
		said, tags := withoutTags(line)
		words := len(strings.Fields(said))
		isRule := strings.Trim(line, "-=") == ""
		text = text[:start]
		switch {
		case !strings.ContainsFunc(said, unicode.IsLetter) || tags && words == 1:
		case underlined || strings.HasPrefix(said, "#") || strings.HasPrefix(said, "**") && strings.HasSuffix(said, "**") || words <= maxLabel && strings.HasSuffix(said, ":"):
			add(said)
		default:
			for range maxWrapped { // a line that begins with a small letter goes on with the one above
				above := strings.TrimRight(text, " \t\r")
				if !strings.HasSuffix(above, "\n") || !unicode.IsLower(firstRune(said)) {
					break
				}
				above = strings.TrimSpace(above[strings.LastIndexByte(above[:len(above)-1], '\n')+1:])
				if above == "" || strings.IndexByte(".!?:;", above[len(above)-1]) >= 0 {
					break
				}
				text = text[:strings.LastIndexByte(text[:len(text)-1], '\n')+1]
				more, _ := withoutTags(above)
				said = more + " " + said
			}
			add(said)
			return sentence, above
		}
		underlined = isRule
	}
	return sentence, above
}

func firstRune(text string) rune {
	for _, r := range text {
		return r
	}
	return 0
}

// plainSentence returns the last sentence of a line without emphasis.
func plainSentence(line string) string {
	line = strings.Trim(line, "*_` \t")
	return strings.TrimSpace(prose.LastSentence(prose.Plain(line[max(0, len(line)-wordsWindow):])))
}

// withoutTags returns a line without tags and control tokens, and whether it has any.
func withoutTags(line string) (said string, tags bool) {
	if !strings.ContainsAny(line, "<[") {
		return line, false
	}
	var b strings.Builder
	for at := 0; at < len(line); {
		end := at
		if m, ok := markAt(line, at); ok {
			end = m.End
		} else if line[at] == '<' {
			end += strings.IndexByte(line[at:min(len(line), at+maxTag)], '>') + 1
		}
		if end > at {
			b.WriteByte(' ')
			at, tags = end, true
			continue
		}
		b.WriteByte(line[at])
		at++
	}
	return strings.TrimSpace(b.String()), tags
}

const (
	// maxLabels is the limit of labels between a sentence and its call.
	maxLabels = 32
	// maxTag is the limit of the length of a tag between an introduction and its call.
	maxTag = 200
	// maxWrapped is the limit of the lines of a sentence, without its last one.
	maxWrapped = 4
)
